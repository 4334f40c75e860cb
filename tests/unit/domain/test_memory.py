"""The value of a memory is the fold of its revisions; and the smaller rules beside it."""

import unicodedata
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from talekeeper import InvalidInput
from talekeeper.domain.limits import LIMITS
from talekeeper.domain.memory import (
    Action,
    Author,
    Folded,
    Memory,
    MemoryLine,
    Revision,
    State,
    WriteUnit,
    checked_memory,
    fold,
    folded_memory,
    line_of,
    recent_since,
    repeat_key,
    rests_on,
    spread,
    turns,
)

START = datetime(2026, 5, 12, 9, 0, tzinfo=UTC)
UNIT = WriteUnit("chat", 2, 0)


def _told(text: str, *, pinned: bool = False, character: str | None = "mira") -> State:
    return State(text=text, character=character, pinned=pinned)


def _journal(*changes: tuple[Author, Action, State | None] | tuple[Any, ...]) -> list[Revision]:
    """Revisions in order, one a minute; a fourth item says whether it counts."""
    return [
        Revision(
            memory=1,
            position=at,
            author=change[0],
            action=change[1],
            before=None,
            after=change[2],
            made_at=START + timedelta(minutes=at),
            unit=None if change[0] == "person" else UNIT,
            active=change[3] if len(change) > 3 else True,
        )
        for at, change in enumerate(changes, 1)
    ]


def _text(journal: list[Revision], **more: Any) -> str | None:
    state = fold(journal, **more).state
    return state.text if state else None


def test_without_revisions_it_is_not_there() -> None:
    assert fold([]) == Folded(state=None, said=None, last=None, updated_at=None)


def test_revisions_count_in_their_order() -> None:
    journal = _journal(
        ("character", "add", _told("Anna is 30.")),
        ("character", "update", _told("Anna is 31.")),
        ("deeper", "update", _told("Anna is 32.")),
    )
    folded = fold(journal)
    assert folded.state == _told("Anna is 32.")
    assert folded.last == journal[2]
    assert folded.updated_at == journal[2].made_at


def test_of_an_ai_only_what_is_active_counts() -> None:
    journal = _journal(
        ("character", "add", _told("Anna is 30.")),
        ("character", "update", _told("Anna is 31."), False),
    )
    assert _text(journal) == "Anna is 30."
    assert fold(journal).last == journal[0]
    assert _text([replace(one, active=True) for one in journal]) == "Anna is 31."


def test_what_was_added_by_an_inactive_swipe_is_not_there_and_its_updates_find_nothing() -> None:
    journal = _journal(
        ("character", "add", _told("Anna is 30."), False),
        ("character", "update", _told("Anna is 31.")),
        ("character", "delete", None),
    )
    assert fold(journal) == Folded(state=None, said=None, last=None, updated_at=None)


def test_a_person_resets_the_fold() -> None:
    journal = _journal(
        ("character", "add", _told("Anna is 30."), False),
        ("character", "update", _told("Anna is 31."), False),
        ("person", "update", _told("Anna is 32.")),
    )
    assert fold(journal).state == _told("Anna is 32.")
    assert fold(journal).last == journal[2]


@pytest.mark.parametrize("active", [True, False])
def test_pinning_resets_it_too_and_shuts_ai_out(active: bool) -> None:
    journal = _journal(
        ("character", "add", _told("Anna is 30."), active),
        ("person", "pin", _told("Anna is 30.", pinned=True)),
        ("character", "update", _told("Anna is 31.")),
        ("deeper", "delete", None),
    )
    assert fold(journal).state == _told("Anna is 30.", pinned=True)
    assert fold(journal).last == journal[1]


def test_unpinned_an_ai_may_change_it_again_but_not_what_it_tried_before() -> None:
    journal = _journal(
        ("person", "add", _told("Anna is 30.", pinned=True)),
        ("character", "update", _told("Anna is 31.")),
        ("person", "unpin", _told("Anna is 30.")),
    )
    assert _text(journal) == "Anna is 30."
    journal += [replace(one, position=4) for one in _journal(("character", "update", _told("32")))]
    assert _text(journal) == "32"


