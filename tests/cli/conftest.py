"""A command line on a database of its own, and a chat to import."""

import json
from pathlib import Path
from typing import Any

import pytest

from talekeeper.cli.running import run
from tests.record.st_files import chat_file, header, reply, said

TALK = [
    header(integrity="i-1"),
    reply("Welcome to the lighthouse, {{user}}."),
    said("I cannot eat walnuts. 🥜"),
    reply("Noted.", "*nods*"),
    said("Ты помнишь?", is_system=True),
    said("Do you remember?"),
]


class Cli:
    """Runs commands on one database and keeps what they print."""

    def __init__(self, db: str, capsys: pytest.CaptureFixture[str]) -> None:
        self.db = db
        self.capsys = capsys

    def __call__(self, *arguments: str, status: int = 0) -> str:
        """Standard output of a command that ends with ``status``."""
        found = run(["--db", self.db, *arguments])
        captured = self.capsys.readouterr()
        self.error = captured.err
        assert found == status, captured
        assert "Traceback" not in captured.err
        return captured.out

    def json(self, *arguments: str, status: int = 0) -> Any:
        """The JSON that a command prints."""
        return json.loads(self(*arguments, "--json", status=status))

    def fails(self, *arguments: str, status: int = 1) -> str:
        """The one sentence on standard error."""
        self(*arguments, status=status)
        assert self.error.startswith("Error: ")
        assert self.error.count("\n") == 1
        return self.error


@pytest.fixture
def cli(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Cli:
    return Cli(str(tmp_path / "tale.db"), capsys)


@pytest.fixture
def mira(tmp_path: Path) -> Path:
    path = tmp_path / "Mira - 2026.jsonl"
    path.write_bytes(chat_file(*TALK).getvalue())
    return path
