"""Deeper memory as it is recorded: what a pass may read, and its mark together with what it did.

The mark of a cell and the changes that its pass made are written in one transaction: a pass that is
killed was never there, one that is done is never repeated. What is asked of a model is not known
here.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from types import MappingProxyType
from typing import Literal

from sqlalchemy import Connection

from talekeeper.domain.deeper import CellMessage, DeeperChange, DeeperPass, PassOutcome
from talekeeper.domain.limits import LIMITS
from talekeeper.domain.memory import Memory, WriteUnit
from talekeeper.domain.usage import Usage
from talekeeper.record.memory_writes import Applied, MemoryWrite, apply_writes
from talekeeper.record.usage import note_usage
from talekeeper.store import chats as chat_rows
from talekeeper.store import deeper as rows
from talekeeper.store import memories as memory_rows
from talekeeper.store import participants as participant_rows
from talekeeper.store import settling
from talekeeper.store.chats import ChatState
from talekeeper.store.keys import ChatKey

__all__ = ["Reading", "Unread", "mark_unread", "reading_of", "why_off", "write_pass"]

_KINDS: Mapping[str, Literal["add", "update", "delete"]] = MappingProxyType(
    {"add": "add", "update": "update", "delete": "delete"}
)

_REFUSED_LISTED = 20
"""So many refused changes are kept with why; more are counted."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Reading:
    """What a deeper pass reads: the messages of a cell that memories may be made of, and the
    memories there are in the scopes it may write to.

    ``scopes`` gives the name of each: of the characters, by id, and of None for global. ``user`` is
    the persona's name.
    """

    key: ChatKey
    cell: int
    last: int
    messages: Sequence[CellMessage]
    memories: Mapping[int, Memory]
    scopes: Mapping[str | None, str]
    user: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Unread:
    """A cell that is not to be read, and why."""

    cell: int
    reason: str


def why_off(connection: Connection, state: ChatState) -> str | None:
    """Why the cells of a chat are not read for memories, None where they are."""
    if state.channel == "challenge":
        return "A challenge has no memories."
    if state.channel != "web":
        return f"Deeper memory is for web chats; this one is on {state.channel}."
    if not state.plan.deeper_memory:
        return f"The plan {state.plan.name!r} does not include deeper memory."
    learning = participant_rows.learning(connection, state.key)
    if learning and not any(learning.values()):
        return "Learn from Chat is off for everybody in this chat."
    return None


def reading_of(connection: Connection, state: ChatState, cell: int, last: int) -> Reading | Unread:
    """What a deeper pass over a cell, whose last message is ``last``, would read now."""
    off = why_off(connection, state)
    if off is not None:
        return Unread(cell=cell, reason=off)
    learning = participant_rows.learning(connection, state.key)
    found = rows.messages_of(connection, state.key, cell, last)
    kept = [message for message in found if _may_be_read(message, learning)]
    if any(message.imported for message in kept):
        return Unread(cell=cell, reason="It was imported.")
    if len(kept) < LIMITS.deeper_messages:
        few = f"Fewer than {LIMITS.deeper_messages} messages may be learned from."
        return Unread(cell=cell, reason=few)
    scopes: dict[str | None, str] = {None: "global"}
    for member in participant_rows.of_chat(connection, state.key):
        if member.character_id is not None and learning.get(member.character_id):
            scopes[member.character_id] = member.name
    there = memory_rows.listed(connection, state.key.account, scopes)
    return Reading(
        key=state.key,
        cell=cell,
        last=last,
        messages=kept,
        memories={memory.id: memory for memory in there},
        scopes=scopes,
        user=state.persona.name if state.persona else "User",
    )


def _may_be_read(message: CellMessage, learning: Mapping[str, bool]) -> bool:
    if message.forget or not message.learnable or message.role == "tool":
        return False
    # Who does not learn now is not read now, though it learned when it spoke.
    return bool(message.text.strip()) and learning.get(message.character_id or "", True)


def mark_unread(
    connection: Connection,
    key: ChatKey,
    cells: Sequence[Unread],
    *,
    owner: str,
    now: datetime,
    outcome: PassOutcome = "skipped",
    model: str | None = None,
    usage: Sequence[Usage] = (),
    new_id: Callable[[], str],
) -> bool:
    """Let cells never be read, and note what asking took. False where the lease went to another."""
    chat_rows.state(connection, key, lock=True)
    note_usage(connection, key.account, usage, now=now, new_id=new_id)
    if not settling.holds(connection, key, owner):
        return False
    passes = [
        DeeperPass(cell=one.cell, outcome=outcome, made_at=now, reason=one.reason, model=model)
        for one in cells
        if not rows.marked(connection, key, one.cell)
    ]
    rows.put(connection, key, passes)
    return True


def write_pass(
    connection: Connection,
    reading: Reading,
    changes: Sequence[DeeperChange],
    *,
    owner: str,
    run: str,
    model: str,
    usage: Sequence[Usage],
    now: datetime,
    new_id: Callable[[], str],
) -> bool:
    """Make the changes that are not refused already, and mark the cell as read.

    False, and only what it took is noted, where what was read is no longer so, the cell is marked
    already, or the lease went to another. Raises NotFound when the chat is gone.
    """
    key = reading.key
    state = chat_rows.state(connection, key, lock=True)
    note_usage(connection, key.account, usage, now=now, new_id=new_id)
    if not settling.holds(connection, key, owner) or rows.marked(connection, key, reading.cell):
        return False
    again = reading_of(connection, state, reading.cell, reading.last)
    if isinstance(again, Unread):
        return False
    if (again.messages, again.scopes) != (reading.messages, reading.scopes):
        return False
    swipes = {message.number: message.active for message in reading.messages}
    wanted = [change for change in changes if change.refused is None]
    applied = apply_writes(
        connection,
        key.account,
        [_write(reading, change, swipes) for change in wanted],
        author="deeper",
        scopes=tuple(reading.scopes),
        now=now,
        run=run,
    )
    told = iter(applied)
    changes = [_with(change, told) for change in changes]
    refused = [at for at, change in enumerate(changes) if change.refused is not None]
    over = set(refused[_REFUSED_LISTED:])
    listed = [change for at, change in enumerate(changes) if at not in over]
    passed = DeeperPass(
        cell=reading.cell,
        outcome="done",
        made_at=now,
        run=run,
        model=model,
        changes=listed,
        unlisted=len(over),
    )
    rows.put(connection, key, [passed])
    return True


def _write(reading: Reading, change: DeeperChange, swipes: Mapping[int, int]) -> MemoryWrite:
    number = change.message or 0
    kind = _KINDS[change.action]
    shown = reading.memories[change.memory].text if change.memory is not None else None
    return MemoryWrite(
        kind=kind,
        memory=change.memory,
        text=change.text if kind != "delete" else None,
        character=change.character,
        shown=shown,
        unit=WriteUnit(reading.key.chat, number, swipes[number]),
        quote=change.quote,
        reason=change.reason,
    )


def _with(change: DeeperChange, told: Iterator[Applied]) -> DeeperChange:
    """A change with what became of it."""
    if change.refused is not None:
        return change
    applied = next(told)
    if applied.refused is not None:
        refused = f"{applied.refused[:1].upper()}{applied.refused[1:]}."
        return replace(change, refused=refused)
    return replace(change, memory=applied.memory.id if applied.memory else None)
