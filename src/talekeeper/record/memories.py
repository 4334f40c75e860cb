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
from talekeeper.store import revisions as revision_rows
from talekeeper.text.terms import language_of, terms_of
from talekeeper.text.tokens import Tokenizer, tokenizer_named

__all__ = [
    "Added",
    "NewMemory",
    "add",
    "check_room",
    "clear",
    "delete",
    "edit",
    "leave_to_global",
    "move",
    "pin",
    "purge",
    "purge_trash",
    "restore",
    "scope_name",
    "similar_to",
    "sweep_trash",
    "tokenizer_of",
    "trashed_since",
    "with_old_trash",
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
    _check_repeats(text, rows.listed(connection, account, [found.character]), but=memory)
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
    rows.sweep(connection, account, before=trashed_since(now))
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
    _check_repeats(found.text, there, but=memory)
    check_room(there, name, pinned=found.pinned)
    after = State(text=found.text, character=character, pinned=found.pinned)
    return _by_person(connection, account, found, "move", after, now)


def clear(
    connection: Connection, account: str, character: str | None, *, pinned: bool, now: datetime
) -> int:
    """Put all unpinned memories of a scope into the trash, or all pinned ones; answers how many."""
    rows.lock(connection, account)
    scope_name(connection, account, character)
    rows.sweep(connection, account, before=trashed_since(now))
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
    # Where all that ever said something was rolled back meanwhile: what it said last.
    said = fold(journal).said or State(text=found[0].text, character=found[0].character)
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


def sweep_trash(connection: Connection, account: str, *, now: datetime) -> int:
    """Delete for good what has been in the trash for its time. Raises NotFound."""
    rows.lock(connection, account)
    return rows.sweep(connection, account, before=trashed_since(now))


def with_old_trash(connection: Connection, *, now: datetime) -> Sequence[str]:
    """The accounts of whose trash something has been there for its time."""
    return rows.with_trash(connection, before=trashed_since(now))


def trashed_since(now: datetime) -> datetime:
    """What was deleted before this moment is no longer in the trash."""
    return now - timedelta(days=LIMITS.memory_trash_days)


def leave_to_global(connection: Connection, account: str, character: str, *, now: datetime) -> None:
    """Let all that is filed under a character be global: it is about to be deleted.

    The global scope may be fuller than its cap then.
    """
    rows.lock(connection, account)
    for memory in rows.listed(connection, account, [character]):
        after = State(text=memory.text, character=None, pinned=memory.pinned)
        _by_person(connection, account, memory, "move", after, now)
    rows.leave(connection, account, character)


def _check_repeats(text: str, there: Collection[Memory], *, but: int) -> None:
    """Conflict where another memory of a scope says the same."""
    for other in there:
        if other.id != but and repeat_key(other.text) == repeat_key(text):
            raise Conflict(f"Memory {other.id} says the same there already.")


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
