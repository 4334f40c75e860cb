"""Names and places of summaries, and which of them are sent."""

from collections.abc import Sequence
from datetime import UTC, datetime

import pytest

from talekeeper import InvalidInput
from talekeeper.domain.summary import (
    Place,
    SourceMessage,
    Summariser,
    Summary,
    frontier,
    level_of,
    merge_fingerprint,
    name_of,
    place_named,
    source_of,
)

SIZE = 2
"""Messages in each cell of these trees."""


def _node(
    tier: int,
    position: int,
    *,
    stale: bool = False,
    by: Summariser = "local",
    text: str = "Text.",
    last: int | None = None,
) -> Summary:
    size = SIZE * 4**tier
    return Summary(
        place=Place(tier, position),
        cell=position * size + 1,
        first=position * size + 1,
        last=(position + 1) * size if last is None else last,
        messages=size,
        shown=size,
        text=text,
        tokens=2,
        tokenizer="approximate",
        made_from=b"then",
        current=b"now" if stale else b"then",
        covered=False,
        summariser=by,
        model=None,
        made_at=datetime(2026, 5, 12, tzinfo=UTC),
    )


def _sent(nodes: Sequence[Summary], *, window: int = 1_000, before: int = 10_000) -> list[str]:
    return [node.name for node in frontier(nodes, window=window, before=before)]


@pytest.mark.parametrize(
    ("place", "name"),
    [
        (Place(0, 0), "recent-0"),
        (Place(0, 12), "recent-12"),
        (Place(1, 3), "merged-3"),
        (Place(2, 0), "long_term-0"),
        (Place(3, 1), "long_term_2-1"),
        (Place(12, 0), "long_term_11-0"),
    ],
)
def test_a_place_and_its_name(place: Place, name: str) -> None:
    assert name_of(place) == name
    assert place_named(f" {name} ") == place


@pytest.mark.parametrize(
    "name",
    [
        "",
        "recent",
        "recent-",
        "recent--1",
        "recent-01",
        "merged_2-0",
        "recent_1-0",
        "long_term_0-1",
        "long_term_1-0",
        "long_term_02-0",
        "Recent-1",
        "recent-1234567890",
        "recent-１",
        "recent-1 2",
    ],
)
def test_other_words_name_nothing(name: str) -> None:
    with pytest.raises(InvalidInput, match="names no summary"):
        place_named(name)


def test_places_stand_on_four_others() -> None:
    assert Place(1, 2).children == (Place(0, 8), Place(0, 9), Place(0, 10), Place(0, 11))
    assert Place(0, 5).children == ()
    for place in (Place(1, 2), Place(3, 7)):
        assert {child.parent for child in place.children} == {place}
    assert [level_of(tier) for tier in range(5)] == [
        "recent",
        "merged",
        "long_term",
        "long_term",
        "long_term",
    ]


def _said(number: int, text: str = "Yes.", **flags: bool) -> SourceMessage:
    whole = {"excluded": False, "forget": False, "imported": False} | flags
    return SourceMessage(
        number=number, cell=1, role="user", speaker="Anna", text=text, tokens=2, **whole
    )


def test_a_source_counts_what_may_be_told() -> None:
    source = source_of([_said(1), _said(2, forget=True), _said(3, excluded=True)])
    assert source is not None
    assert (source.first, source.last, source.messages, source.shown) == (1, 3, 2, 1)
    assert source_of([]) is None


def test_a_fingerprint_is_of_what_is_told() -> None:
    def mark(*messages: SourceMessage) -> bytes:
        source = source_of(messages)
        assert source is not None
        return source.fingerprint

    same = mark(_said(1), _said(2))
    assert mark(_said(1), _said(2, excluded=True)) == same
    assert mark(_said(1), _said(2), _said(3, forget=True)) == same
    others = [
        mark(_said(1), _said(2, "No.")),
        mark(_said(1), _said(3)),
        mark(_said(1)),
        mark(_said(1), _said(2, forget=True)),
        mark(_said(1), _said(2)._replace(speaker="Berta")),
        mark(_said(1), _said(2)._replace(role="assistant")),
        mark(_said(1)._replace(speaker="An", text="naYes."), _said(2)),
    ]
    assert same not in others


