# written by metascript types: for editors, and never loaded. A script writes load("metascript.star", "quantity").

def parse(quantity):
    """A quantity such as "100m", "1.5Gi" or 2 as a number."""

def milli(quantity) -> int:
    """A quantity in thousandths, rounded up."""

def compare(a, b) -> int:
    """-1, 0 or 1."""

def add(a, b) -> str:
    """The sum of two quantities, written like a."""

def format(quantity, style: str = None) -> str:
    """A quantity as Kubernetes writes it; style is decimal, binary or exponent."""
