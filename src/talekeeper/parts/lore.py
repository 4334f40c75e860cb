"""``keeper.lore`` and ``keeper.entries``: lorebooks, and memory entries."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

from talekeeper.domain.lore import Entry, Lorebook, Use, UseKind
from talekeeper.formats.imported_lore import LoreFormat
from talekeeper.formats.lorebook import read_lorebook
from talekeeper.formats.lorebook_write import Written
from talekeeper.parts.desk import Desk
from talekeeper.record import lore as units
from talekeeper.record import lore_files
from talekeeper.record.report import ImportReport
from talekeeper.store import lore as rows
from talekeeper.store import lore_entries as entry_rows

__all__ = ["BookView", "Lore", "MemoryEntries"]


@dataclass(frozen=True, kw_only=True, slots=True)
class BookView:
    """A lorebook with all its entries."""

    book: Lorebook
    entries: Sequence[Entry]


class Lore:
    """The account's lorebooks. A book is named by its id or its name."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    async def list(self) -> Sequence[Lorebook]:
        """All lorebooks, by name."""
        return await self._desk.read(rows.listed, self._desk.account.id)

    async def get(self, book: str) -> BookView:
        """A lorebook with its entries. Raises NotFound, Ambiguous."""
        return await self._desk.read(_view, self._desk.account.id, book)

    async def add(self, /, name: str, *, uses: Sequence[Use] = (), **fields: Any) -> Lorebook:
        """Add an empty lorebook; ``fields`` are those of Lorebook. Raises InvalidInput, NotFound
        for what it is to be used for."""
        desk = self._desk
        return await desk.write(
            units.add_book,
            desk.account.id,
            name,
            fields,
            uses=uses,
            new_id=desk.new_id(),
            now=desk.clock(),
        )

    async def update(
        self, /, book: str, *, expected_version: int | None = None, **fields: Any
    ) -> Lorebook:
        """Change what a lorebook says of itself. Raises NotFound, InvalidInput, Conflict."""
        desk = self._desk
        return await desk.write(
            units.update_book,
            desk.account.id,
            book,
            fields,
            now=desk.clock(),
            expected_version=expected_version,
        )

    async def delete(self, book: str) -> Lorebook:
        """Delete a lorebook with its entries; answers what it was. Raises NotFound, Ambiguous."""
        return await self._desk.write(units.delete_book, self._desk.account.id, book)

    async def use(self, book: str, kind: UseKind, target: str | None = None) -> Lorebook:
        """Use a lorebook for all chats (``global``), or for a character, persona or chat of that
        id. Raises NotFound, InvalidInput."""
        return await self._set_use(book, kind, target, on=True)

    async def unuse(self, book: str, kind: UseKind, target: str | None = None) -> Lorebook:
        """No longer use it for that. Raises NotFound."""
        return await self._set_use(book, kind, target, on=False)

    async def _set_use(self, book: str, kind: UseKind, target: str | None, *, on: bool) -> Lorebook:
        use = Use(kind=kind, target=target)
        return await self._desk.write(units.set_use, self._desk.account.id, book, use, on=on)

    async def add_entry(self, /, book: str, **fields: Any) -> Entry:
        """Add an entry; ``fields`` are those of Entry. Raises NotFound, InvalidInput."""
        desk = self._desk
        return await desk.write(units.add_entry, desk.account.id, book, fields, now=desk.clock())

    async def update_entry(
        self, /, book: str, entry: int, *, expected_version: int | None = None, **fields: Any
    ) -> Entry:
        """Change an entry; ``expected_version`` is the book's. Raises NotFound, InvalidInput,
        Conflict."""
        desk = self._desk
        return await desk.write(
            units.update_entry,
            desk.account.id,
            book,
            entry,
            fields,
            now=desk.clock(),
            expected_version=expected_version,
        )

    async def delete_entry(self, book: str, entry: int) -> Entry:
        """Delete an entry; answers what it was. Raises NotFound."""
        desk = self._desk
        return await desk.write(units.delete_entry, desk.account.id, book, entry, now=desk.clock())

    async def import_file(
        self, data: bytes, name: str, *, uses: Sequence[Use] = (), dry_run: bool = False
    ) -> ImportReport:
        """Add the book of a file: SillyTavern, a card's book, Agnai, RisuAI or NovelAI. ``name`` is
        the file's. A book that is there already adds nothing. Raises UnreadableFile, NotFound."""
        desk = self._desk
        run = desk.read if dry_run else desk.write
        return await run(
            lore_files.import_book,
            desk.account.id,
            read_lorebook(data, name=PurePath(name).stem),
            data,
            file_name=name,
            uses=uses,
            new_id=desk.new_id(),
            now=desk.clock(),
            dry_run=dry_run,
        )

    async def export(self, book: str, form: LoreFormat | None = None) -> Written:
        """A lorebook as a file, with notices of what that kind of file cannot say: byte for byte as
        it came if nothing changed. Raises NotFound, Ambiguous."""
        return await self._desk.read(lore_files.export_book, self._desk.account.id, book, form=form)


class MemoryEntries:
    """Memory entries: texts that are sent when a keyword is mentioned, of a character or global."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    async def list(self, character: str | None = None) -> Sequence[Entry]:
        """The entries of a scope: a character's id, or None for global. Raises NotFound."""
        _, found = await self._desk.read(units.memory_entries, self._desk.account.id, character)
        return found

    async def add(
        self, /, text: str, *keys: str, character: str | None = None, **fields: Any
    ) -> Entry:
        """Add an entry that is sent when one of ``keys`` is mentioned. ``fields`` are further ones
        of Entry. Raises InvalidInput, NotFound."""
        desk = self._desk
        return await desk.write(
            units.add_memory_entry,
            desk.account.id,
            character,
            {"content": text, "keys": keys, **fields},
            new_id=desk.new_id(),
            now=desk.clock(),
        )

    async def update(self, /, entry: int, *, character: str | None = None, **fields: Any) -> Entry:
        """Change an entry of a scope. Raises NotFound, InvalidInput."""
        desk = self._desk
        return await desk.write(
            units.update_memory_entry,
            desk.account.id,
            character,
            entry,
            fields,
            now=desk.clock(),
        )

    async def delete(self, entry: int, *, character: str | None = None) -> Entry:
        """Delete an entry of a scope; answers what it was. Raises NotFound."""
        desk = self._desk
        return await desk.write(
            units.delete_memory_entry, desk.account.id, character, entry, now=desk.clock()
        )


def _view(connection: Any, account: str, wanted: str) -> BookView:
    book = units.book_named(connection, account, wanted)
    return BookView(book=book, entries=entry_rows.of_book(connection, account, book.id))
