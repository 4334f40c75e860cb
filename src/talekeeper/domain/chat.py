"""Chats, messages, swipes: the source data a conversation consists of."""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal, NamedTuple

__all__ = [
    "Channel",
    "Chat",
    "LiveMessage",
    "Message",
    "Part",
    "Role",
    "Swipe",
    "ToolCall",
]

Role = Literal["user", "assistant", "system", "tool"]
"""Who speaks: the person, a character, the narrator (or a front-end's notice), a tool."""

Channel = Literal["web", "discord", "telegram", "challenge"]


@dataclass(frozen=True, kw_only=True, slots=True)
class ToolCall:
    """One call the model made. ``arguments`` is the JSON text as the model wrote it."""

    id: str
    name: str
    arguments: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Part:
    """A part of a message that is not text. ``url`` is an address or a data URL."""

    kind: Literal["image"]
    url: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Swipe:
    """One of several alternative texts of a message.

    ``text`` is raw: macros are expanded when a prompt is composed. ``tokens`` was counted by
    ``tokenizer`` when the swipe was written. ``sent_at`` may be unknown (imported chats).
    """

    index: int
    text: str
    tokens: int
    tokenizer: str
    sent_at: datetime | None = None
    model: str | None = None
    reasoning: str | None = None
    tool_calls: tuple[ToolCall, ...] = ()
    parts: tuple[Part, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Message:
    """One utterance. Its key is (account, chat, number); numbers grow and are never reused.

    ``turn`` and ``cell`` are the number of the first message of the turn and of the cell this
    message belongs to. ``speaker`` is the name at the time of writing; ``character_id`` is set
    when a participant spoke. ``excluded`` keeps it out of prompts, ``forget`` out of what is
    derived; the two are independent. ``learnable`` is false for what was said while *Learn from
    Chat* was off: no memory is made of it. ``version`` grows with each change.
    """

    number: int
    role: Role
    speaker: str
    active: int
    turn: int
    cell: int
    version: int
    swipes: tuple[Swipe, ...]
    character_id: str | None = None
    excluded: bool = False
    forget: bool = False
    learnable: bool = True
    external_id: str | None = None
    tool_call_id: str | None = None

    @property
    def swipe(self) -> Swipe:
        """The active swipe."""
        return next(swipe for swipe in self.swipes if swipe.index == self.active)

    @property
    def text(self) -> str:
        """The active swipe's text."""
        return self.swipe.text


class LiveMessage(NamedTuple):
    """A message as a prompt needs it: its active swipe, and where it stands.

    ``tokens`` were counted by ``tokenizer``. A tuple, since each composition reads dozens.
    """

    number: int
    role: Role
    speaker: str
    character_id: str | None
    active: int
    turn: int
    cell: int
    tool_call_id: str | None
    text: str
    tokens: int
    tokenizer: str
    tool_calls: tuple[ToolCall, ...] = ()
    parts: tuple[Part, ...] = ()
    forget: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Chat:
    """One conversation with one or more characters.

    ``characters`` are the participants' ids in order. ``messages`` counts those that exist,
    excluded ones included. ``forked_from`` is (chat id, number of the last shared message).
    ``version`` grows with each change to the chat or to anything in it.
    """

    id: str
    title: str
    channel: Channel
    characters: tuple[str, ...]
    persona_id: str | None
    messages: int
    version: int
    created_at: datetime
    updated_at: datetime
    forked_from: tuple[str, int] | None = None
