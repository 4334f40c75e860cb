"""``talekeeper chat`` as a user meets it: typed, through a pipe, and as JSON."""

import io
import json
import os
import signal
import time
from collections.abc import Iterator, Mapping
from threading import Thread
from typing import Any

import pytest

from talekeeper import SyncKeeper
from talekeeper.testing import FakeModelServer, steps
from tests.cli.conftest import Cli

HELLO = "Welcome to the lighthouse, Anna."


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeModelServer]:
    """A chat model that the environment names."""
    with FakeModelServer([steps.answer(HELLO)]) as server:
        monkeypatch.setenv("TALEKEEPER_CHAT_BASE_URL", server.base_url)
        monkeypatch.setenv("TALEKEEPER_CHAT_MODEL", "storyteller")
        yield server


@pytest.fixture
def stairs(cli: Cli) -> str:
    """A chat with Mira in which nothing was said; answers its title."""
    with SyncKeeper.open(cli.db, settle="off") as keeper:
        keeper.characters.add(name="Mira")
        keeper.chats.start("Mira", title="Stairs", persona="Anna")
    return "Stairs"


@pytest.fixture
def pipe(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Lets a command read these lines."""

    def lines(*said: str) -> None:
        monkeypatch.setattr("sys.stdin", io.StringIO("".join(f"{line}\n" for line in said)))

    return lines


def _texts(cli: Cli, chat: str) -> list[str]:
    return [message["text"] for message in cli.json("show", chat)["shown"]]


def _adds(text: str, scope: str = "character") -> steps.Step:
    return steps.tool_calls("add_memory", json.dumps({"text": text, "scope": scope}))


def test_without_a_model_it_says_what_to_set(cli: Cli, stairs: str) -> None:
    said = cli.fails("chat", stairs)
    assert "TALEKEEPER_CHAT_BASE_URL" in said
    assert "TALEKEEPER_CHAT_MODEL" in said
    assert _texts(cli, stairs) == []


def test_each_line_of_a_pipe_is_a_message(
    cli: Cli, stairs: str, model: FakeModelServer, pipe: Any
) -> None:
    model.play([steps.answer(HELLO), steps.answer("Осторожно, ступеньки скользкие.")])
    pipe("Is the lamp lit?", "", "А лестница?")
    assert cli("chat", stairs) == f"{HELLO}\nОсторожно, ступеньки скользкие.\n"
    assert _texts(cli, stairs) == [
        *("Is the lamp lit?", HELLO),
        *("А лестница?", "Осторожно, ступеньки скользкие."),
    ]


def test_one_message_may_be_given_as_an_option(
    cli: Cli, stairs: str, model: FakeModelServer
) -> None:
    assert cli("chat", stairs, "--input", "灯亮了吗？") == f"{HELLO}\n"
    assert _texts(cli, stairs) == ["灯亮了吗？", HELLO]


def test_a_memory_that_was_written_is_told(
    cli: Cli, stairs: str, model: FakeModelServer, pipe: Any
) -> None:
    model.play([_adds("Anna cannot eat walnuts."), steps.answer("Noted."), _adds("x" * 900)])
    pipe("I cannot eat walnuts.", "/memories", "/undo", "/memories", "/undo")
    out = cli("chat", stairs)
    assert "✎ remembered: Anna cannot eat walnuts." in out
    assert "Memory 1 is in the trash: Anna cannot eat walnuts." in out
    assert out.index("by") < out.index("Nothing is remembered here yet.")
    assert "The last replies changed no memory." in out


def test_regenerating_and_going_through_what_there_is(
    cli: Cli, stairs: str, model: FakeModelServer, pipe: Any
) -> None:
    model.play([steps.answer("First."), _adds("Anna likes fog."), steps.answer("Second.")])
    pipe("Hello.", "/r", "/prev", "/next", "/swipe 1", "/swipe 3", "/swipe x", "/prev")
    out = cli("chat", stairs, status=1)
    assert [line for line in out.splitlines() if "✎" not in line] == [
        *("First.", "Second."),
        *("Mira (1/2): First.", "Mira (2/2): Second.", "Mira (1/2): First."),
    ]
    assert cli.error.count("The last message has 2 texts") == 2
    assert "as in /swipe 2" in cli.error
    assert [view["memories"] for view in cli.json("memories", "list")] == [[]]
    pipe("/next", "/memories")
    assert "Anna likes fog." in cli("chat", stairs)


def test_going_on_and_speaking_for_the_user(
    cli: Cli, stairs: str, model: FakeModelServer, pipe: Any
) -> None:
    model.play([steps.answer("Mind"), steps.answer(" the step."), steps.answer("I will.")])
    pipe("Hello.", "/continue", "/impersonate")
    out = cli("chat", stairs)
    assert out.splitlines()[0] == "Mind"
    assert "I will." in out
    assert "It speaks for the user" in out
    assert _texts(cli, stairs) == ["Hello.", "Mind the step."]


def test_an_error_is_a_sentence_and_the_chat_goes_on(
    cli: Cli, stairs: str, model: FakeModelServer, pipe: Any
) -> None:
    model.play([steps.error(400, "No such thing."), steps.answer(HELLO)])
    pipe("Hello.", "/bogus", "/regenerate", "//shrug")
    out = cli("chat", stairs, status=1)
    assert out == f"{HELLO}\n{HELLO}\n"
    first, second = cli.error.splitlines()
    assert first.startswith("Error: ")
    assert "There is no command '/bogus' here; /help lists them." in second
    assert _texts(cli, stairs) == ["Hello.", HELLO, "/shrug", HELLO]


def test_in_a_group_the_user_says_who_replies(cli: Cli, model: FakeModelServer, pipe: Any) -> None:
    with SyncKeeper.open(cli.db, settle="off") as keeper:
        for name in ("Mira", "Tam"):
            keeper.characters.add(name=name)
        keeper.chats.start("Mira", "Tam", title="Quay", persona="Anna")
    pipe("/as Tam", "Hello.", "/as", "Hello again.", "/as Nobody")
    out = cli("chat", "Quay", status=1)
    assert "Tam replies from now on." in out
    assert "— Tam\nThey reply by turns again." in out
    assert "'Nobody' is not in this chat" in cli.error
    speakers = [message["speaker"] for message in cli.json("show", "Quay")["shown"]]
    assert speakers == ["Anna", "Tam", "Anna", "Mira"]


def test_what_is_sent_can_be_seen(cli: Cli, stairs: str, model: FakeModelServer, pipe: Any) -> None:
    pipe("Hello.", "/preview", "/help", "/quit", "never said")
    out = cli("chat", stairs)
    assert "tokens (context" in out
    assert "main_prompt" in out
    assert "/regenerate, /r" in out
    assert len(model.requests) == 1


def test_json_is_one_object_a_reply(
    cli: Cli, stairs: str, model: FakeModelServer, pipe: Any
) -> None:
    model.play([_adds("アンナは霧が好きです。"), steps.answer("はい。"), steps.answer("Sí.")])
    pipe("Hello.", "/r", "/prev")
    first, second = map(json.loads, cli("chat", stairs, "--json").splitlines())
    assert (first["message"], first["swipe"], first["text"]) == (2, 0, "はい。")
    (memory,) = first["memories"]
    assert (memory["action"], memory["memory"]["text"]) == ("add", "アンナは霧が好きです。")
    assert memory["memory"]["from"]["message"] == 2
    assert (second["message"], second["swipe"], second["memories"]) == (2, 1, [])
    assert first["prompt_tokens"] > 0
    assert "Mira (1/2): はい。" in cli.error


def test_ctrl_c_stops_a_reply_and_keeps_what_came(
    cli: Cli, stairs: str, model: FakeModelServer, pipe: Any
) -> None:
    long = " ".join(f"word{number}" for number in range(200))
    model.play([steps.paced(steps.answer(long), 0.1), steps.answer(" And on.")])

    def interrupt() -> None:
        model.wait_for(1)
        time.sleep(1.5)
        os.kill(os.getpid(), signal.SIGINT)

    thread = Thread(target=interrupt)
    thread.start()
    pipe("Tell me all.", "/continue")
    out = cli("chat", stairs)
    thread.join()
    assert "(Stopped; what came is kept.)" in out
    said = _texts(cli, stairs)[1]
    assert said.startswith("word0 word1")
    assert said.endswith(" And on.")
    assert "word199" not in said


def test_a_variable_that_is_missing_is_named(
    cli: Cli, stairs: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TALEKEEPER_CHAT_BASE_URL", "http://127.0.0.1:9/v1")
    assert "TALEKEEPER_CHAT_MODEL is missing" in cli.fails("chat", stairs)
    monkeypatch.setenv("TALEKEEPER_CHAT_MODEL", "storyteller")
    monkeypatch.setenv("TALEKEEPER_CHAT_HEADERS", "{")
    assert "TALEKEEPER_CHAT_…" in cli.fails("chats")
    monkeypatch.delenv("TALEKEEPER_CHAT_HEADERS")
    checks = {check["name"]: check for check in cli.json("doctor")}
    assert checks["replies"]["found"] == "written by storyteller at http://127.0.0.1:9/v1"


def test_what_a_model_says_steers_no_terminal(
    cli: Cli, stairs: str, model: FakeModelServer
) -> None:
    model.play([steps.answer("\x1b[2Jgone\u202e")])
    out = cli("chat", stairs, "-i", "Hello.")
    assert "\x1b" not in out
    assert "\u202e" not in out


def test_tools_can_be_switched_off(
    cli: Cli, stairs: str, model: FakeModelServer, pipe: Any
) -> None:
    def offered(request: steps.ModelRequest) -> Mapping[str, Any]:
        return request.body

    cli("chat", stairs, "-i", "Hello.")
    assert offered(model.requests[-1])["tools"]
    assert cli.json("preview", stairs, "--no-tools")["tools"] == []
    assert cli.json("settings", stairs, "--no-tools")["settings"]["tools"] is False
    cli("chat", stairs, "-i", "Hello again.")
    assert "tools" not in offered(model.requests[-1])
    assert cli.json("preview", stairs, "--tools")["tools"]
