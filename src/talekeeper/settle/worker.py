"""The loop that settles chats: looks for those with work, takes them in turn, waits for more."""

import logging
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime, timedelta
from functools import partial

import anyio

from talekeeper.domain.errors import (
    NotFound,
    StoreBusy,
    StoreClosed,
    StoreError,
    TalekeeperError,
)
from talekeeper.domain.limits import LIMITS
from talekeeper.record.memories import sweep_trash, with_old_trash
from talekeeper.settle.settler import Outcome, Settler
from talekeeper.store import settling
from talekeeper.store.keys import ChatKey

__all__ = ["Worker"]

_log = logging.getLogger(__name__)

Report = Callable[[Outcome], None]


class Worker:
    """Settles what is due, for one account or for all of a database.

    A chat gets a few summaries at a time, so that a long one does not keep others waiting. One that
    fails does not stop the others.
    """

    def __init__(
        self, settler: Settler, *, account: str | None = None, report: Report | None = None
    ) -> None:
        self._settler = settler
        self._account = account
        self._report = report
        self._changed = anyio.Event()
        self._swept: datetime | None = None

    def wake(self) -> None:
        """There may be work now."""
        self._changed.set()

    async def run(self, *, poll_seconds: float = 5.0) -> None:
        """Settle until cancelled; looks again when woken, at the latest after ``poll_seconds``.

        A database that cannot be used is waited for.
        """
        while True:
            self._changed = anyio.Event()
            try:
                worked = await self.round()
            except StoreClosed:
                return
            except StoreError as error:
                _log.warning("Settling waits for the database: %s", error)
                worked = False
            if not worked:
                with anyio.move_on_after(poll_seconds):
                    await self._changed.wait()

    async def drain(self) -> None:
        """Settle until nothing is due now."""
        while await self.round():
            pass

    async def round(self) -> bool:
        """Take each waiting chat once. Answers whether anything was done."""
        await self._sweep()
        waiting = partial(
            settling.waiting, now=self._settler.clock(), limit=_ROUND, account=self._account
        )
        try:
            keys = await self._settler.database.read(waiting)
        except StoreBusy:
            return False
        worked = False
        for key in keys:
            outcome = await self._take(key)
            if self._report is not None:
                self._report(outcome)
            # A chat in which nothing could be written is left to a later round.
            worked = worked or outcome.state == "done" or outcome.made + outcome.read > 0
        return worked

    async def _sweep(self) -> None:
        """Empty the trash of what has been there for its time, now and then."""
        now = self._settler.clock()
        if self._swept is None or now - self._swept >= _SWEEP:
            self._swept = now
            database = self._settler.database
            with suppress(StoreBusy):
                for account in await database.read(partial(with_old_trash, now=now)):
                    with suppress(NotFound):  # It was deleted meanwhile.
                        await database.write(partial(sweep_trash, account=account, now=now))

    async def _take(self, key: ChatKey) -> Outcome:
        try:
            return await self._settler.settle(key, most=LIMITS.cells_a_lease)
        except NotFound:
            return Outcome(key=key, state="done")  # It was deleted meanwhile.
        except StoreBusy as error:
            return Outcome(key=key, state="busy", reason=str(error))
        except Exception as error:  # noqa: BLE001
            # Whatever is wrong with one chat must not keep the others from being settled.
            _log.exception("Settling chat %s failed", key.chat)
            reason = f"{type(error).__name__}: {error}"
            try:
                await self._settler.fail(key, None, reason)
            except TalekeeperError:
                _log.exception("That chat %s failed could not be written down", key.chat)
            return Outcome(key=key, state="failed", reason=reason)


_SWEEP = timedelta(hours=1)
_ROUND = 32
"""Chats looked up at a time."""
