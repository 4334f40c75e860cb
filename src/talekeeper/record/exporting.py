"""Writing a chat as a SillyTavern file: untouched lines byte for byte, the others anew."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Protocol

from sqlalchemy import Connection

from talekeeper.domain.chat import Message
from talekeeper.domain.settings import AuthorsNote
from talekeeper.formats.imported import ImportedHeader
from talekeeper.formats.st_line import read_line
from talekeeper.formats.st_write import write_header, write_line
from talekeeper.record.marks import Mark, mark_of
from talekeeper.store import chats as chat_rows
from talekeeper.store import lined_messages as lined_rows
from talekeeper.store import lines as line_rows
from talekeeper.store import participants as participant_rows
from talekeeper.store.keys import ChatKey

__all__ = ["Sink", "export_chat"]

_PAGE = 500


class Sink(Protocol):
    """What takes an export: an open file, or what only counts or hashes its bytes."""

    def write(self, raw: bytes, /) -> int:
        """Take the next bytes; answers how many they are."""


def export_chat(connection: Connection, key: ChatKey, out: Sink) -> int:
    """Write the chat to ``out`` on one snapshot; answers the bytes written. Raises NotFound."""
    state = chat_rows.state(connection, key)
    source = line_rows.import_of(connection, key)
    keys = {
        member.character_id: member.speaker_key
        for member in participant_rows.of_chat(connection, key)
    }
    written, held = 0, b""
    mark = mark_of(connection, key)
    note = AuthorsNote.model_validate(state.chat_settings.get("authors_note") or {})
    if source is None:
        held = write_header(authors_note=note, **mark._asdict())
    for piece in _with_header(_pieces(connection, key, keys), note, mark):
        if held and not held.endswith(b"\n"):
            held += b"\n"
        written += out.write(held)
        held = piece
    if source is None or not source.final_newline:
        held = held.removesuffix(b"\n").removesuffix(b"\r")
    elif not held.endswith(b"\n"):
        held += b"\n"
    return written + out.write(held)


def _with_header(pieces: Iterable[bytes], note: AuthorsNote, mark: Mark) -> Iterator[bytes]:
    """The same lines, with the chat's own note and mark in the header, if there is a header."""
    lines = iter(pieces)
    for piece in lines:
        # Looking for the name first: parsing every line of a file without a header would be slow.
        looks_so = b"chat_metadata" in piece or b"user_name" in piece
        if not (looks_so and isinstance(read_line(piece, line=1), ImportedHeader)):
            yield piece
            continue
        yield write_header(raw=piece, authors_note=note, **mark._asdict())
        break
    yield from lines


def _pieces(
    connection: Connection, key: ChatKey, keys: dict[str | None, str | None]
) -> Iterator[bytes]:
    """The lines of the file in order: those that were imported, then what came after."""
    at = -1
    while page := line_rows.page(connection, key, after=at, limit=_PAGE):
        at = page[-1].line
        held = lined_rows.of_lines(connection, key, page[0].line, at)
        for row in page:
            messages = held.get(row.line, [])
            whole = len(messages) == row.messages and all(m.untouched for m in messages)
            if row.chain is None or (messages and whole):
                yield row.raw
            elif messages:
                said = [m.message for m in messages]
                yield write_line(said, row.raw, speaker_key=keys.get(said[0].character_id))
    for group in _tool_groups(_own(connection, key)):
        yield write_line(group, speaker_key=keys.get(group[0].character_id))


def _own(connection: Connection, key: ChatKey) -> Iterator[Message]:
    """The messages that came from no file."""
    number = 0
    while fresh := lined_rows.without_line(connection, key, after=number, limit=_PAGE):
        number = fresh[-1].number
        yield from fresh


def _tool_groups(messages: Iterable[Message]) -> Iterator[Sequence[Message]]:
    """Messages one by one, a call together with the results that follow it."""
    group: list[Message] = []
    for message in messages:
        if group and message.role == "tool" and group[0].swipe.tool_calls:
            group.append(message)
            continue
        if group:
            yield group
        group = [message]
    if group:
        yield group
