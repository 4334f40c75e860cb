"""The JSON of every command has exactly the fields that the reference lists."""

import asyncio
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import chdir, redirect_stderr, redirect_stdout
from io import StringIO
from typing import Any

import pytest

from talekeeper import Endpoint, Keeper, OpenAICompatible, SyncKeeper, ToolCall, Use
from talekeeper.cli.running import run
from talekeeper.testing import FakeModelServer, ModelRequest, Step, steps
from tests.docs.pages import commands, page
from tests.docs.samples import lay_out
from tests.settle.chapters import adding, operations, tell_on

USER = "SillyTavern/data/default-user"
CHATS = [f"{USER}/chats/Mira/Mira - {name}.jsonl" for name in ("2026-05-03@17h42m15s", "Branch #1")]
GROUP = f"{USER}/group chats/2026-06-01@10h00m00s.jsonl"

AS_IS = ("--as-is", "--accept", "all")
ALL = ("--accept", "all")

CALLS: Mapping[str, Sequence[Sequence[str]]] = {
    "import": [
        ("import", "--json", *CHATS, GROUP, "broken.jsonl"),
        ("import", "--json", f"{USER}/stories/storm.json"),
        ("import", "--json", f"{USER}/stories"),
    ],
    "chats": [("chats", "--json")],
    "characters": [("characters", "--json")],
    "show": [("show", "Mira - Branch", "--json")],
    "chat": [("chat", "Unanswered", "-i", "I like fog.", "--json")],
    "receipts": [("receipts", "Unanswered", "--json")],
    "receipt": [("receipt", "Unanswered", "3", "--json"), ("receipt", "Told", "32", "--json")],
    "diff": [
        ("diff", "Unanswered", "3", "--json"),
        ("diff", "Told", "--set", "context_limit=5000", "--json"),
        ("diff", "Told", "32", "34", "--json"),
    ],
    "settle": [("settle", "--json"), ("settle", "Unreachable", "--json")],
    "jobs": [("jobs", "--json"), ("jobs", "--retry", "--json")],
    "catch-up": [("catch-up", "Mira - 2026", "--json")],
    "summary show": [("summary", "show", "Mira - 2026", "--json")],
    "summary edit": [("summary", "edit", "Mira - 2026/recent-0", "--text", "They met.", "--json")],
    "summary rebuild": [("summary", "rebuild", "Mira - 2026", "--json")],
    "preview": [("preview", "Mira - 2026", "--json"), ("preview", "Unanswered", "--json")],
    "memories list": [("memories", "list", "--json")],
    "memories add": [
        ("memories", "add", "--character", "Tam", "Anna likes fog and rain.", "--json"),
        ("memories", "add", "--global", "Anna cannot eat walnuts.", "--json"),
        ("memories", "add", "--global", "Anna cannot eat any walnuts.", "--json"),
    ],
    "memories edit": [("memories", "edit", "1", "Anna likes fog a lot.", "--json")],
    "memories pin": [("memories", "pin", "1", "--json")],
    "memories unpin": [("memories", "unpin", "1", "--json")],
    "memories move": [("memories", "move", "1", "--global", "--json")],
    "memories history": [("memories", "history", "1", "--json")],
    "memories undo": [("memories", "undo", "1", "--json")],
    "memories delete": [("memories", "delete", "1", "--json")],
    "memories trash": [("memories", "trash", "--json")],
    "memories restore": [("memories", "restore", "1", "--json")],
    "memories clear": [("memories", "clear", "--global", "--yes", "--json")],
    "memories export": [("memories", "export", "-o", "memories.json", "--json")],
    "memories import": [("memories", "import", "memories.json", "--global", "--json")],
    "memories purge": [("memories", "purge", "--all", "--yes", "--json")],
    "memories draft": [("memories", "draft", "Unanswered", "2", *AS_IS, "--json")],
    "entries list": [("entries", "list", "--json")],
    "entries add": [
        ("entries", "add", "The ship is the Petrel.", "-k", "ship", "--character", "Tam", "--json"),
    ],
    "entries edit": [
        ("entries", "edit", "2", "--character", "Tam", "-k", "boat", "--set", "sticky=4", "--json")
    ],
    "entries delete": [("entries", "delete", "2", "--character", "Tam", "--json")],
    "lore list": [("lore", "list", "--json")],
    "lore show": [("lore", "show", "Harbour", "--json")],
    "lore add": [("lore", "add", "Coast", "--global", "--scan-depth", "4", "--json")],
    "lore edit": [("lore", "edit", "Harbour", "--recursive", "--json")],
    "lore use": [("lore", "use", "Harbour", "--character", "Tam", "--json")],
    "lore entry add": [("lore", "entry", "add", "Harbour", "Fog.", "-k", "fog", "--json")],
    "lore entry edit": [("lore", "entry", "edit", "Harbour", "2", "--title", "Fog", "--json")],
    "lore entry delete": [("lore", "entry", "delete", "Harbour", "2", "--json")],
    "lore export": [("lore", "export", "Harbour", "-o", "harbour.json", "--json")],
    "lore delete": [("lore", "delete", "Coast", "--yes", "--json")],
    "memories generate": [
        ("memories", "generate", "Her tea", "--character", "Tam", *ALL, "--json")
    ],
    "memories deeper": [("memories", "deeper", "Read", "--json")],
    "learn": [("learn", "Tam", "off", "--json"), ("learn", "Tam", "on", "--json")],
    "usage": [("usage", "--json")],
    "plan show": [("plan", "show", "--json")],
    "plan define": [("plan", "define", "night", "--daily-tokens", "100000", "--json")],
    "plan set": [("plan", "set", "night", "--json"), ("plan", "set", "tier1", "--json")],
    "plan delete": [("plan", "delete", "night", "--json")],
    "settings": [
        ("settings", "--json"),
        ("settings", "Unanswered", "--model", "m", "--context-limit", "9000", "--json"),
    ],
    "rename": [("rename", "Mira - Branch", "Mira - Fork", "--json")],
    "delete": [("delete", "2026-06", "--yes", "--json")],
    "export": [("export", "Mira - 2026", "--output", "back.jsonl", "--json")],
    "limits": [("limits", "--json")],
    "doctor": [("doctor", "--json")],
    "demo": [("demo", "--json")],
}
"""Calls that together print every field of a command's JSON, in the order they are made."""

