"""A reply: compose, ask the model, let it keep memories, record.

Nothing is recorded until the model is done: the text and the memories it wrote come in together,
or not at all. It does not know how a prompt is made, nor how a model is reached.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import anyio
from sqlalchemy import Connection

from talekeeper.compose.composer import compose
from talekeeper.compose.gather import gather
from talekeeper.compose.receipts import marked
from talekeeper.compose.recollect import writable
from talekeeper.compose.request import Material, Request
from talekeeper.domain.block import Context
from talekeeper.domain.chat import Message, ToolCall
from talekeeper.domain.errors import InvalidInput, ModelError, NotFound, ToolsUnsupported
from talekeeper.domain.limits import LIMITS
from talekeeper.domain.usage import Usage
from talekeeper.models.chat_model import Answer, ChatModel
from talekeeper.parts.desk import Desk
from talekeeper.record.memory_writes import Applied, Staging
from talekeeper.record.replies import Basis, NewReply, basis_of, record_reply
from talekeeper.record.usage import check_allowance, note_usage, usage_of
from talekeeper.store.keys import ChatKey
from talekeeper.text.tokens import tokenizer_named

__all__ = ["OnCall", "OnText", "Replier", "Reply"]

OnText = Callable[[str], None]
"""Told each piece of the text as it comes."""

OnCall = Callable[[ToolCall, str], None]
"""Told each tool call with its result, which is JSON."""

_LEAST_ROOM = 64

_MOST_CALLS = 2 * LIMITS.memory_writes
"""Tool calls of one answer that are looked at: some may be wrong, and asked for again."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Reply:
    """What came of asking for a reply.

    ``message`` holds it now. It is None where nothing was recorded, and ``why_not`` says why: what
    it answers was changed meanwhile, the chat takes it no more, it speaks for the user, or it was
    stopped before a word came.
    ``memories`` are the writes it made, each done or refused. ``stopped`` tells that it was stopped
    and may end in the middle.
    """

    text: str
    speaker: str
    message: Message | None
    why_not: str | None
    context: Context
    memories: Sequence[Applied]
    usage: Sequence[Usage]
    stopped: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class _Asked:
    context: Context
    material: Material
    basis: Basis
    staging: Staging
    scopes: Sequence[str | None]


@dataclass(slots=True)
class _Spoken:
    """What came so far; kept where a stop finds it. While an answer is open, ``asking`` is what it
    answers, and it is in the parts from ``since`` on."""

    parts: list[str] = field(default_factory=list)
    reasoning: list[str] = field(default_factory=list)
    usage: list[Usage] = field(default_factory=list)
    asking: Sequence[Mapping[str, Any]] | None = None
    since: int = 0

    def text(self) -> str:
        return "".join(self.parts)

    def spent(self, model: str) -> list[Usage]:
        """What all answers took, and the one that was broken off, as far as it came."""
        if self.asking is None or len(self.parts) == self.since:
            return self.usage
        broken = Answer(text="".join(self.parts[self.since :]))
        return [*self.usage, usage_of("reply", model, self.asking, broken)]


