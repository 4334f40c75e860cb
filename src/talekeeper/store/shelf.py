"""What is made from a database and kept in memory while its version holds.

Nothing is kept beyond the life of the database's connections. Each thing is found by a key that
begins with the account, and by the version of what it was made from: whoever changes that counts
the version up in the same transaction.
"""

import threading
from collections import OrderedDict
from collections.abc import Hashable
from typing import Generic, TypeVar
from weakref import WeakKeyDictionary

from sqlalchemy import Connection, Engine

__all__ = ["Shelf"]

T = TypeVar("T")


class Shelf(Generic[T]):
    """Keeps things up to ``most`` in weight for each database; the one used longest ago goes first.

    Safe to share between threads.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._kept: WeakKeyDictionary[Engine, OrderedDict[Hashable, tuple[int, int, T]]] = (
            WeakKeyDictionary()
        )
        self._lock = threading.Lock()

    def get(self, connection: Connection, key: Hashable, version: int) -> T | None:
        """What was made of this version, if it is still there."""
        with self._lock:
            kept = self._kept.get(connection.engine)
            found = kept.get(key) if kept is not None else None
            if kept is None or found is None or found[0] != version:
                return None
            kept.move_to_end(key)
            return found[2]

    def put(
        self, connection: Connection, key: Hashable, version: int, made: T, *, weight: int = 1
    ) -> None:
        """Keep what was made, in place of what was made of another version."""
        with self._lock:
            kept = self._kept.setdefault(connection.engine, OrderedDict())
            kept[key] = (version, weight, made)
            kept.move_to_end(key)
            total = sum(one[1] for one in kept.values())
            while total > self._most and len(kept) > 1:
                _, (_, lighter, _) = kept.popitem(last=False)
                total -= lighter
