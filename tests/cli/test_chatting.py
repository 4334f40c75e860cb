"""``talekeeper rename`` and ``delete``."""

import io
from pathlib import Path

import pytest

from talekeeper import SyncKeeper
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
    assert again == {"id": chat["id"], "title": "Light", "before": "Lamp", "others": []}
    assert "empty" in cli.fails("rename", "light", " ")
    assert "There is no chat" in cli.fails("rename", "nobody", "x")


def test_a_title_that_another_chat_has_is_said(cli: Cli, mira: Path) -> None:
    cli("import", str(mira))
    with SyncKeeper.open(cli.db) as keeper:
        other = keeper.chats.start("Mira", title="Lamp")
    out = cli("rename", "mira - 2026", "LAMP")
    assert out == ("Mira - 2026 is called LAMP now.\nSo is 1 other chat: name them by their ids.\n")
    assert cli.json("rename", other.id, "Lamp")["others"] != []


def test_a_fork_names_its_parent(cli: Cli, mira: Path) -> None:
    cli("import", str(mira))
    with SyncKeeper.open(cli.db) as keeper:
        parent = keeper.chats.find("mira")
        keeper.chats.fork(parent.id, 2, title="Other way")
    for command in (("chats",), ("show", "other")):
        words = " ".join(cli(*command).split())
        assert f"fork of Mira - 2026 ({parent.id}) at message 2" in words
    cli("delete", parent.id, "--yes")
    assert "Other way" in cli("chats")


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
    assert "\nError: 'Mira - 2026' was not deleted" in cli.error
    assert len(cli.json("chats")) == 1


def test_yes_is_not_asked(cli: Cli, mira: Path) -> None:
    cli("import", str(mira))
    chat = cli.json("chats")[0]["id"]
    assert cli.json("delete", "mira", "--yes") == {
        "id": chat, "title": "Mira - 2026", "messages": 5,
    }  # fmt: skip
    assert cli.error == ""
    assert "There is no chat" in cli.fails("delete", "mira", "--yes")
