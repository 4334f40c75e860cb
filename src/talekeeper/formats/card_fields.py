"""Where each field of a character card stands in its JSON, and what it says.

Versions: V1 (six texts at the top), Pygmalion (the same under other names), V2 and V3 (under
``data``, often with stale V1 twins at the top). Knows no files and no pictures.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from talekeeper.domain.character import Card, DepthPrompt
from talekeeper.domain.limits import LIMITS
from talekeeper.formats.imported import Notice

__all__ = [
    "DATA_FIELDS",
    "DEPTH_ROLES",
    "V1_FIELDS",
    "Reading",
    "card_of",
    "place_of",
    "twin_of",
    "unknown_in",
]

V1_FIELDS: Final = (
    "name",
    "description",
    "personality",
    "scenario",
    "first_mes",
    "mes_example",
)

_TEXTS: Final = (
    *V1_FIELDS,
    "creator_notes",
    "system_prompt",
    "post_history_instructions",
    "creator",
    "character_version",
    "nickname",
)
_LISTS: Final = ("alternate_greetings", "tags")
DATA_FIELDS: Final = _TEXTS + _LISTS
"""The fields of ``data`` that have a field of the same name in ``Card``."""

_OTHER_NAMES: Final = {
    "name": "char_name",
    "description": "char_persona",
    "scenario": "world_scenario",
    "first_mes": "char_greeting",
    "mes_example": "example_dialogue",
    "creator_notes": "creatorcomment",
}
"""Pygmalion's names, and SillyTavern's for the creator's notes at the top level."""

DEPTH_ROLES: Final = ("system", "user", "assistant")
"""Roles in the order of the numbers SillyTavern uses for them."""

_KNOWN_AT_TOP = (
    frozenset(DATA_FIELDS)
    | frozenset(_OTHER_NAMES.values())
    | {
        "spec",
        "spec_version",
        "data",
        "character_book",
        "extensions",
        # SillyTavern's own, of no use outside of it
        "avatar",
        "chat",
        "talkativeness",
        "fav",
        "create_date",
        "json_data",
    }
)
_KNOWN_IN_DATA = frozenset(DATA_FIELDS) | {
    "character_book",
    "extensions",
    "assets",
    "creator_notes_multilingual",
    "source",
    "group_only_greetings",
    "creation_date",
    "modification_date",
}
_KNOWN_EXTENSIONS = frozenset({"depth_prompt", "talkativeness", "fav", "world"})


@dataclass(slots=True)
class Reading:
    """Turns what stands in a field into what should stand there, and notes each change."""

    notices: list[Notice] = field(default_factory=list)

    def note(self, text: str, path: str | None = None) -> None:
        """Add a notice."""
        self.notices.append(Notice(text=text, path=path))

    def text(self, value: object, path: str) -> str:
        """A text; lines for a list, "" for what is no text."""
        if isinstance(value, str):
            return value
        if value is None:
            self.note("Empty instead of a text; read as no text.", path)
            return ""
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            self.note("A number instead of a text; read as its digits.", path)
            return str(value)
        if isinstance(value, list) and all(isinstance(item, str) for item in value):
            self.note("A list instead of a text; read as its lines.", path)
            return "\n".join(value)
        self.note("Not a text; passed over.", path)
        return ""

    def texts(self, value: object, path: str, *, commas: bool = False) -> tuple[str, ...]:
        """A list of texts; one text for a text, or its parts between ``commas``."""
        if value is None:
            self.note("Empty instead of a list; read as an empty list.", path)
            return ()
        if isinstance(value, str):
            self.note("A text instead of a list; read as a list.", path)
            parts = [part.strip() for part in value.split(",")] if commas else [value]
            return tuple(part for part in parts if part)
        if isinstance(value, Mapping):
            self.note("An object instead of a list; its values are read.", path)
            value = list(value.values())
        if not isinstance(value, list):
            self.note("Not a list; passed over.", path)
            return ()
        return tuple(self.text(item, f"{path}[{at}]") for at, item in enumerate(value))

    def integer(self, value: object, path: str, *, default: int) -> int:
        """A number of messages from 0; the default where there is none."""
        if isinstance(value, str) and value.strip().isascii() and value.strip().isdigit():
            self.note("A text instead of a number; read as a number.", path)
            value = int(value.strip()[:9])
        if isinstance(value, (int, float)) and not isinstance(value, bool) and value >= 0:
            return int(min(value, 10_000))
        if value is not None:
            self.note(f"Not a number from 0; {default} is used.", path)
        return default


