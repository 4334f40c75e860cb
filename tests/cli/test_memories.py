"""``talekeeper memories`` as a user meets it."""

import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from talekeeper import LIMITS, Keeper, SyncKeeper
from talekeeper.cli.memory_past import PROTECTED
from talekeeper.testing import FakeModelServer, steps
from tests.cli.conftest import Cli
from tests.conftest import run
from tests.settle.chapters import Model, adding, operations, tell_on

WALNUTS = "Anna is allergic to walnuts."
MIRA = ("--character", "Mira")


@pytest.fixture
def kept(cli: Cli) -> Cli:
    """A global memory (1) and a pinned one of Mira (2)."""
    with SyncKeeper.open(cli.db, settle="off") as keeper:
        keeper.characters.add(name="Mira")
        keeper.characters.add(name="Tam")
    cli("memories", "add", "--global", WALNUTS)
    cli("memories", "add", *MIRA, "--pinned", "У Анны день рождения 3 мая.")
    return cli


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeModelServer]:
    """A model that the environment names."""
    with FakeModelServer() as server:
        monkeypatch.setenv("TALEKEEPER_CHAT_BASE_URL", server.base_url)
        monkeypatch.setenv("TALEKEEPER_CHAT_MODEL", "storyteller")
        yield server


def _memories(cli: Cli, *scope: str) -> list[tuple[int, str, bool]]:
    return [
        (memory["id"], memory["text"], memory["pinned"])
        for view in cli.json("memories", "list", *scope)
        for memory in view["memories"]
    ]


def _answers(monkeypatch: pytest.MonkeyPatch, *lines: str) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("".join(f"{line}\n" for line in lines)))


def test_each_scope_is_listed_with_how_full_it_is(kept: Cli) -> None:
    out = kept("memories", "list")
    assert "global · 1/100 · 0/20 pinned" in out
    assert "Mira · 0/100 · 1/20 pinned" in out
    assert "Tam" not in out
    assert out.index(WALNUTS) < out.index("У Анны")
    assert "Tam · 0/100 · 0/20 pinned" in kept("memories", "list", "--character", "tam")
    assert _memories(kept, "--global") == [(1, WALNUTS, False)]
    assert [view["name"] for view in kept.json("memories", "list")] == ["global", "Mira"]


def test_an_empty_account_has_room_in_the_global_scope(cli: Cli) -> None:
    assert cli("memories", "list") == "global · 0/100 · 0/20 pinned\n"
    assert cli("memories", "trash") == "The trash is empty.\n"
    assert cli("memories", "purge", "--all") == "0 memories deleted for good.\n"


def test_a_scope_is_named_by_exactly_one_option(kept: Cli) -> None:
    for command in (("add", "x"), ("clear",), ("move", "1"), ("generate", "x")):
        assert "Say of which scope" in kept.fails("memories", *command)
    assert "not both" in kept.fails("memories", "list", "--global", *MIRA)
    assert "There is no character" in kept.fails("memories", "add", "--character", "Bo", "x")
    assert "There is no memory 9." in kept.fails("memories", "edit", "9", "x")
    kept.fails("memories", "edit", "one", "x", status=2)


def test_what_is_similar_is_offered_for_a_change(kept: Cli) -> None:
    out = kept("memories", "add", "--global", "Anna is very allergic to walnuts.", status=1)
    assert "Nothing was added" in out
    assert WALNUTS in out
    assert "talekeeper memories edit 1 TEXT" in out
    assert "--anyway" in out
    told = kept.json("memories", "add", "--global", "Anna is allergic to walnuts, very.", status=1)
    assert (told["added"], told["memory"]) == (False, None)
    assert [memory["id"] for memory in told["similar"]] == [1]
    assert len(_memories(kept)) == 2
    kept("memories", "add", "--global", "Anna is very allergic to walnuts.", "--anyway")
    assert len(_memories(kept)) == 3


def test_what_is_there_already_is_not_added_again(kept: Cli) -> None:
    assert "says so already" in kept("memories", "add", "--global", f" {WALNUTS.upper()} ")
    again = kept.json("memories", "add", "--global", WALNUTS)
    assert (again["added"], again["memory"]["id"]) == (False, 1)
    out = kept("memories", "add", "--global", "--pinned", WALNUTS, status=1)
    assert "talekeeper memories pin 1" in out
    kept("memories", "pin", "1")
    kept("memories", "add", "--global", "--pinned", WALNUTS)
    assert len(_memories(kept)) == 2


