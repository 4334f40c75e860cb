"""What a reader of a lorebook file yields: values, with the JSON they came from beside them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from talekeeper.domain.lore import Entry
from talekeeper.formats.imported import Notice

__all__ = ["ImportedEntry", "ImportedLorebook", "LoreFormat"]

LoreFormat = Literal["sillytavern", "card", "v3", "agnai", "risu", "novelai"]
"""A SillyTavern world file; a card's ``character_book``, bare or as a ``lorebook_v3`` file; a
memory book of Agnai or Chub; a lorebook export of RisuAI or NovelAI."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ImportedEntry:
    """One entry. ``document`` is its JSON as it stood, unknown fields included."""

    entry: Entry
    document: Mapping[str, Any] = field(repr=False)


@dataclass(frozen=True, kw_only=True, slots=True)
class ImportedLorebook:
    """A lorebook. What its file does not tell is "" or None.

    ``document`` is its whole JSON as it stood, but each entry's place holds the entry's ``id``
    instead: enough to write the file anew, in its order and under its keys. ``unknown`` lists the
    paths of fields that are kept but not understood.
    """

    format: LoreFormat
    name: str
    entries: tuple[ImportedEntry, ...]
    document: Mapping[str, Any] = field(repr=False)
    description: str = ""
    scan_depth: int | None = None
    token_budget: int | None = None
    recursive: bool | None = None
    names: bool = False
    notices: tuple[Notice, ...] = ()
    unknown: tuple[str, ...] = ()