def place_of(document: Mapping[str, Any], name: str) -> tuple[str, ...]:
    """The path of the value that counts for a field; () where the document has none."""
    data = document.get("data")
    if isinstance(data, Mapping) and name in data:
        return ("data", name)
    if name in document and (name in V1_FIELDS or not isinstance(data, Mapping)):
        return (name,)
    other = _OTHER_NAMES.get(name)
    if other and other in document and not isinstance(data, Mapping):
        return (other,)
    return ()


def twin_of(document: Mapping[str, Any], name: str) -> str | None:
    """The key of a field at the top level, its twin where ``data`` has it too."""
    return next((key for key in (name, _OTHER_NAMES.get(name)) if key and key in document), None)


def card_of(document: Mapping[str, Any], reading: Reading) -> Card:
    """The card a document holds. Its name may be empty."""
    found: dict[str, Any] = {}
    for name in DATA_FIELDS:
        place = place_of(document, name)
        value = _at(document, place)
        path = ".".join(place)
        if place and name in _LISTS:
            found[name] = reading.texts(value, path, commas=name == "tags")
        elif place:
            found[name] = reading.text(value, path)
    if not str(found.get("name", "")).strip():
        found["name"] = _name_of_twin(document, reading)
    if len(found["name"]) > LIMITS.title_characters:
        reading.note(f"Longer than {LIMITS.title_characters} characters; cut.", "name")
        found["name"] = found["name"][: LIMITS.title_characters]
    greetings = [found.get("first_mes", ""), *found.get("alternate_greetings", ())]
    if len(greetings) > LIMITS.swipes:
        text = f"{len(greetings):,} greetings; a chat begins with the first {LIMITS.swipes:,}."
        reading.note(text, "alternate_greetings")
    data = document.get("data")
    body = data if isinstance(data, Mapping) else document
    return Card(
        **found,
        depth_prompt=_depth_prompt(body, reading),
        book_entries=_book_entries(body, reading),
    )


def _at(document: Mapping[str, Any], place: tuple[str, ...]) -> Any:
    value: Any = document
    for key in place:
        value = value[key]
    return value


def _name_of_twin(document: Mapping[str, Any], reading: Reading) -> str:
    key = twin_of(document, "name")
    twin = document[key] if key else None
    if not isinstance(twin, str) or not twin.strip():
        return ""
    if isinstance(document.get("data"), Mapping):
        reading.note("No name here; the one at the top level is used.", "data.name")
    return twin


def _depth_prompt(body: Mapping[str, Any], reading: Reading) -> DepthPrompt | None:
    extensions = body.get("extensions")
    prompt = extensions.get("depth_prompt") if isinstance(extensions, Mapping) else None
    if not isinstance(prompt, Mapping):
        return None
    path = "data.extensions.depth_prompt"
    text = reading.text(prompt.get("prompt", ""), f"{path}.prompt")
    if not text.strip():
        return None
    role = prompt.get("role", "system")
    if isinstance(role, int) and 0 <= role < len(DEPTH_ROLES):
        role = DEPTH_ROLES[role]
    if role not in DEPTH_ROLES:
        reading.note("No role of a message; system is used.", f"{path}.role")
        role = "system"
    depth = reading.integer(
        prompt.get("depth"), f"{path}.depth", default=DepthPrompt(text="").depth
    )
    return DepthPrompt(text=text, depth=depth, role=role)


def _book_entries(body: Mapping[str, Any], reading: Reading) -> int:
    book = body.get("character_book")
    if book is None:  # null and absent are the same
        return 0
    entries = book.get("entries") if isinstance(book, Mapping) else None
    if isinstance(entries, (list, Mapping)):
        return len(entries)
    reading.note("A book without a list of entries; kept, not read.", "data.character_book")
    return 0


def unknown_in(document: Mapping[str, Any]) -> tuple[str, ...]:
    """The paths of fields that no card specification and no SillyTavern field list names."""
    data = document.get("data")
    body, prefix = (data, "data.") if isinstance(data, Mapping) else (document, "")
    extensions = body.get("extensions")
    unknown = [key for key in document if key not in _KNOWN_AT_TOP]
    if prefix:
        unknown += [f"data.{key}" for key in body if key not in _KNOWN_IN_DATA]
    if isinstance(extensions, Mapping):
        unknown += [f"{prefix}extensions.{k}" for k in extensions if k not in _KNOWN_EXTENSIONS]
    return tuple(unknown)
