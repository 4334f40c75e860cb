"""How long composing takes in a long chat, where the time goes, and how it grows.

The chats are files imported into one SQLite database. Long and short chats are measured in turn
within one loop, so that whatever else the machine does hits both alike.
"""

import sqlite3
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from sqlalchemy import Connection

from benchmarks.data import ChatSpec, imported
from benchmarks.measure import percentile, postgres_server, statements, watched
from benchmarks.report import Figure, Report, Skipped
from benchmarks.scale import Scale
from talekeeper import Keeper, Request
from talekeeper.compose import composer
from talekeeper.compose.composer import compose
from talekeeper.compose.gather import gather
from talekeeper.compose.request import Material
from talekeeper.store import accounts
from talekeeper.store.database import Database
from talekeeper.store.keys import ChatKey
from talekeeper.store.opening import open_database

__all__ = ["database_file", "measure", "specs"]

_P50, _P95, _RATIO, _STATEMENTS = 5.0, 15.0, 1.3, 8
_WARM = 20
_EARLY = range(1, 11)
_STEPS = ("history", "fit", "arrange", "render")
_INPUTS = (
    "Do you still have the brass compass?",
    "*leans on the railing* What did the ferryman tell you last night? 🌊",
    "Ты помнишь, где мы спрятали ключ от чердака?",
    "你还记得灯塔看守人说的话吗？",
    "¿Y si salimos antes del amanecer?",
)


@dataclass(frozen=True, slots=True)
class _Hidden:
    """A fifth of a chat: every fifth message of the older half, and a run of a tenth near the end.

    Twenty messages follow the run, so that the live window reaches across it.
    """

    messages: int

    def __call__(self, index: int) -> bool:
        if index < self.messages // 2:
            return index % 5 == 0
        end = self.messages - 20
        return end - self.messages // 10 <= index < end


def database_file(folder: Path) -> Path:
    """Where the database with the long chats lies."""
    return folder / "chats.db"


def specs(messages: int) -> dict[str, ChatSpec]:
    """The three kinds of chats of that length, by kind."""
    solo = ChatSpec(name=f"solo-{messages}", messages=messages)
    cast = ("Mira", "Tobias", "千鶴")
    return {
        "solo": solo,
        "group": replace(solo, name=f"group-{messages}", characters=cast, seed=8),
        "excluded": replace(solo, name=f"excluded-{messages}", excluded=_Hidden(messages), seed=9),
    }


