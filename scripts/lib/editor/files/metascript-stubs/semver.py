# written by metascript types: for editors only, never loaded. A script uses load("metascript.star", "semver").

def parse(version: str) -> dict:
    """The parts of a version: major, minor, patch, prerelease and build."""

def valid(version) -> bool:
    """True if version is a version, such as 1.2.3 or v1.2.3-rc.1+build."""

def compare(a: str, b: str) -> int:
    """-1, 0 or 1 if a is before, equal to or after b."""

def satisfies(version: str, constraint: str) -> bool:
    """True if version meets a constraint such as ">=1.2.0 <2 || ~3.1"."""
