# written by metascript types: for editors only, never loaded. A script uses load("metascript.star", "yaml").

def encode(value) -> str:
    """A YAML document, with sorted keys."""

def decode(text: str):
    """The value of the single document in text, read as in Kubernetes; None if there is no document."""

def decodeAll(text: str) -> list:
    """The list of the values of all documents in text; empty documents are left out."""
