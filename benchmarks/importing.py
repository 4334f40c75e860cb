"""How fast chat files come in and go out, and how much memory a large one takes.

The floor beside each speed is the least such a program could do: read each line as JSON and keep
its text in one table of a SQLite file, in batches of the same size.
"""

import json
import sqlite3
import sys
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

from benchmarks.data import ChatSpec, write_chat
from benchmarks.measure import clocked, run_child
from benchmarks.report import Figure, Report
from benchmarks.scale import Scale
from talekeeper import Keeper
from talekeeper.domain.limits import LIMITS

__all__ = ["TYPICAL_SWIPES", "measure"]

_SPEED, _SPEED_GOAL = 3_000.0, 5_000.0
_MEMORY = 300.0
_ROUNDS = 2
_HEAVY_SWIPES, _HEAVY_TOKENS = 50, 4_000
_COMMAND = str(Path(sys.executable).with_name("talekeeper"))

TYPICAL_SWIPES = {1: 60, 2: 20, 3: 15, 5: 5}
"""How often a reply has how many swipes: 1.7 on average."""


@dataclass(frozen=True, slots=True)
class _File:
    path: Path
    title: str
    messages: int

    @property
    def megabytes(self) -> float:
        return self.path.stat().st_size / 1e6


async def measure(report: Report, scale: Scale, folder: Path) -> None:
    """Add the figures of importing and exporting."""
    typical = _typical("typical", scale.typical)
    brief = ChatSpec(name="brief", messages=scale.brief, user_tokens=20, reply_tokens=30)
    report.add(*await _speed(typical, "300 tokens and 1.3 swipes a message", folder))
    report.add(*await _speed(brief, "25 tokens a message", folder))
    report.add(*await _again(_written(folder, typical, "typical"), folder))
    big = folder / "big.jsonl"
    spec = _typical("big", scale.big_bytes)
    count = write_chat(big, spec, most_bytes=scale.big_bytes)
    try:
        report.add(*_memory(_File(big, "large", count), folder))
    finally:
        big.unlink()
        (folder / "big.db").unlink(missing_ok=True)
    report.add(_heavy_lines(folder, scale))


def _typical(name: str, messages: int) -> ChatSpec:
    return ChatSpec(
        name=name, messages=messages, user_tokens=200, reply_tokens=400, swipes=TYPICAL_SWIPES
    )


def _written(folder: Path, spec: ChatSpec, title: str) -> _File:
    path = folder / f"{spec.name}.jsonl"
    return _File(path, title, write_chat(path, spec))


async def _speed(spec: ChatSpec, title: str, folder: Path) -> list[Figure]:
    """Messages a second into an empty database: the best of a few files.

    No text is in two of them: the tokenizer remembers its counts of texts it saw before.
    """
    best = busy = 0.0
    for attempt in range(1, _ROUNDS + 1):
        file = _written(folder, replace(spec, seed=spec.seed + attempt), title)
        async with Keeper.open(folder / f"{spec.name}-{attempt}.db", settle="off") as keeper:
            with clocked() as taken:
                await keeper.files.import_file(file.path)
        best = max(best, file.messages / taken.wall)
        busy = max(busy, file.messages / taken.cpu)
    floor = file.messages / _floor(file.path, folder / f"floor-{spec.name}.db")
    return [
        Figure(
            section="import",
            name=f"import, {title}",
            value=best,
            unit="messages/s",
            must=_SPEED,
            goal=_SPEED_GOAL,
            more_is_better=True,
            baseline=("floor", floor),
            note=f"{file.megabytes:.0f} MB, the best of {_ROUNDS}",
        ),
        Figure(
            section="import",
            name=f"import, {title}, per second of CPU time",
            value=busy,
            unit="messages/s",
            goal=_SPEED_GOAL,
            more_is_better=True,
        ),
    ]


