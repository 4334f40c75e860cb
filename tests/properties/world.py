"""Two accounts on one database, the reference beside them, and what always holds.

What happens to them are the rules in ``machine.py``.
"""

import asyncio
from collections.abc import Coroutine, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import count
from typing import Any, TypeVar

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant
from sqlalchemy import Connection

from talekeeper import (
    BudgetExceeded,
    Context,
    GenerationSettings,
    InvalidInput,
    Keeper,
    Message,
    NewMessage,
    NewSwipe,
    ToolCall,
)
from talekeeper.domain.chat import Role
from talekeeper.store.database import Database
from talekeeper.testing import Ids, TickingClock
from tests.properties.checks import Asked, check_context, check_refusal
from tests.properties.reference import Said, Told
from tests.properties.stored import all_rows, check_rows, emptied, opened
from tests.properties.tales import Tale

__all__ = [
    "BASE",
    "CHARACTERS",
    "MOST_CHATS",
    "PERSONAS",
    "TITLE",
    "Account",
    "World",
    "regime",
    "same",
    "tool_calls",
]

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
REGIMES: tuple[dict[str, Any], ...] = (
    {},
    {"context_limit": 400, "reserve": 0},
    {
        "context_limit": 400,
        "reserve": 0,
        "shares": {"summary": 0.4, "digest": 0.05},
        "strategy": "truncate",
    },
    {"context_limit": 700, "reserve": 0, "shares": {"summary": 0.4, "digest": 0.05}},
    {"context_limit": 300, "reserve": 20, "post_history": "Stay in the scene."},
    {"context_limit": 600, "reserve": 100, "names": "never", "prefill": "{{char}}:"},
    {"context_limit": 500, "reserve": 0, "tokenizer": "o200k_base"},
    {"context_limit": 90, "reserve": 0, "live_cap": False},
    {
        "context_limit": 200,
        "reserve": 0,
        "live_cap": False,
        "shares": {"summary": 0.15, "digest": 0.3},
    },
    {"context_limit": 350, "reserve": 40, "live_cap": False, "strategy": "manual"},
    {"context_limit": 300, "reserve": 0, "live_cap": False, "tokenizer": "cl100k_base"},
    {"context_limit": 1_200, "reserve": 0, "live_cap": False, "names": "always"},
)
NOTES: tuple[dict[str, Any], ...] = (
    {},
    {"authors_note": {"text": "[Softly.]", "depth": 0}},
    {"authors_note": {"text": "[Softly.]", "depth": 3}},
)

regime = st.builds(lambda one, other: one | other, st.sampled_from(REGIMES), st.sampled_from(NOTES))


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


def tool_calls(keys: Sequence[str]) -> tuple[ToolCall, ...]:
    """Calls of those ids."""
    return tuple(ToolCall(id=key, name="look", arguments='{"at": "it"}') for key in keys)


def same(found: Message, said: Said) -> None:
    """A message is as the reference says."""
    assert (found.number, found.turn, found.cell) == (said.number, said.turn, said.cell)
    assert (found.active, found.text, found.role) == (said.active, said.text, said.role)
    assert [swipe.tokens for swipe in found.swipes] == said.tokens


class World(RuleBasedStateMachine):
    """Alice, Charlie, and a chat alone and in a group for each."""

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
        self.database: Database = self.do(opened(self.url))

    def teardown(self) -> None:
        self.do(self.database.close())
        self.loop.close()

    def do(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Run to the end."""
        return self.loop.run_until_complete(coroutine)

    async def keeper_of(self, database: Database, name: str, seed: int) -> Keeper:
        """The Keeper of an account."""
        return await Keeper.of(database, name, clock=TickingClock(), new_id=Ids(seed))

    def new_text(self, form: str, words: int) -> str:
        """A text with a word that no other text has."""
        return form.format(word=f"w{next(self.words)}z", filler="so it was with you " * words)

    def chat(self, name: str, number: int) -> tuple[Account, Told]:
        """A chat of an account, mostly the first or the newest; it is looked at after the step."""
        account = self.accounts[name]
        told = account.chats[(0, -1, number % len(account.chats))[number % 3]]
        self.touched.append((account, told))
        return account, told

    def begin(self, regimes: tuple[dict[str, Any], dict[str, Any]]) -> None:
        """Two accounts with two chats each."""
        self.do(self.database.write(emptied))
        for seed, name in enumerate(("alice", "charlie"), 1):
            keeper = self.do(self.keeper_of(self.database, name, seed))
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
            self.begin_talking(account, account.chats[0])
            self.start(name, group=True, persona=None, greet=True)
        alice = self.accounts["alice"]
        for told in alice.chats:
            self.do(alice.keeper.chats.rename(told.id, f"{TITLE} {told.id}"))

    def begin_talking(self, account: Account, told: Told) -> None:
        """A turn with a tool in it."""
        self.add(account, told, "user", self.new_text("{word}?", 0))
        self.add(account, told, "assistant", "", speaker="Mira", calls=tool_calls(("c1",)))
        self.add(account, told, "tool", self.new_text("{word}", 0), answers="c1")
        self.add(account, told, "assistant", self.new_text("{word}.", 1), speaker="Mira")

    def start(self, name: str, *, group: bool, persona: str | None, greet: bool) -> None:
        """Start a chat, here and there."""
        account = self.accounts[name]
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
        same(found, made)

    @invariant()
    def all_holds(self) -> None:
        self.do(self.database.read(self.check_chats))
        before = self.rows()
        touched = {told.id: (account, told) for account, told in self.touched}
        self.touched.clear()
        for account, told in touched.values():
            self.look(account, told)
        assert before == self.rows(), "composing wrote something"

    def check_chats(self, connection: Connection) -> None:
        """Hold the rows of all chats against the reference."""
        chats = [told for account in self.accounts.values() for told in account.chats]
        check_rows(connection, chats)

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
        return self.do(self.database.read(all_rows))
