"""Saved memories: what one says, the journal of its changes, and the fold that makes the one from
the other. Knows no store and no clock."""

import unicodedata
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Literal, NamedTuple

from talekeeper.domain.errors import InvalidInput
from talekeeper.domain.limits import LIMITS

__all__ = [
    "Action",
    "Author",
    "Folded",
    "Memory",
    "MemoryLine",
    "Revision",
    "State",
    "WriteUnit",
    "checked_memory",
    "fold",
    "folded_memory",
    "line_of",
    "recent_since",
    "repeat_key",
    "rests_on",
    "spread",
    "turns",
]

Author = Literal["person", "character", "deeper"]
"""Who changed a memory: a person, the character in its reply, the deeper pass."""

Action = Literal["add", "update", "delete", "pin", "unpin", "move", "restore", "undo"]


class WriteUnit(NamedTuple):
    """What a memory write of a reply hangs on: one swipe of one message."""

    chat: str
    number: int
    swipe: int


@dataclass(frozen=True, kw_only=True, slots=True)
class State:
    """What a memory says while it is there. ``character`` is an id; None is the global scope."""

    text: str
    character: str | None
    pinned: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Revision:
    """One change of a memory, as its journal keeps it.

    ``before`` and ``after`` are what it said then, None where it was not there. ``unit`` is set
    where it hangs on a message, ``run`` where a deeper pass made it. ``active`` is false while the
    unit's swipe is not the one that is shown, or its message is gone. ``quote`` is what the change
    rests on, word for word; ``reason`` why it was made.
    """

    memory: int
    position: int
    author: Author
    action: Action
    before: State | None
    after: State | None
    made_at: datetime
    unit: WriteUnit | None = None
    run: str | None = None
    quote: str | None = None
    reason: str | None = None
    active: bool = True


@dataclass(frozen=True, kw_only=True, slots=True)
class Memory:
    """A saved memory. Its key is (account, id); ids grow and are never given twice.

    ``updated_at`` is when it began to say what it says; ``author`` who changed it last, ``unit``
    the message that came from, where it came from one. ``deleted_at`` is set while it is in the
    trash. ``version`` grows with each change.
    """

    id: int
    text: str
    character: str | None
    pinned: bool
    author: Author
    created_at: datetime
    updated_at: datetime
    version: int
    tokens: int
    tokenizer: str
    unit: WriteUnit | None = None
    deleted_at: datetime | None = None


class MemoryLine(NamedTuple):
    """What a prompt needs of a memory, which is a line there."""

    id: int
    text: str
    character: str | None
    pinned: bool
    tokens: int
    tokenizer: str
    updated_at: datetime


def line_of(memory: Memory) -> MemoryLine:
    """A memory as a prompt needs it."""
    return MemoryLine(
        id=memory.id,
        text=memory.text,
        character=memory.character,
        pinned=memory.pinned,
        tokens=memory.tokens,
        tokenizer=memory.tokenizer,
        updated_at=memory.updated_at,
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class Folded:
    """What the journal of a memory amounts to: ``state`` is None where it is not there.

    ``last`` is the revision that counts last; ``said`` what it said before it was deleted.
    ``updated_at`` is when the text became what it is.
    """

    state: State | None
    said: State | None
    last: Revision | None
    updated_at: datetime | None


def fold(
    revisions: Iterable[Revision], *, without: Callable[[Revision], bool] = lambda _: False
) -> Folded:
    """The value of a memory.

    Revisions count in their order. Those of an AI count only while they are active, on what is
    there, and never on what is pinned; one of a person says all that the memory is, so that nothing
    before it matters any more. ``without`` leaves some out as if they had never been made.
    """
    state: State | None = None
    said: State | None = None
    last: Revision | None = None
    updated_at: datetime | None = None
    for revision in revisions:
        if without(revision):
            continue
        new = revision.after
        if revision.author != "person":
            if not revision.active or not _applies(revision, state):
                continue
            if state is not None and new is not None:
                new = replace(state, text=new.text)
        if new is not None and (said is None or said.text != new.text):
            updated_at = revision.made_at
        state, last = new, revision
        said = new or said
    return Folded(state=state, said=said, last=last, updated_at=updated_at)


def _applies(revision: Revision, state: State | None) -> bool:
    """Whether an AI's change has something to change: adds make, the others find."""
    if revision.action == "add":
        return state is None
    return state is not None and not state.pinned


def folded_memory(memory: Memory, folded: Folded, state: State | None) -> Memory:
    """A memory with what its journal amounts to; where that is nothing, with what it said last."""
    last, there = folded.last, folded.state is not None
    state = state or State(text=memory.text, character=memory.character)
    return replace(
        memory,
        text=state.text,
        character=state.character,
        pinned=state.pinned and there,
        author=last.author if last else memory.author,
        updated_at=folded.updated_at or memory.updated_at,
        unit=last.unit if last else None,
        deleted_at=last.made_at if last and not there else None,
    )


def checked_memory(text: str) -> str:
    """The text as it is kept: NFC, without space at its ends. InvalidInput for an empty or
    over-long one; nothing is cut."""
    text = unicodedata.normalize("NFC", text).strip()
    if not text:
        raise InvalidInput("A memory must not be empty: say in a sentence what is to be kept.")
    if len(text) > LIMITS.memory_characters:
        raise InvalidInput(
            f"A memory holds at most {LIMITS.memory_characters} characters; this one has "
            f"{len(text)}. Shorten it, or make two of it."
        )
    return text


def repeat_key(text: str) -> str:
    """The form in which memories are the same: NFC, casefolded, spaces collapsed, no full stop."""
    return _compared(text).rstrip(".。!！")


def rests_on(text: str, quote: str) -> bool:
    """Whether a quote occurs in a text word for word; case, spaces and Unicode form do not matter.

    An empty one occurs nowhere.
    """
    wanted = _compared(quote)
    return bool(wanted) and wanted in _compared(text)


def _compared(text: str) -> str:
    return " ".join(unicodedata.normalize("NFC", text).casefold().split())


def recent_since(now: datetime) -> datetime:
    """A memory that says what it says since that moment, or later, is marked as recent."""
    return now - timedelta(days=LIMITS.memory_recent_days)


def spread(
    memories: Collection[MemoryLine], scopes: Sequence[str | None], most: int
) -> list[MemoryLine]:
    """The newest ``most`` memories, the newest of each scope in turn; in that order.

    Scopes are asked in the order given.
    """
    rank = {scope: at for at, scope in enumerate(scopes)}
    by_scope: dict[str | None, list[MemoryLine]] = {scope: [] for scope in scopes}
    for memory in sorted(memories, key=lambda m: (m.updated_at, m.id), reverse=True):
        by_scope[memory.character].append(memory)
    placed = [
        (at, rank[scope], m) for scope, found in by_scope.items() for at, m in enumerate(found)
    ]
    placed.sort(key=lambda item: item[:2])
    return [memory for _, _, memory in placed[:most]]


def turns(counts: Sequence[int], most: int) -> list[int]:
    """How many of each scope are among the first ``most``, when each gives one in turn.

    ``counts`` are how many each has.
    """
    taken = [0] * len(counts)
    left = min(most, sum(counts))
    while left:
        for at, count in enumerate(counts):
            if left and taken[at] < count:
                taken[at] += 1
                left -= 1
    return taken
