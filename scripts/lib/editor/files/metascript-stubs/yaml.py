# written by metascript types: for editors, and never loaded. A script writes load("metascript.star", "yaml").

def encode(value) -> str:
    """A document of YAML, with sorted keys."""

def decode(text: str):
    """The value of the one document in a text, as Kubernetes reads it; None if there is none."""

def decodeAll(text: str) -> list:
    """The values of all documents in a text; empty ones are left out."""
