"""Which saved memories a prompt could carry, as they were before the message to be replaced."""

from collections.abc import Collection, Sequence
from dataclasses import replace

from sqlalchemy import Connection

from talekeeper.domain.limits import LIMITS
from talekeeper.domain.memory import Memory, Revision, fold, folded_memory, line_of, spread
from talekeeper.store import characters as character_rows
from talekeeper.store import memories as rows
from talekeeper.store import revisions as revision_rows
from talekeeper.store.keys import ChatKey
from talekeeper.store.memories import Sendable
from talekeeper.store.shelf import Shelf
from talekeeper.text.tokens import tokenizer_named

__all__ = ["sendable", "writable"]


_sendable: Shelf[Sendable] = Shelf(50_000)
"""By account and scopes, as they are now; memories of all of them together."""


def sendable(
    connection: Connection,
    key: ChatKey,
    scopes: Sequence[str | None],
    *,
    replacing: int | None,
    version: int,
) -> Sendable:
    """What a prompt could carry; with ``replacing``, as if what that message and all after it wrote
    had never been written. ``version`` is that of the account's memories: what was read of the same
    is not read again."""
    touched = _touched(connection, key, replacing)
    if not touched or replacing is None:
        return _now(connection, key.account, scopes, version)
    found = rows.sendable(connection, key.account, scopes, spare=len(touched))
    lines = [line for line in (*found.pinned, *found.unpinned) if line.id not in touched]
    before = _before(connection, key, touched, scopes, replacing)
    lines += [line_of(memory) for memory in before]
    unpinned = [line for line in lines if not line.pinned]
    sent = spread(unpinned, scopes, LIMITS.memories_sent)
    # Those that stay out, without what was written since and has not been read here.
    read = {line.id for line in found.unpinned}
    hidden = sum(
        present and not memory.pinned and memory.character in scopes and memory.id not in read
        for memory, present in rows.those(connection, key.account, touched).values()
    )
    return Sendable(
        pinned=[line for line in lines if line.pinned],
        unpinned=sent,
        more=found.more - hidden + len(unpinned) - len(sent),
    )


def _now(
    connection: Connection, account: str, scopes: Sequence[str | None], version: int
) -> Sendable:
    place = account, tuple(scopes)
    found = _sendable.get(connection, place, version)
    if found is None:
        found = rows.sendable(connection, account, scopes)
        weight = 1 + len(found.pinned) + len(found.unpinned)
        _sendable.put(connection, place, version, found, weight=weight)
    return found


def writable(
    connection: Connection, key: ChatKey, scopes: Sequence[str | None], *, replacing: int | None
) -> list[Memory]:
    """All memories of these scopes, as a reply finds them."""
    there = rows.listed(connection, key.account, scopes)
    touched = _touched(connection, key, replacing)
    if not touched or replacing is None:
        return there
    return [
        *(memory for memory in there if memory.id not in touched),
        *_before(connection, key, touched, scopes, replacing),
    ]


def _touched(connection: Connection, key: ChatKey, replacing: int | None) -> set[int]:
    """The memories that the message to be replaced, or one after it, wrote."""
    if replacing is None:
        return set()
    hanging = revision_rows.of_messages(connection, key, since=replacing, active=True)
    return {revision.memory for revision in hanging}


def _before(
    connection: Connection,
    key: ChatKey,
    touched: Collection[int],
    scopes: Sequence[str | None],
    replacing: int,
) -> list[Memory]:
    """What the touched memories were before, those that were there in these scopes."""

    def written_since(revision: Revision) -> bool:
        unit = revision.unit
        by_ai = revision.author != "person"
        return by_ai and unit is not None and unit.chat == key.chat and unit.number >= replacing

    memories: list[Memory] = []
    journals = revision_rows.of_memories(connection, key.account, touched)
    for memory, _ in rows.those(connection, key.account, touched).values():
        folded = fold(journals[memory.id], without=written_since)
        state = folded.state
        if state is None:
            continue
        if state.character not in scopes:
            # A deleted character's memories are global.
            if state.character and character_rows.get(connection, key.account, state.character):
                continue
            state = replace(state, character=None)
        memory_then = folded_memory(memory, folded, state)
        tokens = tokenizer_named(memory_then.tokenizer).count(memory_then.text)
        memories.append(replace(memory_then, tokens=tokens))
    return memories
