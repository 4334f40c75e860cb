"""``talekeeper summary``: reading, editing and rebuilding a summary as a user does."""

import io
from pathlib import Path

import pytest

from talekeeper import LIMITS
from tests.cli.conftest import Cli
from tests.record.st_files import chat_file, header, reply, said

TURNS = 60


@pytest.fixture
def long(cli: Cli, tmp_path: Path) -> str:
    """A chat that is longer than its live window, settled; answers its title."""
    path = tmp_path / "Lamps.jsonl"
    turns = (
        line
        for number in range(TURNS)
        for line in (
            said(f"I bought lamp number {number} in the village of Tarrow Quay."),
            reply(f"Lamp {number} belongs on step {2 * number} of the iron stairs."),
        )
    )
    path.write_bytes(chat_file(header(), *turns).getvalue())
    cli("import", str(path))
    cli("settle", "Lamps")
    return "Lamps"


def test_a_short_chat_has_no_summary_yet(cli: Cli, mira: Path) -> None:
    cli("import", str(mira))
    out = cli("summary", "show", "mira")
    assert "There is no summary yet" in out
    assert "talekeeper settle" in out
    assert "5 messages not yet in the summary: still in the live window." in out
    found = cli.json("summary", "show", "mira")
    assert found["levels"] == {"recent": [], "merged": [], "long_term": []}
    assert (found["messages_not_yet_in_summary"], found["of_these_in_live_window"]) == (5, 5)


def test_before_it_is_settled_it_says_what_is_missing(cli: Cli, tmp_path: Path) -> None:
    path = tmp_path / "Lamps.jsonl"
    turns = (line for _ in range(TURNS) for line in (said("And then?"), reply("Then it rained.")))
    path.write_bytes(chat_file(header(), *turns).getvalue())
    cli("import", str(path))
    assert "older ('talekeeper settle')" in " ".join(cli("summary", "show", "lamps").split())


def test_show_tells_what_is_in_the_prompt(cli: Cli, long: str) -> None:
    out = cli("summary", "show", long)
    assert "merged-0  messages 1–" in out
    assert "in the prompt" in out
    assert "still in the live window" in out
    assert max(map(len, out.splitlines())) < 5_000, "lines are not padded"
    found = cli.json("summary", "show", long)
    nodes = [node for level in found["levels"].values() for node in level]
    sent = {node["node"] for node in nodes if node["sent"]}
    assert "merged-0" in sent
    assert sent.isdisjoint({"recent-0", "recent-1", "recent-2", "recent-3"})
    (merged,) = found["levels"]["merged"]
    assert merged["children"] == ["recent-0", "recent-1", "recent-2", "recent-3"]
    assert merged["text"] in cli("summary", "show", long, "--full").replace("│   ", "")


def test_full_prints_the_texts_below_too(cli: Cli, long: str) -> None:
    first = cli.json("summary", "show", long)["levels"]["recent"][0]["text"].splitlines()[0]
    short, full = (cli("summary", "show", long, *more) for more in ((), ("--full",)))
    assert full.count(first) > short.count(first)


def test_an_edit_stays_and_is_marked(cli: Cli, long: str) -> None:
    out = cli("summary", "edit", f"{long}/merged-0", "--text", "Anna bought lamps.")
    assert "merged-0 of Lamps is yours now" in out
    shown = cli("summary", "show", long)
    assert "edited by you" in shown
    assert "Anna bought lamps." in shown
    assert "Anna bought lamps." in cli("preview", long)
    cli("settle", long)
    assert "Anna bought lamps." in cli("summary", "show", long)


def test_an_edit_may_come_through_a_pipe(
    cli: Cli, long: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("Anna bought lamps.\nMany.\n"))
    edited = cli.json("summary", "edit", f"{long}/recent-0", "--text", "-")
    assert edited["text"] == "Anna bought lamps.\nMany."
    assert edited["edited"] is True
    chat = cli.json("chats")[0]["id"]
    assert edited["id"] == f"{chat}/recent-0"
    again = cli.json("summary", "edit", edited["id"], "--text", "Lamps.")
    assert again["text"] == "Lamps."


@pytest.mark.parametrize(
    ("node", "text", "phrase"),
    [
        ("Lamps/bogus-1", "x", "names no summary"),
        ("Lamps/recent-01", "x", "names no summary"),
        ("Lamps/recent-99", "x", "has no summary 'recent-99'"),
        ("recent-0", "x", "does not say of which chat"),
        ("/recent-0", "x", "does not say of which chat"),
        ("Nobody/recent-0", "x", "There is no chat 'Nobody'"),
        ("Lamps/recent-0", " \n", "must not be empty"),
        ("Lamps/recent-0", "x" * (LIMITS.summary_characters + 1), "Shorten it"),
    ],
)
def test_an_edit_that_cannot_be(cli: Cli, long: str, node: str, text: str, phrase: str) -> None:
    before = cli.json("summary", "show", long)
    assert phrase in cli.fails("summary", "edit", node, "--text", text)
    assert cli.json("summary", "show", long) == before


def test_rebuilding_keeps_what_was_edited(cli: Cli, long: str) -> None:
    cli("summary", "edit", f"{long}/recent-0", "--text", "Anna bought lamps.")
    assert "made anew in Lamps" in cli("summary", "rebuild", long)
    recent = cli.json("summary", "show", long)["levels"]["recent"]
    assert [node["edited"] for node in recent].count(True) == 1
    said_so = cli.fails("summary", "rebuild", long, "--node", "recent-0")
    assert "edited by a person" in said_so
    assert "--overwrite-edits" in said_so
    done = cli.json("summary", "rebuild", long, "--node", "recent-0", "--overwrite-edits")
    assert done["asked"] == 1
    assert done["made"] >= 1
    assert "edited by you" not in cli("summary", "show", long)


def test_rebuilding_takes_either_name_of_a_node(cli: Cli, long: str) -> None:
    for name in ("recent-2", f"{long}/recent-2"):
        assert cli.json("summary", "rebuild", long, "--node", name)["asked"] == 1
    assert "names no summary" in cli.fails("summary", "rebuild", long, "--node", "x")
    assert "has no summary" in cli.fails("summary", "rebuild", long, "--node", "merged-7")
    assert "There is no chat" in cli.fails("summary", "rebuild", "nobody")


def test_a_chat_without_a_summary_has_nothing_to_rebuild(cli: Cli, mira: Path) -> None:
    cli("import", str(mira))
    assert "0 summaries made anew" in cli("summary", "rebuild", "mira")


def test_a_group_of_commands_asks_for_one(cli: Cli) -> None:
    cli.fails("summary", status=2)
    cli.fails("summary", "bogus", status=2)
    assert "rebuild" in cli("summary", "--help")
