"""The measure of summaries on examples worked out by hand, and the baselines."""

from pathlib import Path
from statistics import fmean

import pytest
from benchmarks.extracts import extract, lead, lexrank, said_in, shuffled
from benchmarks.rouge import Recall, recall, words
from benchmarks.summary import held_out, stretches

from talekeeper.text.condense import Passage, condense
from talekeeper.text.tokens import tokenizer_named

count = tokenizer_named("o200k_base").count

CHAT = [
    Passage(speaker="Bob", text="The ship left the harbour. Nobody waved."),
    Passage(speaker="Mira", text="The ship in the harbour was old. I saw an owl."),
    Passage(speaker="Bob", text="That old ship left without a captain."),
]


@pytest.mark.parametrize(
    ("summary", "reference", "expected"),
    [
        ("the cat sat", "the cat sat", Recall(1, 1, 1)),
        # the, cat, the, mat of six; "the cat" and "the mat" of five; the cat ... the mat.
        ("the cat under the mat", "the cat sat on the mat", Recall(4 / 6, 2 / 5, 4 / 6)),
        # The order counts for pairs and the subsequence, not for words.
        ("mat cat", "cat mat", Recall(1, 0, 1 / 2)),
        # A word counts as often as both have it.
        ("cat cat cat", "cat dog cat", Recall(2 / 3, 0, 2 / 3)),
        ("They promised.", "the promises", Recall(1 / 2, 0, 1 / 2)),
        ("", "the cat", Recall(0, 0, 0)),
        ("the cat", "", Recall(0, 0, 0)),
        ("cat", "cat", Recall(1, 0, 1)),
    ],
)
def test_recall(summary: str, reference: str, expected: Recall) -> None:
    found = recall(summary, reference)
    assert (found.one, found.two, found.longest) == pytest.approx(
        (expected.one, expected.two, expected.longest)
    )


def test_words_are_stems() -> None:
    assert words("Promises, PROMISED 2 owls!") == ["promis", "promis", "2", "owl"]


def test_the_longest_subsequence_of_long_texts() -> None:
    found = recall(" ".join(map(str, range(0, 600, 2))), " ".join(map(str, range(600))))
    assert found.longest == pytest.approx(1 / 2)


def test_extracts_fill_the_room_in_order() -> None:
    said = said_in(CHAT)
    assert extract(said, lead(said), 8, count) == "Bob: The ship left the harbour."
    assert extract(said, lead(said), 200, count) == (
        "Bob: The ship left the harbour. Nobody waved.\n"
        "Mira: The ship in the harbour was old. I saw an owl.\n"
        "Bob: That old ship left without a captain."
    )
    assert extract(said, [4, 0], 200, count).startswith("Bob: The ship left")


def test_lexrank_begins_with_what_connects_the_others() -> None:
    said = said_in([Passage(speaker="", text="Lamp harbour. Ship harbour. Ship storm. Owl.")])
    order = lexrank(said, 0.1)
    assert order[0] == 1
    assert sorted(order) == list(range(4))
    assert lexrank([], 0.1) == []


def test_a_seed_gives_one_order() -> None:
    said = said_in(CHAT)
    assert shuffled(said, 1) == shuffled(said, 1)
    assert sorted(shuffled(said, 2)) == list(range(5))


def test_stretches_are_cut_where_a_human_summary_ends() -> None:
    turns = [[number, "BOB", f"turn {number}"] for number in range(600)]
    told = "word " * 40
    chunks = [(told, 0, 40), (told, 41, 79), (told, 80, 400), ("few", 401, 480), (told, 481, 500)]
    entry = {"episode": "X", "turns": turns, "chunks": [[*chunk, 1.0] for chunk in chunks]}
    first, second = stretches(entry)
    assert [len(first.passages), len(second.passages)] == [80, 100]
    assert first.passages[0] == Passage(speaker="Bob", text="turn 0")
    assert second.reference.startswith("few word")


def test_the_summary_is_better_than_chance_on_real_games(shared: Path) -> None:
    assert shared.is_dir()
    ours, chance = [], []
    for stretch in held_out(4, 2):
        room = count(stretch.reference)
        text = condense(stretch.passages, max_tokens=room, count=count)
        assert count(text) <= room
        ours.append(recall(text, stretch.reference).one)
        said = said_in(stretch.passages)
        plain = extract(said, shuffled(said, 0), room, count)
        chance.append(recall(plain, stretch.reference).one)
    assert fmean(ours) > 1.15 * fmean(chance)
