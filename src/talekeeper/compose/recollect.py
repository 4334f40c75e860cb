"""Which saved memories a prompt could carry, as they were before the message to be replaced."""

from collections.abc import Sequence
from dataclasses import replace

from sqlalchemy import Connection

from talekeeper.domain.limits import LIMITS
from talekeeper.domain.memory import Memory, Revision, fold, folded_memory, spread
from talekeeper.store import memories as rows
from talekeeper.store import revisions as revision_rows
from talekeeper.store.keys import ChatKey
from talekeeper.store.memories import Sendable
from talekeeper.text.tokens import tokenizer_named

__all__ = ["sendable", "writable"]


def sendable(
    connection: Connection, key: ChatKey, scopes: Sequence[str | None], *, replacing: int | None
) -> Sendable:
    """What a prompt could carry; with ``replacing``, as if what that message and all after it wrote
    had never been written."""
    if replacing is None:
        return rows.sendable(connection, key, scopes=scopes)
    hanging = revision_rows.of_messages(connection, key, since=replacing, active=True)
    touched = {revision.memory for revision in hanging}
    found = rows.sendable(connection, key, scopes=scopes, without=touched)
    before = _before(connection, key, touched, replacing)
    before = [memory for memory in before if memory.character in scopes]
    pinned = [*found.pinned, *(memory for memory in before if memory.pinned)]
    unpinned = [*found.unpinned, *(memory for memory in before if not memory.pinned)]
    sent = spread(unpinned, scopes, LIMITS.memories_sent)
    return Sendable(pinned, sent, found.more + len(unpinned) - len(sent), scopes)


def writable(
    connection: Connection, key: ChatKey, scopes: Sequence[str | None], *, replacing: int | None
) -> list[Memory]:
    """All memories of these scopes, as a reply finds them."""
    there = rows.listed(connection, key.account, scopes)
    if replacing is None:
        return there
    hanging = revision_rows.of_messages(connection, key, since=replacing, active=True)
    touched = {revision.memory for revision in hanging}
    before = _before(connection, key, touched, replacing)
    return [
        *(memory for memory in there if memory.id not in touched),
        *(memory for memory in before if memory.character in scopes),
    ]


def _before(
    connection: Connection, key: ChatKey, touched: set[int], replacing: int
) -> list[Memory]:
    """What the touched memories were before, those that were there."""

    def written_since(revision: Revision) -> bool:
        unit = revision.unit
        by_ai = revision.author != "person"
        return by_ai and unit is not None and unit.chat == key.chat and unit.number >= replacing

    memories: list[Memory] = []
    for memory, journal in revision_rows.of_memories(connection, key.account, touched).items():
        folded = fold(journal, without=written_since)
        found = rows.find(connection, key.account, memory)
        if found is not None and folded.state is not None:
            memory_then = folded_memory(found[0], folded, folded.state)
            tokens = tokenizer_named(memory_then.tokenizer).count(memory_then.text)
            memories.append(replace(memory_then, tokens=tokens))
    return memories
