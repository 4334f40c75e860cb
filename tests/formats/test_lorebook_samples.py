"""The shared samples of lorebooks: read, counted, and given back unchanged."""

import json
from pathlib import Path
from typing import Any

import pytest

from talekeeper.domain.lore import Lorebook
from talekeeper.formats.card import read_card
from talekeeper.formats.imported_lore import LoreFormat
from talekeeper.formats.lorebook import book_of_card, read_lorebook
from talekeeper.formats.lorebook_kind import looks_like_lorebook
from talekeeper.formats.lorebook_write import card_book, write_lorebook
from tests.formats.builders import samples
from tests.formats.lore import again, book_of, json_of, texts

_BOOKS = samples(
    "st-worldinfo/*.json", "agnai-memory-book/*.json", "other-chat-exports/risu-lorebook*.json"
)
_CARDS = samples("character-card-json/*.json", "character-card-png/*.png")
_ENTRIES = {
    "redacted-01": 12,
    "redacted-02": 2,
    "redacted-03": 7,
    "redacted-04": 12,
    "st-1.15-user-Eldoria": 16,
    "chub-agnai-memory-book": 2,
    "risu-lorebook-shape": 1,
}
_KINDS: tuple[LoreFormat, ...] = ("sillytavern", "card", "v3", "agnai", "risu", "novelai")


@pytest.mark.parametrize("path", _BOOKS)
def test_a_book_is_read_and_comes_back(path: Path) -> None:
    document = json.loads(path.read_bytes())
    assert looks_like_lorebook(document)
    found = read_lorebook(path.read_bytes(), name=path.stem)
    if path.stem in _ENTRIES:
        assert len(found.entries) == _ENTRIES[path.stem]
    assert found.unknown == ()
    dead = sum(1 for item in found.entries if not item.entry.keys and not item.entry.constant)
    assert (f"{dead:,} entries have no key" in texts(found)) == bool(dead)
    written = again(found)
    assert json_of(written) == document
    assert written.notices == ()


@pytest.mark.parametrize("path", _BOOKS)
def test_a_book_goes_into_every_format(path: Path) -> None:
    found = read_lorebook(path.read_bytes(), name=path.stem)
    pairs = [(item.entry, item.document) for item in found.entries]
    for kind in _KINDS:
        made = write_lorebook(
            book_of(found), pairs, format=kind, document=found.document, source=found.format
        )
        back = read_lorebook(made.data, name=path.stem)
        assert back.format == kind
        for old, new in zip(found.entries, back.entries, strict=True):
            assert new.entry.content == old.entry.content
            assert new.entry.title == old.entry.title


@pytest.mark.parametrize("path", _CARDS)
def test_the_book_of_a_card_comes_back(path: Path) -> None:
    if "invalid" in path.name:
        pytest.skip("no card")
    card = read_card(path.read_bytes())
    found = book_of_card(card.document)
    data: Any = card.document.get("data") or {}
    assert (found is None) == (data.get("character_book") is None)
    if found is None:
        return
    assert len(found.entries) == card.card.book_entries
    pairs = [(item.entry, item.document) for item in found.entries]
    book: Lorebook = book_of(found)
    assert card_book(book, pairs, found.document) == data["character_book"]
