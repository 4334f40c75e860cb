"""Characters, personas, participants, settings and plans."""

from typing import Any

import anyio
import pytest

from talekeeper import (
    Ambiguous,
    AuthorsNote,
    Card,
    Conflict,
    InvalidInput,
    Keeper,
    NotFound,
    ToolCall,
)
from tests.conftest import OpenKeeper, opened_database, run
from tests.store.test_statements import counted


def test_characters_are_added_found_changed_and_deleted(open_keeper: OpenKeeper) -> None:
    async def story() -> None:
        async with open_keeper() as keeper:
            mira = await keeper.characters.add(Card(name="Mira", description="Keeps the light."))
            assert await keeper.characters.get("MIRA") == mira
            changed = await keeper.characters.update(
                mira.id, nickname="Miri", expected_version=mira.version
            )
            assert (changed.spoken_name, changed.card.description) == ("Miri", "Keeps the light.")
            with pytest.raises(Conflict):
                await keeper.characters.update(mira.id, nickname="M", expected_version=1)
            with pytest.raises(InvalidInput, match="no field 'age'"):
                await keeper.characters.update(mira.id, age=40)
            chat = await keeper.chats.start(mira.id, greet=False)
            await keeper.characters.delete(mira.id)
            with pytest.raises(NotFound):
                await keeper.characters.get(mira.id)
            context = await keeper.compose(chat.id, "Are you there?")
            assert "You are Mira" in context.messages[0]["content"]

    run(story())


@pytest.mark.parametrize("name", ["", "   ", "x" * 301, "a\x00b", "a\ud800b"])
def test_a_name_must_be_storable(open_keeper: OpenKeeper, name: str) -> None:
    async def story() -> None:
        async with open_keeper() as keeper:
            with pytest.raises(InvalidInput):
                await keeper.characters.add(name=name)
            with pytest.raises(InvalidInput):
                await keeper.personas.add(name)
            assert await keeper.characters.list() == []

    run(story())


def test_names_are_compared_without_case_and_form(open_keeper: OpenKeeper) -> None:
    async def story() -> None:
        async with open_keeper() as keeper:
            await keeper.characters.add(name="Zoe\u0301")
            assert (await keeper.characters.get("ZO\u00c9")).name == "Zoe\u0301"
            await keeper.characters.add(name="STRASSE")
            assert (await keeper.characters.get("straße")).name == "STRASSE"
            await keeper.characters.add(name="zoé")
            with pytest.raises(Ambiguous, match="Several characters"):
                await keeper.characters.get("Zoé")

    run(story())


def test_a_persona_may_change_and_go(open_keeper: OpenKeeper) -> None:
    async def story() -> None:
        async with open_keeper() as keeper:
            await keeper.characters.add(name="Mira")
            anna = await keeper.personas.add("Anna", "A baker.")
            chat = await keeper.chats.start("Mira", persona="anna")
            assert [p.id for p in await keeper.personas.list()] == [anna.id]
            await keeper.record(chat.id, "I am {{user}}.")
            await keeper.personas.update(anna.id, name="Ana", description="A {{user}}.")
            context = await keeper.compose(chat.id)
            assert "About Ana:\nA Ana." in context.messages[0]["content"]
            await keeper.personas.delete(anna.id)
            with pytest.raises(NotFound):
                await keeper.personas.delete(anna.id)
            context = await keeper.compose(chat.id)
            assert "About" not in context.messages[0]["content"]

    run(story())


def test_characters_join_and_leave_a_chat(open_keeper: OpenKeeper) -> None:
    async def story() -> None:
        async with open_keeper() as keeper:
            for name in ("Mira", "Lena"):
                await keeper.characters.add(name=name)
            chat = await keeper.chats.start("Mira")
            chat = await keeper.chats.join(chat.id, "Lena", "Mira")
            assert len(chat.characters) == 2
            await keeper.record(chat.id, "I was here.", role="assistant", speaker="Lena")
            with pytest.raises(InvalidInput, match="say which one speaks"):
                await keeper.record(chat.id, "Who?", role="assistant")
            chat = await keeper.chats.leave(chat.id, "Lena")
            assert len(chat.characters) == 1
            context = await keeper.compose(chat.id, "Hm?")
            assert context.messages[1]["content"] == "Lena: I was here."
            with pytest.raises(InvalidInput, match="delete the chat"):
                await keeper.chats.leave(chat.id, "Mira")
            with pytest.raises(NotFound):
                await keeper.chats.leave(chat.id, "Lena")

    run(story())


