# written by metascript types: for editors only, never loaded. A script uses load("metascript.star", "quantity").

def parse(quantity):
    """The value of a quantity, such as "100m", "1.5Gi" or 2, as a number."""

def milli(quantity) -> int:
    """The value of a quantity in thousandths, as an integer, rounded up."""

def compare(a, b) -> int:
    """-1, 0 or 1 if a is less than, equal to or greater than b."""

def add(a, b) -> str:
    """The sum of two quantities, in the format of a."""

def format(quantity, style: str = None) -> str:
    """The canonical string of a quantity in Kubernetes; style is decimal, binary or exponent."""
