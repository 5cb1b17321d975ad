# written by metascript types: for editors, and never loaded. A script writes load("metascript.star", "hash").

def sha256(text: str) -> str:
    """The SHA-256 of a text's bytes, in hexadecimal."""

def hash(value) -> str:
    """Ten letters and digits that stay the same while the value does, for names."""

def merge(target, patch):
    """The target with the changes of a JSON merge patch, RFC 7386: None removes a field."""
