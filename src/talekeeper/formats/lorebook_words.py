"""The words that formats have in common, each for one thing an entry says.

A word is made for the places where a format says it. With ``create`` off it is changed where it
stands, and not added where it does not.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final, get_args

from talekeeper.domain.errors import UnreadableFile
from talekeeper.domain.limits import LIMITS
from talekeeper.domain.lore import (
    CharacterFilter,
    Entry,
    Extra,
    Logic,
    Match,
    Place,
    Trigger,
)
from talekeeper.formats.lorebook_fields import (
    MISSING,
    Fields,
    found,
    put,
    split,
)
from talekeeper.formats.lorebook_vocabulary import Word

__all__ = [
    "PLACES",
    "chance",
    "character_filter",
    "content",
    "extra_texts",
    "flag",
    "groups",
    "keys",
    "level",
    "logic",
    "number",
    "place_said",
    "role",
    "secondary",
    "text",
    "title",
    "triggers",
    "whole_words",
]

PLACES: Final[tuple[Place, ...]] = (
    "before_char",
    "after_char",
    "note_top",
    "note_bottom",
    "depth",
    "before_examples",
    "after_examples",
    "outlet",
)
"""Places in the order of the numbers that SillyTavern uses for them."""

_LOGIC: Final[tuple[Logic, ...]] = ("and_any", "not_all", "not_any", "and_all")
_ROLES: Final = ("system", "user", "assistant")
_TRIGGERS: Final[tuple[Trigger, ...]] = get_args(Trigger)


def _simple(
    attribute: str,
    read: Callable[[Fields], Any],
    places: tuple[str, ...],
    said: Callable[[Any], Any] = lambda value: value,
    *,
    create: bool = True,
) -> Word:
    def write(document: dict[str, Any], entry: Entry, old: Entry) -> None:
        value = getattr(entry, attribute)
        if value != getattr(old, attribute):
            put(document, places, said(value), create=create)

    return Word(lambda fields: {attribute: read(fields)}, write)


def text(attribute: str, *places: str, create: bool = True) -> Word:
    """A text that is kept as it is."""
    return _simple(attribute, lambda fields: fields.text(*places), places, create=create)


def flag(
    attribute: str,
    *places: str,
    default: bool = False,
    opposite: bool = False,
    create: bool = True,
) -> Word:
    """Yes or no; ``opposite`` where the format's field says the contrary."""
    return _simple(
        attribute,
        lambda fields: fields.flag(*places, default=default != opposite) != opposite,
        places,
        lambda value: value != opposite,
        create=create,
    )


def number(
    attribute: str,
    *places: str,
    default: int | None,
    least: int = 0,
    create: bool = True,
) -> Word:
    """A whole number, the default where there is none."""

    def read(fields: Fields) -> int | None:
        value = fields.number_or_none(*places, least=least)
        return default if value is None else value

    return _simple(attribute, read, places, create=create)


def level(*places: str, create: bool = True) -> Word:
    """The level of recursion at which an entry can fire first; true is the first level."""

    def read(fields: Fields) -> int:
        value = fields.at(*places)[1]
        return int(value) if isinstance(value, bool) else fields.number(*places, default=0)

    return _simple("delay_until_recursion", read, places, create=create)


def content(*places: str) -> Word:
    """The text of an entry. UnreadableFile where it is longer than the limit."""

    def read(fields: Fields) -> str:
        said = fields.text(*places)
        if len(said) > LIMITS.entry_characters:
            raise UnreadableFile(
                f"An entry of this lorebook ({fields.path}) is longer than "
                f"{LIMITS.entry_characters:,} characters: split it."
            )
        return said

    return _simple("content", read, places)


def title(*places: str) -> Word:
    """The title: the first place that is not blank; a number only where there is nothing else."""

    def which(document: Mapping[str, Any]) -> str:
        texts = [
            (place, held)
            for place in places
            if isinstance(held := found(document, place), str) and held.strip()
        ]
        speaking = [place for place, held in texts if not held.strip().isdecimal()]
        return next(iter(speaking or [place for place, _ in texts]), places[-1])

    def read(fields: Fields) -> Mapping[str, Any]:
        place = which(fields.document)
        said = fields.text(place)
        if len(said) > LIMITS.title_characters:
            fields.note(f"Longer than {LIMITS.title_characters} characters; cut.", place)
        return {"title": said[: LIMITS.title_characters]}

    def write(document: dict[str, Any], entry: Entry, old: Entry) -> None:
        if entry.title == old.title:
            return
        counting = which(document)
        for place in places:
            if place == counting or found(document, place) == old.title:
                put(document, (place,), entry.title)

    return Word(read, write)


def keys(*places: str, commas: bool = True) -> Word:
    """The keys, a list."""
    return _simple("keys", lambda fields: fields.keys(*places, commas=commas), places, list)


def whole_words(*places: str, create: bool = True) -> Word:
    """Whether a key must stand between word borders."""

    def read(fields: Fields) -> Match:
        return "word" if fields.flag(*places) else "substring"

    return _simple("match", read, places, lambda match: match == "word", create=create)


