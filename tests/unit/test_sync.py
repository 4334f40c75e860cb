"""SyncKeeper is the Keeper, for type checkers, for dir() and for who calls it."""

import inspect
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, assert_type

import pytest

from talekeeper import (
    Chat,
    Context,
    GenerationSettings,
    InvalidInput,
    Keeper,
    Message,
    StoreClosed,
    SyncKeeper,
)
from tests.conftest import run


def _coroutines(of: object) -> Mapping[str, Any]:
    """The public coroutine methods of an object."""
    return {
        name: member
        for name, member in inspect.getmembers(of, inspect.iscoroutinefunction)
        if not name.startswith("_") and name != "of"
    }


def _parts(of: object) -> Mapping[str, object]:
    return {name: part for name, part in vars(of).items() if not name.startswith("_")}


def test_it_has_every_method_of_a_keeper_with_the_same_arguments() -> None:
    with SyncKeeper.open() as keeper:
        behind = keeper._behind
        assert set(_parts(keeper)) == set(_parts(behind)) != set()
        pairs: list[tuple[object, object]] = [(keeper, behind)]
        pairs += [(part, vars(behind)[name]) for name, part in _parts(keeper).items()]
        for waiting, part in pairs:
            assert _coroutines(part)
            for name, method in _coroutines(part).items():
                assert name in dir(waiting)
                same = getattr(waiting, name)
                assert inspect.signature(same) == inspect.signature(method)
                assert same.__doc__ == method.__doc__
    opening = inspect.signature(Keeper.open).replace(return_annotation="SyncKeeper")
    assert inspect.signature(SyncKeeper.open) == opening


def test_type_checkers_know_what_comes_back() -> None:
    """``make lint`` checks these."""
    with SyncKeeper.open() as keeper:
        assert_type(keeper, SyncKeeper)
        keeper.characters.add(name="Mira")
        chat = assert_type(keeper.chats.start("Mira"), Chat)
        assert_type(keeper.chats.list(), Sequence[Chat])
        assert_type(keeper.record(chat.id, "Good evening."), Message)
        assert_type(keeper.compose(chat.id), Context)
        assert_type(keeper.settings.get(chat.id), GenerationSettings)
        assert_type(keeper.messages.exclude(chat.id, 1), Sequence[int])
        with pytest.raises(TypeError):
            keeper.chats.rename(chat.id)  # type: ignore[call-arg]
        with pytest.raises(AttributeError):
            keeper.chats.nothing()  # type: ignore[attr-defined]


def test_a_call_after_the_end_says_so() -> None:
    keeper = SyncKeeper.open()
    chats = keeper.chats
    keeper.close()
    keeper.close()
    with pytest.raises(StoreClosed, match="closed"):
        keeper.chats.list()
    with pytest.raises(StoreClosed):
        chats.list()
    with pytest.raises(StoreClosed):
        keeper.compose("x")


def test_an_opening_that_fails_leaves_no_thread() -> None:
    with pytest.raises(InvalidInput):
        SyncKeeper.open("mysql://somewhere/else")


def test_an_asynchronous_keeper_says_so_too() -> None:
    async def work() -> None:
        async with Keeper.open() as keeper:
            await keeper.chats.list()
        with pytest.raises(StoreClosed):
            await keeper.chats.list()
        with pytest.raises(StoreClosed):
            await keeper.characters.add(name="Mira")

    run(work())


@pytest.mark.parametrize("kept", ["keeper = ", ""])
def test_a_keeper_that_nobody_closed_lets_the_process_end(tmp_path: Path, kept: str) -> None:
    program = (
        "import gc, sys\n"
        "from talekeeper import SyncKeeper\n"
        f"{kept}SyncKeeper.open(sys.argv[1])\n"
        "gc.collect()\n"
        "SyncKeeper.open(sys.argv[1]).characters.add(name='Mira')\n"
    )
    db = str(tmp_path / "tale.db")
    done = subprocess.run(
        [sys.executable, "-c", program, db], capture_output=True, text=True, timeout=30, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert [path.name for path in tmp_path.iterdir()] == ["tale.db"]


def test_opening_is_documented_as_what_it_is() -> None:
    assert inspect.signature(SyncKeeper.open).return_annotation == "SyncKeeper"
    assert "is open when it comes back" in (SyncKeeper.open.__doc__ or "")
