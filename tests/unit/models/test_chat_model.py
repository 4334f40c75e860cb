"""What every ChatModel promises, held against each implementation; and what an Endpoint takes."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager

import pytest
from pydantic import ValidationError

from talekeeper.domain.errors import ModelError
from talekeeper.models.chat_model import ChatModel, Endpoint
from talekeeper.models.openai_compatible import OpenAICompatible
from talekeeper.testing import FakeModelServer, Step, steps
from tests.conftest import run

MESSAGES = [{"role": "system", "content": "Sum it up."}, {"role": "user", "content": "They met."}]

Opened = AbstractAsyncContextManager[ChatModel]
Implementation = Callable[[Step], Opened]
"""A model that does with every question what the step says."""


@asynccontextmanager
async def _openai_compatible(step: Step) -> AsyncIterator[ChatModel]:
    async with FakeModelServer([step]) as server:
        model = OpenAICompatible(Endpoint(base_url=server.base_url, model="fake-model"))
        yield model
        await model.close()


@pytest.fixture(params=[_openai_compatible])
def implementation(request: pytest.FixtureRequest) -> Implementation:
    """Each implementation of ChatModel."""
    made: Implementation = request.param
    return made


async def _complete(model: ChatModel) -> str:
    return (await model.complete(MESSAGES, most_tokens=50, temperature=0.2)).text


def test_it_answers_with_the_text(implementation: Implementation) -> None:
    async def go() -> None:
        async with implementation(steps.answer(" They met.\n")) as model:
            assert model.name == "fake-model"
            assert await _complete(model) == " They met.\n"

    run(go())


def test_many_may_ask_at_once(implementation: Implementation) -> None:
    async def go() -> None:
        async with implementation(steps.delayed(steps.answer("Yes."), 0.05)) as model:
            assert await asyncio.gather(*(_complete(model) for _ in range(10))) == ["Yes."] * 10

    run(go())


@pytest.mark.parametrize(
    "step",
    [
        *(steps.empty(), steps.null(), steps.answer(" \n\t"), steps.refusal(), steps.tool_calls()),
        *(steps.invalid_json(), steps.web_page(), steps.failing(), steps.too_many()),
    ],
)
def test_what_is_no_text_is_an_error(implementation: Implementation, step: Step) -> None:
    async def go() -> None:
        async with implementation(step) as model:
            with pytest.raises(ModelError, match=r"fake-model"):
                await _complete(model)

    run(go())


def test_closing_twice_is_allowed_and_so_is_asking_again(implementation: Implementation) -> None:
    async def go() -> None:
        async with implementation(steps.answer("Yes.")) as model:
            await model.close()
            assert await _complete(model) == "Yes."
            await model.close()
            await model.close()
            assert await _complete(model) == "Yes."

    run(go())


@pytest.mark.parametrize(
    "url",
    [
        *("", "localhost:11434/v1", "ftp://host/v1", "http://", "http://host:port/v1"),
        *("http://host/a path", "http://hóst/v1", "http://host/\n/v1", "http://[::1/v1"),
    ],
)
def test_a_base_url_is_a_web_address(url: str) -> None:
    with pytest.raises(ValidationError, match=r"must begin with http:// or https://"):
        Endpoint(base_url=url, model="m")


@pytest.mark.parametrize("key", ["sk-1\nsk-2", "sk 1", "“sk-1”", "sk-\x00"])
def test_a_key_that_cannot_be_one_is_refused_without_showing_it(key: str) -> None:
    with pytest.raises(ValidationError, match=r"copy it again") as caught:
        Endpoint(base_url="http://host/v1", model="m", key=key)  # type: ignore[arg-type]
    assert "sk" not in str(caught.value)


def test_headers_that_cannot_be_sent_are_refused() -> None:
    for headers in ({"X-Title": "Märchen"}, {"X": "a\r\nY: b"}, {"": "x"}):
        with pytest.raises(ValidationError, match=r"plain ASCII"):
            Endpoint(base_url="http://host/v1", model="m", headers=headers)


def test_an_endpoint_shows_no_secrets() -> None:
    endpoint = Endpoint(
        base_url=" https://alice:wonder@host:8443/v1?token=wonder ",
        model="m",
        key=" wonder\n",  # type: ignore[arg-type]
        headers={"X-Key": "wonder"},
    )
    assert endpoint.where == "https://host:8443/v1"
    assert endpoint.key.get_secret_value() == "wonder"
    assert "wonder" not in repr(endpoint.model_copy(update={"base_url": ""}))
