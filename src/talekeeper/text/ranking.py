"""Which sentence of a chat to keep next, given those that are kept already.

A sentence is worth the terms it adds to what is kept: a term counts by how many sentences have it,
and less each time it is said again. That is raised for sentences of long passages (where a story is
told), with names, and with what is worth remembering by itself; and lowered for what repeats a kept
sentence in other words. It does not know tokens or budgets.
"""

import heapq
import math
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from talekeeper.text.units import Unit

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["WEIGHTS", "Embed", "Ranking", "Weights"]

Embed = Callable[[Sequence[str]], "NDArray[Any]"]
"""Texts to vectors of unit length, one row each."""

_CANDIDATES = 2_048
"""At most so many sentences are compared with each other; beyond, those worth most by themselves.
Keeps the time linear."""

_LONG_PASSAGE = 12
"""Sentences from which on a passage is simply long."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Weights:
    """How much each reason counts. Chosen on episodes of CRD3 (see ``benchmarks/summary.py``)."""

    spread: float = 0.6
    """A term in n sentences is worth n to this power."""
    again: float = 0.5
    """What is left of a term's worth each time it is said again."""
    passage: float = 0.5
    """For each e-fold of sentences in the passage."""
    names: float = 0.2
    """For each name, up to three."""
    salience: float = 0.3
    key: float = 3.5
    """For salience beyond ``key_from``, in units of a good sentence of this input."""
    key_from: float = 0.7
    action: float = 0.5
    """Factor for what is done rather than said."""
    answered: float = 0.5
    """Share of a question and its answer together, which take the room of two."""
    repeated: float = 0.15
    """How much a sentence with the meaning of a kept one loses."""
    unheard: float = 0.1
    """For the first sentence of a speaker."""


WEIGHTS = Weights()


class Ranking:
    """Gives the candidates one by one, best first. Ties go to what was said first.

    A candidate is one sentence, or a question with the sentence that answers it: positions in
    ``units``, in their order.
    """

    def __init__(
        self, units: Sequence[Unit], embed: Embed | None = None, weights: Weights = WEIGHTS
    ) -> None:
        self._units = units
        self._weights = weights
        # In the order of the text, for sums that are the same in every process.
        self._terms = [tuple(dict.fromkeys(unit.terms)) for unit in units]
        self._wording = [frozenset(terms) for terms in self._terms]
        shared = Counter(term for terms in self._terms for term in terms)
        self._worth: dict[str, float] = {
            term: times**weights.spread for term, times in shared.items()
        }
        self._heard: set[str] = set()
        self._taken: set[int] = set()
        self._wordings: set[frozenset[str]] = set()
        self._factors = _factors(units, weights)
        candidates = _candidates(units)
        self._keys = self._scaled_keys(candidates)
        self._heap = [(-self._gain(candidate), candidate) for candidate in candidates]
        self._heap = heapq.nsmallest(_CANDIDATES, self._heap)
        self._near = _Nearness(units, sorted({at for _, c in self._heap for at in c}), embed)

    def next(self) -> tuple[int, ...] | None:
        """The best candidate there is now; None when nothing is left that says anything new."""
        while self._heap:
            bound, candidate = heapq.heappop(self._heap)
            entry = (-self._gain(candidate), candidate)
            # What is kept only ever lowers a gain: who is still ahead of the rest is the best.
            if self._heap and entry > self._heap[0] and entry[0] > bound:
                heapq.heappush(self._heap, entry)
            elif entry[0] < 0:
                return candidate
        return None

    def take(self, candidate: tuple[int, ...]) -> None:
        """The candidate is kept: what it says is said."""
        for at in candidate:
            if at not in self._taken:
                self._taken.add(at)
                self._wordings.add(self._wording[at])
                for term in self._terms[at]:
                    self._worth[term] *= self._weights.again
                self._heard.add(self._units[at].speaker)
                self._near.take(at)

    def _scaled_keys(self, candidates: Sequence[tuple[int, ...]]) -> list[float]:
        """What each sentence gains on its terms for being worth remembering by itself."""
        coverages = [self._coverage(at) for at in range(len(self._units))]
        gains = sorted(coverages[candidate[-1]] for candidate in candidates)
        good = gains[len(gains) * 3 // 4] if gains else 0.0
        weights = self._weights
        return [
            good * weights.key * max(0.0, unit.salience - weights.key_from) / max(coverage, 1e-9)
            for unit, coverage in zip(self._units, coverages, strict=True)
        ]

    def _gain(self, candidate: tuple[int, ...]) -> float:
        gains = [self._one(at) for at in candidate]
        return sum(gains) * (self._weights.answered if len(candidate) > 1 else 1.0)

    def _one(self, at: int) -> float:
        if at in self._taken or self._wording[at] in self._wordings:
            return 0.0
        # What is worth remembering is so once: its extra goes as its terms are said.
        coverage = self._coverage(at)
        gain = coverage + self._keys[at] * coverage
        if self._taken:
            gain *= 1 - self._weights.repeated * self._near.of(at)
        if self._units[at].speaker not in self._heard:
            gain *= 1 + self._weights.unheard
        return gain

    def _coverage(self, at: int) -> float:
        return self._factors[at] * sum(map(self._worth.__getitem__, self._terms[at]))


def _factors(units: Sequence[Unit], weights: Weights) -> list[float]:
    sizes = Counter(unit.passage for unit in units)
    found = []
    for unit in units:
        factor = 1 + weights.passage * math.log(min(_LONG_PASSAGE, sizes[unit.passage]))
        factor += weights.salience * min(2.0, unit.salience) + weights.names * min(3, unit.names)
        found.append(factor * weights.action if unit.action else factor)
    return found


_BARE = re.compile(
    r"(?:yes|yeah|yep|no|nope|nah|sí|si|sim|não|да|нет)\b|不?是|不|对|はい|いいえ|うん|ううん",
    re.IGNORECASE,
)
"""How an answer begins that says nothing without its question."""


def _candidates(units: Sequence[Unit]) -> list[tuple[int, ...]]:
    found: list[tuple[int, ...]] = []
    asked = {unit.passage for unit in units if unit.asks}
    opening = {unit.passage: at for at, unit in reversed(list(enumerate(units)))}
    for at, unit in enumerate(units):
        if unit.filler:
            continue
        if not unit.asks:
            if unit.passage - 1 not in asked or unit.place or not _BARE.match(unit.text):
                found.append((at,))
            continue
        answer = opening.get(unit.passage + 1)
        if answer is not None and _answers(unit, units[answer]):
            found.append((at, answer))
    return found


def _answers(question: Unit, said: Unit) -> bool:
    """Whether what the next passage opens with answers: somebody else says it, and does not ask."""
    return said.speaker != question.speaker and not said.asks and not said.action


class _Nearness:
    """How near in meaning each candidate is to the nearest one taken: from 0 to 1."""

    def __init__(self, units: Sequence[Unit], places: Sequence[int], embed: Embed | None) -> None:
        self._row = {at: row for row, at in enumerate(places)} if embed else {}
        if embed and places:
            self._vectors = embed([units[at].text for at in places])
            self._nearest = 0 * self._vectors[:, 0]

    def of(self, at: int) -> float:
        row = self._row.get(at)
        return 0.0 if row is None else float(self._nearest[row])

    def take(self, at: int) -> None:
        if (row := self._row.get(at)) is not None:
            near = (self._vectors @ self._vectors[row]).clip(0, 1)
            self._nearest = self._nearest.clip(min=near)
