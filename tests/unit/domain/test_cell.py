"""Turns and cells: where one begins."""

from hypothesis import given
from hypothesis import strategies as st

from talekeeper.domain.cell import Tail, grow, place
from talekeeper.domain.chat import Role
from talekeeper.domain.limits import LIMITS, Limits

ROLES: list[Role] = ["user", "assistant", "system", "tool"]


def placed(
    messages: list[tuple[Role, int]], *, live_cap: int = 10_000, limits: Limits = LIMITS
) -> list[tuple[int, int]]:
    """(turn, cell) of each of the messages (role, tokens), recorded one after the other."""
    found: list[tuple[int, int]] = []
    tail: Tail | None = None
    for number, (role, tokens) in enumerate(messages, 1):
        turn, cell = place(tail, number=number, role=role, live_cap=live_cap, limits=limits)
        tail = grow(tail, turn=turn, cell=cell, role=role, tokens=tokens)
        found.append((turn, cell))
    return found


def test_a_turn_is_a_user_message_and_what_follows() -> None:
    talk: list[tuple[Role, int]] = [
        ("assistant", 5),
        ("user", 5),
        ("assistant", 5),
        ("tool", 5),
        ("assistant", 5),
        ("user", 5),
        ("user", 5),
    ]
    assert [turn for turn, _ in placed(talk)] == [1, 2, 2, 2, 2, 6, 7]


def test_a_cell_closes_at_sixteen_messages() -> None:
    talk: list[tuple[Role, int]] = [("user", 5), ("assistant", 5)] * 20
    assert sorted({cell for _, cell in placed(talk)}) == [1, 17, 33]


def test_a_cell_closes_at_thirty_percent_of_the_live_tokens() -> None:
    talk: list[tuple[Role, int]] = [("user", 500), ("assistant", 500)] * 6
    assert sorted({cell for _, cell in placed(talk)}) == [1, 7]
    assert sorted({cell for _, cell in placed(talk, live_cap=20_000)}) == [1]


def test_a_chat_without_a_user_still_has_cells() -> None:
    talk: list[tuple[Role, int]] = [("assistant", 5)] * 120
    assert sorted({turn for turn, _ in placed(talk)}) == [1, 51, 101]
    assert sorted({cell for _, cell in placed(talk)}) == [1, 51, 101]


def test_a_tool_result_never_begins_a_turn() -> None:
    spoken: list[tuple[Role, int]] = [("assistant", 5)] * 50
    talk: list[tuple[Role, int]] = [*spoken, ("tool", 5)]
    next_one: tuple[Role, int] = ("assistant", 5)
    assert placed([*talk, next_one])[-2:] == [(1, 1), (52, 52)]


def test_a_turn_that_a_user_began_goes_on_however_long() -> None:
    spoken: list[tuple[Role, int]] = [("assistant", 5), ("tool", 5)] * 60
    assert {turn for turn, _ in placed([("user", 5), *spoken])} == {1}


@given(st.lists(st.tuples(st.sampled_from(ROLES), st.integers(0, 4000)), max_size=200))
def test_cells_are_runs_of_whole_turns(talk: list[tuple[Role, int]]) -> None:
    found = placed(talk)
    cell_of_turn: dict[int, int] = {}
    for number, (turn, cell) in enumerate(found, 1):
        assert cell <= turn <= number
        assert cell_of_turn.setdefault(turn, cell) == cell
    assert [turn for turn, _ in found] == sorted(turn for turn, _ in found)
    assert [cell for _, cell in found] == sorted(cell for _, cell in found)
