"""What a composition is asked for, and all it works from. Knows nothing of the store."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import get_args

from talekeeper.compose.lore_index import CompiledBook
from talekeeper.compose.scene import Firing
from talekeeper.domain.block import Mode
from talekeeper.domain.cell import Tail
from talekeeper.domain.character import Card, Persona
from talekeeper.domain.chat import LiveMessage
from talekeeper.domain.errors import InvalidInput
from talekeeper.domain.limits import Plan
from talekeeper.domain.settings import GenerationSettings
from talekeeper.domain.summary import Summary
from talekeeper.store.memories import Sendable

__all__ = ["LeftOut", "Material", "Request", "tail_of"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Request:
    """The arguments of compose.

    ``input`` is what the user is about to say, None when it is recorded already. ``replacing`` is
    the number of the message to be regenerated: the view is the state before it. ``now`` is for the
    macros that tell the time.
    """

    input: str | None = None
    speaker: str | None = None
    replacing: int | None = None
    mode: Mode = "reply"
    now: datetime | None = None

    def __post_init__(self) -> None:
        if self.mode not in get_args(Mode):
            known = ", ".join(get_args(Mode))
            raise InvalidInput(f"There is no mode {self.mode!r}; there are {known}.")
        if self.input is not None and self.replacing is not None:
            raise InvalidInput("Give either a new input or the message to replace, not both.")
        if self.input is not None and self.mode != "reply":
            raise InvalidInput(f"Mode {self.mode!r} takes no input.")
        if self.input is not None and not self.input.strip():
            raise InvalidInput("The input must not be empty.")


@dataclass(frozen=True, kw_only=True, slots=True)
class LeftOut:
    """Messages that never came near the prompt: ``count`` of them in ``first``-``last``."""

    count: int
    first: int
    last: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Material:
    """All that one composition works from.

    ``lines`` are the newest messages that are not excluded, oldest first; ``older`` are those
    before them, None when ``lines`` reach back to the beginning. ``excluded`` are (number, swipe,
    tokens) of the newest excluded messages, ``older_excluded`` those before. ``members`` are
    the characters' names in order, ``spoken`` their spoken names by id. ``tail`` is the open
    turn and cell, where a new message would go. ``summaries`` are nodes of the conversation
    summary; ``settles`` tells that what leaves the window will be summarised. ``memories`` are None
    where none are read; ``memory_off`` says why, or whose are not. ``books`` are the lorebooks in
    play, ``fired`` when their entries fired last.
    """

    seed: str
    speaker: Card
    speaker_id: str | None
    members: Sequence[str]
    spoken: Mapping[str, str]
    persona: Persona | None
    settings: GenerationSettings
    plan: Plan
    next_number: int
    tail: Tail | None
    lines: Sequence[LiveMessage]
    older: LeftOut | None = None
    excluded: Sequence[tuple[int, int, int]] = ()
    older_excluded: LeftOut | None = None
    summaries: Sequence[Summary] = ()
    settles: bool = True
    memories: Sendable | None = None
    memory_off: Sequence[str] = ()
    books: Sequence[CompiledBook] = ()
    fired: Mapping[tuple[str, int], Firing] = field(default_factory=dict)

    @property
    def user_name(self) -> str:
        """What ``{{user}}`` becomes."""
        return self.persona.name if self.persona else "User"

    @property
    def speaker_name(self) -> str:
        """What ``{{char}}`` becomes: the nickname where there is one."""
        return self.speaker.nickname or self.speaker.name


def tail_of(lines: Sequence[LiveMessage]) -> Tail | None:
    """The open turn and cell of a chat whose newest messages are ``lines``."""
    if not lines:
        return None
    last = lines[-1]
    in_cell = [line for line in lines if line.cell == last.cell]
    return Tail(
        turn=last.turn,
        by_user=any(line.number == last.turn and line.role == "user" for line in in_cell),
        turn_messages=sum(line.turn == last.turn for line in in_cell),
        cell=last.cell,
        cell_messages=len(in_cell),
        cell_tokens=sum(line.tokens for line in in_cell),
    )
