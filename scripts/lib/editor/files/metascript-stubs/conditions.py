# written by metascript types: for editors only, never loaded. A script uses load("metascript.star", "conditions").

def get(conditions: list, type: str) -> dict:
    """The condition of this type, or None."""

def set(conditions: list, condition: dict) -> list:
    """The list with condition in the place of the condition of the same type, or at the end."""

def isTrue(conditions: list, type: str) -> bool:
    """True if there is a condition of this type and its status is "True"."""
