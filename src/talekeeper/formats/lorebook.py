"""Read a lorebook: files of SillyTavern, Agnai, Chub, RisuAI and NovelAI, and books of cards.

Which of them a file is, is told by its content. Knows no store, and not when an entry fires.
"""

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any, Final

from talekeeper.domain.errors import UnreadableFile
from talekeeper.domain.limits import LIMITS
from talekeeper.domain.lore import Entry
from talekeeper.formats.detect import HEAD_BYTES, OtherFile, sniff
from talekeeper.formats.imported_lore import ImportedEntry, ImportedLorebook, LoreFormat
from talekeeper.formats.json_text import load_object
from talekeeper.formats.lorebook_agnai import AGNAI
from talekeeper.formats.lorebook_card import CARD
from talekeeper.formats.lorebook_fields import MOST, Fields, Notices
from talekeeper.formats.lorebook_kind import lore_format
from talekeeper.formats.lorebook_novelai import NOVELAI
from talekeeper.formats.lorebook_risu import RISU
from talekeeper.formats.lorebook_st import SILLYTAVERN
from talekeeper.formats.lorebook_vocabulary import Vocabulary, read_entry, unknown_in

__all__ = ["VOCABULARIES", "book_of_card", "read_lorebook"]

VOCABULARIES: Final[Mapping[LoreFormat, Vocabulary]] = MappingProxyType(
    {
        "sillytavern": SILLYTAVERN,
        "card": CARD,
        "v3": CARD,
        "agnai": AGNAI,
        "risu": RISU,
        "novelai": NOVELAI,
    }
)
"""The words of each format."""

_WHAT = "This lorebook"

# An entry of SillyTavern's has some fifty fields, and its text has commas.
_MOST_VALUES = 75 * LIMITS.entries

_MOST_UNKNOWN = 100


def read_lorebook(data: bytes, *, name: str = "") -> ImportedLorebook:
    """The lorebook in a file's bytes; ``name`` is for one that has none of its own.

    What is missing, null or of another type is read as well as it can be, with a notice that
    names the field. UnreadableFile: a damaged one, or one over a limit; OtherFile: no lorebook.
    """
    if len(data) > LIMITS.lorebook_bytes:
        raise UnreadableFile(f"{_WHAT} is larger than {LIMITS.lorebook_bytes:,} bytes: split it.")
    try:
        document, cleaned = load_object(data, what=_WHAT, most_values=_MOST_VALUES)
    except UnreadableFile:
        if other := _other_kind(data):
            raise OtherFile(other) from None
        raise
    kind = lore_format(document)
    if kind is None:
        raise OtherFile(
            _other_kind(data)
            or "This file is JSON, but no lorebook: a lorebook has entries with keys and texts."
        )
    notices = Notices()
    for path in cleaned:
        notices.note("Holds NUL or half letters; each was replaced by U+FFFD.", path)
    if kind != "v3":
        return _read_book(document, kind, name, "", notices)
    inner = document.get("data")
    if not isinstance(inner, Mapping):
        raise UnreadableFile(f"{_WHAT} has no content: its field 'data' is missing.")
    return _read_book(inner, kind, name, "data", notices, outer=document)


def book_of_card(document: Mapping[str, Any]) -> ImportedLorebook | None:
    """The lorebook in a card's JSON document; None where it has none, or one without entries.

    UnreadableFile: a book over a limit.
    """
    data = document.get("data")
    body, path = (data, "data.character_book") if isinstance(data, Mapping) else (document, "")
    book = body.get("character_book")
    if not isinstance(book, Mapping) or not isinstance(book.get("entries"), (list, Mapping)):
        return None
    return _read_book(book, "card", "", path or "character_book", Notices())


def _other_kind(data: bytes) -> str | None:
    """A sentence on what a file is that is no lorebook; None where it cannot be told."""
    try:
        kind = sniff(data[:HEAD_BYTES])
    except OtherFile as error:
        what, advised, _ = str(error).partition(", which is not read yet: ")
        if not advised or "lorebook" in what or "memory book" in what:
            return None
        return f"{what}, not a lorebook: choose another one."
    if kind == "chat_jsonl":
        return "This file is a chat, not a lorebook: import it as a chat."
    if kind == "card_png" or _says_card(data):
        return "This file is a character card, not a lorebook: import it as a card, with its book."
    return None


def _says_card(data: bytes) -> bool:
    return any(
        mark in data[:HEAD_BYTES] for mark in (b'"chara_card', b'"first_mes"', b'"char_name"')
    )


def _read_book(
    book: Mapping[str, Any],
    kind: LoreFormat,
    name: str,
    path: str,
    notices: Notices,
    *,
    outer: Mapping[str, Any] | None = None,
) -> ImportedLorebook:
    words = VOCABULARIES[kind]
    fields = Fields(book, path, notices)
    entries, rows = _entries(words, fields)
    _count_idle(entries, words, notices)
    places = words.book
    document: Mapping[str, Any] = {**book, words.rows: rows}
    return ImportedLorebook(
        format=kind,
        name=_cut(places.name and fields.text(*places.name), fields) or name,
        description=fields.text(*places.description) if places.description else "",
        scan_depth=_number(fields, places.scan_depth),
        token_budget=_number(fields, places.token_budget) or None,
        recursive=_flag(fields, places.recursive),
        names=any(words.names(item.document) for item in entries) or words is SILLYTAVERN,
        entries=tuple(entries),
        document={**outer, "data": document} if outer is not None else document,
        notices=notices.listed(),
        unknown=_unknown(words, book, entries, path),
    )


