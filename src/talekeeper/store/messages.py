"""Messages and their swipes."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Connection,
    Table,
    and_,
    delete,
    func,
    insert,
    select,
    update,
)

from talekeeper.domain.chat import Message, Swipe
from talekeeper.domain.errors import NotFound
from talekeeper.store import chats as chat_rows
from talekeeper.store.bulk import insert_rows
from talekeeper.store.copying import copied
from talekeeper.store.keys import LAST_NUMBER, ChatKey
from talekeeper.store.message_rows import (
    message_row,
    swipe_from_row,
    swipe_row,
)
from talekeeper.store.tables import messages, swipes

__all__ = [
    "change",
    "copy_until",
    "counts",
    "get",
    "get_many",
    "in_chat",
    "in_range",
    "insert_many",
    "insert_message",
    "insert_swipe",
    "listed",
    "move",
    "number_of",
    "recast",
    "remembered",
    "remove",
    "remove_after",
    "replace_swipe",
    "select_messages",
    "there",
    "turn_of",
]


def in_chat(table: Table, key: ChatKey) -> ColumnElement[bool]:
    """The rows of a table that belong to a chat."""
    return and_(table.c.account_id == key.account, table.c.chat_id == key.chat)


def counts(connection: Connection, key: ChatKey, *, since: int = 0) -> tuple[int, int]:
    """(messages, excluded ones among them), of those numbered ``since`` and up."""
    statement = select(
        func.count(),
        func.count().filter(messages.c.excluded == True),  # noqa: E712
    ).where(in_chat(messages, key), messages.c.number >= since)
    total, excluded = connection.execute(statement).one()
    return total, excluded


def remembered(
    connection: Connection, key: ChatKey, first: int = 0, last: int = LAST_NUMBER
) -> int:
    """How many messages from ``first`` to ``last`` are not forgotten."""
    statement = select(func.count()).where(
        in_chat(messages, key),
        messages.c.number.between(first, last),
        messages.c.forget == False,  # noqa: E712
    )
    return connection.execute(statement).scalar_one()


def number_of(connection: Connection, key: ChatKey, external_id: str) -> int | None:
    """The number of the message that carries ``external_id``."""
    return connection.execute(
        select(messages.c.number).where(
            in_chat(messages, key), messages.c.external_id == external_id
        )
    ).scalar()


def get(connection: Connection, key: ChatKey, number: int) -> Message:
    """One message with all its swipes. Raises NotFound."""
    in_range(number)
    found = select_messages(connection, key, messages.c.number == number)
    if not found:
        raise NotFound(f"There is no message {number} in this chat.")
    return found[0]


def get_many(connection: Connection, key: ChatKey, numbers: Iterable[int]) -> Iterator[Message]:
    """Messages with all their swipes, read some hundreds at a time. Raises NotFound."""
    wanted = iter(sorted(set(numbers)))
    while batch := list(islice(wanted, 500)):
        for number in batch:
            in_range(number)
        found = {
            m.number: m for m in select_messages(connection, key, messages.c.number.in_(batch))
        }
        for number in batch:
            if number not in found:
                raise NotFound(f"There is no message {number} in this chat.")
            yield found[number]


def there(connection: Connection, key: ChatKey, numbers: Iterable[int]) -> Iterator[Message]:
    """Those of the messages that exist, with all their swipes."""
    wanted = iter(sorted(set(numbers)))
    while batch := list(islice(wanted, 500)):
        yield from select_messages(connection, key, messages.c.number.in_(batch))


def in_range(number: int) -> None:
    """Raise NotFound for a number that no message can have, so that no database need be asked."""
    if not 0 < number <= LAST_NUMBER:
        raise NotFound(f"There is no message {number} in this chat.")


def turn_of(connection: Connection, key: ChatKey, turn: int) -> list[Message]:
    """The messages of one turn, in order."""
    following = (
        select(messages.c.number)
        .where(in_chat(messages, key), messages.c.number > turn, messages.c.turn != turn)
        .order_by(messages.c.number)
        .limit(1)
    )
    end = connection.execute(following).scalar()
    conditions = [messages.c.number >= turn, messages.c.turn == turn]
    if end is not None:
        conditions.append(messages.c.number < end)
    return select_messages(connection, key, *conditions)


def listed(
    connection: Connection,
    key: ChatKey,
    *,
    limit: int,
    after: int | None = None,
    before: int | None = None,
) -> list[Message]:
    """Up to ``limit`` messages in order: the first above ``after``, else the last.

    Raises NotFound where there is no such chat.
    """
    bounds = [in_chat(messages, key)]
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
        chat_rows.state(connection, key)  # an empty chat is one, a foreign one is not
        return []
    return select_messages(connection, key, messages.c.number.between(first, last))


def select_messages(
    connection: Connection, key: ChatKey, *conditions: ColumnElement[bool]
) -> list[Message]:
    """The messages of a chat that meet the conditions, in order, with all their swipes."""
    columns = [column for column in messages.c if column.name not in _HIDDEN]
    rows = connection.execute(
        select(*columns).where(in_chat(messages, key), *conditions).order_by(messages.c.number)
    ).all()
    if not rows:
        return []
    numbers = [row.number for row in rows]
    dense = numbers[-1] - numbers[0] < 4 * len(numbers)
    of_these = (
        swipes.c.number.between(numbers[0], numbers[-1]) if dense else swipes.c.number.in_(numbers)
    )
    alternatives: dict[int, list[Swipe]] = {}
    for row in connection.execute(
        select(*(column for column in swipes.c if column.name not in _HIDDEN))
        .where(in_chat(swipes, key), of_these)
        .order_by(swipes.c.number, swipes.c.swipe)
    ):
        alternatives.setdefault(row.number, []).append(swipe_from_row(row))
    return [Message(**row._mapping, swipes=tuple(alternatives.get(row.number, ()))) for row in rows]


_HIDDEN = frozenset({"account_id", "chat_id", "line", "line_version"})


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
    insert_rows(connection, messages, message_rows)
    insert_rows(connection, swipes, swipe_rows)


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
        .where(in_chat(swipes, key), swipes.c.number == number, swipes.c.swipe == swipe.index)
        .values(**values)
    )


def change(connection: Connection, key: ChatKey, numbers: Iterable[int], **values: Any) -> int:
    """Set columns of messages and count one change on each; tell how many there were."""
    wanted, changed = iter(numbers), 0
    while batch := list(islice(wanted, 500)):
        changed += connection.execute(
            update(messages)
            .where(in_chat(messages, key), messages.c.number.in_(batch))
            .values(version=messages.c.version + 1, **values)
        ).rowcount
    return changed


def remove(connection: Connection, key: ChatKey, numbers: Sequence[int]) -> None:
    """Delete messages and their swipes."""
    for table in (swipes, messages):
        connection.execute(delete(table).where(in_chat(table, key), table.c.number.in_(numbers)))


def remove_after(connection: Connection, key: ChatKey, number: int) -> None:
    """Delete the messages above ``number`` and their swipes."""
    for table in (swipes, messages):
        connection.execute(delete(table).where(in_chat(table, key), table.c.number > number))


def move(connection: Connection, source: ChatKey, target: ChatKey) -> None:
    """Hand all messages of a chat to another; they replace messages of the same number."""
    numbers = select(messages.c.number).where(in_chat(messages, source))
    for table in (swipes, messages):
        connection.execute(delete(table).where(in_chat(table, target), table.c.number.in_(numbers)))
    for table in (swipes, messages):
        connection.execute(update(table).where(in_chat(table, source)).values(chat_id=target.chat))


def recast(connection: Connection, key: ChatKey, character_id: str, other: str) -> None:
    """Let another character have spoken what ``character_id`` spoke in a chat."""
    connection.execute(
        update(messages)
        .where(in_chat(messages, key), messages.c.character_id == character_id)
        .values(character_id=other)
    )


def copy_until(connection: Connection, source: ChatKey, target: ChatKey, number: int) -> None:
    """Copy messages and swipes up to ``number`` into another chat of the account, as they are."""
    for table in (messages, swipes):
        connection.execute(copied(table, source, target, table.c.number <= number))
