"""What becomes of the tool calls of one reply, by the rules; and a model that makes them."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from talekeeper import ToolCall
from talekeeper.models.chat_model import Answer
from tests.properties.remembering import WRITES, Book, Event, Kept, Unit, Value

__all__ = ["Call", "Calling", "Pen"]


class Call(NamedTuple):
    """A tool call: ``id`` names a memory, or is ``new-1`` and so on."""

    kind: str
    id: str = ""
    text: str = ""
    scope: str = "character"

    def as_tool_call(self, number: int) -> ToolCall:
        """The same as a model sends it."""
        given = {"id": self.id, "text": self.text, "scope": self.scope}
        wanted = {"add": ("text", "scope"), "update": ("id", "text"), "delete": ("id",)}[self.kind]
        arguments = json.dumps({key: given[key] for key in wanted}, ensure_ascii=False)
        return ToolCall(id=f"c{number}", name=f"{self.kind}_memory", arguments=arguments)


@dataclass
class Calling:
    """A chat model that makes the calls it was told to, then says something."""

    name: str = "scripted"
    calls: Sequence[ToolCall] = ()
    text: str = "So be it."
    offered: list[bool] = field(default_factory=list)

    async def complete(
        self, messages: Sequence[Mapping[str, str]], *, most_tokens: int, temperature: float
    ) -> Answer:
        """Nobody asks for one here."""
        raise NotImplementedError

    async def stream(
        self,
        messages: Sequence[Mapping[str, Any]],
        *,
        tools: Sequence[Mapping[str, Any]] = (),
        most_tokens: int,
        on_text: Callable[[str], None],
    ) -> Answer:
        """The calls first, offered tools or not, then the text."""
        self.offered.append(bool(tools))
        calls, self.calls = tuple(self.calls), ()
        if calls and tools:
            return Answer(text="", calls=calls)
        on_text(self.text)
        return Answer(text=self.text, calls=calls)

    async def close(self) -> None:
        """Nothing is open."""


class Pen:
    """The writes of one reply: first as the model sees them, then as they are kept."""

    def __init__(self, book: Book, view: Mapping[int, Kept], own: str | None) -> None:
        self.book = book
        self.own = own
        self.known: dict[str, Value] = {
            str(kept.id): kept.value for kept in view.values() if kept.value.scope in (None, own)
        }
        self.writes: dict[str, Call] = {}
        self.scopes: dict[str, str | None] = {}
        self.made = self.begun = 0

    def call(self, call: Call) -> bool:
        """Whether a call is done."""
        if self.made >= WRITES:
            return False
        if call.kind == "add":
            return self._add(call)
        known = self.known.get(call.id)
        if known is None or known.pinned:
            return False
        self.made += 1
        before = self.writes.get(call.id)
        if call.kind == "delete":
            del self.known[call.id]
            if call.id.startswith("new"):
                self.writes[call.id] = Call("nothing")
            else:
                self.writes[call.id] = call
            return True
        self.known[call.id] = known._replace(text=call.text)
        kept_kind = before.kind if before and before.kind == "add" else "update"
        self.writes[call.id] = call._replace(kind=kept_kind)
        return True

    def _add(self, call: Call) -> bool:
        scope = None if call.scope == "global" else self.own
        if call.scope == "character" and self.own is None:
            return False
        mine = [v for v in self.known.values() if v.scope == scope and not v.pinned]
        if len(mine) >= 100:
            return False
        self.begun += 1
        self.made += 1
        handle = f"new-{self.begun}"
        self.known[handle] = Value(call.text, scope)
        self.scopes[handle] = scope
        self.writes[handle] = call
        return True

    def keep(self, unit: Unit, next_id: int) -> int:
        """Write what still can be written, now that the swipe is shown; answers the next id."""
        for handle, call in self.writes.items():
            there = self.book.there()
            if call.kind == "add":
                scope = self.scopes[handle]
                if self.book.room(scope, pinned=False, there=there.values()) > 0:
                    value = Value(call.text, scope)
                    self.book.add_event(next_id, Event(self.book.step, "add", value, unit))
                    next_id += 1
            elif call.kind in ("update", "delete"):
                kept = there.get(int(handle))
                if kept is None or kept.value.pinned or kept.value.scope not in (None, self.own):
                    continue
                after = kept.value._replace(text=call.text) if call.kind == "update" else None
                self.book.add_event(kept.id, Event(self.book.step, call.kind, after, unit))
        return next_id
