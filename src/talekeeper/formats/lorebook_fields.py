"""The fields of one JSON object of a lorebook, each read as what it should be.

A *place* is where a field stands: its name, or two names with a dot between them where it stands
in an object of its own (``extensions.depth``). Does not know what the fields mean.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from talekeeper.domain.limits import LIMITS
from talekeeper.formats.imported import Notice

__all__ = [
    "MISSING",
    "MOST",
    "Fields",
    "Notices",
    "as_pattern",
    "found",
    "is_pattern",
    "put",
    "removed",
    "split",
]

MOST = 2_147_483_647
"""The largest number an entry may hold: what every database calls an integer."""

MISSING: Final = object()
"""What :func:`found` says of a place where nothing stands, which is not the same as null."""

_LISTED = 5

_NUMBER = re.compile(r"[+-]?\d{1,12}(?:\.\d{1,12})?")
_YES = frozenset({"true", "yes", "on", "1"})
_NO = frozenset({"false", "no", "off", "0"})

_PATTERN = re.compile(r"/(?:[^/\\]|\\.)+/[dgimsuvy]*", re.DOTALL)
_SLASH = re.compile(r"\\.|/", re.DOTALL)


def is_pattern(key: str) -> bool:
    """Whether a key is written ``/pattern/flags``, with no bare slash inside."""
    return _PATTERN.fullmatch(key.strip()) is not None


def as_pattern(key: str, *, case_sensitive: bool) -> str:
    """A regular expression written ``/pattern/flags``."""
    if is_pattern(key):
        return key
    escaped = _SLASH.sub(lambda part: r"\/" if part[0] == "/" else part[0], key)
    return f"/{escaped}/" if case_sensitive else f"/{escaped}/i"


def split(text: str) -> tuple[str, ...]:
    """The parts between commas, without blanks around them and without empty ones."""
    return tuple(part for piece in text.split(",") if (part := piece.strip()))


def found(document: Mapping[str, Any], place: str) -> Any:
    """What stands at a place; MISSING where nothing does."""
    outer, _, inner = place.partition(".")
    value = document.get(outer, MISSING)
    if not inner:
        return value
    return value.get(inner, MISSING) if isinstance(value, Mapping) else MISSING


def put(
    document: dict[str, Any], places: Sequence[str], value: Any, *, create: bool = True
) -> None:
    """Put a value where one of the places is there, all of them if several are.

    Where none is, the last one is made, unless ``create`` is off. Inner objects are replaced,
    never changed, so that ``document`` may share them with another.
    """
    there = [place for place in places if found(document, place) is not MISSING]
    for place in there or (places[-1:] if create else ()):
        outer, _, inner = place.partition(".")
        if not inner:
            document[outer] = value
            continue
        held = document.get(outer)
        document[outer] = {**(held if isinstance(held, Mapping) else {}), inner: value}


def removed(document: dict[str, Any], place: str) -> bool:
    """Take away what stands at a place. Returns whether something did."""
    if found(document, place) is MISSING:
        return False
    outer, _, inner = place.partition(".")
    if inner:
        held = document[outer]
        document[outer] = {key: held[key] for key in held if key != inner}
    else:
        del document[outer]
    return True


@dataclass(slots=True)
class Notices:
    """Collects notices: of one kind the first few, and how many more there are."""

    _paths: dict[str, list[str | None]] = field(default_factory=dict)
    _more: dict[str, int] = field(default_factory=dict)

    def note(self, text: str, path: str | None = None) -> None:
        """Add a notice. ``text`` is the same for all of its kind."""
        paths = self._paths.setdefault(text, [])
        if len(paths) < _LISTED:
            paths.append(path)
        else:
            self._more[text] = self._more.get(text, 0) + 1

    def listed(self) -> tuple[Notice, ...]:
        """All of them, each kind together, in the order in which they came first."""
        listed: list[Notice] = []
        for text, paths in self._paths.items():
            listed += [Notice(text=text, path=path) for path in paths]
            if more := self._more.get(text):
                listed.append(Notice(text=f"The same in {more:,} more places: {text}"))
        return tuple(listed)


@dataclass(frozen=True, slots=True)
class Fields:
    """One JSON object that stands at ``path``. Each method takes places, the first one counts.

    What is missing gives the default, and so does null where a field may be null; whatever else
    had to be made fit is noted.
    """

    document: Mapping[str, Any]
    path: str = ""
    notices: Notices = field(default_factory=Notices)

    def note(self, text: str, place: str) -> None:
        """Add a notice about a place in this object."""
        self.notices.note(text, f"{self.path}.{place}" if self.path else place)

    def at(self, *places: str) -> tuple[str, Any]:
        """The first place that holds something, and what: null or MISSING where none does."""
        empty: str | None = None
        for place in places:
            value = found(self.document, place)
            if value is not MISSING and value is not None:
                return place, value
            if value is None:
                empty = empty or place
        return (empty, None) if empty else (places[-1], MISSING)

    def text(self, *places: str) -> str:
        """A text; lines for a list, "" for what is no text."""
        place, value = self.at(*places)
        return "" if value is MISSING else self._text(value, place)

    def _text(self, value: object, place: str) -> str:
        if isinstance(value, str):
            return value
        if value is None:
            self.note("Empty instead of a text; read as no text.", place)
            return ""
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            self.note("A number instead of a text; read as its digits.", place)
            return str(value)
        if isinstance(value, list) and all(isinstance(item, str) for item in value):
            self.note("A list instead of a text; read as its lines.", place)
            return "\n".join(value)
        self.note("Not a text; passed over.", place)
        return ""

    def texts(self, *places: str, commas: bool = True) -> tuple[str, ...]:
        """A list of texts without blank ones; of a text its parts between ``commas``, or itself."""
        place, value = self.at(*places)
        if value is MISSING:
            return ()
        if value is None:
            self.note("Empty instead of a list; read as an empty list.", place)
            return ()
        if isinstance(value, str):
            if value.strip():
                self.note("A text instead of a list; read as a list.", place)
            parts = split(value) if commas and not is_pattern(value) else (value,)
            return tuple(part for part in parts if part.strip())
        if isinstance(value, Mapping):
            self.note("An object instead of a list; its values are read.", place)
            value = list(value.values())
        if not isinstance(value, list):
            self.note("Not a list; passed over.", place)
            return ()
        items = (self._text(item, f"{place}[{at}]") for at, item in enumerate(value))
        return tuple(item for item in items if item.strip())

    def keys(self, *places: str, commas: bool = True, most: int = LIMITS.keys) -> tuple[str, ...]:
        """A list of keys: ``most`` at most, none longer than the limit."""
        keys = self.texts(*places, commas=commas)
        fitting = tuple(key for key in keys if len(key) <= LIMITS.key_characters)
        if len(fitting) < len(keys):
            self.note(
                f"A key longer than {LIMITS.key_characters} characters; it is kept, not used.",
                places[0],
            )
        if len(fitting) > most:
            self.note(f"More than {LIMITS.keys} keys; the others are kept, not used.", places[0])
        return fitting[:most]

    def flag(self, *places: str, default: bool = False) -> bool:
        """Yes or no."""
        place, value = self.at(*places)
        if isinstance(value, bool):
            return value
        if value is MISSING or value is None:
            return default
        said = str(value).strip().lower() if isinstance(value, (str, int)) else None
        if said in _YES or said in _NO:
            self.note("A text or a number instead of true or false; read as that.", place)
            return said in _YES
        if said != "":
            self.note("Neither true nor false; passed over.", place)
        return default

    def number(self, *places: str, default: int, least: int = 0, most: int = MOST) -> int:
        """A whole number between two bounds."""
        value = self.number_or_none(*places, least=least, most=most)
        return default if value is None else value

    def number_or_none(self, *places: str, least: int = 0, most: int = MOST) -> int | None:
        """A whole number between two bounds; None where there is none."""
        place, value = self.at(*places)
        if isinstance(value, str) and _NUMBER.fullmatch(value.strip()):
            self.note("A text instead of a number; read as a number.", place)
            value = float(value.strip())
        if value is MISSING or value is None or value == "":
            return None
        if not isinstance(value, (int, float)) or isinstance(value, bool):
            self.note("Not a number; passed over.", place)
            return None
        if not least <= value <= most:
            self.note(f"Not between {least} and {most}; the nearest of them is used.", place)
            value = max(least, min(most, value))
        if value != int(value):
            self.note("Not a whole number; what stands behind the point is left out.", place)
        return int(value)
