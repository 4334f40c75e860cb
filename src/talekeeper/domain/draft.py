"""A memory that is proposed and not saved: a person looks at it first."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from talekeeper.domain.limits import LIMITS
from talekeeper.domain.memory import WriteUnit

__all__ = ["Draft", "Drafted"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Draft:
    """A memory to be reviewed. Change it with ``dataclasses.replace`` before it is saved.

    ``character`` is the scope's id, None for global. ``sources`` are the numbers of the messages it
    comes from, ``unit`` the first of them with its swipe; both are empty where it does not come
    from a conversation. What comes from one is saved pinned.
    """

    text: str
    character: str | None = None
    pinned: bool = False
    sources: Sequence[int] = ()
    unit: WriteUnit | None = None

    @property
    def length(self) -> int:
        """Characters, of which a memory has at most ``LIMITS.memory_characters``."""
        return len(self.text)

    @property
    def too_long(self) -> bool:
        """Whether it cannot be saved before somebody shortens it."""
        return self.length > LIMITS.memory_characters

    def as_json(self) -> dict[str, Any]:
        """The documented JSON shape."""
        return {
            "text": self.text,
            "characters": self.length,
            "too_long": self.too_long,
            "scope": "global" if self.character is None else "character",
            "character": self.character,
            "pinned": self.pinned,
            "chat": self.unit.chat if self.unit else None,
            "messages": list(self.sources),
        }


@dataclass(frozen=True, kw_only=True, slots=True)
class Drafted:
    """What a model drafted; ``notes`` say what of its answer was left out, and why."""

    drafts: Sequence[Draft]
    notes: Sequence[str] = ()

    def as_json(self) -> dict[str, Any]:
        """The documented JSON shape."""
        return {"drafts": [draft.as_json() for draft in self.drafts], "notes": list(self.notes)}
