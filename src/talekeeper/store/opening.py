"""From a path or URL to a database that has the schema this version needs."""

import os
from importlib.util import find_spec
from pathlib import Path

from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError

from talekeeper.domain.errors import InvalidInput, StoreError
from talekeeper.store import migrate
from talekeeper.store.database import Database
from talekeeper.store.sqlite import SqliteDatabase

__all__ = ["connect", "open_database"]

_MEMORY = ":memory:"
"""What SQLite itself calls a database that is in no file."""


async def open_database(where: str | Path) -> Database:
    """Open, and create or migrate where needed.

    ``where`` is a file path, ``sqlite:///path``, ``sqlite://`` or ``:memory:`` (in memory) or
    ``postgresql://user:password@host/database``. A file's folder must be there. Raises
    InvalidInput for anything else, StoreError where it cannot be opened, StoreTooNew where a newer
    Talekeeper wrote it.
    """
    database = connect(where)
    try:
        await migrate.bring_up_to_date(database)
    except BaseException:
        await database.close()
        raise
    return database


def connect(where: str | Path) -> Database:
    """The database at ``where`` as it is; its schema may be missing or old."""
    if isinstance(where, Path) or "://" not in where:
        return SqliteDatabase(None) if str(where) == _MEMORY else _file(Path(where))
    try:
        url = make_url(where)
    except ArgumentError as error:
        raise InvalidInput(f"{where!r} is not a database URL.") from error
    if url.drivername.startswith("postgres"):
        if not all(find_spec(name) for name in ("asyncpg", "greenlet")):
            raise StoreError("PostgreSQL needs the extra: pip install 'talekeeper[postgres]'.")
        # Imported here: it needs the extra, and takes a tenth of a second to load.
        from talekeeper.store.postgres import PostgresDatabase

        return PostgresDatabase(url.set(drivername="postgresql"))
    if url.drivername != "sqlite":
        raise InvalidInput(
            f"Talekeeper keeps its data in SQLite or PostgreSQL, not in {url.drivername!r}."
        )
    if url.database in (None, "", _MEMORY):
        return SqliteDatabase(None)
    return _file(Path(url.database))


def _file(path: Path) -> SqliteDatabase:
    if str(path) in ("", "."):
        raise InvalidInput("Name a database file.")
    path = path.expanduser()
    if not os.path.isdir(path.parent):  # noqa: PTH112 - never raises
        raise StoreError(f"There is no folder {path.parent} for the database; make it first.")
    return SqliteDatabase(path)
