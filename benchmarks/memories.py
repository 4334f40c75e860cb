"""What saved memories cost: in a database with very many of them, and in one prompt.

The memories of one account are copied to many, with all that belongs to them, in a small and in a
large database; both are measured in turn. What they add to a prompt is told by the same chats in an
account whose characters do not learn.
"""

import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from itertools import cycle
from pathlib import Path

from sqlalchemy import Connection

from benchmarks.data import ChatSpec, imported
from benchmarks.measure import percentile, postgres_server, statements
from benchmarks.report import Figure, Report, Skipped
from benchmarks.scale import Scale
from benchmarks.text import Writer
from talekeeper import LIMITS, Keeper, Request
from talekeeper.compose.gather import gather
from talekeeper.domain.memory import State
from talekeeper.record.journal import add_memory
from talekeeper.store import accounts as account_rows
from talekeeper.store import memories as memory_rows
from talekeeper.store.database import Database
from talekeeper.store.keys import ChatKey
from talekeeper.store.opening import open_database
from talekeeper.store.schema import metadata
from talekeeper.text.tokens import tokenizer_named

__all__ = ["measure"]

_RATIO = 1.3
_TWO_SCOPES, _TWENTY_SCOPES = 3.0, 15.0
_STATEMENTS = 2
_WARM = 20
_AN_ACCOUNT = 100
"""Memories of each account where there are many accounts."""
_FEW = 10
_BATCH = 1_000
_STRIDE = 7_919
_TOKENS = 25
_INPUT = "Do you still have the brass compass?"
_BEGUN = datetime(2026, 1, 6, 18, 30, tzinfo=UTC)

Work = Callable[[], Awaitable[object]]


async def measure(report: Report, scale: Scale, folder: Path) -> None:
    """Add the figures of saved memories."""
    await _growth(report, scale, folder)
    database = await open_database(folder / "memories.db")
    try:
        await _prompts(report, scale, folder, database, "")
    finally:
        await database.close()
    await _on_postgres(report, scale, folder)


async def _account(database: Database, name: str) -> str:
    found = await database.read(lambda connection: account_rows.find(connection, name=name))
    assert found is not None
    return found.id


# Many memories in one database


@dataclass(frozen=True, kw_only=True, slots=True)
class _Home:
    """An account as it is copied: its chat, and the character whose memories are looked at."""

    keeper: Keeper
    chat: str
    character: str


async def _growth(report: Report, scale: Scale, folder: Path) -> None:
    many = scale.memories // _AN_ACCOUNT
    homes: dict[int, list[_Home]] = {}
    databases: list[Database] = []
    try:
        for accounts in (_FEW, many):
            database = await open_database(folder / f"memories-{accounts}.db")
            databases.append(database)
            homes[accounts] = await _settled(database, folder, accounts, scale.composes)
        works = {
            "list a scope": _listing,
            "add a memory": _adding,
            "compose": _composing,
        }
        for name, work in works.items():
            times = await _in_turn(homes, work, scale.composes)
            report.add(*_grown(f"{name}, {scale.memories:,} memories there", times, many))
    finally:
        for database in databases:
            await database.close()


async def _settled(database: Database, folder: Path, accounts: int, rounds: int) -> list[_Home]:
    """Fill a database with accounts that are alike; answers those to be looked at, far apart."""
    keeper = await Keeper.of(database, "account-0")
    chat = await imported(keeper, folder, ChatSpec(name="remembered", messages=20))
    character = (await keeper.characters.list())[0].id
    account = await _account(database, "account-0")
    filling = _Filling(account=account, scopes={None: (25, 5), character: (60, 10)})
    await database.write(filling)
    for first in range(1, accounts, _BATCH):
        copying = _Copying(account, first, min(first + _BATCH, accounts))
        await database.write(copying)
    chosen = sorted({at * _STRIDE % accounts for at in range(rounds + _WARM)})
    return [
        _Home(keeper=await Keeper.of(database, f"account-{at}"), chat=chat, character=character)
        for at in chosen
    ]


