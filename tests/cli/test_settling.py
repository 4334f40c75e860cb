"""``settle``, ``worker``, ``jobs`` and ``catch-up`` as a user meets them."""

import io
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from talekeeper import SyncKeeper
from talekeeper.testing import FakeModelServer, steps
from tests.cli.conftest import Cli
from tests.record.st_files import chat_file, header, reply, said

TURNS = 60
TOLD = "Anna bought lamps, and Mira told her where they belong."


@pytest.fixture
def imported(cli: Cli, tmp_path: Path) -> str:
    """An imported chat, longer than its live window; answers its title."""
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
    return "Lamps"


@pytest.fixture
def spoken(cli: Cli) -> str:
    """A chat that was recorded here; answers its title."""
    with SyncKeeper.open(cli.db, settle="off") as keeper:
        keeper.characters.add(name="Nora")
        chat = keeper.chats.start("Nora", title="Stairs", persona="Anna").id
        for number in range(TURNS):
            keeper.record(chat, f"I bought lamp number {number} in the village.")
            keeper.record(chat, f"It belongs on step {number}.", role="assistant")
    return "Stairs"


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeModelServer]:
    """A language model that the environment names."""
    with FakeModelServer([steps.answer(TOLD)]) as server:
        monkeypatch.setenv("TALEKEEPER_SUMMARY_BASE_URL", server.base_url)
        monkeypatch.setenv("TALEKEEPER_SUMMARY_MODEL", "scribe")
        yield server


def _writers(cli: Cli, chat: str) -> set[str]:
    levels = cli.json("summary", "show", chat)["levels"]
    return {node["summariser"] for level in levels.values() for node in level}


def test_an_empty_database_has_nothing_to_do(cli: Cli) -> None:
    assert cli("settle") == "Nothing was due.\n"
    assert cli.json("settle", "--all") == {"chats": 0, "made": 0, "failed": []}
    assert cli("jobs") == "Nothing failed.\n"
    assert cli.json("jobs", "--retry") == {"retried": 0, "failures": []}


def test_settling_says_what_it_made_and_is_done_then(cli: Cli, imported: str) -> None:
    out = cli("settle", imported)
    assert out.endswith("summaries made in 1 chat.\n")
    assert out.count("\n") == 1
    assert cli("settle", imported) == "Nothing was due.\n"
    assert cli("settle") == "Nothing was due.\n"


def test_a_chat_or_all_of_them(cli: Cli, imported: str) -> None:
    assert "not both" in cli.fails("settle", imported, "--all")
    assert "There is no chat" in cli.fails("settle", "nobody")
    assert cli.json("settle", "--all")["chats"] == 1


def test_a_chat_that_another_process_settles_is_left_to_it(cli: Cli, imported: str) -> None:
    cli("settle", imported)
    with closing(sqlite3.connect(cli.db)) as connection, connection:
        connection.execute("UPDATE settling SET owner = 'x', leased_until = '2999-01-01 00:00:00'")
    assert "Another process" in cli("settle", imported)


def test_a_worker_may_end_when_all_is_done(cli: Cli, imported: str, spoken: str) -> None:
    out = cli("worker", "--once")
    assert "summaries" in out
    assert "Ctrl-C" in cli.error
    assert {chat["id"] for chat in cli.json("chats")} == {line[:36] for line in out.splitlines()}
    assert cli("worker", "--once") == ""
    assert cli("settle", spoken) == "Nothing was due.\n"
    assert cli("settle", imported) == "Nothing was due.\n"


def test_a_worker_refuses_times_that_make_no_sense(cli: Cli) -> None:
    cli.fails("worker", "--once", "--poll", "0", status=2)
    cli.fails("worker", "--once", "--lease", "0", status=2)


def test_a_model_writes_what_was_said_here(
    cli: Cli, imported: str, spoken: str, model: FakeModelServer
) -> None:
    cli("settle")
    assert _writers(cli, spoken) == {"model"}
    assert _writers(cli, imported) == {"local"}, "nobody consented"
    assert "by scribe" in cli("summary", "show", spoken)
    assert model.requests


def test_a_model_that_is_down_is_tried_again(cli: Cli, spoken: str, model: FakeModelServer) -> None:
    model.play([steps.failing()])
    cli("settle", spoken, status=1)
    assert "500" in cli.error
    assert "Error: " in cli.error
    out = cli("jobs")
    assert "Stairs" in out
    assert "500" in out
    (failure,) = cli.json("jobs")["failures"]
    assert (failure["title"], failure["permanent"], failure["attempts"]) == ("Stairs", False, 1)
    assert failure["retry_at"] > failure["failed_at"]
    assert "tried again later: see 'talekeeper jobs'" in cli("settle")
    model.play([steps.answer(TOLD)])
    assert "1 chat will be tried again at the next settle" in cli("jobs", "--retry")
    cli("settle")
    assert cli("jobs") == "Nothing failed.\n"
    assert _writers(cli, spoken) == {"model"}


def test_a_model_that_cannot_be_used_is_done_without(
    cli: Cli, spoken: str, model: FakeModelServer
) -> None:
    model.play([steps.unauthorized()])
    cli("settle", spoken)
    assert _writers(cli, spoken) == {"local"}
    assert "settled without the model" in cli("jobs")
    model.play([steps.answer(TOLD)])
    assert cli.json("jobs", "--retry", "--chat", spoken)["retried"] == 1
    cli("settle")
    assert _writers(cli, spoken) == {"model"}


