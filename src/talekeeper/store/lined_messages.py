"""Messages that came from a file: which line holds which, and whether it was changed since."""

from typing import NamedTuple

from sqlalchemy import Connection, delete, func, select, update

from talekeeper.domain.chat import Message
from talekeeper.store.keys import ChatKey
from talekeeper.store.messages import in_chat, select_messages
from talekeeper.store.tables import lines, messages

__all__ = [
    "LastOfLine",
    "LinedMessage",
    "last_of_line",
    "of_lines",
    "pristine_until",
    "unline",
    "without_line",
]


class LastOfLine(NamedTuple):
    """The last message of an imported line; ``is_last``: of the whole chat too."""

    number: int
    untouched: bool
    is_last: bool


def last_of_line(connection: Connection, key: ChatKey, line: int) -> LastOfLine | None:
    """The last message that a line of the imported file holds, None when it is gone."""
    row = connection.execute(
        select(messages.c.number, messages.c.version == messages.c.line_version)
        .where(in_chat(messages, key), messages.c.line == line)
        .order_by(messages.c.number.desc())
        .limit(1)
    ).one_or_none()
    if row is None:
        return None
    newest = connection.execute(select(func.max(messages.c.number)).where(in_chat(messages, key)))
    return LastOfLine(row[0], bool(row[1]), row[0] == newest.scalar())


def pristine_until(connection: Connection, key: ChatKey, line: int) -> bool:
    """Whether every message up to a line of the imported file is there as it was imported."""
    there = connection.execute(
        select(func.count()).where(
            in_chat(messages, key),
            messages.c.line <= line,
            messages.c.version == messages.c.line_version,
        )
    ).scalar_one()
    held = connection.execute(
        select(func.coalesce(func.sum(lines.c.messages), 0)).where(
            in_chat(lines, key), lines.c.line <= line
        )
    ).scalar_one()
    return there == int(held)


def unline(connection: Connection, key: ChatKey) -> list[list[int]]:
    """Let go of all lines of a chat; answers the numbers of the messages each of them held."""
    held: dict[int, list[int]] = {}
    for row in connection.execute(
        select(messages.c.line, messages.c.number)
        .where(in_chat(messages, key), messages.c.line.is_not(None))
        .order_by(messages.c.number)
    ):
        held.setdefault(row.line, []).append(row.number)
    connection.execute(update(messages).where(in_chat(messages, key)).values(line=None))
    connection.execute(delete(lines).where(in_chat(lines, key)))
    return list(held.values())


class LinedMessage(NamedTuple):
    """A message, the line of the imported file it came from, and whether it is as it was."""

    message: Message
    line: int | None
    untouched: bool


def of_lines(
    connection: Connection, key: ChatKey, first: int, last: int
) -> dict[int, list[LinedMessage]]:
    """The messages that lines ``first`` to ``last`` of the imported file hold, by line."""
    marks = connection.execute(
        select(messages.c.number, messages.c.line, messages.c.version == messages.c.line_version)
        .where(in_chat(messages, key), messages.c.line.between(first, last))
        .order_by(messages.c.number)
    ).all()
    if not marks:
        return {}
    numbers = messages.c.number.between(marks[0][0], marks[-1][0])
    found = {message.number: message for message in select_messages(connection, key, numbers)}
    held: dict[int, list[LinedMessage]] = {}
    for number, line, untouched in marks:
        held.setdefault(line, []).append(LinedMessage(found[number], line, bool(untouched)))
    return held


def without_line(connection: Connection, key: ChatKey, *, after: int, limit: int) -> list[Message]:
    """Up to ``limit`` messages above ``after`` that came from no imported file, in order."""
    numbers = [
        row.number
        for row in connection.execute(
            select(messages.c.number)
            .where(in_chat(messages, key), messages.c.line.is_(None), messages.c.number > after)
            .order_by(messages.c.number)
            .limit(limit)
        )
    ]
    if not numbers:
        return []
    return select_messages(connection, key, messages.c.number.in_(numbers))