@dataclass(frozen=True, kw_only=True, slots=True)
class _Filling:
    """Fills scopes with (unpinned, pinned) memories, as a unit of work."""

    account: str
    scopes: Mapping[str | None, tuple[int, int]]

    def __call__(self, connection: Connection) -> None:
        memory_rows.lock(connection, self.account)
        writer = Writer(5)
        tokenizer = tokenizer_named("o200k_base")
        made = 0
        for character, (unpinned, pinned) in self.scopes.items():
            for at in range(unpinned + pinned):
                text = f"{made}: {writer.text(_TOKENS)}"[: LIMITS.memory_characters]
                add_memory(
                    connection,
                    self.account,
                    State(text=text, character=character, pinned=at >= unpinned),
                    author="person",
                    now=_BEGUN + timedelta(minutes=made),
                    tokenizer=tokenizer,
                )
                made += 1


@dataclass(frozen=True, slots=True)
class _Copying:
    """Copies an account with all it has to new ones, numbered, as a unit of work on SQLite."""

    account: str
    first: int
    end: int

    def __call__(self, connection: Connection) -> None:
        bound = (self.first, self.end - 1, self.account.replace("-", ""))
        for table in metadata.sorted_tables:
            owner = {"accounts": "id"}.get(table.name, "account_id")
            if owner not in table.c:
                continue
            others = [f'"{column.name}"' for column in table.c if column.name != owner]
            said = [
                "'account-' || n" if (table.name, name) == ("accounts", '"name"') else name
                for name in others
            ]
            connection.exec_driver_sql(
                f"WITH RECURSIVE new(n) AS (SELECT ? UNION ALL SELECT n + 1 FROM new WHERE n < ?) "
                f"INSERT INTO {table.name} ({owner}, {', '.join(others)}) "
                f"SELECT printf('%012x', 1717986918400 + n) || '70008000000000000000', "
                f"{', '.join(said)} FROM new CROSS JOIN {table.name} WHERE {owner} = ?",
                bound,
            )


def _listing(home: _Home) -> Work:
    return lambda: home.keeper.memories.list(home.character)


def _adding(home: _Home) -> Work:
    return lambda: home.keeper.memories.add(
        "Anna's grandmother left her the lighthouse.", character=home.character
    )


def _composing(home: _Home) -> Work:
    return lambda: home.keeper.compose(home.chat, _INPUT)


async def _in_turn(
    homes: Mapping[int, Sequence[_Home]], work: Callable[[_Home], Work], rounds: int
) -> dict[int, list[float]]:
    """Milliseconds of each piece of work; another account each time, the databases in turn."""
    times: dict[int, list[float]] = {size: [] for size in homes}
    visits = {size: cycle(found) for size, found in homes.items()}
    for turn in range(-_WARM, rounds):
        for size in sorted(homes, reverse=turn % 2 == 0):
            home = next(visits[size])
            begun = time.perf_counter()
            await work(home)()
            taken = 1000 * (time.perf_counter() - begun)
            if turn >= 0:
                times[size].append(taken)
            if work is _adding:
                added = (await home.keeper.memories.list(home.character)).memories
                newest = max(memory.id for memory in added)
                await home.keeper.memories.purge(newest)
    return times


def _grown(name: str, times: Mapping[int, list[float]], many: int) -> list[Figure]:
    few, large = times[_FEW], times[many]
    baseline = f"{_FEW * _AN_ACCOUNT:,} memories"
    return [
        *(
            Figure(
                section="memories",
                name=f"{name}, {label}",
                value=percentile(large, share),
                unit="ms",
                baseline=(baseline, percentile(few, share)),
            )
            for label, share in (("p50", 0.5), ("p95", 0.95))
        ),
        Figure(
            section="memories",
            name=f"{name}, growth of the p50",
            value=percentile(large, 0.5) / percentile(few, 0.5),
            unit="times",
            must=_RATIO,
            baseline=("p95", percentile(large, 0.95) / percentile(few, 0.95)),
        ),
    ]


# Full scopes in one prompt


@dataclass(frozen=True, kw_only=True, slots=True)
class _Chat:
    """A chat, and who composes it."""

    keeper: Keeper
    key: ChatKey

    async def compose(self) -> None:
        """Compose, as for a reply to something said."""
        await self.keeper.compose(self.key.chat, _INPUT)


