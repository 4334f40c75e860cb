"""The same Keeper for code that is not asynchronous: every call waits for its answer."""

from contextlib import ExitStack
from functools import wraps
from inspect import iscoroutinefunction
from pathlib import Path
from typing import Any

from anyio.from_thread import BlockingPortal, start_blocking_portal

from talekeeper.keeper import Keeper

__all__ = ["SyncKeeper"]


class SyncKeeper:
    """Delegates to a Keeper that runs in a thread of its own; same names, same arguments."""

    def __init__(self, portal: BlockingPortal, keeper: Keeper, closing: ExitStack) -> None:
        self._portal = portal
        self._keeper = keeper
        self._closing = closing

    @classmethod
    def open(cls, where: str | Path = "sqlite://", **options: Any) -> "SyncKeeper":
        """Open as Keeper.open does. Close it, or use it in a ``with`` statement."""
        with ExitStack() as stack:
            portal = stack.enter_context(start_blocking_portal())
            opened = portal.wrap_async_context_manager(Keeper.open(where, **options))
            keeper = stack.enter_context(opened)
            return cls(portal, keeper, stack.pop_all())
        raise AssertionError("unreachable")

    def close(self) -> None:
        """Close the database and end the thread."""
        self._closing.close()

    def __enter__(self) -> "SyncKeeper":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __getattr__(self, name: str) -> Any:
        return _blocking(self._portal, getattr(self._keeper, name))


class _Part:
    """A group of methods, each of which waits."""

    def __init__(self, portal: BlockingPortal, part: object) -> None:
        self._portal = portal
        self._part = part

    def __getattr__(self, name: str) -> Any:
        return _blocking(self._portal, getattr(self._part, name))


def _blocking(portal: BlockingPortal, member: Any) -> Any:
    if not iscoroutinefunction(member):
        return _Part(portal, member)

    @wraps(member)
    def call(*args: Any, **kwargs: Any) -> Any:
        async def run() -> Any:
            return await member(*args, **kwargs)

        return portal.call(run)

    return call
