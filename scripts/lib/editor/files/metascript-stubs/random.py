# written by metascript types: for editors only, never loaded. A script uses load("metascript.star", "random").

def password(name: str, secret: dict, key: str, length: int = None) -> str:
    """The value at key of the observed secret, which may be None, or else a new password with letters, a digit and a symbol."""

def token(name: str, secret: dict, key: str, length: int = None, alphabet: str = None) -> str:
    """The value at key of the observed secret, which may be None, or else a new text of random letters and digits, or of alphabet."""

def choice(name: str, list: list, current: object = None):
    """current, if it is an element of list, or else an element that is chosen at random."""
