"""A lorebook back into a file: what its JSON said otherwise, and all else as it stood.

Converts between formats too, and says what a format has no word for. Knows no store.
"""

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from talekeeper.domain.limits import LIMITS
from talekeeper.domain.lore import Entry, Lorebook
from talekeeper.formats.imported import Notice
from talekeeper.formats.imported_lore import LoreFormat
from talekeeper.formats.json_text import dump, encode
from talekeeper.formats.lorebook import VOCABULARIES
from talekeeper.formats.lorebook_fields import MISSING, Fields, found, is_pattern, put
from talekeeper.formats.lorebook_vocabulary import Vocabulary, read_entry, written_entry

__all__ = ["Written", "card_book", "write_lorebook"]

_INDENT = 4  # as SillyTavern writes its world files

Entries = Sequence[tuple[Entry, Mapping[str, Any] | None]]


class Written(NamedTuple):
    """A file, and what it could not say."""

    data: bytes
    notices: tuple[Notice, ...]


_LOST: Final[Mapping[str, str]] = MappingProxyType(
    {
        "secondary": "their secondary keys",
        "logic": "the logic of their secondary keys",
        "title": "their title",
        "enabled": "that they are switched off",
        "constant": "that they are constant",
        "match": "how their keys are looked for",
        "case_sensitive": "that case counts",
        "order": "their order",
        "priority": "their priority",
        "place": "where they go",
        "depth": "at what depth they go",
        "role": "whose message they are",
        "outlet": "their outlet",
        "probability": "their probability",
        "scan_depth": "their own scan depth",
        "extras": "the further texts that are searched",
        "exclude_recursion": "that no other entry fires them",
        "prevent_recursion": "that they fire no other entry",
        "delay_until_recursion": "their level of recursion",
        "sticky": "how long they stay",
        "cooldown": "how long they rest",
        "delay": "how many messages there must be before",
        "groups": "their groups",
        "group_override": "their precedence in a group",
        "group_weight": "their weight in a group",
        "group_scoring": "that the best match of a group wins",
        "characters": "for which characters they fire",
        "triggers": "for which kinds of replies they fire",
        "ignore_budget": "that no budget holds for them",
        "keys": "keys with a comma, or patterns among several keys",
        "content": "a part of their text",
    }
)
"""What is missing in a file, by the name of the value in :class:`Entry`."""


def write_lorebook(
    book: Lorebook,
    entries: Entries,
    *,
    format: LoreFormat,  # noqa: A002 - as everywhere else
    document: Mapping[str, Any] | None = None,
    source: LoreFormat | None = None,
) -> Written:
    """A file of a lorebook. ``document`` and those beside the entries are what was read of it.

    They are of the format ``source``, by default the same as is written; those of another one are
    of no use, and a new file is written. Entries come in the order of the document, new ones last.
    """
    lost: dict[str, int] = {}
    notices: list[Notice] = []
    if source is not None and VOCABULARIES[source] is not VOCABULARIES[format]:
        if document is not None or any(held is not None for _, held in entries):
            notices.append(Notice(text="What only the original format has words for is left out."))
        document, entries = None, [(entry, None) for entry, _ in entries]
    wrapped = document is not None and "data" in document and (source or format) == "v3"
    inner = document["data"] if wrapped and document is not None else document
    written = _written_book(VOCABULARIES[format], book, entries, inner, lost)
    if format == "v3":
        outer = document if wrapped and document is not None else {"spec": "lorebook_v3"}
        written = {**outer, "data": written}
    notices += [
        Notice(text=f"{count:,} entries lose {_LOST[name]}: this format has no word for it.")
        for name, count in lost.items()
        if name in _LOST
    ]
    if "book" in lost:
        notices.append(
            Notice(text="Scan depth, token budget or recursion of the book are not in the file.")
        )
    return Written(encode(f"{dump(written, indent=_INDENT)}"), tuple(notices))


