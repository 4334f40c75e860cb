"""What a summary costs a composition, and what settling costs in a long chat.

The long chat is settled by the command itself, in a process of its own, so that its memory can be
read; the time is held against that of a chat a quarter as long.
"""

import math
import shutil
import sys
import time
from pathlib import Path

from benchmarks.data import ChatSpec, imported
from benchmarks.measure import percentile, run_child, statements
from benchmarks.report import Figure, Report
from benchmarks.scale import Scale
from talekeeper import Keeper
from talekeeper.parts.summaries import SummaryView

__all__ = ["measure"]

_COMMAND = str(Path(sys.executable).with_name("talekeeper"))
_ADDED, _STATEMENTS = 1.0, 2
_MEMORY, _LINEAR, _SPEED = 400.0, 1.3, 200.0
_ROUNDS = 200


async def measure(report: Report, scale: Scale, folder: Path) -> None:
    """Add the figures of settling."""
    long, short = scale.settled, scale.settled // 4
    await _settled(report, folder, long=long, short=short)
    async with (
        Keeper.open(_database(folder, long), settle="off") as keeper,
        Keeper.open(_bare(folder), settle="off") as bare,
    ):
        report.add(*await _composed(keeper, bare, long))
        report.add(*await _edited(keeper))


def _database(folder: Path, messages: int) -> Path:
    return folder / f"settled-{messages}.db"


def _bare(folder: Path) -> Path:
    """The long chat as it was before it was settled."""
    return folder / "unsettled.db"


async def _settled(report: Report, folder: Path, *, long: int, short: int) -> None:
    """Settle two chats of which one is four times as long."""
    seconds: dict[int, float] = {}
    idle = run_child([_COMMAND, "--db", str(folder / "idle.db"), "settle"])
    for messages in (short, long):
        database = _database(folder, messages)
        spec = ChatSpec(name=f"settled-{messages}", messages=messages)
        async with Keeper.open(database, settle="off") as keeper:
            await imported(keeper, folder, spec)
        shutil.copyfile(database, _bare(folder))
        run = run_child([_COMMAND, "--db", str(database), "settle"])
        seconds[messages] = run.seconds - idle.seconds
    report.add(
        Figure(
            section="settle",
            name=f"settled without a model, {long:,} messages, all three levels",
            value=long / seconds[long],
            unit="messages/s",
            must=_SPEED,
            more_is_better=True,
        ),
        Figure(
            section="settle",
            name=f"time of {long:,} messages to four times that of {short:,}",
            value=seconds[long] / (long / short * seconds[short]),
            unit="times",
            must=_LINEAR,
        ),
        Figure(
            section="settle",
            name=f"peak memory of `talekeeper settle`, {long:,} messages",
            value=run.peak_bytes / 1e6,
            unit="MB",
            must=_MEMORY,
            baseline=("nothing to settle", idle.peak_bytes / 1e6),
        ),
    )


async def _edited(keeper: Keeper) -> list[Figure]:
    """How many summaries one edit in the middle takes to mend."""
    chat = (await keeper.chats.list())[0].id
    view = await keeper.summaries.show(chat)
    long_term = sum(node.place.tier == 2 for node in view.nodes)
    most = 3 + math.ceil(math.log(max(1, long_term), 4))
    middle = view.nodes[len(view.of_level("recent")) // 2]
    await keeper.messages.edit(chat, middle.first, "Something else was said here altogether.")
    settled = await keeper.summaries.settle(chat)
    return [
        Figure(
            section="settle",
            name="summaries made anew after one edit in the middle",
            value=float(settled.made),
            unit="summaries",
            must=float(most),
            baseline=("all of them", float(len(view.nodes))),
        ),
        Figure(
            section="settle",
            name="tokens of the summary in a prompt",
            value=float(_sent_tokens(view)),
            unit="tokens",
        ),
    ]


def _sent_tokens(view: SummaryView) -> int:
    return sum(node.tokens for node in view.nodes if node.place in view.sent)


async def _composed(keeper: Keeper, bare: Keeper, messages: int) -> list[Figure]:
    """Composing with the summary, and composing the same chat as it was before, in turn."""
    chat = (await keeper.chats.list())[0].id
    taken: dict[Keeper, list[float]] = {keeper: [], bare: []}
    for at in range(_ROUNDS):
        for one in (keeper, bare) if at % 2 else (bare, keeper):
            begun = time.perf_counter()
            await one.compose(chat, "What now?")
            taken[one].append(1e3 * (time.perf_counter() - begun))
    with statements() as sent:
        await keeper.compose(chat, "What now?")
    without = percentile(taken[bare], 0.5)
    return [
        Figure(
            section="settle",
            name=f"a summary adds to a composition, {messages:,} messages, p50",
            value=percentile(taken[keeper], 0.5) - without,
            unit="ms",
            must=_ADDED,
            baseline=("without one", without),
        ),
        Figure(
            section="settle",
            name="statements that read the summary",
            value=float(sum("summaries" in text for text in sent.texts)),
            unit="statements",
            must=float(_STATEMENTS),
        ),
    ]
