"""The same Keeper for code that is not asynchronous: every call waits for its answer.

Each method below *is* the method of the asynchronous class, its arguments and its types included;
what it does is not known here.
"""

import inspect
import threading
from collections.abc import Callable, Coroutine
from contextlib import AbstractAsyncContextManager, ExitStack
from functools import cache, partial, wraps
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar

from anyio.from_thread import BlockingPortal, start_blocking_portal

from talekeeper.domain.errors import StoreClosed
from talekeeper.keeper import Keeper
from talekeeper.parts.characters import Characters, Personas
from talekeeper.parts.chats import Chats
from talekeeper.parts.files import Files
from talekeeper.parts.lore import Lore, MemoryEntries
from talekeeper.parts.memories import Memories
from talekeeper.parts.messages import Messages
from talekeeper.parts.receipts import Receipts
from talekeeper.parts.settings import Settings
from talekeeper.parts.summaries import Summaries

__all__ = ["SyncKeeper"]

A = TypeVar("A")
T = TypeVar("T")
P = ParamSpec("P")


class _Loop:
    """A thread with an event loop, and the Keeper that is open in it."""

    def __init__(self, opening: AbstractAsyncContextManager[Keeper]) -> None:
        self._open = False
        with ExitStack() as stack:
            self._portal: BlockingPortal = stack.enter_context(start_blocking_portal())
            opened = self._portal.wrap_async_context_manager(opening)
            self.keeper = stack.enter_context(opened)
            self._closing = stack.pop_all()
            self._open = True
            _open_loops.add(self)
            _close_at_the_end()

    def wait(self, work: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Run ``work`` in the loop and wait. Raises StoreClosed after the end."""
        if not self._open:
            raise StoreClosed("This keeper is closed. Open another one.")
        answer: T = self._portal.call(work)
        return answer

    def close(self) -> None:
        """End the Keeper, then the thread."""
        self._open = False
        _open_loops.discard(self)
        self._closing.close()


_open_loops: set[_Loop] = set()
"""Held here too, so that one that nobody else holds is closed by its end, not by chance."""


@cache
def _close_at_the_end() -> None:
    """Close what nobody closed, once the main thread is done.

    Python waits for the threads that work for a loop before it calls what ``atexit`` knows, and
    they end with their loop: it must be closed before that. It waits for this thread as well.
    """

    def work() -> None:
        threading.main_thread().join()
        for loop in list(_open_loops):
            loop.close()

    threading.Thread(target=work, name="talekeeper-end").start()


class _Waiting(Generic[A]):
    """Stands for something asynchronous and waits for it."""

    def __init__(self, loop: _Loop, behind: A) -> None:
        self._loop = loop
        self._behind = behind


def _waits(
    method: Callable[Concatenate[A, P], Coroutine[Any, Any, T]],
) -> Callable[Concatenate[_Waiting[A], P], T]:
    """The method as one that waits for its answer."""

    @wraps(method)
    def call(self: _Waiting[A], /, *args: P.args, **kwargs: P.kwargs) -> T:
        return self._loop.wait(partial(method, self._behind, *args, **kwargs))

    return call


def _opens(
    opening: Callable[P, AbstractAsyncContextManager[Keeper]],
) -> Callable[P, "SyncKeeper"]:
    """The same for the opening: what was a context manager is open when it comes back."""

    @wraps(opening)
    def call(*args: P.args, **kwargs: P.kwargs) -> "SyncKeeper":
        loop = _Loop(opening(*args, **kwargs))
        return SyncKeeper(loop, loop.keeper)

    call.__doc__ = f"{inspect.getdoc(opening)}\n\nThe keeper is open when it comes back."
    signature = inspect.signature(opening).replace(return_annotation="SyncKeeper")
    call.__signature__ = signature  # type: ignore[attr-defined]
    return call


class _Chats(_Waiting[Chats]):
    start = _waits(Chats.start)
    list = _waits(Chats.list)
    get = _waits(Chats.get)
    find = _waits(Chats.find)
    rename = _waits(Chats.rename)
    set_persona = _waits(Chats.set_persona)
    join = _waits(Chats.join)
    leave = _waits(Chats.leave)
    fork = _waits(Chats.fork)
    rewind = _waits(Chats.rewind)
    delete = _waits(Chats.delete)


class _Messages(_Waiting[Messages]):
    add = _waits(Messages.add)
    get = _waits(Messages.get)
    list = _waits(Messages.list)
    add_swipe = _waits(Messages.add_swipe)
    choose_swipe = _waits(Messages.choose_swipe)
    edit = _waits(Messages.edit)
    exclude = _waits(Messages.exclude)
    include = _waits(Messages.include)
    forget = _waits(Messages.forget)
    unforget = _waits(Messages.unforget)
    delete = _waits(Messages.delete)
    delete_turn = _waits(Messages.delete_turn)


class _Characters(_Waiting[Characters]):
    add = _waits(Characters.add)
    list = _waits(Characters.list)
    get = _waits(Characters.get)
    update = _waits(Characters.update)
    learn = _waits(Characters.learn)
    delete = _waits(Characters.delete)


class _Memories(_Waiting[Memories]):
    list = _waits(Memories.list)
    scopes = _waits(Memories.scopes)
    get = _waits(Memories.get)
    add = _waits(Memories.add)
    edit = _waits(Memories.edit)
    delete = _waits(Memories.delete)
    pin = _waits(Memories.pin)
    unpin = _waits(Memories.unpin)
    pinned_warning = _waits(Memories.pinned_warning)
    move = _waits(Memories.move)
    clear = _waits(Memories.clear)
    trash = _waits(Memories.trash)
    restore = _waits(Memories.restore)
    purge = _waits(Memories.purge)
    empty_trash = _waits(Memories.empty_trash)
    history = _waits(Memories.history)
    undo = _waits(Memories.undo)
    undo_turn = _waits(Memories.undo_turn)
    undo_run = _waits(Memories.undo_run)
    export = _waits(Memories.export)
    import_file = _waits(Memories.import_file)
    deeper = _waits(Memories.deeper)
    generate = _waits(Memories.generate)
    draft = _waits(Memories.draft)
    as_is = _waits(Memories.as_is)
    save_drafts = _waits(Memories.save_drafts)


class _Personas(_Waiting[Personas]):
    add = _waits(Personas.add)
    update = _waits(Personas.update)
    delete = _waits(Personas.delete)
    list = _waits(Personas.list)


class _Lore(_Waiting[Lore]):
    list = _waits(Lore.list)
    get = _waits(Lore.get)
    add = _waits(Lore.add)
    update = _waits(Lore.update)
    delete = _waits(Lore.delete)
    use = _waits(Lore.use)
    unuse = _waits(Lore.unuse)
    add_entry = _waits(Lore.add_entry)
    update_entry = _waits(Lore.update_entry)
    delete_entry = _waits(Lore.delete_entry)
    import_file = _waits(Lore.import_file)
    export = _waits(Lore.export)


class _MemoryEntries(_Waiting[MemoryEntries]):
    list = _waits(MemoryEntries.list)
    add = _waits(MemoryEntries.add)
    update = _waits(MemoryEntries.update)
    delete = _waits(MemoryEntries.delete)


class _Settings(_Waiting[Settings]):
    get = _waits(Settings.get)
    origins = _waits(Settings.origins)
    change = _waits(Settings.change)
    plan = _waits(Settings.plan)
    set_plan = _waits(Settings.set_plan)
    plans = _waits(Settings.plans)
    define_plan = _waits(Settings.define_plan)
    delete_plan = _waits(Settings.delete_plan)
    usage = _waits(Settings.usage)


class _Files(_Waiting[Files]):
    import_file = _waits(Files.import_file)
    import_stream = _waits(Files.import_stream)
    export_chat = _waits(Files.export_chat)
    export_card = _waits(Files.export_card)


class _Summaries(_Waiting[Summaries]):
    show = _waits(Summaries.show)
    get = _waits(Summaries.get)
    edit = _waits(Summaries.edit)
    rebuild = _waits(Summaries.rebuild)
    settle = _waits(Summaries.settle)
    failures = _waits(Summaries.failures)
    retry = _waits(Summaries.retry)
    catch_up = _waits(Summaries.catch_up)


class _Receipts(_Waiting[Receipts]):
    list = _waits(Receipts.list)
    get = _waits(Receipts.get)
    seen = _waits(Receipts.seen)
    diff = _waits(Receipts.diff)
    since = _waits(Receipts.since)
    compare = _waits(Receipts.compare)


class SyncKeeper(_Waiting[Keeper]):
    """Delegates to a Keeper that runs in a thread of its own; same names, same arguments.

    Open it with :meth:`open`, as a Keeper. Close it, or use it in a ``with`` statement; every call
    after that raises StoreClosed.
    """

    open = staticmethod(_opens(Keeper.open))
    record = _waits(Keeper.record)
    compose = _waits(Keeper.compose)
    reply = _waits(Keeper.reply)

    def __init__(self, loop: _Loop, keeper: Keeper) -> None:
        super().__init__(loop, keeper)
        self.chats = _Chats(loop, keeper.chats)
        self.messages = _Messages(loop, keeper.messages)
        self.characters = _Characters(loop, keeper.characters)
        self.personas = _Personas(loop, keeper.personas)
        self.memories = _Memories(loop, keeper.memories)
        self.lore = _Lore(loop, keeper.lore)
        self.entries = _MemoryEntries(loop, keeper.entries)
        self.settings = _Settings(loop, keeper.settings)
        self.files = _Files(loop, keeper.files)
        self.summaries = _Summaries(loop, keeper.summaries)
        self.receipts = _Receipts(loop, keeper.receipts)

    def close(self) -> None:
        """Close the database and end the thread. Closing twice is allowed."""
        self._loop.close()

    def __enter__(self) -> "SyncKeeper":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
