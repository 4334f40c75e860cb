"""Memories out of the account and into it: round trips, caps, files that are not what they say."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from talekeeper import InvalidInput, Keeper, NotFound, UnreadableFile
from talekeeper.domain.errors import MemoriesOverCap
from talekeeper.domain.limits import LIMITS
from talekeeper.record.memory_files import Destination
from talekeeper.testing import TickingClock
from tests.conftest import OpenKeeper, run

TEXTS = (
    "Anna is allergic to walnuts.",
    "У Анны кошка.",
    "安娜住在港口。",
    "霧が好きです。",
    "Vive sola.",
)


def _file(*memories: Any, **head: Any) -> bytes:
    whole = {"format": "talekeeper-memories", "version": 1, "memories": memories, **head}
    return json.dumps(whole).encode()


def _item(text: Any = "Anna likes fog.", **more: Any) -> dict[str, Any]:
    return {"text": text, "scope": "global", "character": None, **more}


def _day(number: int) -> str:
    return (datetime(2025, 1, 1, tzinfo=UTC) + timedelta(days=number)).isoformat()


async def _all(keeper: Keeper) -> dict[str, list[tuple[str, bool]]]:
    found = {}
    for scope in await keeper.memories.scopes():
        view = await keeper.memories.list(scope)
        found[view.name] = [(memory.text, memory.pinned) for memory in view.memories]
    return found


def test_what_was_exported_comes_in_elsewhere_as_it_was(open_keeper: OpenKeeper) -> None:
    async def scenario() -> None:
        clock = TickingClock()
        async with open_keeper("alice", clock=clock) as alice:
            mira = await alice.characters.add(name="Mira")
            for at, text in enumerate(TEXTS):
                scope = mira.id if at % 2 else None
                await alice.memories.add(text, character=scope, pinned=at > 2)
            await alice.memories.edit(1, "Anna is allergic to all nuts.")
            whole = await alice.memories.export()
            one = await alice.memories.export([mira.id])
            expected = await _all(alice)
        async with open_keeper("bob", clock=clock) as bob:
            await bob.characters.add(name="mira")
            done = await bob.memories.import_file(whole)
            assert (done.added, done.repeats, done.left_out) == (5, 0, 0)
            assert await _all(bob) == {name.replace("M", "m"): v for name, v in expected.items()}
            assert (await bob.memories.export()).replace(b'"mira"', b'"Mira"') == whole
            again = await bob.memories.import_file(one)
            assert (again.added, again.repeats) == (0, 2)
        first = json.loads(whole)["memories"][0]
        assert set(first) == {
            *("text", "scope", "character", "pinned", "by", "created_at", "updated_at")
        }
        assert {item["character"] for item in json.loads(one)["memories"]} == {"Mira"}

    run(scenario())


def test_the_journal_begins_with_the_dates_of_the_file(open_keeper: OpenKeeper) -> None:
    async def scenario() -> None:
        async with open_keeper() as keeper:
            item = _item(created_at=_day(1), updated_at=_day(9), by="character")
            await keeper.memories.import_file(_file(item, _item("Later.", updated_at=_day(9_999))))
            found = await keeper.memories.get(1)
            assert (found.created_at.isoformat(), found.updated_at.isoformat()) == (
                _day(1),
                _day(9),
            )
            assert found.author == "character"
            pinned = await keeper.memories.pin(1)
            assert pinned.updated_at == found.updated_at
            later = await keeper.memories.get(2)
            assert later.updated_at.isoformat() < _day(9_999), "nothing is said in time to come"
            assert (await keeper.memories.undo(2)).deleted_at is not None

    run(scenario())


def test_an_unknown_character_is_named_and_a_target_takes_all(open_keeper: OpenKeeper) -> None:
    async def scenario() -> None:
        async with open_keeper() as keeper:
            data = _file(_item("Tam rows.", scope="character", character="Tam"), _item())
            with pytest.raises(NotFound, match="'Tam', whose memories the file holds"):
                await keeper.memories.import_file(data)
            assert await _all(keeper) == {}
            mira = await keeper.characters.add(name="Mira")
            await keeper.memories.import_file(data, into=Destination(character=mira.id))
            assert set(await _all(keeper)) == {"Mira"}
            done = await keeper.memories.import_file(data, into=Destination(character=None))
            assert [(one.name, one.added) for one in done.filled] == [("global", 2)]
            with pytest.raises(NotFound):
                await keeper.memories.import_file(data, into=Destination(character="nobody"))

    run(scenario())


def test_over_the_cap_nothing_comes_in_or_the_newest_do(open_keeper: OpenKeeper) -> None:
    async def scenario() -> None:
        async with open_keeper() as keeper:
            for number in range(LIMITS.memories - 2):
                await keeper.memories.add(f"Lamp {number} is lit.", even_if_similar=True)
            await keeper.memories.add("Pinned.", pinned=True)
            items = [_item(f"Stair {n} creaks.", updated_at=_day(n)) for n in range(5)]
            data = _file(*items, _item("Lamp 3 is lit."), _item("Also pinned.", pinned=True))
            before = await _all(keeper)
            with pytest.raises(MemoriesOverCap, match="global has 98 unpinned") as caught:
                await keeper.memories.import_file(data)
            assert caught.value.scopes == (("global", False, 98, 5, LIMITS.memories),)
            assert await _all(keeper) == before
            done = await keeper.memories.import_file(data, newest=True)
            assert (done.added, done.repeats, done.left_out) == (3, 1, 3)
            texts = {text for text, _ in (await _all(keeper))["global"]}
            assert {"Stair 3 creaks.", "Stair 4 creaks.", "Also pinned."} <= texts
            assert "Stair 2 creaks." not in texts
            full = await keeper.memories.import_file(_file(_item("One more.")), newest=True)
            assert (full.added, full.left_out) == (0, 1)

    run(scenario())


@pytest.mark.parametrize(
    ("data", "phrase"),
    [
        (b"", "is not JSON"),
        (b"\xff\xfe", "is not UTF-8"),
        (b"[]", "not an object"),
        (b'{"a": 1}', "no file of memories"),
        (b"[" * 100_000, "nested deeper|is not JSON"),
        (b'{"format": ' + b'{"a": ' * 80 + b"1" + b"}" * 81, "nested deeper"),
        (b"{" + b'"a": 1, ' * 600_000 + b'"b": 1}', "more than 500,000 values"),
        (b'{"a": "' + b"x" * LIMITS.memory_file_bytes + b'"}', "larger than"),
        (_file(version=2), "not of version 1"),
        (_file(version=True), "not of version 1"),
        (_file(memories={}), "memories"),
        (_file(1), "Memory 1 of the file"),
        (_file(_item(), _item(7)), "Memory 2 of the file: text must be a text"),
        (_file({"scope": "global"}), "Memory 1 of the file: text is missing"),
        (_file(_item(scope="chat")), "scope must be 'global' or 'character'"),
        (_file(_item(scope="character")), "names no character"),
        (_file(_item(character="x" * 1_000)), "character"),
        (_file(_item(pinned="yes")), "pinned must be true or false"),
        (_file(_item(by="nobody")), "by must be"),
        (_file(_item(created_at=12)), "a moment is a text"),
        (_file(_item(created_at="2026-05-03T17:42:00")), "needs its zone"),
        (_file(_item(updated_at="0001-01-01T00:00:00+14:00")), "out of all time"),
        (_file(_item(updated_at="yesterday")), "updated_at"),
        (_file(_item("x" * 501)), "at most 500 characters"),
        (_file(_item(" \n")), "must not be empty"),
        (_file(_item("a\x00b")), "cannot be stored, in memories"),
        (_file(_item("a\ud800b")), "cannot be stored, in memories"),
    ],
    ids=range(27),
)
def test_a_file_that_is_not_what_it_should_be(data: bytes, phrase: str) -> None:
    async def scenario() -> None:
        async with Keeper.open(settle="off") as keeper:
            with pytest.raises((UnreadableFile, InvalidInput), match=phrase) as caught:
                await keeper.memories.import_file(data)
            assert "\n" not in str(caught.value)
            assert len(str(caught.value)) < 300
            assert await keeper.memories.scopes() == {}

    run(scenario())


def test_unknown_fields_and_forms_of_letters_do_not_matter() -> None:
    async def scenario() -> None:
        async with Keeper.open(settle="off") as keeper:
            await keeper.characters.add(name="Zoë")
            named = _item("Café au lait.", scope="character", character=" Zoe\u0308 ", mood="!")
            await keeper.memories.import_file(_file(named, extra=[1]))
            assert await _all(keeper) == {"Zoë": [("Café au lait.", False)]}

    run(scenario())
