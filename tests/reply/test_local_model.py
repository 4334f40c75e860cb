"""A reply through a real language model that has to save a memory first."""

import json
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import cached_property
from types import SimpleNamespace
from typing import Any

import pytest

from talekeeper import Endpoint, Keeper, OpenAICompatible, ToolCall
from talekeeper.models.chat_model import Answer
from tests.conftest import run
from tests.local_model import CONTEXT, serving

MOST = 40
"""Tokens of an answer. So small a model does not stop by itself."""


@pytest.fixture(scope="module")
def served() -> Iterator[Endpoint]:
    """A real model behind a real server."""
    with serving() as endpoint:
        yield endpoint


class _Forced(OpenAICompatible):
    """Has no choice but to call ``add_memory`` where it is offered, and then writes a text.

    The server knows no forced tool choice, but keeps to a schema: the tool's own.
    """

    schema: Mapping[str, Any] | None = None

    async def stream(
        self,
        messages: Sequence[Mapping[str, Any]],
        *,
        tools: Sequence[Mapping[str, Any]] = (),
        most_tokens: int,
        on_text: Callable[[str], None],
    ) -> Answer:
        if not tools or messages[-1]["role"] == "tool":
            self.schema = None
            return await super().stream(messages, most_tokens=MOST, on_text=on_text)
        (self.schema,) = (
            tool["function"]["parameters"]
            for tool in tools
            if tool["function"]["name"] == "add_memory"
        )
        answer = await super().stream(messages, most_tokens=2 * MOST, on_text=lambda _: None)
        call = ToolCall(id="call_0", name="add_memory", arguments=answer.text)
        return replace(answer, text="", calls=(call,))

    @cached_property
    def _client(self) -> Any:
        client = super()._client

        async def create(**form: Any) -> Any:
            if self.schema is not None:
                shape = {"name": "add_memory", "schema": self.schema}
                form["response_format"] = {"type": "json_schema", "json_schema": shape}
            return await client.chat.completions.create(temperature=0, **form)

        return SimpleNamespace(
            chat=SimpleNamespace(completions=SimpleNamespace(create=create)), close=client.close
        )


@asynccontextmanager
async def _asking(served: Endpoint) -> AsyncIterator[OpenAICompatible]:
    model = _Forced(served)
    try:
        yield model
    finally:
        await model.close()


def test_a_real_model_made_to_save_a_memory_replies_after_it(served: Endpoint) -> None:
    async def go() -> None:
        async with (
            _asking(served) as model,
            Keeper.open(settle="off", chat_model=model) as keeper,
        ):
            # Told of more room than it has: no tools are offered where they would fill it.
            await keeper.settings.change(context_limit=8 * CONTEXT, main_prompt="Play {{char}}.")
            mira = await keeper.characters.add(name="Mira")
            chat = await keeper.chats.start("Mira", persona="Anna")
            heard: list[str] = []
            called: list[tuple[ToolCall, dict[str, Any]]] = []
            reply = await keeper.reply(
                chat.id,
                "My birthday is May 3. Please remember it.",
                on_text=heard.append,
                on_call=lambda call, result: called.append((call, json.loads(result))),
            )
            assert reply.message is not None
            assert "".join(heard).strip() == reply.text != ""
            ((call, result),) = called
            saved = [memory.text for memory in (await keeper.memories.list(mira.id)).memories]
            saved += [memory.text for memory in (await keeper.memories.list()).memories]
            # The schema makes its arguments what they should be, unless they come to no end.
            assert len(saved) == len(reply.memories) == result["ok"]
            for text in saved:
                assert text == " ".join(json.loads(call.arguments)["text"].split())
            assert [used.task for used in reply.usage] == ["reply", "reply"]
            await keeper.chats.rewind(chat.id, 1)
            assert (await keeper.memories.list(mira.id)).memories == []
            assert (await keeper.memories.list()).memories == []

    run(go())
