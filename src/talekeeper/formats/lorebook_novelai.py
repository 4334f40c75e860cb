"""NovelAI's words for the entries of a lorebook."""

from types import MappingProxyType
from typing import Final

from talekeeper.formats import lorebook_words as say
from talekeeper.formats.lorebook_fields import MOST
from talekeeper.formats.lorebook_vocabulary import BookPlaces, Vocabulary

__all__ = ["NOVELAI"]

_CONTEXT: Final = {
    "prefix": "",
    "suffix": "\n",
    "tokenBudget": 2048,
    "reservedTokens": 0,
    "budgetPriority": 100,
    "trimDirection": "trimBottom",
    "insertionType": "newline",
    "maximumTrimType": "sentence",
    "insertionPosition": -1,
}

NOVELAI: Final = Vocabulary(
    words=(
        say.title("displayName"),
        say.content("text"),
        say.keys("keys"),
        say.flag("enabled", "enabled", default=True),
        say.flag("constant", "forceActivation"),
        # It says at once which comes later and which gives way first.
        say.number("order", "contextConfig.budgetPriority", default=0, least=-MOST),
    ),
    blank=MappingProxyType(
        {
            "text": "",
            "contextConfig": _CONTEXT,
            "displayName": "",
            "keys": [],
            "searchRange": 1000,
            "enabled": True,
            "forceActivation": False,
            "keyRelative": False,
            "nonStoryActivatable": False,
        }
    ),
    known=frozenset(
        {
            "id",
            "text",
            "displayName",
            "keys",
            "enabled",
            "forceActivation",
            *(f"contextConfig.{name}" for name in _CONTEXT),
            # what is measured in its own story editor, of no use here
            "contextConfig.allowInsertionInside",
            "contextConfig.allowInnerInsertion",
            "searchRange",
            "keyRelative",
            "nonStoryActivatable",
            "category",
            "lastUpdatedAt",
            "loreBiasGroups",
            "hidden",
        }
    ),
    known_in_book=frozenset({"lorebookVersion", "entries", "settings", "categories", "order"}),
    blank_book=MappingProxyType({"lorebookVersion": 5}),
    book=BookPlaces((), (), (), (), ()),
    id_place="",
)
