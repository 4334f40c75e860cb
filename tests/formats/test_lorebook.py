"""Lorebooks of every format, as real programs write them, and as nobody should."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from talekeeper.domain.errors import UnreadableFile
from talekeeper.domain.limits import LIMITS
from talekeeper.domain.lore import CharacterFilter
from talekeeper.formats.detect import OtherFile
from talekeeper.formats.lorebook import book_of_card, read_lorebook
from talekeeper.formats.lorebook_kind import looks_like_lorebook
from tests.formats.builders import HEADER, card_chunk, chat, dumps, line, picture, v2, v3
from tests.formats.lore import card_entry, st_entry, texts, world


def test_a_world_file() -> None:
    found = read_lorebook(
        world({"uid": 3, "key": ["мельница", "水車"], "content": "Old. 🌾"}), name="World"
    )
    assert found.format == "sillytavern"
    assert found.name == "World"
    assert found.names
    assert found.scan_depth is None
    (item,) = found.entries
    assert item.entry.id == 3
    assert item.entry.keys == ("мельница", "水車")
    assert item.entry.place == "before_char"
    assert found.document["entries"] == {"0": 3}
    assert found.notices == ()


def test_entries_may_be_a_list() -> None:
    found = read_lorebook(dumps({"entries": [{"key": ["a"]}, {"key": ["b"]}]}))
    assert found.format == "sillytavern"
    assert [item.entry.id for item in found.entries] == [0, 1]


@pytest.mark.parametrize(
    ("number", "place"),
    list(
        enumerate(
            [
                "before_char",
                "after_char",
                "note_top",
                "note_bottom",
                "depth",
                "before_examples",
                "after_examples",
                "outlet",
            ]
        )
    ),
)
def test_positions(number: int, place: str) -> None:
    assert st_entry(position=number).place == place
    assert card_entry(position="after_char", extensions={"position": number}).place == place


@pytest.mark.parametrize("value", [8, -1, True, "nowhere", [], 1e300])
def test_a_position_that_is_none(value: object) -> None:
    assert st_entry(position=value).place == "before_char"
    assert card_entry(position="after_char", extensions={"position": value}).place == "after_char"


def test_a_card_tells_no_position() -> None:
    assert card_entry().place == "before_input"
    assert card_entry(position="before_char_defs").place == "before_char"


@pytest.mark.parametrize(
    ("number", "logic"), list(enumerate(["and_any", "not_all", "not_any", "and_all"]))
)
def test_secondary_keys(number: int, logic: str) -> None:
    entry = st_entry(keysecondary=["river"], selectiveLogic=number)
    assert (entry.secondary, entry.logic) == (("river",), logic)
    marked = {"selectiveLogic": number}
    on = card_entry(secondary_keys=["river"], selective=True, extensions=marked)
    assert (on.secondary, on.logic) == (("river",), logic)


def test_secondary_keys_count_only_where_they_are_on() -> None:
    assert st_entry(keysecondary=["river"], selective=False).secondary == ()
    assert card_entry(secondary_keys=["river"]).secondary == ()


def test_patterns() -> None:
    assert st_entry(key=["/mi?ll/i", "a.b"]).match == "substring"
    assert card_entry(use_regex=True).match == "regex"
    assert card_entry(use_regex=True, keys=["/mi?ll/i"]).match == "substring"
    assert card_entry(use_regex=True, extensions={"display_index": 0}).match == "substring"
    assert card_entry(use_regex=True, extensions={"chub": {}}).match == "regex"


def test_commas_in_keys() -> None:
    assert st_entry(key=["river, old", "mill"]).keys == ("river, old", "mill")
    assert st_entry(key="river, old").keys == ("river, old",)
    assert card_entry(keys="river, old").keys == ("river", "old")


@pytest.mark.parametrize(
    ("fields", "attribute", "value"),
    [
        ({"probability": 30}, "probability", 30),
        ({"probability": 30, "useProbability": False}, "probability", 100),
        ({"probability": None}, "probability", 100),
        ({"probability": 900}, "probability", 100),
        ({"delayUntilRecursion": True}, "delay_until_recursion", 1),
        ({"delayUntilRecursion": False}, "delay_until_recursion", 0),
        ({"delayUntilRecursion": 3}, "delay_until_recursion", 3),
        ({"role": None}, "role", "system"),
        ({"role": 2}, "role", "assistant"),
        ({"role": 9}, "role", "system"),
        ({"disable": True}, "enabled", False),
        ({"disable": "true"}, "enabled", False),
        ({"disable": None}, "enabled", True),
        ({"matchWholeWords": True}, "match", "word"),
        ({"matchWholeWords": "true"}, "match", "word"),
        ({"matchWholeWords": ""}, "match", "substring"),
        ({"caseSensitive": True}, "case_sensitive", True),
        ({"caseSensitive": "0"}, "case_sensitive", False),
        ({"scanDepth": "2"}, "scan_depth", 2),
        ({"scanDepth": ""}, "scan_depth", None),
        ({"scanDepth": 0}, "scan_depth", 0),
        ({"sticky": None}, "sticky", 0),
        ({"cooldown": -4}, "cooldown", 0),
        ({"delay": 2.0}, "delay", 2),
        ({"order": -3.7}, "order", -3),
        ({"order": 10**30}, "order", 2_147_483_647),
        ({"group": "inn, road,,"}, "groups", ("inn", "road")),
        ({"groupWeight": None}, "group_weight", 100),
        ({"useGroupScoring": True}, "group_scoring", True),
        ({"triggers": ["swipe", "normal", "odd"]}, "triggers", ("normal", "swipe")),
        ({"matchScenario": True, "matchPersonaDescription": 1}, "extras", ("persona", "scenario")),
        ({"outletName": "here"}, "outlet", "here"),
        ({"ignoreBudget": True}, "ignore_budget", True),
        ({"comment": 7}, "title", "7"),
        ({"comment": ["a", "b"]}, "title", "a\nb"),
        ({"content": ["a", "b"]}, "content", "a\nb"),
        ({"content": None}, "content", ""),
        ({"content": "@@depth 4\nText"}, "content", "@@depth 4\nText"),
        ({"key": [" ", "", 5, "a"]}, "keys", ("5", "a")),
        ({"key": None}, "keys", ()),
        ({"key": {"0": "a"}}, "keys", ("a",)),
        (
            {"characterFilter": {"isExclude": True, "names": ["Mara"], "tags": []}},
            "characters",
            CharacterFilter(names=("Mara",), exclude=True),
        ),
        ({"characterFilter": {"isExclude": True, "names": [], "tags": []}}, "characters", None),
        ({"characterFilter": 3}, "characters", None),
    ],
)
def test_fields(fields: dict[str, Any], attribute: str, value: object) -> None:
    assert getattr(st_entry(**fields), attribute) == value


def test_what_was_made_fit_is_noted_with_its_path() -> None:
    found = read_lorebook(world({"key": "a", "scanDepth": "2", "content": 3, "disable": "false"}))
    assert {item.path for item in found.notices} == {
        "entries.0.key",
        "entries.0.scanDepth",
        "entries.0.content",
        "entries.0.disable",
    }


def test_notices_of_one_kind_are_counted() -> None:
    found = read_lorebook(world(*({"key": ["a"], "content": 1} for _ in range(300))))
    assert len(found.notices) == 6
    assert "295 more places" in found.notices[-1].text


def test_numbers_of_entries() -> None:
    found = read_lorebook(
        dumps(
            {
                "name": "B",
                "entries": [
                    {"id": 1, "keys": ["a"]},
                    {"id": 1, "keys": ["b"]},
                    {"id": "x", "keys": ["c"]},
                    {"keys": ["d"]},
                    {"id": -4, "keys": ["e"]},
                    {"id": 10**20, "keys": ["f"]},
                ],
            }
        )
    )
    assert [item.entry.id for item in found.entries] == [1, 0, 2, 3, 4, 5]
    assert found.entries[1].document["id"] == 1
    assert "get a new one" in texts(found)


def test_dead_entries_stay_and_are_counted() -> None:
    found = read_lorebook(world({"key": []}, {"key": [], "constant": True}, {"key": ["a"]}))
    assert len(found.entries) == 3
    assert "1 entries have no key" in texts(found)


def test_the_book_of_a_card() -> None:
    assert book_of_card(v2()) is None
    assert book_of_card(v2(character_book=None)) is None
    assert book_of_card(v2(character_book={"entries": 3})) is None
    book = {
        "name": "Lore",
        "scan_depth": 4,
        "token_budget": 300,
        "recursive_scanning": True,
        "entries": [{"keys": ["a"], "content": "A", "insertion_order": 1, "priority": 2, "odd": 1}],
    }
    found = book_of_card(v3(character_book=book))
    assert found is not None
    assert (found.name, found.scan_depth, found.token_budget) == ("Lore", 4, 300)
    assert found.recursive is True
    assert not found.names
    assert (found.entries[0].entry.order, found.entries[0].entry.priority) == (1, 2)
    assert found.unknown == ("data.character_book.entries[].odd",)


def test_a_lorebook_v3() -> None:
    entry = {"keys": ["a"], "content": "A", "use_regex": False, "name": "3", "comment": "Title"}
    found = read_lorebook(dumps({"spec": "lorebook_v3", "data": {"entries": [entry]}}))
    assert found.format == "v3"
    assert found.entries[0].entry.title == "Title"
    with pytest.raises(UnreadableFile, match="no content"):
        read_lorebook(dumps({"spec": "lorebook_v3", "data": 3}))


def test_a_memory_book() -> None:
    entry = {"name": "Mill", "entry": "Old.", "keywords": ["mill"], "weight": 3, "priority": 1}
    found = read_lorebook(dumps({"kind": "memory", "name": "Book", "entries": [entry]}))
    assert found.format == "agnai"
    got = found.entries[0].entry
    assert (got.title, got.content, got.keys) == ("Mill", "Old.", ("mill",))
    assert (got.order, got.priority, got.place) == (3, 1, "before_input")


def test_a_risu_lorebook() -> None:
    rows = [
        {"mode": "folder", "key": "f", "content": ""},
        {
            "key": "a, b,,",
            "secondkey": "c,d",
            "selective": True,
            "insertorder": 7,
            "alwaysActive": True,
            "extentions": {"risu_case_sensitive": True},
            "activationPercent": 40,
            "content": "@@depth 4\nA",
            "comment": "T",
        },
        {"key": "/x{1,2}/i", "useRegex": True, "mode": "child", "secondkey": "z"},
        {"key": "", "mode": "constant", "activationPercent": None},
    ]
    found = read_lorebook(dumps({"type": "risu", "ver": 1, "data": rows}), name="N")
    assert (found.format, found.name, len(found.entries)) == ("risu", "N", 3)
    first, second, third = (item.entry for item in found.entries)
    assert (first.keys, first.secondary, first.order) == (("a", "b"), ("c", "d"), 7)
    assert (first.constant, first.case_sensitive, first.probability) == (True, True, 40)
    assert (second.keys, second.match, second.secondary) == (("/x{1,2}/i",), "substring", ())
    assert third.constant
    assert "1 entries follow another one" in texts(found)


def test_a_novelai_lorebook() -> None:
    entry = {
        "text": "Old.",
        "displayName": "Mill",
        "keys": ["mill", "/ri?ver/i"],
        "enabled": False,
        "contextConfig": {"budgetPriority": -400},
        "searchRange": 500,
        "id": "5f",
    }
    found = read_lorebook(dumps({"lorebookVersion": 5, "entries": [entry, {"text": "B"}]}))
    got = found.entries[0].entry
    assert (got.title, got.content, got.enabled, got.order) == ("Mill", "Old.", False, -400)
    assert found.entries[1].entry.order == 0
    assert "how many letters" in texts(found)


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (dumps(v2()), "character card"),
        (dumps({"name": "Mara", "first_mes": "Hi."}), "character card"),
        (picture(card_chunk("chara", v2())), "character card"),
        (chat(HEADER, line(), line()), "a chat"),
        (dumps({"type": "risuChat", "data": {}}), "RisuAI chat"),
        (dumps({"savedsettings": {}}), "Kobold"),
        (b"PK\x03\x04", "ZIP"),
        (dumps({"a": 1}), "no lorebook"),
        (dumps({"entries": 5}), "no lorebook"),
        (dumps({"entries": [{"content": "news", "link": "x"}]}), "no lorebook"),
        (dumps({"entries": [1, 2]}), "no lorebook"),
    ],
)
def test_what_is_no_lorebook(data: bytes, says: str) -> None:
    with pytest.raises(OtherFile, match=says):
        read_lorebook(data)


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"", "JSON"),
        (b"[1]", "not an object"),
        (b'{"entries": {', "JSON"),
        (b'{"entries": {"0": {"key": ["\xff"]}}}', "UTF-8"),
        (b'{"entries":' + b"[" * 5000 + b"]" * 5000 + b"}", "nested deeper"),
        (b'{"entries":[' + b'{"key":' + b"[" * 90 + b"]" * 90 + b"}]}", "nested deeper"),
        (b'{"entries":[' + b"[]," * 900_000 + b"0]}", "values"),
        (dumps({"type": "risu", "data": 4}), "no list of entries"),
        (world({"key": ["a"], "content": "x" * (LIMITS.entry_characters + 1)}), "longer than"),
        (dumps({"entries": [{"key": []}] * (LIMITS.entries + 1)}), "more than 20,000 entries"),
        (b" " * (LIMITS.lorebook_bytes + 1), "larger than"),
    ],
)
def test_what_cannot_be_read(data: bytes, says: str) -> None:
    with pytest.raises(UnreadableFile, match=says):
        read_lorebook(data)


def test_keys_over_a_limit_are_kept_and_not_used() -> None:
    keys = ["x" * (LIMITS.key_characters + 1), *(f"k{at}" for at in range(LIMITS.keys + 5))]
    found = read_lorebook(world({"key": keys, "keysecondary": ["s"]}))
    entry = found.entries[0].entry
    assert len(entry.keys) == LIMITS.keys
    assert entry.keys[0] == "k0"
    assert entry.secondary == ()
    assert found.entries[0].document["key"] == keys
    assert "kept, not used" in texts(found)


def test_a_mark_nan_and_half_letters() -> None:
    data = b'\xef\xbb\xbf{"entries":{"0":{"key":["a\\ud800"],"order":NaN,'
    data += b'"depth":1e999,"content":"\\u0000"}}}'
    found = read_lorebook(data)
    entry = found.entries[0].entry
    assert (entry.keys, entry.order, entry.depth) == (("a\ufffd",), 100, 4)
    assert "half letters" in texts(found)


def test_unknown_fields_are_named_once() -> None:
    found = read_lorebook(world({"key": ["a"], "odd": 1}, {"key": ["b"], "odd": 2}, new=1))
    assert found.unknown == ("new", "entries[].odd")


@pytest.mark.parametrize(
    ("value", "is_one"),
    [
        ({"entries": {}}, True),
        ({"entries": []}, True),
        ({"spec": "lorebook_v3", "data": {}}, True),
        ({"lorebookVersion": 3}, True),
        (v2(character_book={"entries": []}), False),
        ({"entries": [{"title": "feed"}]}, False),
        ([], False),
        (None, False),
    ],
)
def test_telling_a_lorebook(value: object, is_one: bool) -> None:
    assert looks_like_lorebook(value) is is_one


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=5,
)
_NAMES = (
    "key keys keysecondary secondary_keys content text entry position role probability id uid "
    "selective extensions characterFilter triggers group depth order contextConfig mode "
    "useRegex secondkey name comment keywords extentions delayUntilRecursion"
)
_ROW = st.dictionaries(st.sampled_from(_NAMES.split()), _JSON, max_size=6)


@pytest.mark.parametrize(
    "marks",
    [
        {"type": "risu"},
        {"kind": "memory"},
        {"lorebookVersion": 5},
        {"name": "B"},
    ],
)
@given(rows=st.lists(_ROW | _JSON, max_size=3) | st.dictionaries(st.text(max_size=3), _ROW | _JSON))
def test_anything_is_read_or_refused(marks: dict[str, Any], rows: Any) -> None:
    field = "data" if "type" in marks else "entries"
    data = json.dumps({**marks, field: rows}).encode()
    try:
        found = read_lorebook(data)
    except UnreadableFile:
        return
    ids = [item.entry.id for item in found.entries]
    assert len(set(ids)) == len(ids)
