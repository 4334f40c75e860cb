"""Change some values inside a JSON text and leave every other character as it stood.

Key order, spacing, escapes, number spellings and doubled keys survive. Does not know what the
document means.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from talekeeper.formats.json_text import DECODER, clean_text, dump

__all__ = ["same", "spliced"]

_BLANK = re.compile(r"[ \t\n\r]*")


@dataclass(frozen=True, kw_only=True, slots=True)
class _Item:
    """A member of an object or an element of a list (``key`` empty), as places in the text."""

    key: str
    start: int
    value: int
    end: int


def spliced(text: str, old: dict[str, Any], new: dict[str, Any]) -> str:
    """``text``, which holds the object ``old``, changed so that it holds ``new``.

    New keys go last, in the spacing of their neighbours. A list whose length changed is
    written anew. ``text`` must be valid JSON.
    """
    start = _skip(text, 0)
    _, end = DECODER.raw_decode(text, start)
    first = next(_members(text, start), None)
    compact = first is None or text[first.value - 1] == ":"
    return text[:start] + _rewritten(text, start, end, old, new, compact) + text[end:]


def same(one: Any, other: Any) -> bool:
    """Whether two JSON values are equal; 1, 1.0 and true are three different values."""
    if one is other:
        return True
    if type(one) is not type(other):
        return False
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if isinstance(one, list):
        return len(one) == len(other) and all(map(same, one, other))
    return bool(one == other)


def _rewritten(text: str, start: int, end: int, old: Any, new: Any, compact: bool) -> str:
    if same(old, new):
        return text[start:end]
    if isinstance(old, dict) and isinstance(new, dict) and old:
        return _rewritten_object(text, start, end, old, new, compact)
    if isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        parts, at = [], start
        for item, before, after in zip(_elements(text, start), old, new, strict=True):
            parts.append(text[at : item.value])
            parts.append(_rewritten(text, item.value, item.end, before, after, compact))
            at = item.end
        return "".join([*parts, text[at:end]])
    return dump(new, compact=compact)


def _rewritten_object(
    text: str, start: int, end: int, old: dict[str, Any], new: dict[str, Any], compact: bool
) -> str:
    items = list(_members(text, start))
    last = {item.key: at for at, item in enumerate(items)}
    opening, closing = text[start : items[0].start], text[items[-1].end : end]
    usual_gap = text[items[0].end : items[1].start] if len(items) > 1 else "," + opening[1:]
    pieces: list[str] = []  # each behind the gap that stood before it
    for at, item in enumerate(items):
        if item.key not in new:
            continue
        gap = text[items[at - 1].end : item.start] if at else usual_gap
        value = text[item.value : item.end]
        if last[item.key] == at:  # of a doubled key the last one counts
            before, after = old[item.key], new[item.key]
            value = _rewritten(text, item.value, item.end, before, after, compact)
        pieces += [gap, text[item.start : item.value] + value]
    colon = ":" if compact else ": "
    for key in [key for key in new if key not in last]:
        pieces += [usual_gap, f"{dump(key)}{colon}{dump(new[key], compact=compact)}"]
    return opening + "".join(pieces[1:]) + closing


def _skip(text: str, at: int) -> int:
    blank = _BLANK.match(text, at)
    return blank.end() if blank else at


def _members(text: str, start: int) -> Iterator[_Item]:
    """The members of the object that begins at ``start``, in order, doubled keys included."""
    at = _skip(text, start + 1)
    while text[at] != "}":
        key, after = DECODER.raw_decode(text, at)
        value = _skip(text, _skip(text, after) + 1)
        _, end = DECODER.raw_decode(text, value)
        yield _Item(key=clean_text(key), start=at, value=value, end=end)
        at = _skip(text, end)
        at = _skip(text, at + 1) if text[at] == "," else at


def _elements(text: str, start: int) -> Iterator[_Item]:
    """The elements of the list that begins at ``start``, in order."""
    at = _skip(text, start + 1)
    while text[at] != "]":
        _, end = DECODER.raw_decode(text, at)
        yield _Item(key="", start=at, value=at, end=end)
        at = _skip(text, end)
        at = _skip(text, at + 1) if text[at] == "," else at
