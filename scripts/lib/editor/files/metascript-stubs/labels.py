# written by metascript types: for editors only, never loaded. A script uses load("metascript.star", "labels").

def matches(selector: dict, labels: dict) -> bool:
    """True if the label selector selects an object with these labels. An empty selector selects all objects, None selects none."""