async def _prompts(
    report: Report, scale: Scale, folder: Path, database: Database, where: str
) -> None:
    """What the memories of 2 and of 20 full scopes add to a prompt."""
    for scopes, bound in ((2, _TWO_SCOPES), (20, _TWENTY_SCOPES)):
        cast = tuple(f"Mira {at}" for at in range(1, scopes))
        spec = ChatSpec(name=f"cast-{scopes}", messages=60, characters=cast)
        on = await _remembering(database, folder, spec, learn=True)
        off = await _remembering(database, folder, spec, learn=False)
        times = await _alternating(on, off, scale.composes)
        title = f"{where}{scopes} full scopes"
        report.add(*_added(title, times, None if where else bound))
        report.add(*await _read(database, on, off, title, scopes))


async def _remembering(database: Database, folder: Path, spec: ChatSpec, *, learn: bool) -> _Chat:
    """A chat whose characters' scopes, and the global one, are full; switched off or not."""
    name = f"{spec.name}-{'on' if learn else 'off'}"
    keeper = await Keeper.of(database, name)
    chat = await imported(keeper, folder, spec)
    members = [character.id for character in await keeper.characters.list()]
    full = (LIMITS.memories, LIMITS.pinned_memories)
    scopes = dict.fromkeys([None, *members], full)
    account = await _account(database, name)
    await database.write(_Filling(account=account, scopes=scopes))
    for member in members:
        await keeper.characters.learn(member, learn)
    return _Chat(keeper=keeper, key=ChatKey(account, chat))


async def _alternating(on: _Chat, off: _Chat, rounds: int) -> dict[bool, list[float]]:
    """Milliseconds of each composition, with memories and without in turn."""
    times: dict[bool, list[float]] = {True: [], False: []}
    for turn in range(-_WARM, rounds):
        for learning in (True, False) if turn % 2 else (False, True):
            chat = on if learning else off
            begun = time.perf_counter()
            await chat.compose()
            if turn >= 0:
                times[learning].append(1000 * (time.perf_counter() - begun))
    return times


def _added(title: str, times: Mapping[bool, list[float]], bound: float | None) -> list[Figure]:
    return [
        Figure(
            section="memories",
            name=f"{title} add to a composition, {label}",
            value=percentile(times[True], share) - percentile(times[False], share),
            unit="ms",
            must=bound if label == "p50" else None,
            baseline=("without memories", percentile(times[False], share)),
        )
        for label, share in (("p50", 0.5), ("p95", 0.95))
    ]


async def _read(database: Database, on: _Chat, off: _Chat, title: str, scopes: int) -> list[Figure]:
    """Statements that memories add, and how many of their texts are read."""
    sent: list[int] = []
    for chat in (on, off):
        with statements() as counted:
            await chat.compose()
        sent.append(len(counted.texts))
    request = Request(input=_INPUT)
    material = await database.read(lambda connection: gather(connection, on.key, request, {}))
    assert material.memories is not None
    pinned, unpinned, more = material.memories
    return [
        Figure(
            section="memories",
            name=f"statements that {title} add",
            value=sent[0] - sent[1],
            unit="statements",
            must=_STATEMENTS,
            baseline=("without memories", sent[1]),
        ),
        Figure(
            section="memories",
            name=f"memories read for {title}",
            value=len(pinned) + len(unpinned),
            unit="memories",
            must=LIMITS.memories_sent + LIMITS.pinned_memories * scopes,
            baseline=("there are", len(pinned) + len(unpinned) + more),
        ),
    ]


async def _on_postgres(report: Report, scale: Scale, folder: Path) -> None:
    """The same on PostgreSQL, where a server can be had; its times are not binding."""
    try:
        server = postgres_server(folder)
    except ImportError as error:
        reason = f"no {error.name} here"
        report.add(Skipped(section="memories", name="PostgreSQL, full scopes", reason=reason))
        return
    with server as url:
        database = await open_database(url)
        try:
            fewer = replace(scale, composes=min(scale.composes, 100))
            await _prompts(report, fewer, folder, database, "PostgreSQL, ")
        finally:
            await database.close()
