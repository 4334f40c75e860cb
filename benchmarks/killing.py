"""Workers that are killed while they settle: nothing may be lost, nothing done twice.

Two workers settle twenty chats; again and again one of them gets SIGKILL at a random moment and
another takes its place. Afterwards the rest is settled, and every summary must be what an
undisturbed run made. Used by the benchmark (200 kills) and by the tests (20).
"""

import asyncio
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, select

from benchmarks.data import ChatSpec, write_chat
from benchmarks.report import Figure, Report
from benchmarks.scale import Scale
from talekeeper import Keeper
from talekeeper.keeper import fresh_id, utc_now
from talekeeper.settle.settler import settler_of
from talekeeper.settle.worker import Worker
from talekeeper.store import settling
from talekeeper.store.opening import open_database
from talekeeper.store.tables import chats, summaries

__all__ = ["Killed", "kill_workers", "measure"]

_WORKERS = 2
_LEASE_SECONDS = 0.5
_CHATS, _MESSAGES = 20, 320
_SHORTEST, _LONGEST = 0.02, 0.25
"""Seconds between two kills."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Killed:
    """What came of it: ``nodes`` were compared, ``kills`` hit workers, ``leased`` of these in the
    middle of a chat. ``differing`` names the first node that is not as in the undisturbed run."""

    kills: int
    leased: int
    nodes: int
    differing: str | None


async def measure(report: Report, scale: Scale, folder: Path) -> None:
    """Add the figure of the kills."""
    found = await asyncio.to_thread(kill_workers, folder, kills=scale.kills, seed=1)
    report.add(
        Figure(
            section="kill",
            name=f"workers killed, summaries as in an undisturbed run ({found.nodes} of them)",
            value=float(found.kills if found.differing is None else 0),
            unit="kills",
            must=float(scale.kills),
            more_is_better=True,
            note=found.differing or f"{found.leased} in the middle of a chat",
        )
    )


def kill_workers(folder: Path, *, kills: int, seed: int) -> Killed:
    """Kill so many workers, in as many runs as it takes; compare each with an undisturbed run."""
    chance = random.Random(seed)
    template = folder / "kills.db"
    asyncio.run(_prepare(template, folder))
    calm = _copy(template, folder / "calm.db")
    asyncio.run(_settle(calm))
    wanted = asyncio.run(_nodes(calm))
    done = leased = 0
    while done < kills:
        disturbed = _copy(template, folder / "disturbed.db")
        hits, busy = _disturb(disturbed, chance, kills - done)
        done, leased = done + hits, leased + busy
        time.sleep(_LEASE_SECONDS)
        asyncio.run(_settle(disturbed))
        found = asyncio.run(_nodes(disturbed))
        if found != wanted:
            pairs = [key for key in wanted.keys() | found if wanted.get(key) != found.get(key)]
            return Killed(kills=done, leased=leased, nodes=len(wanted), differing=str(min(pairs)))
    return Killed(kills=done, leased=leased, nodes=len(wanted), differing=None)


async def _prepare(path: Path, folder: Path) -> None:
    async with Keeper.open(path, settle="off") as keeper:
        for number in range(_CHATS):
            spec = ChatSpec(
                name=f"kill-{number:02}",
                messages=_MESSAGES,
                user_tokens=15,
                reply_tokens=25,
                seed=number,
            )
            file = folder / f"{spec.name}.jsonl"
            write_chat(file, spec)
            await keeper.files.import_file(file)


def _copy(source: Path, target: Path) -> Path:
    for ending in ("", "-wal", "-shm"):
        target.with_name(target.name + ending).unlink(missing_ok=True)
    shutil.copyfile(source, target)
    return target


async def _settle(path: Path) -> None:
    async with Keeper.open(path, settle="off") as keeper:
        settled = await keeper.summaries.settle()
        assert not settled.failed, settled.failed


async def _nodes(path: Path) -> dict[tuple[str, int, int], Any]:
    """Every summary of every chat, by title and place; not when it was made."""
    database = await open_database(path)
    try:
        return await database.read(_read)
    finally:
        await database.close()


def _read(connection: Connection) -> dict[tuple[str, int, int], Any]:
    columns = [column for column in summaries.c if column.name not in _PASSING]
    rows = connection.execute(
        select(chats.c.title, summaries.c.tier, summaries.c.position, *columns).join_from(
            summaries, chats, summaries.c.chat_id == chats.c.id
        )
    )
    return {tuple(row[:3]): tuple(row[3:]) for row in rows}


_PASSING = ("account_id", "chat_id", "made_at")


def _disturb(path: Path, chance: random.Random, most: int) -> tuple[int, int]:
    """Kill up to ``most`` workers while anything is left to do; (kills, of these with a lease)."""
    hits = busy = 0
    with _nursery(path) as nursery:
        workers = [nursery.start() for _ in range(_WORKERS)]
        while hits < most and asyncio.run(_left(path)):
            time.sleep(chance.uniform(_SHORTEST, _LONGEST))
            before = asyncio.run(_leases(path))
            victim = workers.pop(chance.randrange(len(workers)))
            os.kill(victim, signal.SIGKILL)
            hits, busy = hits + 1, busy + bool(before)
            workers.append(nursery.start())
        for worker in workers:
            os.kill(worker, signal.SIGKILL)
    return hits, busy


async def _left(path: Path) -> bool:
    async with Keeper.open(path, settle="off") as keeper:
        listed = await keeper.chats.list()
        views = [await keeper.summaries.show(chat.id) for chat in (*listed[:3], *listed[-3:])]
    return any(view.waiting > view.live for view in views)


async def _leases(path: Path) -> int:
    database = await open_database(path)
    try:
        return await database.read(settling.leased)
    finally:
        await database.close()


class _Nursery:
    """A process that has loaded all and does nothing but fork workers: one starts in no time."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self._process = process

    def start(self) -> int:
        """Start a worker; answers its process id."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write("\n")
        self._process.stdin.flush()
        return int(self._process.stdout.readline())


@contextmanager
def _nursery(path: Path) -> Iterator[_Nursery]:
    process = subprocess.Popen(
        [sys.executable, "-m", "benchmarks.killing", str(path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parents[1],
    )
    with process:
        try:
            yield _Nursery(process)
        finally:
            assert process.stdin is not None
            process.stdin.close()


async def _work(path: Path) -> None:
    database = await open_database(path)
    settler = settler_of(
        database, model=None, clock=utc_now, new_id=fresh_id, lease_seconds=_LEASE_SECONDS
    )
    await Worker(settler).run(poll_seconds=0.05)


def _fork_workers(path: Path) -> None:
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    for _ in sys.stdin:
        child = os.fork()
        if not child:
            asyncio.run(_work(path))
            os._exit(0)
        print(child, flush=True)


if __name__ == "__main__":
    _fork_workers(Path(sys.argv[1]))
