"""Memory writes of an AI: staged while it speaks, applied together with what it said.

While they are staged, the model sees them as done; nobody else does. They are checked when they are
asked for, so that the model can act on what is wrong, and once more when they are applied, since
the world may have changed meanwhile.
"""

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Literal, NamedTuple

from sqlalchemy import Connection

from talekeeper.domain.errors import InvalidInput
from talekeeper.domain.limits import LIMITS
from talekeeper.domain.memory import (
    Author,
    Memory,
    State,
    WriteUnit,
    checked_memory,
    repeat_key,
)
from talekeeper.models.memory_tools import AddMemory, DeleteMemory, ToolError, asked_for
from talekeeper.record.journal import add_memory, revise
from talekeeper.record.memories import similar_to, tokenizer_of
from talekeeper.record.texts import checked
from talekeeper.store import characters as character_rows
from talekeeper.store import memories as rows
from talekeeper.text.tokens import Tokenizer

__all__ = ["Applied", "MemoryWrite", "Staging", "apply_writes"]


@dataclass(frozen=True, kw_only=True, slots=True)
class MemoryWrite:
    """One write. ``memory`` is None for a new one; ``text`` is None where one is deleted.

    ``character`` is the scope: an id, or None for global. ``shown`` is the text of the memory that
    the AI was told: what says something else by now is not changed by it. ``quote`` and ``reason``
    say what it rests on, ``unit`` the message it hangs on.
    """

    kind: Literal["add", "update", "delete"]
    memory: int | None = None
    text: str | None = None
    character: str | None = None
    shown: str | None = None
    unit: WriteUnit | None = None
    quote: str | None = None
    reason: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Applied:
    """What became of a write: the memory, or why nothing was done."""

    write: MemoryWrite
    memory: Memory | None = None
    refused: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class _Known:
    """A memory as the model knows it: as stored, with what is staged."""

    handle: str
    text: str
    character: str | None
    pinned: bool
    stored: int | None


