"""Bringing a database to the schema of this version: created when empty, migrated when older.

An existing SQLite file is copied beside itself before it is migrated.
"""

from pathlib import Path

from sqlalchemy import Connection, inspect, text

from talekeeper.domain.errors import StoreError, StoreTooNew
from talekeeper.store.database import Database
from talekeeper.store.schema import metadata
from talekeeper.store.sqlite import SqliteDatabase, backup

__all__ = ["HEAD", "REVISIONS", "bring_up_to_date", "keep_copy", "revision", "upgrade"]

REVISIONS = ("0001", "0002", "0003", "0004", "0005")
"""Every revision, oldest first; a test compares them with the migration scripts."""

HEAD = REVISIONS[-1]

_VERSIONS = "alembic_version"
_LOCK = 0x74616C65


async def bring_up_to_date(database: Database) -> None:
    """Create or migrate the schema. Two processes may call it at once."""
    found = await database.read(revision)
    if found == HEAD:
        return
    if found is not None and isinstance(database, SqliteDatabase):
        await keep_copy(database)
    await database.write(_create_or_upgrade)


def revision(connection: Connection) -> str | None:
    """The schema's revision, None for an empty database.

    Raises StoreTooNew for a revision this version does not know, StoreError for a database with
    tables that are not Talekeeper's.
    """
    names = inspect(connection).get_table_names()
    if _VERSIONS not in names:
        if names:
            raise StoreError("This database holds other tables; give Talekeeper one of its own.")
        return None
    found: str | None = connection.execute(text(f"SELECT version_num FROM {_VERSIONS}")).scalar()  # noqa: S608
    if found is not None and found not in REVISIONS:
        raise StoreTooNew(
            f"This database has schema {found}, written by a newer Talekeeper. Upgrade Talekeeper."
        )
    return found


async def keep_copy(database: SqliteDatabase) -> None:
    """Copy a database file beside itself, as it was before this version's schema."""
    path = database.path
    if path is not None and path.stat().st_size:
        backup(path, path.with_name(f"{path.name}.before-{HEAD}"))


def _create_or_upgrade(connection: Connection) -> None:
    if connection.dialect.name == "postgresql":
        connection.execute(text(f"SELECT pg_advisory_xact_lock({_LOCK})"))
    found = revision(connection)
    if found is None:
        metadata.create_all(connection)
        connection.execute(
            text(f"CREATE TABLE {_VERSIONS} (version_num VARCHAR(32) NOT NULL PRIMARY KEY)")
        )
        connection.execute(text(f"INSERT INTO {_VERSIONS} VALUES ('{HEAD}')"))  # noqa: S608
    elif found != HEAD:
        upgrade(connection, HEAD)


def upgrade(connection: Connection, target: str) -> None:
    """Run the migration scripts up to ``target`` on an open transaction."""
    # Imported here: a database that is up to date never pays for it.
    from alembic import command
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations"))
    config.attributes["connection"] = connection
    command.upgrade(config, target)
