"""Messages that came from a file: which line holds which, and whether it was changed since."""

from typing import NamedTuple

from sqlalchemy import Connection, delete, func, select, update

from talekeeper.domain.chat import Message
from talekeeper.store.keys import ChatKey
from talekeeper.store.messages import get_many, in_chat, select_messages
from talekeeper.store.tables import lines, messages

__all__ = [
    "LastUntil",
    "LinedMessage",
    "after",
    "gone",
    "last_until",
    "of_lines",
    "shortened",
    "touched",
    "unline",
    "without_line",
]


class LastUntil(NamedTuple):
    """The last message of the first lines of an imported file, and the line that holds it.

    ``is_last``: nothing follows it in the chat. All is 0 where no message of them is left.
    """

    number: int
    line: int
    untouched: bool
    is_last: bool


def last_until(connection: Connection, key: ChatKey, line: int) -> LastUntil:
    """The last message that the imported file's lines up to ``line`` hold by now."""
    row = connection.execute(
        select(messages.c.number, messages.c.line, messages.c.version == messages.c.line_version)
        .where(in_chat(messages, key), messages.c.line <= line)
        .order_by(messages.c.line.desc(), messages.c.number.desc())
        .limit(1)
    ).one_or_none()
    number, its_line, untouched = row or (0, 0, False)
    newest = connection.execute(select(func.max(messages.c.number)).where(in_chat(messages, key)))
    return LastUntil(number, its_line, bool(untouched), (newest.scalar() or 0) == number)


def gone(connection: Connection, key: ChatKey, line: int) -> int:
    """How many messages of the imported file's lines up to ``line`` are not there any more."""
    held = select(func.coalesce(func.sum(lines.c.messages), 0)).where(
        in_chat(lines, key), lines.c.line <= line
    )
    there = select(func.count()).where(in_chat(messages, key), messages.c.line <= line)
    return int(connection.execute(held).scalar_one()) - connection.execute(there).scalar_one()


def shortened(connection: Connection, key: ChatKey, line: int) -> int | None:
    """The first line of the imported file, up to ``line``, of which a message is gone."""
    held = (
        select(func.count())
        .where(in_chat(messages, key), messages.c.line == lines.c.line)
        .scalar_subquery()
    )
    return connection.execute(
        select(func.min(lines.c.line)).where(
            in_chat(lines, key), lines.c.line <= line, lines.c.messages > held
        )
    ).scalar()


def touched(connection: Connection, key: ChatKey, line: int) -> dict[int, list[Message]]:
    """The messages up to a line of the imported file that were changed since, by line."""
    changed = connection.execute(
        select(messages.c.number, messages.c.line)
        .where(
            in_chat(messages, key),
            messages.c.line <= line,
            messages.c.version != messages.c.line_version,
        )
        .order_by(messages.c.number)
    ).all()
    found = get_many(connection, key, (number for number, _ in changed))
    held: dict[int, list[Message]] = {}
    for message, (_, its_line) in zip(found, changed, strict=True):
        held.setdefault(its_line, []).append(message)
    return held


def unline(connection: Connection, key: ChatKey) -> list[list[tuple[int, bool]]]:
    """Let go of all lines of a chat; answers the messages each of them held.

    Each is told by its number, and whether it was untouched.
    """
    held: dict[int, list[tuple[int, bool]]] = {}
    for line, number, untouched in connection.execute(
        select(messages.c.line, messages.c.number, messages.c.version == messages.c.line_version)
        .where(in_chat(messages, key), messages.c.line.is_not(None))
        .order_by(messages.c.number)
    ):
        held.setdefault(line, []).append((number, bool(untouched)))
    connection.execute(update(messages).where(in_chat(messages, key)).values(line=None))
    connection.execute(delete(lines).where(in_chat(lines, key)))
    return list(held.values())


class LinedMessage(NamedTuple):
    """A message, the line of the imported file it came from, and whether it is as it was.

    A message of no file is untouched as long as it is as it was recorded.
    """

    message: Message
    line: int | None
    untouched: bool


def after(connection: Connection, key: ChatKey, number: int, *, limit: int) -> list[LinedMessage]:
    """Up to ``limit`` messages above ``number``, in order; of a chat that is not whole yet too."""
    marks = connection.execute(
        select(
            messages.c.number,
            messages.c.line,
            messages.c.version == func.coalesce(messages.c.line_version, 1),
        )
        .where(in_chat(messages, key), messages.c.number > number)
        .order_by(messages.c.number)
        .limit(limit)
    ).all()
    if not marks:
        return []
    found = select_messages(connection, key, messages.c.number.between(marks[0][0], marks[-1][0]))
    return [
        LinedMessage(message, line, bool(untouched))
        for message, (_, line, untouched) in zip(found, marks, strict=True)
    ]


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
