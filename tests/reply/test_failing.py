"""Replies that come to nothing leave nothing; and models that take no tools, or call no end."""

import anyio
import pytest

from talekeeper import InvalidInput, ModelError
from talekeeper.domain.errors import ToolsUnsupported
from talekeeper.domain.limits import LIMITS
from talekeeper.testing import ModelRequest, Step, steps
from tests.conftest import run
from tests.reply.talking import Talk, add, call, talking

BIRTHDAY = "El cumpleaños de Anna es el 3 de mayo."
NO_TOOLS = steps.error(400, "registry.ollama.ai/library/tiny does not support tools")

BROKEN: dict[str, Step] = {
    "500": steps.failing(500),
    "429": steps.too_many(30),
    "cut": steps.cut(steps.answer("One two three four five six seven eight.")),
    "hanging": steps.hanging(),
    "empty": steps.empty(),
    "null": steps.null(),
    "refusal": steps.refusal(),
    "invalid json": steps.invalid_json(),
    "web page": steps.web_page(),
    "broken event": steps.events('{"choices": [{"delta": {"content": "One'),
    "error in the stream": steps.events(
        {"choices": [{"index": 0, "delta": {"content": "One"}}]},
        {"error": {"message": "Overloaded.", "code": 502}},
    ),
    "no choices": steps.events({"choices": []}),
    "filtered": steps.answer(None, finish="content_filter"),
}


async def _nothing_came(talk: Talk) -> None:
    assert await talk.said() == ["Hello."]
    assert (await talk.texts(talk.mira), await talk.texts()) == ([], [])
    assert await talk.journal() == 0


@pytest.mark.parametrize("kind", BROKEN)
def test_a_failure_after_a_write_leaves_nothing_of_the_reply(kind: str) -> None:
    async def story() -> None:
        script = (call(add(BIRTHDAY), text="Well."), BROKEN[kind])
        async with talking("sqlite://", *script, patience=1.0) as talk:
            with pytest.raises(ModelError):
                await talk.keeper.reply(talk.chat)
            await _nothing_came(talk)
            with pytest.raises(ModelError):
                await talk.keeper.reply(talk.chat, stop=anyio.Event())
            await _nothing_came(talk)
            talk.server.play([steps.answer("Hello, Anna.")])
            await talk.keeper.reply(talk.chat)
            assert await talk.said() == ["Hello.", "Hello, Anna."]

    run(story())


def test_a_failure_leaves_nothing_on_any_database(database_url: str) -> None:
    async def story() -> None:
        script = (call(add(BIRTHDAY)), steps.cut(steps.answer("One two three four five.")))
        async with talking(database_url, *script) as talk:
            with pytest.raises(ModelError):
                await talk.keeper.reply(talk.chat)
            await _nothing_came(talk)

    run(story())


def test_the_input_stays_where_the_reply_fails() -> None:
    async def story() -> None:
        async with talking("sqlite://", steps.failing()) as talk:
            with pytest.raises(ModelError):
                await talk.keeper.reply(talk.chat, "¿Estás ahí?")
            assert await talk.said() == ["Hello.", "¿Estás ahí?"]

    run(story())


def test_cancelled_it_leaves_nothing(database_url: str) -> None:
    async def story() -> None:
        slow = steps.paced(steps.answer("One two three four five six seven."), 0.1)
        async with talking(database_url, call(add(BIRTHDAY)), slow) as talk:
            with anyio.CancelScope() as scope:
                await talk.keeper.reply(
                    talk.chat, on_text=lambda piece: scope.cancel() if "two" in piece else None
                )
            assert scope.cancelled_caught
            await _nothing_came(talk)

    run(story())


def test_a_model_without_tools_is_asked_once_more_without_and_no_more_offered_any() -> None:
    async def story() -> None:
        script = (NO_TOOLS, steps.answer("Hello, Anna."), steps.answer("Still here."))
        async with talking("sqlite://", *script) as talk:
            await talk.keeper.memories.add(BIRTHDAY, character=talk.mira)
            reply = await talk.keeper.reply(talk.chat)
            assert reply.message is not None
            await talk.keeper.reply(talk.chat, "And now?")
            requests = talk.server.requests
            assert ["tools" in request.body for request in requests] == [True, False, False]
            # Still told, without the numbers that only tools need.
            told = [f"- #1 {BIRTHDAY}", f"- {BIRTHDAY}", f"- {BIRTHDAY}"]
            assert all(line in one.text for line, one in zip(told, requests, strict=True))
            assert await talk.said() == ["Hello.", "Hello, Anna.", "And now?", "Still here."]

    run(story())


