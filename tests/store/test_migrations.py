"""The schema that migrations make is the schema that is declared, on both databases."""

import re
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import Connection, inspect, text

from talekeeper import Keeper, StoreError, StoreTooNew
from talekeeper.store import migrate
from talekeeper.store.opening import connect
from talekeeper.store.schema import metadata
from talekeeper.store.sqlite import SqliteDatabase
from tests.conftest import opened_database, run

VERSIONS = Path(migrate.__file__).parent / "migrations" / "versions"


def test_the_migrated_schema_is_the_declared_one(bare_database_url: str) -> None:
    async def story() -> None:
        database = connect(bare_database_url)
        try:
            await database.write(lambda connection: migrate.upgrade(connection, migrate.HEAD))
            assert await database.read(_differences) == []
            migrated = await database.read(_shape)
            await database.write(_emptied)
            await migrate.bring_up_to_date(database)
            assert await database.read(_shape) == migrated
        finally:
            await database.close()

    run(story())


def _differences(connection: Connection) -> list[Any]:
    context = MigrationContext.configure(connection, opts={"compare_type": True})
    return list(compare_metadata(context, metadata))


def _shape(connection: Connection) -> dict[str, Any]:
    """Everything the database tells about its tables, in an order that does not matter."""
    inspector = inspect(connection)
    return {
        table: {
            "columns": [
                (c["name"], str(c["type"]), c["nullable"]) for c in inspector.get_columns(table)
            ],
            "key": inspector.get_pk_constraint(table)["constrained_columns"],
            "foreign": sorted(
                (str(f["constrained_columns"]), f["referred_table"], str(f["options"]))
                for f in inspector.get_foreign_keys(table)
            ),
            "unique": sorted(
                str(u["column_names"]) for u in inspector.get_unique_constraints(table)
            ),
            "indexes": sorted(
                (i["name"] or "", str(i["column_names"])) for i in inspector.get_indexes(table)
            ),
        }
        for table in sorted(inspector.get_table_names())
    }


def _emptied(connection: Connection) -> None:
    metadata.drop_all(connection)
    connection.execute(text("DROP TABLE alembic_version"))


def test_every_migration_is_listed_and_named_in_order() -> None:
    files = sorted(path.name for path in VERSIONS.glob("m*.py"))
    listed = [re.fullmatch(r"m(\d{4})_\w+\.py", name) for name in files]
    assert all(listed)
    assert tuple(match[1] for match in listed if match) == migrate.REVISIONS


def test_a_newer_database_is_refused(bare_database_url: str) -> None:
    async def story() -> None:
        database = connect(bare_database_url)
        try:
            await migrate.bring_up_to_date(database)
            await database.write(
                lambda connection: connection.execute(
                    text("UPDATE alembic_version SET version_num = '9999'")
                )
            )
            with pytest.raises(StoreTooNew, match="Upgrade Talekeeper"):
                await migrate.bring_up_to_date(database)
        finally:
            await database.close()

    run(story())


def test_a_database_with_other_tables_is_refused(bare_database_url: str) -> None:
    async def story() -> None:
        database = connect(bare_database_url)
        try:
            await database.write(
                lambda connection: connection.execute(text("CREATE TABLE recipes (name TEXT)"))
            )
            with pytest.raises(StoreError, match="one of its own"):
                await migrate.bring_up_to_date(database)
        finally:
            await database.close()

    run(story())


def test_an_older_file_is_copied_before_it_is_migrated(tmp_path: Path) -> None:
    async def story() -> None:
        path = tmp_path / "tale.db"
        async with Keeper.open(path) as keeper:
            await keeper.characters.add(name="Mira")
        with sqlite3.connect(path) as old:
            old.execute("UPDATE alembic_version SET version_num = '0000'")
        old.close()
        database = SqliteDatabase(path)
        try:
            await migrate.keep_copy(database)
        finally:
            await database.close()
        with sqlite3.connect(tmp_path / f"tale.db.before-{migrate.HEAD}") as copy:
            assert copy.execute("SELECT name FROM characters").fetchall() == [("Mira",)]
        copy.close()

    run(story())


def test_opening_twice_changes_nothing(bare_database_url: str) -> None:
    async def story() -> None:
        for _ in range(2):
            async with opened_database(bare_database_url) as database:
                assert await database.read(migrate.revision) == migrate.HEAD

    run(story())