def _cut(name: object, fields: Fields) -> str:
    said = name.strip() if isinstance(name, str) else ""
    if len(said) > LIMITS.title_characters:
        fields.note(f"Longer than {LIMITS.title_characters} characters; cut.", "name")
    return said[: LIMITS.title_characters]


def _number(fields: Fields, places: tuple[str, ...]) -> int | None:
    return fields.number_or_none(*places) if places else None


def _flag(fields: Fields, places: tuple[str, ...]) -> bool | None:
    if not places or fields.at(*places)[1] not in (True, False, "true", "false"):
        return None
    return fields.flag(*places)


def _rows(words: Vocabulary, fields: Fields) -> list[tuple[str, Any, str]]:
    """(key in the file, row, path) of all that stands among the entries."""
    _, held = fields.at(words.rows)
    base = f"{fields.path}.{words.rows}" if fields.path else words.rows
    if isinstance(held, Mapping):
        rows = [(str(key), row, f"{base}.{key}") for key, row in held.items()]
    elif isinstance(held, list):
        rows = [("", row, f"{base}[{at}]") for at, row in enumerate(held)]
    elif held is None or words.rows not in fields.document:
        fields.note("No entries; read as an empty lorebook.", words.rows)
        return []
    else:
        raise UnreadableFile(f"{_WHAT} has no list of entries: its field '{words.rows}' is none.")
    if len(rows) > LIMITS.entries:
        raise UnreadableFile(f"{_WHAT} has more than {LIMITS.entries:,} entries: split it.")
    return rows


def _entries(words: Vocabulary, fields: Fields) -> tuple[list[ImportedEntry], Any]:
    """The entries, and what stands in their place in the book's document."""
    rows = _rows(words, fields)
    held = [row for _, row, _ in rows]
    told = [_told_id(words, key, row) if _holds_entry(words, row) else None for key, row, _ in rows]
    ids = _numbered(words, held, told, fields.notices)
    entries: list[ImportedEntry] = []
    kept: list[tuple[str, Any]] = []
    for (key, row, path), number in zip(rows, ids, strict=True):
        if number is not None:
            entry = read_entry(words, Fields(row, path, fields.notices), number)
            entries.append(ImportedEntry(entry=entry, document=row))
            kept.append((key, number))
            continue
        if not isinstance(row, Mapping):
            fields.notices.note("Not an entry; passed over.", path)
        if not isinstance(row, int):  # in the document a number would stand for an entry
            kept.append((key, row))
    if isinstance(fields.document.get(words.rows), Mapping):
        return entries, dict(kept)
    return entries, [row for _, row in kept]


def _holds_entry(words: Vocabulary, row: object) -> bool:
    return isinstance(row, Mapping) and words.is_entry(row)


def _told_id(words: Vocabulary, key: str, row: Mapping[str, Any]) -> int | None:
    for place in ("uid", "id"):
        value = row.get(place) if words.id_place else None
        if type(value) is int and 0 <= value <= MOST:
            return value
    return int(key) if key.isascii() and key.isdigit() and len(key) < 10 else None


def _numbered(
    words: Vocabulary, rows: list[Any], told: list[int | None], notices: Notices
) -> Iterator[int | None]:
    """A number for each row that is an entry: the told one if no other has it, else a free one."""
    taken = {number for number in told if number is not None}
    used: set[int] = set()
    free, renumbered = 0, 0
    numbers: list[int | None] = []
    for row, number in zip(rows, told, strict=True):
        if not _holds_entry(words, row):
            numbers.append(None)
            continue
        if number is None or number in used:
            renumbered += number is not None
            while free in taken:
                free += 1
            taken.add(free)
            number = free
        used.add(number)
        numbers.append(number)
    if renumbered:
        notices.note(
            f"{renumbered:,} entries have a number that another one has; they get a new one."
        )
    return iter(numbers)


def _count_idle(entries: list[ImportedEntry], words: Vocabulary, notices: Notices) -> None:
    """Say how many entries cannot fire."""
    dead = sum(1 for item in entries if _is_dead(item.entry))
    if dead:
        notices.note(f"{dead:,} entries have no key and are not constant: they never fire.")
    never = sum(1 for item in entries if item.entry.probability == 0)
    if never:
        notices.note(f"{never:,} entries have a probability of 0 percent: they never fire.")
    vectors = sum(1 for item in entries if item.document.get("vectorized") is True)
    if vectors:
        notices.note(
            f"{vectors:,} entries are chosen by meaning in SillyTavern: here by their keys only."
        )
    ranged = sum(1 for item in entries if item.document.get("searchRange") not in (None, 1000))
    if ranged and words is NOVELAI:
        notices.note(f"{ranged:,} entries say how many letters to search: it is kept, not used.")
    children = sum(1 for item in entries if item.document.get("mode") == "child")
    if children and words is RISU:
        notices.note(f"{children:,} entries follow another one in RisuAI: here their own keys.")


def _is_dead(entry: Entry) -> bool:
    return not entry.keys and not entry.constant


def _unknown(
    words: Vocabulary, book: Mapping[str, Any], entries: list[ImportedEntry], path: str
) -> tuple[str, ...]:
    dot = f"{path}." if path else ""
    found = dict.fromkeys(f"{dot}{place}" for place in unknown_in(words.known_in_book, book))
    for item in entries:
        if len(found) > _MOST_UNKNOWN:
            break
        for place in unknown_in(words.known, item.document):
            found[f"{dot}{words.rows}[].{place}"] = None
    return tuple(found)[:_MOST_UNKNOWN]
