"""RisuAI's words for the entries of a lorebook export.

Keys are one text with commas. Rows of mode ``folder`` are no entries. RisuAI says the rest with
decorators in the content, which stay there. ``extentions`` is its own spelling.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

from talekeeper.domain.lore import Entry
from talekeeper.formats import lorebook_words as say
from talekeeper.formats.lorebook_fields import MOST, Fields, is_pattern, put
from talekeeper.formats.lorebook_vocabulary import BookPlaces, Vocabulary, Word

__all__ = ["RISU"]

_CASE: Final = ("extensions.risu_case_sensitive", "extentions.risu_case_sensitive")


def _keys(fields: Fields, place: str) -> tuple[str, ...]:
    """The keys in a text; a pattern is one key, its commas included."""
    said = fields.at(place)[1]
    if not isinstance(said, str):
        return fields.keys(place)
    whole = fields.flag("useRegex") and (is_pattern(said) or place == "key")
    parts = [said] if whole else said.split(",")
    keys = [part.strip() for part in parts if part.strip()]
    return Fields({place: keys}, fields.path, fields.notices).keys(place)


def _read_keys(fields: Fields) -> dict[str, Any]:
    keys = _keys(fields, "key")
    plain = fields.flag("useRegex") and not all(map(is_pattern, keys))
    selective = fields.flag("selective")
    return {
        "keys": keys,
        "secondary": _keys(fields, "secondkey") if selective else (),
        "match": "regex" if plain else "substring",
    }


def _write_keys(document: dict[str, Any], entry: Entry, old: Entry) -> None:
    if (entry.keys, entry.match) != (old.keys, old.match):
        pattern = len(entry.keys) == 1 and is_pattern(entry.keys[0])
        put(document, ("key",), entry.keys[0] if pattern else ", ".join(entry.keys))
        if pattern != Fields(document).flag("useRegex"):
            put(document, ("useRegex",), pattern)
    if entry.secondary != old.secondary:
        put(document, ("secondkey",), ", ".join(entry.secondary))
        if entry.secondary:
            put(document, ("selective",), True)


def _read_constant(fields: Fields) -> dict[str, Any]:
    return {"constant": fields.flag("alwaysActive") or fields.document.get("mode") == "constant"}


def _write_constant(document: dict[str, Any], entry: Entry, old: Entry) -> None:
    if entry.constant == old.constant:
        return
    put(document, ("alwaysActive",), entry.constant)
    if document.get("mode") in (None, "normal", "constant"):
        put(document, ("mode",), "constant" if entry.constant else "normal")


def _is_entry(row: Mapping[str, Any]) -> bool:
    return row.get("mode") != "folder"


RISU: Final = Vocabulary(
    words=(
        say.title("comment"),
        say.content("content"),
        Word(_read_keys, _write_keys),
        Word(_read_constant, _write_constant),
        say.flag("case_sensitive", *_CASE),
        say.number("order", "insertorder", default=100, least=-MOST),
        say.chance(("activationPercent",)),
    ),
    blank=MappingProxyType(
        {
            "key": "",
            "secondkey": "",
            "insertorder": 100,
            "comment": "",
            "content": "",
            "mode": "normal",
            "alwaysActive": False,
            "selective": False,
            "extentions": {"risu_case_sensitive": False},
            "activationPercent": 100,
            "useRegex": False,
        }
    ),
    known=frozenset(
        {
            "id",
            "key",
            "secondkey",
            "insertorder",
            "comment",
            "content",
            "mode",
            "alwaysActive",
            "selective",
            *_CASE,
            "activationPercent",
            "useRegex",
            "folder",
            "bookVersion",
            "loreCache",
        }
    ),
    known_in_book=frozenset({"type", "ver", "data"}),
    blank_book=MappingProxyType({"type": "risu", "ver": 1}),
    book=BookPlaces((), (), (), (), ()),
    rows="data",
    id_place="",
    is_entry=_is_entry,
)
