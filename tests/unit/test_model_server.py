"""The fake model server itself, asked by the client library and by hand."""

import asyncio
import json
import time
from http.client import HTTPConnection, IncompleteRead
from typing import Any

import pytest
from openai import APIConnectionError, APIError, AsyncOpenAI, AsyncStream
from openai.types.chat import ChatCompletionChunk

from talekeeper.testing import FakeModelServer, ModelRequest, Step, steps
from tests.conftest import run

HELLO: list[Any] = [{"role": "user", "content": "Hello there"}]


def _client(server: FakeModelServer) -> AsyncOpenAI:
    return AsyncOpenAI(base_url=server.base_url, api_key="sk-alice", max_retries=0, timeout=5)


async def _streamed(server: FakeModelServer) -> list[ChatCompletionChunk]:
    async with _client(server) as client:
        stream: AsyncStream[ChatCompletionChunk] = await client.chat.completions.create(
            model="m", messages=HELLO, stream=True, stream_options={"include_usage": True}
        )
        return [chunk async for chunk in stream]


def _post(server: FakeModelServer, body: object) -> tuple[int, bytes]:
    connection = HTTPConnection(server.base_url.split("/")[2], timeout=5)
    try:
        connection.request("POST", "/v1/chat/completions", json.dumps(body))
        response = connection.getresponse()
        return response.status, response.read()
    finally:
        connection.close()


def test_a_stream_carries_text_tool_calls_and_usage() -> None:
    async def go() -> None:
        call = steps.tool_calls("add_memory", '{"text": "Tea"}').message or {}
        both = steps.answer("They met.", tool_calls=call["tool_calls"], finish="tool_calls")
        async with FakeModelServer([both]) as server:
            chunks = await _streamed(server)
        choices = [choice for chunk in chunks for choice in chunk.choices]
        assert "".join(choice.delta.content or "" for choice in choices) == "They met."
        called = [tool for choice in choices for tool in choice.delta.tool_calls or ()]
        assert [tool.function.name for tool in called if tool.function] == ["add_memory"]
        assert choices[-1].finish_reason == "tool_calls"
        usage = chunks[-1].usage
        assert usage is not None
        assert (usage.prompt_tokens, usage.completion_tokens) == (2, 2)

    run(go())


def test_a_stream_that_is_cut_ends_in_an_error() -> None:
    async def go() -> None:
        async with FakeModelServer([steps.cut(steps.answer("They met. " * 50))]) as server:
            with pytest.raises(APIConnectionError):
                await _streamed(server)

    run(go())


def test_a_paced_stream_comes_piece_by_piece() -> None:
    async def go() -> None:
        step = steps.paced(steps.answer("One two three."), 0.05)
        async with FakeModelServer([step]) as server, _client(server) as client:
            begun = time.monotonic()
            stream = await client.chat.completions.create(model="m", messages=HELLO, stream=True)
            at = [time.monotonic() - begun async for chunk in stream if chunk.choices]
        assert at[-1] - at[0] >= 0.15

    run(go())


def test_steps_come_in_order_and_the_last_one_stays() -> None:
    with FakeModelServer([steps.failing(), steps.answer("Yes.")]) as server:
        assert [_post(server, {"model": "m"})[0] for _ in range(4)] == [500, 200, 200, 200]
        server.play([steps.unauthorized()])
        assert _post(server, {"model": "m"})[0] == 401
        assert len(server.requests) == 5


def test_a_function_may_choose() -> None:
    def chosen(request: ModelRequest) -> Step:
        return steps.answer("Secret." if "secret" in request.text else "Nothing.")

    with FakeModelServer(chosen) as server:
        asked = {"model": "m", "messages": [{"role": "user", "content": "a secret"}]}
        assert b"Secret." in _post(server, asked)[1]
        assert b"Nothing." in _post(server, {"model": "m"})[1]


def test_it_lists_its_models_and_finds_nothing_else() -> None:
    async def go() -> None:
        async with FakeModelServer(models=["a", "b"]) as server, _client(server) as client:
            assert [model.id async for model in client.models.list()] == ["a", "b"]
            with pytest.raises(APIError, match=r"Not found"):
                await client.embeddings.create(model="m", input="x")
            assert not server.requests

    run(go())


def test_what_is_no_json_object_is_a_bad_request() -> None:
    with FakeModelServer() as server:
        assert _post(server, ["m"])[0] == 400
        assert not server.requests


def test_cut_answers_break_off() -> None:
    with (
        FakeModelServer([steps.cut(steps.answer("Yes."))]) as server,
        pytest.raises(IncompleteRead),
    ):
        _post(server, {"model": "m"})


def test_what_is_held_waits_for_the_word() -> None:
    async def go() -> None:
        async with FakeModelServer([steps.held(steps.answer("Yes."))]) as server:
            asking = asyncio.create_task(asyncio.to_thread(_post, server, {"model": "m"}))
            await server.asked(1)
            assert not asking.done()
            server.go_on()
            assert (await asking)[0] == 200
            with pytest.raises(TimeoutError, match=r"1 of 2 requests"):
                await server.asked(2, seconds=0.01)

    run(go())


@pytest.mark.parametrize(
    "step",
    [
        steps.hanging(),
        steps.delayed(steps.answer("Late."), 60),
        steps.held(steps.answer("Held.")),
        steps.paced(steps.answer("Slow."), 60),
    ],
    ids=["hanging", "delayed", "held", "paced"],
)
def test_it_ends_at_once_whatever_is_under_way(step: Step) -> None:
    async def go() -> None:
        async with FakeModelServer([step]) as server:
            asking = asyncio.create_task(asyncio.to_thread(_post, server, {"model": "m"}))
            await server.asked(1)
            begun = time.monotonic()
        assert time.monotonic() - begun < 5
        await asyncio.wait([asking])
        asking.exception()

    run(go())


def test_it_listens_only_within_its_block() -> None:
    server = FakeModelServer()
    with pytest.raises(RuntimeError, match=r"only within"):
        _ = server.base_url
    with pytest.raises(ValueError, match=r"at least one step"):
        server.play([])
