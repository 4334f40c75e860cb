"""Putting a streamed answer together, whatever dialect of OpenAI's protocol a server speaks.

It knows chunks as the SDK or a JSON parser hands them over, not the connection they came by. What
servers send is not always what the protocol says: every field may be missing, null, or of another
type.
"""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from talekeeper.domain.chat import ToolCall
from talekeeper.models.chat_model import Answer

__all__ = ["Assembly", "count_of", "field_of", "joined"]

_OPEN = re.compile(r"\s*<think(?:ing)?>", re.IGNORECASE)
_CLOSE = re.compile(r"</think(?:ing)?>\s*", re.IGNORECASE)


@dataclass(slots=True)
class _Call:
    id: str = ""
    name: str = ""
    arguments: str = ""


class Assembly:
    """Takes chunks in their order and gives the answer at the end.

    ``on_text`` is told each piece of what is to be read by a person as it comes: no thoughts.
    """

    def __init__(self, on_text: Callable[[str], None]) -> None:
        self._on_text = on_text
        self._calls: list[_Call] = []
        self._places: dict[int, _Call] = {}
        self._texts: list[str] = []
        self._thoughts: list[str] = []
        self._held = ""
        self._thinking: bool | None = None
        self._finish: str | None = None
        self._usage: tuple[int | None, int | None] = (None, None)
        self._size = 0
        self.refusal = ""

    @property
    def size(self) -> int:
        """Characters that came, whatever they were for; a chunk counts as one at least, so that a
        server that sends nothing without end is left too."""
        return self._size

    def take(self, chunk: Any) -> None:
        """One chunk, or a whole completion from a server that does not stream."""
        before = self._size
        self._take(chunk)
        self._size = max(self._size, before + 1)

    def _take(self, chunk: Any) -> None:
        usage = field_of(chunk, "usage")
        if usage is not None:
            self._usage = count_of(usage, "prompt_tokens"), count_of(usage, "completion_tokens")
        choices = field_of(chunk, "choices")
        if not isinstance(choices, list) or not choices:
            return
        choice = choices[0]
        delta = field_of(choice, "delta") or field_of(choice, "message")
        if delta is not None:
            self._take_delta(delta)
        finish = field_of(choice, "finish_reason")
        if isinstance(finish, str) and finish:
            self._finish = finish

    def answer(self) -> Answer:
        """What it all amounts to."""
        self._let_go()
        calls = tuple(
            ToolCall(id=call.id or f"call_{at}", name=call.name, arguments=call.arguments or "{}")
            for at, call in enumerate(self._calls)
            if call.name
        )
        return Answer(
            text="".join(self._texts),
            calls=calls,
            reasoning="".join(self._thoughts).strip(),
            finish=self._finish or ("tool_calls" if calls else "stop"),
            prompt_tokens=self._usage[0],
            reply_tokens=self._usage[1],
        )

    def _take_delta(self, delta: Any) -> None:
        for name in ("reasoning_content", "reasoning"):
            thought = field_of(delta, name)
            if isinstance(thought, str) and thought:
                self._think(thought)
                break
        refusal = field_of(delta, "refusal")
        if isinstance(refusal, str):
            self._size += len(refusal)
            self.refusal += refusal
        text = joined(field_of(delta, "content"))
        if text:
            self._size += len(text)
            self._say(text)
        calls = field_of(delta, "tool_calls")
        for call in calls if isinstance(calls, list) else ():
            self._take_call(call)

    def _say(self, text: str) -> None:
        """Text, of which some servers let the beginning be thoughts in tags."""
        if self._thinking is False:
            self._tell(text)
            return
        self._held += text
        if self._thinking is None:
            found = _OPEN.match(self._held)
            if found:
                self._thinking, self._held = True, self._held[found.end() :]
            elif not _may_open(self._held):
                self._thinking, held, self._held = False, self._held, ""
                self._tell(held)
        if self._thinking:
            found = _CLOSE.search(self._held)
            if found:
                self._thoughts.append(self._held[: found.start()])
                self._thinking, rest, self._held = False, self._held[found.end() :], ""
                self._tell(rest)

    def _let_go(self) -> None:
        """What was held back at the end: thoughts that never ended, or a text that is short."""
        if self._thinking:
            self._thoughts.append(self._held)
        elif self._held.strip():
            self._tell(self._held)
        self._held = ""

    def _tell(self, text: str) -> None:
        # After thoughts the lines between are no text. Else a space may be what the last word
        # of a text that is gone on with needs behind it.
        if not self._texts and self._thoughts:
            text = text.lstrip()
        if text:
            self._texts.append(text)
            self._on_text(text)

    def _think(self, text: str) -> None:
        self._size += len(text)
        self._thoughts.append(text)

    def _take_call(self, piece: Any) -> None:
        function = field_of(piece, "function")
        name, arguments = field_of(function, "name"), field_of(function, "arguments")
        call = self._place(field_of(piece, "index"), field_of(piece, "id"), name)
        if isinstance(name, str) and name:
            self._size += len(name)
            call.name = call.name or name
        if isinstance(arguments, (dict, list)):
            arguments = json.dumps(arguments, ensure_ascii=False)
        if isinstance(arguments, str):
            self._size += len(arguments)
            call.arguments += arguments

    def _place(self, index: Any, given: Any, name: Any) -> _Call:
        """The call that a piece belongs to: by its index, unless its id says that it is another."""
        known = self._places.get(index) if isinstance(index, int) else None
        if not isinstance(index, int) and self._calls and not name:
            known = self._calls[-1]
        other = (
            isinstance(given, str) and given and known is not None and known.id not in ("", given)
        )
        if known is None or other:
            known = _Call()
            self._calls.append(known)
            if isinstance(index, int):
                self._places[index] = known
        if isinstance(given, str) and given:
            known.id = given
        return known


def _may_open(text: str) -> bool:
    """Whether a text may still turn out to begin with a tag."""
    bare = text.lstrip().lower()
    return any(tag.startswith(bare) for tag in ("<think>", "<thinking>"))


def field_of(thing: object, name: str) -> Any:
    """A field of what a server sent: of an object, or, where the SDK knows no such field, of a
    mapping. None where it is not there."""
    return thing.get(name) if isinstance(thing, Mapping) else getattr(thing, name, None)


def count_of(usage: object, name: str) -> int | None:
    """A count of tokens as a server tells it, if it does."""
    value = field_of(usage, name)
    counts = isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**31
    return value if counts else None


def joined(content: object) -> str:
    """The text of a message: a string, or, where a model thinks apart, a list of parts."""
    if not isinstance(content, list):
        return content if isinstance(content, str) else ""
    parts = [part for part in content if isinstance(part, dict) and part.get("type") == "text"]
    return "".join(part["text"] for part in parts if isinstance(part.get("text"), str))
