"""Keeper: one account's chats, characters and settings, and the verbs that work on them."""

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import anyio
from sqlalchemy import Connection
from uuid_utils import uuid7

from talekeeper.compose.composer import compose
from talekeeper.compose.gather import gather
from talekeeper.compose.request import Request
from talekeeper.domain.block import Context, Mode
from talekeeper.domain.chat import Message, Role
from talekeeper.domain.errors import Conflict, InvalidInput
from talekeeper.models.chat_model import ChatModel
from talekeeper.parts.characters import Characters, Personas
from talekeeper.parts.chats import Chats
from talekeeper.parts.desk import Desk
from talekeeper.parts.drafts import Drafts
from talekeeper.parts.files import Files
from talekeeper.parts.lore import Lore, MemoryEntries
from talekeeper.parts.memories import Memories
from talekeeper.parts.messages import Messages
from talekeeper.parts.receipts import Receipts
from talekeeper.parts.settings import Settings
from talekeeper.parts.summaries import Summaries
from talekeeper.record import accounts
from talekeeper.record.messages import NewMessage, NewSwipe
from talekeeper.record.texts import checked_name
from talekeeper.reply import OnCall, OnText, Replier, Reply
from talekeeper.settle.background import SettleMode, check_mode, in_background
from talekeeper.settle.settler import Settler, settler_of
from talekeeper.settle.worker import Worker
from talekeeper.store import accounts as account_rows
from talekeeper.store.accounts import Account
from talekeeper.store.database import Database
from talekeeper.store.opening import open_database

__all__ = ["Keeper", "fresh_id", "utc_now"]


def utc_now() -> datetime:
    """The moment now is, with its zone."""
    return datetime.now(UTC)


def fresh_id() -> str:
    """An id that no other thing has, later ones after earlier ones."""
    return str(uuid7())


