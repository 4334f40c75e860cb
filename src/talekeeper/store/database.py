"""Opening a database and running units of work on it.

A unit of work is a synchronous function over a ``Connection``; it is one transaction. On SQLite it
runs whole in one thread; on PostgreSQL on an asyncpg connection. Knows nothing of any subject.
"""

from collections.abc import Callable
from typing import Protocol, TypeVar

from sqlalchemy import Connection

__all__ = ["CLASH", "Database"]

T = TypeVar("T")

CLASH = "Another writer did the same at the same moment. Read again, and try again if it is needed."
"""What a Conflict says when the database itself refused a row."""


class Database(Protocol):
    """Where units of work run. ``location`` is fit to be shown: it holds no password."""

    location: str

    async def read(self, unit: Callable[[Connection], T]) -> T:
        """Run ``unit`` on one consistent snapshot; what it writes is discarded."""

    async def write(self, unit: Callable[[Connection], T]) -> T:
        """Run ``unit`` and commit; when it raises, nothing of it stays.

        Raises Conflict where another writer was first with a row that can be there once only,
        StoreBusy where another process holds the database for too long, StoreError where the
        database cannot be used (a full disk, no permission, not a database).
        """

    async def close(self) -> None:
        """Release every connection. Closing twice is allowed."""
