"""The live window: whole cells first, whole turns where it must, never less than this turn."""

from hypothesis import given
from hypothesis import strategies as st

from talekeeper.domain.chat import LiveMessage
from talekeeper.domain.window import window_start


def lines(*places: tuple[int, int]) -> list[LiveMessage]:
    """Lines numbered from 1 with the given (turn, cell)."""
    return [
        LiveMessage(number, "user", "Anna", None, 0, turn, cell, None, "text", 1, "o200k_base")
        for number, (turn, cell) in enumerate(places, 1)
    ]


TALK = lines((1, 1), (1, 1), (3, 1), (3, 1), (5, 5), (5, 5), (7, 5), (7, 5), (9, 9), (9, 9))


def start(sizes: list[int], *, messages: int = 50, tokens: int = 10_000) -> int:
    return window_start(TALK, sizes, complete=True, messages=messages, tokens=tokens)


def test_all_of_a_short_chat_is_live() -> None:
    assert start([1] * 10) == 0


def test_it_starts_at_the_earliest_cell_from_which_the_caps_hold() -> None:
    assert start([1] * 10, messages=9) == 4
    assert start([1] * 10, messages=6) == 4
    assert start([1] * 10, messages=5) == 8
    assert start([10] * 10, tokens=60) == 4
    assert start([10] * 10, tokens=59) == 8


def test_where_the_newest_cell_is_over_the_caps_it_starts_at_a_turn() -> None:
    one_cell = lines((1, 1), (1, 1), (3, 1), (3, 1), (5, 1), (5, 1))
    assert window_start(one_cell, [1] * 6, complete=True, messages=4, tokens=99) == 2
    assert window_start(one_cell, [1] * 6, complete=True, messages=3, tokens=99) == 4


def test_the_current_turn_is_never_cut() -> None:
    one_cell = lines((1, 1), (1, 1), (3, 1), (3, 1), (3, 1))
    assert window_start(one_cell, [500] * 5, complete=True, messages=1, tokens=10) == 2
    assert window_start([], [], complete=True, messages=1, tokens=1) == 0


def test_a_cell_whose_beginning_was_not_read_does_not_count_as_a_boundary() -> None:
    tail = TALK[1:]
    assert window_start(tail, [1] * 9, complete=False, messages=50, tokens=99) == 3
    assert window_start(TALK[2:], [1] * 8, complete=False, messages=50, tokens=99) == 2


@given(
    st.lists(st.integers(0, 900), min_size=1, max_size=60),
    st.integers(1, 50),
    st.integers(1, 10_000),
    st.integers(1, 9),
    st.integers(1, 4),
)
def test_the_caps_hold_wherever_a_turn_allows_it(
    sizes: list[int], messages: int, tokens: int, turns_a_cell: int, turn: int
) -> None:
    found = lines(
        *((n - n % turn + 1, n - n % (turn * turns_a_cell) + 1) for n in range(len(sizes)))
    )
    first = window_start(found, sizes, complete=True, messages=messages, tokens=tokens)
    kept = sizes[first:]
    assert found[first].number == found[first].turn
    if found[first].turn != found[-1].turn:
        assert len(kept) <= messages
        assert sum(kept) <= tokens
    for earlier in range(first):
        begins = found[earlier].number == found[earlier].cell
        held = len(sizes) - earlier <= messages and sum(sizes[earlier:]) <= tokens
        assert not (begins and held)
