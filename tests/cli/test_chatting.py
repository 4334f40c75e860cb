"""``talekeeper rename`` and ``delete``."""

import io
from pathlib import Path

import pytest

from tests.cli.conftest import Cli


@pytest.fixture
def answer(monkeypatch: pytest.MonkeyPatch) -> io.StringIO:
    """What the user types."""
    typed = io.StringIO()
    monkeypatch.setattr("sys.stdin", typed)
    return typed


def _type(typed: io.StringIO, text: str) -> None:
    typed.write(text)
    typed.seek(0)


def test_a_chat_gets_another_title(cli: Cli, mira: Path) -> None:
    cli("import", str(mira))
    assert cli("rename", "mira", "Lamp") == "Mira - 2026 is called Lamp now.\n"
    (chat,) = cli.json("chats")
    assert chat["title"] == "Lamp"
    again = cli.json("rename", "lamp", "Light")
    assert again == {"id": chat["id"], "title": "Light", "before": "Lamp"}
    assert "empty" in cli.fails("rename", "light", " ")
    assert "There is no chat" in cli.fails("rename", "nobody", "x")


def test_delete_asks_and_says_how_much_goes(cli: Cli, mira: Path, answer: io.StringIO) -> None:
    cli("import", str(mira))
    _type(answer, "y\n")
    assert cli("delete", "mira") == "Deleted Mira - 2026 with its 5 messages.\n"
    assert "Delete Mira - 2026 with its 5 messages?" in cli.error.replace("\n", " ")
    assert cli.json("chats") == []
    assert [character["name"] for character in cli.json("characters")] == ["Mira"]


@pytest.mark.parametrize("typed", ["n\n", "\n", ""])
def test_without_a_yes_nothing_is_deleted(
    cli: Cli, mira: Path, answer: io.StringIO, typed: str
) -> None:
    cli("import", str(mira))
    _type(answer, typed)
    cli("delete", "mira", status=1)
    assert "was not deleted" in cli.error
    assert len(cli.json("chats")) == 1


def test_yes_is_not_asked(cli: Cli, mira: Path) -> None:
    cli("import", str(mira))
    chat = cli.json("chats")[0]["id"]
    assert cli.json("delete", "mira", "--yes") == {
        "id": chat, "title": "Mira - 2026", "messages": 5,
    }  # fmt: skip
    assert cli.error == ""
    assert "There is no chat" in cli.fails("delete", "mira", "--yes")
