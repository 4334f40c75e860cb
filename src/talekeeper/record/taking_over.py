"""Lines of a file whose messages a chat has already: what is taken over from them.

Messages that change, or that get another line, are written under ``key``: the chat being imported,
whose rows take the place of those of ``base`` when the import is finished.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from sqlalchemy import Connection

from talekeeper.domain.chat import Message
from talekeeper.domain.errors import Conflict
from talekeeper.formats.imported import (
    ImportedHeader,
    ImportedLine,
    ImportedMessage,
    SkippedLine,
)
from talekeeper.record.imported_lines import line_row, swipes_of
from talekeeper.record.texts import storable
from talekeeper.record.walk import Walk
from talekeeper.store import lined_messages as lined_rows
from talekeeper.store import lines as line_rows
from talekeeper.store import messages as rows
from talekeeper.store.keys import ChatKey
from talekeeper.store.lines import LineRow
from talekeeper.store.message_rows import message_row, swipe_row
from talekeeper.text.tokens import Tokenizer

__all__ = ["CHANGED", "Chained", "adopt", "overlay", "reline"]

CHANGED = "The chat changed while the file was read. Nothing was imported; import again."

Chained = tuple[ImportedHeader | ImportedLine | SkippedLine, bytes | None]


def overlay(
    connection: Connection,
    base: ChatKey,
    key: ChatKey,
    shared: Sequence[Chained],
    tokenizer: Tokenizer,
) -> None:
    """Take over lines that changed in the file since, where the person changed nothing."""
    found = {item.line: (item, chain) for item, chain in shared if item.raw}
    if not found:
        return
    known = line_rows.raw_of(connection, base, list(found))
    differing = [line for line, (item, _) in found.items() if known.get(line) != item.raw]
    if not differing:
        return
    held = lined_rows.of_lines(connection, base, differing[0], differing[-1])
    for line in differing:
        item, chain = found[line]
        messages = held.get(line, [])
        if isinstance(item, ImportedLine):
            same = len(messages) == len(item.messages)
            if not same or not all(message.untouched for message in messages):
                continue
            for old, imported in zip(messages, item.messages, strict=True):
                _write(connection, key, _as_told(old.message, imported, tokenizer), line)
        line_rows.remove(connection, key, line)
        line_rows.insert_lines(connection, key, [line_row(line, item, chain)])


def reline(
    connection: Connection,
    key: ChatKey,
    shared: Sequence[Chained],
    unlined: Iterator[Sequence[int]],
    tokenizer: Tokenizer,
) -> None:
    """Give the messages of a fork the lines of its own file, where its parent's differ."""
    kept: list[LineRow] = []
    for item, chain in shared:
        row = line_row(item.line, item, chain)
        if isinstance(item, ImportedLine):
            numbers = next(unlined)
            # The caller of a tool line stands elsewhere where it has words, and a line for them.
            told = item.messages[len(item.messages) - len(numbers) :]
            for number, imported in zip(numbers, told, strict=True):
                old = rows.get(connection, key, number)
                _write(connection, key, _as_told(old, imported, tokenizer), item.line)
            row = replace(row, messages=len(numbers))
        if item.raw:
            kept.append(row)
    line_rows.insert_lines(connection, key, kept)


def adopt(
    connection: Connection,
    key: ChatKey,
    walk: Walk,
    lines: Sequence[tuple[int, Chained]],
    tokenizer: Tokenizer,
) -> None:
    """Give messages that were written or changed here the lines in which the file has them.

    Swipes and marks are taken over from the file, unless that would lose a swipe. Raises Conflict
    where the chat does not say any more what it said when it was compared.
    """
    kept: list[LineRow] = []
    for line, (item, chain) in lines:
        row = line_row(line, item, chain)
        if isinstance(item, ImportedLine):
            taken = walk.take(connection, item)
            if taken is None:
                raise Conflict(CHANGED)
            for old in taken:
                _adopt_one(connection, key, old, item, line, tokenizer)
            row = replace(row, messages=len(taken))
        if item.raw:
            kept.append(row)
    line_rows.insert_lines(connection, key, kept)


def _adopt_one(
    connection: Connection,
    key: ChatKey,
    old: Message,
    item: ImportedLine,
    line: int,
    tokenizer: Tokenizer,
) -> None:
    imported = item.messages[0]
    told = [storable(swipe.text) for swipe in imported.swipes]
    texts = [swipe.text for swipe in old.swipes]
    same = texts == told and old.swipes[imported.active].index == old.active
    if imported.tool_calls or (same and old.excluded == imported.excluded):
        _write(connection, key, old, line)
    elif set(texts) <= set(told):
        _write(connection, key, _as_told(old, imported, tokenizer), line)
    else:
        _write(connection, key, old, line, touched=True)


def _as_told(old: Message, imported: ImportedMessage, tokenizer: Tokenizer) -> Message:
    calls = imported.tool_calls or old.swipe.tool_calls
    return replace(
        old,
        role=imported.role,
        speaker=storable(imported.speaker),
        active=imported.active,
        version=old.version + 1,
        swipes=swipes_of(replace(imported, tool_calls=calls), tokenizer),
        excluded=imported.excluded,
        tool_call_id=imported.tool_call_id,
    )


def _write(
    connection: Connection, key: ChatKey, message: Message, line: int, *, touched: bool = False
) -> None:
    """Write a message as that of a line; ``touched``: it was changed since the line was written."""
    version = message.version - 1 if touched else message.version
    rows.remove(connection, key, [message.number])
    rows.insert_many(
        connection,
        [message_row(key, message, line=line, line_version=version)],
        [swipe_row(key, message.number, swipe) for swipe in message.swipes],
    )
