"""The list in what a model answered."""

import pytest

from talekeeper.models.json_answers import list_in


@pytest.mark.parametrize(
    ("answer", "found"),
    [
        ('{"operations": [1, {"a": 2}]}', [1, {"a": 2}]),
        ('```json\n{"operations": []}\n```', []),
        ('[{"a": "б"}]', [{"a": "б"}]),
        ("[]", []),
        ('Here you are [12]: {"operations": ["x"]} Anything else?', ["x"]),
        ('{"note": 1}\n{"operations": ["line\nbreak"]}', ["line\nbreak"]),
        ('<think>{"operations": [1]}</think>{"operations": [2]}', [2]),
        ('so {"operations": [1]}</thinking>\n{"operations": [2]}', [2]),
        ('{"operations": [{"a": 1}], oops', [{"a": 1}]),
    ],
)
def test_it_is_found_whatever_stands_around_it(answer: str, found: list[object]) -> None:
    assert list_in(answer, "operations") == found


@pytest.mark.parametrize(
    "answer",
    [
        "",
        "No.",
        "[12]",
        '["x"]',
        '{"operations": {}}',
        '{"operations": [{"a":',
        '<think>{"operations": [1]}',
        "{" * 100_000,
        "[" * 100_000,
        '{"a":' * 50_000,
    ],
)
def test_where_there_is_none_there_is_none(answer: str) -> None:
    assert list_in(answer, "operations") is None
