"""Saved memories against a simple reference, through random lives on both databases."""

import asyncio
import json
import os
import re
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from itertools import count
from typing import Any, TypeVar

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)
from sqlalchemy import Connection

from talekeeper import Conflict, Context, Keeper, NotFound
from talekeeper.domain.errors import ScopeFull
from talekeeper.domain.memory import State
from talekeeper.record.journal import add_memory
from talekeeper.store.accounts import find
from talekeeper.store.memories import lock
from talekeeper.testing import Ids, TickingClock
from talekeeper.text.tokens import tokenizer_named
from tests.properties.remembering import Book, Kept, Said, Talk, Unit, Value
from tests.properties.stored import emptied, opened
from tests.properties.writing import Call, Calling, Pen

T = TypeVar("T")

NAMES = ("Mira", "Boris")
MOST_CHATS = 4
FORMS = ("{}", "Anna: {}.", "Анна помнит {}", "安娜说：{}", "ミラと{}", "¿Y {}?", "{{{{char}}}} {}")

pick = st.integers(0, 30)
maybe = st.booleans()
form = st.sampled_from(FORMS)
scope_name = st.sampled_from((None, *NAMES))
calls = st.lists(
    st.tuples(
        st.sampled_from(("add", "add", "update", "delete")),
        pick,
        st.sampled_from(("character", "global")),
    ),
    max_size=7,
)
_LINE = re.compile(r"^- (#\d+ )?(.*) \(\d{4}-\d\d-\d\d(, recent)?\)$", re.MULTILINE)


