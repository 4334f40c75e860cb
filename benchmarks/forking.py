"""How long a fork of a long imported chat takes, and that its statements do not grow with it."""

from pathlib import Path

from benchmarks.data import ChatSpec, imported
from benchmarks.measure import clocked, statements
from benchmarks.report import Figure, Report
from benchmarks.scale import Scale
from talekeeper import Keeper

__all__ = ["measure"]

_SECONDS = 2.0
_ROUNDS = 3


async def measure(report: Report, scale: Scale, folder: Path) -> None:
    """Add the figures of forking."""
    path = folder / "forks.db"
    sent: dict[int, int] = {}
    taken: dict[int, float] = {}
    async with Keeper.open(path, settle="off") as keeper:
        for messages in (scale.short, scale.forked):
            spec = ChatSpec(name=f"fork-{messages}", messages=messages)
            chat = await imported(keeper, folder, spec)
            times = []
            for _ in range(_ROUNDS):
                with clocked() as clock:
                    copy = await keeper.chats.fork(chat, messages)
                times.append(clock.wall)
                await keeper.chats.delete(copy.id)
            taken[messages] = min(times)
            with statements() as counted:
                copy = await keeper.chats.fork(chat, messages)
            assert copy.messages == messages
            sent[messages] = len(counted.texts)
    report.add(
        Figure(
            section="fork",
            name=f"fork of {scale.forked:,} messages",
            value=taken[scale.forked],
            unit="s",
            must=_SECONDS,
            baseline=(f"{scale.short:,} messages", taken[scale.short]),
            note=f"the best of {_ROUNDS}",
        ),
        Figure(
            section="fork",
            name=f"statements of a fork of {scale.forked:,} messages",
            value=sent[scale.forked],
            unit="statements",
            must=sent[scale.short],
            baseline=(f"{scale.short:,} messages", sent[scale.short]),
        ),
    )
