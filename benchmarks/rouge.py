"""ROUGE: how much of a reference text a summary has (Lin, 2004), with stemmed English words.

Recall only: the summaries compared here are equally long.
"""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import snowballstemmer

__all__ = ["Recall", "recall", "words"]

_WORD = re.compile(r"[a-z0-9]+")
_STEMMER = snowballstemmer.stemmer("english")


@dataclass(frozen=True, slots=True)
class Recall:
    """Shares of the reference, 0 to 1: of its words, of its pairs of words, and the longest
    subsequence of words both have."""

    one: float
    two: float
    longest: float


def recall(summary: str, reference: str) -> Recall:
    """The recall of a summary against one reference; 0 for an empty reference."""
    found, wanted = words(summary), words(reference)
    return Recall(
        _shared(found, wanted, 1),
        _shared(found, wanted, 2),
        _longest_common(found, wanted) / len(wanted) if wanted else 0.0,
    )


def words(text: str) -> list[str]:
    """The stems of the words, lower-case, without punctuation."""
    return [_stem(word) for word in _WORD.findall(text.lower())]


@lru_cache(maxsize=100_000)
def _stem(word: str) -> str:
    return str(_STEMMER.stemWord(word))


def _shared(found: Sequence[str], wanted: Sequence[str], size: int) -> float:
    """The share of the wanted n-grams that are found, each as often as it occurs in both."""
    have, want = (
        Counter(zip(*(side[start:] for start in range(size)), strict=False))
        for side in (found, wanted)
    )
    return (have & want).total() / want.total() if want else 0.0


def _longest_common(found: Sequence[str], wanted: Sequence[str]) -> int:
    """The length of the longest common subsequence, a row of the table in the bits of a number."""
    places: dict[str, int] = {}
    for at, word in enumerate(wanted):
        places[word] = places.get(word, 0) | 1 << at
    full = (1 << len(wanted)) - 1
    row = full
    for word in found:
        matches = row & places.get(word, 0)
        row = ((row + matches) | (row - matches)) & full
    return len(wanted) - row.bit_count()
