"""What a character saw is recorded with what it said, and goes with it."""

import json
from dataclasses import replace
from datetime import timedelta
from typing import Any

import anyio
import pytest
from sqlalchemy import Connection, select, text, update

from talekeeper import LIMITS, InvalidInput, ModelError, NotFound
from talekeeper.domain.lore import FiredEntry
from talekeeper.domain.recorded import DELETED_MEMORY, RecordedReceipt
from talekeeper.store import receipts as rows
from talekeeper.store.keys import ChatKey
from talekeeper.store.receipt_json import to_json
from talekeeper.store.receipt_tables import receipts
from talekeeper.testing import steps
from tests.conftest import run
from tests.reply.talking import Talk, add, call, talking
from tests.store.test_statements import counted

SMALL: dict[str, Any] = {
    "context_limit": 150,
    "reserve": 0,
    "tokenizer": "approximate",
    "tools": False,
    "main_prompt": "Play.",
    "live_cap": False,
    "shares": {"digest": 0.3},
}

WORDS = [f"{letter}{letter.upper()}{letter}" for letter in "abcdefghijklmnopqrst"]
"""Two memories that are much alike are not added, so each says something else."""


async def _stored(talk: Talk) -> int:
    return await talk.database.read(
        lambda connection: len(connection.execute(select(receipts)).all())
    )


def test_recorded_is_what_the_preview_said(database_url: str) -> None:
    async def story() -> None:
        async with talking(database_url, steps.answer("Да, 安娜. 🥜")) as talk:
            await talk.keeper.memories.add("安娜对花生过敏。", character=talk.mira)
            preview = await talk.keeper.compose(talk.chat)
            reply = await talk.keeper.reply(talk.chat)
            assert reply.message is not None
            recorded = await talk.keeper.receipts.get(talk.chat, reply.message.number)
            assert recorded.receipt == preview.receipt == reply.context.receipt
            assert (recorded.number, recorded.swipe, recorded.chat) == (2, 0, talk.chat)
            assert (recorded.digest, recorded.fired) == (None, ())
            assert len(recorded.marks) == len(recorded.receipt.sent())
            assert list(await talk.keeper.receipts.list(talk.chat)) == [recorded]

    run(story())


def test_composing_records_none(database_url: str) -> None:
    async def story() -> None:
        async with talking(database_url, steps.answer("Yes.")) as talk:
            await talk.keeper.compose(talk.chat)
            await talk.keeper.reply(talk.chat, mode="impersonate")
            await talk.keeper.receipts.compare(talk.chat, {}, {"strategy": "truncate"})
            assert await _stored(talk) == 0
            assert list(await talk.keeper.receipts.list(talk.chat)) == []

    run(story())


def test_regenerating_and_going_on(database_url: str) -> None:
    async def story() -> None:
        script = [steps.answer(f"Reply {number}.") for number in range(3)]
        async with talking(database_url, *script) as talk:
            kept = talk.keeper.receipts
            await talk.keeper.reply(talk.chat)
            first = await kept.get(talk.chat, 2)
            await talk.keeper.reply(talk.chat, replacing=2)
            second = await kept.get(talk.chat, 2)
            assert (second.swipe, second.receipt) == (1, first.receipt)
            assert await kept.get(talk.chat, 2, 0) == first
            await talk.keeper.reply(talk.chat, mode="continue")
            third = await kept.get(talk.chat, 2)
            assert third.swipe == 1
            assert [r.source for r in third.receipt.sent() if r.kind in ("input", "message")] == [
                "message:1/0",
                "message:2/1",
            ]
            assert await _stored(talk) == 2
            seen = await kept.seen(talk.chat, 2)
            states = {row.row.source: row.state for row in seen.rows}
            assert states["message:2/1"] == "changed", "it was gone on with"
            assert states["message:1/0"] == "same"

    run(story())


def test_a_tool_loop_has_one_receipt_and_a_failed_reply_none(database_url: str) -> None:
    async def story() -> None:
        script = (call(add("Anna sails.")), steps.answer("Noted."), steps.failing(400))
        async with talking(database_url, *script) as talk:
            await talk.keeper.reply(talk.chat)
            assert await _stored(talk) == 1
            with pytest.raises(ModelError):
                await talk.keeper.reply(talk.chat, "More?")
            assert await _stored(talk) == 1

    run(story())


def test_a_stopped_reply_has_one(database_url: str) -> None:
    async def story() -> None:
        slow = steps.paced(steps.answer("One two three four."), 0.3)
        async with talking(database_url, slow) as talk:
            stop = anyio.Event()
            reply = await talk.keeper.reply(talk.chat, on_text=lambda _: stop.set(), stop=stop)
            assert reply.stopped
            assert reply.message is not None
            assert (await talk.keeper.receipts.get(talk.chat, 2)).number == 2

    run(story())


