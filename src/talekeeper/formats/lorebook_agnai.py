"""The words of an Agnai memory book for its entries, and Chub's, whose downloads use both.

Agnai has few words. Those of cards that Chub puts beside them are read, and changed where they
stand; they are not added where they do not, for Agnai would not heed them.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

from talekeeper.domain.lore import Entry
from talekeeper.formats import lorebook_words as say
from talekeeper.formats.lorebook_card import BOOK_FIELDS, EXTENSIONS, extension_words
from talekeeper.formats.lorebook_fields import MOST, Fields, put, removed
from talekeeper.formats.lorebook_vocabulary import Vocabulary, Word
from talekeeper.formats.lorebook_words import PLACES

__all__ = ["AGNAI"]


def _read_place(fields: Fields) -> Mapping[str, Any]:
    said = say.place_said(fields, "extensions.position", "position")
    return {"place": said or "before_input"}


def _write_place(document: dict[str, Any], entry: Entry, old: Entry) -> None:
    if entry.place == old.place:
        return
    if entry.place == "before_input":
        removed(document, "extensions.position")
        removed(document, "position")
        return
    there = ("extensions.position", "position")
    put(document, there, PLACES.index(entry.place), create=False)


AGNAI: Final = Vocabulary(
    words=(
        say.title("name", "comment"),
        say.content("entry", "content"),
        say.keys("keywords", "keys"),
        say.secondary("secondary_keys", "keywords", default=False, create=False),
        say.flag("enabled", "enabled", default=True),
        say.flag("constant", "constant", create=False),
        say.number("order", "weight", "insertion_order", default=100, least=-MOST),
        say.number("priority", "priority", default=None, least=-MOST),
        say.whole_words("extensions.match_whole_words", create=False),
        say.flag("case_sensitive", "extensions.case_sensitive", "case_sensitive", create=False),
        Word(_read_place, _write_place),
        *extension_words(create=False),
    ),
    blank=MappingProxyType(
        {
            "id": 0,
            "name": "",
            "entry": "",
            "keywords": [],
            "weight": 100,
            "priority": None,
            "enabled": True,
        }
    ),
    known=EXTENSIONS
    | {
        "_id",
        "id",
        "name",
        "comment",
        "entry",
        "content",
        "keywords",
        "keys",
        "secondary_keys",
        "selective",
        "constant",
        "weight",
        "insertion_order",
        "priority",
        "enabled",
        "case_sensitive",
        "position",
        "use_regex",
    },
    known_in_book=BOOK_FIELDS | {"kind", "_id", "userId", "is_creation"},
    blank_book=MappingProxyType({"kind": "memory", "name": "", "description": ""}),
)
