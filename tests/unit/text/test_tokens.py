"""Token counts: one suite for every tokenizer, then what only some promise."""

import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from talekeeper.domain.errors import InvalidInput
from talekeeper.domain.settings import GenerationSettings
from talekeeper.text.tokens import TOKENIZERS, CachingTokenizer, Tokenizer, tokenizer_named

EXACT = tuple(name for name in TOKENIZERS if name != "approximate")


@pytest.fixture(params=TOKENIZERS)
def tokenizer(request: pytest.FixtureRequest) -> Tokenizer:
    return tokenizer_named(request.param)


# -- every tokenizer


def test_it_answers_to_its_name(tokenizer: Tokenizer) -> None:
    assert tokenizer.name in TOKENIZERS
    assert tokenizer_named(tokenizer.name) is tokenizer
    assert tokenizer.approximate == (tokenizer.name == "approximate")


def test_an_empty_text_has_no_tokens_and_any_other_has_some(tokenizer: Tokenizer) -> None:
    assert tokenizer.count("") == 0
    for text in ("a", " ", "\n", "\x00", "。", "é", "\u0301", "😀", "\ud800", "{{", "𓀀"):
        assert tokenizer.count(text) >= 1, ascii(text)


@given(text=st.text(max_size=400), name=st.sampled_from(TOKENIZERS))
def test_any_text_has_one_count_not_above_its_bytes(text: str, name: str) -> None:
    tokenizer = tokenizer_named(name)
    tokens = tokenizer.count(text)
    assert (tokens == 0) == (text == "")
    assert tokens == tokenizer.count(text)
    assert tokens <= 4 * len(text.encode())


@given(
    text=st.text(alphabet=st.characters(codec=None), max_size=300),
    name=st.sampled_from(TOKENIZERS),
)
def test_lone_surrogates_are_counted_like_the_replacement_character(text: str, name: str) -> None:
    tokenizer = tokenizer_named(name)
    broken = f"{text}\ud800 \udfff{text}\udc00"
    whole = broken.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    assert abs(tokenizer.count(broken) - tokenizer.count(whole)) <= (2 if "app" in name else 0)


def test_two_halves_of_a_pair_are_the_character_they_mean() -> None:
    for name in EXACT:
        assert tokenizer_named(name).count("\ud83d\ude00") == tokenizer_named(name).count("😀")


@pytest.mark.parametrize("special", ["<|endoftext|>", "<|im_start|>", "<|fim_prefix|>"])
def test_special_tokens_are_plain_text(tokenizer: Tokenizer, special: str) -> None:
    assert tokenizer.count(special) >= 4
    assert tokenizer.count(special * 50) >= 200


@pytest.mark.parametrize(
    "text",
    [
        "a" * 1_000_000,
        "aB" * 500_000,
        "=" * 1_000_000,
        " " * 1_000_000,
        "{{" * 500_000,
        "é" * 500_000,
        "字" * 333_000,
        "😀" * 250_000,
        "e" + "\u0301" * 400_000,
        "\ud800" * 300_000,
    ],
    ids=lambda text: ascii(text[:3]),
)
def test_a_megabyte_without_words_is_counted_quickly(tokenizer: Tokenizer, text: str) -> None:
    start = time.perf_counter()
    tokenizer.count(text)
    assert time.perf_counter() - start < 60  # 1 s here; a quadratic method takes minutes


def test_threads_get_the_same_counts(tokenizer: Tokenizer) -> None:
    texts = [f"Mira counts to {n}. Мира считает, 美拉在数数。 " * (1 + n % 40) for n in range(200)]
    expected = [tokenizer.count(text) for text in texts]
    barrier = threading.Barrier(8)

    def count_all(_: int) -> list[int]:
        barrier.wait()
        return [tokenizer.count(text) for text in texts]

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(count_all, range(8))) == [expected] * 8


# -- the exact ones


@pytest.mark.parametrize(
    ("text", "o200k", "cl100k"),
    [
        ("hello world", 2, 2),
        ("antidisestablishmentarianism", 6, 6),
        ("2 + 2 = 4", 7, 7),
        ("お誕生日おめでとう", 8, 9),
    ],
)
def test_published_counts(text: str, o200k: int, cl100k: int) -> None:
    assert tokenizer_named("o200k_base").count(text) == o200k
    assert tokenizer_named("cl100k_base").count(text) == cl100k


def test_the_default_of_the_settings_exists() -> None:
    assert GenerationSettings().tokenizer in TOKENIZERS


def test_an_unknown_name_lists_the_known_ones() -> None:
    with pytest.raises(InvalidInput, match="o200k_base, cl100k_base, approximate"):
        tokenizer_named("gpt-5")


def test_without_the_package_the_exact_ones_are_refused_and_the_estimate_works(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "rs_bpe.bpe", None)
    for name in EXACT:
        with pytest.raises(InvalidInput, match="'approximate'"):
            tokenizer_named(name)
    assert tokenizer_named("approximate").count("Hello there") > 0


# -- the cache


class Measure:
    """Counts words, and how often it was asked."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def __call__(self, text: str) -> int:
        self.asked.append(text)
        return len(text.split())


def test_long_texts_are_measured_once_and_short_ones_each_time() -> None:
    measure = Measure()
    tokenizer = CachingTokenizer("words", measure, approximate=False, uncached=5)
    assert [tokenizer.count("a b"), tokenizer.count("a b")] == [2, 2]
    assert [tokenizer.count("one two three")] * 2 == [3, 3]
    tokenizer.count("one two three")
    assert measure.asked == ["a b", "a b", "one two three"]


def test_the_least_recently_used_count_goes_first() -> None:
    measure = Measure()
    tokenizer = CachingTokenizer("words", measure, approximate=False, uncached=0, entries=2)
    for text in ("first", "second", "first", "third", "first", "second"):
        tokenizer.count(text)
    assert measure.asked == ["first", "second", "third", "second"]


def test_texts_that_differ_in_a_broken_character_are_told_apart() -> None:
    measure = Measure()
    tokenizer = CachingTokenizer("words", measure, approximate=False, uncached=0)
    assert tokenizer.count("\ud800 a") == 2
    assert tokenizer.count("\udfff a b") == 3


def test_a_big_text_costs_little_the_second_time(tokenizer: Tokenizer) -> None:
    text = "The rain has not stopped since noon. " * 20_000 + tokenizer.name
    start = time.perf_counter()
    first = tokenizer.count(text)
    taken = time.perf_counter() - start
    again: list[float] = []
    for _ in range(5):
        start = time.perf_counter()
        assert tokenizer.count(text) == first
        again.append(time.perf_counter() - start)
    assert min(again) < taken / 2
