"""Tool groups: a character's message with tool calls, and the results of these calls.

A group never splits: what is done to one of its messages is done to all. It lies within a turn.
"""

from collections.abc import Iterable, Sequence

from sqlalchemy import Connection

from talekeeper.domain.chat import Message
from talekeeper.store import messages as rows
from talekeeper.store.keys import ChatKey

__all__ = ["groups", "reaching_over"]


def groups(connection: Connection, key: ChatKey, numbers: Iterable[int]) -> list[Message]:
    """The messages of those numbers, each with the tool messages it belongs together with."""
    found: dict[int, Message] = {}
    for message in rows.get_many(connection, key, numbers):
        found[message.number] = message
        if message.tool_call_id is None and not any(s.tool_calls for s in message.swipes):
            continue
        turn = rows.turn_of(connection, key, message.turn)
        found.update((other.number, other) for other in _tool_group(turn, message))
    return [found[number] for number in sorted(found)]


def _tool_group(turn: Sequence[Message], message: Message) -> Iterable[Message]:
    """The call and the results of ``message``'s tool group, found within its turn."""
    wanted = _call_ids(message)
    if message.tool_call_id is not None:
        callers = (ids for ids in map(_call_ids, turn) if message.tool_call_id in ids)
        wanted = next(callers, {message.tool_call_id})
    return [other for other in turn if other.tool_call_id in wanted or _call_ids(other) & wanted]


def _call_ids(message: Message) -> set[str]:
    return {call.id for swipe in message.swipes for call in swipe.tool_calls}


def reaching_over(connection: Connection, key: ChatKey, number: int) -> list[Message]:
    """The messages up to ``number`` whose group has messages above it too."""
    last = rows.listed(connection, key, limit=1, before=number + 1)
    turn = rows.turn_of(connection, key, last[0].turn) if last else []
    above = [message for message in turn if message.number > number]
    split = {
        other.number: other
        for message in above
        if message.tool_call_id is not None or _call_ids(message)
        for other in _tool_group(turn, message)
        if other.number <= number
    }
    return [split[one] for one in sorted(split)]
