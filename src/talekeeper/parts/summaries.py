"""``keeper.summaries``: reading, editing and rebuilding a chat's summary, and settling it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from sqlalchemy import Connection

from talekeeper.domain.errors import InvalidInput
from talekeeper.domain.summary import (
    LEVELS,
    Level,
    Place,
    Summary,
    frontier,
    name_of,
    place_named,
)
from talekeeper.parts.desk import Desk
from talekeeper.record import summaries as units
from talekeeper.settle.catching_up import CatchUpPlan, catch_up_plan, pause, start
from talekeeper.settle.planning import window_of
from talekeeper.settle.settler import Outcome, Settler
from talekeeper.settle.worker import Worker
from talekeeper.store import chats as chat_rows
from talekeeper.store import messages as message_rows
from talekeeper.store import settling
from talekeeper.store import summaries as rows
from talekeeper.store.keys import LAST_NUMBER, ChatKey
from talekeeper.store.settling import Failure

__all__ = ["Settled", "Summaries", "SummaryView"]

Progress = Callable[[int], None]
"""Told about how much is left."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SummaryView:
    """A chat's whole summary.

    ``sent`` are the places of the nodes that the next prompt could carry. ``waiting`` counts the
    messages that no valid node tells of (forgotten ones are not meant to be in one), ``live`` those
    of them that are in the live window, where they are sent as they are.
    """

    chat: str
    nodes: Sequence[Summary]
    sent: frozenset[Place]
    waiting: int
    live: int

    def of_level(self, level: Level) -> list[Summary]:
        """The nodes of one level, in order."""
        return [node for node in self.nodes if node.level == level]

    def as_json(self) -> dict[str, Any]:
        """The documented JSON shape."""
        return {
            "chat": self.chat,
            "levels": {level: [self._node(n) for n in self.of_level(level)] for level in LEVELS},
            "messages_not_yet_in_summary": self.waiting,
            "of_these_in_live_window": self.live,
        }

    def _node(self, node: Summary) -> dict[str, Any]:
        there = {other.place for other in self.nodes}
        return {
            "id": f"{self.chat}/{node.name}",
            "node": node.name,
            "first_message": node.first,
            "last_message": node.last,
            "messages": node.messages,
            "tokens": node.tokens,
            "text": node.text,
            "sent": node.place in self.sent,
            "stale": not node.valid,
            "edited": node.edited,
            "sources_changed": node.changed,
            "rebuild_asked": node.due,
            "summariser": node.summariser,
            "model": node.model,
            "made_at": node.made_at.isoformat(),
            "children": [name_of(place) for place in node.place.children if place in there],
        }


@dataclass(frozen=True, kw_only=True, slots=True)
class Settled:
    """What settling did: ``made`` summaries in ``chats`` chats; ``failed`` says what went wrong."""

    chats: int
    made: int
    failed: Sequence[Outcome]


