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

    ``turn`` and ``cell`` are the numbers of their first messages; ``by_user`` tells that a user's
    message began the turn. The counts are of messages that
    exist and are not excluded; ``cell_tokens`` are those of their active swipes.
    """

    turn: int
    turn_messages: int
    by_user: bool
    cell: int
    cell_messages: int
    cell_tokens: int


def grow(
    tail: Tail | None, *, turn: int, cell: int, role: Role, tokens: int, excluded: bool = False
) -> Tail:
    """The tail after one more message, of ``tokens``, placed in ``turn`` and ``cell``.

    An excluded message may begin a turn or a cell; it does not count in either.
    """
    same_turn = tail if tail and turn == tail.turn else None
    same_cell = tail if tail and cell == tail.cell else None
    one, size = (0, 0) if excluded else (1, tokens)
    return Tail(
        turn=turn,
        turn_messages=(same_turn.turn_messages if same_turn else 0) + one,
        by_user=same_turn.by_user if same_turn else role == "user",
        cell=cell,
        cell_messages=(same_cell.cell_messages if same_cell else 0) + one,
        cell_tokens=(same_cell.cell_tokens if same_cell else 0) + size,
    )


def place(
    tail: Tail | None, *, number: int, role: Role, live_cap: int, limits: Limits
) -> tuple[int, int]:
    """The (turn, cell) of a new message ``number``; ``live_cap`` is in tokens.

    A user message begins a turn. Where no user began it, so does a message after
    ``limits.turn_messages`` others, tool results excepted: a chat without a user still has cells.
    """
    if tail is None:
        return number, number
    long = tail.turn_messages >= limits.turn_messages
    full_turn = long and not tail.by_user and role != "tool"
    if role != "user" and not full_turn:
        return tail.turn, tail.cell
    closed = (
        tail.cell_messages >= limits.cell_messages
        or tail.cell_tokens >= limits.cell_share * live_cap
    )
    return number, number if closed else tail.cell
