"""Lorebooks back into files, and from one format into another."""

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from talekeeper.domain.lore import Entry, Lorebook
from talekeeper.formats.imported_lore import LoreFormat
from talekeeper.formats.lorebook import book_of_card, read_lorebook
from talekeeper.formats.lorebook_write import card_book, write_lorebook
from tests.formats.builders import dumps, v2
from tests.formats.lore import (
    KEYS,
    PLACES,
    RICH,
    TEXT,
    WORDS,
    again,
    entries,
    json_of,
    new_file,
    texts,
    world,
)

_ODD = {
    "uid": "7",
    "key": "mill, old",
    "keysecondary": ["kept"],
    "selective": False,
    "content": 12,
    "role": None,
    "scanDepth": "2",
    "caseSensitive": "0",
    "probability": 40,
    "useProbability": False,
    "delayUntilRecursion": True,
    "characterFilter": {"names": [], "new": 1},
    "madeUp": {"a": [1.5]},
}


@given(entries(**RICH))
def test_a_world_file_gives_back_what_was_written(made: list[Entry]) -> None:
    written = new_file(made, "sillytavern")
    assert [item.entry for item in read_lorebook(written.data).entries] == made
    assert written.notices == ()


@pytest.mark.parametrize("kind", ["card", "v3"])
@given(
    entries(
        **{
            **RICH,
            "place": PLACES | st.just("before_input"),
            "priority": st.none() | st.integers(-9, 9),
        }
    )
)
def test_a_book_of_a_card_gives_back_what_was_written(kind: LoreFormat, made: list[Entry]) -> None:
    written = new_file(made, kind)
    assert [item.entry for item in read_lorebook(written.data).entries] == made
    assert written.notices == ()


_PLAIN: dict[str, Any] = {
    name: RICH[name] for name in ("id", "content", "keys", "title", "order", "enabled")
}


@given(entries(**_PLAIN, priority=st.none() | st.integers(-9, 9)))
def test_a_memory_book_gives_back_what_was_written(made: list[Entry]) -> None:
    written = new_file(made, "agnai")
    assert [item.entry for item in read_lorebook(written.data).entries] == made
    assert written.notices == ()


@given(entries(**_PLAIN, constant=st.booleans()))
def test_novelai_gives_back_what_was_written(made: list[Entry]) -> None:
    written = new_file(made, "novelai")
    back = [item.entry for item in read_lorebook(written.data).entries]
    assert back == [replace(entry, id=at) for at, entry in enumerate(made)]
    assert written.notices == ()


@given(
    entries(
        id=st.just(0),
        content=TEXT,
        keys=WORDS,
        secondary=WORDS,
        title=TEXT,
        order=RICH["order"],
        constant=st.booleans(),
        case_sensitive=st.booleans(),
        probability=RICH["probability"],
    )
)
def test_risu_gives_back_what_was_written(made: list[Entry]) -> None:
    written = new_file(made, "risu")
    back = [item.entry for item in read_lorebook(written.data).entries]
    assert back == [replace(entry, id=at) for at, entry in enumerate(made)]


@given(entries(id=st.just(0), content=TEXT, keys=KEYS, match=st.just("regex"), title=TEXT))
def test_patterns_of_a_card(made: list[Entry]) -> None:
    back = [item.entry for item in read_lorebook(new_file(made, "card").data).entries]
    assert [entry.keys for entry in back] == [entry.keys for entry in made]
    in_world = read_lorebook(new_file(made, "sillytavern").data)
    assert all(key.startswith("/") for item in in_world.entries for key in item.entry.keys)


def test_an_unchanged_world_file_gives_equal_json() -> None:
    document = {
        "entries": {"0": _ODD, "x": {"uid": 4, "key": [], "content": ""}, "9": None, "10": "no"},
        "originalData": {"entries": [1]},
        "madeUp": [None, 1.0],
    }
    found = read_lorebook(dumps(document), name="world")
    written = again(found)
    assert json_of(written) == document
    assert written.notices == ()


def test_only_what_changed_is_written() -> None:
    found = read_lorebook(world(_ODD))
    written = again(found, probability=50, title="Mill", sticky=2)
    assert json_of(written)["entries"]["0"] == {
        **_ODD,
        "probability": 50,
        "useProbability": True,
        "comment": "Mill",
        "sticky": 2,
    }


def test_secondary_keys_switch_selective_on() -> None:
    changed = json_of(again(read_lorebook(world(_ODD)), secondary=("river",), logic="not_any"))
    row = changed["entries"]["0"]
    assert row["keysecondary"] == ["river"]
    assert row["selective"] is True
    assert row["selectiveLogic"] == 2


