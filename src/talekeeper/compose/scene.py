"""What decides which entries fire, and what came of it: values."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from talekeeper.domain.lore import Entry, Extra, Trigger

__all__ = ["Activation", "Fired", "Firing", "Scene", "Silence", "Why"]

Why = Literal["key", "constant", "sticky", "recursion", "forced"]
"""Why an entry fired: a keyword in the conversation; always; it still lasts; a keyword in what
fired; a decorator."""

Silence = Literal[
    "disabled",
    "not_activated",
    "trigger",
    "character",
    "delay",
    "cooldown",
    "decorator",
    "secondary",
    "group",
    "probability",
]
"""Why one did not, though more than its keywords was at stake in all but the second."""


class Firing(NamedTuple):
    """The reply for which an entry fired last, by its message's number, and a hash of the entry."""

    number: int
    digest: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Scene:
    """What is searched, and what decides besides.

    ``messages`` are (speaker, text), the newest first. ``number`` is that of the message to be
    written, ``count`` how many messages the chat has, ``spoken`` how many of them the character
    said. ``seed`` decides what is up to chance. ``before`` tells when entries fired last, by book
    and entry.
    """

    messages: Sequence[tuple[str, str]]
    number: int
    count: int
    spoken: int
    speaker: str
    tags: Collection[str] = ()
    trigger: Trigger = "normal"
    seed: str = ""
    extras: Mapping[Extra, str] = field(default_factory=dict)
    expand: Callable[[str], str] = str
    before: Mapping[tuple[str, int], Firing] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True, slots=True)
class Fired:
    """An entry that fired, as its decorators make it. ``relevance`` is the share of its keys that
    occur; ``level`` that of the recursion, 0 for the conversation."""

    book: str
    entry: Entry
    why: Why
    keys: tuple[str, ...]
    relevance: float
    level: int
    digest: str
    first_to_go: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Activation:
    """What fired; for each book how many entries did not, by reason; and plain sentences about
    patterns that were of no use. ``why_not`` has those that keywords alone would have fired."""

    fired: tuple[Fired, ...] = ()
    silent: Mapping[str, Mapping[Silence, int]] = field(default_factory=dict)
    why_not: Mapping[tuple[str, int], Silence] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
