"""OpenAICompatible against a server that does as it is told, however badly."""

import socket
import time
from typing import Any

import pytest

from talekeeper.domain.errors import ModelError, ToolsUnsupported
from talekeeper.models.chat_model import Endpoint
from talekeeper.models.memory_tools import MEMORY_TOOLS
from talekeeper.models.openai_compatible import OpenAICompatible
from talekeeper.testing import FakeModelServer, ModelRequest, Step, steps
from tests.conftest import run

KEY = "sk-wonderland-1234567890"
MESSAGES = [{"role": "system", "content": "Sum it up."}, {"role": "user", "content": "Hello 🙂"}]


async def _asked(server: FakeModelServer, **endpoint: Any) -> str:
    """One answer of the server's."""
    settings = {"base_url": server.base_url, "model": "fake-model", "key": KEY, **endpoint}
    model = OpenAICompatible(Endpoint(**settings))
    try:
        return (await model.complete(MESSAGES, most_tokens=50, temperature=0.2)).text
    finally:
        await model.close()


def _answer(step: Step, **endpoint: Any) -> str:
    async def go() -> str:
        async with FakeModelServer([step]) as server:
            return await _asked(server, **endpoint)

    return run(go())


def _error(step: Step, **endpoint: Any) -> ModelError:
    with pytest.raises(ModelError) as caught:
        _answer(step, **endpoint)
    said = str(caught.value)
    assert said.startswith("The model 'fake-model' at http://127.0.0.1:")
    assert KEY not in said
    assert "\n" not in said
    # Nothing hangs behind it that a logged traceback would show.
    assert caught.value.__cause__ is None
    return caught.value


def test_the_request_is_what_was_asked_and_no_more() -> None:
    async def go() -> ModelRequest:
        async with FakeModelServer() as server:
            await _asked(server, headers={"X-Title": "Tales", "HTTP-Referer": "http://tales"})
            (request,) = server.requests
            return request

    request = run(go())
    assert request.body == {
        "model": "fake-model",
        "messages": MESSAGES,
        "max_tokens": 50,
        "temperature": 0.2,
    }
    assert request.headers["authorization"] == f"Bearer {KEY}"
    assert request.headers["x-title"] == "Tales"
    assert request.headers["http-referer"] == "http://tales"


def test_a_header_may_stand_in_for_the_key() -> None:
    async def go() -> str:
        async with FakeModelServer() as server:
            await _asked(server, key="", headers={"Authorization": "Basic YWxpY2U="})
            return server.requests[0].headers["authorization"]

    assert run(go()) == "Basic YWxpY2U="


def test_who_one_is_at_openai_is_not_told_to_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_ORG_ID", "org-alice")
    monkeypatch.setenv("OPENAI_PROJECT_ID", "proj-alice")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-alice")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")

    async def go() -> ModelRequest:
        async with FakeModelServer() as server:
            await _asked(server, key="")
            return server.requests[0]

    assert "alice" not in str(run(go()).headers)


@pytest.mark.parametrize(
    ("step", "permanent", "said"),
    [
        (steps.too_many(), False, "answered 429: Rate limit reached."),
        (steps.failing(500), False, "answered 500: The server had an error"),
        (steps.failing(503), False, "answered 503"),
        (steps.failing(408), False, "answered 408"),
        (steps.failing(400), True, "answered 400"),
        (steps.failing(402), True, "answered 402"),
        (steps.failing(403), True, "answered 403"),
        (steps.error(429, "Out of credit.", code="insufficient_quota"), True, "Out of credit."),
        (steps.unauthorized(), True, "answered 401: Incorrect API key provided."),
        (steps.no_such_model(), True, "answered 404: The model `fake-model` does not exist"),
        (steps.error(401, f"Wrong key {KEY}!"), True, "Wrong key ***!"),
        (steps.error(500, "a\nb\r\nc" + "x" * 5_000), False, "answered 500: a b cxxx"),
        (Step(status=502, body=b"<html>Bad gateway</html>"), False, "502: no reason given"),
        (Step(status=301, headers={"Location": "/login"}), True, "answered"),
        (steps.refusal("No. Never."), True, "refused: No. Never."),
        (steps.answer("", finish="content_filter"), True, "its filter kept the answer back"),
        (steps.answer("", finish="length"), False, "went into its thoughts"),
        (steps.empty(), False, "gave an empty answer."),
        (steps.null(), False, "gave an empty answer."),
        (steps.tool_calls(), False, "but tool calls, though none were offered"),
        (steps.invalid_json(), False, "gave a broken answer"),
        (steps.cut(steps.answer("They met.")), False, "could not be asked: peer closed"),
        (steps.cut(steps.failing()), False, "could not be asked: peer closed"),
        (steps.web_page(), True, "Is the base URL right?"),
        (Step(body=b"", content_type="text/plain"), True, "Is the base URL right?"),
        (Step(body=b""), False, "gave a broken answer"),
        (Step(body=b"\xff\xfe"), False, "gave a broken answer"),
        (Step(body=b"[" * 200_000), False, "gave a broken answer"),
        (steps.json_body({"error": {"message": "Busy."}}), False, "without a choice: Busy."),
        (steps.json_body({"error": "Busy."}), False, "without a choice: Busy."),
    ],
)
def test_all_that_can_go_wrong_is_a_model_error(step: Step, permanent: bool, said: str) -> None:
    error = _error(step)
    assert error.permanent is permanent
    assert error.wait is None
    assert said in str(error)
    assert len(str(error)) < 500


