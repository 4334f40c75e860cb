"""A sentence of a chat with what the summary needs to know about it."""

from dataclasses import dataclass

__all__ = ["Unit"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Unit:
    """One sentence. ``passage`` and ``place`` tell where it stands: which passage, and which
    sentence in it.

    ``speaker`` is written before it as it is. ``terms`` are compared with those of others;
    ``salience`` is what the sentence is worth by itself, ``names`` how
    many it has of people and places. ``filler`` is never chosen for itself. ``cut``: it goes on in
    the next one.
    """

    speaker: str
    text: str
    passage: int
    place: int
    action: bool
    asks: bool
    filler: bool
    salience: float
    names: int
    terms: tuple[str, ...]
    cut: bool = False

    @property
    def said(self) -> str:
        """The text as it stands where what it goes on with does not follow."""
        return f"{self.text} …" if self.cut else self.text
