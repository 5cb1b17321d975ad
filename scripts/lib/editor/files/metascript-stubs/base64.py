# written by metascript types: for editors, and never loaded. A script writes load("metascript.star", "base64").

def encode(text: str) -> str:
    """A text's bytes, in UTF-8, as base64."""

def decode(text: str) -> str:
    """The text that is encoded; it is an error if it is no text."""