def test_chats_are_locked_before_their_account(open_keeper: OpenKeeper) -> None:
    async def story() -> None:
        async with open_keeper() as keeper:
            await keeper.characters.add(name="Mira")
            await keeper.chats.start("Mira")
            for change in (
                lambda: keeper.settings.change(context_limit=8_000),
                lambda: keeper.settings.set_plan("tier2"),
            ):
                with counted() as statements:
                    await change()
                words = [text.split() for text in statements]
                assert [one[1] for one in words if one[0] == "UPDATE"] == ["chats", "accounts"]

    run(story())


def test_settings_are_per_account_and_overridable_per_chat(open_keeper: OpenKeeper) -> None:
    async def story() -> None:
        async with open_keeper() as keeper:
            await keeper.characters.add(name="Mira")
            chat = await keeper.chats.start("Mira")
            await keeper.settings.change(context_limit=8_000, strategy="manual")
            await keeper.settings.change(chat.id, context_limit=4_000)
            found = await keeper.settings.get(chat.id)
            assert (found.context_limit, found.strategy) == (4_000, "manual")
            await keeper.settings.change(chat.id, context_limit=None)
            assert (await keeper.settings.get(chat.id)).context_limit == 8_000
            with pytest.raises(InvalidInput, match="'reserve'"):
                await keeper.settings.change(reserve=-5)
            with pytest.raises(InvalidInput, match="no setting 'colour'"):
                await keeper.settings.change(chat.id, colour="red")
            assert (await keeper.settings.get()).reserve == 1024
            assert (await keeper.settings.set_plan("tier2")).live_tokens == 14_000
            assert (await keeper.settings.plan()).name == "tier2"
            with pytest.raises(InvalidInput):
                await keeper.settings.set_plan("gold")

    run(story())


def test_a_stale_write_is_a_conflict_and_changes_nothing(open_keeper: OpenKeeper) -> None:
    async def story() -> None:
        async with open_keeper() as keeper:
            await keeper.characters.add(name="Mira")
            chat = await keeper.chats.start("Mira")
            first = await keeper.record(chat.id, "One.", expected_version=chat.version)
            with pytest.raises(Conflict, match="chat changed"):
                await keeper.record(chat.id, "Two.", expected_version=chat.version)
            edited = await keeper.messages.edit(
                chat.id, first.number, "Uno.", expected_version=first.version
            )
            for attempt in (
                keeper.messages.edit(chat.id, 1, "Un.", expected_version=first.version),
                keeper.messages.add_swipe(chat.id, 1, "Un.", expected_version=first.version),
                keeper.messages.choose_swipe(chat.id, 1, 0, expected_version=first.version),
                keeper.messages.delete(chat.id, 1, expected_version=first.version),
                keeper.chats.rewind(chat.id, 0, expected_version=chat.version),
            ):
                with pytest.raises(Conflict):
                    await attempt
            assert await keeper.messages.list(chat.id) == [edited]

    run(story())


def test_an_external_id_makes_a_write_idempotent(open_keeper: OpenKeeper) -> None:
    async def story() -> None:
        async with open_keeper() as keeper:
            await keeper.characters.add(name="Mira")
            chat = await keeper.chats.start("Mira")
            first = await keeper.record(chat.id, "One.", external_id="m-1")
            again = await keeper.record(chat.id, "One.", external_id="m-1", expected_version=1)
            assert again == first
            other = await keeper.chats.start("Mira")
            assert (await keeper.record(other.id, "One.", external_id="m-1")).number == 1

    run(story())


def test_what_is_not_there_is_not_found(open_keeper: OpenKeeper) -> None:
    async def story() -> None:
        async with open_keeper() as keeper:
            await keeper.characters.add(name="Mira")
            chat = await keeper.chats.start("Mira")
            await keeper.record(chat.id, "One.")
            for attempt in (
                keeper.messages.get(chat.id, 2),
                keeper.messages.choose_swipe(chat.id, 1, 1),
                keeper.messages.edit(chat.id, 1, "x", swipe=3),
                keeper.messages.exclude(chat.id, 1, 2),
                keeper.chats.fork(chat.id, 2),
                keeper.chats.get("nonsense"),
                keeper.chats.get("00000000-0000-7000-8000-000000000000"),
                keeper.chats.delete("nonsense"),
                keeper.compose(chat.id, speaker="Lena"),
                keeper.chats.start("Lena"),
            ):
                with pytest.raises(NotFound):
                    await attempt
            assert not (await keeper.messages.get(chat.id, 1)).excluded

    run(story())