def _floor(path: Path, database: Path) -> float:
    """Seconds the least such program takes."""
    connection = sqlite3.connect(database)
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("PRAGMA synchronous=FULL")
    connection.execute("CREATE TABLE said (number INTEGER PRIMARY KEY, name, mes, swipes, raw)")
    with clocked() as taken, path.open("rb") as lines:
        rows = enumerate(lines)
        while batch := list(islice(rows, LIMITS.import_batch)):
            with connection:
                connection.executemany("INSERT INTO said VALUES (?, ?, ?, ?, ?)", map(_row, batch))
    connection.close()
    return taken.wall


def _row(item: tuple[int, bytes]) -> tuple[int, str, str, str, bytes]:
    number, raw = item
    line = json.loads(raw)
    swipes = json.dumps(line.get("swipes"), ensure_ascii=False)
    return number, line.get("name", ""), line.get("mes", ""), swipes, raw


async def _again(file: _File, folder: Path) -> list[Figure]:
    """The same file once more, out again, and a dry run of it."""
    speeds: dict[str, float] = {}
    async with Keeper.open(folder / "again.db", settle="off") as keeper:
        await keeper.files.import_file(file.path)
        with clocked() as taken:
            report = await keeper.files.import_file(file.path)
        assert report.outcome == "present"
        speeds["import of a file that is there already"] = file.messages / taken.wall
        out = folder / "out.jsonl"
        with clocked() as taken, out.open("wb") as stream:
            await keeper.files.export_chat(report.id or "", stream)
        assert out.read_bytes() == file.path.read_bytes()
        speeds["export, byte for byte"] = file.messages / taken.wall
    async with Keeper.open(folder / "dry.db", settle="off") as keeper:
        with clocked() as taken:
            await keeper.files.import_file(file.path, dry_run=True)
        speeds["dry run"] = file.messages / taken.wall
    with clocked() as taken, file.path.open("rb") as lines:
        for line in lines:
            json.loads(line)
    floor = ("reading each line as JSON", file.messages / taken.wall)
    return [
        Figure(
            section="import",
            name=name,
            value=speed,
            unit="messages/s",
            more_is_better=True,
            baseline=floor,
        )
        for name, speed in speeds.items()
    ]


def _heavy_lines(folder: Path, scale: Scale) -> Figure:
    """Peak memory where each line is large: a batch is bounded by messages, not by bytes."""
    path = folder / "heavy.jsonl"
    lines = 2 * scale.big_bytes // _HEAVY_SWIPES // _HEAVY_TOKENS // 16
    spec = ChatSpec(
        name="heavy", messages=lines, reply_tokens=_HEAVY_TOKENS, swipes={_HEAVY_SWIPES: 1}
    )
    write_chat(path, spec)
    megabytes = path.stat().st_size / 1e6
    run = run_child([_COMMAND, "--db", str(folder / "heavy.db"), "import", str(path)])
    path.unlink()
    (folder / "heavy.db").unlink(missing_ok=True)
    return Figure(
        section="import",
        name=f"peak memory of `talekeeper import`, {megabytes:.0f} MB in {lines:,} lines",
        value=run.peak_bytes / 1e6,
        unit="MB",
        goal=_MEMORY,
    )


def _memory(file: _File, folder: Path) -> list[Figure]:
    """Peak memory and speed of the command itself."""
    command = [_COMMAND, "--db"]
    idle = run_child([*command, str(folder / "idle.db"), "chats"])
    run = run_child([*command, str(folder / "big.db"), "import", str(file.path)])
    return [
        Figure(
            section="import",
            name=f"peak memory of `talekeeper import`, a file of {file.megabytes:.0f} MB",
            value=run.peak_bytes / 1e6,
            unit="MB",
            must=_MEMORY,
            baseline=("`talekeeper chats`, nothing there", idle.peak_bytes / 1e6),
        ),
        Figure(
            section="import",
            name=f"the same command's speed, {file.messages:,} messages",
            value=file.messages / run.seconds,
            unit="messages/s",
            goal=_SPEED,
            more_is_better=True,
        ),
    ]
