"""How good the local summary is, against summaries by people; and how fast it is.

The data is CRD3: games of role-play as they were spoken, with a summary by people of which each few
sentences are aligned to the turns they tell of. An episode is cut into stretches at the ends of
such alignments, each of 64 to 256 turns (what four to sixteen cells hold, as a merged node of the
summary does) and at least 30 words of human summary; what a shorter run has in words is too little
to compare with. Stretches are cut there and not at the ends of cells, because a piece of the human
summary would then tell of turns on both sides.

Each stretch is summarised in as many tokens as its human summary has, and in 15 % of its own
tokens. The figure is ROUGE recall, averaged within each episode and then over the episodes. The
weights of the summary were chosen on episodes with even positions in the file, and so was LexRank's
threshold; measured is on episodes with odd positions.
"""

import gzip
import json
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass
from importlib.resources import files
from pathlib import Path
from statistics import fmean
from typing import Any

from benchmarks.data import REAL_DATA, Missing
from benchmarks.extracts import extract, lead, lexrank, said_in, shuffled
from benchmarks.measure import clocked
from benchmarks.report import Figure, Report, Skipped
from benchmarks.rouge import recall
from benchmarks.scale import Scale
from talekeeper.models.static import StaticEmbedder
from talekeeper.text.condense import Embed, Passage, condense
from talekeeper.text.tokens import tokenizer_named

__all__ = ["Stretch", "held_out", "measure", "stretches"]

_LEAST_TURNS, _MOST_TURNS, _LEAST_WORDS = 64, 256, 30
_THRESHOLD = 0.05
"""Of LexRank; of 0.05, 0.1 and 0.2 the best."""

_SEED = 11
_SHUFFLES = 3
_RATIO = 0.15
_ROUNDS = 3
_SPEED, _GOAL = 200, 1.1
_METRICS = ("ROUGE-1", "ROUGE-2", "ROUGE-L")

_count = tokenizer_named("o200k_base").count
_embedder = StaticEmbedder()


@dataclass(frozen=True, kw_only=True, slots=True)
class Stretch:
    """A run of turns of one episode, and what people wrote of it."""

    episode: str
    passages: Sequence[Passage]
    reference: str


async def measure(report: Report, scale: Scale, folder: Path) -> None:
    """Add the figures of the local summary."""
    report.add(*_speed())
    try:
        sample = held_out(scale.episodes, scale.stretches)
    except Missing as error:
        report.add(Skipped(section="summary", name="likeness to human ones", reason=str(error)))
        return
    human = [_count(stretch.reference) for stretch in sample]
    share = [int(_RATIO * sum(_count(p.text) for p in s.passages)) for s in sample]
    report.add(*_quality(sample, human, "as long as the human summary"))
    report.add(*_quality(sample, share, f"in {_RATIO:.0%} of the tokens"))


def held_out(episodes: int, each: int) -> list[Stretch]:
    """At most ``each`` stretches of so many episodes that no weight was chosen on.

    Raises Missing where the data is not there.
    """
    chooser = random.Random(_SEED)
    entries = list(_entries())[1::2]
    found: list[Stretch] = []
    for entry in sorted(chooser.sample(entries, min(episodes, len(entries))), key=_name):
        there = list(stretches(entry))
        found += chooser.sample(there, min(each, len(there)))
    return found


def _name(entry: Mapping[str, Any]) -> str:
    return str(entry["episode"])


def _entries() -> Iterator[Mapping[str, Any]]:
    path = REAL_DATA / "crd3" / "crd3.jsonl.gz"
    if not path.is_file():
        raise Missing(f"{path.name} is not there: put it into crd3 of the data.")
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def stretches(entry: Mapping[str, Any]) -> Iterator[Stretch]:
    """The stretches of one episode, in its order; what is too long for one is left out."""
    first: int | None = None
    told: list[str] = []
    for text, begin, end, _ in entry["chunks"]:
        first = begin if first is None else first
        told.append(text.strip())
        reference = " ".join(told)
        turns = end - first + 1
        if turns < _LEAST_TURNS or len(reference.split()) < _LEAST_WORDS:
            continue
        if turns <= _MOST_TURNS:
            said = [
                Passage(speaker=speaker.title(), text=words)
                for _, speaker, words in entry["turns"][first : end + 1]
            ]
            yield Stretch(episode=entry["episode"], passages=said, reference=reference)
        first, told = None, []


