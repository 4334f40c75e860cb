"""Turns and cells: where one begins, decided when a message is recorded.

A turn is a user message and the replies to it. A cell is a run of whole turns; it closes when a
turn begins while it holds enough messages or tokens, and its boundary never moves afterwards.
"""

from dataclasses import dataclass

from talekeeper.domain.chat import Role
from talekeeper.domain.limits import Limits

__all__ = ["Tail", "grow", "place"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Tail:
    """The open end of a chat: its last turn and its last cell.

    ``turn`` and ``cell`` are the numbers of their first messages. The counts are of messages that
    exist and are not excluded; ``cell_tokens`` are those of their active swipes.
    """

    turn: int
    turn_messages: int
    cell: int
    cell_messages: int
    cell_tokens: int


def grow(tail: Tail | None, *, turn: int, cell: int, tokens: int, excluded: bool = False) -> Tail:
    """The tail after one more message, of ``tokens``, placed in ``turn`` and ``cell``.

    An excluded message may begin a turn or a cell; it does not count in either.
    """
    in_turn = tail.turn_messages if tail and turn == tail.turn else 0
    in_cell = (tail.cell_messages, tail.cell_tokens) if tail and cell == tail.cell else (0, 0)
    one, size = (0, 0) if excluded else (1, tokens)
    return Tail(
        turn=turn,
        turn_messages=in_turn + one,
        cell=cell,
        cell_messages=in_cell[0] + one,
        cell_tokens=in_cell[1] + size,
    )


def place(
    tail: Tail | None, *, number: int, role: Role, live_cap: int, limits: Limits
) -> tuple[int, int]:
    """The (turn, cell) of a new message ``number``; ``live_cap`` is in tokens.

    A user message begins a turn. So does a message after ``limits.turn_messages`` others in one
    turn, tool results excepted, so that a chat without a user still has cells.
    """
    if tail is None:
        return number, number
    full_turn = tail.turn_messages >= limits.turn_messages and role != "tool"
    if role != "user" and not full_turn:
        return tail.turn, tail.cell
    closed = (
        tail.cell_messages >= limits.cell_messages
        or tail.cell_tokens >= limits.cell_share * live_cap
    )
    return number, number if closed else tail.cell
