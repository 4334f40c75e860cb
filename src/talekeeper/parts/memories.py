"""``keeper.memories``: what is saved about people, in two scopes, and everything done to it."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from sqlalchemy import Connection

from talekeeper.domain.draft import Draft, Drafted
from talekeeper.domain.limits import LIMITS
from talekeeper.domain.memory import Memory, Revision, State, WriteUnit
from talekeeper.parts.deeper import DeeperView, deeper_view
from talekeeper.parts.desk import Desk
from talekeeper.parts.drafts import Drafts
from talekeeper.record import memories as units
from talekeeper.record import memory_files, undoing
from talekeeper.record.accounts import account_settings
from talekeeper.record.memories import Added, NewMemory
from talekeeper.record.memory_files import Destination, MemoryImport
from talekeeper.record.undoing import History
from talekeeper.store import memories as rows

__all__ = ["Memories", "ScopeView", "history_json", "memory_json"]

T = TypeVar("T")


@dataclass(frozen=True, kw_only=True, slots=True)
class ScopeView:
    """The memories of a scope: pinned ones first, then the newest. ``name`` is the character's, or
    ``global``."""

    character: str | None
    name: str
    memories: Sequence[Memory]

    @property
    def pinned(self) -> int:
        """How many are pinned, of at most ``LIMITS.pinned_memories``."""
        return sum(memory.pinned for memory in self.memories)

    @property
    def unpinned(self) -> int:
        """How many are not, of at most ``LIMITS.memories``."""
        return len(self.memories) - self.pinned

    def as_json(self) -> dict[str, Any]:
        """The documented JSON shape."""
        return {
            "scope": "global" if self.character is None else "character",
            "character": self.character,
            "name": self.name,
            "unpinned": {"count": self.unpinned, "cap": LIMITS.memories},
            "pinned": {"count": self.pinned, "cap": LIMITS.pinned_memories},
            "memories": [memory_json(memory) for memory in self.memories],
        }


def memory_json(memory: Memory) -> dict[str, Any]:
    """The documented JSON shape of a memory."""
    return {
        "id": memory.id,
        "scope": "global" if memory.character is None else "character",
        "character": memory.character,
        "text": memory.text,
        "pinned": memory.pinned,
        "tokens": memory.tokens,
        "by": memory.author,
        "created_at": memory.created_at.isoformat(),
        "updated_at": memory.updated_at.isoformat(),
        "deleted_at": memory.deleted_at.isoformat() if memory.deleted_at else None,
        "version": memory.version,
        "from": _unit_json(memory.unit),
    }


def history_json(history: History) -> dict[str, Any]:
    """The documented JSON shape of all that happened to a memory."""
    return {
        "memory": memory_json(history.memory),
        "present": history.present,
        "changes": [_revision_json(revision) for revision in history.revisions],
    }


def _revision_json(revision: Revision) -> dict[str, Any]:
    return {
        "change": revision.position,
        "action": revision.action,
        "by": revision.author,
        "at": revision.made_at.isoformat(),
        "before": _state_json(revision.before),
        "after": _state_json(revision.after),
        "from": _unit_json(revision.unit),
        "run": revision.run,
        "quote": revision.quote,
        "reason": revision.reason,
        "counts": revision.active,
    }


def _state_json(state: State | None) -> dict[str, Any] | None:
    if state is None:
        return None
    return {"text": state.text, "character": state.character, "pinned": state.pinned}


def _unit_json(unit: WriteUnit | None) -> dict[str, Any] | None:
    return {"chat": unit.chat, "message": unit.number, "swipe": unit.swipe} if unit else None


class Memories:
    """The account's saved memories. A scope is a character's id, or None for the global one;
    memories are named by their numbers."""

    def __init__(self, desk: Desk, drafts: Drafts, *, reads_deeper: bool) -> None:
        self._desk = desk
        self._drafts = drafts
        self._reads_deeper = reads_deeper

    async def list(self, character: str | None = None) -> ScopeView:
        """The memories of a scope. Raises NotFound."""
        return await self._desk.read(_view, self._desk.account.id, character)

    async def scopes(self) -> Mapping[str | None, tuple[int, int]]:
        """(unpinned, pinned) for each scope that has any."""
        return await self._desk.read(rows.scope_counts, self._desk.account.id)

    async def get(self, memory: int) -> Memory:
        """One memory. Raises NotFound, which tells where it is if it is in the trash."""
        return await self._desk.read(rows.get, self._desk.account.id, memory)

    async def add(
        self,
        text: str,
        *,
        character: str | None = None,
        pinned: bool = False,
        even_if_similar: bool = False,
    ) -> Added:
        """Save a memory. What is there word for word is answered as it is; where something nearly
        the same is there, nothing is added and the answer lists it, unless ``even_if_similar``.

        Raises ScopeFull, InvalidInput, NotFound.
        """
        new = NewMemory(text=text, character=character, pinned=pinned)
        return await self._write(units.add, new, even_if_similar=even_if_similar)

    async def edit(self, memory: int, text: str, *, expected_version: int | None = None) -> Memory:
        """Let a memory say something else. Raises NotFound, Conflict, InvalidInput."""
        return await self._write(units.edit, memory, text, expected_version=expected_version)

    async def delete(self, memory: int, *, expected_version: int | None = None) -> Memory:
        """Put a memory into the trash for 30 days. Raises NotFound, Conflict."""
        return await self._write(units.delete, memory, expected_version=expected_version)

    async def pin(self, memory: int) -> Memory:
        """Send a memory in every prompt, and let no AI change it. Raises ScopeFull, NotFound."""
        return await self._write(units.pin, memory, True)

    async def unpin(self, memory: int) -> Memory:
        """Take a pin away. Raises ScopeFull, NotFound."""
        return await self._write(units.pin, memory, False)

    async def pinned_warning(self, character: str | None = None) -> str | None:
        """A sentence where the pinned memories of a scope, with the global ones, take more than
        ``LIMITS.pinned_warning`` of the account's context; of the global scope, with the fullest
        other one. Else None. Raises NotFound."""
        return await self._desk.read(_pinned_warning, self._desk.account.id, character)

    async def move(self, memory: int, character: str | None) -> Memory:
        """File a memory under a character, or as global. Raises ScopeFull, Conflict, NotFound."""
        return await self._write(units.move, memory, character)

    async def clear(self, character: str | None = None, *, pinned: bool = False) -> int:
        """Put all unpinned memories of a scope into the trash, or with ``pinned`` all pinned ones;
        answers how many."""
        return await self._write(units.clear, character, pinned=pinned)

    async def trash(self) -> Sequence[Memory]:
        """What was deleted in the last 30 days, the last first."""
        since = units.trashed_since(self._desk.clock())
        return await self._desk.read(rows.trash, self._desk.account.id, since=since)

    async def restore(self, memory: int) -> Memory:
        """Take a memory out of the trash; its scope may be over its cap then. Raises NotFound."""
        return await self._write(units.restore, memory)

    async def purge(self, memory: int) -> None:
        """Delete a memory for good, its history too. Raises NotFound."""
        await self._desk.write(units.purge, self._desk.account.id, memory)

    async def empty_trash(self) -> int:
        """Delete for good all that is in the trash; answers how many."""
        return await self._write(units.purge_trash)

    async def history(self, memory: int) -> History:
        """All that happened to a memory. Raises NotFound."""
        return await self._desk.read(undoing.history, self._desk.account.id, memory)

    async def undo(self, memory: int, change: int | None = None) -> Memory:
        """Take back one change of a memory, by default the last. Raises NotFound, Conflict."""
        return await self._write(undoing.undo, memory, change)

    async def undo_turn(self, chat: str, number: int) -> Sequence[Memory]:
        """Take back what the replies in the turn of a message changed. Raises NotFound."""
        desk = self._desk
        return await desk.write(undoing.undo_turn, desk.key(chat), number, now=desk.clock())

    async def undo_run(self, run: str) -> Sequence[Memory]:
        """Take back all that one deeper pass changed. Raises NotFound."""
        return await self._write(undoing.undo_run, run)

    async def deeper(self, chat: str) -> DeeperView:
        """What deeper memory did in a chat, and whether it goes on. Raises NotFound."""
        key = self._desk.key(chat)
        return await self._desk.read(deeper_view, key, has_model=self._reads_deeper)

    async def generate(self, description: str, *, character: str | None = None) -> Drafted:
        """Let a model draft memories from a description: what is to be remembered. It reads no
        chat, and nothing is saved: see :meth:`save_drafts`.

        Raises ModelError, UsageExceeded, InvalidInput (without a model too), NotFound.
        """
        return await self._drafts.generate(description, character=character)

    async def draft(
        self, chat: str, numbers: Collection[int], *, character: str | None = None
    ) -> Drafted:
        """Let a model draft memories from chosen messages, each with those it rests on. Nothing is
        saved: see :meth:`save_drafts`.

        Raises ModelError, UsageExceeded, InvalidInput (without a model too), NotFound.
        """
        return await self._drafts.draft(chat, numbers, character=character)

    async def as_is(
        self, chat: str, numbers: Collection[int], *, character: str | None = None
    ) -> Draft:
        """A draft of chosen messages word for word, in lines "Name: text". Nothing is cut: one that
        is ``too_long`` is to be shortened before it is saved. Raises InvalidInput, NotFound."""
        return await self._drafts.as_is(chat, numbers, character=character)

    async def save_drafts(self, drafts: Sequence[Draft]) -> Sequence[Added]:
        """Save drafts that a person accepted, changed or not: all, or none where they do not fit.
        What is there word for word is answered as it is. Raises ScopeFull, InvalidInput, NotFound.
        """
        return await self._drafts.save(drafts)

    async def export(self, scopes: Sequence[str | None] | None = None) -> bytes:
        """A JSON file with the memories of these scopes, or of all. Raises NotFound."""
        return await self._desk.read(memory_files.export_memories, self._desk.account.id, scopes)

    async def import_file(
        self, data: bytes, *, into: Destination | None = None, newest: bool = False
    ) -> MemoryImport:
        """Add the memories of such a file to the scopes it names, or all ``into`` one scope.

        What is there word for word is not added again. Where not all fits, nothing is written,
        unless ``newest``: then the newest that fit come in.
        Raises UnreadableFile, NotFound, Ambiguous, MemoriesOverCap.
        """
        return await self._write(memory_files.import_memories, data, into=into, newest=newest)

    async def _write(self, unit: Callable[..., T], *args: Any, **kwargs: Any) -> T:
        desk = self._desk
        return await desk.write(unit, desk.account.id, *args, now=desk.clock(), **kwargs)


def _view(connection: Connection, account: str, character: str | None) -> ScopeView:
    return ScopeView(
        character=character,
        name=units.scope_name(connection, account, character),
        memories=rows.listed(connection, account, [character]),
    )


def _pinned_warning(connection: Connection, account: str, character: str | None) -> str | None:
    units.scope_name(connection, account, character)
    context = account_settings(connection, account).context
    sizes: dict[str | None, int] = {None: 0}
    for memory in rows.listed(
        connection, account, None if character is None else [character, None]
    ):
        if memory.pinned:
            sizes[memory.character] = sizes.get(memory.character, 0) + memory.tokens
    everywhere = sizes.pop(None)
    together = everywhere + max(sizes.values(), default=0)
    if together <= LIMITS.pinned_warning * context:
        return None
    return (
        f"The pinned memories take {together:,} of the {context:,} tokens of the context in every "
        f"prompt, more than {LIMITS.pinned_warning:.0%}. Unpin some, or raise the context limit."
    )
