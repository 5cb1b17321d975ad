# written by metascript types: for editors, and never loaded. A script writes load("metascript.star", "conditions").

def get(conditions: list, type: str) -> dict:
    """The condition of a type, or None."""

def set(conditions: list, condition: dict) -> list:
    """The conditions with this one in the place of the one of its type, or at the end."""

def isTrue(conditions: list, type: str) -> bool:
    """Whether there is a condition of a type, and its status is "True"."""
