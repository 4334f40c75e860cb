"""Writing the journal of memories and keeping their values true.

Every change of a memory is a revision, and its value is folded anew. Every change of messages calls
:func:`refresh_units`, so that what hangs on a text that is not shown any more does not count.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from sqlalchemy import Connection

from talekeeper.domain.chat import Message
from talekeeper.domain.memory import (
    Action,
    Author,
    Memory,
    Revision,
    State,
    WriteUnit,
    fold,
    folded_memory,
    rests_on,
)
from talekeeper.store import characters as character_rows
from talekeeper.store import memories as rows
from talekeeper.store import messages as message_rows
from talekeeper.store import revisions as revision_rows
from talekeeper.store.keys import ChatKey
from talekeeper.text.tokens import Tokenizer, tokenizer_named

__all__ = ["add_memory", "in_its_scope", "purge_unseen", "refresh_units", "revise"]


def add_memory(
    connection: Connection,
    account: str,
    state: State,
    *,
    author: Author,
    now: datetime,
    tokenizer: Tokenizer,
    action: Action = "add",
    unit: WriteUnit | None = None,
    run: str | None = None,
    quote: str | None = None,
    reason: str | None = None,
    created_at: datetime | None = None,
) -> Memory:
    """File a new memory with its first revision. Whoever calls holds the lock and the cap."""
    memory = Memory(
        id=rows.next_id(connection, account),
        text=state.text,
        character=state.character,
        pinned=state.pinned,
        author=author,
        created_at=created_at or now,
        updated_at=now,
        version=1,
        tokens=tokenizer.count(state.text),
        tokenizer=tokenizer.name,
        unit=unit,
    )
    rows.insert_memory(connection, account, memory)
    first = Revision(
        memory=memory.id,
        position=1,
        author=author,
        action=action,
        before=None,
        after=state,
        made_at=now,
        unit=unit,
        run=run,
        quote=quote,
        reason=reason,
    )
    revision_rows.add(connection, account, first)
    return memory


def revise(
    connection: Connection,
    account: str,
    memory: Memory,
    *,
    present: bool,
    action: Action,
    after: State | None,
    author: Author,
    now: datetime,
    unit: WriteUnit | None = None,
    run: str | None = None,
    quote: str | None = None,
    reason: str | None = None,
) -> Memory:
    """Add a revision to a memory, which is ``present`` now or not, and fold it anew."""
    before = State(text=memory.text, character=memory.character, pinned=memory.pinned)
    revision = Revision(
        memory=memory.id,
        position=revision_rows.next_position(connection, account, memory.id),
        author=author,
        action=action,
        before=before if present else None,
        after=after,
        made_at=now,
        unit=unit,
        run=run,
        quote=quote,
        reason=reason,
    )
    revision_rows.add(connection, account, revision)
    journal = revision_rows.of_memories(connection, account, [memory.id])[memory.id]
    return _refold(connection, account, memory, journal)


def refresh_units(
    connection: Connection,
    key: ChatKey,
    numbers: Iterable[int] | None = None,
    *,
    since: int | None = None,
) -> None:
    """Take into account that these messages of a chat changed, those from ``since``, or all.

    What hangs on a swipe that is shown again counts again. The chat is locked already.
    """
    hanging = revision_rows.of_messages(connection, key, numbers, since=since)
    # What a person saved from a message counts whatever becomes of it.
    hanging = [revision for revision in hanging if revision.author != "person"]
    if not hanging:
        return
    rows.lock(connection, key.account)
    messages = _messages(connection, key, hanging)
    counts = _counting(messages)
    turned = [revision for revision in hanging if revision.active != counts(revision)]
    for active in (True, False):
        keys = [(one.memory, one.position) for one in turned if one.active != active]
        revision_rows.set_active(connection, key.account, keys, active)
    journals = revision_rows.of_memories(
        connection, key.account, {revision.memory for revision in turned}
    )
    for memory, journal in journals.items():
        found = rows.find(connection, key.account, memory)
        if found is not None:
            _refold(connection, key.account, found[0], journal)
    gone = {one.memory for one in hanging if one.unit and one.unit.number not in messages}
    purge_unseen(connection, key.account, gone)


def purge_unseen(connection: Connection, account: str, memories: Collection[int]) -> None:
    """Delete for good those of the memories that nothing can bring back: they are neither there nor
    in the trash, and every message that they came from is deleted. Whoever calls holds the lock.
    """
    found = rows.those(connection, account, memories)
    hidden = [
        memory.id for memory, present in found.values() if not present and memory.deleted_at is None
    ]
    journals = revision_rows.of_memories(connection, account, hidden)
    units = {one.unit for journal in journals.values() for one in journal if one.unit}
    there = {
        (chat, message.number)
        for chat in {unit.chat for unit in units}
        for message in message_rows.there(
            connection,
            ChatKey(account, chat),
            {unit.number for unit in units if unit.chat == chat},
        )
    }
    dead = [
        memory
        for memory, journal in journals.items()
        if all(one.unit and (one.unit.chat, one.unit.number) not in there for one in journal)
    ]
    rows.purge(connection, account, dead)


def _messages(
    connection: Connection, key: ChatKey, hanging: Sequence[Revision]
) -> Mapping[int, Message]:
    """Those messages that revisions hang on which are there, by number."""
    numbers = {revision.unit.number for revision in hanging if revision.unit}
    return {message.number: message for message in message_rows.there(connection, key, numbers)}


def _counting(messages: Mapping[int, Message]) -> Callable[[Revision], bool]:
    """Tells of a revision whether what it hangs on is shown, and still says what it rests on."""

    def counts(revision: Revision) -> bool:
        message = messages.get(revision.unit.number) if revision.unit else None
        if message is None or revision.unit is None or message.active != revision.unit.swipe:
            return False
        if revision.author != "deeper":
            return True
        return not message.forget and rests_on(message.text, revision.quote or "")

    return counts


def _refold(
    connection: Connection, account: str, memory: Memory, journal: Sequence[Revision]
) -> Memory:
    folded = fold(journal)
    state = in_its_scope(connection, account, folded.state or folded.said)
    changed = folded_memory(memory, folded, state)
    changed = replace(changed, version=memory.version + 1)
    if changed.text != memory.text:
        tokenizer = tokenizer_named(memory.tokenizer)
        changed = replace(changed, tokens=tokenizer.count(changed.text))
    rows.change(connection, account, changed, present=folded.state is not None)
    return changed


def in_its_scope(connection: Connection, account: str, state: State | None) -> State | None:
    """A state in a scope that is there: what was a deleted character's is global."""
    if state is None or state.character is None:
        return state
    if character_rows.get(connection, account, state.character) is None:
        return replace(state, character=None)
    return state
