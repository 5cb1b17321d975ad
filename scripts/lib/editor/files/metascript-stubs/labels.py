# written by metascript types: for editors, and never loaded. A script writes load("metascript.star", "labels").

def matches(selector: dict, labels: dict) -> bool:
    """Whether a label selector selects an object with these labels; an empty one selects everything, None nothing."""
