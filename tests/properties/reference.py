"""What a chat is and what of it is sent, once more, as plainly as can be: values in lists.

Written from the design, not from the code it is held against, and without any care for speed.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field, replace
from typing import Any

from talekeeper import LIMITS, PLANS, GenerationSettings, ToolCall
from talekeeper.domain.summary import Summary, place_named
from talekeeper.text.tokens import tokenizer_named
from tests.properties.tales import TaleLine

__all__ = ["Said", "Told", "live_cap", "pairs", "tokens_of", "words_in"]

_WORD = re.compile(r"w\d+z")


def words_in(text: str) -> frozenset[str]:
    """The words in a text that no other text has."""
    return frozenset(_WORD.findall(text))


def tokens_of(settings: GenerationSettings, text: str, calls: Iterable[ToolCall] = ()) -> int:
    """Tokens of a text and of tool calls beside it, without the overhead of a message."""
    count = tokenizer_named(settings.tokenizer).count
    return count(text) + sum(
        count(call.name) + count(call.arguments) + 2 * LIMITS.message_overhead for call in calls
    )


@dataclass(kw_only=True)
class Said:
    """A message. ``texts``, ``tokens`` and ``calls`` are by swipe, ``line`` is that of its file."""

    number: int
    role: str
    speaker: str
    turn: int
    cell: int
    texts: list[str]
    tokens: list[int]
    calls: list[tuple[ToolCall, ...]]
    active: int = 0
    answers: str | None = None
    excluded: bool = False
    forget: bool = False
    line: int | None = None

    @property
    def text(self) -> str:
        """The active text."""
        return self.texts[self.active]

    @property
    def words(self) -> frozenset[str]:
        """The words by which the active text can be told."""
        return words_in(self.text)

    def row(self) -> tuple[object, ...]:
        """What must stand in the message's row."""
        return (
            self.number,
            self.role,
            self.speaker,
            self.turn,
            self.cell,
            self.active,
            self.answers,
            self.excluded,
            self.forget,
        )


