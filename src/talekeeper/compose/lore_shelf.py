"""Lorebooks as composing needs them: compiled once for each version, kept while they are in use.

A book of thousands of entries takes longer to read and compile than all else that a composition
does.
"""

from collections.abc import Sequence

from sqlalchemy import Connection

from talekeeper.compose.lore_index import CompiledBook
from talekeeper.domain.lore import Lorebook
from talekeeper.store import lore_entries as rows
from talekeeper.store.shelf import Shelf

__all__ = ["compiled"]

_books: Shelf[CompiledBook] = Shelf(200_000)
"""By account and book; entries of all books together."""


def compiled(connection: Connection, account: str, books: Sequence[Lorebook]) -> list[CompiledBook]:
    """The books with their entries; those not at hand are read, in one statement each."""
    found: list[CompiledBook] = []
    for book in books:
        made = _books.get(connection, (account, book.id), book.version)
        if made is None:
            made = CompiledBook.of(book, rows.of_book(connection, account, book.id))
            _books.put(connection, (account, book.id), book.version, made, weight=made.size)
        found.append(made)
    return found
