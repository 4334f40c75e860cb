"""Settling through a real language model."""

from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager

import pytest

from talekeeper import Keeper
from talekeeper.domain.errors import ModelError
from talekeeper.models.chat_model import Answer, Endpoint
from talekeeper.models.openai_compatible import OpenAICompatible
from tests.conftest import run
from tests.local_model import CONTEXT, serving
from tests.settle.tales import nodes, tell

MOST = 24
"""Tokens of an answer. So small a model does not stop by itself."""


class _Brief(OpenAICompatible):
    """Asks for less than the settler would, and for the same each time."""

    async def complete(
        self, messages: Sequence[Mapping[str, str]], *, most_tokens: int, temperature: float
    ) -> Answer:
        return await super().complete(
            messages, most_tokens=min(most_tokens, MOST), temperature=0 * temperature
        )


@asynccontextmanager
async def _asking(served: Endpoint) -> AsyncIterator[OpenAICompatible]:
    model = _Brief(served)
    try:
        yield model
    finally:
        await model.close()


@pytest.fixture(scope="module")
def served() -> Iterator[Endpoint]:
    """A real model behind a real server."""
    with serving() as endpoint:
        yield endpoint


def test_a_real_model_writes_the_summaries_of_a_chat(served: Endpoint) -> None:
    async def go() -> None:
        async with (
            _asking(served) as model,
            Keeper.open(settle="off", summary_model=model) as keeper,
        ):
            await keeper.settings.change(
                context_limit=400, reserve=0, tokenizer="approximate", main_prompt="Play {{char}}."
            )
            chat = await tell(keeper, turns=4)
            settled = await keeper.summaries.settle(chat)
            failures = await keeper.summaries.failures()
            assert (settled.failed, failures) == ([], [])
            made = await nodes(keeper, chat)
            assert settled.made == len(made) == 2
            for node in made:
                assert (node.summariser, node.model, node.valid) == ("model", "smollm2", True)
                assert node.text.strip()
                assert node.tokens <= 48
            context = await keeper.compose(chat, "Where are we?")
            sent = "\n".join(str(message["content"]) for message in context.messages)
            assert made[0].text in sent

    run(go())


def test_a_prompt_too_long_for_it_is_an_error_for_good(served: Endpoint) -> None:
    async def go() -> None:
        async with _asking(served) as model:
            with pytest.raises(ModelError, match=r"answered 400: .*context") as caught:
                await model.complete(
                    [{"role": "user", "content": "well " * 2 * CONTEXT}],
                    most_tokens=5,
                    temperature=0,
                )
            assert caught.value.permanent

    run(go())
