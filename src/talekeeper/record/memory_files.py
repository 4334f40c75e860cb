"""Saved memories out of the account and into it: a whole file, or nothing of it."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection

from talekeeper.domain.errors import MemoriesOverCap, NotFound
from talekeeper.domain.limits import LIMITS
from talekeeper.domain.memory import Memory, State, repeat_key
from talekeeper.formats.memory_file import FiledMemory, read_memories, write_memories
from talekeeper.record.journal import add_memory
from talekeeper.record.memories import scope_name, tokenizer_of
from talekeeper.record.people import character_named
from talekeeper.record.texts import checked
from talekeeper.store import characters as character_rows
from talekeeper.store import memories as rows

__all__ = ["Destination", "Filled", "MemoryImport", "export_memories", "import_memories"]

_Place = tuple[str | None, bool]
"""A scope, and whether its pinned memories are meant."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Destination:
    """The scope that takes all that a file holds: a character's id, or None for global."""

    character: str | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Filled:
    """What an import does to the pinned or the unpinned memories of one scope.

    ``there`` is how many there were, ``in_file`` how many the file brings that are not there word
    for word, ``added`` how many of them came in, ``cap`` how many there may be.
    """

    character: str | None
    name: str
    pinned: bool
    there: int
    in_file: int
    added: int
    cap: int


@dataclass(frozen=True, kw_only=True, slots=True)
class MemoryImport:
    """What came of an import: ``repeats`` were there already, or stood twice in the file;
    ``left_out`` did not fit."""

    filled: Sequence[Filled]
    repeats: int

    @property
    def added(self) -> int:
        """How many memories came in."""
        return sum(one.added for one in self.filled)

    @property
    def left_out(self) -> int:
        """How many did not fit."""
        return sum(one.in_file - one.added for one in self.filled)


def export_memories(
    connection: Connection, account: str, scopes: Sequence[str | None] | None
) -> bytes:
    """A file with the memories of these scopes, or of all. Raises NotFound."""
    for scope in scopes or ():
        scope_name(connection, account, scope)
    names = {one.id: one.name for one in character_rows.listed(connection, account)}
    found = rows.listed(connection, account, scopes)
    found.sort(
        key=lambda m: (names.get(m.character or "", ""), m.character or "", m.updated_at, m.id)
    )
    return write_memories([_filed(memory, names) for memory in found])


def _filed(memory: Memory, names: Mapping[str, str]) -> FiledMemory:
    return FiledMemory.model_construct(
        text=memory.text,
        scope="global" if memory.character is None else "character",
        character=names.get(memory.character or ""),
        pinned=memory.pinned,
        by=memory.author,
        created_at=memory.created_at,
        updated_at=memory.updated_at,
    )


def import_memories(
    connection: Connection,
    account: str,
    data: bytes,
    *,
    into: Destination | None,
    newest: bool,
    now: datetime,
) -> MemoryImport:
    """Add what a file holds to the scopes it names, or all of it ``into`` one.

    What is there word for word is not added again. Where not all fits, nothing is written and
    MemoriesOverCap lists the scopes, unless ``newest``: then the newest that fit come in.
    Raises UnreadableFile, InvalidInput, NotFound, Ambiguous, MemoriesOverCap.
    """
    filed = read_memories(data)
    for item in filed:
        checked(item.text)
    rows.lock(connection, account)
    scopes = _scopes(connection, account, filed, into)
    there = {
        scope: rows.listed(connection, account, [scope]) for scope in dict.fromkeys(scopes.values())
    }
    wanted, repeats = _without_repeats(filed, scopes, there, now)
    filled: list[Filled] = []
    chosen: list[tuple[datetime, str | None, FiledMemory]] = []
    for (scope, pinned), items in wanted.items():
        count = sum(memory.pinned == pinned for memory in there[scope])
        cap = LIMITS.pinned_memories if pinned else LIMITS.memories
        newest_first = sorted(items, key=lambda item: item[0], reverse=True)
        fitting = newest_first[: max(0, cap - count)]
        chosen += [(moment, scope, item) for moment, item in fitting]
        filled.append(
            Filled(
                character=scope,
                name=scope_name(connection, account, scope),
                pinned=pinned,
                there=count,
                in_file=len(items),
                added=len(fitting),
                cap=cap,
            )
        )
    over = [one for one in filled if one.added < one.in_file]
    if over and not newest:
        raise MemoriesOverCap([(o.name, o.pinned, o.there, o.in_file, o.cap) for o in over])
    _add_all(connection, account, chosen)
    return MemoryImport(filled=filled, repeats=repeats)


def _scopes(
    connection: Connection,
    account: str,
    filed: Collection[FiledMemory],
    into: Destination | None,
) -> Mapping[str | None, str | None]:
    """For each owner that the file names, the scope its memories go to."""
    if into is not None:
        scope_name(connection, account, into.character)
        return {item.owner: into.character for item in filed}
    found: dict[str | None, str | None] = {None: None}
    unknown: list[str] = []
    for name in dict.fromkeys(item.owner for item in filed):
        if name is None:
            continue
        try:
            found[name] = character_named(connection, account, name).id
        except NotFound:
            unknown.append(repr(name))
    if unknown:
        raise NotFound(
            f"There is no character {', '.join(unknown)}, whose memories the file holds: add "
            "them first, or say which scope takes all."
        )
    return found


def _without_repeats(
    filed: Sequence[FiledMemory],
    scopes: Mapping[str | None, str | None],
    there: Mapping[str | None, Sequence[Memory]],
    now: datetime,
) -> tuple[dict[_Place, list[tuple[datetime, FiledMemory]]], int]:
    """What is new, by where it goes, each with its moment; and how much is not new."""
    said = {scope: {repeat_key(memory.text) for memory in found} for scope, found in there.items()}
    wanted: dict[_Place, list[tuple[datetime, FiledMemory]]] = {}
    repeats = 0
    for item in filed:
        scope, key = scopes[item.owner], repeat_key(item.text)
        if key in said[scope]:
            repeats += 1
            continue
        said[scope].add(key)
        # A moment to come would stay the newest for ever.
        moment = min(item.updated_at or now, now)
        wanted.setdefault((scope, item.pinned), []).append((moment, item))
    return wanted, repeats


def _add_all(
    connection: Connection,
    account: str,
    chosen: list[tuple[datetime, str | None, FiledMemory]],
) -> None:
    """Add them, the oldest first, so that their numbers grow with their age."""
    tokenizer = tokenizer_of(connection, account)
    for moment, scope, item in sorted(chosen, key=lambda one: one[0]):
        add_memory(
            connection,
            account,
            State(text=item.text, character=scope, pinned=item.pinned),
            author=item.by,
            now=moment,
            tokenizer=tokenizer,
            created_at=min(item.created_at or moment, moment),
        )