def test_a_refusal_of_tools_by_who_was_offered_none_is_an_error() -> None:
    async def story() -> None:
        async with talking("sqlite://", NO_TOOLS) as talk:
            with pytest.raises(ModelError) as caught:
                await talk.keeper.reply(talk.chat)
            assert len(talk.server.requests) == 2
            assert not isinstance(caught.value, ToolsUnsupported)
            await _nothing_came(talk)

    run(story())


def test_another_bad_request_is_not_tried_without_tools() -> None:
    async def story() -> None:
        async with talking("sqlite://", steps.error(400, "The context is too long.")) as talk:
            with pytest.raises(ModelError, match="too long"):
                await talk.keeper.reply(talk.chat)
            assert len(talk.server.requests) == 1

    run(story())


def test_a_model_that_calls_tools_without_end_is_offered_none_the_last_time() -> None:
    def choose(request: ModelRequest) -> Step:
        if "tools" in request.body:
            return call(add(f"Anna knows {len(request.messages)} songs by heart."))
        return steps.answer("Enough.")

    async def story() -> None:
        async with talking("sqlite://", choose=choose) as talk:
            reply = await talk.keeper.reply(talk.chat)
            assert reply.text == "Enough."
            offered = ["tools" in request.body for request in talk.server.requests]
            assert offered == [True] * (LIMITS.reply_calls - 1) + [False]
            assert len(reply.memories) <= LIMITS.memory_writes
            assert len(reply.usage) == await talk.used() == LIMITS.reply_calls

    run(story())


def test_a_model_that_never_writes_a_text_is_an_error_and_saves_nothing() -> None:
    async def story() -> None:
        async with talking("sqlite://", call(add(BIRTHDAY))) as talk:
            with pytest.raises(ModelError, match="wrote no text"):
                await talk.keeper.reply(talk.chat)
            assert len(talk.server.requests) == LIMITS.reply_calls
            await _nothing_came(talk)

    run(story())


def test_only_a_reply_that_is_shown_is_gone_on_with() -> None:
    async def story() -> None:
        async with talking("sqlite://") as talk:
            with pytest.raises(InvalidInput, match="no reply to go on with"):
                await talk.keeper.reply(talk.chat, mode="continue")
            await talk.keeper.record(talk.chat, "Érase una vez", role="assistant")
            await talk.keeper.messages.exclude(talk.chat, 2)
            with pytest.raises(InvalidInput, match="no reply to go on with"):
                await talk.keeper.reply(talk.chat, mode="continue")
            assert talk.server.requests == []
            assert await talk.said() == ["Hello.", "Érase una vez"]

    run(story())


def test_tools_refused_after_they_were_called_are_offered_the_next_time() -> None:
    async def story() -> None:
        async with talking("sqlite://", call(add(BIRTHDAY)), NO_TOOLS) as talk:
            with pytest.raises(ToolsUnsupported):
                await talk.keeper.reply(talk.chat)
            await _nothing_came(talk)
            assert await talk.used() == 1
            talk.server.play([steps.answer("Hello, Anna.")])
            await talk.keeper.reply(talk.chat)
            assert "tools" in talk.server.requests[-1].body

    run(story())


@pytest.mark.parametrize("stop", [None, anyio.Event()], ids=["no stop", "stop"])
def test_an_error_of_the_callers_own_comes_out_bare_and_the_usage_is_noted(
    stop: anyio.Event | None,
) -> None:
    def on_text(piece: str) -> None:
        raise LookupError(piece)

    async def story() -> None:
        script = (call(add(BIRTHDAY)), steps.answer("Hello, Anna."))
        async with talking("sqlite://", *script) as talk:
            with pytest.raises(LookupError):
                await talk.keeper.reply(talk.chat, on_text=on_text, stop=stop)
            await _nothing_came(talk)
            assert await talk.used() == 2

    run(story())