def test_a_text_may_come_through_a_pipe(kept: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    _answers(monkeypatch, "安娜住在港口。")
    kept("memories", "add", *MIRA, "-")
    _answers(monkeypatch, "安娜住在山上。")
    assert kept.json("memories", "edit", "3", "-")["text"] == "安娜住在山上。"


def test_a_memory_is_edited_pinned_moved_and_deleted(kept: Cli) -> None:
    assert "says now: Anna eats no nuts." in kept("memories", "edit", "1", "Anna eats no nuts.")
    assert "Memory 1 is pinned" in kept("memories", "pin", "1")
    assert "Memory 1 is not pinned" in kept("memories", "unpin", "1")
    assert "Memory 1 is Mira's now." in kept("memories", "move", "1", *MIRA)
    assert "Memory 1 is global now." in kept("memories", "move", "1", "--global")
    assert "in the trash" in kept("memories", "delete", "1")
    assert "is in the trash; restore it first" in kept.fails("memories", "edit", "1", "x")
    assert "Anna eats no nuts." in kept("memories", "trash")
    assert "is back: Anna eats no nuts." in kept("memories", "restore", "1")
    assert (1, "Anna eats no nuts.", False) in _memories(kept)


def test_a_full_scope_takes_no_more(kept: Cli) -> None:
    with SyncKeeper.open(kept.db, settle="off") as keeper:
        for number in range(LIMITS.pinned_memories):
            keeper.memories.add(f"Lamp {number} is lit.", pinned=True, even_if_similar=True)
    said = kept.fails("memories", "pin", "1")
    assert "The global scope is full: 20 of 20 pinned memories" in said
    assert "at most 500 characters" in kept.fails("memories", "edit", "1", "x" * 501)


def test_pinning_warns_when_it_takes_much_of_the_context(kept: Cli) -> None:
    assert kept.json("memories", "pin", "1")["warning"] is None
    kept("settings", "--context-limit", "200", "--reserve", "50")
    long = " ".join(f"lamp number {number}" for number in range(20))
    out = kept("memories", "add", *MIRA, "--pinned", long)
    assert "more than 25% of the 200" in out or "of the 200 tokens" in out
    assert "of the 200 tokens" in kept.json("memories", "pin", "1")["warning"]
    kept("memories", "unpin", "3")
    assert kept.json("memories", "pin", "2")["warning"] is None


def test_clearing_asks_for_the_pinned_apart(kept: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    kept("memories", "add", *MIRA, "Anna likes fog.")
    _answers(monkeypatch, "n")
    kept("memories", "clear", *MIRA, status=1)
    assert "Nothing was cleared" in kept.error
    assert PROTECTED not in kept.error
    _answers(monkeypatch, "y", "n")
    assert "1 memory of Mira went into the trash; 1 pinned stay." in kept(
        "memories", "clear", *MIRA
    )
    assert PROTECTED in " ".join(kept.error.split())
    assert PROTECTED == "These are the moments you marked yourself and protected from the AI."
    _answers(monkeypatch)
    told = kept.json("memories", "clear", *MIRA, "--yes")
    assert told == {"unpinned": 0, "pinned": 0, "pinned_kept": 1}
    assert "0 pinned stay" in kept("memories", "clear", *MIRA, "--yes", "--pinned")
    assert kept.error == ""
    assert _memories(kept) == [(1, WALNUTS, False)]


def test_for_good_means_that_nothing_comes_back(kept: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    _answers(monkeypatch, "n")
    kept("memories", "purge", "1", status=1)
    assert "Nothing was deleted" in kept.error
    _answers(monkeypatch, "y")
    assert kept("memories", "purge", "1") == "1 memory deleted for good.\n"
    assert "There is no memory 1" in kept.fails("memories", "history", "1")
    assert "There is no memory 1" in kept.fails("memories", "purge", "1", "--yes")
    kept("memories", "delete", "2")
    assert kept.json("memories", "purge", "--all", "--yes") == {"deleted": 1}
    assert "in the trash" in kept.fails("memories", "restore", "2")
    assert "ID, or say --all" in kept.fails("memories", "purge")


def test_the_history_tells_who_when_and_what(kept: Cli, model: FakeModelServer) -> None:
    with SyncKeeper.open(kept.db, settle="off") as keeper:
        keeper.chats.start("Mira", title="Stairs", persona="Anna")
    change = json.dumps({"id": 1, "text": "Anna is allergic to all nuts."})
    model.play([steps.tool_calls("update_memory", change), steps.answer("Noted.")])
    kept("chat", "Stairs", "-i", "It is all nuts, in truth.")
    kept("memories", "pin", "1")
    out = kept("memories", "history", "1")
    assert "1. add by you" in out
    assert "2. update by the character" in out
    assert f"before: {WALNUTS} (global)" in out
    assert "after:  Anna is allergic to all nuts. (global)" in out
    assert "from:   message 2, swipe 1, of Stairs" in out
    assert "(global, pinned)" in out
    told = kept.json("memories", "history", "1")
    assert [one["action"] for one in told["changes"]] == ["add", "update", "pin"]
    kept("memories", "unpin", "1")
    kept("delete", "Stairs", "--yes")
    assert "of a deleted chat" in kept("memories", "history", "1")


def test_a_change_or_the_changes_of_a_turn_are_taken_back(
    kept: Cli, model: FakeModelServer
) -> None:
    with SyncKeeper.open(kept.db, settle="off") as keeper:
        keeper.chats.start("Mira", title="Stairs", persona="Anna")
    add = json.dumps({"text": "Anna likes fog.", "scope": "global"})
    model.play([steps.tool_calls("add_memory", add), steps.answer("Noted.")])
    kept("chat", "Stairs", "-i", "I like fog.")
    kept("memories", "edit", "1", "Wrong.")
    assert kept("memories", "undo", "1") == f"Memory 1 says again: {WALNUTS}\n"
    out = kept("memories", "undo", "--chat", "stairs", "--message", "1")
    assert out == "Memory 3 is in the trash: Anna likes fog.\n"
    assert "could be taken back" in kept.fails(
        "memories", "undo", "--chat", "stairs", "--message", "1"
    )
    assert "has no change 9" in kept.fails("memories", "undo", "1", "--change", "9")
    assert "no deeper pass" in kept.fails("memories", "undo", "--run", "x")
    for wrong in ((), ("1", "--run", "x"), ("--chat", "x"), ("--run", "x", "--change", "1")):
        kept.fails("memories", "undo", *wrong)


def test_memories_go_out_and_come_in(kept: Cli, tmp_path: Path) -> None:
    file = tmp_path / "memories.json"
    assert "Wrote" in kept("memories", "export", "-o", str(file))
    assert "add --force" in kept.fails("memories", "export", "-o", str(file))
    told = kept.json("memories", "export", *MIRA, "-o", str(file), "--force")
    assert told["bytes"] == file.stat().st_size
    kept("memories", "purge", "2", "--yes")
    assert kept("memories", "import", str(file)) == "1 memory came in.\n"
    assert "1 said what was there already" in kept("memories", "import", str(file))
    into = kept.json("memories", "import", str(file), "--character", "Tam")
    assert [(one["name"], one["pinned"], one["added"]) for one in into["scopes"]] == [
        ("Tam", True, 1)
    ]
    assert "not both" in kept.fails("memories", "import", str(file), *MIRA, "--global")
    assert "add --output" not in kept.fails("memories", "export", "--json")


def test_an_import_over_the_cap_is_refused_with_a_table(kept: Cli, tmp_path: Path) -> None:
    file = tmp_path / "memories.json"
    listed = [
        {"text": f"Lamp {n} is lit.", "scope": "global", "updated_at": f"20{n:02}-01-01T00:00:00Z"}
        for n in range(10, 26)
    ]
    listed += [{"text": f"Stair {n} creaks.", "scope": "global"} for n in range(90)]
    whole = {"format": "talekeeper-memories", "version": 1, "memories": listed}
    file.write_text(json.dumps(whole), encoding="utf-8")
    kept("memories", "import", str(file), status=1)
    head, row, error = kept.error.splitlines()
    assert head.split() == ["scope", "there", "in", "the", "file", "cap"]
    assert row.split() == ["global", "1", "106", "100"]
    assert error.startswith("Error: The file holds more memories than fit")
    assert len(_memories(kept)) == 2
    out = kept("memories", "import", str(file), "--newest")
    assert out == "99 memories came in; 7 older ones did not fit.\n"
    texts = {text for _, text, _ in _memories(kept, "--global")}
    assert "Lamp 17 is lit." in texts
    assert "Lamp 16 is lit." not in texts


def test_a_file_that_is_none_is_a_sentence(kept: Cli, tmp_path: Path) -> None:
    file = tmp_path / "memories.json"
    file.write_text("[1, 2", encoding="utf-8")
    assert "is not JSON" in kept.fails("memories", "import", str(file))
    assert "No such file" in kept.fails("memories", "import", str(tmp_path / "none.json"))


def _drafting(*texts: str, **more: Any) -> steps.Step:
    return steps.answer(json.dumps({"memories": [{"text": text, **more} for text in texts]}))


def test_drafts_are_looked_over_before_they_are_saved(
    kept: Cli, model: FakeModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    model.play([_drafting("Anna rows every Sunday.", "Anna mag Nebel.", "アンナは左利き。")])
    asking = ("memories", "generate", "What she does", *MIRA)
    _answers(monkeypatch, "7", "1, 3")
    out = kept(*asking)
    assert "2  Anna mag Nebel." in out
    assert "'7' is no draft: write numbers from 1 to 3" in kept.error
    assert "Saved as memories 3, 4." in out
    _answers(monkeypatch)
    assert "Nothing was saved." in kept(*asking)
    assert len(_memories(kept, *MIRA)) == 3
    assert kept.json(*asking)["saved"] == []
    told = kept.json(*asking, "--accept", "2")
    assert [memory["text"] for memory in told["saved"]] == ["Anna mag Nebel."]
    asked = len(model.requests)
    assert "is no draft" in kept.fails(*asking, "--accept", "some")
    assert len(model.requests) == asked
    assert "1,000 characters" in kept.fails("memories", "generate", "x" * 1_001, "--global")


def test_messages_become_memories_that_are_pinned(kept: Cli, model: FakeModelServer) -> None:
    with SyncKeeper.open(kept.db, settle="off") as keeper:
        chat = keeper.chats.start("Mira", title="Stairs", persona="Anna").id
        keeper.record(chat, "I row every Sunday.")
        keeper.record(chat, "Then bring a lamp.", role="assistant")
    model.play([_drafting("Anna rows every Sunday.", messages=[1])])
    asking = ("memories", "draft", "stairs", "1-2")
    out = kept(*asking, "--accept", "all")
    assert "from message 1" in out
    assert (3, "Anna rows every Sunday.", True) in _memories(kept, *MIRA)
    kept(*asking, "--as-is", "--accept", "all")
    text = "Anna: I row every Sunday.\nMira: Then bring a lamp."
    assert (4, text, True) in _memories(kept, *MIRA)
    assert "from:   message 1" in kept("memories", "history", "4")
    for wrong in ("x", "2-1", "1-99", "1-"):
        kept.fails("memories", "draft", "stairs", wrong, *MIRA)


def test_without_a_model_drafting_says_what_to_set(kept: Cli) -> None:
    said = kept.fails("memories", "generate", "What she does", "--global")
    assert "TALEKEEPER_SUMMARY_BASE_URL" in said


def test_deeper_memory_says_whether_it_is_active(kept: Cli) -> None:
    with SyncKeeper.open(kept.db, settle="off") as keeper:
        keeper.chats.start("Mira", title="Stairs", persona="Anna")
    assert "Not active. No language model is configured" in kept("memories", "deeper", "stairs")
    told = kept.json("memories", "deeper", "stairs")
    assert (told["active"], told["passes"]) == (False, [])


def test_a_deeper_pass_is_shown_and_taken_back_as_a_whole(
    kept: Cli, model: FakeModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = adding("Anna rows.", "row every Sunday"), adding("Anna\n\nflies.", "never\u2028 said")
    model.play(Model(operations(*wanted)))
    monkeypatch.setenv("TALEKEEPER_SUMMARY_BASE_URL", model.base_url)
    monkeypatch.setenv("TALEKEEPER_SUMMARY_MODEL", "scribe")

    async def tell() -> None:
        async with Keeper.open(kept.db, settle="off") as keeper:
            chat = (await keeper.chats.start("Mira", title="Stairs", greet=False)).id
            await keeper.settings.change(
                chat, context_limit=400, reserve=0, tokenizer="approximate", main_prompt="Play."
            )
            await tell_on(keeper, chat, "I row every Sunday.")
            await tell_on(keeper, chat)

    run(tell())
    kept("settle", "stairs")
    out = kept("memories", "deeper", "stairs")
    assert "Deeper memory of Stairs: Active" in out
    assert "1 change made, 1 refused, in 1 pass." in out
    assert "add 3: Anna rows. “row every Sunday”" in out
    assert "add: Anna flies. “never said” (refused: Its quote does not occur" in out
    (one,) = kept.json("memories", "deeper", "stairs")["passes"]
    assert f"talekeeper memories undo --run {one['run']}" in out
    history = kept("memories", "history", "3")
    assert "1. add by deeper memory" in history
    assert "quote:  “row every Sunday”" in history
    undone = "Memory 3 is in the trash: Anna rows.\n"
    assert kept("memories", "undo", "--run", one["run"]) == undone


def test_what_is_pinned_and_what_not_is_seen_in_the_preview(kept: Cli) -> None:
    with SyncKeeper.open(kept.db, settle="off") as keeper:
        keeper.chats.start("Mira", title="Stairs", persona="Anna")
    out = kept("preview", "stairs", "-i", "Hello.")
    assert "R pinned_memory" in out
    assert "r memory" in out
    assert "T tools" in out
    kept("learn", "Mira", "off")
    out = kept("preview", "stairs", "-i", "Hello.")
    assert "memory is off (Learn from Chat is off for Mira)" in out
    assert WALNUTS not in out