Summariser = Callable[[int], str]
"""The summary of one stretch in so many tokens."""


def _quality(sample: Sequence[Stretch], rooms: Sequence[int], length: str) -> list[Figure]:
    scores: dict[str, list[tuple[float, ...]]] = {}
    for stretch, room in zip(sample, rooms, strict=True):
        for name, summarise in _ways(stretch).items():
            found = astuple(recall(summarise(room), stretch.reference))
            scores.setdefault(name, []).append(found)
    means = {name: _over_episodes(sample, found) for name, found in scores.items()}
    ours = {name: means.pop(name) for name in ("ours", "ours without the embedder")}
    random_ = [means.pop(f"random {seed}") for seed in range(_SHUFFLES)]
    means["random"] = [fmean(column) for column in zip(*random_, strict=True)]
    episodes = len({stretch.episode for stretch in sample})
    figures = []
    for at, metric in enumerate(_METRICS):
        best = max(means, key=lambda name: means[name][at])
        others = ", ".join(f"{name} {found[at]:.1f}" for name, found in means.items())
        figures.append(
            Figure(
                section="summary",
                name=f"{metric} recall, {length}",
                value=ours["ours"][at],
                unit="%",
                must=means[best][at],
                goal=_GOAL * means[best][at],
                more_is_better=True,
                baseline=(best, means[best][at]),
                note=(
                    f"{len(sample)} stretches of {episodes} held-out episodes; {others}; "
                    f"without the embedder {ours['ours without the embedder'][at]:.1f}"
                ),
            )
        )
    return figures


def _ways(stretch: Stretch) -> Mapping[str, Summariser]:
    said = said_in(stretch.passages)

    def ours(room: int, embed: Embed | None = None) -> str:
        return condense(stretch.passages, max_tokens=room, count=_count, embed=embed)

    def by(order: Sequence[int]) -> Summariser:
        return lambda room: extract(said, order, room, _count)

    return {
        "ours": lambda room: ours(room, _embedder.embed),
        "ours without the embedder": ours,
        "lead": by(lead(said)),
        "LexRank": by(lexrank(said, _THRESHOLD)),
        **{f"random {seed}": by(shuffled(said, seed)) for seed in range(_SHUFFLES)},
    }


def _over_episodes(sample: Sequence[Stretch], found: Sequence[tuple[float, ...]]) -> list[float]:
    """The mean of the episodes' means, in percent, for each metric."""
    episodes: dict[str, list[tuple[float, ...]]] = {}
    for stretch, scores in zip(sample, found, strict=True):
        episodes.setdefault(stretch.episode, []).append(scores)
    means = [[fmean(column) for column in zip(*rows, strict=True)] for rows in episodes.values()]
    return [100 * fmean(column) for column in zip(*means, strict=True)]


def _speed() -> list[Figure]:
    """Messages a second on the sample chat, as cells of 16 and as runs of 256 messages."""
    text = (files("talekeeper.samples") / "mira-and-anna.jsonl").read_text(encoding="utf-8")
    lines = [json.loads(line) for line in text.splitlines()[1:]]
    chat = [Passage(speaker=line["name"], text=line["mes"]) for line in lines]
    chat = (chat * 2)[:256]
    _embedder.embed(["loaded before the clock starts"])
    tokens = sum(_count(passage.text) for passage in chat) // len(chat)
    figures = []
    for size in (16, 256):
        for name, embed in (("with", _embedder.embed), ("without", None)):
            taken = []
            for _ in range(_ROUNDS):
                with clocked() as clock:
                    for at in range(0, len(chat), size):
                        cell = chat[at : at + size]
                        condense(cell, max_tokens=12 * size, count=_count, embed=embed)
                taken.append(clock.wall)
            figures.append(
                Figure(
                    section="summary",
                    name=f"messages summarised, {size} at a time, {name} the embedder",
                    value=len(chat) / min(taken),
                    unit="messages/s",
                    must=_SPEED,
                    more_is_better=True,
                    note=f"{tokens} tokens a message, the best of {_ROUNDS}",
                )
            )
    return figures