def test_what_was_seen_is_looked_up_now(database_url: str) -> None:
    async def story() -> None:
        async with talking(database_url, steps.answer("Hm."), said="Hello, {{char}}.") as talk:
            keeper = talk.keeper
            await keeper.characters.update(talk.mira, description="A keeper.", scenario="A light.")
            for text in ("Anna rows.", "Anna sings.", "Анна рисует."):
                await keeper.memories.add(text, character=talk.mira)
            await keeper.record(talk.chat, "Noted.", role="assistant")
            await keeper.record(talk.chat, "And now? 👩‍🚀")
            await keeper.reply(talk.chat)
            before = await keeper.receipts.seen(talk.chat, 4)
            texts = {row.row.source: row.text for row in before.rows}
            assert {row.state for row in before.rows} == {"same"}
            assert texts["message:1/0"] == "Hello, {{char}}.", "as it was written"
            assert texts["memory:3"] == "Анна рисует."
            assert texts[f"character:{talk.mira}/description"] == "A keeper."

            await keeper.messages.edit(talk.chat, 1, "Goodbye.")
            await keeper.messages.delete(talk.chat, 2)
            await keeper.memories.edit(1, "Anna rows well.")
            await keeper.memories.delete(2)
            await keeper.characters.update(talk.mira, scenario="", description="A sailor.")
            after = await keeper.receipts.seen(talk.chat, 4)
            states = {row.row.source: row.state for row in after.rows if row.state != "same"}
            assert states == {
                "message:1/0": "changed",
                "message:2/0": "deleted",
                "memory:1": "changed",
                "memory:2": "deleted",
                f"character:{talk.mira}/description": "changed",
                f"character:{talk.mira}/scenario": "deleted",
            }
            assert all((row.text is None) == (row.state != "same") for row in after.rows)
            assert after.recorded == before.recorded

    run(story())


def test_deleting_takes_receipts_along(database_url: str) -> None:
    async def story() -> None:
        script = [steps.answer(f"Reply {number}.") for number in range(4)]
        async with talking(database_url, *script) as talk:
            keeper = talk.keeper
            await keeper.reply(talk.chat)
            for number in range(3):
                await keeper.reply(talk.chat, f"More {number}.")
            fork = await keeper.chats.fork(talk.chat, 8)
            assert list(await keeper.receipts.list(fork.id)) == []
            with pytest.raises(NotFound, match="has none yet"):
                await keeper.receipts.get(fork.id, 8)
            numbers = [one.number for one in await keeper.receipts.list(talk.chat)]
            assert numbers == [8, 6, 4, 2]
            await keeper.messages.delete(talk.chat, 2)
            await keeper.messages.delete_turn(talk.chat, 3)
            await keeper.chats.rewind(talk.chat, 6)
            assert [one.number for one in await keeper.receipts.list(talk.chat)] == [6]
            await keeper.chats.delete(talk.chat)
            assert await _stored(talk) == 0

    run(story())


def test_a_memory_deleted_for_good_leaves_no_trace(database_url: str) -> None:
    async def story() -> None:
        script = [steps.answer("Yes.")] * 2
        async with talking(database_url, *script) as talk:
            keeper = talk.keeper
            for word in WORDS[:12]:
                await keeper.memories.add(f"{word} {word}s.", character=talk.mira)
            await keeper.memories.pin(12)
            await keeper.reply(talk.chat)
            other = await keeper.chats.start("Mira", persona="Anna")
            await keeper.reply(other.id, "Hi.")
            for memory in (1, 12):
                await keeper.memories.delete(memory)
                await keeper.memories.purge(memory)
            for chat in (talk.chat, other.id):
                seen = await keeper.receipts.seen(chat, 2)
                sources = [row.row.source for row in seen.rows]
                assert sources.count(DELETED_MEMORY) == 2
                assert {"memory:1", "memory:12"}.isdisjoint(sources)
                assert "memory:11" in sources
                gone = [row for row in seen.rows if row.row.source == DELETED_MEMORY]
                assert {row.state for row in gone} == {"deleted"}
            await keeper.memories.delete(2)
            await keeper.memories.empty_trash()
            left = (await keeper.receipts.get(talk.chat, 2)).receipt.sent()
            assert "memory:2" not in [row.source for row in left]

    run(story())


def test_what_a_character_saved_goes_when_nothing_can_bring_it_back(database_url: str) -> None:
    async def story() -> None:
        script = (call(add("Anna sails.")), steps.answer("Noted."), steps.answer("Yes."))
        async with talking(database_url, *script) as talk:
            await talk.keeper.reply(talk.chat)
            other = await talk.keeper.chats.start("Mira", persona="Anna")
            await talk.keeper.reply(other.id, "Hi.")
            await talk.keeper.messages.delete(talk.chat, 2)
            receipt = (await talk.keeper.receipts.get(other.id, 2)).receipt
            assert [r.source for r in receipt.sent() if r.kind == "memory"] == [DELETED_MEMORY]

    run(story())


