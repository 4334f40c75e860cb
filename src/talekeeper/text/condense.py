"""The local summary: the most telling sentences of a chat, word for word, in their order.

No model is needed. Which sentences tell most is worked out in ``ranking``; here are the way in, the
way out, and the budget. It does not know cells, nodes or languages of prompts.
"""

from bisect import bisect, insort
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import lru_cache

from talekeeper.text.filler import is_filler, words_left
from talekeeper.text.ranking import Embed, Ranking
from talekeeper.text.salience import names_in, salience
from talekeeper.text.sentences import Sentence, sentences_of
from talekeeper.text.terms import language_of, terms_of
from talekeeper.text.units import Unit

__all__ = ["Embed", "Passage", "condense", "passages_of"]

_NAMES = 200
"""Words of speakers' names that are known as such, to keep the time linear."""

_TELLING = 0.3
"""A salience with which even a sentence without a word of its own is more than filler."""

_WIDE = "\u2e80"
"""From here on a character is as wide as two Latin ones."""

_REMEMBERED = 4_000
"""Characters: passages this long are read anew each time, so that the memory stays small."""

_Read = tuple[Sentence, float, int, tuple[str, ...], frozenset[str] | None]
"""A sentence, its salience, how many names it has, its terms, the words that it may say by."""

_MISSES = 200
"""So many sentences in a row that do not fit end the search for one that does."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Passage:
    """Something somebody said, or one line of an earlier summary. ``speaker`` is "" for none."""

    speaker: str
    text: str


def condense(
    passages: Sequence[Passage],
    *,
    max_tokens: int,
    count: Callable[[str], int],
    embed: Embed | None = None,
) -> str:
    """The most telling sentences of the passages, at most ``max_tokens`` by ``count``.

    One line for each run of a speaker, ``Name: sentence. Sentence.``, in the order of the chat.
    Every sentence stands word for word in a passage of that speaker; very long ones are cut after a
    clause, which "…" marks. A question comes only with its answer. Empty where nothing is worth
    keeping (greetings, agreement, code), or where not one sentence fits.

    ``embed`` gives unit vectors (see :class:`talekeeper.models.embedder.Embedder`) and helps to
    tell repetitions that use other words. The same arguments give the same text. Takes time linear
    in the length of the passages.
    """
    units = _units(passages)
    if max_tokens <= 0 or not units:
        return ""
    ranking = Ranking(units, embed)
    return _fitted(units, ranking, max_tokens, count)


def passages_of(text: str, speakers: Collection[str]) -> list[Passage]:
    """A condensed text as passages again, one for each line that is not empty.

    A line that begins with ``Name: `` of a known speaker is theirs; the longest name wins where one
    begins with another. Any other line is nobody's.
    """
    known = sorted({name for name in speakers if name}, key=lambda name: (-len(name), name))
    found: list[Passage] = []
    for line in filter(str.strip, text.split("\n")):
        name = next((name for name in known if line.startswith(f"{name}: ")), "")
        said = line[len(name) + 2 :] if name else line
        found.append(Passage(speaker=name, text=said))
    return found


def _units(passages: Sequence[Passage]) -> list[Unit]:
    words = dict.fromkeys(word for said in passages for word in said.speaker.casefold().split())
    names = frozenset(list(words)[:_NAMES])
    language = language_of(" ".join(said.text[:200] for said in passages[:50]))
    found: list[Unit] = []
    for number, said in enumerate(passages):
        read = _remembered if len(said.text) <= _REMEMBERED else _read
        for place, (sentence, worth, named, terms, left) in enumerate(read(said.text, language)):
            empty = is_filler(sentence.text, names) if left is None else left <= names
            unit = Unit(
                speaker=said.speaker,
                text=sentence.text,
                passage=number,
                place=place,
                action=sentence.action,
                asks=sentence.asks,
                filler=empty or _says_little(sentence, worth, terms, names),
                salience=0.0 if empty else worth,
                names=0 if empty else named,
                terms=terms,
                cut=sentence.cut,
            )
            found.append(unit)
    return found


def _read(text: str, language: str) -> list[_Read]:
    """What the sentences of a passage are by themselves; ``language`` is the chat's."""
    spoken = language_of(text, language)
    return [
        (
            sentence,
            salience(sentence.text),
            names_in(sentence.text),
            tuple(terms_of(sentence.text, spoken)),
            words_left(sentence.text),
        )
        for sentence in sentences_of(text, spoken)
    ]


# Merges read again what was read for a cell: those of the last few hundred messages.
_remembered = lru_cache(maxsize=1_024)(_read)


def _says_little(
    sentence: Sentence, worth: float, terms: Collection[str], names: Collection[str]
) -> bool:
    """Whether there is too little in a sentence to make sense away from its neighbours."""
    least = 2 if sentence.action else 1
    return worth < _TELLING and len({*terms}.difference(names)) < least


def _fitted(
    units: Sequence[Unit], ranking: Ranking, max_tokens: int, count: Callable[[str], int]
) -> str:
    kept: list[list[int]] = []
    chosen: list[int] = []
    used = missed = 0
    while missed < _MISSES and (candidate := ranking.next()) is not None:
        new = [at for at in candidate if at not in chosen]
        cost = sum(_cost(units, chosen, at, count) for at in new)
        if used + cost > max_tokens:
            missed += 1
            continue
        missed = 0
        used += cost
        for at in new:
            insort(chosen, at)
        kept.append(new)
        ranking.take(candidate)
    # The parts were counted one by one; what counts is the text.
    text = _rendered(units, chosen)
    while kept and count(text) > max_tokens:
        for at in kept.pop():
            chosen.remove(at)
        text = _rendered(units, chosen)
    return text


def _cost(
    units: Sequence[Unit], chosen: Sequence[int], at: int, count: Callable[[str], int]
) -> int:
    """About what a sentence adds to the text: a name too, where it opens a line."""
    speaker = units[at].speaker
    place = bisect(chosen, at)
    beside = chosen[max(0, place - 1) : place + 1]
    opens = not any(units[near].speaker == speaker for near in beside)
    said = units[at].said
    return count(f"\n{speaker}: {said}" if opens and speaker else f" {said}")


def _rendered(units: Sequence[Unit], chosen: Sequence[int]) -> str:
    lines: list[str] = []
    speaker = None
    kept = set(chosen)
    for at in chosen:
        unit = units[at]
        said = unit.text if at + 1 in kept else unit.said
        if unit.speaker == speaker:
            # Chinese and Japanese put no space after a full stop.
            lines[-1] += said if lines[-1][-1] >= _WIDE else f" {said}"
        else:
            lines.append(f"{unit.speaker}: {said}" if unit.speaker else said)
        speaker = unit.speaker
    return "\n".join(lines)