class Keeper:
    """One account of one database. Open it with :meth:`open`; every method is a coroutine.

    ``clock`` and ``new_id`` are there for tests: a moment with a zone, and a fresh UUID as text.
    """

    def __init__(self, desk: Desk, settler: Settler, chat_model: ChatModel | None = None) -> None:
        self._desk = desk
        self._settler = settler
        self._replier = Replier(desk, chat_model) if chat_model else None
        self.chats = Chats(desk)
        self.messages = Messages(desk)
        self.characters = Characters(desk)
        self.personas = Personas(desk)
        drafts = Drafts(desk, settler.reading_model or chat_model)
        self.memories = Memories(desk, drafts, reads_deeper=settler.reading_model is not None)
        self.lore = Lore(desk)
        self.entries = MemoryEntries(desk)
        self.settings = Settings(desk)
        self.files = Files(desk)
        self.summaries = Summaries(desk, settler)
        self.receipts = Receipts(desk)

    @classmethod
    @asynccontextmanager
    async def open(
        cls,
        where: str | Path = "sqlite://",
        *,
        account: str = "default",
        settle: SettleMode = "background",
        chat_model: ChatModel | None = None,
        summary_model: ChatModel | None = None,
        clock: Callable[[], datetime] = utc_now,
        new_id: Callable[[], str] = fresh_id,
    ) -> AsyncIterator["Keeper"]:
        """Open a database file or URL and make the schema and the account where they are missing.

        ``where`` is a path in a folder that is there, ``sqlite:///path``, ``sqlite://`` (in memory,
        gone at the end) or ``postgresql://…``. ``settle`` says when summaries are made: beside your
        work, before each write returns, or not here. ``summary_model`` writes them; without one the
        most telling sentences are chosen. It also reads for memories what has left the live window,
        and drafts memories. ``chat_model`` writes replies. Raises StoreError,
        StoreTooNew, InvalidInput. After the end every call raises StoreClosed.
        """
        check_mode(settle)
        database = await open_database(where)
        try:
            keeper = await cls.of(
                database,
                account,
                chat_model=chat_model,
                summary_model=summary_model,
                clock=clock,
                new_id=new_id,
            )
            try:
                async with keeper._settling(settle):
                    yield keeper
            finally:
                keeper._desk.close()
        finally:
            await database.close()

    @classmethod
    async def of(
        cls,
        database: Database,
        account: str,
        *,
        chat_model: ChatModel | None = None,
        summary_model: ChatModel | None = None,
        settler: Settler | None = None,
        clock: Callable[[], datetime] = utc_now,
        new_id: Callable[[], str] = fresh_id,
    ) -> "Keeper":
        """A Keeper for an account of a database that is open already; it settles when asked to.

        ``settler`` is the one it settles with, in place of one made from the other arguments.
        """

        def make(connection: Connection) -> Account:
            return accounts.account_named(connection, account, new_id=new_id(), now=clock())

        def find(connection: Connection) -> Account | None:
            return account_rows.find(connection, name=account)

        account = checked_name(account, "An account's name")
        found = await database.read(find)
        if found is None:
            try:
                found = await database.write(make)
            except Conflict:
                found = await database.read(find)
        if found is None:
            raise Conflict(f"The account {account!r} went away while it was opened.")
        if settler is None:
            settler = settler_of(database, model=summary_model, clock=clock, new_id=new_id)
        return cls(Desk(database, found, clock=clock, new_id=new_id), settler, chat_model)

    @asynccontextmanager
    async def _settling(self, mode: SettleMode) -> AsyncIterator[None]:
        worker = Worker(self._settler, account=self._desk.account.id)
        if mode == "off":
            yield
        elif mode == "immediate":
            self._desk.after_write = worker.drain
            yield
        else:

            async def wake() -> None:
                worker.wake()

            self._desk.after_write = wake
            async with in_background(worker):
                yield

    async def record(
        self,
        /,
        chat: str,
        text: str,
        *,
        role: Role = "user",
        speaker: str | None = None,
        sent_at: datetime | None = None,
        external_id: str | None = None,
        tool_call_id: str | None = None,
        expected_version: int | None = None,
        **more: Any,
    ) -> Message:
        """Record what was said: append a message with one swipe to a chat.

        ``role`` is user, assistant (a character; ``speaker`` says which in a group), system (a
        narrator) or tool. ``more`` are further fields of NewSwipe. Raises NotFound,
        InvalidInput, Conflict.
        """
        new = NewMessage(
            role=role,
            swipes=(NewSwipe(text=text, sent_at=sent_at or self._desk.clock(), **more),),
            speaker=speaker,
            external_id=external_id,
            tool_call_id=tool_call_id,
        )
        return await self.messages.add(chat, new, expected_version=expected_version)

    async def compose(
        self,
        chat: str,
        input: str | None = None,  # noqa: A002
        *,
        speaker: str | None = None,
        replacing: int | None = None,
        mode: Mode = "reply",
        now: datetime | None = None,
        settings: Mapping[str, Any] | None = None,
    ) -> Context:
        """What the model would see now: messages to send, and the receipt. Nothing is recorded.

        ``input`` is what the user is about to say, None when it is recorded already; ``speaker``
        who replies; ``replacing`` the message to regenerate; ``settings`` overrides for this once.
        Raises BudgetExceeded, NotFound, InvalidInput.
        """
        request = Request(
            input=input,
            speaker=speaker,
            replacing=replacing,
            mode=mode,
            now=now or self._desk.clock().astimezone(),
        )
        material = await self._desk.read(gather, self._desk.key(chat), request, settings or {})
        return compose(material, request)

    async def reply(
        self,
        chat: str,
        input: str | None = None,  # noqa: A002
        *,
        speaker: str | None = None,
        replacing: int | None = None,
        mode: Mode = "reply",
        now: datetime | None = None,
        settings: Mapping[str, Any] | None = None,
        on_text: OnText | None = None,
        on_call: OnCall | None = None,
        stop: anyio.Event | None = None,
    ) -> Reply:
        """Let a character reply: what the model writes is recorded with the memories it keeps.

        ``input`` is recorded first, and stays whatever comes after. ``replacing`` writes a reply
        anew, as its next swipe; ``mode`` *continue* goes on with the last one, *impersonate* writes
        for the user and records nothing. ``on_text`` is told the text as it comes, ``on_call`` each
        tool call with its result. Setting ``stop`` ends the reply and keeps what came; cancelled or
        failed, nothing of it stays.

        Raises ModelError, BudgetExceeded, UsageExceeded, NotFound, InvalidInput.
        """
        if self._replier is None:
            raise InvalidInput(
                "No chat model is configured. Set TALEKEEPER_CHAT_BASE_URL and "
                "TALEKEEPER_CHAT_MODEL, or open the Keeper with a chat_model."
            )
        if input is not None:
            if replacing is not None or mode == "continue":
                raise InvalidInput("What is written anew or gone on with takes no input.")
            await self.record(chat, input)
        request = Request(
            input=None,
            speaker=speaker,
            replacing=replacing,
            mode=mode,
            now=now or self._desk.clock().astimezone(),
        )
        return await self._replier.reply(
            chat, request, settings or {}, on_text=on_text, on_call=on_call, stop=stop
        )
