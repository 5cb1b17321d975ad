# written by metascript types: for editors, and never loaded. A script writes load("metascript.star", "json").

def encode(value, indent: int = None) -> str:
    """JSON with sorted keys, in one line, or with so many blanks for each level."""

def decode(text: str):
    """The value of a text of JSON. Whole numbers are exact up to 64 bits."""
