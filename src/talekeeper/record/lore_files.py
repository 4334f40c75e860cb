"""Lorebooks in from files and cards, and out again."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from hashlib import blake2b
from pathlib import PurePath
from typing import Any

from sqlalchemy import Connection

from talekeeper.domain.limits import LIMITS
from talekeeper.domain.lore import Entry, Lorebook, Use
from talekeeper.formats.imported import Notice
from talekeeper.formats.imported_lore import ImportedLorebook, LoreFormat
from talekeeper.formats.lorebook_write import Written, card_book, write_lorebook
from talekeeper.record.lore import book_named, check_use
from talekeeper.record.report import ImportReport, Outcome
from talekeeper.record.texts import storable, storable_name
from talekeeper.store import accounts as account_rows
from talekeeper.store import lore as rows
from talekeeper.store import lore_entries as entry_rows
from talekeeper.store.lore import BookFile
from talekeeper.store.lore_entries import EntryRow

__all__ = ["changed_card_book", "export_book", "import_book", "replace_card_book", "same_as"]


def import_book(
    connection: Connection,
    account: str,
    imported: ImportedLorebook,
    content: bytes | None,
    *,
    file_name: str,
    uses: Sequence[Use] = (),
    new_id: str,
    now: datetime,
    dry_run: bool = False,
) -> ImportReport:
    """Add the book of a file, and keep the file. One whose entries are there already, from
    whatever file, adds nothing; it is used for ``uses`` all the same. Raises NotFound for these."""
    if not dry_run:
        account_rows.get(connection, account, lock=True)
    for use in uses:
        check_use(connection, account, use)
    digest = same_as([row.entry for row in imported.entries])
    present = rows.by_digest(connection, account, digest)
    book = rows.get(connection, account, present) if present else None
    outcome: Outcome = "present" if book else "new"
    if book is None:
        book = _book(imported, file_name, new_id, now)
        if not dry_run:
            _keep(connection, account, book, imported, content, digest, now=now)
    if not dry_run:
        for use in uses:
            rows.use(connection, account, book.id, use)
    report = _report(file_name, imported, book, outcome, known=not dry_run or outcome == "present")
    if outcome == "new" and not uses:
        report = replace(report, notices=(*report.notices, _UNUSED))
    return report


_UNUSED = Notice(text="It is used for nothing yet: 'talekeeper lore use' says what for.")


def replace_card_book(
    connection: Connection,
    account: str,
    character: str,
    imported: ImportedLorebook | None,
    *,
    file_name: str,
    new_id: str,
    now: datetime,
) -> None:
    """Use the book of a card for its character, in place of the one that its card had before; a
    book that a person changed since stays, beside it."""
    use = Use(kind="character", target=character)
    for book in rows.listed(connection, account):
        file = rows.file_of(connection, account, book.id) if use in book.uses else None
        if file is None or file.format != "card" or file.content is not None:
            continue
        if imported is not None and file.digest == same_as([row.entry for row in imported.entries]):
            return
        if book.version == file.version:
            rows.unuse(connection, account, book.id, use)
            if book.uses == (use,):
                rows.remove(connection, account, book.id)
    if imported is not None and imported.entries:
        import_book(
            connection,
            account,
            imported,
            None,
            file_name=file_name,
            uses=[use],
            new_id=new_id,
            now=now,
        )


def export_book(
    connection: Connection, account: str, wanted: str, *, form: LoreFormat | None = None
) -> Written:
    """A book as a file: byte for byte as it came if nothing changed; else what it came as, or a
    SillyTavern world. ``form`` names another. Raises NotFound, Ambiguous."""
    book = book_named(connection, account, wanted)
    file = rows.file_of(connection, account, book.id)
    chosen: LoreFormat = form or (file.format if file else "sillytavern")
    if file and file.content and chosen == file.format and book.version == file.version:
        return Written(file.content, ())
    entries = entry_rows.with_documents(connection, account, book.id)
    return write_lorebook(
        book,
        [(row.entry, row.document) for row in entries],
        format=chosen,
        document=file.document if file else None,
        source=file.format if file else None,
    )


def changed_card_book(
    connection: Connection, account: str, character: str
) -> Mapping[str, Any] | None:
    """The book that came with a character's card, if it was changed since: as a card holds it."""
    use = Use(kind="character", target=character)
    for book in rows.listed(connection, account):
        file = rows.file_of(connection, account, book.id) if use in book.uses else None
        if file is None or file.content is not None or file.version == book.version:
            continue
        entries = entry_rows.with_documents(connection, account, book.id)
        return card_book(book, [(row.entry, row.document) for row in entries], file.document)
    return None


def same_as(entries: Sequence[Entry]) -> bytes:
    """A hash of what entries say and when they fire, whatever kind of file they stand in."""
    said = sorted(
        [
            list(entry.keys),
            [*entry.secondary, entry.logic] if entry.secondary else [],
            entry.content,
            entry.constant,
            entry.enabled,
            entry.probability,
        ]
        for entry in entries
    )
    return blake2b(json.dumps(said, ensure_ascii=True).encode(), digest_size=16).digest()


def _book(imported: ImportedLorebook, file_name: str, new_id: str, now: datetime) -> Lorebook:
    name = storable_name(imported.name) or storable_name(PurePath(file_name).stem)
    depth = imported.scan_depth
    return Lorebook(
        id=new_id,
        name=" ".join(name.split()) or "Imported lorebook",
        description=storable(imported.description),
        scan_depth=LIMITS.scan_depth if depth is None else depth,
        token_budget=imported.token_budget,
        recursive=bool(imported.recursive),
        names=imported.names,
        entries=len(imported.entries),
        created_at=now,
    )


def _keep(
    connection: Connection,
    account: str,
    book: Lorebook,
    imported: ImportedLorebook,
    content: bytes | None,
    digest: bytes,
    *,
    now: datetime,
) -> None:
    rows.insert_book(connection, account, book, now=now)
    highest = max((row.entry.id for row in imported.entries), default=0)
    rows.next_entries(connection, account, book.id, highest + 1)
    entry_rows.add(
        connection,
        account,
        book.id,
        (
            EntryRow(replace(row.entry, content=storable(row.entry.content)), _kept(row.document))
            for row in imported.entries
        ),
    )
    rows.change(connection, account, book, now=now)
    file = BookFile(
        digest=digest,
        format=imported.format,
        document=_kept(imported.document),
        version=book.version + 1,
        content=content,
    )
    rows.keep_file(connection, account, book.id, file)


def _kept(value: Any) -> Any:
    """JSON as it can be stored."""
    if isinstance(value, str):
        return storable(value)
    if isinstance(value, Mapping):
        return {storable(str(key)): _kept(item) for key, item in value.items()}
    return [_kept(item) for item in value] if isinstance(value, (list, tuple)) else value


def _report(
    file_name: str, imported: ImportedLorebook, book: Lorebook, outcome: Outcome, *, known: bool
) -> ImportReport:
    notices: tuple[Notice, ...] = imported.notices
    return ImportReport(
        file=file_name,
        kind="lorebook",
        outcome=outcome,
        id=book.id if known else None,
        title=book.name,
        book_entries=len(imported.entries),
        notices=notices,
        unknown=dict.fromkeys(imported.unknown, 1),
    )