def test_an_ai_changes_the_text_and_nothing_else() -> None:
    journal = _journal(
        ("person", "add", _told("Anna is 30.")),
        ("person", "move", _told("Anna is 30.", character=None)),
        ("character", "update", _told("Anna is 31.", character="mira", pinned=True)),
    )
    assert fold(journal).state == _told("Anna is 31.", character=None)


def test_what_a_person_deleted_no_ai_brings_back() -> None:
    journal = _journal(
        ("person", "add", _told("Anna is 30.")),
        ("person", "delete", None),
        ("character", "update", _told("Anna is 31.")),
    )
    folded = fold(journal)
    assert (folded.state, folded.said) == (None, _told("Anna is 30."))
    assert folded.last == journal[1]


def test_an_ai_may_add_what_is_not_there_and_not_add_over_what_is() -> None:
    journal = _journal(
        ("character", "add", _told("Anna is 30.")),
        ("character", "add", _told("Anna is 31.")),
    )
    assert _text(journal) == "Anna is 30."


def test_a_restored_memory_says_what_it_said() -> None:
    journal = _journal(
        ("person", "add", _told("Anna is 30.")),
        ("character", "delete", None),
        ("person", "restore", _told("Anna is 30.")),
    )
    folded = fold(journal)
    assert folded.state == _told("Anna is 30.")
    assert folded.updated_at == journal[0].made_at


def test_pinning_and_moving_do_not_make_it_newer() -> None:
    journal = _journal(
        ("person", "add", _told("Anna is 30.")),
        ("person", "pin", _told("Anna is 30.", pinned=True)),
        ("person", "move", _told("Anna is 30.", pinned=True, character=None)),
    )
    assert fold(journal).updated_at == journal[0].made_at


def test_some_may_be_left_out_as_if_never_made() -> None:
    journal = _journal(
        ("person", "add", _told("Anna is 30.")),
        ("character", "update", _told("Anna is 31.")),
        ("character", "update", _told("Anna is 32.")),
    )
    assert _text(journal, without=lambda one: one.position == 3) == "Anna is 31."
    assert _text(journal, without=lambda one: one.position > 1) == "Anna is 30."
    assert _text(journal, without=lambda _: True) is None


_states = st.builds(
    State,
    text=st.sampled_from(["Anna is 30.", "安娜三十岁。", "Анне 30 лет."]),
    character=st.sampled_from([None, "mira"]),
    pinned=st.booleans(),
)


@st.composite
def _changes(draw: st.DrawFn) -> tuple[Any, ...]:
    author = draw(st.sampled_from(["person", "character", "deeper"]))
    if author == "person":
        action = draw(st.sampled_from(["add", "update", "delete", "pin", "move", "undo"]))
        after = None if action == "delete" else draw(_states)
        return author, action, after, True
    action = draw(st.sampled_from(["add", "update", "delete"]))
    after = None if action == "delete" else replace(draw(_states), pinned=False)
    return author, action, after, draw(st.booleans())


_journals = st.lists(_changes(), max_size=8).map(lambda changes: _journal(*changes))


@given(_journals)
def test_nothing_before_a_persons_last_change_matters(journal: list[Revision]) -> None:
    at = max((i for i, one in enumerate(journal) if one.author == "person"), default=0)
    assert fold(journal).state == fold(journal[at:]).state


@given(_journals)
def test_no_ai_changes_what_is_pinned(journal: list[Revision]) -> None:
    for at, revision in enumerate(journal):
        before = fold(journal[:at]).state
        if before is not None and before.pinned and revision.author != "person":
            assert fold(journal[: at + 1]) == fold(journal[:at])


