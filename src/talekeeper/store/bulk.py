"""Many rows into one table.

SQLAlchemy builds a dictionary of parameters for each row of an ``executemany``; an import of a long
chat spends a fifth of its time there. Here the statement is compiled once a process and each row
becomes the tuple that the driver takes.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any

from sqlalchemy import Connection, Table, insert
from sqlalchemy.engine import Dialect

__all__ = ["insert_rows"]

_Process = Callable[[Any], Any]


def insert_rows(connection: Connection, table: Table, rows: Sequence[Mapping[str, Any]]) -> None:
    """Add rows; each gives a value for every column of the table."""
    if not rows:
        return
    statement, columns = _prepared(table, connection.dialect)
    connection.exec_driver_sql(
        statement,
        [
            tuple([process(row[name]) if process else row[name] for name, process in columns])
            for row in rows
        ],
    )


@lru_cache(maxsize=64)
def _prepared(table: Table, dialect: Dialect) -> tuple[str, list[tuple[str, _Process | None]]]:
    """The statement in the driver's spelling, and how it takes the value of each column."""
    names = [column.name for column in table.c]
    statement = insert(table).compile(dialect=dialect, column_keys=names)
    types = [column.type.dialect_impl(dialect) for column in table.c]
    processes = [kind.bind_processor(dialect) for kind in types]
    return str(statement), list(zip(names, processes, strict=True))
