"""What the parts of a Keeper share: the account, the database, the clock and the ids."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import Any, Concatenate, ParamSpec, TypeVar

from sqlalchemy import Connection

from talekeeper.domain.errors import StoreClosed
from talekeeper.store.accounts import Account
from talekeeper.store.database import Database
from talekeeper.store.keys import ChatKey

__all__ = ["Desk"]

T = TypeVar("T")
P = ParamSpec("P")


class Desk:
    """Runs units of work for one account; ``after_write`` is called when one has changed it."""

    def __init__(
        self,
        database: Database,
        account: Account,
        *,
        clock: Callable[[], datetime],
        new_id: Callable[[], str],
    ) -> None:
        self.database = database
        self.account = account
        self.clock = clock
        self.new_id = new_id
        self.after_write: Callable[[], Awaitable[None]] | None = None
        self._closed = False

    def close(self) -> None:
        """From now on every unit is refused: a closed database would open anew, and empty."""
        self._closed = True

    def _check_open(self) -> None:
        if self._closed:
            raise StoreClosed("This keeper is closed. Open another one.")

    def key(self, chat: str) -> ChatKey:
        """The key of a chat of this account."""
        return ChatKey(self.account.id, chat)

    async def read(
        self, unit: Callable[Concatenate[Connection, P], T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Run a unit that only reads, on one snapshot."""
        self._check_open()
        return await self.database.read(partial(_call, unit, args, kwargs))

    async def write(
        self, unit: Callable[Concatenate[Connection, P], T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Run a unit that writes, in one transaction."""
        self._check_open()
        answer = await self.database.write(partial(_call, unit, args, kwargs))
        if self.after_write is not None:
            await self.after_write()
        return answer


def _call(
    unit: Callable[..., T], args: Sequence[Any], kwargs: Mapping[str, Any], connection: Connection
) -> T:
    return unit(connection, *args, **kwargs)
