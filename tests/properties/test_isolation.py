"""Accounts never see each other, whatever is asked of whatever method."""

from collections.abc import Callable, Coroutine
from inspect import iscoroutinefunction
from io import BytesIO
from typing import Any

import pytest

from talekeeper import Keeper, NotFound
from talekeeper.testing import Ids, TickingClock
from tests.conftest import opened_database, run
from tests.properties.isolation import FOREIGN, OWN, Theirs

PARTS = ("chats", "messages", "characters", "personas", "settings", "files", "summaries")
TITLE = "Nobody else calls a chat this"


async def _story(call: Callable[[Keeper, Keeper, Theirs], Coroutine[Any, Any, None]]) -> None:
    """Alice has things; ``call`` gets Charlie's Keeper, hers, and the ids of what she has."""
    async with opened_database("sqlite://") as database:
        alice, charlie = [
            await Keeper.of(database, name, clock=TickingClock(), new_id=Ids(seed))
            for seed, name in enumerate(("alice", "charlie"), 1)
        ]
        mira = await alice.characters.add(name="Mira", first_mes="Welcome.")
        anna = await alice.personas.add("Anna", "{{user}} keeps a secret.")
        chat = await alice.chats.start("Mira", persona="Anna", title=TITLE)
        await charlie.characters.add(name="Boris")
        own = await charlie.chats.start("Boris")
        theirs = Theirs(
            chat=chat.id,
            number=1,
            title=TITLE,
            character=mira.id,
            persona=anna.id,
            own=own.id,
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
    assert run(methods()) | {"record", "compose"} == tried | OWN


@pytest.mark.parametrize("method", sorted(FOREIGN))
def test_nothing_of_another_account_is_found(method: str) -> None:
    async def attempt(charlie: Keeper, alice: Keeper, theirs: Theirs) -> None:
        before = await alice.messages.list(theirs.chat)
        with pytest.raises(NotFound) as raised:
            await FOREIGN[method](charlie, theirs)
        assert TITLE not in str(raised.value).replace(f"'{TITLE}'", "")
        assert await alice.messages.list(theirs.chat) == before

    run(_story(attempt))


def test_lists_hold_nothing_of_another_account() -> None:
    async def attempt(charlie: Keeper, alice: Keeper, theirs: Theirs) -> None:
        assert [chat.id for chat in await charlie.chats.list()] == [theirs.own]
        assert [character.name for character in await charlie.characters.list()] == ["Boris"]
        assert await charlie.personas.list() == []

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
