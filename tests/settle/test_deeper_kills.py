"""Workers that are killed while they read cells for memories: each cell is read as if once."""

import os
import random
import re
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import anyio
import pytest

from talekeeper import Keeper
from talekeeper.models.chat_model import Endpoint
from talekeeper.models.openai_compatible import OpenAICompatible
from talekeeper.testing import FakeModelServer, ModelRequest, Step, steps
from tests.conftest import run
from tests.settle.chapters import adding, begin, operations, passes, saved, tell_on

_WORKER = textwrap.dedent(
    """
    import anyio, sys
    from talekeeper.keeper import fresh_id, utc_now
    from talekeeper.models.chat_model import Endpoint
    from talekeeper.models.openai_compatible import OpenAICompatible
    from talekeeper.settle.settler import settler_of
    from talekeeper.settle.worker import Worker
    from talekeeper.store.opening import open_database

    async def main(path, url):
        database = await open_database(path)
        model = OpenAICompatible(Endpoint(base_url=url, model="fake-model"))
        settler = settler_of(
            database, model=model, clock=utc_now, new_id=fresh_id, lease_seconds=1.0
        )
        await Worker(settler).run(poll_seconds=0.1)

    anyio.run(main, *sys.argv[1:])
    """
)
_CELLS = 12
_KILLS = 4


def _worker(path: Path, server: FakeModelServer) -> "subprocess.Popen[bytes]":
    return subprocess.Popen([sys.executable, "-c", _WORKER, str(path), server.base_url])


def _answer(request: ModelRequest) -> Step:
    """Every cell tells a secret, which is to be kept."""
    if '"operations"' not in request.text:
        return steps.answer("They met.")
    found = re.search(r"The secret of (\w+ \d+) is \w+", request.text.split("<conversation>")[1])
    if found is None:
        return operations()
    name = found[1].replace(" ", "")
    text = " ".join(f"{name}{letter}" for letter in "abcdef")  # Like no other.
    return steps.delayed(operations(adding(text, found[0])), 0.03)


async def _prepare(path: Path) -> list[str]:
    async with Keeper.open(path, settle="off") as keeper:
        await keeper.settings.change(context_limit=400, reserve=0, tokenizer="approximate")
        chats = []
        for name in ("Rome", "Kyiv"):
            chat = await begin(keeper, f"The secret of {name} 0 is water.", title=name)
            for cell in range(1, _CELLS):
                await tell_on(keeper, chat, f"The secret of {name} {cell * 97} is a stone.")
            await tell_on(keeper, chat, f"The secret of {name} 1 is a key.")
            chats.append(chat)
        return chats


@pytest.mark.skipif(sys.platform == "win32", reason="workers are killed by a signal")
def test_killed_workers_read_each_cell_as_if_once(tmp_path: Path) -> None:
    path, chance = tmp_path / "tale.db", random.Random(5)
    chats = run(_prepare(path))
    with FakeModelServer(_answer) as server:
        for _ in range(_KILLS):
            before = len(server.requests)
            worker = _worker(path, server)
            server.wait_for(before + chance.randrange(1, 5), seconds=30)
            time.sleep(chance.uniform(0, 0.06))
            os.kill(worker.pid, signal.SIGKILL)
            worker.wait(timeout=10)

        async def rest() -> None:
            model = OpenAICompatible(Endpoint(base_url=server.base_url, model="fake-model"))
            await anyio.sleep(1.1)  # What the last one had on lease is free then.
            async with Keeper.open(path, settle="off", summary_model=model) as keeper:
                settled = await keeper.summaries.settle()
                assert not settled.failed
                texts = await saved(keeper)
                for chat in chats:
                    found = await passes(keeper, chat)
                    assert [one.outcome for one in found] == ["done"] * len(found)
                    assert len(found) >= _CELLS
                made = [one for chat in chats for one in await passes(keeper, chat) if one.made]
                assert len(texts) > 2 * (_CELLS - 2)
                assert sum(one.made for one in made) == len(texts) == len(set(texts))
                assert len({one.run for one in made}) == len(made)
            await model.close()

        run(rest())
