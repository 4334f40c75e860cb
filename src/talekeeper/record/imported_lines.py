"""What an import asks of single lines of a file."""

from collections.abc import Iterable, Sequence

from sqlalchemy import Connection

from talekeeper.domain.chat import Message, Swipe
from talekeeper.formats.imported import ImportedHeader, ImportedLine, ImportedMessage, SkippedLine
from talekeeper.formats.st_line import read_line
from talekeeper.record.texts import storable
from talekeeper.store import lined_messages as lined_rows
from talekeeper.store import lines as line_rows
from talekeeper.store.keys import ChatKey
from talekeeper.store.lines import LineRow
from talekeeper.text.tokens import Tokenizer

__all__ = ["first_changed", "header_in", "line_row", "swipes_of", "told_of", "user_in"]


def header_in(head: Iterable[LineRow]) -> ImportedHeader | None:
    """The header among a file's first lines."""
    for row in head:
        item = read_line(row.raw, line=row.line) if row.chain is None and row.raw else None
        if isinstance(item, ImportedHeader):
            return item
    return None


def told_of(item: ImportedLine, messages: Sequence[Message]) -> list[ImportedMessage]:
    """What a line says of each of the messages of a chat that it holds.

    Of a tool line some may be missing: a result that nobody gave, a caller whose words have a line.
    """
    if len(messages) == len(item.messages):
        return list(item.messages)
    results = {one.tool_call_id: one for one in item.messages}
    return [results.get(message.tool_call_id, item.messages[0]) for message in messages]


def first_changed(connection: Connection, key: ChatKey, line: int) -> int | None:
    """The first line of a chat's file, up to ``line``, that the chat does not say any more.

    What counts is what a chain covers: marks and further swipes leave a line as it was.
    """
    shortened = lined_rows.shortened(connection, key, line)
    touched = lined_rows.touched(connection, key, line if shortened is None else shortened - 1)
    raw = line_rows.raw_of(connection, key, list(touched))
    changed = (at for at, messages in touched.items() if not _says(raw[at], messages))
    return next(changed, shortened)


def _says(raw: bytes, messages: Sequence[Message]) -> bool:
    """Whether messages of a line still say what the line says; who speaks never changes."""
    item = read_line(raw, line=1)
    return isinstance(item, ImportedLine) and all(
        message.text == storable(said.text)
        for message, said in zip(messages, told_of(item, messages), strict=True)
    )


def line_row(
    line: int, item: ImportedHeader | ImportedLine | SkippedLine, chain: bytes | None
) -> LineRow:
    """The row of a line, with how many messages it holds."""
    held = len(item.messages) if isinstance(item, ImportedLine) else 0
    return LineRow(line, chain, item.raw, held)


def user_in(line: ImportedLine) -> str | None:
    """The name of the user who speaks in a line, if one does."""
    return next((storable(m.speaker) for m in line.messages if m.role == "user"), None)


def swipes_of(imported: ImportedMessage, tokenizer: Tokenizer) -> tuple[Swipe, ...]:
    """The swipes of an imported message, counted; its calls and parts belong to the active one."""
    return tuple(
        Swipe(
            index=index,
            text=(text := storable(swipe.text)),
            tokens=tokenizer.count(text),
            tokenizer=tokenizer.name,
            sent_at=swipe.sent_at,
            model=storable(swipe.model) if swipe.model else None,
            reasoning=storable(swipe.reasoning) if swipe.reasoning else None,
            tool_calls=imported.tool_calls if index == imported.active else (),
            parts=imported.parts if index == imported.active else (),
        )
        for index, swipe in enumerate(imported.swipes)
    )
