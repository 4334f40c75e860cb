"""What tells one chat's file from another's: SillyTavern's mark, and the chat it branched from.

A chat that came without a mark, or from no file, is marked with its own id.
"""

from pathlib import PurePath
from typing import NamedTuple

from sqlalchemy import Connection

from talekeeper.domain.errors import NotFound
from talekeeper.formats.imported import ImportedHeader
from talekeeper.record.imported_lines import header_in
from talekeeper.record.texts import storable
from talekeeper.store import chats as chat_rows
from talekeeper.store import lined_messages as lined_rows
from talekeeper.store import lines as line_rows
from talekeeper.store.keys import ChatKey
from talekeeper.store.lines import ImportRow

__all__ = ["Mark", "file_title", "mark_of"]

_HEAD_LINES = 3  # among which a file's header is looked for


class Mark(NamedTuple):
    """``integrity`` and ``main_chat`` of an exported header; None: nothing is written."""

    integrity: str | None
    main_chat: str | None


def mark_of(connection: Connection, key: ChatKey) -> Mark:
    """What the header of a chat's export says.

    A file that came in unmarked stays so until something of the chat's own follows its lines. A
    fork made here is a chat of its own: it names its parent, as a branch in SillyTavern does.
    """
    source = line_rows.import_of(connection, key)
    header = _header(connection, key) if source else None
    main_chat = header.main_chat if header else None
    integrity = source.integrity if source else key.chat
    if integrity is None:
        goes_on = lined_rows.without_line(connection, key, after=0, limit=1)
        return Mark(key.chat if goes_on else None, main_chat)
    if header and header.integrity and storable(header.integrity) == integrity:
        return Mark(integrity, main_chat)
    return Mark(integrity, _parent(connection, key) if integrity == key.chat else None)


def file_title(source: ImportRow) -> str:
    """What SillyTavern calls the chat of a file: the file's name without its ending."""
    return PurePath(source.file_name).stem


def _header(connection: Connection, key: ChatKey) -> ImportedHeader | None:
    return header_in(line_rows.page(connection, key, after=-1, limit=_HEAD_LINES))


def _parent(connection: Connection, key: ChatKey) -> str | None:
    forked_from = chat_rows.get(connection, key).forked_from
    if forked_from is None:
        return None
    parent = ChatKey(key.account, forked_from[0])
    source = line_rows.import_of(connection, parent)
    if source is not None:
        return file_title(source)
    try:
        return chat_rows.state(connection, parent).title
    except NotFound:  # it was deleted since
        return None
