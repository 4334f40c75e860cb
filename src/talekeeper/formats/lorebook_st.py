"""SillyTavern's words for the entries of a world file.

Does not know how SillyTavern searches; only what its fields mean.
"""

from types import MappingProxyType
from typing import Any, Final

from talekeeper.domain.lore import Entry, Extra
from talekeeper.formats import lorebook_words as say
from talekeeper.formats.lorebook_fields import MOST, Fields, put
from talekeeper.formats.lorebook_vocabulary import BookPlaces, Vocabulary, Word
from talekeeper.formats.lorebook_words import PLACES

__all__ = ["SILLYTAVERN"]

_EXTRAS: Final[dict[Extra, tuple[str, ...]]] = {
    "persona": ("matchPersonaDescription",),
    "description": ("matchCharacterDescription",),
    "personality": ("matchCharacterPersonality",),
    "depth_prompt": ("matchCharacterDepthPrompt",),
    "scenario": ("matchScenario",),
    "creator_notes": ("matchCreatorNotes",),
}

_BLANK: Final[dict[str, Any]] = {
    "uid": 0,
    "key": [],
    "keysecondary": [],
    "comment": "",
    "content": "",
    "constant": False,
    "vectorized": False,
    "selective": True,
    "selectiveLogic": 0,
    "addMemo": True,
    "order": 100,
    "position": 0,
    "disable": False,
    "ignoreBudget": False,
    "excludeRecursion": False,
    "preventRecursion": False,
    **{place: False for (place,) in _EXTRAS.values()},
    "delayUntilRecursion": 0,
    "probability": 100,
    "useProbability": True,
    "depth": 4,
    "role": 0,
    "outletName": "",
    "group": "",
    "groupOverride": False,
    "groupWeight": 100,
    "scanDepth": None,
    "caseSensitive": None,
    "matchWholeWords": None,
    "useGroupScoring": None,
    "automationId": "",
    "sticky": 0,
    "cooldown": 0,
    "delay": 0,
    "triggers": [],
}

_NEAREST: Final = ("depth", 1)
"""What comes nearest to "just before the current input": one message above the end."""


def _read_place(fields: Fields) -> dict[str, Any]:
    return {
        "place": say.place_said(fields, "position") or "before_char",
        "depth": fields.number("depth", default=4),
    }


def _write_place(document: dict[str, Any], entry: Entry, old: Entry) -> None:
    place, depth = _NEAREST if entry.place == "before_input" else (entry.place, entry.depth)
    if place != old.place:
        put(document, ("position",), PLACES.index(place))
    if depth != old.depth:
        put(document, ("depth",), depth)


SILLYTAVERN: Final = Vocabulary(
    words=(
        say.title("comment"),
        say.content("content"),
        say.keys("key", commas=False),
        say.secondary("keysecondary", "key", default=True, commas=False),
        say.logic("selectiveLogic"),
        say.whole_words("matchWholeWords"),
        say.flag("case_sensitive", "caseSensitive"),
        say.flag("enabled", "disable", default=True, opposite=True),
        say.flag("constant", "constant"),
        say.number("order", "order", default=100, least=-MOST),
        Word(_read_place, _write_place),
        say.role("role"),
        say.text("outlet", "outletName"),
        say.chance(("probability",), "useProbability"),
        say.number("scan_depth", "scanDepth", default=None),
        say.extra_texts(_EXTRAS),
        say.flag("exclude_recursion", "excludeRecursion"),
        say.flag("prevent_recursion", "preventRecursion"),
        say.level("delayUntilRecursion"),
        say.number("sticky", "sticky", default=0),
        say.number("cooldown", "cooldown", default=0),
        say.number("delay", "delay", default=0),
        say.groups("group"),
        say.flag("group_override", "groupOverride"),
        say.number("group_weight", "groupWeight", default=100),
        say.flag("group_scoring", "useGroupScoring"),
        say.character_filter("characterFilter"),
        say.triggers("triggers"),
        say.flag("ignore_budget", "ignoreBudget"),
    ),
    blank=MappingProxyType(_BLANK),
    known=frozenset(_BLANK) | {"displayIndex", "characterFilter", "extensions"},
    known_in_book=frozenset(
        {
            "entries",
            "originalData",
            "extensions",
            "name",
            "description",
            "scan_depth",
            "scanDepth",
            "token_budget",
            "tokenBudget",
            "recursive_scanning",
            "recursiveScanning",
        }
    ),
    # SillyTavern itself says none of these in a world file; other programs do, either way.
    book=BookPlaces(
        scan_depth=("scan_depth", "scanDepth"),
        token_budget=("token_budget", "tokenBudget"),
        recursive=("recursive_scanning", "recursiveScanning"),
    ),
    blank_book=MappingProxyType({"name": ""}),
    mapped=True,
    id_place="uid",
    names=lambda _entry: True,
)
