"""The header line of a chat file, written back."""

import json

import pytest

from talekeeper.domain.errors import InvalidInput
from talekeeper.domain.settings import AuthorsNote
from talekeeper.formats.imported import ImportedHeader
from talekeeper.formats.st_line import read_line
from talekeeper.formats.st_write import write_header
from tests.formats.builders import HEADER, dumps, line


def _header(raw: bytes) -> ImportedHeader:
    header = read_line(raw, line=1)
    assert isinstance(header, ImportedHeader)
    return header


def test_a_new_header() -> None:
    note = AuthorsNote(text="Cold.", depth=2, role="assistant")
    written = write_header(integrity="uuid", main_chat="Parent", authors_note=note)
    header = _header(written)
    assert (header.integrity, header.main_chat, header.authors_note) == ("uuid", "Parent", note)
    assert json.loads(written)["user_name"] == "unused"
    assert not written.endswith(b"\n")
    assert json.loads(write_header()) == {**HEADER, "chat_metadata": {}}


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        dumps(HEADER) + b"\n",
        b'\xef\xbb\xbf{ "user_name":"Alice", "character_name":"Mara"}\r\n',
        dumps({**HEADER, "chat_metadata": {"note_prompt": "Cold.", "note_interval": 3, "x": {}}}),
        dumps({**HEADER, "chat_metadata": {"note_prompt": "Cold.", "note_interval": 0}}),
    ],
)
def test_an_untouched_header_comes_back_byte_for_byte(raw: bytes) -> None:
    assert write_header(raw=raw) == raw
    if raw:
        header = _header(raw)
        note = header.authors_note or AuthorsNote()
        assert write_header(raw=raw, integrity=header.integrity, authors_note=note) == raw


def test_a_changed_note_changes_the_note_alone() -> None:
    raw = dumps(
        {"chat_metadata": {"x": [1.0], "note_prompt": "a", "note_depth": 4, "tainted": True}}
    )
    note = AuthorsNote(text="b", depth=1)
    written = write_header(raw=raw + b"\n", authors_note=note)
    assert written == (
        b'{"chat_metadata":{"x":[1.0],"note_prompt":"b","note_depth":1,"tainted":true,'
        b'"note_interval":1,"note_position":1,"note_role":0}}\n'
    )
    assert _header(written).authors_note == note
    emptied = write_header(raw=raw, authors_note=AuthorsNote())
    assert _header(emptied).authors_note is None


def test_a_file_without_a_header_gets_one_when_there_is_something_to_say() -> None:
    assert _header(write_header(raw=b"", integrity="uuid")).integrity == "uuid"


def test_what_is_no_header_is_refused() -> None:
    with pytest.raises(InvalidInput, match="header"):
        write_header(raw=dumps(line()))