@given(_journals)
def test_what_is_inactive_is_as_if_it_had_never_been(journal: list[Revision]) -> None:
    assert fold(journal) == fold([one for one in journal if one.active])


@given(_journals, st.sets(st.integers(1, 8)))
def test_there_and_back_again(journal: list[Revision], turned: set[int]) -> None:
    flipped = [
        replace(one, active=not one.active)
        if one.position in turned and one.author != "person"
        else one
        for one in journal
    ]
    back = [replace(one, active=old.active) for one, old in zip(flipped, journal, strict=True)]
    assert fold(back) == fold(journal)


@given(_journals)
def test_what_it_said_is_what_it_says_while_it_is_there(journal: list[Revision]) -> None:
    folded = fold(journal)
    if folded.state is not None:
        assert folded.said == folded.state
    assert (folded.updated_at is None) == (folded.said is None) == (folded.said is None)


def _memory(number: int, character: str | None, minutes: int = 0, **more: Any) -> Memory:
    at = START + timedelta(minutes=minutes)
    return Memory(
        id=number,
        text=f"{number}.",
        character=character,
        pinned=more.pop("pinned", False),
        author="person",
        created_at=at,
        updated_at=at,
        version=1,
        tokens=2,
        tokenizer="approximate",
        **more,
    )


def test_a_memory_takes_over_what_its_journal_says() -> None:
    journal = _journal(
        ("person", "add", _told("Anna is 30.")), ("character", "update", _told("Anna is 31."))
    )
    folded = fold(journal)
    memory = folded_memory(_memory(1, None), folded, folded.state)
    assert (memory.text, memory.character, memory.author) == ("Anna is 31.", "mira", "character")
    assert (memory.unit, memory.deleted_at) == (UNIT, None)
    assert memory.updated_at == journal[1].made_at


@pytest.mark.parametrize("pinned", [True, False])
def test_a_deleted_memory_says_when_and_is_not_pinned(pinned: bool) -> None:
    journal = _journal(
        ("person", "add", _told("Anna is 30.", pinned=pinned)), ("person", "delete", None)
    )
    folded = fold(journal)
    memory = folded_memory(_memory(1, None, pinned=pinned), folded, folded.said)
    assert (memory.text, memory.pinned) == ("Anna is 30.", False)
    assert memory.deleted_at == journal[1].made_at


def test_a_rolled_back_memory_is_in_no_trash() -> None:
    folded = fold(_journal(("character", "add", _told("Anna is 30."), False)))
    assert folded_memory(_memory(1, "mira"), folded, folded.said).deleted_at is None


# Texts.


def test_a_text_is_kept_in_one_form_and_without_space_around() -> None:
    assert checked_memory("  Jose\u0301 canta.\n") == "José canta."


def test_its_characters_are_counted_after_that() -> None:
    most = LIMITS.memory_characters
    assert checked_memory("e\u0301" * most) == "é" * most
    assert checked_memory("語" * most) == "語" * most
    assert checked_memory(" " + "🙂" * most + " ") == "🙂" * most
    with pytest.raises(InvalidInput, match=f"at most {most} characters; this one has {most + 1}"):
        checked_memory("ы" * (most + 1))


@pytest.mark.parametrize("text", ["", " ", "\n\t", "\u3000"])
def test_an_empty_text_is_refused(text: str) -> None:
    with pytest.raises(InvalidInput, match="must not be empty"):
        checked_memory(text)


@given(st.text(max_size=600))
def test_a_checked_text_stays_as_it_is(text: str) -> None:
    try:
        kept = checked_memory(text)
    except InvalidInput:
        return
    assert checked_memory(kept) == kept == unicodedata.normalize("NFC", text).strip()


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Anna is 30.", "anna  IS 30"),
        ("José canta.", "Jose\u0301 canta!"),
        ("Анна поёт", "АННА\nПОЁТ."),
        ("安娜唱歌。", "安娜唱歌"),
        ("Die Straße", "die STRASSE"),
    ],
)
def test_texts_that_are_the_same_word_for_word(one: str, other: str) -> None:
    assert repeat_key(one) == repeat_key(other)


