"""The estimate against the exact count, in many languages.

``samples/`` holds the texts that the weights were fitted on, ``samples/more/`` shorter ones in
other languages. All were written for this test.
"""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from talekeeper.text.estimate import estimate_tokens
from talekeeper.text.tokens import tokenizer_named

SAMPLES = Path(__file__).parent / "samples"
FITTED = {path.stem: path.read_text("utf-8") for path in sorted(SAMPLES.glob("*.txt"))}
MORE = {path.stem: path.read_text("utf-8") for path in sorted(SAMPLES.glob("more/*.txt"))}


def ratio(text: str) -> float:
    """The estimate for each true token."""
    return estimate_tokens(text) / tokenizer_named("o200k_base").count(text)


def test_the_samples_are_there() -> None:
    assert {"english", "russian", "chinese", "japanese", "korean", "spanish"} <= set(FITTED)
    assert {"portuguese", "arabic", "hindi", "thai", "emoji", "code"} <= set(FITTED)
    assert len(MORE) >= 20


@pytest.mark.parametrize("language", FITTED)
def test_a_page_is_estimated_high_but_not_by_much(language: str) -> None:
    assert 1.0 <= ratio(FITTED[language]) <= 1.25


@pytest.mark.parametrize("language", FITTED)
def test_a_paragraph_is_at_most_five_percent_low(language: str) -> None:
    for paragraph in FITTED[language].split("\n\n"):
        assert 0.95 <= ratio(paragraph) <= 1.35, paragraph


@pytest.mark.parametrize("language", MORE)
def test_other_languages_are_at_most_ten_percent_low(language: str) -> None:
    assert 0.90 <= ratio(MORE[language]) <= 1.25


def test_all_languages_together_are_estimated_high() -> None:
    assert 1.0 <= ratio("\n\n".join((FITTED | MORE).values())) <= 1.15


@pytest.mark.parametrize(
    "text",
    [
        "don’t you’re she’ll it’s " * 20,  # typographic apostrophes are no accents
        "HELLO THERE, GENERAL KENOBI! WHAT ARE YOU DOING?",
        "getElementById setTimeoutCallback readFileSync",
        "١٢٣٤٥ ۱۲۳۴ १२३४",
        "e\u0301" * 50,
        "𝓗𝓮𝓵𝓵𝓸 𝔀𝓸𝓻𝓵𝓭",
        "2025-12-01 19:07 3.14159 1,000,000 +49 30 1234567",
        "ᏣᎳᎩ ᎦᏬᏂᎯᏍᏗ አማርኛ བོད་ཡིག",
        "\n \n \n " * 50,
        "q7Xb9ZkR2mTqLw8sVf3Y" * 5,
    ],
    ids=lambda text: ascii(text[:12]),
)
def test_odd_texts_are_within_a_third(text: str) -> None:
    assert 0.67 <= ratio(text) <= 2.0


def test_chinese_is_not_counted_as_four_characters_to_a_token() -> None:
    assert estimate_tokens("雨就一直没有停过") > 8 / 2


@given(st.text(max_size=300))
def test_any_text_has_a_bounded_estimate(text: str) -> None:
    tokens = estimate_tokens(text)
    assert (tokens == 0) == (text == "")
    assert tokens <= 4 * len(text) + 1


@given(st.sampled_from([*FITTED.values(), *MORE.values()]), st.integers(2, 5))
def test_twice_the_text_is_twice_the_tokens(text: str, times: int) -> None:
    assert estimate_tokens(text * times) == pytest.approx(estimate_tokens(text) * times, rel=0.02)