class Replier:
    """Replies in chats of one account with one model."""

    def __init__(self, desk: Desk, model: ChatModel) -> None:
        self._desk = desk
        self.model = model
        self._takes_tools = True

    async def reply(
        self,
        chat: str,
        request: Request,
        settings: Mapping[str, Any],
        *,
        on_text: OnText | None = None,
        on_call: OnCall | None = None,
        stop: anyio.Event | None = None,
    ) -> Reply:
        """One reply to what is recorded. ``request`` has no input.

        Raises ModelError, BudgetExceeded, UsageExceeded, NotFound, InvalidInput; then nothing is
        recorded. Cancelled, nothing is recorded either; ``stop`` keeps what came so far.
        """
        asked = await self._ask(chat, request, settings)
        spoken = _Spoken()
        try:
            try:
                stopped = await self._stoppable(asked, spoken, on_text, on_call, stop)
            except ToolsUnsupported:
                # Who took them once takes tools: then something else is wrong.
                if not asked.context.tools or spoken.usage or spoken.parts:
                    raise
                self._takes_tools = False
                asked = await self._ask(chat, request, settings)
                stopped = await self._stoppable(asked, spoken, on_text, on_call, stop)
        finally:
            with anyio.CancelScope(shield=True):
                await self._note(spoken)
        return await self._record(chat, request, asked, spoken, stopped)

    async def _note(self, spoken: _Spoken) -> None:
        """Note what was asked, whatever becomes of the answer."""
        desk, usage = self._desk, spoken.spent(self.model.name)
        if usage:
            await desk.write(
                note_usage, desk.account.id, usage, now=desk.clock(), new_id=desk.new_id
            )

    async def _ask(self, chat: str, request: Request, settings: Mapping[str, Any]) -> _Asked:
        if not self._takes_tools:
            settings = {**settings, "tools": False}
        desk = self._desk
        return await desk.read(_asked, desk.key(chat), request, settings, desk.clock())

    async def _stoppable(
        self,
        asked: _Asked,
        spoken: _Spoken,
        on_text: OnText | None,
        on_call: OnCall | None,
        stop: anyio.Event | None,
    ) -> bool:
        """Let the model speak until it is done, or told to stop; answers whether it was."""
        if stop is None:
            await self._speak(asked, spoken, on_text, on_call)
            return False
        done = False
        failure: BaseException | None = None
        try:
            async with anyio.create_task_group() as tasks:

                async def wait() -> None:
                    await stop.wait()
                    tasks.cancel_scope.cancel()

                tasks.start_soon(wait)
                await self._speak(asked, spoken, on_text, on_call)
                done = True
                tasks.cancel_scope.cancel()
        except BaseExceptionGroup as group:
            # Waiting never fails: it is what speaking raised, which comes out as it is.
            failure = group.exceptions[0]
        if failure is not None:
            raise failure
        return not done

    async def _speak(
        self, asked: _Asked, spoken: _Spoken, on_text: OnText | None, on_call: OnCall | None
    ) -> None:
        messages: list[Mapping[str, Any]] = list(asked.context.messages)
        count = tokenizer_named(asked.material.settings.tokenizer).count
        room = max(_LEAST_ROOM, asked.material.settings.reserve)
        for turn in range(LIMITS.reply_calls):
            # The last answer is to be a text, and so is one that has hardly room for more.
            last = turn == LIMITS.reply_calls - 1 or (turn > 0 and room <= _LEAST_ROOM)
            tools = () if last else asked.context.tools
            hear = _Ear(spoken, on_text, continuing=asked.basis.continued is not None)
            spoken.asking, spoken.since = list(messages), len(spoken.parts)
            answer = await self.model.stream(messages, tools=tools, most_tokens=room, on_text=hear)
            spoken.reasoning.append(answer.reasoning)
            spoken.usage.append(usage_of("reply", self.model.name, messages, answer))
            spoken.asking = None
            if not tools or not answer.calls:
                break
            results = [
                (call, asked.staging.call(call.name, call.arguments))
                for call in answer.calls[:_MOST_CALLS]
            ]
            if on_call is not None:
                for call, result in results:
                    on_call(call, result)
            said = _as_messages(answer, results)
            messages += said
            room = max(_LEAST_ROOM, room - sum(count(str(message)) for message in said))
        if not spoken.text().strip():
            raise ModelError(
                f"The model {self.model.name!r} called tools and wrote no text.", permanent=False
            )

    async def _record(
        self, chat: str, request: Request, asked: _Asked, spoken: _Spoken, stopped: bool
    ) -> Reply:
        desk, material = self._desk, asked.material
        text = _finished(spoken.text(), asked, request)
        why_not, message, applied = None, None, list[Applied]()
        if request.mode == "impersonate":
            why_not = "It speaks for the user: send it, or change it first."
        elif not text.strip():
            why_not = "It was stopped before a word came."
        if why_not is None:
            new = NewReply(
                text=text,
                speaker=material.speaker_id or material.speaker.name,
                model=self.model.name,
                reasoning="\n\n".join(filter(None, spoken.reasoning)),
                writes=asked.staging.writes,
                scopes=asked.scopes,
                seen=marked(material, request, asked.context),
                fired=asked.context.fired,
            )
            try:
                recorded = await desk.write(
                    record_reply, desk.key(chat), new, asked.basis, now=desk.clock()
                )
            except (NotFound, InvalidInput) as error:
                why_not = f"It cannot be recorded in the chat as it is now: {error}"
            else:
                message, applied = recorded.message, list(recorded.writes)
                if message is None:
                    why_not = "What it answers was changed or deleted meanwhile."
        return Reply(
            text=text,
            speaker=material.speaker_name,
            message=message,
            why_not=why_not,
            context=asked.context,
            memories=applied,
            usage=spoken.spent(self.model.name),
            stopped=stopped,
        )


