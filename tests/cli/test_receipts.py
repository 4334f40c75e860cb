"""``talekeeper receipts``, ``receipt`` and ``diff``: what was seen, and what would be otherwise."""

from collections.abc import Iterator

import pytest

from talekeeper import SyncKeeper
from talekeeper.testing import FakeModelServer, steps
from tests.cli.conftest import Cli


@pytest.fixture(autouse=True)
def model(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeModelServer]:
    """A chat model that the environment names."""
    with FakeModelServer([steps.answer(f"Reply {number}. 灯") for number in range(4)]) as server:
        monkeypatch.setenv("TALEKEEPER_CHAT_BASE_URL", server.base_url)
        monkeypatch.setenv("TALEKEEPER_CHAT_MODEL", "storyteller")
        yield server


@pytest.fixture
def stairs(cli: Cli) -> str:
    """A chat with two replies of Mira's; answers its title."""
    with SyncKeeper.open(cli.db, settle="off") as keeper:
        keeper.characters.add(name="Mira", description="A keeper [of the light].")
        keeper.personas.add("Carla", "{{user}} is a sailor.")
        keeper.chats.start("Mira", title="Stairs", persona="Anna")
    for text in ("Где маяк?", "And the stairs?"):
        cli("chat", "Stairs", "-i", text)
    return "Stairs"


def test_a_chat_without_replies_says_how_to_get_one(cli: Cli, mira: str) -> None:
    cli("import", str(mira))
    assert "No receipts yet" in cli("receipts", "mira")
    assert cli.json("receipts", "mira") == []
    error = cli.fails("receipt", "mira", "4")
    assert "There is no receipt of message 4. This chat has none yet" in error
    assert "no message 99" in cli.fails("receipt", "mira", "99")


def test_receipts_are_listed_the_last_first(cli: Cli, stairs: str) -> None:
    lines = cli("receipts", stairs).splitlines()
    assert lines[0] == "Stairs"
    assert [line.split()[0] for line in lines[2:]] == ["4/0", "2/0"]
    found = cli.json("receipts", stairs, "-n", "1")
    assert [(one["number"], one["swipe"], one["left_out"]) for one in found] == [(4, 0, 0)]
    assert found[0]["prompt_tokens"] == cli.json("receipt", stairs, "4")["prompt_tokens"]


def test_a_receipt_is_printed_as_a_preview_is(cli: Cli, stairs: str) -> None:
    out = cli("receipt", stairs, "2")
    assert out.startswith("Stairs: what was seen for message 2, swipe 0, at 20")
    assert "Где маяк?" in out
    assert "A keeper [of the light]." in out
    assert "Nothing stayed out." in out
    assert "reserved for the reply" in out
    assert "main_prompt settings/main_prompt" not in out
    full = cli("receipt", stairs, "2/0", "--texts")
    assert full.startswith(out)
    assert "\ninput message:1/0\nГде маяк?\n" in full


def test_what_changed_since_is_said(cli: Cli, stairs: str) -> None:
    with SyncKeeper.open(cli.db, settle="off") as keeper:
        chat = keeper.chats.find(stairs).id
        keeper.messages.edit(chat, 1, "Where is the lighthouse?")
        keeper.messages.delete(chat, 2)
    out = cli("receipt", stairs, "4")
    assert "(its text was changed since)" in out
    assert "(deleted since)" in out
    rows = {row["source"]: row for row in cli.json("receipt", stairs, "4")["receipt"]}
    assert (rows["message:1/0"]["state"], rows["message:1/0"]["text"]) == ("changed", None)
    assert (rows["message:3/0"]["state"], rows["message:3/0"]["text"]) == (
        "same",
        "And the stairs?",
    )
    assert "There is no message 2" in cli.fails("receipt", stairs, "2")


def test_two_replies_are_compared(cli: Cli, stairs: str) -> None:
    out = cli("diff", stairs, "2", "4")
    assert out.startswith("before: ")
    assert "Only after\n  message 2/0, " in out
    assert "rows alike." in out
    assert cli("diff", stairs, "2", "2").endswith("\nThe model sees the same.\n")
    found = cli.json("diff", stairs, "2", "4/0")
    assert [row["source"] for row in found["new"]] == ["message:2/0", "message:3/0"]


def test_a_reply_is_compared_with_now(cli: Cli, stairs: str) -> None:
    assert "message 4/0, " in cli("diff", stairs, "4")
    assert "The model sees the same." in cli("diff", stairs, "4", "--again")
    found = cli.json("diff", stairs, "4", "--again", "--set", "main_prompt=Play.")
    assert [(change["after"]["source"], change["rewritten"]) for change in found["changed"]] == [
        ("settings/main_prompt", True)
    ]


def test_settings_are_tried(cli: Cli, stairs: str) -> None:
    out = cli("diff", stairs, "--set", "strategy=truncate", "--set", "context-limit=1900")
    assert "before: " in out
    assert "of 31,744 tokens" in out
    assert "· truncate" in out
    found = cli.json(
        "diff", stairs, "-i", "Well?", "--set", "shares.summary=0.1", "--set", "shares.digest=0.1"
    )
    assert (found["gone"], found["new"], found["changed"]) == ([], [], [])
    assert "Only after\n  persona " in cli("diff", stairs, "--persona", "Carla")
    assert cli.json("settings", stairs)["settings"]["strategy"] == "summarize"


def test_messages_with_the_same_change_are_a_run(cli: Cli, stairs: str) -> None:
    with SyncKeeper.open(cli.db, settle="off") as keeper:
        chat = keeper.chats.find(stairs).id
        for number in range(5, 35):
            keeper.record(chat, f"Message {number} is about the iron stairs. " * 9)
    small = ("--set", "context_limit=1800", "--set", "reserve=0")
    out = cli("diff", stairs, *small)
    runs = [line for line in out.splitlines() if "sent → older than the live window" in line]
    assert len(runs) == 1
    assert runs[0].startswith("  message 1/0 to ")
    assert " of them)" in runs[0]


@pytest.mark.parametrize(
    ("arguments", "phrase"),
    [
        ((), "Name one or two messages"),
        (("--again",), "Name one or two messages"),
        (("2", "--persona", "Carla"), "name no message"),
        (("2", "4", "--set", "strategy=truncate"), "as they were"),
        (("two",), "Name a message by its number"),
        (("2/x",), "Name a message by its number"),
        (("2", "9"), "There is no message 9"),
        (("2/7",), "has no swipe 7"),
        (("1",), "There is no receipt of message 1. This chat has 2, the oldest of 20"),
        (("--set", "strategy"), "NAME=VALUE"),
        (("--set", "strategy=bogus"), "no strategy 'bogus'"),
        (("--set", "bogus=1"), "bogus"),
        (("--persona", "Boris"), "no persona 'Boris'"),
    ],
)
def test_what_cannot_be_compared(
    cli: Cli, stairs: str, arguments: tuple[str, ...], phrase: str
) -> None:
    assert phrase in cli.fails("diff", stairs, *arguments)


def test_a_swipe_is_named_once(cli: Cli, stairs: str) -> None:
    assert "Name the swipe once" in cli.fails("receipt", stairs, "2/0", "--swipe", "0")
    assert cli.json("receipt", stairs, "2", "--swipe", "0")["swipe"] == 0