@pytest.mark.parametrize(
    ("one", "other"), [("Anna is 30.", "Anna is 31."), ("Is Anna 30?", "Is Anna 30"), ("a b", "ab")]
)
def test_texts_that_are_not(one: str, other: str) -> None:
    assert repeat_key(one) != repeat_key(other)


def test_a_quote_occurs_word_for_word_whatever_its_case_and_spaces() -> None:
    said = "Well...  I was BORN\non May 3, in José's house. 安娜唱歌。"
    for quote in ("I was born on May 3", "jose\u0301's  house", "安娜唱歌", said):
        assert rests_on(said, quote)
    for quote in ("", "  ", "I was born in May", "born May 3", "安娜跳舞"):
        assert not rests_on(said, quote)


@given(st.text(min_size=1, max_size=30), st.text(max_size=10), st.text(max_size=10))
def test_what_stands_in_a_text_between_spaces_occurs_in_it(a: str, b: str, c: str) -> None:
    if a.strip():
        assert rests_on(f"{b} {a} {c}", a)


def test_a_week_makes_it_old() -> None:
    week = timedelta(days=LIMITS.memory_recent_days)
    assert recent_since(START + week) == START


# Which are sent.


def _lines(**scopes: int) -> list[MemoryLine]:
    """So many of each scope, each newer than the one before."""
    found: list[MemoryLine] = []
    for name, count in scopes.items():
        for _ in range(count):
            number = len(found) + 1
            scope = None if name == "everybody" else name
            found.append(line_of(_memory(number, scope, minutes=number)))
    return found


def _sent(lines: list[MemoryLine], scopes: list[str | None], most: int) -> list[int]:
    return [line.id for line in spread(lines, scopes, most)]


def test_scopes_take_turns_with_their_newest() -> None:
    lines = _lines(everybody=3, mira=3)
    assert _sent(lines, [None, "mira"], 4) == [3, 6, 2, 5]
    assert _sent(lines, ["mira", None], 3) == [6, 3, 5]


def test_a_scope_with_few_leaves_its_turns_to_the_others() -> None:
    lines = _lines(everybody=5, mira=1, boris=0)
    assert _sent(lines, [None, "mira", "boris"], 5) == [5, 6, 4, 3, 2]


def test_of_the_same_moment_the_last_added_is_the_newest() -> None:
    lines = [line_of(_memory(number, None)) for number in (1, 3, 2)]
    assert _sent(lines, [None], 2) == [3, 2]


@given(
    st.lists(st.tuples(st.sampled_from([None, "mira", "boris"]), st.integers(0, 9)), max_size=30),
    st.integers(0, 20),
)
def test_it_is_the_most_there_may_be_and_even(
    drawn: list[tuple[str | None, int]], most: int
) -> None:
    scopes: list[str | None] = [None, "mira", "boris"]
    lines = [line_of(_memory(at, scope, minutes)) for at, (scope, minutes) in enumerate(drawn, 1)]
    sent = spread(lines, scopes, most)
    assert len(sent) == len({line.id for line in sent}) == min(most, len(lines))
    counts = [sum(line.character == scope for line in lines) for scope in scopes]
    assert turns(counts, most) == [
        sum(line.character == scope for line in sent) for scope in scopes
    ]
    for scope in scopes:
        mine = [line for line in sent if line.character == scope]
        rest = [line for line in lines if line.character == scope and line not in mine]
        if mine and rest:
            oldest = min((line.updated_at, line.id) for line in mine)
            assert all((line.updated_at, line.id) < oldest for line in rest)
        # Who stays back with some has given as many as anybody, but for the last round.
        if rest:
            others = (sum(line.character == other for line in sent) for other in scopes)
            assert all(count <= len(mine) + 1 for count in others)
