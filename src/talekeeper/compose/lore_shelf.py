"""Lorebooks as composing needs them: compiled once for each version, kept while they are in use.

A book of thousands of entries takes longer to read and compile than all else that a composition
does. What is kept belongs to one database and is found by account, book and version.
"""

import threading
from collections import OrderedDict
from collections.abc import Sequence
from weakref import WeakKeyDictionary

from sqlalchemy import Connection, Engine

from talekeeper.compose.activation import CompiledBook
from talekeeper.domain.lore import Lorebook
from talekeeper.store import lore_entries as rows

__all__ = ["compiled"]

_MOST_ENTRIES = 200_000
"""Entries of all books kept for one database together; the book used longest ago goes first."""


class _Shelf:
    def __init__(self) -> None:
        self._books: OrderedDict[tuple[str, str], CompiledBook] = OrderedDict()
        self._entries = 0
        self._lock = threading.Lock()

    def get(self, account: str, book: Lorebook) -> CompiledBook | None:
        with self._lock:
            found = self._books.get((account, book.id))
            if found is None or found.book.version != book.version:
                return None
            self._books.move_to_end((account, book.id))
            return found

    def put(self, account: str, made: CompiledBook) -> None:
        key = account, made.book.id
        with self._lock:
            before = self._books.pop(key, None)
            self._entries += made.size - (before.size if before else 0)
            self._books[key] = made
            while self._entries > _MOST_ENTRIES and len(self._books) > 1:
                _, gone = self._books.popitem(last=False)
                self._entries -= gone.size


_shelves: WeakKeyDictionary[Engine, _Shelf] = WeakKeyDictionary()
_making = threading.Lock()


def compiled(connection: Connection, account: str, books: Sequence[Lorebook]) -> list[CompiledBook]:
    """The books with their entries; those not at hand are read, in one statement each."""
    with _making:
        shelf = _shelves.setdefault(connection.engine, _Shelf())
    found: list[CompiledBook] = []
    for book in books:
        made = shelf.get(account, book)
        if made is None:
            made = CompiledBook.of(book, rows.of_book(connection, account, book.id))
            shelf.put(account, made)
        found.append(made)
    return found