def secondary(
    place: str, keys_place: str, *, default: bool, commas: bool = True, create: bool = True
) -> Word:
    """Secondary keys; they count only where ``selective`` is on, whose ``default`` differs."""

    def read(fields: Fields) -> Mapping[str, Any]:
        if not fields.flag("selective", default=default):
            return {"secondary": ()}
        used = len(fields.keys(keys_place, commas=commas))
        return {"secondary": fields.keys(place, commas=commas, most=LIMITS.keys - used)}

    def write(document: dict[str, Any], entry: Entry, old: Entry) -> None:
        if entry.secondary == old.secondary:
            return
        put(document, (place,), list(entry.secondary), create=create)
        if entry.secondary:
            put(document, ("selective",), True, create=create)

    return Word(read, write)


def logic(*places: str, create: bool = True) -> Word:
    """What the secondary keys must do, as a number."""

    def read(fields: Fields) -> Logic:
        return _LOGIC[fields.number(*places, default=0, most=len(_LOGIC) - 1)]

    return _simple("logic", read, places, _LOGIC.index, create=create)


def place_said(fields: Fields, *places: str) -> Place | None:
    """A place in the prompt, by number or in words; None where there is none that is known."""
    for place in places:
        value = found(fields.document, place)
        if value is MISSING or value is None:
            continue
        if isinstance(value, str) and value.startswith(("before", "after")):
            if value not in ("before_char", "after_char"):
                fields.note("No known position; before or after the character is used.", place)
            return "before_char" if value.startswith("before") else "after_char"
        at = Fields({"at": value}).number_or_none("at", least=-1, most=len(PLACES))
        if at is not None and 0 <= at < len(PLACES):
            return PLACES[at]
        fields.note("No known position; passed over.", place)
    return None


def role(*places: str, create: bool = True) -> Word:
    """Whose message a text at a depth is, as a number or a word; null is the system's."""

    def read(fields: Fields) -> str:
        place, value = fields.at(*places)
        if isinstance(value, str) and value in _ROLES:
            return value
        at = fields.number(place, default=0, least=-1, most=len(_ROLES))
        if 0 <= at < len(_ROLES):
            return _ROLES[at]
        fields.note("No role of a message; system is used.", place)
        return "system"

    return _simple("role", read, places, _ROLES.index, create=create)


def chance(percent: tuple[str, ...], used: str | None = None, *, create: bool = True) -> Word:
    """The probability, and the switch that says whether it counts."""

    def read(fields: Fields) -> Mapping[str, Any]:
        counts = used is None or fields.flag(used, default=True)
        return {"probability": fields.number(*percent, default=100, most=100) if counts else 100}

    def write(document: dict[str, Any], entry: Entry, old: Entry) -> None:
        if entry.probability == old.probability:
            return
        put(document, percent, entry.probability, create=create)
        if used is not None and not Fields(document).flag(used, default=True):
            put(document, (used,), True)

    return Word(read, write)


def extra_texts(places: Mapping[Extra, tuple[str, ...]], *, create: bool = True) -> Word:
    """The further texts to search, each with a switch of its own."""

    def searched(fields: Fields) -> tuple[Extra, ...]:
        return tuple(extra for extra, place in places.items() if fields.flag(*place))

    def write(document: dict[str, Any], entry: Entry, old: Entry) -> None:
        for extra, place in places.items():
            wanted = extra in entry.extras
            if wanted != (extra in old.extras):
                put(document, place, wanted, create=create)

    return Word(lambda fields: {"extras": searched(fields)}, write)


def groups(*places: str, create: bool = True) -> Word:
    """The inclusion groups, between commas."""

    def read(fields: Fields) -> tuple[str, ...]:
        place, value = fields.at(*places)
        return fields.texts(place) if isinstance(value, list) else split(fields.text(*places))

    return _simple("groups", read, places, ",".join, create=create)


def triggers(*places: str, create: bool = True) -> Word:
    """The kinds of replies."""

    def read(fields: Fields) -> tuple[Trigger, ...]:
        place, value = fields.at(*places)
        said = fields.texts(place) if value is not None else ()
        known = tuple(trigger for trigger in _TRIGGERS if trigger in said)
        if len(known) < len(set(said)):
            fields.note("No known kind of reply; passed over.", place)
        return known

    return _simple("triggers", read, places, list, create=create)


def character_filter(*places: str, create: bool = True) -> Word:
    """The characters for which an entry can fire, or cannot."""

    def read(fields: Fields) -> CharacterFilter | None:
        place, value = fields.at(*places)
        if value is MISSING or value is None:
            return None
        if not isinstance(value, Mapping):
            fields.note("Not an object; passed over.", place)
            return None
        path = f"{fields.path}.{place}" if fields.path else place
        inner = Fields(value, path, fields.notices)
        names, tags = inner.texts("names"), inner.texts("tags")
        if not names and not tags:
            return None
        return CharacterFilter(names=names, tags=tags, exclude=inner.flag("isExclude"))

    def write(document: dict[str, Any], entry: Entry, old: Entry) -> None:
        if entry.characters == old.characters:
            return
        place, value = Fields(document).at(*places)
        new = entry.characters or CharacterFilter()
        said = {"isExclude": new.exclude, "names": list(new.names), "tags": list(new.tags)}
        held = value if isinstance(value, Mapping) else {}
        put(document, (place,), {**held, **said}, create=create)

    return Word(lambda fields: {"characters": read(fields)}, write)
