"""Settling in the process of whoever opened the database: beside the work, or right after each."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Literal

from talekeeper.domain.errors import InvalidInput
from talekeeper.settle.worker import Worker

__all__ = ["SettleMode", "check_mode", "in_background"]

SettleMode = Literal["background", "immediate", "off"]
"""``background``: a task of this process; ``immediate``: before each write returns, for tests and
scripts; ``off``: left to ``talekeeper worker``, or to an explicit call."""

_MODES = ("background", "immediate", "off")


def check_mode(mode: str) -> None:
    """Raise InvalidInput for a mode that does not exist."""
    if mode not in _MODES:
        raise InvalidInput(f"There is no settle mode {mode!r}; there are {', '.join(_MODES)}.")


@asynccontextmanager
async def in_background(worker: Worker) -> AsyncIterator[None]:
    """Run a worker beside the body. What it has under way at the end is left to whoever is next."""
    task = asyncio.create_task(worker.run())
    try:
        yield
    finally:
        task.cancel()
        await asyncio.wait([task])