def test_the_digest_is_kept_until_what_it_tells_of_changes(database_url: str) -> None:
    async def story() -> None:
        async with talking(database_url, steps.answer("Hm."), said=None) as talk:
            keeper = talk.keeper
            await keeper.settings.change(talk.chat, **SMALL)
            for number in range(12):
                await keeper.record(talk.chat, f"The lamp number {number} hangs in Tarrow Quay.")
            reply = await keeper.reply(talk.chat)
            digests = [row for row in reply.context.receipt.sent() if row.kind == "digest"]
            assert digests, "it is a test of digests"
            recorded = await keeper.receipts.get(talk.chat, 13)
            assert recorded.digest is not None
            seen = await keeper.receipts.seen(talk.chat, 13)
            assert recorded.digest in [row.text for row in seen.rows]
            told = next(row for row in recorded.receipt.rows if row.note == "digest")
            number = int(told.source.removeprefix("message:").partition("/")[0])
            await keeper.messages.edit(talk.chat, 12, "Another.")
            assert (await keeper.receipts.get(talk.chat, 13)).digest == recorded.digest
            await keeper.messages.edit(talk.chat, number, "Nothing.")
            assert (await keeper.receipts.get(talk.chat, 13)).digest is None
            seen = await keeper.receipts.seen(talk.chat, 13)
            assert [row.state for row in seen.rows if row.row.kind == "digest"] == ["deleted"]

    run(story())


def test_only_the_newest_are_kept(database_url: str) -> None:
    async def story() -> None:
        async with talking(database_url, steps.answer("Hm.")) as talk:
            await talk.keeper.reply(talk.chat)
            recorded = await talk.keeper.receipts.get(talk.chat, 2)
            key = _key(talk, await _account(talk))

            def fill(connection: Connection) -> None:
                for number in range(LIMITS.receipts + 5):
                    rows.put(connection, key, _moved(recorded, number + 3))
                # The same once more takes no place of another.
                rows.put(connection, key, _moved(recorded, LIMITS.receipts))

            await talk.database.write(fill)
            kept = await talk.keeper.receipts.list(talk.chat, limit=1_000)
            assert len(kept) == LIMITS.receipts
            assert min(one.number for one in kept) == 8
            with pytest.raises(NotFound, match=f"has {LIMITS.receipts}, the oldest of 2"):
                await talk.keeper.receipts.get(talk.chat, 2)

    run(story())


def _moved(recorded: RecordedReceipt, number: int) -> RecordedReceipt:

    later = recorded.made_at + timedelta(seconds=number)
    return replace(recorded, number=number, made_at=later)


async def _account(talk: Talk) -> str:
    def unit(connection: Connection) -> str:
        return str(connection.execute(select(receipts.c.account_id)).scalars().first())

    return await talk.database.read(unit)


def _key(talk: Talk, account: str) -> ChatKey:
    return ChatKey(account, talk.chat)


def test_what_fired_counts_for_shown_swipes(database_url: str) -> None:
    async def story() -> None:
        script = [steps.answer(f"Reply {number}.") for number in range(3)]
        async with talking(database_url, *script) as talk:
            keeper = talk.keeper
            await keeper.reply(talk.chat)
            await keeper.reply(talk.chat, replacing=2)
            await keeper.reply(talk.chat, "More.")
            key = _key(talk, await _account(talk))
            fired = [["book", 7, "0badcafe"]]

            def set_fired(connection: Connection) -> None:
                connection.execute(
                    update(receipts).where(receipts.c.swipe == 0).values(fired=fired)
                )

            await talk.database.write(set_fired)
            expected = (FiredEntry("book", 7, "0badcafe"),)

            async def since(number: int) -> list[Any]:
                return await talk.database.read(lambda c: rows.fired_since(c, key, number))

            assert await since(1) == [(4, expected)]
            await keeper.messages.choose_swipe(talk.chat, 2, 0)
            assert await since(1) == [(2, expected), (4, expected)]
            assert await since(3) == [(4, expected)]
            assert (await keeper.receipts.get(talk.chat, 4)).fired == expected

    run(story())


def test_a_receipt_is_small() -> None:
    async def story() -> None:
        async with talking("sqlite://", steps.answer("Hm."), said=None) as talk:
            keeper = talk.keeper
            await keeper.characters.update(
                talk.mira, description="A keeper.", personality="Calm.", scenario="A lighthouse."
            )
            for word in WORDS:
                await keeper.memories.add(f"{word} {word}s.", character=talk.mira)
            for number in range(40):
                who: Any = "user" if number % 2 == 0 else "assistant"
                await keeper.record(talk.chat, f"Said {number}.", role=who)
            await keeper.reply(talk.chat, "And now?")
            recorded = await keeper.receipts.get(talk.chat, 42)
            assert len(recorded.receipt.rows) >= 60
            document = json.dumps(to_json(recorded), ensure_ascii=False)
            assert len(document.encode()) < 2_500

    run(story())