class Remembering(RuleBasedStateMachine):
    """Two characters, a chat alone and one in a group, and all that is saved."""

    url = "sqlite://"

    def __init__(self) -> None:
        super().__init__()
        self.loop = asyncio.new_event_loop()
        self.words = count(1)
        self.looks = count()
        self.book = Book()
        self.next_id = 1
        self.model = Calling()
        self.database = self.do(opened(self.url))

    def teardown(self) -> None:
        self.do(self.database.close())
        self.loop.close()

    def do(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Run to the end."""
        return self.loop.run_until_complete(coroutine)

    @initialize()
    def be_born(self) -> None:
        self.do(self.database.write(emptied))
        self.keeper = self.do(
            Keeper.of(
                self.database,
                "alice",
                chat_model=self.model,
                clock=TickingClock(),
                new_id=Ids(1),
            )
        )
        for name in NAMES:
            made = self.do(self.keeper.characters.add(name=name))
            self.book.characters[name] = made.id
            self.book.learning[name] = True
        for members in (NAMES[:1], NAMES):
            chat = self.do(self.keeper.chats.start(*members, persona="Anna"))
            self.book.talks.append(Talk(chat.id, members))
            self.say(len(self.book.talks) - 1)

    # Finding things

    def text(self, form: str) -> str:
        """A text with a word that no other has."""
        return form.format(f"w{next(self.words)}z")

    def scope(self, name: str | None) -> str | None:
        """The id of a scope; that of a character that is gone is the global one."""
        return self.book.characters.get(name or "")

    def memory(self, at: int) -> int | None:
        """One of all memories that ever were, mostly a late one."""
        ids = sorted(self.book.events)
        return ids[-1 - at % min(len(ids), 6 if at % 2 else len(ids))] if ids else None

    def kept(self, at: int) -> Kept | None:
        """One of those that are there."""
        there = self.book.there()
        ids = sorted(there)
        return there[ids[-1 - at % min(len(ids), 8)]] if ids else None

    def replied(self, chat: int, at: int) -> tuple[Talk, Said] | None:
        """A message of a character, mostly the last."""
        talk = self.talk(chat)
        found = [message for message in talk.messages.values() if message.speaker]
        return (talk, found[-1 - (at // 2) % len(found) if at % 2 else -1]) if found else None

    def talk(self, at: int) -> Talk:
        """One of the chats."""
        return self.book.talks[at % len(self.book.talks)]

    @contextmanager
    def pinned_stay(self) -> Iterator[None]:
        """No way of an AI, or of what hangs on its texts, changes a pinned memory."""
        before = self.pinned()
        yield
        assert self.pinned() == before, "a pinned memory changed"

    def pinned(self) -> list[tuple[int, str, str | None]]:
        """What is pinned, as the keeper tells."""
        found = [
            (memory.id, memory.text, memory.character)
            for scope in (None, *self.book.characters.values())
            for memory in self.do(self.keeper.memories.list(scope)).memories
            if memory.pinned
        ]
        return sorted(found)

    # Talking

    @rule(chat=pick)
    def say(self, chat: int) -> None:
        talk = self.talk(chat)
        made = self.do(self.keeper.record(talk.id, self.text("{}?")))
        talk.messages[made.number] = Said(made.number, made.turn, None)

    @rule(chat=pick, by=pick, asked=calls, form=form)
    def reply(self, chat: int, by: int, asked: list[tuple[str, int, str]], form: str) -> None:
        talk = self.talk(chat)
        speaker = talk.members[by % len(talk.members)]
        self.write(talk, speaker, asked, form, None)

    @rule(chat=pick, at=pick, asked=calls, form=form)
    def regenerate(self, chat: int, at: int, asked: list[tuple[str, int, str]], form: str) -> None:
        found = self.replied(chat, at)
        if found:
            talk, message = found
            self.write(talk, str(message.speaker), asked, form, message)

    @rule(chat=pick, at=pick, asked=calls, form=form)
    def regenerate_and_go_back(
        self, chat: int, at: int, asked: list[tuple[str, int, str]], form: str
    ) -> None:
        found = self.replied(chat, at)
        if found:
            talk, message = found
            before, was = self.told(), message.active
            self.write(talk, str(message.speaker), asked, form, message)
            self.do(self.keeper.messages.choose_swipe(talk.id, message.number, was))
            message.active = was
            assert self.told() == before, "a swipe forth and back changed memories"

    def told(self) -> list[object]:
        """All memories as the keeper tells them, without their versions."""
        return [
            (memory.id, memory.text, memory.character, memory.pinned, memory.updated_at)
            for scope in (None, *self.book.characters.values())
            for memory in self.do(self.keeper.memories.list(scope)).memories
        ]

    def write(
        self,
        talk: Talk,
        speaker: str,
        asked: list[tuple[str, int, str]],
        form: str,
        replaced: Said | None,
    ) -> None:
        """Let a character reply with tool calls, here and there."""
        book = self.book
        book.step += 1
        view = book.before(talk.id, replaced.number) if replaced else book.there()
        pen = Pen(book, view, book.characters.get(speaker))
        planned = [self.planned(kind, at, scope, form) for kind, at, scope in asked]
        learns = book.learning.get(speaker, True)
        expected = [pen.call(call) for call in planned] if learns else []
        self.model.calls = [call.as_tool_call(number) for number, call in enumerate(planned)]
        heard: list[bool] = []
        with self.pinned_stay():
            reply = self.do(
                self.keeper.reply(
                    talk.id,
                    speaker=None if replaced else speaker,
                    replacing=replaced.number if replaced else None,
                    on_call=lambda _call, result: heard.append(json.loads(result)["ok"]),
                )
            )
        self.model.calls = ()
        assert heard == expected, f"calls {planned} were done: {heard}, not {expected}"
        message = reply.message
        assert message is not None
        if replaced is None:
            replaced = Said(message.number, message.turn, speaker)
            talk.messages[message.number] = replaced
        else:
            replaced.active = replaced.swipes
            replaced.swipes += 1
        assert message.active == replaced.active
        if learns:
            unit = Unit(talk.id, message.number, message.active)
            self.next_id = pen.keep(unit, self.next_id)

    def planned(self, kind: str, at: int, scope: str, form: str) -> Call:
        """A call on something that is there, or was, or is only staged, or never was."""
        strange = ("new-1", "new-2", "#1", "999999", "nonsense")
        known = self.memory(at)
        target = strange[at % len(strange)] if at % 4 == 0 or known is None else str(known)
        target = "1" if target == "#1" else target
        return Call(kind, target, self.text(form), scope)

    @rule(chat=pick, at=pick, swipe=pick)
    def choose_swipe(self, chat: int, at: int, swipe: int) -> None:
        found = self.replied(chat, at)
        if found:
            talk, message = found
            message.active = swipe % message.swipes
            with self.pinned_stay():
                choose = self.keeper.messages.choose_swipe
                self.do(choose(talk.id, message.number, message.active))

    @rule(chat=pick, at=pick)
    def edit_message(self, chat: int, at: int) -> None:
        found = self.replied(chat, at)
        if found:
            talk, message = found
            self.do(self.keeper.messages.edit(talk.id, message.number, self.text("{}!")))

    @rule(chat=pick, at=pick)
    def rewind(self, chat: int, at: int) -> None:
        talk = self.talk(chat)
        numbers = [0, *talk.messages]
        last = numbers[-1 - at % min(len(numbers), 4)]
        with self.pinned_stay():
            self.do(self.keeper.chats.rewind(talk.id, last))
        talk.messages = {n: m for n, m in talk.messages.items() if n <= last}

    @rule(chat=pick, at=pick, whole_turn=maybe)
    def delete_message(self, chat: int, at: int, whole_turn: bool) -> None:
        found = self.replied(chat, at)
        if not found:
            return
        talk, message = found
        messages = self.keeper.messages
        delete = messages.delete_turn if whole_turn else messages.delete
        with self.pinned_stay():
            gone = self.do(delete(talk.id, message.number))
        for number in gone:
            del talk.messages[number]

    @rule(chat=pick, at=pick)
    def fork(self, chat: int, at: int) -> None:
        talk = self.talk(chat)
        if talk.messages and len(self.book.talks) < MOST_CHATS:
            last = list(talk.messages)[-1 - at % len(talk.messages)]
            made = self.do(self.keeper.chats.fork(talk.id, last))
            copied = {
                n: Said(m.number, m.turn, m.speaker, m.active, m.swipes)
                for n, m in talk.messages.items()
                if n <= last
            }
            self.book.talks.append(Talk(made.id, talk.members, copied))

    @precondition(lambda self: len(self.book.talks) > 2)
    @rule(chat=pick)
    def delete_chat(self, chat: int) -> None:
        talk = self.talk(chat)
        units = {e.unit for events in self.book.events.values() for e in events if e.unit}
        self.book.lost |= {u for u in units if u.chat == talk.id and self.book.is_shown(u)}
        self.do(self.keeper.chats.delete(talk.id))
        self.book.talks.remove(talk)

    # What a person does

    @rule(name=scope_name, pinned=maybe, form=form)
    def add(self, name: str | None, pinned: bool, form: str) -> None:
        book, scope, text = self.book, self.scope(name), self.text(form)
        book.step += 1
        add = self.keeper.memories.add(text, character=scope, pinned=pinned)
        if book.room(scope, pinned=pinned, there=book.there().values()) <= 0:
            with pytest.raises(ScopeFull):
                self.do(add)
            return
        made = self.do(add).memory
        assert made is not None
        assert made.id == self.next_id
        book.by_person(made.id, "add", Value(text, scope, pinned))
        self.next_id += 1

    @rule(at=pick, form=form)
    def edit(self, at: int, form: str) -> None:
        kept = self.kept(at)
        if kept:
            text = self.text(form)
            self.book.step += 1
            self.do(self.keeper.memories.edit(kept.id, text))
            self.book.by_person(kept.id, "update", kept.value._replace(text=text))

    @rule(at=pick)
    def delete(self, at: int) -> None:
        kept = self.kept(at)
        if kept:
            self.book.step += 1
            self.do(self.keeper.memories.delete(kept.id))
            self.book.by_person(kept.id, "delete", None)

    @rule(at=pick)
    def pin_or_unpin(self, at: int) -> None:
        kept = self.kept(at)
        if kept:
            memories, pinned = self.keeper.memories, not kept.value.pinned
            change = memories.pin(kept.id) if pinned else memories.unpin(kept.id)
            after = kept.value._replace(pinned=pinned)
            self.into(kept, after, change, "pin")

    @rule(at=pick, name=scope_name)
    def move(self, at: int, name: str | None) -> None:
        kept, scope = self.kept(at), self.scope(name)
        if kept and kept.value.scope != scope:
            change = self.keeper.memories.move(kept.id, scope)
            self.into(kept, kept.value._replace(scope=scope), change, "move")

    def into(self, kept: Kept, after: Value, change: Coroutine[Any, Any, Any], kind: str) -> None:
        """Change a memory so that it needs room elsewhere."""
        book = self.book
        book.step += 1
        if book.room(after.scope, pinned=after.pinned, there=book.there().values()) <= 0:
            with pytest.raises(ScopeFull):
                self.do(change)
            return
        self.do(change)
        book.by_person(kept.id, kind, after)

    @rule(at=pick)
    def restore(self, at: int) -> None:
        memory, book = self.memory(at), self.book
        if memory is None:
            return
        book.step += 1
        if memory not in book.trash():
            with pytest.raises(NotFound):
                self.do(self.keeper.memories.restore(memory))
            return
        self.do(self.keeper.memories.restore(memory))
        said = book.folded(memory)[1] or book.shown[memory]._replace(pinned=False)
        book.by_person(memory, "restore", said)

    @rule(at=pick, place=st.one_of(st.none(), pick))
    def undo(self, at: int, place: int | None) -> None:
        memory, book = self.memory(at), self.book
        if memory is None:
            return
        book.step += 1
        events = book.events[memory]
        if place is None:
            last = book.folded(memory)[2]
            undone = None if last is None else next(i for i, e in enumerate(events) if e is last)
            change = self.keeper.memories.undo(memory)
        else:
            undone = place % len(events)
            change = self.keeper.memories.undo(memory, undone + 1)
        if undone is None or not book.undo({memory: {undone}}):
            with pytest.raises(Conflict):
                self.do(change)
        else:
            self.do(change)

    @rule(chat=pick, at=pick)
    def undo_turn(self, chat: int, at: int) -> None:
        found = self.replied(chat, at)
        if found:
            talk, message = found
            self.book.step += 1
            turn = [m.number for m in talk.messages.values() if m.turn == message.turn]
            altered = self.book.undo(self.book.hanging(talk.id, turn))
            changed = self.do(self.keeper.memories.undo_turn(talk.id, message.number))
            assert {memory.id for memory in changed} == altered

    @rule(name=scope_name, pinned=maybe)
    def clear(self, name: str | None, pinned: bool) -> None:
        book, scope = self.book, self.scope(name)
        book.step += 1
        gone = [
            kept.id
            for kept in book.there().values()
            if (kept.value.scope, kept.value.pinned) == (scope, pinned)
        ]
        assert self.do(self.keeper.memories.clear(scope, pinned=pinned)) == len(gone)
        for memory in gone:
            book.by_person(memory, "delete", None)

    @rule(at=pick)
    def purge(self, at: int) -> None:
        memory = self.memory(at)
        if memory is not None and at % 3 == 0:
            self.do(self.keeper.memories.purge(memory))
            del self.book.events[memory]

    @rule(name=st.sampled_from(NAMES), on=maybe)
    def learn(self, name: str, on: bool) -> None:
        if name in self.book.characters:
            self.do(self.keeper.characters.learn(self.book.characters[name], on))
            self.book.learning[name] = on

    @precondition(lambda self: len(self.book.characters) > 1 and self.book.step > 6)
    @rule(name=st.sampled_from(NAMES), really=pick)
    def delete_character(self, name: str, really: int) -> None:
        if really % 4:
            return
        book = self.book
        book.step += 1
        self.do(self.keeper.characters.delete(book.characters[name]))
        scope = book.characters.pop(name)
        del book.learning[name]
        for memory in book.events:
            # What was in its scope is the person's own now, for they took the character away.
            characters = book.characters
            book.characters = {**characters, name: scope}
            value = book.folded(memory)[0]
            book.characters = characters
            if value is not None and value.scope == scope:
                book.by_person(memory, "move", value._replace(scope=None))

    @precondition(lambda self: self.next_id < 150)
    @rule(name=scope_name, pinned=maybe, form=form)
    def fill(self, name: str | None, pinned: bool, form: str) -> None:
        """Fill a scope to its cap, in one transaction."""
        book, scope = self.book, self.scope(name)
        tokenizer = tokenizer_named("o200k_base")
        room = book.room(scope, pinned=pinned, there=book.there().values())
        texts = [self.text(form) for _ in range(room)]
        book.step += 1

        def unit(connection: Connection) -> None:
            account = find(connection, name="alice")
            assert account is not None
            now = self.keeper._desk.clock()
            lock(connection, account.id)
            for text in texts:
                state = State(text=text, character=scope, pinned=pinned)
                add_memory(
                    connection, account.id, state, author="person", now=now, tokenizer=tokenizer
                )

        self.do(self.database.write(unit))
        for text in texts:
            book.by_person(self.next_id, "add", Value(text, scope, pinned))
            self.next_id += 1

    # What must hold

    @invariant()
    def all_is_as_the_book_says(self) -> None:
        book = self.book
        book.remember_shown()
        for scope in (None, *book.characters.values()):
            view = self.do(self.keeper.memories.list(scope))
            found = [(m.id, Value(m.text, m.character, m.pinned)) for m in view.memories]
            _same(found, book.listed(scope), f"scope {view.name}")
        trash = {memory.id for memory in self.do(self.keeper.memories.trash())}
        assert trash == book.trash(), "the trash"
        talk = self.talk(next(self.looks))
        for speaker in talk.members:
            context = self.do(self.keeper.compose(talk.id, speaker=speaker))
            self.check_prompt(context, talk, speaker, book.there())
        found_one = self.replied(next(self.looks), next(self.looks))
        if found_one:
            talk, message = found_one
            context = self.do(self.keeper.compose(talk.id, replacing=message.number))
            before = book.before(talk.id, message.number)
            self.check_prompt(context, talk, str(message.speaker), before)

    def check_prompt(
        self, context: Context, talk: Talk, speaker: str, there: dict[int, Kept]
    ) -> None:
        """The prompt holds the memories that it should, in order, and says how many stay out."""
        rows = context.receipt.rows
        sent = [row.source for row in context.receipt.sent() if "memory" in row.kind]
        expected = self.book.in_prompt(talk, speaker, there)
        assert bool(context.tools) == (expected is not None)
        if expected is None:
            assert sent == []
            assert any(row.reason == "memory_off" for row in rows)
            return
        pinned, unpinned, more = expected
        _same(sent, [f"memory:{kept.id}" for kept in (*pinned, *unpinned)], "the prompt")
        assert sum(row.count for row in rows if row.source.startswith("memories x")) == more
        own = self.book.characters.get(speaker)
        lines = [
            (f"#{k.id} " if not k.value.pinned and k.value.scope in (None, own) else "")
            + k.value.text.replace("{{char}}", self.spoken(k, speaker))
            for k in (*pinned, *unpinned)
        ]
        text = "\n".join(m["content"] for m in context.messages if m["role"] == "system")
        _same([f"{mark}{said}" for mark, said, _ in _LINE.findall(text)], lines, "the lines")

    def spoken(self, kept: Kept, speaker: str) -> str:
        """Who ``{{char}}`` is in a memory: whose scope it is in, else who speaks."""
        names = {id_: name for name, id_ in self.book.characters.items()}
        return names.get(kept.value.scope or "", speaker)


def _same(found: list[Any], wanted: list[Any], what: str) -> None:
    if found != wanted:
        at = next(
            (i for i, pair in enumerate(zip(found, wanted, strict=False)) if pair[0] != pair[1]),
            min(len(found), len(wanted)),
        )
        raise AssertionError(
            f"{what}: {len(found)} found, {len(wanted)} wanted; at {at}: "
            f"{found[at : at + 2]}, not {wanted[at : at + 2]}"
        )


COMMON = settings(
    deadline=None,
    database=None,
    report_multiple_bugs=False,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
QUICK = settings(COMMON, phases=[Phase.generate])
PROFILES = {
    "quick": (
        settings(QUICK, max_examples=14, stateful_step_count=25, derandomize=True),
        settings(QUICK, max_examples=3, stateful_step_count=20, derandomize=True),
    ),
    "thorough": (
        settings(COMMON, max_examples=600, stateful_step_count=50),
        settings(COMMON, max_examples=60, stateful_step_count=50),
    ),
}
IN_MEMORY, ON_POSTGRESQL = PROFILES[os.environ.get("HYPOTHESIS_PROFILE", "quick")]


class TestInMemory:
    def test_memories_are_as_the_reference_says(self) -> None:
        run_state_machine_as_test(Remembering, settings=IN_MEMORY)


class TestOnPostgresql:
    def test_memories_are_as_the_reference_says(self, postgres_server: str) -> None:
        class OnPostgresql(Remembering):
            url = postgres_server

        run_state_machine_as_test(OnPostgresql, settings=ON_POSTGRESQL)
