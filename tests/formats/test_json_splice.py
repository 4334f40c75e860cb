"""Changing values inside JSON text."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from talekeeper.formats.json_splice import same, spliced

_TEXT = '{ "a" : 1.0,\t"b":[1 , {"x":"\\u00e9"}],\n  "c": {"d": null} }'


def _old() -> dict[str, Any]:
    return json.loads(_TEXT)  # type: ignore[no-any-return]


def test_nothing_changed_is_the_same_text() -> None:
    assert spliced(_TEXT, _old(), _old()) == _TEXT


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"a": 2}, _TEXT.replace("1.0", "2")),
        ({"a": 1}, _TEXT.replace("1.0", "1")),
        ({"b": [2, {"x": "é"}]}, _TEXT.replace("[1 ", "[2 ")),
        ({"b": [1, {"x": "ü"}]}, _TEXT.replace("\\u00e9", "ü")),
        ({"c": {"d": "n"}}, _TEXT.replace("null", '"n"')),
        ({"b": [1]}, '{ "a" : 1.0,\t"b":[1],\n  "c": {"d": null} }'),
        ({"c": 5}, _TEXT.replace('{"d": null}', "5")),
    ],
)
def test_only_the_changed_value_is_replaced(change: dict[str, Any], expected: str) -> None:
    assert spliced(_TEXT, _old(), {**_old(), **change}) == expected


def test_new_keys_go_last_in_the_spacing_of_their_neighbours() -> None:
    pretty = '{\n    "a": 1,\n    "b": {\n        "c": 2\n    }\n}'
    new = {"a": 1, "b": {"c": 2, "d": [3]}, "e": "x"}
    assert spliced(pretty, json.loads(pretty), new) == (
        '{\n    "a": 1,\n    "b": {\n        "c": 2,\n        "d": [3]\n    },\n    "e": "x"\n}'
    )
    assert spliced('{"a":1}', {"a": 1}, {"a": 1, "b": [1, 2]}) == '{"a":1,"b":[1,2]}'
    assert spliced(" {} ", {}, {"a": 1}) == ' {"a":1} '


def test_keys_that_are_gone_are_taken_out() -> None:
    text = '{"a": 1, "b": 2, "c": 3}'
    assert spliced(text, json.loads(text), {"b": 2, "c": 3}) == '{"b": 2, "c": 3}'
    assert spliced(text, json.loads(text), {"a": 1, "c": 3}) == '{"a": 1, "c": 3}'
    assert spliced(text, json.loads(text), {"a": 1, "b": 2}) == '{"a": 1, "b": 2}'
    assert spliced(text, json.loads(text), {}) == "{}"
    assert spliced(text, json.loads(text), {"d": 4}) == '{"d": 4}'


def test_of_a_doubled_key_the_last_one_counts() -> None:
    text = '{"a":1,"b":2,"a":3}'
    assert spliced(text, {"a": 3, "b": 2}, {"a": 4, "b": 2}) == '{"a":1,"b":2,"a":4}'


def test_an_escape_that_no_store_can_keep_stays_in_the_text() -> None:
    text = '{"a\\ud800":"b\\ud800","c":1}'
    old = {"a\ufffd": "b\ufffd", "c": 1}
    assert spliced(text, old, {**old, "c": 2}) == text.replace("1", "2")


def test_one_and_true_and_one_point_zero_are_three_values() -> None:
    assert not same(1, True)
    assert not same([1], [1.0])
    assert not same({"a": 0}, {"a": False})
    assert same({"a": [1, {"b": None}]}, {"a": [1, {"b": None}]})
    assert not same({"a": 1}, {"b": 1})
    assert not same([1, 2], [1])


_TEXTS = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=5)
_VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | _TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(_TEXTS, inner, max_size=4),
    max_leaves=12,
)
_OBJECTS = st.dictionaries(st.sampled_from(["a", "b", "c", "é", ""]), _VALUES, max_size=5)


@given(_OBJECTS, _OBJECTS, st.sampled_from([None, 0, 2, 4]), st.booleans())
def test_the_result_holds_the_new_value(
    old: dict[str, Any], new: dict[str, Any], indent: int | None, ascii_only: bool
) -> None:
    text = json.dumps(old, indent=indent, ensure_ascii=ascii_only)
    result = spliced(text, old, new)
    assert same(json.loads(result), new)
    assert spliced(text, old, json.loads(text)) == text
    kept = [key for key in old if key in new]
    assert list(json.loads(result))[: len(kept)] == kept