@pytest.mark.parametrize(
    "document",
    [
        *(None, [], "text", 7, {}, {"choices": None}, {"choices": []}, {"choices": {"a": 1}}),
        *({"choices": 5}, {"choices": "text"}, {"choices": [None]}, {"choices": [[]]}),
        *({"choices": [{}]}, {"choices": [{"message": None}]}, {"choices": [{"message": "x"}]}),
        {"choices": [{"message": {"content": 7}}]},
        {"choices": [{"message": {"content": {"text": "x"}}}]},
        {"choices": [{"message": {"content": [None, "x", {"type": "text", "text": 7}]}}]},
    ],
)
def test_documents_of_any_shape_are_no_text(document: object) -> None:
    _error(steps.json_body(document))


def test_text_in_parts_is_put_together_without_the_thoughts() -> None:
    parts = [
        {"type": "thinking", "thinking": [{"type": "text", "text": "Hm."}]},
        *({"type": "text", "text": text} for text in ("They ", "met.")),
    ]
    message = {"role": "assistant", "content": parts}
    assert _answer(steps.json_body({"choices": [{"message": message}]})) == "They met."


def test_an_over_long_answer_is_a_text() -> None:
    assert len(_answer(steps.long_answer(sentences=20_000))) > 500_000


@pytest.mark.parametrize(
    ("told", "wait"),
    [
        *((30, 30.0), ("0.5", 0.5), (0, None), (-1, None), ("soon", None), ("nan", None)),
        *(("inf", 3_600.0), (86_400, 3_600.0), ("", None)),
    ],
)
def test_it_says_how_long_to_wait(told: str | float, wait: float | None) -> None:
    error = _error(steps.too_many(told))
    assert error.wait == wait
    assert not error.permanent


def test_a_date_to_wait_for_is_read_by_the_clock_of_the_server() -> None:
    until = "Tue, 12 May 2099 09:00:00 GMT"
    assert _error(steps.too_many(until)).wait == 3_600.0
    assert _error(steps.too_many("Tue, 12 May 2009 09:00:00 GMT")).wait is None
    assert _error(steps.too_many("Tue, 12 May 2099 09:00:00")).wait is None  # without a zone


@pytest.mark.parametrize(
    "step",
    [steps.hanging(), steps.held(steps.answer("Late.")), steps.paced(steps.answer("Slow."), 0.1)],
    ids=["hanging", "held", "trickling"],
)
def test_a_whole_answer_has_so_much_time(step: Step) -> None:
    begun = time.monotonic()
    error = _error(step, timeout=0.3)
    assert time.monotonic() - begun < 20
    assert "gave no answer within 0.3 seconds." in str(error)
    assert (error.permanent, error.wait) == (False, None)


def test_nobody_is_there() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    url = f"http://alice:wonder@127.0.0.1:{port}/v1?token=wonder"
    model = OpenAICompatible(Endpoint(base_url=url, model="fake-model"))
    with pytest.raises(ModelError, match=r"could not be asked: .*Is it running") as caught:
        run(model.complete(MESSAGES, most_tokens=50, temperature=0.2))
    assert not caught.value.permanent
    assert "wonder" not in str(caught.value)


