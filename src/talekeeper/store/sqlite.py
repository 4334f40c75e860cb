"""SQLite: one file, WAL, safe with several processes; or a database in memory."""

import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any, TypeVar

import anyio
import anyio.to_thread
from sqlalchemy import URL, Connection, Engine, create_engine, event
from sqlalchemy.exc import DatabaseError, IntegrityError
from sqlalchemy.pool import QueuePool, StaticPool

from talekeeper.domain.errors import Conflict, StoreBusy, StoreError
from talekeeper.store.database import CLASH

__all__ = ["SqliteDatabase", "backup"]

T = TypeVar("T")

_PRAGMAS = ("page_size=8192", "foreign_keys=ON", "journal_mode=WAL", "synchronous=FULL")
"""The page size tells only where the file is made: messages rarely fit into SQLite's own 4096."""

_BUSY_SECONDS = 20


class SqliteDatabase:
    """Units run in a worker thread; writes begin IMMEDIATE, one at a time in this process."""

    def __init__(self, path: Path | None, *, busy_seconds: float = _BUSY_SECONDS) -> None:
        """``path`` None keeps everything in memory, for tests and try-outs.

        ``busy_seconds`` is how long a unit waits for another process before StoreBusy.
        """
        self.path = path
        self.location = str(path) if path else "memory"
        self._engine = _engine(path, busy_seconds)
        self._writing = anyio.Lock()
        # One connection holds a database in memory. A thread lock, since a cancelled caller goes on
        # while its unit still runs.
        self._alone = threading.Lock() if path is None else nullcontext()

    async def read(self, unit: Callable[[Connection], T]) -> T:
        return await anyio.to_thread.run_sync(self.run, unit, False)

    async def write(self, unit: Callable[[Connection], T]) -> T:
        async with self._writing:
            return await anyio.to_thread.run_sync(self.run, unit, True)

    async def close(self) -> None:
        await anyio.to_thread.run_sync(self._dispose)

    def _dispose(self) -> None:
        # A cancelled caller's unit may still run on the one connection of a database in memory.
        with self._alone:
            self._engine.dispose()

    def run(self, unit: Callable[[Connection], T], write: bool) -> T:
        """Run ``unit`` here and now, in the caller's thread."""
        with self._alone, _errors(self.location), self._engine.connect() as connection:
            connection.execution_options(talekeeper_write=write)
            with connection.begin() as transaction:
                result = unit(connection)
                if not write:
                    transaction.rollback()
                return result


def _engine(path: Path | None, busy_seconds: float) -> Engine:
    engine = create_engine(
        URL.create("sqlite", database=str(path.absolute()) if path else None),
        poolclass=QueuePool if path else StaticPool,
        connect_args={"check_same_thread": False, "timeout": busy_seconds},
        query_cache_size=1000,
    )

    @event.listens_for(engine, "connect")
    def _connect(connection: sqlite3.Connection, _record: Any) -> None:
        # Transactions are begun by the listener below, never by the driver on its own.
        connection.isolation_level = None
        for pragma in _PRAGMAS:
            connection.execute(f"PRAGMA {pragma}")

    @event.listens_for(engine, "begin")
    def _begin(connection: Connection) -> None:
        write = connection.get_execution_options().get("talekeeper_write", True)
        connection.exec_driver_sql("BEGIN IMMEDIATE" if write else "BEGIN")

    return engine


@contextmanager
def _errors(location: str) -> Iterator[None]:
    """Turn what SQLite reports into errors that say what to do."""
    try:
        yield
    except IntegrityError as error:
        raise Conflict(CLASH) from error
    except DatabaseError as error:
        reported = str(error.orig)
        if "locked" in reported or "busy" in reported:
            raise StoreBusy(
                f"Another process is writing to {location}; it took too long. Try again."
            ) from error
        for sign, advice in _ADVICE.items():
            if sign in reported:
                raise StoreError(f"{location}: {advice}") from error
        raise


_ADVICE = {
    "unable to open database file": "cannot be opened; check that the folder exists and is yours.",
    "readonly database": "cannot be written; check the permissions of the file and its folder.",
    "file is not a database": "is not a Talekeeper database; name another file.",
    "malformed": "is damaged; restore a backup copy.",
    "database or disk is full": "the disk is full; free some space and try again.",
    "disk I/O error": "the disk does not answer as it should; check it before going on.",
}


def backup(source: Path, target: Path) -> None:
    """Copy a live database to ``target``, consistent while others write to it."""
    with sqlite3.connect(source) as origin, sqlite3.connect(target) as copy:
        origin.backup(copy)
    origin.close()
    copy.close()
