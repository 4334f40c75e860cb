"""What an entry says and the words that a format has for it: one table, to read and to write.

A format's vocabulary lists, for each thing that it can say, how to read it from an entry's JSON
and how to put a changed value back. Does not know the single formats.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from talekeeper.domain.lore import Entry
from talekeeper.formats.lorebook_fields import Fields, as_pattern

__all__ = ["BookPlaces", "Vocabulary", "Word", "read_entry", "unknown_in", "written_entry"]


class Word(NamedTuple):
    """One thing an entry says.

    ``read`` gives values by the names of :class:`Entry`. ``write`` changes an entry's JSON so that
    it says what an entry says; it gets what the JSON said before too, and leaves alone what is the
    same in both.
    """

    read: Callable[[Fields], Mapping[str, Any]]
    write: Callable[[dict[str, Any], Entry, Entry], None]


class BookPlaces(NamedTuple):
    """Where a format says what holds for a whole book; () where it cannot."""

    name: tuple[str, ...] = ("name",)
    description: tuple[str, ...] = ("description",)
    scan_depth: tuple[str, ...] = ("scan_depth",)
    token_budget: tuple[str, ...] = ("token_budget",)
    recursive: tuple[str, ...] = ("recursive_scanning",)


_USUAL = BookPlaces()


@dataclass(frozen=True, kw_only=True, slots=True)
class Vocabulary:
    """How one format says what a lorebook says.

    ``blank`` is the JSON of an entry that says nothing, ``blank_book`` that of a book. ``rows``
    names the field with the entries, ``mapped`` that they stand in an object and not in a list.
    ``known`` are the places of an entry's fields that are understood, or known to be of no use.
    ``is_entry`` tells entries from other rows. ``id_place`` is where an entry's number stands.
    ``says_patterns``: whether an entry's JSON can say that its keys are patterns though they are
    not written ``/pattern/flags``. ``names``: whether messages are searched as "Name: text" where
    an entry's JSON looks like this one.
    """

    words: tuple[Word, ...]
    blank: Mapping[str, Any]
    known: frozenset[str]
    known_in_book: frozenset[str]
    blank_book: Mapping[str, Any]
    book: BookPlaces = _USUAL
    rows: str = "entries"
    mapped: bool = False
    id_place: str = "id"
    is_entry: Callable[[Mapping[str, Any]], bool] = lambda _row: True
    says_patterns: Callable[[Mapping[str, Any]], bool] = lambda _entry: False
    names: Callable[[Mapping[str, Any]], bool] = lambda _row: False


def read_entry(vocabulary: Vocabulary, fields: Fields, key: int) -> Entry:
    """The entry that an object holds, under the number ``key``."""
    said: dict[str, Any] = {"id": key}
    for word in vocabulary.words:
        said.update(word.read(fields))
    return Entry(**said)


def written_entry(
    vocabulary: Vocabulary, entry: Entry, document: Mapping[str, Any] | None
) -> dict[str, Any]:
    """The JSON of an entry: ``document`` with what the entry says otherwise, or a new one.

    Where it cannot say that keys are patterns, these are written ``/pattern/flags``.
    """
    held = vocabulary.blank if document is None else document
    old = read_entry(vocabulary, Fields(held), entry.id)
    if entry == old:
        return dict(held)
    written = _overlaid(vocabulary, entry, old, held)
    if entry.match == "regex" and not vocabulary.says_patterns(written):
        return _overlaid(vocabulary, _with_patterns(entry), old, held)
    return written


def _overlaid(
    vocabulary: Vocabulary, entry: Entry, old: Entry, document: Mapping[str, Any]
) -> dict[str, Any]:
    written = dict(document)
    for word in vocabulary.words:
        word.write(written, entry, old)
    return written


def _with_patterns(entry: Entry) -> Entry:
    """The same entry with every key written ``/pattern/flags``."""
    cased = entry.case_sensitive
    return replace(
        entry,
        match="substring",
        keys=tuple(as_pattern(key, case_sensitive=cased) for key in entry.keys),
        secondary=tuple(as_pattern(key, case_sensitive=cased) for key in entry.secondary),
    )


def unknown_in(known: frozenset[str], document: Mapping[str, Any]) -> list[str]:
    """The places in an object that are not among the ``known`` ones."""
    opened = {place.partition(".")[0] for place in known if "." in place}
    unknown = [key for key in document if key not in known and key not in opened]
    for outer in sorted(opened):
        inner = document.get(outer)
        if isinstance(inner, Mapping):
            unknown += [f"{outer}.{key}" for key in inner if f"{outer}.{key}" not in known]
    return unknown
