"""Messages and their swipes."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any, NamedTuple

from sqlalchemy import (
    ColumnElement,
    Connection,
    Row,
    Table,
    and_,
    delete,
    false,
    func,
    insert,
    select,
    true,
    update,
)

from talekeeper.domain.cell import Tail
from talekeeper.domain.chat import LiveMessage, Message, Part, Role, Swipe, ToolCall
from talekeeper.domain.errors import NotFound
from talekeeper.store.copying import copied
from talekeeper.store.keys import ChatKey
from talekeeper.store.tables import lines, messages, swipes

__all__ = [
    "ExcludedRow",
    "LastOfLine",
    "LinedMessage",
    "change",
    "copy_until",
    "counts",
    "excluded",
    "first",
    "get",
    "insert_many",
    "insert_message",
    "insert_swipe",
    "last_of_line",
    "listed",
    "live",
    "move",
    "number_of",
    "of_lines",
    "pristine_until",
    "remove",
    "remove_after",
    "replace_swipe",
    "tail",
    "turn_of",
    "voice_of",
    "without_line",
]


def _in(table: Table, key: ChatKey) -> ColumnElement[bool]:
    return and_(table.c.account_id == key.account, table.c.chat_id == key.chat)


_ACTIVE = and_(
    swipes.c.account_id == messages.c.account_id,
    swipes.c.chat_id == messages.c.chat_id,
    swipes.c.number == messages.c.number,
    swipes.c.swipe == messages.c.active,
)


class ExcludedRow(NamedTuple):
    """A message that the user keeps out of prompts; the tokens are those of its active swipe."""

    number: int
    active: int
    tokens: int


_LIVE = (
    messages.c.number,
    messages.c.role,
    messages.c.speaker,
    messages.c.character_id,
    messages.c.active,
    messages.c.turn,
    messages.c.cell,
    messages.c.tool_call_id,
    swipes.c.text,
    swipes.c.tokens,
    swipes.c.tokenizer,
    swipes.c.tool_calls,
    swipes.c.parts,
)


def live(
    connection: Connection, key: ChatKey, *, limit: int, before: int | None = None
) -> list[LiveMessage]:
    """The newest ``limit`` messages that are not excluded, oldest first; only below ``before``."""
    statement = (
        select(*_LIVE)
        .join_from(messages, swipes, _ACTIVE)
        .where(_in(messages, key), messages.c.excluded == false())
        .order_by(messages.c.number.desc())
        .limit(limit)
    )
    if before is not None:
        statement = statement.where(messages.c.number < before)
    rows = connection.execute(statement).all()
    return [
        LiveMessage._make((*row[:11], calls_from_json(row[11]), parts_from_json(row[12])))
        for row in reversed(rows)
    ]


def first(connection: Connection, key: ChatKey, *, excluded: bool) -> int | None:
    """The number of the oldest message that is, or is not, excluded."""
    return connection.execute(
        select(func.min(messages.c.number)).where(
            _in(messages, key), messages.c.excluded == excluded
        )
    ).scalar()


def excluded(
    connection: Connection, key: ChatKey, *, limit: int, before: int | None = None
) -> list[ExcludedRow]:
    """The newest ``limit`` excluded messages, oldest first; only those below ``before``."""
    statement = (
        select(messages.c.number, messages.c.active, swipes.c.tokens)
        .join_from(messages, swipes, _ACTIVE)
        .where(_in(messages, key), messages.c.excluded == true())
        .order_by(messages.c.number.desc())
        .limit(limit)
    )
    if before is not None:
        statement = statement.where(messages.c.number < before)
    return [ExcludedRow(*row) for row in reversed(connection.execute(statement).all())]


def counts(connection: Connection, key: ChatKey, *, since: int = 0) -> tuple[int, int]:
    """(messages, excluded ones among them), of those numbered ``since`` and up."""
    statement = select(
        func.count(),
        func.count().filter(messages.c.excluded == True),  # noqa: E712
    ).where(_in(messages, key), messages.c.number >= since)
    total, excluded = connection.execute(statement).one()
    return total, excluded


def tail(connection: Connection, key: ChatKey) -> Tail | None:
    """The open turn and cell, None for an empty chat. Counts leave excluded messages out."""
    last = connection.execute(
        select(messages.c.turn, messages.c.cell)
        .where(_in(messages, key))
        .order_by(messages.c.number.desc())
        .limit(1)
    ).one_or_none()
    if last is None:
        return None
    row = connection.execute(
        select(
            func.count().filter(messages.c.turn == last.turn),
            func.count(),
            func.coalesce(func.sum(swipes.c.tokens), 0),
        )
        .join_from(messages, swipes, _ACTIVE)
        .where(
            _in(messages, key),
            messages.c.number >= last.cell,
            messages.c.excluded == false(),
        )
    ).one()
    return Tail(
        turn=last.turn,
        turn_messages=row[0],
        cell=last.cell,
        cell_messages=row[1],
        cell_tokens=int(row[2]),
    )


def number_of(connection: Connection, key: ChatKey, external_id: str) -> int | None:
    """The number of the message that carries ``external_id``."""
    return connection.execute(
        select(messages.c.number).where(_in(messages, key), messages.c.external_id == external_id)
    ).scalar()


def get(connection: Connection, key: ChatKey, number: int) -> Message:
    """One message with all its swipes. Raises NotFound."""
    found = _select(connection, key, messages.c.number == number)
    if not found:
        raise NotFound(f"There is no message {number} in this chat.")
    return found[0]


def voice_of(connection: Connection, key: ChatKey, number: int) -> tuple[Role, str, str | None]:
    """(role, speaker, character id) of a message. Raises NotFound."""
    row = connection.execute(
        select(messages.c.role, messages.c.speaker, messages.c.character_id).where(
            _in(messages, key), messages.c.number == number
        )
    ).one_or_none()
    if row is None:
        raise NotFound(f"There is no message {number} in this chat.")
    return row.role, row.speaker, row.character_id


def turn_of(connection: Connection, key: ChatKey, turn: int) -> list[Message]:
    """The messages of one turn, in order."""
    following = (
        select(messages.c.number)
        .where(_in(messages, key), messages.c.number > turn, messages.c.turn != turn)
        .order_by(messages.c.number)
        .limit(1)
    )
    end = connection.execute(following).scalar()
    conditions = [messages.c.number >= turn, messages.c.turn == turn]
    if end is not None:
        conditions.append(messages.c.number < end)
    return _select(connection, key, *conditions)


def listed(
    connection: Connection,
    key: ChatKey,
    *,
    limit: int,
    after: int | None = None,
    before: int | None = None,
) -> list[Message]:
    """Up to ``limit`` messages in order: the first above ``after``, else the last."""
    bounds = [_in(messages, key)]
    newest = after is None
    if after is not None:
        bounds.append(messages.c.number > after)
    if before is not None:
        bounds.append(messages.c.number < before)
    order = messages.c.number.desc() if newest else messages.c.number
    chosen = select(messages.c.number).where(*bounds).order_by(order).limit(limit).subquery()
    first, last = connection.execute(
        select(func.min(chosen.c.number), func.max(chosen.c.number))
    ).one()
    if first is None:
        return []
    return _select(connection, key, messages.c.number.between(first, last))


def _select(
    connection: Connection, key: ChatKey, *conditions: ColumnElement[bool]
) -> list[Message]:
    columns = [column for column in messages.c if column.name not in _HIDDEN]
    rows = connection.execute(
        select(*columns).where(_in(messages, key), *conditions).order_by(messages.c.number)
    ).all()
    if not rows:
        return []
    alternatives: dict[int, list[Swipe]] = {}
    for row in connection.execute(
        select(*(column for column in swipes.c if column.name not in _HIDDEN))
        .where(_in(swipes, key), swipes.c.number.between(rows[0].number, rows[-1].number))
        .order_by(swipes.c.number, swipes.c.swipe)
    ):
        alternatives.setdefault(row.number, []).append(_swipe(row))
    return [Message(**row._mapping, swipes=tuple(alternatives.get(row.number, ()))) for row in rows]


_HIDDEN = frozenset({"account_id", "chat_id", "line", "line_version"})


def _swipe(row: Row[*tuple[Any, ...]]) -> Swipe:
    return Swipe(
        index=row.swipe,
        text=row.text,
        tokens=row.tokens,
        tokenizer=row.tokenizer,
        sent_at=row.sent_at,
        model=row.model,
        reasoning=row.reasoning,
        tool_calls=calls_from_json(row.tool_calls),
        parts=parts_from_json(row.parts),
    )


def calls_from_json(value: Sequence[Mapping[str, Any]] | None) -> tuple[ToolCall, ...]:
    """The tool calls stored with a swipe."""
    return tuple(ToolCall(**call) for call in value) if value else ()


def parts_from_json(value: Sequence[Mapping[str, Any]] | None) -> tuple[Part, ...]:
    """The parts stored with a swipe."""
    return tuple(Part(**part) for part in value) if value else ()


def message_row(
    key: ChatKey, message: Message, *, line: int | None = None, line_version: int | None = None
) -> dict[str, Any]:
    """The columns of a message."""
    return {
        "account_id": key.account,
        "chat_id": key.chat,
        "number": message.number,
        "role": message.role,
        "speaker": message.speaker,
        "character_id": message.character_id,
        "active": message.active,
        "turn": message.turn,
        "cell": message.cell,
        "excluded": message.excluded,
        "forget": message.forget,
        "version": message.version,
        "external_id": message.external_id,
        "tool_call_id": message.tool_call_id,
        "line": line,
        "line_version": line_version,
    }


def swipe_row(key: ChatKey, number: int, swipe: Swipe) -> dict[str, Any]:
    """The columns of a swipe."""
    return {
        "account_id": key.account,
        "chat_id": key.chat,
        "number": number,
        "swipe": swipe.index,
        "text": swipe.text,
        "tokens": swipe.tokens,
        "tokenizer": swipe.tokenizer,
        "sent_at": swipe.sent_at,
        "model": swipe.model,
        "reasoning": swipe.reasoning,
        "tool_calls": [asdict(call) for call in swipe.tool_calls] or None,
        "parts": [asdict(part) for part in swipe.parts] or None,
    }


def insert_message(connection: Connection, key: ChatKey, message: Message) -> None:
    """Add a message with its swipes."""
    insert_many(
        connection,
        [message_row(key, message)],
        [swipe_row(key, message.number, swipe) for swipe in message.swipes],
    )


def insert_many(
    connection: Connection,
    message_rows: Sequence[dict[str, Any]],
    swipe_rows: Sequence[dict[str, Any]],
) -> None:
    """Add rows made by :func:`message_row` and :func:`swipe_row`."""
    if message_rows:
        connection.execute(insert(messages), list(message_rows))
    if swipe_rows:
        connection.execute(insert(swipes), list(swipe_rows))


def insert_swipe(connection: Connection, key: ChatKey, number: int, swipe: Swipe) -> None:
    """Add a swipe to a message."""
    connection.execute(insert(swipes).values(**swipe_row(key, number, swipe)))


def replace_swipe(connection: Connection, key: ChatKey, number: int, swipe: Swipe) -> None:
    """Replace the content of a swipe."""
    values = swipe_row(key, number, swipe)
    for column in ("account_id", "chat_id", "number", "swipe"):
        del values[column]
    connection.execute(
        update(swipes)
        .where(_in(swipes, key), swipes.c.number == number, swipes.c.swipe == swipe.index)
        .values(**values)
    )


def change(connection: Connection, key: ChatKey, numbers: Iterable[int], **values: Any) -> int:
    """Set columns of messages and count one change on each; tell how many there were."""
    return connection.execute(
        update(messages)
        .where(_in(messages, key), messages.c.number.in_(list(numbers)))
        .values(version=messages.c.version + 1, **values)
    ).rowcount


def remove(connection: Connection, key: ChatKey, numbers: Sequence[int]) -> None:
    """Delete messages and their swipes."""
    for table in (swipes, messages):
        connection.execute(delete(table).where(_in(table, key), table.c.number.in_(numbers)))


def remove_after(connection: Connection, key: ChatKey, number: int) -> None:
    """Delete the messages above ``number`` and their swipes."""
    for table in (swipes, messages):
        connection.execute(delete(table).where(_in(table, key), table.c.number > number))


def move(connection: Connection, source: ChatKey, target: ChatKey) -> None:
    """Hand all messages of a chat to another; they replace messages of the same number."""
    numbers = select(messages.c.number).where(_in(messages, source))
    for table in (swipes, messages):
        connection.execute(delete(table).where(_in(table, target), table.c.number.in_(numbers)))
    for table in (swipes, messages):
        connection.execute(update(table).where(_in(table, source)).values(chat_id=target.chat))


def copy_until(connection: Connection, source: ChatKey, target: ChatKey, number: int) -> None:
    """Copy messages and swipes up to ``number`` into another chat of the account, as they are."""
    for table in (messages, swipes):
        connection.execute(copied(table, source, target, table.c.number <= number))


class LastOfLine(NamedTuple):
    """The last message of an imported line; ``is_last``: of the whole chat too."""

    number: int
    untouched: bool
    is_last: bool


def last_of_line(connection: Connection, key: ChatKey, line: int) -> LastOfLine | None:
    """The last message that a line of the imported file holds, None when it is gone."""
    row = connection.execute(
        select(messages.c.number, messages.c.version == messages.c.line_version)
        .where(_in(messages, key), messages.c.line == line)
        .order_by(messages.c.number.desc())
        .limit(1)
    ).one_or_none()
    if row is None:
        return None
    newest = connection.execute(select(func.max(messages.c.number)).where(_in(messages, key)))
    return LastOfLine(row[0], bool(row[1]), row[0] == newest.scalar())


def pristine_until(connection: Connection, key: ChatKey, line: int) -> bool:
    """Whether every message up to a line of the imported file is there as it was imported."""
    held = connection.execute(
        select(func.count(func.distinct(messages.c.line))).where(
            _in(messages, key),
            messages.c.line <= line,
            messages.c.version == messages.c.line_version,
        )
    ).scalar_one()
    changed = connection.execute(
        select(func.count()).where(
            _in(messages, key),
            messages.c.line <= line,
            messages.c.version != messages.c.line_version,
        )
    ).scalar_one()
    return changed == 0 and held == held_lines(connection, key, line)


def held_lines(connection: Connection, key: ChatKey, line: int) -> int:
    """How many lines of the imported file, up to ``line``, held messages."""
    return connection.execute(
        select(func.count()).where(
            _in(lines, key), lines.c.line <= line, lines.c.chain.is_not(None)
        )
    ).scalar_one()


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
        .where(_in(messages, key), messages.c.line.between(first, last))
        .order_by(messages.c.number)
    ).all()
    if not marks:
        return {}
    numbers = messages.c.number.between(marks[0][0], marks[-1][0])
    found = {message.number: message for message in _select(connection, key, numbers)}
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
            .where(_in(messages, key), messages.c.line.is_(None), messages.c.number > after)
            .order_by(messages.c.number)
            .limit(limit)
        )
    ]
    if not numbers:
        return []
    return _select(connection, key, messages.c.number.in_(numbers))
