"""What an import asks of single lines of a file."""

from collections.abc import Iterable

from talekeeper.domain.chat import Swipe
from talekeeper.formats.imported import ImportedHeader, ImportedLine, ImportedMessage, SkippedLine
from talekeeper.formats.st_line import read_line
from talekeeper.record.texts import storable
from talekeeper.store.lines import LineRow
from talekeeper.text.tokens import Tokenizer

__all__ = ["header_in", "line_row", "swipes_of", "user_in"]


def header_in(head: Iterable[LineRow]) -> ImportedHeader | None:
    """The header among a file's first lines."""
    for row in head:
        item = read_line(row.raw, line=row.line) if row.chain is None and row.raw else None
        if isinstance(item, ImportedHeader):
            return item
    return None


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
