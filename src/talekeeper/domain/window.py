"""The live window: the newest messages that are sent verbatim.

It starts at the earliest cell boundary from which all caps hold; where the newest cell alone is
over them, at the earliest turn start from which they hold, never later than the current turn.
Stateless: between two moves of a boundary the prompt's prefix stays the same bytes.
"""

from collections.abc import Sequence
from itertools import pairwise

from talekeeper.domain.chat import LiveMessage

__all__ = ["window_start"]


def window_start(
    lines: Sequence[LiveMessage],
    sizes: Sequence[int],
    *,
    complete: bool,
    messages: int,
    tokens: int,
) -> int:
    """The index in ``lines`` at which the window starts.

    ``sizes`` are the lines' tokens; ``complete`` tells that no message precedes the first line.
    ``messages`` and ``tokens`` are the caps.
    """
    if not lines:
        return 0
    first = _earliest_within(sizes, messages, tokens)
    starts = [index for index, (a, b) in enumerate(pairwise(lines), 1) if a.turn != b.turn]
    if complete or lines[0].number == lines[0].turn:
        starts.insert(0, 0)
    within = [index for index in starts if index >= first]
    for index in within:
        before = lines[index - 1].cell if index else None
        if lines[index].cell != before and (index or complete or lines[0].number == lines[0].cell):
            return index
    return (within or starts[-1:] or [0])[0]


def _earliest_within(sizes: Sequence[int], messages: int, tokens: int) -> int:
    """The smallest index from which the rest holds both caps."""
    used = 0
    for taken, index in enumerate(range(len(sizes) - 1, -1, -1)):
        used += sizes[index]
        if used > tokens or taken + 1 > messages:
            return index + 1
    return 0