WITHOUT = {"worker"}
"""Commands that have nothing to print as JSON: they end when they are stopped."""

MODEL = {"memories generate"}
"""Commands that ask the model of summaries, and are to be answered."""

NOBODY = {
    "TALEKEEPER_SUMMARY_BASE_URL": "http://127.0.0.1:9/v1",
    "TALEKEEPER_SUMMARY_MODEL": "nobody",
}
"""A model that cannot be reached."""

MAPS = {
    "import": ("[].unknown",),
    "summary show": ("levels",),
    "settings": ("from",),
    "limits": ("limits", "plans", "plans.*"),
    "demo": ("early",),
}
"""Objects whose keys are data."""

ELSEWHERE = {
    "preview": ("messages[]", "tools[]"),
    "diff": ("after", "new[]", "changed[].before", "changed[].after"),
    "demo": ("imported[]", "context", "summary", "memories[]"),
    "chat": ("memories[].memory",),
    "memories add": ("memory", "similar[]"),
    "memories edit": ("",),
    "memories delete": ("",),
    "memories pin": ("memory",),
    "memories unpin": ("",),
    "memories move": ("",),
    "memories history": ("memory",),
    "memories undo": ("[]",),
    "memories trash": ("[]",),
    "memories restore": ("",),
    "entries list": ("[].entries[].characters",),
    "entries add": ("",),
    "entries edit": ("",),
    "entries delete": ("",),
    "lore show": ("entries[]",),
    "lore add": ("",),
    "lore edit": ("",),
    "lore delete": ("",),
    "lore use": ("",),
    "lore entry add": ("",),
    "lore entry edit": ("",),
    "lore entry delete": ("",),
    "memories generate": ("saved[]",),
    "memories draft": ("saved[]",),
}
"""Parts whose shape is described elsewhere: by OpenAI, or by another command ("": all of it)."""


