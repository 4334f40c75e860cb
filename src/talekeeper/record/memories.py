"""What a person does with saved memories: adding, editing, pinning, moving, clearing, restoring.

Each is a revision by a person, which no AI overturns. The caps hold however many write at once:
they are counted while the account's memories are locked.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import Connection

from talekeeper.domain.errors import Conflict, NotFound, ScopeFull
from talekeeper.domain.limits import LIMITS
from talekeeper.domain.memory import (
    Action,
    Memory,
    Revision,
    State,
    WriteUnit,
    checked_memory,
    fold,
    repeat_key,
)
from talekeeper.record.journal import add_memory, revise
from talekeeper.record.texts import checked
from talekeeper.store import accounts as account_rows
from talekeeper.store import characters as character_rows
from talekeeper.store import memories as rows
from talekeeper.store import messages as message_rows
from talekeeper.store import revisions as revision_rows
from talekeeper.store.keys import ChatKey
from talekeeper.text.terms import language_of, terms_of
from talekeeper.text.tokens import Tokenizer, tokenizer_named

__all__ = [
    "Added",
    "History",
    "NewMemory",
    "add",
    "check_room",
    "clear",
    "delete",
    "edit",
    "history",
    "leave_to_global",
    "move",
    "pin",
    "purge",
    "purge_trash",
    "restore",
    "scope_name",
    "similar_to",
    "tokenizer_of",
    "trashed_since",
    "undo",
    "undo_run",
    "undo_turn",
]


@dataclass(frozen=True, kw_only=True, slots=True)
class NewMemory:
    """A memory to be added. ``character`` is an id; None is the global scope."""

    text: str
    character: str | None = None
    pinned: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Added:
    """What came of adding: the memory; ``repeats`` where it was there already.

    ``memory`` is None where nothing was added because ``similar`` ones are there: edit one of them,
    or add it anyway.
    """

    memory: Memory | None
    repeats: bool = False
    similar: Sequence[Memory] = ()


def add(
    connection: Connection,
    account: str,
    new: NewMemory,
    *,
    now: datetime,
    even_if_similar: bool = False,
    unit: WriteUnit | None = None,
) -> Added:
    """Add a memory by hand. ``unit`` is the message it was taken from.

    What is there word for word is answered as it is. Raises ScopeFull, InvalidInput, NotFound.
    """
    text = checked_memory(checked(new.text))
    rows.lock(connection, account)
    name = scope_name(connection, account, new.character)
    there = rows.listed(connection, account, [new.character])
    for memory in there:
        if repeat_key(memory.text) == repeat_key(text):
            return Added(memory=memory, repeats=True)
    similar = similar_to(text, there)
    if similar and not even_if_similar:
        return Added(memory=None, similar=similar)
    check_room(there, name, pinned=new.pinned)
    state = State(text=text, character=new.character, pinned=new.pinned)
    memory = add_memory(
        connection,
        account,
        state,
        author="person",
        now=now,
        tokenizer=tokenizer_of(connection, account),
        unit=unit,
    )
    return Added(memory=memory, similar=similar)


def edit(
    connection: Connection,
    account: str,
    memory: int,
    text: str,
    *,
    now: datetime,
    expected_version: int | None = None,
) -> Memory:
    """Let a memory say something else. Raises NotFound, Conflict, InvalidInput."""
    text = checked_memory(checked(text))
    found = _locked(connection, account, memory, expected_version)
    if text == found.text:
        return found
    after = State(text=text, character=found.character, pinned=found.pinned)
    return _by_person(connection, account, found, "update", after, now)


def delete(
    connection: Connection,
    account: str,
    memory: int,
    *,
    now: datetime,
    expected_version: int | None = None,
) -> Memory:
    """Put a memory into the trash. Raises NotFound, Conflict."""
    found = _locked(connection, account, memory, expected_version)
    return _by_person(connection, account, found, "delete", None, now)


def pin(
    connection: Connection, account: str, memory: int, pinned: bool, *, now: datetime
) -> Memory:
    """Pin a memory, or no longer. Raises NotFound, ScopeFull."""
    found = _locked(connection, account, memory, None)
    if found.pinned == pinned:
        return found
    there = rows.listed(connection, account, [found.character])
    check_room(there, scope_name(connection, account, found.character), pinned=pinned)
    after = State(text=found.text, character=found.character, pinned=pinned)
    return _by_person(connection, account, found, "pin" if pinned else "unpin", after, now)


def move(
    connection: Connection, account: str, memory: int, character: str | None, *, now: datetime
) -> Memory:
    """File a memory under a character, or as global. Raises NotFound, ScopeFull, Conflict."""
    found = _locked(connection, account, memory, None)
    if found.character == character:
        return found
    name = scope_name(connection, account, character)
    there = rows.listed(connection, account, [character])
    for other in there:
        if repeat_key(other.text) == repeat_key(found.text):
            raise Conflict(f"Memory {other.id} says the same there already.")
    check_room(there, name, pinned=found.pinned)
    after = State(text=found.text, character=character, pinned=found.pinned)
    return _by_person(connection, account, found, "move", after, now)


def clear(
    connection: Connection, account: str, character: str | None, *, pinned: bool, now: datetime
) -> int:
    """Put all unpinned memories of a scope into the trash, or all pinned ones; answers how many."""
    rows.lock(connection, account)
    scope_name(connection, account, character)
    there = [m for m in rows.listed(connection, account, [character]) if m.pinned == pinned]
    for memory in there:
        _by_person(connection, account, memory, "delete", None, now)
    return len(there)


def restore(connection: Connection, account: str, memory: int, *, now: datetime) -> Memory:
    """Take a memory out of the trash; the scope may be fuller than its cap then.

    Raises NotFound where it is not there.
    """
    rows.lock(connection, account)
    found = rows.find(connection, account, memory)
    since = trashed_since(now)
    deleted_at = found[0].deleted_at if found else None
    if found is None or deleted_at is None or deleted_at < since:
        raise NotFound(f"There is no memory {memory} in the trash.")
    journal = revision_rows.of_memories(connection, account, [memory])[memory]
    said = fold(journal).said
    if said is None:
        raise NotFound(f"There is no memory {memory} in the trash.")
    return revise(
        connection,
        account,
        found[0],
        present=False,
        action="restore",
        after=said,
        author="person",
        now=now,
    )


def purge(connection: Connection, account: str, memory: int) -> None:
    """Delete a memory for good, with its whole history. Raises NotFound."""
    rows.lock(connection, account)
    if not rows.purge(connection, account, [memory]):
        raise NotFound(f"There is no memory {memory}.")


def purge_trash(connection: Connection, account: str, *, now: datetime) -> int:
    """Delete for good all that is in the trash; answers how many."""
    rows.lock(connection, account)
    found = rows.trash(connection, account, since=trashed_since(now))
    return rows.purge(connection, account, [memory.id for memory in found])


def trashed_since(now: datetime) -> datetime:
    """What was deleted before this moment is no longer in the trash."""
    return now - timedelta(days=LIMITS.memory_trash_days)


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
    return _undo_all(connection, key.account, found, now)


def undo_run(connection: Connection, account: str, run: str, *, now: datetime) -> Sequence[Memory]:
    """Take back all that one deeper pass changed. Raises NotFound where there was no such pass."""
    rows.lock(connection, account)
    found = revision_rows.of_run(connection, account, run)
    if not found:
        raise NotFound(f"There is no deeper pass {run!r} that changed a memory.")
    return _undo_all(connection, account, found, now)


def leave_to_global(connection: Connection, account: str, character: str, *, now: datetime) -> None:
    """Let all that is filed under a character be global: it is about to be deleted.

    The global scope may be fuller than its cap then.
    """
    rows.lock(connection, account)
    for memory in rows.listed(connection, account, [character]):
        after = State(text=memory.text, character=None, pinned=memory.pinned)
        _by_person(connection, account, memory, "move", after, now)
    rows.leave(connection, account, character)


def check_room(there: Collection[Memory], scope: str, *, pinned: bool) -> None:
    """ScopeFull where a scope's memories are as many as they may be."""
    count = sum(memory.pinned == pinned for memory in there)
    cap = LIMITS.pinned_memories if pinned else LIMITS.memories
    if count >= cap:
        raise ScopeFull(scope=scope, pinned=pinned, count=count, cap=cap)


