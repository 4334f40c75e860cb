"""Random lives of chats in two accounts, next to the reference, on one database."""

import asyncio
import json
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from io import BytesIO
from itertools import count, zip_longest
from typing import Any, TypeVar

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from sqlalchemy import Connection, Table, select, text

from talekeeper import (
    BudgetExceeded,
    Context,
    GenerationSettings,
    InvalidInput,
    Keeper,
    Message,
    NewMessage,
    NewSwipe,
    NotFound,
    ToolCall,
)
from talekeeper.domain.chat import Role
from talekeeper.store import migrate, tables
from talekeeper.store.database import Database
from talekeeper.store.opening import open_database
from talekeeper.store.sqlite import SqliteDatabase
from talekeeper.testing import Ids, TickingClock
from tests.properties.checks import Asked, check_context, check_refusal
from tests.properties.importing import expected_outcome, take_over
from tests.properties.isolation import FOREIGN, Theirs
from tests.properties.reference import Said, Told, tokens_of
from tests.properties.tales import Tale, TaleLine, header_line, message_line, tool_line

__all__ = ["Lives"]

T = TypeVar("T")

MOST_CHATS = 5
NOW = datetime(2026, 5, 12, 21, 5, tzinfo=UTC)

TITLE = "Nobody else calls a chat this"

CHARACTERS = ("Mira", "Boris")
PERSONAS = ("Anna", "Berta")
BASE = {
    "main_prompt": "Play {{char}}. They last said: {{lastMessage}}",
    "tokenizer": "approximate",
}
STYLES = (
    "{word} {filler}",
    "{{{{user}}}}, {word}! {filler}",
    "{filler}: «{word}» — сказала {{{{char}}}}",
    "🦊{word}💬 {filler}",
    "{filler}。{word}、{{{{user}}}}さん",
)
REGIMES: tuple[dict[str, Any], ...] = (
    {},
    {"context_limit": 400, "reserve": 0},
    {"context_limit": 300, "reserve": 20, "post_history": "Stay in the scene."},
    {"context_limit": 600, "reserve": 100, "names": "never", "prefill": "{{char}}:"},
    {"context_limit": 500, "reserve": 0, "tokenizer": "o200k_base"},
    {"context_limit": 90, "reserve": 0, "live_cap": False},
    {"context_limit": 200, "reserve": 0, "live_cap": False},
    {"context_limit": 350, "reserve": 40, "live_cap": False, "strategy": "manual"},
    {"context_limit": 300, "reserve": 0, "live_cap": False, "tokenizer": "cl100k_base"},
    {"context_limit": 1_200, "reserve": 0, "live_cap": False, "names": "always"},
)
NOTES: tuple[dict[str, Any], ...] = (
    {},
    {"authors_note": {"text": "[Softly.]", "depth": 0}},
    {"authors_note": {"text": "[Softly.]", "depth": 3}},
)

maybe = st.booleans()
who = st.sampled_from(("alice", "alice", "charlie"))
pick = st.integers(0, 10_000)
style = st.sampled_from(STYLES)
filler = st.sampled_from((0, 1, 2, 4, 10))
regime = st.builds(lambda one, other: one | other, st.sampled_from(REGIMES), st.sampled_from(NOTES))
call_ids = st.lists(st.sampled_from(("c1", "c2", "call_0")), unique=True, max_size=2)


@dataclass(kw_only=True)
class Account:
    """An account, and what it should hold."""

    keeper: Keeper
    character: str = ""
    persona: str = ""
    settings: dict[str, Any] = field(default_factory=lambda: dict(BASE))
    chats: list[Told] = field(default_factory=list)

    def in_force(self, chat: Told) -> GenerationSettings:
        """The settings that hold in a chat."""
        return GenerationSettings().changed(**{**self.settings, **chat.settings})


