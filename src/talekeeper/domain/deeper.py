"""Deeper memory: what a pass over one cell wanted to change, and what became of it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

__all__ = ["CellMessage", "DeeperChange", "DeeperPass", "PassOutcome"]

PassOutcome = Literal["done", "skipped", "failed"]
"""``skipped``: the cell is not read, now or later; ``failed``: the model could not do it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class CellMessage:
    """A message of a cell as a deeper pass reads it: its active swipe, and what it may be for."""

    number: int
    role: str
    speaker: str
    character_id: str | None
    active: int
    text: str
    tokens: int
    forget: bool
    learnable: bool
    imported: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class DeeperChange:
    """One change that the model wanted. ``refused`` says why it was not made, None where it was.

    ``memory`` is the number of the memory it made, changed or deleted, or wanted to. ``character``
    is the scope's id, None for global. ``message`` is the one whose words are the ``quote``.
    """

    action: str
    memory: int | None = None
    text: str | None = None
    character: str | None = None
    quote: str | None = None
    reason: str | None = None
    message: int | None = None
    refused: str | None = None

    def as_json(self) -> dict[str, Any]:
        """The documented JSON shape; it is stored like this too."""
        return {
            "action": self.action,
            "memory": self.memory,
            "text": self.text,
            "scope": "global" if self.character is None else "character",
            "character": self.character,
            "quote": self.quote,
            "reason": self.reason,
            "message": self.message,
            "refused": self.refused,
        }

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> "DeeperChange":
        """Back from :meth:`as_json`."""
        return cls(**{key: item for key, item in value.items() if key != "scope"})


@dataclass(frozen=True, kw_only=True, slots=True)
class DeeperPass:
    """That a cell was read for lasting details, or is not to be: each cell has one pass at most.

    ``cell`` is the number of its first message, ``last`` of the last one that is there (None where
    all are gone). ``run`` names the pass, to undo what it did; None where nothing was asked.
    ``changes`` are those made and the first of those refused, ``unlisted`` how many more were.
    """

    cell: int
    outcome: PassOutcome
    made_at: datetime
    run: str | None = None
    reason: str | None = None
    model: str | None = None
    changes: Sequence[DeeperChange] = ()
    unlisted: int = 0
    last: int | None = None

    @property
    def made(self) -> int:
        """How many changes were made."""
        return sum(change.refused is None for change in self.changes)

    @property
    def refused(self) -> int:
        """How many were not."""
        return len(self.changes) - self.made + self.unlisted

    def as_json(self) -> dict[str, Any]:
        """The documented JSON shape."""
        return {
            "first_message": self.cell,
            "last_message": self.last,
            "run": self.run,
            "outcome": self.outcome,
            "reason": self.reason,
            "model": self.model,
            "at": self.made_at.isoformat(),
            "made": self.made,
            "refused": self.refused,
            "changes": [change.as_json() for change in self.changes],
        }
