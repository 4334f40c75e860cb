"""Decorators: lines ``@@name value`` at the start of an entry's text that say when and where it is
sent. The names are those of the card specification V3, and some of RisuAI's.

A line ``@@@name value`` right below another is what counts where that one is not known. Of a name
that stands there twice the first counts. They are no part of the text that is sent.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from talekeeper.domain.lore import Entry, Place

__all__ = ["Conditions", "decorated"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Conditions:
    """What decorators ask for beyond the fields of an entry.

    ``only_after`` is how many messages the character must have said, ``only_every`` of which number
    theirs must be a multiple. ``additional`` are lists of keys, one of each must occur besides; of
    ``excluding`` none may. ``forced`` fires always (True) or never (False). ``latch``: once it
    has fired it always does (True) or never again (False). ``first_to_go`` gives way before others.
    """

    only_after: int = 0
    only_every: int = 0
    additional: tuple[tuple[str, ...], ...] = ()
    excluding: tuple[str, ...] = ()
    forced: bool | None = None
    latch: bool | None = None
    first_to_go: bool = False


@dataclass(slots=True)
class _Read:
    """What was read so far."""

    fields: dict[str, Any] = field(default_factory=dict)
    conditions: dict[str, Any] = field(default_factory=dict)
    seen: set[str] = field(default_factory=set)


def decorated(entry: Entry) -> tuple[Entry, Conditions]:
    """The entry as its decorators make it, its text without them; and what else they ask for."""
    if not entry.content.lstrip().startswith("@@"):
        return entry, Conditions()
    lines, text = _split(entry.content)
    read = _Read()
    done = True  # Whether the last chain of fallbacks has been answered.
    for fallback, name, value in lines:
        if fallback and done:
            continue
        done = name in read.seen or _apply(read, name, value)
        if done and name != "additional_keys":
            read.seen.add(name)
    return replace(entry, content=text, **read.fields), Conditions(**read.conditions)


def _split(content: str) -> tuple[list[tuple[bool, str, str]], str]:
    """(whether a fallback, name, value) of each decorator, and the text that is left."""
    found: list[tuple[bool, str, str]] = []
    rest = content.lstrip().splitlines(keepends=True)
    while rest and rest[0].startswith("@@"):
        line = rest.pop(0).strip()
        fallback = line.startswith("@@@")
        name, _, value = line.lstrip("@").partition(" ")
        found.append((fallback, name.strip().casefold(), value.strip()))
        while rest and not rest[0].strip():
            rest.pop(0)
    return found, "".join(rest).strip()


def _apply(read: _Read, name: str, value: str) -> bool:
    """Take one decorator into account; whether it is known and its value is right."""
    maker = _KNOWN.get(name)
    try:
        made = dict(maker(value)) if maker else None
    except ValueError:
        made = None
    if made is None:
        return False
    for key, given in made.items():
        where = read.conditions if key in Conditions.__dataclass_fields__ else read.fields
        if key == "additional":
            where[key] = (*where.get(key, ()), *given)
        elif key == "forced" and where.get(key) is True:
            continue  # activate wins
        elif key == "place" and name == "depth" and "position" in read.seen:
            continue  # so does position
        else:
            where[key] = given
    return True


Made = Iterator[tuple[str, Any]]


def _number(value: str) -> int:
    number = int(value)
    if number < 0:
        raise ValueError(value)
    return number


def _list(value: str) -> tuple[str, ...]:
    found = tuple(item.strip() for item in value.split(",") if item.strip())
    if not found:
        raise ValueError(value)
    return found


def _numbered(key: str) -> Callable[[str], Made]:
    def make(value: str) -> Made:
        yield key, _number(value)

    return make


def _flag(key: str, given: Any) -> Callable[[str], Made]:
    def make(value: str) -> Made:
        yield key, given

    return make


def _depth(value: str) -> Made:
    yield "depth", _number(value)
    yield "place", "depth"


def _role(value: str) -> Made:
    if value not in ("assistant", "system", "user"):
        raise ValueError(value)
    yield "role", value


_POSITIONS: Mapping[str, Place] = {
    "before_desc": "before_char",
    "after_desc": "after_char",
    "personality": "after_char",
    "scenario": "after_char",
}


def _position(value: str) -> Made:
    if value not in _POSITIONS:
        raise ValueError(value)
    yield "place", _POSITIONS[value]


def _percent(value: str) -> Made:
    yield "probability", min(100, _number(value))


def _additional(value: str) -> Made:
    yield "additional", (_list(value),)


def _excluding(value: str) -> Made:
    yield "excluding", _list(value)


def _recursive(on: bool) -> Callable[[str], Made]:
    def make(value: str) -> Made:
        yield "exclude_recursion", not on

    return make


_KNOWN: Mapping[str, Callable[[str], Made]] = {
    "activate_only_after": _numbered("only_after"),
    "activate_only_every": _numbered("only_every"),
    "keep_activate_after_match": _flag("latch", True),
    "dont_activate_after_match": _flag("latch", False),
    "depth": _depth,
    "role": _role,
    "scan_depth": _numbered("scan_depth"),
    "position": _position,
    "ignore_on_max_context": _flag("first_to_go", True),
    "additional_keys": _additional,
    "exclude_keys": _excluding,
    "activate": _flag("forced", True),
    "dont_activate": _flag("forced", False),
    "match_full_word": _flag("match", "word"),
    "match_partial_word": _flag("match", "substring"),
    "probability": _percent,
    "priority": _numbered("priority"),
    "recursive": _recursive(True),
    "unrecursive": _recursive(False),
    "no_recursive_search": _flag("prevent_recursion", True),
}