def test_a_deleted_entry_goes_and_a_new_one_comes_last() -> None:
    found = read_lorebook(world({"key": ["a"]}, {"key": ["b"]}, name="World"))
    pairs: list[tuple[Entry, Any]] = [(found.entries[1].entry, found.entries[1].document)]
    pairs.append((Entry(id=2, content="New.", keys=("c",), place="after_char"), None))
    book = Lorebook(id="b", name="Renamed", scan_depth=3, token_budget=50, recursive=True)
    made = write_lorebook(book, pairs, format="sillytavern", document=found.document)
    document = json_of(made)
    assert document["entries"]["1"] == {"key": ["b"]}
    assert list(document["entries"]) == ["1", "2"]
    assert document["entries"]["2"]["uid"] == 2
    assert document["entries"]["2"]["position"] == 1
    assert document["name"] == "Renamed"
    assert read_lorebook(made.data).scan_depth == 3
    assert read_lorebook(made.data).recursive is True


def test_a_file_without_a_name_gets_none() -> None:
    assert "name" not in json_of(again(read_lorebook(world({"key": ["a"]}), name="of the file")))


def test_the_document_that_was_read_is_not_touched() -> None:
    found = read_lorebook(
        dumps({"name": "B", "entries": [{"keys": ["a"], "extensions": {"x": 1}}]})
    )
    before = json.dumps([found.document, found.entries[0].document])
    again(found, sticky=3, place="depth", keys=("new",))
    assert json.dumps([found.document, found.entries[0].document]) == before


def test_the_book_of_a_card_is_written_back() -> None:
    entry = {"keys": ["a"], "content": "A", "extensions": {"position": 4, "mine": 1}}
    book = {"entries": [entry], "name": "Lore", "mine": 2}
    found = book_of_card(v2(character_book=book))
    assert found is not None
    kept = Lorebook(id="b", name="Lore")
    pairs = [(item.entry, item.document) for item in found.entries]
    assert card_book(kept, pairs, found.document) == book
    moved = [(replace(pairs[0][0], place="after_char"), pairs[0][1])]
    changed = card_book(kept, moved, found.document)["entries"][0]
    assert changed["position"] == "after_char"
    assert changed["extensions"] == {"mine": 1, "position": 1}


def test_v3_is_written_back_in_its_own_document() -> None:
    document = {"spec": "lorebook_v3", "x": 1, "data": {"entries": [{"keys": ["a"]}], "y": 2}}
    assert json_of(again(read_lorebook(dumps(document)))) == document


def test_folders_of_risu_stay() -> None:
    rows = [{"mode": "folder", "key": "f"}, {"mode": "normal", "key": "a,b", "content": "A"}]
    document = {"type": "risu", "ver": 1, "data": rows}
    found = read_lorebook(dumps(document))
    assert json_of(again(found)) == document
    assert json_of(again(found, keys=("a", "c")))["data"][1]["key"] == "a, c"


def test_risu_takes_one_pattern() -> None:
    found = read_lorebook(new_file([Entry(id=0, content="A", keys=("/a{1,2}/i",))], "risu").data)
    assert found.entries[0].entry.keys == ("/a{1,2}/i",)
    assert found.entries[0].document["useRegex"] is True


def test_marked_entries_of_a_card_write_patterns_with_slashes() -> None:
    row = {"keys": ["mi?ll"], "content": "A", "use_regex": True, "extensions": {}}
    found = read_lorebook(dumps({"name": "B", "entries": [row]}))
    assert found.entries[0].entry.match == "regex"
    changed = again(found, exclude_recursion=True)
    back = read_lorebook(changed.data).entries[0].entry
    assert back.keys == ("/mi?ll/i",)
    assert back.exclude_recursion
    assert changed.notices == ()


def test_what_a_format_cannot_say_is_listed() -> None:
    entry = Entry(
        id=0, content="A", keys=("a,b",), enabled=False, sticky=2, place="depth", secondary=("x",)
    )
    said = " ".join(item.text for item in new_file([entry], "risu", scan_depth=3).notices)
    for word in ("switched off", "how long they stay", "where they go", "comma", "Scan depth"):
        assert word in said
    assert "1 entries lose" in said


def test_from_one_format_into_another() -> None:
    found = read_lorebook(
        world({"key": ["mill"], "content": "Old.", "comment": "Mill", "order": 7, "madeUp": 1})
    )
    pairs = [(item.entry, item.document) for item in found.entries]
    book = Lorebook(id="b", name="World")
    kinds: tuple[LoreFormat, ...] = ("card", "v3", "agnai", "risu", "novelai")
    for kind in kinds:
        made = write_lorebook(
            book, pairs, format=kind, document=found.document, source="sillytavern"
        )
        back = read_lorebook(made.data, name="World")
        assert back.format == kind
        entry = back.entries[0].entry
        assert (entry.keys, entry.content, entry.title) == (("mill",), "Old.", "Mill")
        assert entry.order == 7
        assert "madeUp" not in made.data.decode()
        assert "original format" in made.notices[0].text


def test_a_place_before_the_input_comes_near_it_in_a_world_file() -> None:
    made = new_file([Entry(id=0, content="A", keys=("a",))], "sillytavern")
    entry = read_lorebook(made.data).entries[0].entry
    assert (entry.place, entry.depth) == ("depth", 1)
    assert "where they go" in made.notices[0].text
    assert texts(read_lorebook(made.data)) == ""