class _Ear:
    """Hears one answer: keeps the pieces, and puts an empty line between two answers. Space at the
    beginning counts where a text is gone on with."""

    def __init__(self, spoken: _Spoken, on_text: OnText | None, *, continuing: bool) -> None:
        self._spoken = spoken
        self._on_text = on_text
        self._begun = continuing

    def __call__(self, piece: str) -> None:
        if not self._begun:
            piece = piece.lstrip()
            if not piece:
                return
            if self._spoken.text().strip():
                piece = f"\n\n{piece}"
        self._begun = True
        self._spoken.parts.append(piece)
        if self._on_text is not None:
            self._on_text(piece)


def _asked(
    connection: Connection,
    key: ChatKey,
    request: Request,
    settings: Mapping[str, Any],
    now: datetime,
) -> _Asked:
    """All that a reply begins with, as of one moment."""
    material = gather(connection, key, request, settings)
    basis = basis_of(
        connection, key, replacing=request.replacing, continuing=request.mode == "continue"
    )
    check_allowance(connection, key.account, material.plan, now=now)
    context = compose(material, request)
    scopes: list[str | None] = [None]
    if material.speaker_id is not None:
        scopes.append(material.speaker_id)
    there = []
    if context.tools:
        there = writable(connection, key, scopes, replacing=request.replacing)
    return _Asked(
        context=context,
        material=material,
        basis=basis,
        staging=Staging(there, own=material.speaker_id),
        scopes=scopes,
    )


def _as_messages(
    answer: Answer, results: Sequence[tuple[ToolCall, str]]
) -> list[Mapping[str, Any]]:
    """An answer with tool calls, and their results, as the next messages of the conversation."""
    calls = [
        {
            "id": call.id,
            "type": "function",
            "function": {"name": call.name, "arguments": _as_object(call.arguments)},
        }
        for call, _ in results
    ]
    said: list[Mapping[str, Any]] = [
        {"role": "assistant", "content": answer.text or None, "tool_calls": calls}
    ]
    said += [
        {"role": "tool", "tool_call_id": call.id, "content": result} for call, result in results
    ]
    return said


def _as_object(arguments: str) -> str:
    """The arguments as they were, if they are a JSON object: servers refuse what is none."""
    try:
        return arguments if isinstance(json.loads(arguments), dict) else "{}"
    except (ValueError, RecursionError):
        return "{}"


def _finished(text: str, asked: _Asked, request: Request) -> str:
    """The text as it is recorded: with the prefill it began with, without the speaker's name."""
    if request.mode == "continue":
        return text
    text = text.strip()
    material = asked.material
    for name in (material.speaker_name, material.speaker.name):
        if request.mode == "reply" and text.startswith(f"{name}: "):
            text = text[len(name) + 2 :].lstrip()
    prefills = [
        sent
        for row, sent in zip(asked.context.receipt.sent(), asked.context.texts, strict=True)
        if row.kind == "prefill"
    ]
    for prefill in prefills:
        if text and not text.startswith(prefill.strip()):
            text = f"{prefill}{text}"
    return text