class Staging:
    """The memory writes of one reply. ``own`` is the speaker's scope, None where it has none.

    ``memories`` are those of the scopes it may write to: its own and the global one.
    """

    def __init__(self, memories: Collection[Memory], *, own: str | None) -> None:
        self._own = own
        self._known = {
            str(memory.id): _Known(
                handle=str(memory.id),
                text=memory.text,
                character=memory.character,
                pinned=memory.pinned,
                stored=memory.id,
            )
            for memory in memories
        }
        self._memories = {memory.id: memory for memory in memories}
        self._writes: dict[str, MemoryWrite] = {}
        self._order: list[str] = []
        self._made = 0
        self._insisted: set[str] = set()

    @property
    def writes(self) -> Sequence[MemoryWrite]:
        """What is to be applied, in order."""
        return [self._writes[handle] for handle in self._order if handle in self._writes]

    def call(self, name: str, arguments: str) -> str:
        """Do what a tool call asks for; answers the result for the model, as JSON."""
        try:
            asked = asked_for(name, arguments)
            if self._made >= LIMITS.memory_writes:
                raise ToolError(
                    f"No more than {LIMITS.memory_writes} memories can be written in one reply. "
                    "Go on with your reply."
                )
            if isinstance(asked, AddMemory):
                answer = self._add(asked)
            elif isinstance(asked, DeleteMemory):
                answer = self._delete(str(asked.id))
            else:
                answer = self._update(str(asked.id), asked.text)
        except (ToolError, InvalidInput) as error:
            return _said({"ok": False, "error": str(error)})
        return _said({"ok": True, **answer})

    def _add(self, asked: AddMemory) -> Mapping[str, object]:
        text = _one_line(asked.text)
        character = self._own if asked.scope == "character" else None
        if asked.scope == "character" and self._own is None:
            raise ToolError('You have no memories of your own here. Use the scope "global".')
        there = [known for known in self._known.values() if known.character == character]
        for known in there:
            if repeat_key(known.text) == repeat_key(text):
                return {"id": known.handle, "note": "It is saved already."}
        self._check_similar(text, there)
        if sum(not known.pinned for known in there) >= LIMITS.memories:
            raise ToolError(
                f"There are {LIMITS.memories} memories, and no more fit. Update or delete one "
                "that matters less."
            )
        handle = f"new-{sum(key.startswith('new-') for key in self._order) + 1}"
        self._known[handle] = _Known(
            handle=handle, text=text, character=character, pinned=False, stored=None
        )
        self._stage(handle, MemoryWrite(kind="add", text=text, character=character))
        return {"id": handle}

    def _check_similar(self, text: str, there: Sequence[_Known]) -> None:
        """Offer to update what says nearly the same; who asks again for the same may have it."""
        if text in self._insisted:
            return
        stored = [self._memories[known.stored] for known in there if known.stored in self._memories]
        stored = [replace(m, text=self._known[str(m.id)].text) for m in stored]
        similar = similar_to(text, [memory for memory in stored if not memory.pinned])
        if similar:
            self._insisted.add(text)
            raise ToolError(
                f'Memory {similar[0].id} says nearly the same: "{similar[0].text}" Update it '
                "instead, or add yours again if both are needed."
            )

    def _update(self, handle: str, text: str) -> Mapping[str, object]:
        known, text = self._changeable(handle), _one_line(text)
        if known.text == text:
            return {"id": known.handle, "note": "It says so already."}
        there = [other for other in self._known.values() if other.character == known.character]
        for other in there:
            if other is not known and repeat_key(other.text) == repeat_key(text):
                raise ToolError(
                    f"Memory {other.handle} says exactly that already. If memory {known.handle} "
                    "has become needless, delete it instead."
                )
        self._known[known.handle] = replace(known, text=text)
        before = self._writes.get(known.handle)
        if before is not None and before.kind == "add":
            write = replace(before, text=text)
        else:
            write = replace(self._change(known), kind="update", text=text)
        self._stage(known.handle, write)
        return {"id": known.handle}

    def _delete(self, handle: str) -> Mapping[str, object]:
        known = self._changeable(handle)
        del self._known[known.handle]
        if known.stored is None:
            del self._writes[known.handle]
            self._made += 1
        else:
            self._stage(known.handle, self._change(known))
        return {"id": known.handle}

    def _change(self, known: _Known) -> MemoryWrite:
        """The write that deletes a stored memory, if it is still what the model was shown."""
        shown = self._memories[known.stored].text if known.stored is not None else None
        return MemoryWrite(
            kind="delete", memory=known.stored, character=known.character, shown=shown
        )

    def _changeable(self, handle: str) -> _Known:
        known = self._known.get(handle.strip().removeprefix("#").strip())
        if known is None:
            raise ToolError(
                f"There is no memory {handle!r} that you can change. The numbers after # in your "
                "list are those you can."
            )
        if known.pinned:
            raise ToolError(
                f"Memory {known.handle} is pinned by the user: only they change it. If something "
                "new is true, add a memory."
            )
        return known

    def _stage(self, handle: str, write: MemoryWrite) -> None:
        if handle not in self._order:
            self._order.append(handle)
        self._writes[handle] = write
        self._made += 1


