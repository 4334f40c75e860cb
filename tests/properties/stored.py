"""What stands in the database, and whether it is what the reference says."""

from collections.abc import Callable, Iterable, Sequence
from io import BytesIO
from itertools import zip_longest
from typing import Any, TypeVar

from sqlalchemy import Connection, Table, select, text

from talekeeper import ToolCall
from talekeeper.formats.imported import ImportedLine
from talekeeper.formats.st_chat import read_st_chat
from talekeeper.store import migrate, tables
from talekeeper.store.database import Database
from talekeeper.store.opening import open_database
from talekeeper.store.schema import metadata
from talekeeper.store.sqlite import SqliteDatabase
from tests.properties.reference import Told

__all__ = ["all_rows", "check_file", "check_rows", "emptied", "opened"]

T = TypeVar("T")


class _Inline(SqliteDatabase):
    """SQLite in memory without a thread: a life has thousands of units of work."""

    async def read(self, unit: Callable[[Connection], T]) -> T:
        return self.run(unit, False)

    async def write(self, unit: Callable[[Connection], T]) -> T:
        return self.run(unit, True)


async def opened(url: str) -> Database:
    """The database of a life."""
    if url != "sqlite://":
        return await open_database(url)
    database = _Inline(None)
    await migrate.bring_up_to_date(database)
    return database


def emptied(connection: Connection) -> None:
    """Take away what an earlier life left; a database in memory is new each time."""
    if connection.dialect.name == "postgresql":
        connection.execute(text("TRUNCATE accounts CASCADE"))


def all_rows(connection: Connection) -> list[list[Any]]:
    """Every table as the driver sees it."""
    return [
        list(connection.exec_driver_sql(f"SELECT * FROM {table.name} ORDER BY {_key(table)}"))
        for table in metadata.sorted_tables
    ]


def _key(table: Table) -> str:
    return ", ".join(column.name for column in table.primary_key.columns)


def check_rows(connection: Connection, chats: Iterable[Told]) -> None:
    """The rows are what the reference says, no more and no less."""
    rows = _rows(connection)
    said: dict[str, list[Any]] = {}
    texts: dict[str, list[Any]] = {}
    for row in rows["messages"]:
        said.setdefault(row.chat_id, []).append(row)
    for row in rows["swipes"]:
        texts.setdefault(row.chat_id, []).append(row)
    wanted = {told.id: told for told in chats}
    assert {row.id for row in rows["chats"]} == set(wanted)
    for row in rows["chats"]:
        told = wanted[row.id]
        assert row.next_number == told.next_number
        assert row.messages == len(told.messages)
        assert row.excluded == sum(m.excluded for m in told.messages)
        found = said.pop(row.id, [])
        _equal([_message_row(one) for one in found], [m.row() for m in told.messages])
        wanted_swipes = [
            (m.number, at, words, _call_rows(calls))
            for m in told.messages
            for at, (words, calls) in enumerate(zip(m.texts, m.calls, strict=True))
        ]
        _equal([_swipe_row(one) for one in texts.pop(row.id, [])], wanted_swipes)
        _check_whole_turns(told)
    assert not said
    assert not texts


def _rows(connection: Connection) -> dict[str, list[Any]]:
    """The chats and what hangs on them."""
    return {
        table.name: list(connection.execute(select(table).order_by(*table.primary_key.columns)))
        for table in (tables.chats, tables.messages, tables.swipes)
    }


def _message_row(row: Any) -> tuple[object, ...]:
    return (
        row.number,
        row.role,
        row.speaker,
        row.turn,
        row.cell,
        row.active,
        row.tool_call_id,
        row.excluded,
        row.forget,
    )


def _swipe_row(row: Any) -> tuple[object, ...]:
    return (row.number, row.swipe, row.text, row.tool_calls)


def _call_rows(calls: Sequence[ToolCall]) -> list[dict[str, str]] | None:
    return [
        {"id": call.id, "name": call.name, "arguments": call.arguments} for call in calls
    ] or None


def _equal(found: Sequence[object], wanted: Sequence[object]) -> None:
    differing = [pair for pair in zip_longest(found, wanted) if pair[0] != pair[1]]
    assert not differing, f"(found, wanted), {len(differing)} of them, first: {differing[0]}"


def _check_whole_turns(told: Told) -> None:
    cells: dict[int, int] = {}
    for message in told.messages:
        assert cells.setdefault(message.turn, message.cell) == message.cell


def check_file(file: bytes, told: Told) -> None:
    """A file says what the chat says, tools left out: SillyTavern keeps calls apart."""
    found = [
        (m.role, [swipe.text for swipe in m.swipes], m.active, m.excluded)
        for item in read_st_chat(BytesIO(file))
        if isinstance(item, ImportedLine)
        for m in item.messages
        if m.role != "tool" and m.text
    ]
    said = [m for m in told.messages if m.role != "tool" and m.text]
    _equal(found, [(m.role, m.texts, m.active, m.excluded) for m in said])
