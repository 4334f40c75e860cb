"""The words of a card's ``character_book`` (card specifications V2 and V3) for its entries.

SillyTavern puts what the specifications have no word for into an entry's ``extensions``; so does
this. Such an entry is marked: SillyTavern writes ``use_regex`` into each and never reads it.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

from talekeeper.domain.lore import Entry, Extra, Match
from talekeeper.formats import lorebook_words as say
from talekeeper.formats.lorebook_fields import (
    MISSING,
    MOST,
    Fields,
    found,
    is_pattern,
    put,
    removed,
)
from talekeeper.formats.lorebook_vocabulary import Vocabulary, Word
from talekeeper.formats.lorebook_words import PLACES

__all__ = ["BOOK_FIELDS", "CARD", "EXTENSIONS", "extension_words", "is_marked"]

BOOK_FIELDS: Final = frozenset(
    {
        "name",
        "description",
        "scan_depth",
        "token_budget",
        "recursive_scanning",
        "extensions",
        "entries",
    }
)
"""What the specifications know in a book."""

_MARKS: Final = (
    "extensions.display_index",
    "extensions.displayIndex",
    "extensions.useProbability",
    "extensions.selectiveLogic",
    "extensions.exclude_recursion",
    "extensions.excludeRecursion",
)


def _camel(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(part.title() for part in others)


def _places(name: str) -> tuple[str, ...]:
    """Where an extension stands: older cards spell some as SillyTavern's world files do."""
    camel, usual = f"extensions.{_camel(name)}", f"extensions.{name}"
    return (usual,) if camel == usual else (camel, usual)


_EXTRAS: Final[Mapping[Extra, tuple[str, ...]]] = {
    "persona": _places("match_persona_description"),
    "description": _places("match_character_description"),
    "personality": _places("match_character_personality"),
    "depth_prompt": _places("match_character_depth_prompt"),
    "scenario": _places("match_scenario"),
    "creator_notes": _places("match_creator_notes"),
}

_EXTENSIONS: Final = (
    "position",
    "depth",
    "role",
    "outlet_name",
    "probability",
    "scan_depth",
    "exclude_recursion",
    "prevent_recursion",
    "delay_until_recursion",
    "sticky",
    "cooldown",
    "delay",
    "group",
    "group_override",
    "group_weight",
    "use_group_scoring",
    "character_filter",
    "triggers",
    "ignore_budget",
    "case_sensitive",
    "match_whole_words",
    # of no use here
    "display_index",
    "automation_id",
    "vectorized",
    "add_memo",
    "weight",
)
EXTENSIONS: Final = (
    frozenset(place for name in _EXTENSIONS for place in _places(name))
    | frozenset(place for places in _EXTRAS.values() for place in places)
    | {"extensions.useProbability", "extensions.selectiveLogic"}
)
"""The places in ``extensions`` that are understood, or known to be of no use here."""


def is_marked(entry: Mapping[str, Any]) -> bool:
    """Whether SillyTavern wrote an entry's JSON, or its words are in it."""
    return any(found(entry, mark) is not MISSING for mark in _MARKS)


def extension_words(*, create: bool) -> tuple[Word, ...]:
    """SillyTavern's words in ``extensions``; what is not there is added only to ``create``."""
    return (
        say.logic("extensions.selectiveLogic", create=create),
        say.number("depth", "extensions.depth", default=4, create=create),
        say.role("extensions.role", create=create),
        say.text("outlet", *_places("outlet_name"), create=create),
        say.chance(("extensions.probability",), "extensions.useProbability", create=create),
        say.number("scan_depth", *_places("scan_depth"), default=None, create=create),
        say.extra_texts(_EXTRAS, create=create),
        say.flag("exclude_recursion", *_places("exclude_recursion"), create=create),
        say.flag("prevent_recursion", *_places("prevent_recursion"), create=create),
        say.level(*_places("delay_until_recursion"), create=create),
        say.number("sticky", "extensions.sticky", default=0, create=create),
        say.number("cooldown", "extensions.cooldown", default=0, create=create),
        say.number("delay", "extensions.delay", default=0, create=create),
        say.groups("extensions.group", create=create),
        say.flag("group_override", *_places("group_override"), create=create),
        say.number("group_weight", *_places("group_weight"), default=100, create=create),
        say.flag("group_scoring", *_places("use_group_scoring"), create=create),
        say.character_filter(*_places("character_filter"), create=create),
        say.triggers("extensions.triggers", create=create),
        say.flag("ignore_budget", *_places("ignore_budget"), create=create),
    )


_WHOLE_WORDS: Final = _places("match_whole_words")


def _read_match(fields: Fields) -> dict[str, Any]:
    return {"match": _match(fields)}


def _match(fields: Fields) -> Match:
    if fields.flag("use_regex") and not is_marked(fields.document):
        quiet = Fields(fields.document)
        keys = quiet.keys("keys") + quiet.keys("secondary_keys")
        if not all(map(is_pattern, keys)):
            return "regex"
    return "word" if fields.flag(*_WHOLE_WORDS) else "substring"


def _write_match(document: dict[str, Any], entry: Entry, old: Entry) -> None:
    if entry.match == old.match:
        return
    if "regex" in (entry.match, old.match):
        put(document, ("use_regex",), entry.match == "regex")
    whole = entry.match == "word"
    if whole != Fields(document).flag(*_WHOLE_WORDS):
        put(document, _WHOLE_WORDS, whole)


def _read_place(fields: Fields) -> dict[str, Any]:
    said = say.place_said(fields, "extensions.position", "position")
    return {"place": said or "before_input"}


def _write_place(document: dict[str, Any], entry: Entry, old: Entry) -> None:
    if entry.place == old.place:
        return
    numbered = removed(document, "extensions.position")
    if entry.place == "before_input":
        removed(document, "position")
        return
    before = entry.place == "before_char"
    put(document, ("position",), "before_char" if before else "after_char")
    if numbered or entry.place not in ("before_char", "after_char"):
        put(document, ("extensions.position",), PLACES.index(entry.place))


CARD: Final = Vocabulary(
    words=(
        say.title("name", "comment"),
        say.content("content"),
        say.keys("keys"),
        say.secondary("secondary_keys", "keys", default=False),
        say.flag("enabled", "enabled", default=True),
        say.flag("constant", "constant"),
        say.number("order", "insertion_order", default=100, least=-MOST),
        say.number("priority", "priority", default=None, least=-MOST),
        say.flag("case_sensitive", *_places("case_sensitive"), "case_sensitive"),
        Word(_read_place, _write_place),
        *extension_words(create=True),
        Word(_read_match, _write_match),
    ),
    blank=MappingProxyType(
        {
            "id": 0,
            "keys": [],
            "secondary_keys": [],
            "name": "",
            "comment": "",
            "content": "",
            "constant": False,
            "selective": False,
            "insertion_order": 100,
            "enabled": True,
            "use_regex": False,
            "case_sensitive": False,
            "extensions": {},
        }
    ),
    known=EXTENSIONS
    | {
        "id",
        "uid",
        "keys",
        "secondary_keys",
        "name",
        "comment",
        "content",
        "constant",
        "selective",
        "insertion_order",
        "enabled",
        "use_regex",
        "case_sensitive",
        "priority",
        "position",
    },
    known_in_book=BOOK_FIELDS,
    blank_book=MappingProxyType({"name": "", "extensions": {}}),
    says_patterns=lambda entry: not is_marked(entry),
    names=is_marked,
)
