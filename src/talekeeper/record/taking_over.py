"""Lines of a file whose messages a chat has already: what is taken over from them.

Messages that change, or that get another line, are written under ``key``: the chat being imported,
whose rows take the place of those of ``base`` when the import is finished.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from sqlalchemy import Connection

from talekeeper.domain.chat import Message, Swipe
from talekeeper.domain.errors import Conflict
from talekeeper.formats.imported import (
    ImportedHeader,
    ImportedLine,
    ImportedMessage,
    SkippedLine,
)
from talekeeper.record.imported_lines import line_row, swipes_of, told_of
from talekeeper.record.texts import storable
from talekeeper.record.walk import Walk
from talekeeper.store import lined_messages as lined_rows
from talekeeper.store import lines as line_rows
from talekeeper.store import messages as rows
from talekeeper.store.keys import ChatKey
from talekeeper.store.lined_messages import LinedMessage
from talekeeper.store.lines import LineRow
from talekeeper.store.message_rows import message_row, swipe_row
from talekeeper.text.tokens import Tokenizer

__all__ = ["CHANGED", "Chained", "adopt", "overlay", "reline"]

CHANGED = "The chat changed while the file was read. Nothing was imported; import again."

Chained = tuple[ImportedHeader | ImportedLine | SkippedLine, bytes | None]


@dataclass(slots=True)
class _Held:
    """Messages and lines of a chat being imported, to be written in place of what is there."""

    key: ChatKey
    messages: dict[int, tuple[Message, int, int]] = field(default_factory=dict)
    lines: list[LineRow] = field(default_factory=list)

    def hold(self, message: Message, line: int, *, as_told: bool) -> None:
        """A message of a line; ``as_told``: it says just what the line says, marks and all."""
        version = message.version if as_told else message.version - 1
        self.messages[message.number] = (message, line, version)

    def write(self, connection: Connection) -> None:
        """Write all, in a number of statements that does not grow with the batch."""
        rows.remove(connection, self.key, list(self.messages))
        rows.insert_many(
            connection,
            [
                message_row(self.key, message, line=line, line_version=version)
                for message, line, version in self.messages.values()
            ],
            [
                swipe_row(self.key, number, swipe)
                for number, (message, _, _) in self.messages.items()
                for swipe in message.swipes
            ],
        )
        line_rows.remove(connection, self.key, [row.line for row in self.lines])
        line_rows.insert_lines(connection, self.key, self.lines)


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
    there = lined_rows.of_lines(connection, base, differing[0], differing[-1])
    held = _Held(key)
    for line in differing:
        item, chain = found[line]
        row = line_row(line, item, chain)
        if isinstance(item, ImportedLine):
            lined = there.get(line, [])
            same = len(lined) == len(item.messages)
            if not same or not all(one.untouched for one in lined):
                continue
            for one, imported in zip(lined, item.messages, strict=True):
                _take(held, one.message, imported, line, tokenizer, untouched=True)
        held.lines.append(row)
    held.write(connection)


def reline(
    connection: Connection,
    key: ChatKey,
    shared: Sequence[Chained],
    unlined: Iterator[Sequence[tuple[int, bool]]],
    tokenizer: Tokenizer,
) -> None:
    """Give the messages of a fork the lines of its own file, where its parent's differ.

    ``unlined`` are the numbers of the messages of each line, and whether they are untouched.
    """
    marks = {item.line: next(unlined) for item, _ in shared if isinstance(item, ImportedLine)}
    numbers = [number for line in marks.values() for number, _ in line]
    there = {message.number: message for message in rows.get_many(connection, key, numbers)}
    held = _Held(key)
    for item, chain in shared:
        row = line_row(item.line, item, chain)
        if isinstance(item, ImportedLine):
            old = [there[number] for number, _ in marks[item.line]]
            told = zip(old, marks[item.line], told_of(item, old), strict=True)
            for message, (_, untouched), imported in told:
                _take(held, message, imported, item.line, tokenizer, untouched=untouched)
            row = replace(row, messages=len(old))
        if item.raw:
            held.lines.append(row)
    held.write(connection)


def adopt(
    connection: Connection,
    key: ChatKey,
    walk: Walk,
    lines: Sequence[tuple[int, Chained]],
    tokenizer: Tokenizer,
) -> None:
    """Give messages that were written or changed here the lines in which the file has them.

    Raises Conflict where the chat does not say any more what it said when it was compared.
    """
    held = _Held(key)
    for line, (item, chain) in lines:
        row = line_row(line, item, chain)
        if isinstance(item, ImportedLine):
            taken = walk.take(connection, item)
            if taken is None:
                raise Conflict(CHANGED)
            for lined in taken:
                _adopt_one(held, lined, item, line, tokenizer)
            row = replace(row, messages=len(taken))
        if item.raw:
            held.lines.append(row)
    held.write(connection)


def _adopt_one(
    held: _Held, lined: LinedMessage, item: ImportedLine, line: int, tokenizer: Tokenizer
) -> None:
    old, imported = lined.message, item.messages[0]
    if imported.tool_calls or _says(old, imported):
        held.hold(old, line, as_told=True)
        return
    untouched = lined.untouched and not _loses(old, imported)
    _take(held, old, imported, line, tokenizer, untouched=untouched)


def _take(
    held: _Held,
    old: Message,
    imported: ImportedMessage,
    line: int,
    tokenizer: Tokenizer,
    *,
    untouched: bool,
) -> None:
    """Let a message say what its line says; to what the person changed, swipes are only added."""
    message = _as_told(old, imported, tokenizer)
    if not untouched:
        message = replace(message, excluded=old.excluded)
        message = old if _loses(old, imported) else message
    held.hold(message, line, as_told=_says(message, imported))


def _says(message: Message, imported: ImportedMessage) -> bool:
    """Whether a message has just the swipes and marks that a line tells of it."""
    active = [swipe.index for swipe in message.swipes].index(message.active)
    told = [storable(swipe.text) for swipe in imported.swipes]
    return (active, message.excluded, [swipe.text for swipe in message.swipes]) == (
        imported.active,
        imported.excluded,
        told,
    )


def _loses(old: Message, imported: ImportedMessage) -> bool:
    """Whether a message has swipes that the line does not tell of."""
    told = {storable(swipe.text) for swipe in imported.swipes}
    return not {swipe.text for swipe in old.swipes} <= told


def _as_told(old: Message, imported: ImportedMessage, tokenizer: Tokenizer) -> Message:
    """The message as its line tells it, with what SillyTavern has no place for.

    That are calls beside words, what hangs on swipes that are not the active one, and the mark of
    a tool group: no line of it can be excluded there.
    """
    calls = imported.tool_calls or old.swipe.tool_calls
    had = {swipe.text: swipe for swipe in old.swipes}
    swipes = tuple(
        swipe if swipe.index == imported.active else _with_own(swipe, had.get(swipe.text))
        for swipe in swipes_of(replace(imported, tool_calls=calls), tokenizer)
    )
    grouped = old.tool_call_id is not None or any(swipe.tool_calls for swipe in swipes)
    return replace(
        old,
        role=imported.role,
        speaker=storable(imported.speaker),
        active=imported.active,
        version=old.version + 1,
        swipes=swipes,
        excluded=old.excluded if grouped else imported.excluded,
        tool_call_id=imported.tool_call_id,
    )


def _with_own(swipe: Swipe, had: Swipe | None) -> Swipe:
    return replace(swipe, tool_calls=had.tool_calls, parts=had.parts) if had else swipe
