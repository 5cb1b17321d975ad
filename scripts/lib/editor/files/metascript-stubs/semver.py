# written by metascript types: for editors, and never loaded. A script writes load("metascript.star", "semver").

def parse(version: str) -> dict:
    """A version taken apart: major, minor, patch, prerelease and build."""

def valid(version) -> bool:
    """Whether a value is a version, such as 1.2.3 or v1.2.3-rc.1+build."""

def compare(a: str, b: str) -> int:
    """-1, 0 or 1, as a is before, the same as or after b."""

def satisfies(version: str, constraint: str) -> bool:
    """Whether a version meets a constraint such as ">=1.2.0 <2 || ~3.1"."""