@pytest.fixture(scope="module")
def printed(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Sequence[Any]]:
    """What each command prints, for a database that has a chat, a fork and a group in it."""
    folder = tmp_path_factory.mktemp("home")
    lay_out(folder)
    said: Mapping[str, Any] = {"name": "Anna", "is_user": True, "mes": "Hello."}
    broken = "\n".join(map(json.dumps, [said, {"name": "Mira"}]))
    (folder / "broken.jsonl").write_text(broken, encoding="utf-8")
    with chdir(folder):
        _printed("import", *CHATS)
        with SyncKeeper.open("tale.db", settle="off") as keeper:
            tam = keeper.characters.add(name="Tam").id
            keeper.entries.add("Tam lights the lamp.", "lamp", character=tam)
            keeper.lore.add("Harbour", uses=[Use(kind="character", target=tam)])
            keeper.lore.add_entry("Harbour", content="The tide comes at noon.", keys=["tide"])
            chat = keeper.chats.start("Tam", title="Unanswered").id
            call = ToolCall(id="1", name="look", arguments="{}")
            keeper.record(chat, "", role="assistant", tool_calls=(call,))
            chat = keeper.chats.start("Tam", title="Unreachable").id
            for number in range(40):
                keeper.record(chat, f"Where is lamp {number}?")
                keeper.record(chat, f"Lamp {number} is on the stairs.", role="assistant")
        with FakeModelServer(_told) as server:
            asyncio.run(_read(server))
            asyncio.run(_tell(server))
            return {command: _all_printed(command, server) for command in CALLS}


def _told(request: ModelRequest) -> Step:
    """What the model says: memories where it is asked for some; with tools it adds one first."""
    if '"operations"' in request.text:
        return operations(adding("Anna rows.", "row every Sunday"), adding("No.", "never said"))
    if '"memories"' in request.text:
        return steps.answer(json.dumps({"memories": [{"text": "Anna drinks tea."}, 7]}))
    called = any(message["role"] == "tool" for message in request.messages)
    if called or not request.body.get("tools"):
        return steps.answer("Noted.")
    new = {"text": "Anna likes fog.", "scope": "character"}
    return steps.tool_calls("add_memory", json.dumps(new))


async def _read(server: FakeModelServer) -> None:
    """A chat that a deeper pass was made over."""
    model = OpenAICompatible(Endpoint(base_url=server.base_url, model="fake-model"))
    async with Keeper.open("tale.db", settle="off", summary_model=model) as keeper:
        chat = (await keeper.chats.start("Mira", title="Read", greet=False)).id
        await keeper.settings.change(
            chat, context_limit=400, reserve=0, tokenizer="approximate", main_prompt="Play."
        )
        await tell_on(keeper, chat, "I row every Sunday.")
        await tell_on(keeper, chat)
        await keeper.summaries.settle(chat)


async def _tell(server: FakeModelServer) -> None:
    """A chat with two replies: the first one saw less, and no memories."""
    model = OpenAICompatible(Endpoint(base_url=server.base_url, model="fake-model"))
    async with Keeper.open("tale.db", settle="off", chat_model=model) as keeper:
        teller = await keeper.characters.add(name="Teller")
        chat = (await keeper.chats.start("Teller", title="Told")).id
        for number in range(15):
            await keeper.record(chat, f"Where is lamp {number}?")
            await keeper.record(chat, f"Lamp {number} is on the stairs.", role="assistant")
        await keeper.characters.learn(teller.id, False)
        await keeper.reply(chat, "And now?", settings={"context_limit": 600, "reserve": 100})
        await keeper.characters.learn(teller.id, True)
        await keeper.reply(chat, "And then?")


