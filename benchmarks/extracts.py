"""Plain ways to summarise by picking sentences, to compare with: lead, random, LexRank.

All three take the same sentences and write them in the same form as :func:`talekeeper.text.condense
.condense`, and pass over a sentence that does not fit any more.
"""

import math
import random
from bisect import insort
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from talekeeper.text.condense import Passage
from talekeeper.text.sentences import sentences_of
from talekeeper.text.terms import terms_of

__all__ = ["Said", "extract", "lead", "lexrank", "said_in", "shuffled"]

_DAMPING = 0.85
_ROUNDS = 60


@dataclass(frozen=True, slots=True)
class Said:
    """A sentence, who says it, and its terms."""

    speaker: str
    text: str
    terms: tuple[str, ...]


def said_in(passages: Sequence[Passage]) -> list[Said]:
    """The sentences of English passages."""
    return [
        Said(passage.speaker, sentence.text, tuple(terms_of(sentence.text, "en")))
        for passage in passages
        for sentence in sentences_of(passage.text, "en")
    ]


def extract(
    said: Sequence[Said], order: Iterable[int], max_tokens: int, count: Callable[[str], int]
) -> str:
    """The sentences that fit, taken in ``order``, written in the order of the chat."""
    chosen: list[int] = []
    text = ""
    for at in order:
        insort(chosen, at)
        longer = _written(said, chosen)
        if count(longer) <= max_tokens:
            text = longer
        else:
            chosen.remove(at)
    return text


def lead(said: Sequence[Said]) -> Sequence[int]:
    """From the beginning."""
    return range(len(said))


def shuffled(said: Sequence[Said], seed: int) -> Sequence[int]:
    """In an order that only the seed knows."""
    return random.Random(seed).sample(range(len(said)), len(said))


def lexrank(said: Sequence[Said], threshold: float) -> Sequence[int]:
    """Most central first (Erkan and Radev, 2004): PageRank over the sentences whose TF-IDF vectors
    have a cosine of at least ``threshold``."""
    if not said:
        return []
    vectors = _tfidf(said)
    near = (vectors @ vectors.T >= threshold).astype(np.float64)
    np.fill_diagonal(near, 1.0)
    near /= near.sum(axis=1, keepdims=True)
    rank = np.full(len(said), 1 / len(said))
    for _ in range(_ROUNDS):
        rank = (1 - _DAMPING) / len(said) + _DAMPING * (near.T @ rank)
    return [int(at) for at in np.argsort(-rank, kind="stable")]


def _tfidf(said: Sequence[Said]) -> np.ndarray:
    spread = Counter(term for sentence in said for term in set(sentence.terms))
    column = {term: at for at, term in enumerate(spread)}
    vectors = np.zeros((len(said), max(1, len(column))), dtype=np.float32)
    for row, sentence in zip(vectors, said, strict=True):
        for term, times in Counter(sentence.terms).items():
            row[column[term]] = times * math.log(1 + len(said) / spread[term])
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    unit: np.ndarray = vectors / np.maximum(lengths, 1e-9)
    return unit


def _written(said: Sequence[Said], chosen: Sequence[int]) -> str:
    lines: list[str] = []
    speaker = None
    for at in chosen:
        sentence = said[at]
        if sentence.speaker == speaker:
            lines[-1] += f" {sentence.text}"
        else:
            lines.append(f"{sentence.speaker}: {sentence.text}")
        speaker = sentence.speaker
    return "\n".join(lines)
