# written by metascript types: for editors only, never loaded. A script uses load("metascript.star", "hash").

def sha256(text: str) -> str:
    """The SHA-256 of the bytes of text, in hexadecimal."""

def hash(value) -> str:
    """A string of ten letters and digits, always the same for the same value, for use in names."""

def merge(target, patch):
    """target with the changes in patch, a JSON merge patch (RFC 7386): None removes a field."""
