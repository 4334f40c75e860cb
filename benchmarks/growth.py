"""Whether everyday work stays as fast when a chat, or the list of chats, grows long."""

import time
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path

from benchmarks.compose import database_file, specs
from benchmarks.data import imported
from benchmarks.measure import percentile
from benchmarks.report import Figure, Report
from benchmarks.scale import Scale
from benchmarks.text import Writer
from talekeeper import Keeper

__all__ = ["measure"]

_RATIO = 1.3
_PAGE = 100
_FEW = 10

Work = Callable[[], Awaitable[object]]


async def measure(report: Report, scale: Scale, folder: Path) -> None:
    """Add the figures of growth."""
    async with Keeper.open(database_file(folder), settle="off") as keeper:
        chats = {
            messages: await imported(keeper, folder, specs(messages)["solo"])
            for messages in (scale.short, scale.long)
        }
        report.add(*await _recording(keeper, chats, scale))
        report.add(*await _listing(keeper, chats, scale))
    report.add(await _chats(scale, folder))


async def _recording(keeper: Keeper, chats: Mapping[int, str], scale: Scale) -> list[Figure]:
    writer = Writer(11)
    texts = iter([writer.text(100) for _ in range(2 * scale.records)])

    def work(chat: str) -> Work:
        return lambda: keeper.record(chat, next(texts))

    times = await _in_turn({m: work(chat) for m, chat in chats.items()}, scale.records)
    return _figures(f"record a message, {scale.long:,} there", times, scale)


async def _listing(keeper: Keeper, chats: Mapping[int, str], scale: Scale) -> list[Figure]:
    def work(chat: str) -> Work:
        return lambda: keeper.messages.list(chat, limit=_PAGE)

    times = await _in_turn({m: work(chat) for m, chat in chats.items()}, scale.records)
    return _figures(f"list the last {_PAGE} messages of {scale.long:,}", times, scale)


async def _chats(scale: Scale, folder: Path) -> Figure:
    times: dict[int, list[float]] = {}
    for count in (_FEW, scale.chats):
        async with Keeper.open(folder / f"list-{count}.db", settle="off") as keeper:
            await keeper.characters.add(name="Mira", first_mes="You came back, {{user}}!")
            for _ in range(count):
                await keeper.chats.start("Mira", persona="Anna")
            times |= await _in_turn({count: keeper.chats.list}, 20)
    return Figure(
        section="growth",
        name=f"list {scale.chats:,} chats, p50",
        value=percentile(times[scale.chats], 0.5),
        unit="ms",
        baseline=(f"{_FEW} chats", percentile(times[_FEW], 0.5)),
    )


async def _in_turn(works: Mapping[int, Work], rounds: int) -> dict[int, list[float]]:
    """Milliseconds of each piece of work, done in turn so that noise hits all alike."""
    times: dict[int, list[float]] = {size: [] for size in works}
    for _ in range(rounds):
        for size, work in works.items():
            begun = time.perf_counter()
            await work()
            times[size].append(1000 * (time.perf_counter() - begun))
    return times


def _figures(name: str, times: Mapping[int, list[float]], scale: Scale) -> list[Figure]:
    short, long = times[scale.short], times[scale.long]
    figures = [
        Figure(
            section="growth",
            name=f"{name}, {label}",
            value=percentile(long, share),
            unit="ms",
            baseline=(f"{scale.short:,} messages", percentile(short, share)),
        )
        for label, share in (("p50", 0.5), ("p95", 0.95))
    ]
    ratio = percentile(long, 0.5) / percentile(short, 0.5)
    return [
        *figures,
        Figure(
            section="growth",
            name=f"{name}, growth of the p50",
            value=ratio,
            unit="times",
            goal=_RATIO,
        ),
    ]