@dataclass(kw_only=True)
class Told:
    """A chat.

    ``lines`` are those of the file it came from, by number, ``root`` tells the family of files.
    ``raw`` are the file's bytes, as long as nothing in the chat differs from them, ``files`` the
    bytes of all files that came into the chat. ``edits`` are the summaries that a person wrote, by
    name; those ``asked`` for anew may go. A copy has only those that end within it.
    """

    id: str
    members: list[str]
    persona: str | None = None
    settings: dict[str, Any] = field(default_factory=dict)
    messages: list[Said] = field(default_factory=list)
    next_number: int = 1
    lines: dict[int, TaleLine] = field(default_factory=dict)
    root: int | None = None
    raw: bytes | None = None
    files: list[bytes] = field(default_factory=list)
    edits: dict[str, str] = field(default_factory=dict)
    asked: set[str] = field(default_factory=set)
    copied: bool = False

    def numbered(self, number: int) -> Said:
        """The message of that number."""
        (found,) = (message for message in self.messages if message.number == number)
        return found

    def add(
        self,
        settings: GenerationSettings,
        role: str,
        speaker: str,
        texts: Sequence[str],
        *,
        calls: Sequence[tuple[ToolCall, ...]] = (),
        active: int = 0,
        answers: str | None = None,
        excluded: bool = False,
        line: int | None = None,
    ) -> Said:
        """Append a message where the rules of turns and cells put it."""
        turn, cell = self.place(settings, role)
        message = Said(
            number=self.next_number,
            role=role,
            speaker=speaker,
            turn=turn,
            cell=cell,
            texts=list(texts),
            tokens=[tokens_of(settings, text) for text in texts],
            calls=list(calls) or [()] * len(texts),
            active=active,
            answers=answers,
            excluded=excluded,
            line=line,
        )
        self.messages.append(message)
        self.next_number += 1
        return message

    def place(self, settings: GenerationSettings, role: str) -> tuple[int, int]:
        """The (turn, cell) of the next message."""
        if not self.messages:
            return self.next_number, self.next_number
        last = self.messages[-1]
        counted = [m for m in self.messages if m.cell == last.cell and not m.excluded]
        in_turn = sum(m.turn == last.turn for m in counted)
        by_user = any(m.number == last.turn and m.role == "user" for m in self.messages)
        if role != "user" and (in_turn < 50 or by_user or role == "tool"):
            return last.turn, last.cell
        full = sum(m.tokens[m.active] for m in counted) >= 0.30 * live_cap(settings)
        closed = full or len(counted) >= 16
        return self.next_number, self.next_number if closed else last.cell

    def group(self, said: Said) -> set[int]:
        """The numbers of what goes together with a message: a call and its results in its turn."""

        def asks(message: Said) -> set[str]:
            return {call.id for calls in message.calls for call in calls}

        turn = [message for message in self.messages if message.turn == said.turn]
        keys = asks(said)
        if said.answers is not None:
            callers = [message for message in turn if said.answers in asks(message)]
            keys = asks(callers[0]) if callers else {said.answers}
        together = {m.number for m in turn if m.answers in keys or asks(m) & keys}
        return together | {said.number}

    @property
    def asks_in_vain(self) -> bool:
        """Whether a message has both words and calls, and no result follows it."""
        following = [message.answers for message in self.messages[1:]] + [None]
        return any(
            message.text and asked and answers not in {call.id for call in asked}
            for message, answers in zip(self.messages, following, strict=False)
            for asked in [message.calls[message.active]]
        )

    def take_away(self, numbers: Iterable[int]) -> None:
        """Delete messages."""
        gone = set(numbers)
        self.messages = [message for message in self.messages if message.number not in gone]

    def copy(self, chat: str, number: int) -> "Told":
        """A fork at a message."""
        return replace(
            self,
            id=chat,
            members=list(self.members),
            settings=dict(self.settings),
            messages=deepcopy([m for m in self.messages if m.number <= number]),
            next_number=number + 1,
            lines={at: line for at, line in self.lines.items() if at <= self.last_line(number)},
            raw=None,
            files=[],
            edits=dict(self.edits),
            asked=set(self.asked),
            copied=True,
        )

    def last_line(self, number: int) -> int:
        """The last line of the file that messages up to ``number`` came from."""
        return max((m.line or 0 for m in self.messages if m.number <= number), default=0)

    def live(self, *, before: int | None = None) -> list[Said]:
        """The messages that prompts may hold."""
        return [
            message
            for message in self.messages
            if not message.excluded and (before is None or message.number < before)
        ]

    def follow_edits(self, nodes: Iterable[Summary]) -> None:
        """What a person wrote is there, until it is made anew on demand or tells of nothing."""
        there = {node.name: node for node in nodes}
        places = {node.place for node in there.values()}
        for name in list(self.edits):
            node = there.get(name)
            if node is None:
                place = place_named(name)
                below = places.intersection(place.children)
                assert self.copied or not below, f"{name} went for no reason"
            elif node.edited or name not in self.asked:
                continue
            self.asked.discard(name)
            del self.edits[name]
        self.copied = False
        assert {n.name: n.text for n in there.values() if n.edited} == self.edits

    def with_input(self, settings: GenerationSettings, text: str) -> "Told":
        """The chat as it would be after an input."""
        copy = replace(self, messages=list(self.messages))
        copy.add(settings, "user", self.user_name, [text])
        return copy

    @property
    def user_name(self) -> str:
        """What ``{{user}}`` is."""
        return self.persona or "User"

    def spoken(self, settings: GenerationSettings, message: Said, speaker: str) -> str:
        """A message's text as it is sent to ``speaker``."""
        name = message.speaker if message.role == "assistant" else speaker
        text = message.text.replace("{{user}}", self.user_name).replace("{{char}}", name)
        if not text or message.role in ("system", "tool") or settings.names == "never":
            return text
        foreign = message.role == "assistant" and (
            len(self.members) > 1 or message.speaker not in self.members
        )
        other = message.role == "user" and message.speaker not in (self.user_name, "User")
        named = foreign or other or settings.names == "always"
        return f"{message.speaker}: {text}" if named else text

    def window(
        self, settings: GenerationSettings, lines: Sequence[Said], speaker: str
    ) -> Sequence[Said]:
        """The newest of ``lines``: from the earliest cell where all caps hold, else turn."""
        if not settings.live_cap or not lines:
            return lines

        sizes = [
            tokens_of(settings, self.spoken(settings, m, speaker), m.calls[m.active]) for m in lines
        ]

        def holds(at: int) -> bool:
            return len(lines) - at <= 50 and sum(sizes[at:]) <= live_cap(settings)

        places = range(len(lines))
        cells = [at for at in places if at == 0 or lines[at].cell != lines[at - 1].cell]
        turns = [at for at in places if at == 0 or lines[at].turn != lines[at - 1].turn]
        start = next((at for at in (*cells, *turns) if holds(at)), turns[-1])
        return lines[start:]


def live_cap(settings: GenerationSettings) -> int:
    """The live window's cap in tokens on the plan that every account here has."""
    return min(PLANS["self_hosted"].live_tokens, int(0.25 * (settings.context_limit or 32_768)))


def pairs(lines: Sequence[Said]) -> Mapping[int, int]:
    """Numbers of results, each with the number of the call it answers."""
    found: dict[int, int] = {}
    answered: set[tuple[int, str]] = set()
    for at, line in enumerate(lines):
        if line.answers is None:
            continue
        for caller in reversed(lines[:at]):
            asked = {call.id for call in caller.calls[caller.active]}
            if line.answers in asked:
                if (caller.number, line.answers) not in answered:
                    answered.add((caller.number, line.answers))
                    found[line.number] = caller.number
                break
    return found
