"""What goes wrong with databases, and what is left afterwards."""

import os
import signal
import sqlite3
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

from talekeeper import InvalidInput, Keeper, StoreBusy, StoreError
from talekeeper.store.opening import open_database
from talekeeper.store.sqlite import SqliteDatabase
from tests.conftest import run

_WRITER = textwrap.dedent(
    """
    import anyio, sys
    from talekeeper import Keeper

    async def main(path, chat, name):
        async with Keeper.open(path) as keeper:
            number = 0
            while True:
                number += 1
                await keeper.record(chat, f"{name} {number}", external_id=f"{name}-{number}")
                print(number, flush=True)
                if number == 60:
                    return

    anyio.run(main, *sys.argv[1:])
    """
)


async def _new_chat(path: Path) -> str:
    async with Keeper.open(path) as keeper:
        await keeper.characters.add(name="Mira")
        return (await keeper.chats.start("Mira")).id


def _writer(path: Path, chat: str, name: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", _WRITER, str(path), chat, name], stdout=subprocess.PIPE, text=True
    )


def test_two_processes_write_one_chat(tmp_path: Path) -> None:
    path = tmp_path / "tale.db"
    chat = run(_new_chat(path))
    writers = [_writer(path, chat, name) for name in ("alice", "bob")]
    for writer in writers:
        assert writer.wait(timeout=60) == 0
        assert writer.stdout is not None
        writer.stdout.close()

    async def story() -> None:
        async with Keeper.open(path) as keeper:
            messages = await keeper.messages.list(chat, limit=1000)
            assert [message.number for message in messages] == list(range(1, 121))
            for name in ("alice", "bob"):
                said = [m.text for m in messages if m.text.startswith(name)]
                assert said == [f"{name} {number}" for number in range(1, 61)]
            assert (await keeper.chats.get(chat)).messages == 120

    run(story())


@pytest.mark.parametrize("after", [1, 7, 23])
def test_a_killed_writer_leaves_whole_messages(tmp_path: Path, after: int) -> None:
    path = tmp_path / "tale.db"
    chat = run(_new_chat(path))
    writer = _writer(path, chat, "alice")
    assert writer.stdout is not None
    for _ in range(after):
        writer.stdout.readline()
    os.kill(writer.pid, signal.SIGKILL)
    writer.wait(timeout=10)
    writer.stdout.close()

    async def story() -> None:
        async with Keeper.open(path) as keeper:
            messages = await keeper.messages.list(chat, limit=1000)
            assert len(messages) >= after
            assert [m.text for m in messages] == [f"alice {n + 1}" for n in range(len(messages))]
            assert (await keeper.chats.get(chat)).messages == len(messages)
            again = await keeper.record(chat, "alice 1", external_id="alice-1")
            assert again.number == 1

    run(story())


_IMPORTER = textwrap.dedent(
    """
    import anyio, sys
    from talekeeper import Keeper

    async def main(path, file):
        async with Keeper.open(path) as keeper:
            def tell(read):
                print(read, flush=True)
            await keeper.files.import_file(file, progress=tell)

    anyio.run(main, *sys.argv[1:])
    """
)


def test_a_killed_import_leaves_nothing_to_see(tmp_path: Path) -> None:
    path, file = tmp_path / "tale.db", tmp_path / "Mira.jsonl"
    line = '{"name":"Anna","is_user":true,"mes":"%s"}'
    file.write_text("\n".join(line % f"Line {n}" for n in range(20_000)))
    importer = subprocess.Popen(
        [sys.executable, "-c", _IMPORTER, str(path), str(file)], stdout=subprocess.PIPE, text=True
    )
    assert importer.stdout is not None
    for _ in range(5):
        importer.stdout.readline()
    os.kill(importer.pid, signal.SIGKILL)
    importer.wait(timeout=10)
    importer.stdout.close()

    async def story() -> None:
        async with Keeper.open(path) as keeper:
            assert await keeper.chats.list() == []
            assert await keeper.characters.list() == []
            report = await keeper.files.import_file(file)
            assert (report.outcome, report.added) == ("new", 20_000)
            assert len(await keeper.chats.list()) == 1

    run(story())


def test_a_database_held_by_another_is_busy_not_broken(tmp_path: Path) -> None:
    path = tmp_path / "tale.db"
    chat = run(_new_chat(path))

    async def story() -> None:
        holder = sqlite3.connect(path, isolation_level=None)
        database = SqliteDatabase(path, busy_seconds=0.2)
        try:
            holder.execute("BEGIN IMMEDIATE")
            started = time.monotonic()
            with pytest.raises(StoreBusy, match="Try again"):
                await database.write(lambda connection: None)
            assert time.monotonic() - started < 10
            holder.execute("ROLLBACK")
            await database.write(lambda connection: None)
        finally:
            holder.close()
            await database.close()
        async with Keeper.open(path) as keeper:
            await keeper.record(chat, "Still here.")

    run(story())


def test_a_full_disk_is_said_and_loses_nothing(tmp_path: Path) -> None:
    path = tmp_path / "tale.db"
    chat = run(_new_chat(path))

    async def story() -> None:
        async with Keeper.open(path, settle="off") as keeper:
            await keeper.record(chat, "Before.")
            # A page limit makes SQLite report exactly what a full disk makes it report.
            database = keeper.chats._desk.database
            await database.write(lambda c: c.exec_driver_sql("PRAGMA max_page_count=1").fetchall())
            with pytest.raises(StoreError, match="disk is full"):
                await keeper.record(chat, "x" * 900_000)
        async with Keeper.open(path) as keeper:
            assert [m.text for m in await keeper.messages.list(chat)] == ["Before."]
            await keeper.record(chat, "After.")

    run(story())


@pytest.mark.parametrize(
    ("content", "said"),
    [(b"not a database at all, just some text" * 50, "not a Talekeeper database")],
)
def test_a_file_that_is_no_database(tmp_path: Path, content: bytes, said: str) -> None:
    path = tmp_path / "notes.txt"
    path.write_bytes(content)
    with pytest.raises(StoreError, match=said):
        run(open_database(path))
    assert path.read_bytes() == content


def test_a_folder_is_no_database(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="cannot be opened"):
        run(open_database(tmp_path))


def test_a_server_that_is_not_there() -> None:
    with pytest.raises(StoreError, match="Is the server up"):
        run(open_database("postgresql://nobody:secret@127.0.0.1:1/none"))


def test_a_password_is_never_shown() -> None:
    with pytest.raises(StoreError) as caught:
        run(open_database("postgresql://nobody:secret@127.0.0.1:1/none"))
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("url", ["mysql://x", "", "::not a url::://", "sqlite+pysqlcipher://x"])
def test_other_urls_are_refused(url: str) -> None:
    with pytest.raises(InvalidInput):
        run(open_database(url))


def test_postgresql_without_its_extra_says_what_to_install() -> None:
    program = (
        "import sys\n"
        "sys.modules['greenlet'] = None\n"
        "from talekeeper import StoreError, SyncKeeper\n"
        "try:\n"
        "    SyncKeeper.open('postgresql://alice@localhost/tale')\n"
        "except StoreError as error:\n"
        "    print(error)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=30, check=False
    )
    assert done.stderr == ""
    assert "pip install 'talekeeper[postgres]'" in done.stdout
