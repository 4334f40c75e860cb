"""What came of settling a chat, and counting it on the way."""

from dataclasses import dataclass
from typing import Literal

from talekeeper.store.keys import ChatKey

__all__ = ["Done", "Outcome", "State"]

State = Literal["done", "more", "busy", "failed"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Outcome:
    """What came of settling a chat.

    ``done``: nothing is left to do; ``more``: something is; ``busy``: another has it on lease;
    ``failed``: see ``reason``. ``made`` counts the summaries that were written, ``read`` the cells
    that were read for memories.
    """

    key: ChatKey
    state: State
    made: int = 0
    read: int = 0
    reason: str | None = None


@dataclass(slots=True)
class Done:
    """What one settling did so far; ``clashes`` are those in a row."""

    made: int = 0
    read: int = 0
    clashes: int = 0

    @property
    def count(self) -> int:
        """Requests that were of use."""
        return self.made + self.read

    def add(self, step: str) -> None:
        """One more step: ``made``, ``read`` or ``marked``."""
        self.clashes = 0
        self.made += step == "made"
        self.read += step == "read"

    def outcome(self, key: ChatKey, state: State, reason: str | None = None) -> Outcome:
        """What came of it."""
        return Outcome(key=key, state=state, made=self.made, read=self.read, reason=reason)
