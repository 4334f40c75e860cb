"""Accounts never see each other, whatever is asked of whatever method."""

from collections.abc import Callable, Coroutine
from inspect import iscoroutinefunction
from io import BytesIO
from typing import Any

import pytest
from sqlalchemy import Connection

from talekeeper import Keeper, NotFound, Use
from talekeeper.models.chat_model import Answer
from talekeeper.record.memory_writes import MemoryWrite, apply_writes
from talekeeper.store import accounts
from talekeeper.testing import Ids, TickingClock
from tests.conftest import opened_database, run
from tests.properties.isolation import FOREIGN, OWN, Theirs

PARTS = (
    "chats",
    "messages",
    "characters",
    "personas",
    "settings",
    "files",
    "summaries",
    "memories",
    "receipts",
    "lore",
    "entries",
)
TITLE = "Nobody else calls a chat this"
RUN = "00000000-0000-7000-8000-00000000000a"


class _NeverAsked:
    """A model that nothing of another account is told to."""

    name = "never"

    async def complete(self, *_: object, **__: object) -> Answer:
        raise AssertionError("The model was asked.")

    async def stream(self, *_: object, **__: object) -> Answer:
        raise AssertionError("The model was asked.")

    async def close(self) -> None:
        """It has no connection."""


def _read_deeper(connection: Connection) -> None:
    """A deeper pass of Alice's adds a memory."""
    alice = accounts.find(connection, name="alice")
    assert alice is not None
    write = MemoryWrite(kind="add", text="Anna sings.")
    now = TickingClock().now
    apply_writes(connection, alice.id, [write], author="deeper", scopes=[None], now=now, run=RUN)


async def _story(call: Callable[[Keeper, Keeper, Theirs], Coroutine[Any, Any, None]]) -> None:
    """Alice has things; ``call`` gets Charlie's Keeper, hers, and the ids of what she has."""
    async with opened_database("sqlite://") as database:
        alice, charlie = [
            await Keeper.of(
                database,
                name,
                chat_model=_NeverAsked(),
                summary_model=_NeverAsked(),
                clock=TickingClock(),
                new_id=Ids(seed),
            )
            for seed, name in enumerate(("alice", "charlie"), 1)
        ]
        mira = await alice.characters.add(name="Mira", first_mes="Welcome.")
        anna = await alice.personas.add("Anna", "{{user}} keeps a secret.")
        chat = await alice.chats.start("Mira", persona="Anna", title=TITLE)
        await charlie.characters.add(name="Boris")
        own = await charlie.chats.start("Boris")
        await charlie.record(own.id, "Hello.")
        await charlie.memories.add("Charlie sails.")
        for text in ("Anna is 30.", "Anna likes tea.", "Anna owns a boat."):
            await alice.memories.add(text, character=mira.id)
        await alice.memories.delete(3)
        await database.write(_read_deeper)
        book = await alice.lore.add("Harbour", uses=[Use(kind="global")])
        await alice.lore.add_entry("Harbour", content="A secret tunnel.", keys=["tunnel"])
        await alice.entries.add("Mira's secret ship.", "ship", character=mira.id)
        await charlie.lore.add("Own")
        theirs = Theirs(
            chat=chat.id,
            number=1,
            title=TITLE,
            character=mira.id,
            persona=anna.id,
            own=own.id,
            memory=2,
            deleted=3,
            run=RUN,
            book=book.id,
        )
        await call(charlie, alice, theirs)


def test_every_method_is_tried() -> None:
    async def methods() -> set[str]:
        async with Keeper.open() as keeper:
            parts = {part: getattr(keeper, part) for part in PARTS}
            return {
                f"{part}.{name}"
                for part, methods in parts.items()
                for name in dir(methods)
                if not name.startswith("_") and iscoroutinefunction(getattr(methods, name))
            }

    tried = {name.split()[0] for name in FOREIGN}
    assert run(methods()) | {"record", "compose", "reply"} == tried | OWN


async def _all(alice: Keeper, theirs: Theirs) -> object:
    return [
        await alice.messages.list(theirs.chat),
        await alice.memories.list(),
        await alice.memories.list(theirs.character),
        await alice.memories.trash(),
        await alice.characters.list(),
    ]


@pytest.mark.parametrize("method", sorted(FOREIGN))
def test_nothing_of_another_account_is_found(method: str) -> None:
    async def attempt(charlie: Keeper, alice: Keeper, theirs: Theirs) -> None:
        before = await _all(alice, theirs)
        with pytest.raises(NotFound) as raised:
            await FOREIGN[method](charlie, theirs)
        assert TITLE not in str(raised.value).replace(f"'{TITLE}'", "")
        assert await _all(alice, theirs) == before

    run(_story(attempt))


def test_lists_hold_nothing_of_another_account() -> None:
    async def attempt(charlie: Keeper, alice: Keeper, theirs: Theirs) -> None:
        assert [chat.id for chat in await charlie.chats.list()] == [theirs.own]
        assert [character.name for character in await charlie.characters.list()] == ["Boris"]
        assert await charlie.personas.list() == []
        assert [memory.text for memory in (await charlie.memories.list()).memories] == [
            "Charlie sails."
        ]
        assert list(await charlie.memories.trash()) == []
        assert dict(await charlie.memories.scopes()) == {None: (1, 0)}
        exported = await charlie.memories.export()
        assert b"sails" in exported
        assert b"Anna" not in exported

    run(_story(attempt))


def test_a_foreign_persona_brings_nothing_with_it() -> None:
    async def attempt(charlie: Keeper, alice: Keeper, theirs: Theirs) -> None:
        with pytest.raises(NotFound):
            await charlie.chats.set_persona(theirs.own, theirs.persona)
        context = await charlie.compose(theirs.own, "Hello.")
        assert "Anna" not in str(context.as_json())
        assert "secret" not in str(context.as_json())

    run(_story(attempt))


def test_an_import_is_not_compared_with_chats_of_another_account() -> None:
    async def attempt(charlie: Keeper, alice: Keeper, theirs: Theirs) -> None:
        lines = [
            b'{"user_name": "Anna", "character_name": "Mira"}\n',
            b'{"name": "Anna", "is_user": true, "mes": "Hello."}\n',
            b'{"name": "Mira", "is_user": false, "mes": "Hi."}\n',
        ]
        for keeper in (alice, charlie):
            report = await keeper.files.import_stream(BytesIO(b"".join(lines)), "tale.jsonl")
            assert report.outcome == "new"
        assert theirs.character not in (await charlie.chats.list())[0].characters

    run(_story(attempt))
