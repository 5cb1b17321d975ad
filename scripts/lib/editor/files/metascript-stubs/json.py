# written by metascript types: for editors only, never loaded. A script uses load("metascript.star", "json").

def encode(value, indent: int = None) -> str:
    """JSON with sorted keys, in one line, or indented with indent spaces per level."""

def decode(text: str):
    """The value of JSON text. Integers are exact up to 64 bits."""
