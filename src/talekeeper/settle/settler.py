"""Settling one chat: lease it, make what it lacks, write each piece by itself, give it back.

No transaction is open while a summary is made. Killed anywhere, what was written stays, the lease
runs out, and whoever comes next goes on from the state.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from random import Random
from typing import Literal

import anyio
from sqlalchemy import Connection

from talekeeper.domain.errors import (
    ModelError,
    NotFound,
    StoreBusy,
    StoreError,
    TalekeeperError,
    UsageExceeded,
)
from talekeeper.domain.limits import LIMITS
from talekeeper.domain.summary import Summary
from talekeeper.domain.usage import Usage
from talekeeper.models.chat_model import ChatModel
from talekeeper.record.summaries import write_summary
from talekeeper.settle.deepen import Deepener
from talekeeper.settle.deeper_step import DeeperStep, Stepped
from talekeeper.settle.outcome import Done, Outcome
from talekeeper.settle.planning import Piece, Task, next_task, outstanding, window_of
from talekeeper.settle.summarize import LocalMaker, ModelMaker, SummaryMaker, SummaryRequest, within
from talekeeper.store import chats as chat_rows
from talekeeper.store import participants as participant_rows
from talekeeper.store import settling
from talekeeper.store import usage as usage_rows
from talekeeper.store.chats import ChatState
from talekeeper.store.database import Database
from talekeeper.store.keys import ChatKey
from talekeeper.text.condense import Passage
from talekeeper.text.macros import MacroValues, expand
from talekeeper.text.tokens import Tokenizer, tokenizer_named

__all__ = ["Outcome", "Settler", "settler_of"]

_MOST_CLASHES = 50
"""So many times in a row the chat may change while a piece of it is made."""


@dataclass(frozen=True, kw_only=True, slots=True)
class _View:
    state: ChatState
    task: Task | None
    characters: Sequence[str]
    left: int


Progress = Callable[[int], None]
"""Told about how many messages still wait to be summarised."""


class Settler:
    """Settles chats of one database. ``model`` None leaves all to the local maker; without a
    ``reader`` there is no deeper memory."""

    def __init__(
        self,
        database: Database,
        *,
        local: SummaryMaker,
        model: SummaryMaker | None = None,
        reader: Deepener | None = None,
        clock: Callable[[], datetime],
        new_id: Callable[[], str],
        random: Random | None = None,
        lease_seconds: float = LIMITS.lease_seconds,
    ) -> None:
        """``lease_seconds``: how long a chat stays leased without a sign of life."""
        self.database = database
        self.clock = clock
        self._lease = timedelta(seconds=lease_seconds)
        self._local = local
        self._model = model
        self._new_id = new_id
        self._reader = reader
        self._deeper = DeeperStep(database, reader, clock=clock, new_id=new_id) if reader else None
        self._under_way: dict[ChatKey, anyio.Event] = {}
        self._random = random or Random()
        self._unusable_until: datetime | None = None

    @property
    def has_model(self) -> bool:
        """Whether a language model is there to summarise with."""
        return self._model is not None

    @property
    def reading_model(self) -> ChatModel | None:
        """The language model that reads cells for memories."""
        return self._reader.model if self._reader else None

    def try_model_again(self) -> None:
        """Ask the model again, though it turned out not long ago that it cannot be used."""
        self._unusable_until = None

    async def settle(
        self, key: ChatKey, *, most: int | None = None, progress: Progress | None = None
    ) -> Outcome:
        """Do what is due in a chat now, at most ``most`` summaries and cells read.

        Waits for what this Settler has under way in that chat; what another has is left to it.
        Raises NotFound, and StoreError where the database cannot be used.
        """
        while (under_way := self._under_way.get(key)) is not None:
            await under_way.wait()
        self._under_way[key] = anyio.Event()
        try:
            return await self._settle(key, most, progress)
        finally:
            self._under_way.pop(key).set()

    async def _settle(self, key: ChatKey, most: int | None, progress: Progress | None) -> Outcome:
        owner = self._new_id()
        now = self.clock()
        acquire = partial(_acquire, key=key, owner=owner, now=now, until=now + self._lease)
        if not await self.database.write(acquire):
            return Outcome(key=key, state="busy")
        done = Done()
        try:
            async with self._kept(key, owner):
                while most is None or done.count < most:
                    view = await self.database.read(partial(_look, key=key))
                    if progress is not None:
                        progress(view.left)
                    step = await self._step(view, owner)
                    if step == "nothing":
                        await self._settled(key, owner, view.state.version)
                        return done.outcome(key, "done")
                    if step != "clash":
                        done.add(step)
                        continue
                    if not await self.database.write(partial(settling.holds, key=key, owner=owner)):
                        return done.outcome(key, "busy")
                    done.clashes += 1
                    if done.clashes == _MOST_CLASHES:
                        break
        except (NotFound, StoreError):
            raise
        except TalekeeperError as error:
            await self._failed(key, owner, error)
            return done.outcome(key, "failed", str(error))
        finally:
            with anyio.CancelScope(shield=True):
                await self.database.write(partial(settling.release, key=key, owner=owner))
        return done.outcome(key, "more")

    async def _step(self, view: _View, owner: str) -> Stepped | Literal["made"]:
        """The next summary; where none is left to be made, the next cell to be read."""
        if view.task is not None:
            return "made" if await self._make(view, view.task, owner) else "clash"
        if self._deeper is None:
            return "nothing"
        key = view.state.key
        try:
            return await self._deeper.take(key, owner, ask=not self._is_unusable())
        except ModelError as error:
            if not error.unusable:
                raise
            await self._note(key, owner, error, "What it is to remember waits.")
            return "nothing"

    def _is_unusable(self) -> bool:
        """Whether it turned out not long ago that the model cannot be used at all."""
        return self._unusable_until is not None and self.clock() < self._unusable_until

    async def _note(self, key: ChatKey, owner: str, error: ModelError, then: str) -> None:
        """Write down that the model cannot be used, and what comes of it."""
        if error.unusable:
            self._unusable_until = self.clock() + timedelta(seconds=LIMITS.retry_most_seconds)
        reason, now = f"{error} {then}", self.clock()
        await self.database.write(
            partial(settling.note, key=key, owner=owner, reason=reason, now=now)
        )

    async def _make(self, view: _View, task: Task, owner: str) -> bool:
        """Make one node and write it; False where the chat changed meanwhile."""
        tokenizer = tokenizer_named(view.state.settings.tokenizer)
        request = _request(view, task, tokenizer)
        maker = self._local
        if self._model is not None and self._is_for_model(task):
            maker = self._model
        try:
            made = await maker.make(request)
        except ModelError as error:
            # Who consented to a model waits for it; all else is told without one.
            if not error.permanent or (error.unusable and task.catching_up):
                raise
            await self._note(view.state.key, owner, error, "It was summarised without a model.")
            maker = self._local
            made = await maker.make(request)
        # Whoever made it: what is longer than it may be would be made anew for ever.
        text = within(made.text, task.most, tokenizer.count)
        node = Summary(
            place=task.place,
            cell=task.cell,
            first=task.source.first,
            last=task.source.last,
            messages=task.source.messages,
            shown=task.source.shown,
            text=text,
            tokens=tokenizer.count(text),
            tokenizer=tokenizer.name,
            made_from=task.source.fingerprint,
            current=task.source.fingerprint,
            covered=False,
            summariser=maker.summariser,
            model=maker.model,
            made_at=self.clock(),
        )
        return await self.database.write(
            partial(
                _write,
                key=view.state.key,
                node=node,
                owner=owner,
                usage=made.usage,
                new_id=self._new_id,
            )
        )

    def _is_for_model(self, task: Task) -> bool:
        """Whether the model is to write a node: not imported history nobody consented for, and not
        soon again after it turned out that it cannot be used at all."""
        return task.catching_up or not (task.imported or self._is_unusable())

    async def _settled(self, key: ChatKey, owner: str, version: int) -> None:
        await self.database.write(partial(_settled, key=key, owner=owner, version=version))

    async def _failed(self, key: ChatKey, owner: str, error: TalekeeperError) -> None:
        wait = error.wait if isinstance(error, (ModelError, UsageExceeded)) else None
        # Summaries do not wait for the plan's next day.
        deferred = isinstance(error, UsageExceeded)
        await self.fail(key, owner, str(error), wait=wait, deferred=deferred)

    async def fail(
        self,
        key: ChatKey,
        owner: str | None,
        reason: str,
        *,
        wait: float | None = None,
        deferred: bool = False,
    ) -> None:
        """Remember why a chat could not be settled, and when it is to be tried again.

        The time doubles with each failure in a row, and is spread, so that many chats that failed
        together do not come back together; never less than ``wait`` seconds. ``deferred``: a change
        of the chat is looked at before that time. Raises NotFound.
        """
        tried = await self.database.read(partial(_attempts, key=key))
        seconds = LIMITS.retry_seconds * 2.0 ** min(tried, 20) * self._random.uniform(0.75, 1.25)
        seconds = max(min(seconds, LIMITS.retry_most_seconds), wait or 0.0)
        now = self.clock()
        await self.database.write(
            partial(
                settling.fail,
                key=key,
                owner=owner,
                reason=reason,
                now=now,
                retry_at=now + timedelta(seconds=seconds),
                deferred=deferred,
            )
        )

    @asynccontextmanager
    async def _kept(self, key: ChatKey, owner: str) -> AsyncIterator[None]:
        """Extend the lease while the body runs."""

        async def beat() -> None:
            while True:
                await anyio.sleep(self._lease.total_seconds() / 3)
                until = self.clock() + self._lease
                extend = partial(settling.extend, key=key, owner=owner, until=until)
                try:
                    if not await self.database.write(extend):
                        return
                except StoreBusy:
                    continue  # There is time for another try before the lease runs out.
                except StoreError:
                    return  # The body meets the same, and tells it.

        beating = asyncio.create_task(beat())
        try:
            yield
        finally:
            beating.cancel()
            await asyncio.wait([beating])


def settler_of(
    database: Database,
    *,
    model: ChatModel | None,
    clock: Callable[[], datetime],
    new_id: Callable[[], str],
    lease_seconds: float = LIMITS.lease_seconds,
) -> Settler:
    """A Settler with the makers there are: a language model if one is given, and the local one."""
    return Settler(
        database,
        local=LocalMaker(),
        model=ModelMaker(model) if model else None,
        reader=Deepener(model) if model else None,
        clock=clock,
        new_id=new_id,
        lease_seconds=lease_seconds,
    )


def _acquire(
    connection: Connection, key: ChatKey, *, owner: str, now: datetime, until: datetime
) -> bool:
    chat_rows.state(connection, key, lock=True)
    return settling.acquire(connection, key, owner, now=now, until=until)


def _write(
    connection: Connection,
    key: ChatKey,
    *,
    node: Summary,
    owner: str,
    usage: Usage | None,
    new_id: Callable[[], str],
) -> bool:
    """Write a node, and what it took, even where it came too late."""
    if usage is not None:
        usage_rows.add(connection, key.account, usage, new_id=new_id(), now=node.made_at)
    return write_summary(connection, key, node, owner=owner)


def _settled(connection: Connection, key: ChatKey, *, owner: str, version: int) -> None:
    # The chat is locked before its lease, as wherever both are: no two wait for each other.
    chat_rows.state(connection, key, lock=True)
    settling.settled(connection, key, owner, version)


def _attempts(connection: Connection, key: ChatKey) -> int:
    chat_rows.state(connection, key)
    return settling.attempts(connection, key)


def _look(connection: Connection, key: ChatKey) -> _View:
    state = chat_rows.state(connection, key)
    members = participant_rows.of_chat(connection, key)
    window = window_of(connection, state)
    return _View(
        state=state,
        task=next_task(connection, state, window),
        characters=[member.name for member in members],
        left=outstanding(connection, state, window),
    )


def _request(view: _View, task: Task, tokenizer: Tokenizer) -> SummaryRequest:
    user = view.state.persona.name if view.state.persona else "User"
    share = min(1.0, LIMITS.summary_input / max(1, task.tokens))
    return SummaryRequest(
        level=task.level,
        passages=[_passage(piece, user, view.characters, share) for piece in task.pieces],
        most=task.most,
        tokenizer=tokenizer,
        user=user,
        characters=view.characters,
    )


def _passage(piece: Piece, user: str, characters: Sequence[str], share: float) -> Passage:
    """What was said, with its names filled in; where all is too long, its beginning and its end."""
    text = piece.text
    if "{{" in text or "<" in text:
        speaks = piece.speaker if piece.role == "assistant" else ""
        char = speaks or (characters[0] if characters else "")
        text = expand(text, MacroValues(char=char, user=user))
    if share < 1.0 and len(text) > _KEPT_WHOLE:
        size = max(_KEPT_WHOLE, int(len(text) * share))
        text = f"{text[: size * 2 // 3]} … {text[len(text) - size // 3 :]}"
    return Passage(speaker=piece.speaker, text=text)


_KEPT_WHOLE = 200
"""Characters: messages this short are not cut."""