def card_book(
    book: Lorebook, entries: Entries, document: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """The ``character_book`` of a card, its ``document`` being the one that was read of it."""
    return _written_book(VOCABULARIES["card"], book, entries, document, {})


def _written_book(
    words: Vocabulary,
    book: Lorebook,
    entries: Entries,
    document: Mapping[str, Any] | None,
    lost: dict[str, int],
) -> dict[str, Any]:
    written = dict(words.blank_book if document is None else document)
    _put_book(words, written, book, new=document is None, lost=lost)
    held = document.get(words.rows) if document is not None else None
    rows: dict[int, dict[str, Any]] = {}
    for entry, before in entries:
        rows[entry.id] = row = written_entry(words, entry, before)
        if before is None and words.id_place:
            row[words.id_place] = entry.id
        for name in _differences(entry, read_entry(words, Fields(row), entry.id), words, row):
            lost[name] = lost.get(name, 0) + 1
    if isinstance(held, Mapping) or (held is None and words.mapped):
        written[words.rows] = _mapped(held or {}, rows)
    else:
        written[words.rows] = _listed(held if isinstance(held, list) else (), rows)
    return written


def _put_book(
    words: Vocabulary, written: dict[str, Any], book: Lorebook, *, new: bool, lost: dict[str, int]
) -> None:
    places, fields = words.book, Fields(written)
    if places.name:
        own = fields.text(*places.name).strip()
        if new or (own and own != book.name):
            put(written, places.name, book.name)
    if places.description and fields.text(*places.description) != book.description:
        put(written, places.description, book.description)
    depth = fields.number_or_none(*places.scan_depth) if places.scan_depth else None
    budget = fields.number_or_none(*places.token_budget) if places.token_budget else None
    recursive = fields.flag(*places.recursive) if places.recursive else False
    for at, value, before in (
        (places.scan_depth, book.scan_depth, LIMITS.scan_depth if depth is None else depth),
        (places.token_budget, book.token_budget, budget or None),
        (places.recursive, book.recursive, recursive),
    ):
        if value == before:
            continue
        if at:
            put(written, at, value)
        else:
            lost["book"] = 1


def _mapped(held: Mapping[str, Any], rows: dict[int, dict[str, Any]]) -> dict[str, Any]:
    """Entries under the keys they had; new ones under their number, or the next free one."""
    left = dict(rows)
    placed: dict[str, Any] = {}
    for key, item in held.items():
        if type(item) is not int:
            placed[key] = item
        elif item in left:
            placed[key] = left.pop(item)
    for number, row in left.items():
        free = number
        while str(free) in placed:
            free += 1
        placed[str(free)] = row
    return placed


def _listed(held: Iterable[Any], rows: dict[int, dict[str, Any]]) -> list[Any]:
    left = dict(rows)
    placed: list[Any] = []
    for item in held:
        if type(item) is not int:
            placed.append(item)
        elif item in left:
            placed.append(left.pop(item))
    return [*placed, *left.values()]


def _differences(
    entry: Entry, back: Entry, words: Vocabulary, row: Mapping[str, Any]
) -> Iterable[str]:
    """The names of values that matter and that the written entry does not say."""
    for name in _LOST:
        if getattr(entry, name) != getattr(back, name) and _matters(name, entry, back, row):
            yield name


def _matters(name: str, entry: Entry, back: Entry, row: Mapping[str, Any]) -> bool:
    match name:
        case "depth" | "role":
            return entry.place == "depth"
        case "outlet":
            return entry.place == "outlet"
        case "logic":
            return bool(entry.secondary)
        case "group_override" | "group_weight" | "group_scoring":
            return bool(entry.groups)
        case "priority":
            return entry.priority not in (None, entry.order)
        case "extras":
            return set(entry.extras) != set(back.extras)
        case "match":
            return entry.match == "word" or not _all_patterns(back)
        case "keys" | "secondary":
            plain = len(getattr(entry, name)) != len(getattr(back, name))
            return plain or entry.match != "regex" or found(row, "useRegex") is not MISSING
        case _:
            return True


def _all_patterns(entry: Entry) -> bool:
    return all(map(is_pattern, entry.keys + entry.secondary))