def test_a_merge_is_made_of_sources_or_of_what_a_person_wrote() -> None:
    two = [_node(0, 0), _node(0, 1)]
    same = merge_fingerprint(two)
    assert merge_fingerprint([_node(0, 0, text="Otherwise."), two[1]]) == same
    edited = [_node(0, 0, by="person"), two[1]]
    assert merge_fingerprint(edited) != same
    changed = [_node(0, 0, by="person", stale=True), two[1]]
    assert merge_fingerprint(changed) == merge_fingerprint(edited)
    assert merge_fingerprint([_node(0, 0, stale=True), two[1]]) != same
    assert merge_fingerprint(two[:1]) != same


RECENT = [_node(0, position) for position in range(8)]
MERGED = [_node(1, 0), _node(1, 1)]


def test_what_a_valid_node_tells_is_not_told_again() -> None:
    assert _sent([*RECENT, *MERGED]) == ["merged-0", "merged-1"]
    assert _sent([*RECENT, *MERGED, _node(2, 0)]) == ["long_term-0"]
    assert _sent([*RECENT[:3], *MERGED[1:]]) == ["recent-0", "recent-1", "recent-2", "merged-1"]
    assert _sent([]) == []


def test_the_children_of_a_stale_node_take_over() -> None:
    stale = [*RECENT[:2], _node(0, 2, stale=True), RECENT[3], _node(1, 0, stale=True), MERGED[1]]
    assert _sent(stale) == ["recent-0", "recent-1", "recent-3", "merged-1"]
    assert _sent([*stale, _node(2, 0, stale=True)]) == _sent(stale)


def test_an_edited_node_is_sent_whatever_is_below_it() -> None:
    below = [_node(0, position, stale=True) for position in range(4)]
    edited = _node(1, 0, by="person", stale=True)
    assert _sent([*below, edited]) == ["merged-0"]
    # What was made from it covers it as long as it is valid.
    assert _sent([*below, edited, _node(2, 0)]) == ["long_term-0"]
    assert _sent([*below, edited, _node(2, 0, stale=True)]) == ["merged-0"]


def test_an_edited_node_below_a_stale_one_is_sent() -> None:
    edited = _node(0, 1, by="person", stale=True)
    nodes = [RECENT[0], edited, _node(0, 2, stale=True), RECENT[3], _node(1, 0, stale=True)]
    assert _sent(nodes) == ["recent-0", "recent-1", "recent-3"]


def test_a_long_way_down_to_what_is_sent() -> None:
    nodes = [RECENT[0], _node(3, 0, stale=True), _node(3, 1)]
    assert _sent(nodes) == ["recent-0", "long_term_2-1"]


def test_a_roll_up_of_two_does_not_tell_of_what_follows() -> None:
    rolled_up = _node(3, 0, last=64)
    nodes = [_node(2, 0), _node(2, 1), rolled_up, _node(1, 8), _node(0, 36)]
    assert _sent(nodes) == ["long_term_2-0", "merged-8", "recent-36"]


def test_only_a_recent_node_overlaps_the_window() -> None:
    nodes = [*RECENT[:4], _node(1, 0)]
    assert _sent(nodes, window=9) == ["merged-0"]
    # The window starts in the middle of the last cell, then at its beginning.
    assert _sent(nodes, window=8) == ["recent-0", "recent-1", "recent-2", "recent-3"]
    assert _sent(nodes, window=7) == ["recent-0", "recent-1", "recent-2"]
    assert _sent(nodes, window=1) == []


def test_nothing_at_or_after_what_is_replaced() -> None:
    nodes = [*RECENT[:4], _node(1, 0)]
    assert _sent(nodes, before=9) == ["merged-0"]
    assert _sent(nodes, before=8) == ["recent-0", "recent-1", "recent-2"]
    assert _sent(nodes, before=7) == ["recent-0", "recent-1", "recent-2"]
    assert _sent(nodes, before=6) == ["recent-0", "recent-1"]
    assert _sent(nodes, before=1) == []
    edited = _node(0, 3, by="person")
    assert _sent([edited], before=8) == [], "it may tell of what is written anew"