def apply_writes(
    connection: Connection,
    account: str,
    writes: Sequence[MemoryWrite],
    *,
    author: Author,
    scopes: Collection[str | None],
    now: datetime,
    run: str | None = None,
) -> list[Applied]:
    """Apply an AI's writes, each that still can be. None touches a pinned memory, or another scope
    than ``scopes`` that are there; none adds to a full scope, or changes what was changed since the
    AI was shown it."""
    if not writes:
        return []
    rows.lock(connection, account)
    scopes = [scope for scope in scopes if _exists(connection, account, scope)]
    there = {memory.id: memory for memory in rows.listed(connection, account, scopes)}
    # As it is before the first of them: one may follow another.
    changed = {write.memory for write in writes if _changed(write, there)}
    tokenizer = tokenizer_of(connection, account)
    found: list[Applied] = []
    for at, write in enumerate(writes):
        # What a later one changes or deletes is no hindrance to this one.
        passing = {later.memory for later in writes[at + 1 :]} - changed
        refused = _refused(write, there, scopes, changed, passing)
        if refused is not None:
            found.append(Applied(write=write, refused=refused))
            continue
        memory = _apply(
            connection,
            account,
            write,
            there.get(write.memory) if write.memory is not None else None,
            made=_Made(author=author, now=now, run=run, tokenizer=tokenizer),
        )
        if write.kind == "delete":
            del there[memory.id]
        else:
            there[memory.id] = memory
        found.append(Applied(write=write, memory=memory))
    return found


class _Made(NamedTuple):
    """By whom and when writes are made, and how they are counted."""

    author: Author
    now: datetime
    run: str | None
    tokenizer: Tokenizer


def _apply(
    connection: Connection, account: str, write: MemoryWrite, before: Memory | None, *, made: _Made
) -> Memory:
    """Write one revision: of a new memory, or of the one that was there before."""
    if before is None:
        return add_memory(
            connection,
            account,
            State(text=write.text or "", character=write.character),
            author=made.author,
            now=made.now,
            tokenizer=made.tokenizer,
            unit=write.unit,
            run=made.run,
            quote=write.quote,
            reason=write.reason,
        )
    return revise(
        connection,
        account,
        before,
        present=True,
        action=write.kind,
        after=replace(_state(before), text=write.text) if write.text else None,
        author=made.author,
        now=made.now,
        unit=write.unit,
        run=made.run,
        quote=write.quote,
        reason=write.reason,
    )


def _exists(connection: Connection, account: str, scope: str | None) -> bool:
    """Whether a scope is there: a character may have been deleted."""
    return scope is None or character_rows.get(connection, account, scope) is not None


def _changed(write: MemoryWrite, there: Mapping[int, Memory]) -> bool:
    """Whether a memory is not any more what the AI was shown; its version is not asked, which grows
    when a swipe makes place for another too."""
    memory = there.get(write.memory) if write.memory is not None else None
    return memory is not None and (memory.text, memory.character) != (write.shown, write.character)


def _refused(
    write: MemoryWrite,
    there: Mapping[int, Memory],
    scopes: Collection[str | None],
    changed: Collection[int | None],
    passing: Collection[int | None],
) -> str | None:
    """Why a write cannot be applied any more."""
    if write.memory is None:
        if write.character not in scopes:
            return "that scope is not its to write to"
        mine = [memory for memory in there.values() if memory.character == write.character]
        if any(repeat_key(memory.text) == repeat_key(write.text or "") for memory in mine):
            return "it is saved already"
        full = sum(not memory.pinned for memory in mine) >= LIMITS.memories
        return "the scope is full" if full else None
    memory = there.get(write.memory)
    if memory is None:
        return f"memory {write.memory} is not there"
    if memory.pinned:
        return f"memory {write.memory} is pinned"
    if memory.id in changed:
        return f"memory {write.memory} was changed meanwhile"
    said = repeat_key(write.text) if write.text is not None else None
    for other in there.values():
        if other.character != memory.character or other.id in (memory.id, *passing):
            continue
        if repeat_key(other.text) == said:
            return f"memory {other.id} says so already"
    return None


def _state(memory: Memory) -> State:
    return State(text=memory.text, character=memory.character, pinned=memory.pinned)


def _one_line(text: str) -> str:
    """An AI's text as it may be kept: one line, so that it stays one item of the list."""
    return checked_memory(" ".join(checked(text).split()))


def _said(answer: Mapping[str, object]) -> str:
    return json.dumps(answer, ensure_ascii=False)