def test_many_writers_at_once_open_one_account_and_lose_nothing(database_url: str) -> None:
    async def story() -> None:
        async with opened_database(database_url) as database, anyio.create_task_group() as group:
            keepers: list[Keeper] = []

            async def open_one() -> None:
                keepers.append(await Keeper.of(database, "alice"))

            for _ in range(8):
                group.start_soon(open_one)
        async with Keeper.open(database_url, account="bob") as keeper:
            await keeper.characters.add(name="Mira")
            chat = await keeper.chats.start("Mira")
            async with anyio.create_task_group() as group:
                for number in range(30):
                    group.start_soon(keeper.record, chat.id, f"Line {number}")
            messages = await keeper.messages.list(chat.id)
            assert [message.number for message in messages] == list(range(1, 31))
            assert {message.text for message in messages} == {f"Line {n}" for n in range(30)}
            assert (await keeper.chats.get(chat.id)).messages == 30

    run(story())


def test_the_question_stays_through_a_long_turn_of_tools(open_keeper: OpenKeeper) -> None:
    async def story() -> None:
        async with open_keeper() as keeper:
            await keeper.characters.add(name="Mira")
            chat = await keeper.chats.start("Mira")
            for number in range(20):
                await keeper.record(chat.id, f"Before {number}.")
            await keeper.record(chat.id, "QUESTION")
            for number in range(40):
                call = ToolCall(id=f"c{number}", name="look", arguments="{}")
                await keeper.record(chat.id, "", role="assistant", tool_calls=(call,))
                await keeper.record(chat.id, "Grey.", role="tool", tool_call_id=call.id)
            context = await keeper.compose(chat.id)
            assert context.messages[1] == {"role": "user", "content": "QUESTION"}
            assert len(context.messages) == 82

    run(story())


def test_a_character_keeps_its_words_under_a_new_name(open_keeper: OpenKeeper) -> None:
    async def story() -> None:
        async with open_keeper() as keeper:
            mira = await keeper.characters.add(name="Mira", first_mes="I am {{char}}.")
            chat = await keeper.chats.start("Mira")
            await keeper.characters.update(mira.id, name="Mirabel", nickname="Bel")
            context = await keeper.compose(chat.id, "Who?")
            assert context.messages[1]["content"] == "I am Bel."
            said = await keeper.record(chat.id, "Hm.", role="assistant", speaker="mirabel")
            assert said.speaker == "Mirabel"

    run(story())


@pytest.mark.parametrize(
    "fields",
    [
        {"name": "x", "tags": 5},
        {"name": "x", "description": None},
        {"name": 7},
        {"name": "x", "depth_prompt": {"bogus": 1}},
        {"name": "x", "depth_prompt": {"text": "t", "depth": -1}},
        {"name": "x", "alternate_greetings": ["a\x00"]},
        {"description": "nameless"},
    ],
)
def test_a_card_that_is_wrong_is_refused_whole(
    open_keeper: OpenKeeper, fields: dict[str, Any]
) -> None:
    async def story() -> None:
        async with open_keeper() as keeper:
            with pytest.raises(InvalidInput):
                await keeper.characters.add(**fields)
            assert await keeper.characters.list() == []

    run(story())


def test_values_that_no_database_could_hold_are_refused(open_keeper: OpenKeeper) -> None:
    async def story() -> None:
        async with open_keeper() as keeper:
            await keeper.characters.add(name="Mira")
            chat = await keeper.chats.start("Mira")
            await keeper.record(chat.id, "One.")
            bad: Any = "bot"
            for attempt in (
                keeper.record(chat.id, "x", role=bad),
                keeper.record(chat.id, "x", external_id="a\x00"),
                keeper.record(chat.id, "x", external_id="y" * 9000),
                keeper.record(chat.id, "x", model="\ud800"),
                keeper.messages.list(chat.id, limit=-1),
                keeper.compose(chat.id, mode=bad),
                keeper.settings.change(chat.id, main_prompt="a\x00b"),
                keeper.chats.start("Mira", channel=bad),
            ):
                with pytest.raises(InvalidInput):
                    await attempt
            for number in (0, -3, 2**31, 2**63, 2**80):
                with pytest.raises(NotFound):
                    await keeper.messages.get(chat.id, number)
                with pytest.raises(NotFound):
                    await keeper.messages.exclude(chat.id, number)
            assert await keeper.chats.rewind(chat.id, 2**80) == 0
            await keeper.settings.change(chat.id, authors_note=AuthorsNote(text="Slow.", depth=2))
            found = await keeper.settings.change(chat.id, authors_note={"depth": 6})
            assert (found.authors_note.text, found.authors_note.depth) == ("Slow.", 6)
            with pytest.raises(InvalidInput, match="smaller than the context limit"):
                await keeper.settings.change(chat.id, context_limit=500)

    run(story())