class Summaries:
    """The conversation summaries of the account's chats. Nodes are named as in ``recent-12``."""

    def __init__(self, desk: Desk, settler: Settler) -> None:
        self._desk = desk
        self._settler = settler

    async def show(self, chat: str) -> SummaryView:
        """All nodes of a chat, and how many messages are in none. Raises NotFound."""
        return await self._desk.read(_show, self._desk.key(chat))

    async def get(self, chat: str, node: str) -> Summary:
        """One node. Raises NotFound, InvalidInput for what is no name of a node."""
        return await self._desk.read(_get, self._desk.key(chat), place_named(node))

    async def edit(self, chat: str, node: str, text: str) -> Summary:
        """Let your text stand in place of a node's: from then on it is a source itself.

        It stays in the prompt whatever happens to the messages it tells of, until they are all
        deleted. Raises NotFound, InvalidInput for an empty or over-long text.
        """
        place, key = place_named(node), self._desk.key(chat)
        return await self._desk.write(units.edit_summary, key, place, text, now=self._desk.clock())

    async def rebuild(
        self, chat: str, node: str | None = None, *, overwrite_edits: bool = False
    ) -> int:
        """Ask for one node, or all, to be made anew by the next settle; answers how many.

        Until then they are sent as they are. Edited nodes are left alone unless
        ``overwrite_edits``; naming one without it raises Conflict. Raises NotFound.
        """
        place = place_named(node) if node is not None else None
        return await self._desk.write(
            units.rebuild,
            self._desk.key(chat),
            now=self._desk.clock(),
            place=place,
            overwrite_edits=overwrite_edits,
        )

    async def settle(self, chat: str | None = None, *, progress: Progress | None = None) -> Settled:
        """Do now all that is due, in one chat or in all of the account. Raises NotFound.

        What another process is settling at the moment is left to it. ``progress`` is told how much
        is left: messages of one chat, or chats.
        """
        if chat is not None:
            key = self._desk.key(chat)
            await self._desk.read(chat_rows.state, key)
            outcomes = [await self._settler.settle(key, progress=progress)]
        else:
            outcomes = await self._settle_all(progress)
        done = [outcome for outcome in outcomes if outcome.state != "busy"]
        return Settled(
            chats=len({outcome.key.chat for outcome in done}),
            made=sum(outcome.made for outcome in done),
            failed=[outcome for outcome in outcomes if outcome.state == "failed"],
        )

    async def _settle_all(self, progress: Progress | None) -> list[Outcome]:
        account, outcomes = self._desk.account.id, list[Outcome]()
        left, _ = await self._desk.read(settling.counts, account)

        def report(outcome: Outcome) -> None:
            nonlocal left
            outcomes.append(outcome)
            left -= outcome.state != "more"
            if progress is not None:
                progress(max(0, left))

        if progress is not None:
            progress(left)
        await Worker(self._settler, account=account, report=report).drain()
        return outcomes

    async def failures(self) -> Sequence[Failure]:
        """What went wrong when chats of the account were settled, the newest first."""
        return await self._desk.read(settling.failures, self._desk.account.id)

    async def retry(self, chat: str | None = None) -> int:
        """Let a failed chat, or all, be tried again at once; answers how many. Raises NotFound."""
        self._settler.try_model_again()
        return await self._desk.write(_retry, self._desk.account.id, chat)

    async def catch_up(
        self, chat: str, do: Literal["plan", "start", "pause"] = "plan"
    ) -> CatchUpPlan:
        """Have imported history summarised by the language model: what that takes, start, pause.

        Without consent imported history is summarised locally, since nobody asked to pay for it.
        ``start`` consents, and resumes after a pause. InvalidInput where no model is configured.
        """
        key = self._desk.key(chat)
        if do == "start":
            if not self._settler.has_model:
                raise InvalidInput(
                    "No language model is configured for summaries. Set "
                    "TALEKEEPER_SUMMARY_BASE_URL and TALEKEEPER_SUMMARY_MODEL, then start again."
                )
            await self._desk.write(start, key, now=self._desk.clock())
        elif do == "pause":
            await self._desk.write(pause, key, now=self._desk.clock())
        return await self._desk.read(catch_up_plan, key)


def _show(connection: Connection, key: ChatKey) -> SummaryView:
    state = chat_rows.state(connection, key)
    window = window_of(connection, state)
    open_nodes = rows.candidates(connection, key, since=0)
    sent = frontier(open_nodes, window=window, before=LAST_NUMBER)
    told = rows.uncovered(connection, key)
    remembered = message_rows.remembered(connection, key)
    live = message_rows.remembered(connection, key, window)
    for node in told:
        if node.last >= window:
            first = max(window, node.first)
            live -= message_rows.remembered(connection, key, first, node.last)
    return SummaryView(
        chat=key.chat,
        nodes=rows.all_of(connection, key),
        sent=frozenset(node.place for node in sent),
        waiting=remembered - sum(node.messages for node in told),
        live=live,
    )


def _retry(connection: Connection, account: str, chat: str | None) -> int:
    if chat is not None:
        chat_rows.state(connection, ChatKey(account, chat))
    failed = [
        failure
        for failure in settling.failures(connection, account)
        if chat is None or failure.key.chat == chat
    ]
    for failure in failed:
        chat_rows.state(connection, failure.key, lock=True, importing=True)
        settling.retry(connection, failure.key)
        if failure.permanent:
            # It was settled without the model, which may have its turn now.
            rows.ask_anew(connection, failure.key, by=("local",))
        settling.wake(connection, failure.key)
    return len(failed)


def _get(connection: Connection, key: ChatKey, place: Place) -> Summary:
    chat_rows.state(connection, key)
    return units.get_summary(connection, key, place)
