# written by metascript types: for editors only, never loaded. A script uses load("metascript.star", "base64").

def encode(text: str) -> str:
    """The UTF-8 bytes of text in base64."""

def decode(text: str) -> str:
    """The decoded string. Bytes that are not UTF-8 are an error."""