def test_rebuilding_tells_that_it_failed(cli: Cli, spoken: str, model: FakeModelServer) -> None:
    cli("settle", spoken)
    model.play([steps.failing()])
    cli("summary", "rebuild", spoken, status=1)
    assert "500" in cli.error
    assert "to be rebuilt" in cli("summary", "show", spoken)


def test_catching_up_without_a_model(cli: Cli, imported: str) -> None:
    cli("settle")
    out = cli("catch-up", imported, "--price", "1", "2")
    assert "made without a model" in out
    assert "At 1 and 2 a million" in out
    assert "TALEKEEPER_SUMMARY_BASE_URL" in out
    assert "Start?" not in cli.error
    assert "No language model is configured" in cli.fails("catch-up", imported, "--yes")
    plan = cli.json("catch-up", imported)
    assert plan["calls"] > plan["cells"] > 0
    assert plan["state"] is None


def test_catching_up_where_there_is_nothing(cli: Cli, mira: Path) -> None:
    cli("import", str(mira))
    assert "Nothing is left for a model" in cli("catch-up", "mira")
    assert "Nothing is left for a model" in cli("catch-up", "mira", "--yes")
    assert "There is no chat" in cli.fails("catch-up", "nobody")
    assert "not both" in cli.fails("catch-up", "mira", "--yes", "--pause")


@pytest.mark.parametrize("typed", ["n\n", ""])
def test_catching_up_needs_a_yes(
    cli: Cli, imported: str, model: FakeModelServer, monkeypatch: pytest.MonkeyPatch, typed: str
) -> None:
    cli("settle")
    monkeypatch.setattr("sys.stdin", io.StringIO(typed))
    cli("catch-up", imported)
    assert "Start?" in cli.error
    assert not model.requests
    assert cli.json("catch-up", imported)["state"] is None


def test_catching_up_with_consent(cli: Cli, imported: str, model: FakeModelServer) -> None:
    cli("settle")
    plan = cli.json("catch-up", imported)
    assert "Done." in cli("catch-up", imported, "--yes")
    assert len(model.requests) == plan["calls"]
    assert _writers(cli, imported) == {"model"}
    assert "Nothing is left for a model" in cli("catch-up", imported)


def test_catching_up_that_fails_says_so_and_goes_on_later(
    cli: Cli, imported: str, model: FakeModelServer
) -> None:
    cli("settle")
    model.play([steps.answer(TOLD), steps.failing()])
    out = cli("catch-up", imported, "--yes", status=1)
    assert "left: 'talekeeper jobs'" in out
    assert "500" in cli.error
    assert cli.json("catch-up", imported)["state"] == "running"
    assert "It is paused." in cli("catch-up", imported, "--pause")
    model.play([steps.answer(TOLD)])
    assert "Done." in cli("catch-up", imported, "--yes")
    assert _writers(cli, imported) == {"model"}


@pytest.mark.parametrize(
    ("name", "value", "phrase"),
    [
        ("MODEL", "", "TALEKEEPER_SUMMARY_MODEL"),
        ("BASE_URL", "ollama", "http://"),
        ("TIMEOUT", "soon", "TALEKEEPER_SUMMARY_TIMEOUT"),
        ("TIMEOUT", "0", "TALEKEEPER_SUMMARY_TIMEOUT"),
        ("KEY", "sk secret", "TALEKEEPER_SUMMARY_KEY"),
        ("COLOUR", "red", "TALEKEEPER_SUMMARY_COLOUR"),
    ],
)
def test_a_wrong_variable_is_named(
    cli: Cli, monkeypatch: pytest.MonkeyPatch, name: str, value: str, phrase: str
) -> None:
    monkeypatch.setenv("TALEKEEPER_SUMMARY_BASE_URL", "http://127.0.0.1:9/v1")
    monkeypatch.setenv("TALEKEEPER_SUMMARY_MODEL", "scribe")
    monkeypatch.setenv(f"TALEKEEPER_SUMMARY_{name}", value)
    said_so = cli.fails("settle")
    assert phrase in said_so
    assert "error of its own" not in said_so
    assert "sk secret" not in said_so


def test_a_variable_that_is_missing_is_named(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TALEKEEPER_SUMMARY_MODEL", "scribe")
    assert "TALEKEEPER_SUMMARY_BASE_URL is missing" in cli.fails("chats")


def test_the_key_is_shown_nowhere(
    cli: Cli, spoken: str, model: FakeModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TALEKEEPER_SUMMARY_KEY", "sk-very-secret")
    model.play([steps.error(401, "Incorrect API key provided: sk-very-secret.")])
    cli("settle", spoken)
    assert model.requests[0].headers["authorization"] == "Bearer sk-very-secret"
    for arguments in (("jobs",), ("jobs", "--json"), ("summary", "show", spoken), ("doctor",)):
        out = cli(*arguments, status=1 if arguments == ("doctor",) else 0)
        assert "sk-very-secret" not in out + cli.error
    with closing(sqlite3.connect(cli.db)) as connection:
        assert "sk-very-secret" not in "\n".join(connection.iterdump())