def scope_name(connection: Connection, account: str, character: str | None) -> str:
    """What a scope is called: ``global``, or the character's name. Raises NotFound."""
    if character is None:
        return "global"
    found = character_rows.get(connection, account, character)
    if found is None:
        raise NotFound(f"There is no character {character!r}.")
    return found.name


def similar_to(text: str, there: Collection[Memory]) -> list[Memory]:
    """The memories that say nearly the same, the most similar first."""
    language = language_of(text)
    wanted = _compared_terms(text, language)
    alike: list[tuple[float, int, Memory]] = []
    for memory in there:
        terms = _compared_terms(memory.text, language)
        together = wanted | terms
        share = len(wanted & terms) / len(together) if together else 0.0
        if share >= LIMITS.memory_similar:
            alike.append((-share, -memory.id, memory))
    return [memory for _, _, memory in sorted(alike, key=lambda item: item[:2])]


def _compared_terms(text: str, language: str) -> set[str]:
    """Terms, of which long ones count by how they begin: "allergic" and "allergy" are alike."""
    return {term[:5] if term.isalpha() else term for term in terms_of(text, language)}


def tokenizer_of(connection: Connection, account: str) -> Tokenizer:
    """The tokenizer by which an account's memories are counted."""
    settings = account_rows.get(connection, account).settings
    return tokenizer_named(settings.get("tokenizer") or "o200k_base")


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

        after, now_says = fold(journal, without=without).state, fold(journal).state
        if after == now_says:
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


def _locked(
    connection: Connection, account: str, memory: int, expected_version: int | None
) -> Memory:
    rows.lock(connection, account)
    found = rows.get(connection, account, memory)
    if expected_version not in (None, found.version):
        raise Conflict(
            f"Memory {memory} changed since it was read (version {found.version}, not "
            f"{expected_version}). Read it again."
        )
    return found


def _by_person(
    connection: Connection,
    account: str,
    memory: Memory,
    action: Action,
    after: State | None,
    now: datetime,
) -> Memory:
    return revise(
        connection,
        account,
        memory,
        present=True,
        action=action,
        after=after,
        author="person",
        now=now,
    )
