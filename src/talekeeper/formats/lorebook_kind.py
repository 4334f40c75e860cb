"""Which kind of lorebook a JSON document is, told by its content."""

from collections.abc import Iterable, Mapping
from itertools import islice
from typing import Any

from talekeeper.formats.imported_lore import LoreFormat

__all__ = ["looks_like_lorebook", "lore_format"]

_SEEN = 50  # rows; one odd entry in front does not hide what the others are

_NO_LOREBOOK = frozenset(
    {"first_mes", "char_name", "mes", "chat_metadata", "messages", "savedsettings", "histories"}
)

_TELLING: tuple[tuple[LoreFormat, frozenset[str]], ...] = (
    ("novelai", frozenset({"contextConfig"})),
    ("agnai", frozenset({"keywords"})),
    ("sillytavern", frozenset({"key", "keysecondary", "disable"})),
    ("card", frozenset({"keys", "secondary_keys", "insertion_order", "enabled"})),
    ("sillytavern", frozenset({"uid"})),
)
"""Fields of an entry that tell its format, the surest first: Chub writes a card's too."""


def looks_like_lorebook(value: object) -> bool:
    """Whether a JSON value is a lorebook of one of the formats that are read."""
    return isinstance(value, Mapping) and lore_format(value) is not None


def lore_format(document: Mapping[str, Any]) -> LoreFormat | None:
    """The format of a lorebook; None for what is none."""
    named = _named_format(document)
    if named is not None:
        return named
    spec = document.get("spec")
    if isinstance(spec, str) and spec.startswith("chara_card"):
        return None
    if not _NO_LOREBOOK.isdisjoint(document.keys()):
        return None
    entries = document.get("entries")
    if isinstance(entries, Mapping):
        return _format_of_rows(entries.values()) if entries else "sillytavern"
    if isinstance(entries, list):
        return _format_of_rows(entries) if entries else "card"
    return None


def _named_format(document: Mapping[str, Any]) -> LoreFormat | None:
    if document.get("spec") == "lorebook_v3":
        return "v3"
    if document.get("type") == "risu":
        return "risu"
    if document.get("kind") == "memory":
        return "agnai"
    return "novelai" if "lorebookVersion" in document else None


def _format_of_rows(rows: Iterable[Any]) -> LoreFormat | None:
    seen = [row for row in islice(rows, _SEEN) if isinstance(row, Mapping)]
    for kind, marks in _TELLING:
        if any(not marks.isdisjoint(row.keys()) for row in seen):
            return kind
    return None
