"""What happened to a memory, and taking some of it back: one change, a turn's, a deeper pass's.

To take back is a revision by a person too: it says what the memory would be without the change.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection

from talekeeper.domain.errors import Conflict, NotFound
from talekeeper.domain.memory import Memory, Revision, fold
from talekeeper.record.journal import in_its_scope, revise
from talekeeper.store import memories as rows
from talekeeper.store import messages as message_rows
from talekeeper.store import revisions as revision_rows
from talekeeper.store.keys import ChatKey, is_id

__all__ = ["History", "history", "undo", "undo_run", "undo_turn"]


@dataclass(frozen=True, kw_only=True, slots=True)
class History:
    """All that happened to a memory, the oldest first; ``present`` tells whether it is there."""

    memory: Memory
    present: bool
    revisions: Sequence[Revision]


def history(connection: Connection, account: str, memory: int) -> History:
    """What happened to a memory. Raises NotFound."""
    found = rows.find(connection, account, memory)
    if found is None:
        raise NotFound(f"There is no memory {memory}.")
    journal = revision_rows.of_memories(connection, account, [memory])[memory]
    return History(memory=found[0], present=found[1], revisions=journal)


def undo(
    connection: Connection,
    account: str,
    memory: int,
    position: int | None = None,
    *,
    now: datetime,
) -> Memory:
    """Take back one change of a memory, by default the last that counts.

    Raises NotFound, and Conflict where a later change has overtaken it.
    """
    rows.lock(connection, account)
    known = history(connection, account, memory)
    if position is None:
        last = fold(known.revisions).last
        if last is None:
            raise Conflict(f"There is nothing to take back in memory {memory}.")
        position = last.position
    elif all(revision.position != position for revision in known.revisions):
        raise NotFound(f"Memory {memory} has no change {position}.")
    changed = _without(connection, account, {memory: {position}}, now)
    if not changed:
        raise Conflict(
            f"Taking back change {position} of memory {memory} would alter nothing: "
            "a later change has overtaken it."
        )
    return changed[0]


def undo_turn(
    connection: Connection, key: ChatKey, number: int, *, now: datetime
) -> Sequence[Memory]:
    """Take back what the replies of the turn of message ``number`` changed. Raises NotFound."""
    message = message_rows.get(connection, key, number)
    turn = message_rows.turn_of(connection, key, message.turn)
    rows.lock(connection, key.account)
    found = revision_rows.of_messages(connection, key, [one.number for one in turn], active=True)
    # What a person saved from the turn is theirs, and not what the replies did.
    found = [revision for revision in found if revision.author != "person"]
    return _undo_all(connection, key.account, found, now)


def undo_run(connection: Connection, account: str, run: str, *, now: datetime) -> Sequence[Memory]:
    """Take back all that one deeper pass changed. Raises NotFound where there was no such pass."""
    rows.lock(connection, account)
    found = revision_rows.of_run(connection, account, run) if is_id(run) else []
    if not found:
        raise NotFound(f"There is no deeper pass {run!r} that changed a memory.")
    return _undo_all(connection, account, found, now)


def _undo_all(
    connection: Connection, account: str, revisions: Sequence[Revision], now: datetime
) -> Sequence[Memory]:
    positions: dict[int, set[int]] = {}
    for revision in revisions:
        positions.setdefault(revision.memory, set()).add(revision.position)
    return _without(connection, account, positions, now)


def _without(
    connection: Connection, account: str, positions: dict[int, set[int]], now: datetime
) -> list[Memory]:
    """Let memories be what they would be without some changes; answers those it altered."""
    changed: list[Memory] = []
    for memory, journal in revision_rows.of_memories(connection, account, positions).items():
        found = rows.find(connection, account, memory)
        if found is None:
            continue
        undone = positions[memory]

        def without(revision: Revision, undone: Collection[int] = undone) -> bool:
            return revision.position in undone

        after = in_its_scope(connection, account, fold(journal, without=without).state)
        if after == in_its_scope(connection, account, fold(journal).state):
            continue
        changed.append(
            revise(
                connection,
                account,
                found[0],
                present=found[1],
                action="undo",
                after=after,
                author="person",
                now=now,
            )
        )
    return changed
