"""The lines of imported chat files, byte for byte, and which messages they hold."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import islice

from sqlalchemy import ColumnElement, Connection, and_, delete, func, insert, or_, select, update

from talekeeper.store.bulk import insert_rows
from talekeeper.store.copying import copied
from talekeeper.store.keys import ChatKey, is_id
from talekeeper.store.tables import chats, imported_files, imports, lines, messages

__all__ = [
    "ImportRow",
    "LineRow",
    "copy_until",
    "forget_after",
    "forget_text",
    "import_of",
    "imports_of",
    "insert_lines",
    "last",
    "marked",
    "move",
    "page",
    "positions",
    "raw_of",
    "remove",
    "remove_after",
    "replace_import",
    "told_before",
    "with_digest",
]


@dataclass(frozen=True, kw_only=True, slots=True)
class ImportRow:
    """The file a chat came from.

    ``integrity`` is the mark that SillyTavern puts into a chat.
    """

    format: str
    file_name: str
    integrity: str | None
    final_newline: bool
    imported_at: datetime


@dataclass(frozen=True, slots=True)
class LineRow:
    """One line. ``chain`` is None where it holds no message; ``messages`` is how many it held."""

    line: int
    chain: bytes | None
    raw: bytes
    messages: int = 0


def replace_import(connection: Connection, key: ChatKey, row: ImportRow, digest: bytes) -> None:
    """Remember the file a chat comes from, in place of an earlier one.

    The hash of all its bytes, ``digest``, is kept beside those of the earlier ones.
    """
    connection.execute(
        delete(imports).where(imports.c.account_id == key.account, imports.c.chat_id == key.chat)
    )
    connection.execute(
        insert(imports).values(
            account_id=key.account,
            chat_id=key.chat,
            format=row.format,
            file_name=row.file_name,
            integrity=row.integrity,
            final_newline=row.final_newline,
            imported_at=row.imported_at,
        )
    )
    connection.execute(
        insert(imported_files).values(account_id=key.account, chat_id=key.chat, digest=digest)
    )


def import_of(connection: Connection, key: ChatKey) -> ImportRow | None:
    """The file a chat came from, None for a chat that was never imported."""
    return imports_of(connection, key.account, [key.chat]).get(key.chat)


def imports_of(
    connection: Connection, account: str, chat_ids: Sequence[str]
) -> dict[str, ImportRow]:
    """The files that chats came from, by chat."""
    wanted, found = iter(chat_ids), dict[str, ImportRow]()
    while batch := list(islice(wanted, 500)):
        for row in connection.execute(
            select(
                imports.c.chat_id,
                imports.c.format,
                imports.c.file_name,
                imports.c.integrity,
                imports.c.final_newline,
                imports.c.imported_at,
            ).where(imports.c.account_id == account, imports.c.chat_id.in_(batch))
        ):
            values = dict(row._mapping)
            chat = values.pop("chat_id")
            found[chat] = ImportRow(**values)
    return found


def insert_lines(connection: Connection, key: ChatKey, batch: Sequence[LineRow]) -> None:
    """Keep lines."""
    insert_rows(
        connection,
        lines,
        [
            {
                "account_id": key.account,
                "chat_id": key.chat,
                "line": row.line,
                "chain": row.chain,
                "messages": row.messages,
                "raw": row.raw,
            }
            for row in batch
        ],
    )


def positions(
    connection: Connection, account: str, chains: Sequence[bytes]
) -> dict[bytes, dict[str, int]]:
    """For each of ``chains`` that is known: the visible chats that hold it, and in which line."""
    found: dict[bytes, dict[str, int]] = {}
    for row in connection.execute(
        select(lines.c.chain, lines.c.chat_id, lines.c.line)
        .join_from(
            lines,
            chats,
            and_(chats.c.account_id == lines.c.account_id, chats.c.id == lines.c.chat_id),
        )
        .where(
            lines.c.account_id == account,
            lines.c.chain.in_(chains),
            chats.c.importing_since.is_(None),
        )
    ):
        found.setdefault(bytes(row.chain), {})[row.chat_id] = row.line
    return found


def raw_of(connection: Connection, key: ChatKey, numbers: Sequence[int]) -> dict[int, bytes]:
    """The raw bytes of lines by line number."""
    wanted, found = iter(numbers), dict[int, bytes]()
    while batch := list(islice(wanted, 500)):
        rows = connection.execute(
            select(lines.c.line, lines.c.raw).where(_in(key), lines.c.line.in_(batch))
        )
        found.update((row.line, bytes(row.raw)) for row in rows)
    return found


def page(connection: Connection, key: ChatKey, *, after: int, limit: int) -> list[LineRow]:
    """Up to ``limit`` lines above ``after``, in order."""
    rows = connection.execute(
        select(lines.c.line, lines.c.chain, lines.c.raw, lines.c.messages)
        .where(lines.c.account_id == key.account, lines.c.chat_id == key.chat, lines.c.line > after)
        .order_by(lines.c.line)
        .limit(limit)
    )
    return [LineRow(row.line, row.chain, bytes(row.raw), row.messages) for row in rows]


def copy_until(connection: Connection, source: ChatKey, target: ChatKey, number: int) -> None:
    """Copy the import and its lines up to the line of message ``number`` into another chat."""
    last_line = (
        select(func.max(messages.c.line))
        .where(
            messages.c.account_id == source.account,
            messages.c.chat_id == source.chat,
            messages.c.number <= number,
        )
        .scalar_subquery()
    )
    connection.execute(copied(imports, source, target))
    connection.execute(copied(lines, source, target, lines.c.line <= last_line))
    # The mark says which chat a file is, and the copy is another one.
    connection.execute(
        update(imports)
        .where(imports.c.account_id == target.account, imports.c.chat_id == target.chat)
        .values(integrity=target.chat)
    )


def forget_after(connection: Connection, key: ChatKey, number: int) -> None:
    """Let go of the bytes of lines that hold only messages above ``number``; places stay."""
    last_line = (
        select(func.coalesce(func.max(messages.c.line), 0))
        .where(
            messages.c.account_id == key.account,
            messages.c.chat_id == key.chat,
            messages.c.number <= number,
        )
        .scalar_subquery()
    )
    connection.execute(
        update(lines)
        .where(_in(key), lines.c.chain.is_not(None), lines.c.line > last_line)
        .values(raw=b"")
    )


def forget_text(connection: Connection, key: ChatKey, numbers: Sequence[int]) -> None:
    """Let go of the bytes of lines that hold none but the messages ``numbers``; places stay."""
    mine = and_(messages.c.account_id == key.account, messages.c.chat_id == key.chat)
    going = select(messages.c.line).where(mine, messages.c.number.in_(numbers))
    staying = select(messages.c.line).where(
        mine, messages.c.line.in_(going), messages.c.number.not_in(numbers)
    )
    connection.execute(
        update(lines)
        .where(_in(key), lines.c.line.in_(going), lines.c.line.not_in(staying))
        .values(raw=b"")
    )


def with_digest(connection: Connection, account: str, digest: bytes) -> str | None:
    """The oldest visible chat into which a file of exactly these bytes came."""
    same_chat = and_(
        chats.c.account_id == imported_files.c.account_id, chats.c.id == imported_files.c.chat_id
    )
    return connection.execute(
        select(chats.c.id)
        .join_from(imported_files, chats, same_chat)
        .where(
            imported_files.c.account_id == account,
            imported_files.c.digest == digest,
            chats.c.importing_since.is_(None),
        )
        .order_by(chats.c.id)
        .limit(1)
    ).scalar()


def marked(connection: Connection, account: str, mark: str) -> list[str]:
    """The visible chats whose file carries a mark, or whose id it is; the oldest first."""
    same = [imports.c.integrity == mark]
    if is_id(mark):
        same.append(chats.c.id == mark)
    return list(
        connection.execute(
            select(chats.c.id)
            .outerjoin_from(
                chats,
                imports,
                and_(chats.c.account_id == imports.c.account_id, chats.c.id == imports.c.chat_id),
            )
            .where(chats.c.account_id == account, chats.c.importing_since.is_(None), or_(*same))
            .order_by(chats.c.id)
        ).scalars()
    )


def remove(connection: Connection, key: ChatKey, numbers: Sequence[int]) -> None:
    """Let go of lines."""
    wanted = iter(numbers)
    while batch := list(islice(wanted, 500)):
        connection.execute(delete(lines).where(_in(key), lines.c.line.in_(batch)))


def remove_after(
    connection: Connection, key: ChatKey, line: int, *, only_told: bool = False
) -> None:
    """Let go of the lines above one; ``only_told``: of those that hold or held messages."""
    conditions = [lines.c.chain.is_not(None)] if only_told else []
    connection.execute(delete(lines).where(_in(key), lines.c.line > line, *conditions))


def told_before(connection: Connection, key: ChatKey, line: int) -> tuple[int, int]:
    """(how many, the last) of the lines before one that hold or held messages."""
    count, last = connection.execute(
        select(func.count(), func.max(lines.c.line)).where(
            _in(key), lines.c.line < line, lines.c.chain.is_not(None)
        )
    ).one()
    return count, last or 0


def last(connection: Connection, key: ChatKey) -> int:
    """The number of the last line, 0 where there is none."""
    return connection.execute(select(func.max(lines.c.line)).where(_in(key))).scalar() or 0


def move(connection: Connection, source: ChatKey, target: ChatKey) -> None:
    """Hand all lines of a chat to another; they replace lines of the same number."""
    connection.execute(
        delete(lines).where(_in(target), lines.c.line.in_(select(lines.c.line).where(_in(source))))
    )
    connection.execute(update(lines).where(_in(source)).values(chat_id=target.chat))


def _in(key: ChatKey) -> ColumnElement[bool]:
    return and_(lines.c.account_id == key.account, lines.c.chat_id == key.chat)