class Lives(RuleBasedStateMachine):
    """Everything that can be done to chats, in any order."""

    url = "sqlite://"

    def __init__(self) -> None:
        super().__init__()
        self.loop = asyncio.new_event_loop()
        self.looks = count()
        self.words = count(1)
        self.roots = count(1)
        self.tales: list[Tale] = []
        self.touched: list[tuple[Account, Told]] = []
        self.accounts: dict[str, Account] = {}
        self.database: Database = self.do(_opened(self.url))

    def teardown(self) -> None:
        self.do(self.database.close())
        self.loop.close()

    def do(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Run to the end."""
        return self.loop.run_until_complete(coroutine)

    def new_text(self, form: str, words: int) -> str:
        """A text with a word that no other text has."""
        return form.format(word=f"w{next(self.words)}z", filler="so it was with you " * words)

    def chat(self, name: str, number: int) -> tuple[Account, Told]:
        """A chat of an account, the first one more often; it is looked at after the step."""
        account = self.accounts[name]
        told = account.chats[number % 2 * number % len(account.chats)]
        self.touched.append((account, told))
        return account, told

    # Beginning

    @initialize(regimes=st.tuples(regime, regime))
    def begin(self, regimes: tuple[dict[str, Any], dict[str, Any]]) -> None:
        self.do(self.database.write(_emptied))
        for seed, name in enumerate(("alice", "charlie"), 1):
            keeper = self.do(Keeper.of(self.database, name, clock=TickingClock(), new_id=Ids(seed)))
            account = Account(keeper=keeper, settings=BASE | regimes[seed - 1])
            self.accounts[name] = account
            for character in CHARACTERS:
                made = self.do(
                    keeper.characters.add(
                        name=character,
                        description=f"{character} is one of a kind.",
                        first_mes=self.new_text("Welcome, {word}", 0),
                        alternate_greetings=(self.new_text("{word}", 0),),
                    )
                )
                account.character = made.id
            for persona in PERSONAS:
                added = self.do(keeper.personas.add(persona, f"{persona} is somebody."))
                account.persona = added.id
            self.do(keeper.settings.change(**account.settings))
            self.start(name, group=False, persona="Anna", greet=False)
            self.start(name, group=True, persona=None, greet=True)
        alice = self.accounts["alice"]
        for told in alice.chats:
            self.do(alice.keeper.chats.rename(told.id, f"{TITLE} {told.id}"))

    @rule(name=who, group=st.booleans(), persona=st.sampled_from((None, *PERSONAS)), greet=maybe)
    def start(self, name: str, group: bool, persona: str | None, greet: bool) -> None:
        account = self.accounts[name]
        if len(account.chats) >= MOST_CHATS:
            return
        members = CHARACTERS if group else CHARACTERS[:1]
        keeper = account.keeper
        made = self.do(keeper.chats.start(*members, persona=persona, greet=greet))
        told = Told(id=made.id, members=list(members), persona=persona)
        account.chats.append(told)
        self.touched.append((account, told))
        for member in members if greet else ():
            card = self.do(keeper.characters.get(member)).card
            texts = [card.first_mes, *card.alternate_greetings]
            told.add(account.in_force(told), "assistant", member, texts)

    # Saying

    @rule(name=who, number=pick, form=style, words=filler)
    def say(self, name: str, number: int, form: str, words: int) -> None:
        account, told = self.chat(name, number)
        said = self.new_text(form, words)
        before = self.composed(account, told, input=said)
        self.add(account, told, "user", said)
        after = self.composed(account, told)
        assert _without_sources(before) == _without_sources(after), (
            "recording the input changed the prompt"
        )

    @rule(name=who, number=pick, by=pick, form=style, words=filler, calls=call_ids, silent=maybe)
    def reply(
        self,
        name: str,
        number: int,
        by: int,
        form: str,
        words: int,
        calls: list[str],
        silent: bool,
    ) -> None:
        account, told = self.chat(name, number)
        if told.members:
            speaker = told.members[by % len(told.members)]
            said = "" if calls and silent else self.new_text(form, words)
            self.add(account, told, "assistant", said, speaker=speaker, calls=_calls(calls))
            for key in calls[: by % 3]:
                self.add(account, told, "tool", self.new_text("{word}", 1), answers=key)

    @rule(name=who, number=pick, key=st.sampled_from((None, "c1", "c2", "call_0")), form=style)
    def interrupt(self, name: str, number: int, key: str | None, form: str) -> None:
        """The narrator, or a tool that answers whomever it pleases."""
        account, told = self.chat(name, number)
        role: Role = "system" if key is None else "tool"
        self.add(account, told, role, self.new_text(form, 1), answers=key)

    @rule(name=who, number=pick, turns=st.sampled_from((3, 8, 20, 26)), words=filler)
    def talk(self, name: str, number: int, turns: int, words: int) -> None:
        account, told = self.chat(name, number)
        for _ in range(turns if told.members else 0):
            self.add(account, told, "user", self.new_text("{word} {filler}", words % 4))
            said = self.new_text("{word} {filler}", words % 3)
            self.add(account, told, "assistant", said, speaker=told.members[0])

    def add(
        self,
        account: Account,
        told: Told,
        role: Role,
        said: str,
        *,
        speaker: str | None = None,
        calls: tuple[ToolCall, ...] = (),
        answers: str | None = None,
    ) -> None:
        """Record a message, here and there."""
        new = NewMessage(
            role=role,
            swipes=(NewSwipe(text=said, tool_calls=calls),),
            speaker=speaker,
            tool_call_id=answers,
        )
        found = self.do(account.keeper.messages.add(told.id, new))
        name = speaker or {"user": told.user_name, "system": "Narrator", "tool": "Tool"}[role]
        made = told.add(account.in_force(told), role, name, [said], calls=[calls], answers=answers)
        told.raw = None
        _same(found, made)

    # Changing

    @rule(name=who, number=pick, at=pick, form=style, words=filler, calls=call_ids)
    def swipe(
        self, name: str, number: int, at: int, form: str, words: int, calls: list[str]
    ) -> None:
        account, told = self.chat(name, number)
        said = _at(told.messages, at)
        if said is None:
            return
        new = self.new_text(form, words)
        asked = _calls(calls) if said.role == "assistant" else ()
        messages = account.keeper.messages
        found = self.do(messages.add_swipe(told.id, said.number, new, tool_calls=asked))
        said.texts.append(new)
        said.tokens.append(tokens_of(account.in_force(told), new))
        said.calls.append(asked)
        said.active = len(said.texts) - 1
        told.raw = None
        _same(found, said)

    @rule(name=who, number=pick, at=pick, swipe=pick)
    def choose(self, name: str, number: int, at: int, swipe: int) -> None:
        account, told = self.chat(name, number)
        said = _at(told.messages, at)
        if said is not None:
            said.active = swipe % len(said.texts)
            messages = account.keeper.messages
            _same(self.do(messages.choose_swipe(told.id, said.number, said.active)), said)
            told.raw = None

    @rule(name=who, number=pick, at=pick, swipe=pick, form=style, words=filler)
    def edit(self, name: str, number: int, at: int, swipe: int, form: str, words: int) -> None:
        account, told = self.chat(name, number)
        said = _at(told.messages, at)
        if said is not None:
            which, new = swipe % len(said.texts), self.new_text(form, words)
            messages = account.keeper.messages
            found = self.do(messages.edit(told.id, said.number, new, swipe=which))
            said.texts[which] = new
            said.tokens[which] = tokens_of(account.in_force(told), new)
            told.raw = None
            _same(found, said)

    @rule(name=who, number=pick, at=pick, whole_turn=maybe)
    def delete(self, name: str, number: int, at: int, whole_turn: bool) -> None:
        account, told = self.chat(name, number)
        said = _at(told.messages, at)
        if said is None:
            return
        messages = account.keeper.messages
        turn = {m.number for m in told.messages if m.turn == said.turn}
        if whole_turn:
            gone = set(self.do(messages.delete_turn(told.id, said.number)))
            assert gone == turn
        else:
            gone = set(self.do(messages.delete(told.id, said.number)))
            assert gone == told.group(said)
        told.take_away(gone)
        told.raw = None

    @rule(name=who, number=pick, at=pick)
    def rewind(self, name: str, number: int, at: int) -> None:
        account, told = self.chat(name, number)
        last = at % (told.next_number + 1)
        gone = [m.number for m in told.messages if m.number > last]
        assert self.do(account.keeper.chats.rewind(told.id, last)) == len(gone)
        told.take_away(gone)
        if gone:
            told.raw = None

    @rule(name=who, number=pick, at=pick, out=maybe)
    def exclude(self, name: str, number: int, at: int, out: bool) -> None:
        account, told = self.chat(name, number)
        said = _at(told.messages, at)
        if said is None:
            return
        messages = account.keeper.messages
        change = messages.exclude if out else messages.include
        changed = set(self.do(change(told.id, said.number)))
        group = [told.numbered(number) for number in told.group(said)]
        assert changed == {message.number for message in group if message.excluded != out}
        for message in group:
            message.excluded = out
        if changed:
            told.raw = None

    @rule(name=who, number=pick, at=pick, out=maybe)
    def forget(self, name: str, number: int, at: int, out: bool) -> None:
        account, told = self.chat(name, number)
        said = _at(told.messages, at)
        if said is None:
            return
        before = self.composed(account, told)
        messages = account.keeper.messages
        change = messages.forget if out else messages.unforget
        changed = set(self.do(change(told.id, said.number)))
        group = [told.numbered(number) for number in told.group(said)]
        assert changed == {message.number for message in group if message.forget != out}
        for message in group:
            message.forget = out
        assert before == self.composed(account, told), "forgetting changed the prompt"

    # Chats

    @rule(name=who, number=pick, at=pick)
    def fork(self, name: str, number: int, at: int) -> None:
        account, told = self.chat(name, number)
        said = _at(told.messages, at)
        if said is not None and len(account.chats) < MOST_CHATS:
            fork = self.do(account.keeper.chats.fork(told.id, said.number))
            assert fork.forked_from == (told.id, said.number)
            account.chats.append(told.copy(fork.id, said.number))
            self.touched.append((account, account.chats[-1]))

    @rule(name=who, number=pick)
    def delete_chat(self, name: str, number: int) -> None:
        account, told = self.chat(name, number)
        if len(account.chats) > 2:
            self.do(account.keeper.chats.delete(told.id))
            account.chats.remove(told)
            self.touched.clear()

    @rule(name=who, number=pick, persona=st.sampled_from(PERSONAS))
    def switch_persona(self, name: str, number: int, persona: str) -> None:
        account, told = self.chat(name, number)
        self.do(account.keeper.chats.set_persona(told.id, persona))
        told.persona = persona

    @rule(name=who, number=pick, settings=regime, all_=maybe)
    def change_settings(self, name: str, number: int, settings: dict[str, Any], all_: bool) -> None:
        account, told = self.chat(name, number)
        change = account.keeper.settings.change
        if all_:
            back = {key: None for key in account.settings if key not in BASE}
            account.settings = BASE | settings
            self.do(change(**{**back, **account.settings}))
        else:
            back = dict.fromkeys(told.settings)
            told.settings = settings
            found = self.do(change(told.id, **{**back, **settings}))
            assert found == account.in_force(told)

    # Files

    @rule(
        name=who,
        number=pick,
        cut=st.sampled_from((None, 0, 0, 0, 1, 2, 4)),
        more=st.integers(0, 4),
        marked=maybe,
        newline=maybe,
        data=st.data(),
    )
    def import_file(
        self,
        name: str,
        number: int,
        cut: int | None,
        more: int,
        marked: bool,
        newline: bool,
        data: st.DataObject,
    ) -> None:
        """A new file; or an old one, without its last ``cut`` lines and with ``more``."""
        account = self.accounts[name]
        if cut is None or not self.tales:
            root, end = next(self.roots), b"\n" if number % 2 else b"\r\n"
            head = header_line(root, marked=marked)
            tale = Tale(root=root, lines=(head,), marked=marked, end=end)
            more = more * 2 + 1
        else:
            tale = self.tales[-1 - number % len(self.tales)]
            tale = replace(tale, lines=tale.lines[: max(1, len(tale.lines) - cut)])
        added = [self.tale_line(data) for _ in range(more)]
        lines = (*tale.lines, *added)
        self.import_tale(account, replace(tale, lines=lines, ends_with_newline=newline))

    def import_tale(self, account: Account, tale: Tale) -> None:
        """Import a file, here and there."""
        self.tales.append(tale)
        expected = expected_outcome(account.chats, tale)
        before = self.rows()
        source = BytesIO(tale.raw)
        report = self.do(account.keeper.files.import_stream(source, f"tale {tale.root}.jsonl"))
        assert expected in (None, report.outcome), f"{report.outcome}, not {expected}"
        if report.outcome == "present":
            assert before == self.rows(), "a file that is there changed something"
        assert report.id is not None
        made = self.do(account.keeper.chats.get(report.id))
        told = take_over(account.chats, tale, report, made.forked_from, account.in_force)
        self.touched.append((account, told))

    def tale_line(self, data: st.DataObject) -> TaleLine:
        """A line of any kind."""
        kinds = ("user", "user", "assistant", "assistant", "assistant", "system", "tool", "blank")
        kind = data.draw(st.sampled_from(kinds))
        if kind == "blank":
            return TaleLine(data.draw(st.sampled_from((b"", b"not a line"))))
        if kind == "tool":
            keys = data.draw(st.lists(st.sampled_from(("c1", "t1", "t2")), min_size=1, unique=True))
            return tool_line([(key, self.new_text("{word}", 1)) for key in keys])
        texts = [self.new_text(data.draw(style), data.draw(filler))]
        if kind == "assistant":
            texts += [self.new_text("{word}", 2) for _ in range(data.draw(st.integers(0, 2)))]
        active = data.draw(st.integers(0, len(texts) - 1))
        return message_line(kind, texts, active, hidden=data.draw(st.integers(0, 5)) == 0)

    @rule(name=who, number=pick)
    def export(self, name: str, number: int) -> None:
        account, told = self.chat(name, number)
        out = BytesIO()
        written = self.do(account.keeper.files.export_chat(told.id, out))
        assert written == len(out.getvalue())
        if told.raw is not None:
            assert out.getvalue() == told.raw

    # Looking over the fence

    @rule(method=st.sampled_from(sorted(FOREIGN)), number=pick, at=pick)
    def look_over(self, method: str, number: int, at: int) -> None:
        alice, told = self.chat("alice", number)
        said = _at(told.messages, at)
        charlie = self.accounts["charlie"]
        theirs = Theirs(
            chat=told.id,
            number=said.number if said else 1,
            title=f"{TITLE} {told.id}",
            character=alice.character,
            persona=alice.persona,
            own=charlie.chats[0].id,
        )
        try:
            self.do(FOREIGN[method](charlie.keeper, theirs))
        except NotFound:
            return
        raise AssertionError(f"{method} found something of another account")

    # What always holds

    @invariant()
    def all_holds(self) -> None:
        self.compare()
        before = self.rows()
        touched = {told.id: (account, told) for account, told in self.touched}
        self.touched.clear()
        for account, told in touched.values():
            self.look(account, told)
        assert before == self.rows(), "composing wrote something"

    def look(self, account: Account, told: Told) -> None:
        """Compose: twice the same, with an input, and in one of the other ways."""
        assert self.composed(account, told) == self.composed(account, told)
        self.composed(account, told, input=self.new_text("{word} {{{{char}}}}", 1))
        replies = [m.number for m in told.messages if m.role == "assistant"]
        ways: list[dict[str, Any]] = [
            {"mode": "continue"},
            {"mode": "impersonate"},
            *({"replacing": number} for number in replies[-1:] + replies[len(replies) // 2 :][:1]),
        ]
        self.composed(account, told, **ways[next(self.looks) % len(ways)])

    def composed(self, account: Account, told: Told, **request: Any) -> Context | None:
        """Compose and check; None where it is refused, as it must be then."""
        asked = Asked(chat=told, settings=account.in_force(told), **request)
        try:
            context = self.do(account.keeper.compose(told.id, now=NOW, **request))
        except BudgetExceeded as error:
            check_refusal(asked, error)
            return None
        except InvalidInput:
            assert not told.members
            return None
        check_context(asked, context)
        return context

    def rows(self) -> list[list[Any]]:
        """Everything in the database."""
        return self.do(self.database.read(_raw_rows))

    def compare(self) -> None:
        """The rows are what the reference says, no more and no less."""
        rows = self.do(self.database.read(_rows))
        said: dict[str, list[Any]] = {}
        texts: dict[str, list[Any]] = {}
        for row in rows["messages"]:
            said.setdefault(row.chat_id, []).append(row)
        for row in rows["swipes"]:
            texts.setdefault(row.chat_id, []).append(row)
        wanted = {t.id: (a, t) for a in self.accounts.values() for t in a.chats}
        assert {row.id for row in rows["chats"]} == set(wanted)
        for row in rows["chats"]:
            told = wanted[row.id][1]
            assert row.next_number == told.next_number
            assert row.messages == len(told.messages)
            assert row.excluded == sum(m.excluded for m in told.messages)
            found = said.pop(row.id, [])
            _equal([_message_row(one) for one in found], [m.row() for m in told.messages])
            wanted_swipes = [
                (m.number, at, words, _call_rows(calls))
                for m in told.messages
                for at, (words, calls) in enumerate(zip(m.texts, m.calls, strict=True))
            ]
            _equal([_swipe_row(one) for one in texts.pop(row.id, [])], wanted_swipes)
            _check_whole_turns(told)
        assert not said
        assert not texts


class _Inline(SqliteDatabase):
    """SQLite in memory without a thread: a life has thousands of units of work."""

    async def read(self, unit: Callable[[Connection], T]) -> T:
        return self.run(unit, False)

    async def write(self, unit: Callable[[Connection], T]) -> T:
        return self.run(unit, True)


async def _opened(url: str) -> Database:
    if url != "sqlite://":
        return await open_database(url)
    database = _Inline(None)
    await migrate.bring_up_to_date(database)
    return database


def _emptied(connection: Connection) -> None:
    if connection.dialect.name == "postgresql":
        connection.execute(text("TRUNCATE accounts CASCADE"))


def _raw_rows(connection: Connection) -> list[list[Any]]:
    """Every table as the driver sees it."""
    return [
        list(connection.exec_driver_sql(f"SELECT * FROM {table.name} ORDER BY {_key(table)}"))
        for table in tables.metadata.sorted_tables
    ]


def _key(table: Table) -> str:
    return ", ".join(column.name for column in table.primary_key.columns)


def _rows(connection: Connection) -> dict[str, list[Any]]:
    """The chats and what hangs on them."""
    return {
        table.name: list(connection.execute(select(table).order_by(*table.primary_key.columns)))
        for table in (tables.chats, tables.messages, tables.swipes)
    }


def _message_row(row: Any) -> tuple[object, ...]:
    return (
        row.number,
        row.role,
        row.speaker,
        row.turn,
        row.cell,
        row.active,
        row.tool_call_id,
        row.excluded,
        row.forget,
    )


def _swipe_row(row: Any) -> tuple[object, ...]:
    return (row.number, row.swipe, row.text, row.tool_calls)


def _call_rows(calls: Sequence[ToolCall]) -> list[dict[str, str]] | None:
    return [
        {"id": call.id, "name": call.name, "arguments": call.arguments} for call in calls
    ] or None


def _calls(keys: Sequence[str]) -> tuple[ToolCall, ...]:
    return tuple(ToolCall(id=key, name="look", arguments='{"at": "it"}') for key in keys)


def _at(messages: Sequence[Said], number: int) -> Said | None:
    """A message, the newer ones more often."""
    if not messages:
        return None
    return messages[-1 - number % min(len(messages), 6 if number % 2 else len(messages))]


def _same(found: Message, said: Said) -> None:
    assert (found.number, found.turn, found.cell) == (said.number, said.turn, said.cell)
    assert (found.active, found.text, found.role) == (said.active, said.text, said.role)
    assert [swipe.tokens for swipe in found.swipes] == said.tokens


def _equal(found: Sequence[object], wanted: Sequence[object]) -> None:
    differing = [pair for pair in zip_longest(found, wanted) if pair[0] != pair[1]]
    assert not differing, f"(found, wanted), {len(differing)} of them, first: {differing[0]}"


def _check_whole_turns(told: Told) -> None:
    cells: dict[int, int] = {}
    for message in told.messages:
        assert cells.setdefault(message.turn, message.cell) == message.cell


def _without_sources(context: Context | None) -> object:
    """A context as bytes, without what tells an input from a recorded message."""
    if context is None:
        return None
    shown = context.as_json()
    for row in shown["receipt"]:
        if row["kind"] == "input":
            row["source"] = "input"
    return json.dumps(shown, ensure_ascii=False)
