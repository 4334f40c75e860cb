"""What a scenario says and what is, held against each other."""

from collections.abc import Sequence
from difflib import ndiff

__all__ = ["Mismatch", "compare"]


class Mismatch(AssertionError):
    """What happened is not what the scenario says; the message shows the difference."""


def compare(what: str, wanted: Sequence[object], found: object) -> None:
    """Raises Mismatch where the two are not the same, item by item."""
    assert isinstance(found, list)
    if list(wanted) == found:
        return
    old = [line for item in wanted for line in str(item).splitlines() or [""]]
    new = [line for item in found for line in str(item).splitlines() or [""]]
    lines = [line.rstrip("\n") for line in ndiff(old, new) if not line.startswith("?")]
    raise Mismatch(f"{what}: not as the scenario says (-) but so (+):\n" + "\n".join(lines))