def test_errors_say_what_there_is(database_url: str) -> None:
    async def story() -> None:
        async with talking(database_url, steps.answer("Hm.")) as talk:
            kept = talk.keeper.receipts
            with pytest.raises(NotFound, match="no message 7"):
                await kept.get(talk.chat, 7)
            with pytest.raises(NotFound, match=r"no receipt of message 1.*has none yet"):
                await kept.get(talk.chat, 1)
            await talk.keeper.reply(talk.chat)
            with pytest.raises(NotFound, match=r"no receipt of message 1.*has 1, the oldest of 2"):
                await kept.get(talk.chat, 1)
            with pytest.raises(NotFound, match="has no swipe 4"):
                await kept.seen(talk.chat, 2, 4)
            with pytest.raises(NotFound, match="no persona 'Carla'"):
                await kept.compare(talk.chat, persona_after="Carla")
            with pytest.raises(InvalidInput):
                await kept.compare(talk.chat, {}, {"strategy": "bogus"})

    run(story())


def test_two_replies_and_now_are_compared(database_url: str) -> None:
    async def story() -> None:
        script = [steps.answer("Yes."), steps.answer("No.")]
        async with talking(database_url, *script) as talk:
            keeper = talk.keeper
            await keeper.memories.add("Anna rows.", character=talk.mira)
            await keeper.reply(talk.chat)
            await keeper.memories.edit(1, "Anna rows well.")
            await keeper.reply(talk.chat, "And?")
            found = await keeper.receipts.diff(talk.chat, 2, 4)
            assert [row.source for row in found.new] == ["message:2/0", "message:3/0"]
            assert list(found.gone) == []
            (changed,) = [change for change in found.changed if change.rewritten]
            assert changed.after.source == "memory:1"
            assert not found.alike
            assert (await keeper.receipts.diff(talk.chat, 2, 2)).alike

            again = await keeper.receipts.since(talk.chat, 4, again=True)
            assert again.alike
            now = await keeper.receipts.since(talk.chat, 4)
            assert [row.source for row in now.new] == ["message:4/0"]
            assert (now.before, now.after.prompt_tokens > now.before.prompt_tokens) == (
                (await keeper.receipts.get(talk.chat, 4)).receipt,
                True,
            )

    run(story())


def test_settings_and_personas_are_compared(database_url: str) -> None:
    async def story() -> None:
        async with talking(database_url, steps.answer("Hm.")) as talk:
            keeper = talk.keeper
            carla = await keeper.personas.add("Carla", "{{user}} is a sailor.")
            for number in range(30):
                await keeper.record(talk.chat, f"The lamp number {number} hangs in Tarrow Quay.")
            same = await keeper.receipts.compare(talk.chat)
            assert same.alike
            small = await keeper.receipts.compare(talk.chat, {}, {**SMALL, "strategy": "truncate"})
            let_go = [c for c in small.changed if c.after.reason == "strategy"]
            assert let_go
            assert all(c.before.reason == "sent" for c in let_go)
            assert small.after.strategy == "truncate"
            for name in ("Carla", carla.id):
                other = await keeper.receipts.compare(talk.chat, persona_after=name)
                assert [row.source for row in other.new] == [f"persona:{carla.id}"]
            assert (await keeper.chats.get(talk.chat)).persona_id != carla.id

    run(story())


def test_a_receipt_takes_two_statements(database_url: str) -> None:
    async def story() -> None:
        async with talking(database_url, steps.answer("Hm."), steps.answer("Ah.")) as talk:
            for said in ("One.", "Two."):
                with counted() as seen:
                    await talk.keeper.reply(talk.chat, said)
                writing = [s for s in seen if s.startswith(("DELETE", "INSERT", "UPDATE"))]
                assert len([s for s in writing if "receipts" in s]) == 2
                assert not [s for s in seen if s.startswith("SELECT") and "receipts" in s]

    run(story())


def test_nothing_of_a_reply_that_cannot_be_recorded_stays(database_url: str) -> None:
    """The receipt is the last to be written; where it fails, nothing was said."""

    async def story() -> None:
        async with talking(database_url, steps.answer("Hm.")) as talk:

            def refuse(connection: Connection) -> None:
                connection.execute(text("DROP TABLE receipts"))

            await talk.database.write(refuse)
            with pytest.raises(Exception, match="receipts"):
                await talk.keeper.reply(talk.chat)
            assert await talk.said() == ["Hello."]

            await talk.database.write(lambda connection: receipts.create(connection))

    run(story())
