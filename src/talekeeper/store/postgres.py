"""PostgreSQL through asyncpg (extra ``postgres``): many processes, many servers."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from sqlalchemy import Connection
from sqlalchemy.engine import URL
from sqlalchemy.exc import DBAPIError, IntegrityError, InterfaceError, OperationalError
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine

from talekeeper.domain.errors import Conflict, StoreBusy, StoreError
from talekeeper.store.database import CLASH

__all__ = ["PostgresDatabase"]

T = TypeVar("T")


class PostgresDatabase:
    """Units run on an asyncpg connection. Reads see one snapshot; writes lock what they change."""

    def __init__(self, url: URL) -> None:
        self.location = url.render_as_string(hide_password=True)
        try:
            self._engine: AsyncEngine = create_async_engine(
                url.set(drivername="postgresql+asyncpg"), pool_pre_ping=True
            )
        except ModuleNotFoundError as error:
            raise StoreError(
                "PostgreSQL needs the extra: pip install 'talekeeper[postgres]'."
            ) from error
        self._readers = self._engine.execution_options(
            isolation_level="REPEATABLE READ", postgresql_readonly=True
        )

    async def read(self, unit: Callable[[Connection], T]) -> T:
        with _errors(self.location):
            async with self._readers.connect() as connection:
                return await connection.run_sync(unit)

    async def write(self, unit: Callable[[Connection], T]) -> T:
        with _errors(self.location):
            async with self._engine.begin() as connection:
                return await connection.run_sync(unit)

    async def close(self) -> None:
        await self._engine.dispose()


@contextmanager
def _errors(location: str) -> Iterator[None]:
    """Turn what PostgreSQL and the network report into errors that say what to do."""
    try:
        yield
    except OSError as error:
        raise StoreError(f"{location} cannot be reached: {error}. Is the server up?") from error
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
