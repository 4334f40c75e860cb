"""Lorebooks built in code."""

import json
from dataclasses import replace
from typing import Any

from hypothesis import strategies as st

from talekeeper.domain.limits import LIMITS
from talekeeper.domain.lore import CharacterFilter, Entry, Lorebook
from talekeeper.formats.imported_lore import ImportedLorebook, LoreFormat
from talekeeper.formats.lorebook import read_lorebook
from talekeeper.formats.lorebook_write import Written, write_lorebook
from tests.formats.builders import dumps


def world(*entries: dict[str, Any], **fields: Any) -> bytes:
    """A world file of SillyTavern's."""
    return dumps({"entries": {str(at): item for at, item in enumerate(entries)}, **fields})


def st_entry(**fields: Any) -> Entry:
    """The one entry of a world file."""
    return read_lorebook(world({"key": ["mill"], "content": "Old.", **fields})).entries[0].entry


def card_entry(**fields: Any) -> Entry:
    """The one entry of a bare ``character_book``."""
    row = {"keys": ["mill"], "content": "Old.", "enabled": True, "insertion_order": 5, **fields}
    return read_lorebook(dumps({"name": "Book", "entries": [row]})).entries[0].entry


def texts(found: ImportedLorebook) -> str:
    """All notices in one text."""
    return "\n".join(f"{item.path}: {item.text}" for item in found.notices)


def book_of(found: ImportedLorebook) -> Lorebook:
    """The book as an importer would keep it."""
    return Lorebook(
        id="b",
        name=found.name or "a file's name",
        description=found.description,
        scan_depth=LIMITS.scan_depth if found.scan_depth is None else found.scan_depth,
        token_budget=found.token_budget,
        recursive=bool(found.recursive),
        names=found.names,
    )


def again(found: ImportedLorebook, **changes: Any) -> Written:
    """Written back; ``changes`` are made to the first entry."""
    pairs = [(item.entry, item.document) for item in found.entries]
    if changes:
        pairs[0] = (replace(pairs[0][0], **changes), pairs[0][1])
    return write_lorebook(book_of(found), pairs, format=found.format, document=found.document)


def new_file(entries: list[Entry], kind: LoreFormat, **fields: Any) -> Written:
    """A file of entries that came from none."""
    book = Lorebook(id="b", name="Book", **fields)
    return write_lorebook(book, [(entry, None) for entry in entries], format=kind)


def json_of(written: Written) -> Any:
    """The document in a written file."""
    return json.loads(written.data)


LETTERS = st.characters(exclude_categories=["Cs"], exclude_characters="\0")
TEXT = st.text(LETTERS, max_size=20)
KEYS = st.lists(st.text(LETTERS, min_size=1, max_size=9).filter(str.strip), max_size=4).map(tuple)
WORDS = st.lists(
    st.text(LETTERS, min_size=1, max_size=5).filter(lambda word: word.strip() and "," not in word),
    max_size=3,
).map(lambda words: tuple(word.strip() for word in words))
FEW = st.integers(0, 1000)

FILTERS = st.none() | st.builds(
    CharacterFilter, names=KEYS, tags=KEYS, exclude=st.booleans()
).filter(lambda value: bool(value.names or value.tags))
_EXTRAS = ("persona", "description", "personality", "depth_prompt", "scenario", "creator_notes")
_TRIGGERS = ("normal", "continue", "impersonate", "swipe", "regenerate", "quiet")


def ordered(names: tuple[str, ...]) -> st.SearchStrategy[tuple[Any, ...]]:
    """Some of the names, in their order."""
    return st.sets(st.sampled_from(names)).map(
        lambda some: tuple(name for name in names if name in some)
    )


PLACES = st.sampled_from(
    [
        "before_char",
        "after_char",
        "before_examples",
        "after_examples",
        "note_top",
        "note_bottom",
        "depth",
        "outlet",
    ]
)

RICH: dict[str, Any] = {
    "id": st.just(0),
    "content": TEXT,
    "keys": KEYS,
    "secondary": KEYS,
    "logic": st.sampled_from(["and_any", "and_all", "not_any", "not_all"]),
    "title": TEXT,
    "enabled": st.booleans(),
    "constant": st.booleans(),
    "match": st.sampled_from(["substring", "word"]),
    "case_sensitive": st.booleans(),
    "order": st.integers(-1000, 100_000),
    "place": PLACES,
    "depth": FEW,
    "role": st.sampled_from(["system", "user", "assistant"]),
    "outlet": TEXT,
    "probability": st.integers(0, 100),
    "scan_depth": st.none() | FEW,
    "extras": ordered(_EXTRAS),
    "exclude_recursion": st.booleans(),
    "prevent_recursion": st.booleans(),
    "delay_until_recursion": st.integers(0, 8),
    "sticky": FEW,
    "cooldown": FEW,
    "delay": FEW,
    "groups": WORDS,
    "group_override": st.booleans(),
    "group_weight": FEW,
    "group_scoring": st.booleans(),
    "characters": FILTERS,
    "triggers": ordered(_TRIGGERS),
    "ignore_budget": st.booleans(),
}
"""Strategies for what a world file can say."""


def entries(**fields: Any) -> st.SearchStrategy[list[Entry]]:
    """Some entries with numbers of their own."""
    return st.lists(st.builds(Entry, **fields), max_size=4).map(
        lambda some: [replace(entry, id=3 * at) for at, entry in enumerate(some)]
    )