def _modern(request: ModelRequest) -> Step:
    """As models that reason answer: other names, and no temperature."""
    for name in ("max_tokens", "temperature"):
        if name in request.body:
            return steps.error(400, f"Unsupported: '{name}'.", param=name)
    return steps.answer(f"At most {request.body['max_completion_tokens']}.")


def test_models_that_want_another_form_get_it() -> None:
    async def go() -> None:
        async with FakeModelServer(_modern) as server:
            model = OpenAICompatible(Endpoint(base_url=server.base_url, model="fake-model"))
            for asked in (3, 4):
                answer = await model.complete(MESSAGES, most_tokens=50, temperature=0.2)
                assert answer.text == "At most 50."
                assert len(server.requests) == asked
            await model.close()

    run(go())


def _thinking(request: ModelRequest) -> Step:
    """As models do that think first, and are broken off while they do."""
    if request.body["max_tokens"] < 1_000:
        return steps.answer(["", "<think>\nThe user wants"][len(request.text) % 2], finish="length")
    return steps.thoughts("They met.", thought="The user wants a summary.")


@pytest.mark.parametrize("text", ["even", "odd"])
def test_models_that_think_first_get_the_room_for_it(text: str) -> None:
    async def go() -> None:
        asked = [{"role": "user", "content": text}]
        async with FakeModelServer(_thinking) as server:
            model = OpenAICompatible(Endpoint(base_url=server.base_url, model="fake-model"))
            for count in (2, 3):
                answer = await model.complete(asked, most_tokens=50, temperature=0.2)
                assert answer.text.endswith("</think>\n\nThey met.")
                assert len(server.requests) == count
            await model.close()

    run(go())


def test_an_answer_that_is_merely_long_is_not_asked_again() -> None:
    async def go() -> None:
        async with FakeModelServer([steps.answer("They met and", finish="length")]) as server:
            assert await _asked(server) == "They met and"
            assert len(server.requests) == 1

    run(go())


def test_a_parameter_that_stays_wrong_is_an_error() -> None:
    for name in ("max_tokens", "temperature", "messages"):
        error = _error(steps.error(400, "Wrong.", param=name))
        assert error.permanent


def _refusal_of_tools(step: Step) -> ModelError:
    async def go() -> None:
        async with FakeModelServer([step]) as server:
            model = OpenAICompatible(Endpoint(base_url=server.base_url, model="fake-model"))
            try:
                await model.stream(
                    MESSAGES, tools=MEMORY_TOOLS, most_tokens=50, on_text=lambda _: None
                )
            finally:
                await model.close()

    with pytest.raises(ModelError) as caught:
        run(go())
    return caught.value


@pytest.mark.parametrize(
    "said",
    [
        "registry.ollama.ai/library/tiny does not support tools",
        "The model does not support Function Calling.",
        "This model doesn't support tool use.",
        "No endpoints found that support tool use.",
        "`tool calling` is not supported with this model",
        "Tools are not supported.",
        '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set',
        "Unsupported value: tool_choice",
        "Unrecognized request argument supplied: tools",
        "Unknown field 'tools'",
        "unexpected keyword argument 'tools'",
        "Unsupported parameter: tools",
    ],
)
def test_who_takes_no_tools_says_so_in_many_ways(said: str) -> None:
    assert isinstance(_refusal_of_tools(steps.error(400, said)), ToolsUnsupported)


def test_a_parameter_that_is_named_tools_is_refused_too() -> None:
    refused = _refusal_of_tools(steps.error(400, "Extra inputs.", param="tools"))
    assert isinstance(refused, ToolsUnsupported)


@pytest.mark.parametrize(
    "said",
    [
        "You requested 9000 tokens (8000 in the messages, 500 in the functions).",
        "The messages and tools are too long.",
        "An assistant message with tool_calls must be followed by tool messages.",
        "Billing functions are down.",
    ],
)
def test_an_error_that_merely_speaks_of_tools_is_no_refusal_of_them(said: str) -> None:
    refused = _refusal_of_tools(steps.error(400, said))
    assert refused.permanent
    assert not isinstance(refused, ToolsUnsupported)
