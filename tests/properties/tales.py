"""SillyTavern files made up for the tests: lines of bytes, and the messages they hold."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from talekeeper import ToolCall

__all__ = ["Tale", "TaleLine", "TaleMessage", "header_line", "message_line", "tool_line"]


@dataclass(frozen=True, kw_only=True)
class TaleMessage:
    """A message of a file."""

    role: str
    speaker: str
    texts: tuple[str, ...]
    active: int = 0
    excluded: bool = False
    calls: tuple[ToolCall, ...] = ()
    answers: str | None = None


@dataclass(frozen=True)
class TaleLine:
    """A line without its end, and what it holds."""

    raw: bytes
    messages: tuple[TaleMessage, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Tale:
    """A file. Files of one ``root`` share their first lines. ``marked``: the header has a mark."""

    root: int
    lines: tuple[TaleLine, ...]
    marked: bool
    end: bytes = b"\n"
    ends_with_newline: bool = True

    @property
    def raw(self) -> bytes:
        """The file."""
        whole = b"".join(line.raw + self.end for line in self.lines)
        return whole if self.ends_with_newline else whole.removesuffix(self.end)

    @property
    def messages(self) -> Sequence[TaleMessage]:
        """All messages in order."""
        return [message for line in self.lines for message in line.messages]


def _line(value: dict[str, Any]) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode()


def header_line(root: int, *, marked: bool) -> TaleLine:
    """The first line of a file."""
    metadata = {"integrity": f"tale-{root}"} if marked else {}
    value = {"user_name": "Anna", "character_name": "Mira", "chat_metadata": metadata}
    return TaleLine(_line(value))


def message_line(role: str, texts: Sequence[str], active: int, *, hidden: bool) -> TaleLine:
    """A line that holds one message."""
    speaker = {"user": "Anna", "assistant": "Mira", "system": "The Teller"}[role]
    value: dict[str, Any] = {
        "name": speaker,
        "is_user": role == "user",
        "is_system": hidden,
        "mes": texts[active],
        "extra": {"type": "narrator"} if role == "system" else {},
    }
    if len(texts) > 1:
        value |= {"swipes": list(texts), "swipe_id": active}
    message = TaleMessage(
        role=role, speaker=speaker, texts=tuple(texts), active=active, excluded=hidden
    )
    return TaleLine(_line(value), (message,))


def tool_line(asked: Sequence[tuple[str, str]]) -> TaleLine:
    """A line that holds a call of Mira's and its results: (id, result) each."""
    value = {
        "name": "SillyTavern System",
        "is_user": False,
        "is_system": True,
        "mes": "shown",
        "extra": {
            "tool_invocations": [
                {"id": key, "name": "look", "parameters": "{}", "result": result}
                for key, result in asked
            ]
        },
    }
    calls = tuple(ToolCall(id=key, name="look", arguments="{}") for key, _ in asked)
    results = (
        TaleMessage(role="tool", speaker="look", texts=(result,), answers=key)
        for key, result in asked
    )
    call = TaleMessage(role="assistant", speaker="Mira", texts=("",), calls=calls)
    return TaleLine(_line(value), (call, *results))
