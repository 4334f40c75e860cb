"""Read a SillyTavern or TavernAI chat file line by line, solo and group, old and new.

Holds one line at a time (a few at the start), so that a file of any size streams. Knows no
store, does not sort by date and does not compare files.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import chain
from typing import BinaryIO

from talekeeper.domain.errors import UnreadableFile
from talekeeper.domain.limits import LIMITS
from talekeeper.formats.imported import (
    ImportedHeader,
    ImportedLine,
    ImportedMessage,
    Notice,
    SkippedLine,
)
from talekeeper.formats.st_line import Names, read_line

__all__ = ["read_st_chat"]

_Item = ImportedHeader | ImportedLine | SkippedLine

_UNREAD_LINES = 1_000  # a file whose first thousand lines are no chat is none
_PEEKED_LINES = 16  # within which a group's first character speaks
_WAITING_LINES = 50  # tool lines that wait for the reply that tells who called


def read_st_chat(stream: BinaryIO) -> Iterator[ImportedHeader | ImportedLine | SkippedLine]:
    """The header, then each other line in order.

    Exactly one header comes first; a file without one gets an empty one (``line`` 0, no
    ``raw``). Every line of the file is in exactly one item, so that the ``raw`` of all items,
    by ``line``, are the file. A line that cannot be understood costs that line alone.
    UnreadableFile: no line is a header or a message, no line after a header can be read, or one
    line is longer than the limit (the rest is not read then).
    """
    items = _items(stream)
    header, opening = _opening(items)
    yield header
    yield from _with_callers(chain(opening, items), header)


def _items(stream: BinaryIO) -> Iterator[_Item]:
    """What each line holds. Only the first header counts, and only before any message."""
    names = Names()
    begun = False
    heard = False
    unread: Notice | None = None
    offset = 0
    number = 0
    while raw := stream.readline(LIMITS.chat_line_bytes + 1):
        number += 1
        if len(raw) > LIMITS.chat_line_bytes:
            raise UnreadableFile(
                f"Line {number} is longer than {LIMITS.chat_line_bytes:,} bytes: "
                "choose a chat file of JSON lines, or take that line out."
            )
        item: _Item = read_line(raw, line=number, offset=offset, names=names)
        heard = heard or isinstance(item, ImportedLine)
        if isinstance(item, SkippedLine) and item.notices:
            unread = unread or item.notices[0]
        if isinstance(item, ImportedHeader):
            if begun:
                notice = Notice(text="A second header; it was passed over.", line=number)
                item = SkippedLine(line=number, raw=raw, notices=(notice,))
            else:
                names = Names(user=item.user_name or "", character=item.character_name or "")
        begun = begun or not isinstance(item, SkippedLine)
        yield item
        offset += len(raw)
    if begun and unread and not heard:
        raise UnreadableFile(
            "This file has the header of a chat, but none of its lines can be read "
            f"({_reason(unread)}): choose another one."
        )


def _opening(items: Iterator[_Item]) -> tuple[ImportedHeader, list[ImportedLine | SkippedLine]]:
    """The header, knowing by the first character's line whether this is a group."""
    header: ImportedHeader | None = None
    read: list[ImportedLine | SkippedLine] = []
    begun = False
    size = 0
    for item in items:
        begun = begun or not isinstance(item, SkippedLine)
        size += len(item.raw)
        if isinstance(item, ImportedHeader):
            header = item
            continue
        read.append(item)
        voice = _first_voice(item)
        if voice is not None:
            header = header or ImportedHeader(line=0)
            return replace(header, group=header.group or voice.speaker_key is not None), read
        most = _PEEKED_LINES if begun else _UNREAD_LINES
        if len(read) >= most or size > LIMITS.chat_line_bytes:
            break
    if not begun:
        raise UnreadableFile(_no_chat(read))
    return header or ImportedHeader(line=0), read


def _first_voice(item: ImportedLine | SkippedLine) -> ImportedMessage | None:
    """A line's message where a character speaks in it."""
    if not isinstance(item, ImportedLine):
        return None
    first = item.messages[0]
    return first if first.role == "assistant" and not first.tool_calls else None


def _no_chat(read: list[ImportedLine | SkippedLine]) -> str:
    reasons = [notice for line in read for notice in line.notices]
    if not reasons:
        return "This file holds nothing but blank lines: choose another one."
    return (
        "This file holds no line of a SillyTavern or TavernAI chat "
        f"({_reason(reasons[0])}): choose another one."
    )


def _reason(notice: Notice) -> str:
    reason = notice.text.partition(":")[0]
    return reason[:1].lower() + reason[1:]


def _with_callers(
    items: Iterable[_Item], header: ImportedHeader
) -> Iterator[ImportedLine | SkippedLine]:
    """Tool lines are written by SillyTavern itself: who called is who speaks next.

    Where nobody does (the chat ends, the user speaks), it is who spoke last.
    """
    waiting: list[ImportedLine | SkippedLine] = []
    last = ImportedMessage(role="assistant", speaker=header.character_name or "", swipes=())
    size = 0
    for item in items:
        if isinstance(item, ImportedHeader):
            continue
        if _is_call(item) or (waiting and isinstance(item, SkippedLine)):
            waiting.append(item)
            size += len(item.raw)
            if len(waiting) < _WAITING_LINES and size < LIMITS.chat_line_bytes:
                continue
            yield from _called_by(last, waiting)
        else:
            last = _first_voice(item) or last
            yield from _called_by(last, waiting)
            yield item
        waiting, size = [], 0
    yield from _called_by(last, waiting)


def _is_call(item: ImportedLine | SkippedLine) -> bool:
    return isinstance(item, ImportedLine) and bool(item.messages[0].tool_calls)


def _called_by(
    caller: ImportedMessage, waiting: Iterable[ImportedLine | SkippedLine]
) -> Iterator[ImportedLine | SkippedLine]:
    for item in waiting:
        if isinstance(item, ImportedLine) and not item.messages[0].speaker:
            asking = item.messages[0]
            named = replace(asking, speaker=caller.speaker, speaker_key=caller.speaker_key)
            item = replace(item, messages=(named, *item.messages[1:]))
        yield item
