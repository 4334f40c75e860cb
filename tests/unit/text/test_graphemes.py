"""Text turned around."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from talekeeper.text.graphemes import reversed_text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", ""),
        ("abc", "cba"),
        ("Привет", "тевирП"),
        ("こんにちは", "はちにんこ"),
        ("안녕", "녕안"),
        ("cafe\u0301!", "!e\u0301fac"),
        ("नमस्ते", "तेस्मन"),
        ("ที่นี่", "นี่ที่"),
        ("a👩‍👩‍👧b", "b👩‍👩‍👧a"),
        ("x👍🏽y", "y👍🏽x"),
        ("1🇯🇵🇧🇷2", "2🇧🇷🇯🇵1"),
        ("❤️✨", "✨❤️"),
        ("\u0301a", "a\u0301"),
    ],
)
def test_what_is_seen_as_one_character_stays_whole(text: str, expected: str) -> None:
    assert reversed_text(text) == expected


@given(st.text())
def test_every_character_is_kept(text: str) -> None:
    assert sorted(reversed_text(text)) == sorted(text)


@given(st.text(alphabet="abcäöüжя漢字かな한😀🎂 "))
def test_twice_is_the_text_again_without_marks(text: str) -> None:
    assert reversed_text(text) == text[::-1]
    assert reversed_text(reversed_text(text)) == text


@pytest.mark.parametrize("text", ["e" + "\u0301" * 200_000, "👩‍" * 70_000, "🇯" * 100_000])
def test_long_clusters_take_linear_time(text: str) -> None:
    start = time.perf_counter()
    assert len(reversed_text(text)) == len(text)
    assert time.perf_counter() - start < 30