async def measure(report: Report, scale: Scale, folder: Path) -> None:
    """Add the figures of composing."""
    database = await open_database(database_file(folder))
    try:
        keeper = await Keeper.of(database, "default")
        chats = {
            (kind, messages): await imported(keeper, folder, spec)
            for messages in (scale.short, scale.long)
            for kind, spec in specs(messages).items()
        }
        for kind, title in _KINDS.items():
            pair = {m: chats[kind, m] for m in (scale.short, scale.long)}
            title = title.format(scale.long // 5)
            report.add(*await _both(keeper, pair, scale, title, strict=kind == "solo"))
        pair = {m: chats["solo", m] for m in (scale.short, scale.long)}
        for chat in pair.values():
            await keeper.messages.exclude(chat, *_EARLY)
        report.add(*await _both(keeper, pair, scale, "ten excluded early", strict=False))
        for chat in pair.values():
            await keeper.messages.include(chat, *_EARLY)
        hidden = chats["excluded", scale.long]
        sent = [await _statements(keeper, hidden, replacing=number) for number in (2, scale.long)]
        report.add(_count("regenerating the last reply, with excluded messages", sent))
        key = ChatKey(await database.read(_account), chats["solo", scale.long])
        report.add(*await _parts(database, key, scale.composes))
        report.add(_floor(database_file(folder), scale.composes))
    finally:
        await database.close()
    await _on_postgres(report, scale, folder)


_KINDS = {"solo": "one character", "group": "three characters", "excluded": "{:,} excluded"}


async def _both(
    keeper: Keeper, chats: Mapping[int, str], scale: Scale, title: str, *, strict: bool
) -> list[Figure]:
    """Times and statements of one kind of chat, short and long."""
    times = await _timed(keeper, chats, scale.composes)
    sent = [await _statements(keeper, chat) for chat in chats.values()]
    return [*_latency(times, scale, title, strict), _count(title, sent)]


async def _timed(keeper: Keeper, chats: Mapping[int, str], rounds: int) -> dict[int, list[float]]:
    """Milliseconds of each composition, warm, the chats in turn."""
    times: dict[int, list[float]] = {messages: [] for messages in chats}
    for turn in range(-_WARM, rounds):
        order = list(chats.items())
        for messages, chat in order if turn % 2 else reversed(order):
            begun = time.perf_counter()
            await keeper.compose(chat, _INPUTS[turn % len(_INPUTS)])
            if turn >= 0:
                times[messages].append(1000 * (time.perf_counter() - begun))
    return times


async def _statements(keeper: Keeper, chat: str, replacing: int | None = None) -> int:
    with statements() as sent:
        await keeper.compose(chat, None if replacing else _INPUTS[0], replacing=replacing)
    return len(sent.texts)


def _latency(
    times: Mapping[int, list[float]], scale: Scale, title: str, strict: bool
) -> Iterator[Figure]:
    """p50, p95 and growth; only the plain chat's are binding."""
    short, long = times[scale.short], times[scale.long]
    for name, share, bound in (("p50", 0.50, _P50), ("p95", 0.95, _P95)):
        yield Figure(
            section="compose",
            name=f"{scale.long:,} messages, {title}, {name}",
            value=percentile(long, share),
            unit="ms",
            must=bound if strict else None,
            goal=None if strict else bound,
            baseline=(f"{scale.short:,} messages", percentile(short, share)),
        )
    yield Figure(
        section="compose",
        name=f"{title}, p50 of {scale.long:,} to {scale.short:,} messages",
        value=percentile(long, 0.5) / percentile(short, 0.5),
        unit="times",
        must=_RATIO if strict else None,
        goal=None if strict else _RATIO,
        baseline=("p95", percentile(long, 0.95) / percentile(short, 0.95)),
    )


def _count(title: str, sent: list[int]) -> Figure:
    return Figure(
        section="compose",
        name=f"statements for one composition, {title}",
        value=sent[-1],
        unit="statements",
        must=_STATEMENTS,
        baseline=("at the beginning", sent[0]),
    )


async def _parts(database: Database, key: ChatKey, rounds: int) -> list[Figure]:
    """Where the time of a composition goes."""
    times: dict[str, list[float]] = {}
    request = Request(input=_INPUTS[0])

    def took(part: str, milliseconds: float) -> None:
        times.setdefault(part, []).append(milliseconds)

    with statements() as sent, watched(composer, _STEPS) as steps:
        for _ in range(rounds):
            begun, driver = time.perf_counter(), sent.seconds
            unit = partial(_clocked_gather, key=key, request=request)
            material, inside = await database.read(unit)
            took("read, with its hop to a thread", _since(begun))
            took("read, the unit alone", inside)
            took("read, in SQLite's driver", 1000 * (sent.seconds - driver))
            steps.clear()
            begun = time.perf_counter()
            compose(material, request)
            took("assemble, all that follows the read", _since(begun))
            for step, seconds in steps.items():
                took(f"assemble, {step}()", 1000 * seconds)
    return [
        Figure(
            section="compose",
            name=f"part: {name}, p50",
            value=percentile(taken, 0.5),
            unit="ms",
            baseline=("p95", percentile(taken, 0.95)),
        )
        for name, taken in times.items()
    ]


def _clocked_gather(
    connection: Connection, *, key: ChatKey, request: Request
) -> tuple[Material, float]:
    begun = time.perf_counter()
    material = gather(connection, key, request, {})
    return material, _since(begun)


def _since(begun: float) -> float:
    return 1000 * (time.perf_counter() - begun)


def _account(connection: Connection) -> str:
    account = accounts.find(connection, name="default")
    assert account is not None
    return account.id


def _floor(path: Path, rounds: int) -> Figure:
    """The least a composition could take: the newest texts, read with the plain driver."""
    connection = sqlite3.connect(path)
    key = connection.execute(
        "SELECT account_id, id FROM chats WHERE title LIKE 'solo-%' ORDER BY messages DESC"
    ).fetchone()
    taken = []
    for _ in range(rounds):
        begun = time.perf_counter()
        connection.execute(_NEWEST, key).fetchall()
        taken.append(_since(begun))
    connection.close()
    return Figure(
        section="compose",
        name="floor: the newest 51 texts with the plain driver, p50",
        value=percentile(taken, 0.5),
        unit="ms",
        baseline=("p95", percentile(taken, 0.95)),
    )


_NEWEST = """
SELECT m.number, m.role, m.speaker, s.text, s.tokens
FROM messages m JOIN swipes s USING (account_id, chat_id, number)
WHERE m.account_id = ? AND m.chat_id = ? AND s.swipe = m.active AND m.excluded = 0
ORDER BY m.number DESC LIMIT 51
"""


async def _on_postgres(report: Report, scale: Scale, folder: Path) -> None:
    """The same on PostgreSQL, where a server can be had; nothing of it is binding."""
    name = f"PostgreSQL, {scale.postgres:,} messages"
    try:
        server = postgres_server(folder)
    except ImportError as error:
        report.add(Skipped(section="compose", name=name, reason=f"no {error.name} here"))
        return
    with server as url:
        async with Keeper.open(url, settle="off") as keeper:
            chats = {
                messages: await imported(keeper, folder, specs(messages)["solo"])
                for messages in (scale.short, scale.postgres)
            }
            sizes = replace(scale, long=scale.postgres)
            report.add(*await _both(keeper, chats, sizes, "PostgreSQL", strict=False))
