"""A clock and ids that give the same in every run."""

from datetime import UTC, datetime, timedelta
from uuid import UUID

__all__ = ["Ids", "TickingClock"]


class TickingClock:
    """A clock that starts at a given moment and moves on by ``step`` each time it is read."""

    def __init__(
        self,
        start: datetime = datetime(2026, 5, 12, 9, 0, tzinfo=UTC),
        step: timedelta = timedelta(seconds=1),
    ) -> None:
        self.now = start
        self.step = step

    def __call__(self) -> datetime:
        """The moment now is, with its zone."""
        self.now += self.step
        return self.now


class Ids:
    """Ids that count up: the same calls give the same ids. ``seed`` tells two runs apart."""

    def __init__(self, seed: int = 0) -> None:
        self.seed = seed
        self.given = 0

    def __call__(self) -> str:
        """A fresh id."""
        self.given += 1
        return str(UUID(int=(self.seed << 64) | (7 << 76) | (2 << 62) | self.given))