def _all_printed(command: str, server: FakeModelServer) -> Sequence[Any]:
    """What the calls of a command print. Only some reach the model of summaries."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TALEKEEPER_CHAT_BASE_URL", server.base_url)
        patch.setenv("TALEKEEPER_CHAT_MODEL", "fake-model")
        for name, value in NOBODY.items():
            patch.setenv(name, value)
        if command in MODEL:
            patch.setenv("TALEKEEPER_SUMMARY_BASE_URL", server.base_url)
        return [json.loads(_printed(*call)) for call in CALLS[command]]


def _printed(*arguments: str) -> str:
    with redirect_stdout(StringIO()) as out, redirect_stderr(StringIO()):
        run(["--db", "tale.db", *arguments])
    return out.getvalue()


def _paths(value: Any, command: str, path: str = "") -> Iterator[str]:
    """Every field of a JSON value, as the reference writes it."""
    if path in ELSEWHERE.get(command, ()):
        return
    if isinstance(value, dict):
        for key, item in value.items():
            name = "*" if path in MAPS.get(command, ()) else key
            inner = f"{path}.{name}" if path else name
            yield inner
            yield from _paths(item, command, inner)
    elif isinstance(value, list):
        for item in value:
            yield from _paths(item, command, f"{path}[]")


def _documented(command: str) -> dict[str, str]:
    """The fields the reference lists for a command, with their types."""
    text = page("docs/reference/cli.md").text
    section = text.split(f"\n## talekeeper {command}\n")[1].split("\n## ")[0]
    rows = re.findall(
        r"^\| `([^`]+)` \| ([^|]*) \|[^|]*\|$", section.split("### JSON")[1], re.MULTILINE
    )
    return {name: kind.strip() for name, kind in rows if kind.strip()}


def test_every_command_is_called() -> None:
    assert set(CALLS) == set(commands()) - WITHOUT


@pytest.mark.parametrize("command", CALLS)
def test_json_has_the_documented_fields(command: str, printed: Mapping[str, Sequence[Any]]) -> None:
    found = {path for value in printed[command] for path in _paths(value, command)}
    assert found == set(_documented(command))


@pytest.mark.parametrize("command", CALLS)
def test_json_has_the_documented_types(command: str, printed: Mapping[str, Sequence[Any]]) -> None:
    documented = _documented(command)
    for whole in printed[command]:
        for path, value in _values(whole, command):
            assert _is(value, documented[path]), f"{command}: {path} is {value!r}"


def _values(value: Any, command: str, path: str = "") -> Iterator[tuple[str, Any]]:
    if path and not path.endswith("[]"):
        yield path, value
    if path in ELSEWHERE.get(command, ()):
        return
    if isinstance(value, dict):
        for key, item in value.items():
            name = "*" if path in MAPS.get(command, ()) else key
            yield from _values(item, command, f"{path}.{name}" if path else name)
    elif isinstance(value, list) and not all(isinstance(item, str) for item in value):
        for item in value:
            yield from _values(item, command, f"{path}[]")


def _is(value: Any, kind: str) -> bool:
    """Whether a value is of a type as the reference words it."""
    if value is None:
        return kind.endswith("or null")
    kind = kind.removesuffix(" or null")
    if kind == "moment":
        return isinstance(value, str) and re.search(r"T.*[+-]\d\d:\d\d$", value) is not None
    if kind == "array of texts":
        return isinstance(value, list) and all(isinstance(item, str) for item in value)
    types = {
        "text": str,
        "number": (int, float),
        "true or false": bool,
        "number, true or false": (int, float, bool),
        "object": dict,
        "array": list,
    }
    wanted: Any = types[kind]
    return isinstance(value, wanted) and (
        kind.endswith("true or false") or not isinstance(value, bool)
    )
