"""PostgreSQL through asyncpg (extra ``postgres``): many processes, many servers."""

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import TypeVar

from sqlalchemy import Connection
from sqlalchemy.engine import URL
from sqlalchemy.exc import DBAPIError, IntegrityError, InterfaceError, OperationalError
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, create_async_engine

from talekeeper.domain.errors import Conflict, StoreBusy, StoreError
from talekeeper.store.database import CLASH

__all__ = ["PostgresDatabase"]

T = TypeVar("T")


class PostgresDatabase:
    """Units run on an asyncpg connection. Reads see one snapshot; writes lock what they change."""

    def __init__(self, url: URL) -> None:
        if "sslmode" in url.query:
            # The name that other drivers use for what asyncpg calls ssl.
            mode = url.query["sslmode"]
            url = url.difference_update_query(["sslmode"]).update_query_dict({"ssl": mode})
        self.location = url.render_as_string(hide_password=True)
        self._engine: AsyncEngine = create_async_engine(
            url.set(drivername="postgresql+asyncpg"), pool_pre_ping=True
        )
        self._readers = self._engine.execution_options(
            isolation_level="REPEATABLE READ", postgresql_readonly=True
        )

    async def read(self, unit: Callable[[Connection], T]) -> T:
        with _errors(self.location):
            async with self._connected(self._readers) as connection:
                return await connection.run_sync(unit)

    async def write(self, unit: Callable[[Connection], T]) -> T:
        with _errors(self.location):
            async with self._connected(self._engine) as connection, connection.begin():
                return await connection.run_sync(unit)

    @asynccontextmanager
    async def _connected(self, engine: AsyncEngine) -> AsyncIterator[AsyncConnection]:
        """A connection; only failing to get one means that the server is not there."""
        try:
            connection = await engine.connect()
        except OSError as error:
            raise StoreError(
                f"{self.location} cannot be reached: {error}. Is the server up?"
            ) from error
        try:
            yield connection
        finally:
            await connection.close()

    async def close(self) -> None:
        await self._engine.dispose()


@contextmanager
def _errors(location: str) -> Iterator[None]:
    """Turn what PostgreSQL and the network report into errors that say what to do."""
    try:
        yield
    except IntegrityError as error:
        raise Conflict(CLASH) from error
    except (OperationalError, InterfaceError) as error:
        raise StoreError(f"{location}: {_first_line(error)}") from error
    except DBAPIError as error:
        state = getattr(error.orig, "sqlstate", "") or ""
        if state in ("40001", "40P01", "55P03"):
            raise StoreBusy(
                f"Another writer changed the same rows of {location} at once. Try again."
            ) from error
        if state.startswith(("28", "3D", "53", "57", "08")):
            raise StoreError(f"{location}: {_first_line(error)}") from error
        raise


def _first_line(error: DBAPIError) -> str:
    return str(error.orig).splitlines()[0].rsplit(">: ", 1)[-1]
