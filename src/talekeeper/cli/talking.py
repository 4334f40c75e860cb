"""``talekeeper chat``: a conversation in the terminal, or through a pipe."""

import asyncio
import json
import signal
import sys
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import anyio
import typer

from talekeeper.cli.memories import show_memories
from talekeeper.cli.memory_past import undone
from talekeeper.cli.opening import with_keeper
from talekeeper.cli.options import AsJson, ChatName, InputOption
from talekeeper.cli.output import Output
from talekeeper.cli.plain import counted, plain
from talekeeper.cli.previewing import show_receipt
from talekeeper.cli.scopes import names_of
from talekeeper.config import Config
from talekeeper.domain.chat import Chat, Message
from talekeeper.domain.errors import InvalidInput, TalekeeperError
from talekeeper.keeper import Keeper
from talekeeper.parts.memories import memory_json
from talekeeper.record.memory_writes import Applied
from talekeeper.reply import Reply

__all__ = ["chat", "reply_json"]

_HELP = """\
  /regenerate, /r   write the last reply anew
  /swipe N          show the N-th of the replies there are; /next and /prev go on and back
  /continue         let the last reply go on
  /impersonate      write what you could say; it is not recorded
  /as NAME          who replies from now on, in a group; without a name, by turns
  /undo             take back the memories that the last replies wrote
  /memories         what is remembered here
  /preview          what the model would see now
  /quit             end; so does Ctrl-D
Ctrl-C stops a reply and keeps what came. A message that begins with a slash is written with two."""


def chat(
    context: typer.Context,
    chat: ChatName,
    input_: InputOption = None,
    as_json: AsJson = False,
) -> None:
    """Talk with the characters of a chat. Through a pipe, each line is a message."""
    config: Config = context.obj
    if config.chat is None:
        raise InvalidInput(
            "No chat model is configured. Set TALEKEEPER_CHAT_BASE_URL and TALEKEEPER_CHAT_MODEL, "
            "as in http://127.0.0.1:11434/v1 for Ollama and the name of a model that it has."
        )

    async def work(keeper: Keeper) -> int:
        talk = Talk(keeper, await keeper.chats.find(chat), as_json=as_json)
        if input_ is not None:
            await talk.hear(input_)
        else:
            await talk.go_on()
        return talk.failures

    if with_keeper(context, work):
        raise typer.Exit(1)


class Talk:
    """One conversation. ``failures`` counts what went wrong in one that nobody types."""

    def __init__(self, keeper: Keeper, chat: Chat, *, as_json: bool) -> None:
        self.failures = 0
        self._keeper = keeper
        self._chat = chat
        self._as_json = as_json
        self._speaker: str | None = None
        self._typed = sys.stdin is not None and sys.stdin.isatty()
        self._console = Output()

    async def go_on(self) -> None:
        """Hear line after line, until there is none or the user wants to end."""
        if self._typed:
            self._say(f"{plain(self._chat.title)}. /help tells what you can do; /quit ends.")
            await self._show_last()
        while (line := _line(prompt=self._typed and not self._as_json)) is not None:
            text = line.strip()
            if text in ("/quit", "/exit"):
                break
            if not text:
                continue
            try:
                await self.hear(line.rstrip("\r\n"))
            except TalekeeperError as error:
                typer.echo(f"Error: {' '.join(plain(str(error)).split())}", err=True)
                self.failures += not self._typed

    async def hear(self, line: str) -> None:
        """Do what a line asks for. Raises TalekeeperError where that cannot be done."""
        text = line.strip()
        if not text.startswith("/") or text.startswith("//"):
            await self._reply(input=line[1:] if text.startswith("//") else line)
            return
        name, _, argument = text.partition(" ")
        commands: Mapping[str, Callable[[str], Awaitable[None]]] = {
            "/regenerate": self._regenerate,
            "/r": self._regenerate,
            "/swipe": self._swipe,
            "/next": lambda _: self._step(1),
            "/prev": lambda _: self._step(-1),
            "/continue": lambda _: self._reply(mode="continue"),
            "/impersonate": lambda _: self._reply(mode="impersonate"),
            "/as": self._as,
            "/undo": self._undo,
            "/memories": self._memories,
            "/preview": self._preview,
            "/help": self._help,
        }
        command = commands.get(name)
        if command is None:
            raise InvalidInput(
                f"There is no command {name!r} here; /help lists them. Begin with // to say it."
            )
        await command(argument.strip())

    async def _reply(self, **asked: Any) -> None:
        asked.setdefault("speaker", self._speaker)
        voice = _Voice(silent=self._as_json)
        stop = anyio.Event()
        try:
            with _interrupted(stop.set):
                reply = await self._keeper.reply(
                    self._chat.id, on_text=voice.hear, stop=stop, **asked
                )
        finally:
            voice.end()
        if self._as_json:
            typer.echo(json.dumps(reply_json(reply), ensure_ascii=False))
            return
        if len(self._chat.characters) > 1:
            self._say(f"— {plain(reply.speaker)}")
        if reply.why_not is not None:
            self._say(f"({reply.why_not})")
        elif reply.stopped:
            self._say("(Stopped; what came is kept.)")
        for applied in reply.memories:
            self._say(_remembered(applied))

    async def _regenerate(self, _: str) -> None:
        last = await self._last()
        if last.role == "assistant":
            await self._reply(replacing=last.number, speaker=None)
        else:
            await self._reply()

    async def _swipe(self, argument: str) -> None:
        last = await self._last()
        if not argument.isdecimal():
            raise InvalidInput("Say which one, as in /swipe 2.")
        await self._choose(last, int(argument) - 1)

    async def _step(self, by: int) -> None:
        last = await self._last()
        await self._choose(last, last.active + by)

    async def _choose(self, last: Message, swipe: int) -> None:
        count = len(last.swipes)
        if not 0 <= swipe < count:
            there = counted(count, "text", "texts")
            raise InvalidInput(f"The last message has {there}; /regenerate writes another reply.")
        await self._keeper.messages.choose_swipe(self._chat.id, last.number, swipe)
        await self._show_last()

    async def _as(self, name: str) -> None:
        if name:
            # Asked of the prompt, which knows who is there; nothing is recorded.
            await self._keeper.compose(self._chat.id, speaker=name)
        self._speaker = name or None
        self._say(f"{plain(name)} replies from now on." if name else "They reply by turns again.")

    async def _undo(self, _: str) -> None:
        last = await self._last()
        changed = await self._keeper.memories.undo_turn(self._chat.id, last.number)
        for memory in changed:
            self._say(undone(memory))
        if not changed:
            self._say("The last replies changed no memory.")

    async def _memories(self, _: str) -> None:
        names = await names_of(self._keeper)
        found = [
            memory
            for scope in (None, *self._chat.characters)
            if scope in names
            for memory in (await self._keeper.memories.list(scope)).memories
        ]
        if self._as_json:
            typer.echo(json.dumps([memory_json(m) for m in found], ensure_ascii=False))
        elif found:
            show_memories(self._console, found, names)
        else:
            self._say("Nothing is remembered here yet.")

    async def _preview(self, _: str) -> None:
        context = await self._keeper.compose(self._chat.id, speaker=self._speaker)
        if self._as_json:
            typer.echo(json.dumps(context.as_json(), ensure_ascii=False))
        else:
            show_receipt(self._console, context)

    async def _help(self, _: str) -> None:
        self._say(_HELP)

    async def _last(self) -> Message:
        found = await self._keeper.messages.list(self._chat.id, limit=1)
        if not found:
            raise InvalidInput("Nothing was said yet.")
        return found[-1]

    async def _show_last(self) -> None:
        for last in await self._keeper.messages.list(self._chat.id, limit=1):
            which = f" ({last.active + 1}/{len(last.swipes)})" if len(last.swipes) > 1 else ""
            self._say(f"{plain(last.speaker)}{which}: {plain(last.text)}")

    def _say(self, text: str) -> None:
        """Tell something that is no reply: beside the JSON, where that is printed."""
        typer.echo(text, err=self._as_json)


def reply_json(reply: Reply) -> dict[str, Any]:
    """The documented JSON shape of a reply."""
    message = reply.message
    return {
        "message": message.number if message else None,
        "swipe": message.active if message else None,
        "speaker": reply.speaker,
        "text": reply.text,
        "stopped": reply.stopped,
        "why_not_recorded": reply.why_not,
        "memories": [
            {
                "action": applied.write.kind,
                "memory": memory_json(applied.memory) if applied.memory else None,
                "text": applied.write.text,
                "refused": applied.refused,
            }
            for applied in reply.memories
        ],
        "prompt_tokens": sum(used.prompt_tokens for used in reply.usage),
        "reply_tokens": sum(used.reply_tokens for used in reply.usage),
    }


def _remembered(applied: Applied) -> str:
    """What became of a memory that the character wrote, in a line."""
    write, memory = applied.write, applied.memory
    if memory is None:
        said = f": {plain(write.text)}" if write.text else ""
        return f"✎ not remembered, {applied.refused}{said}"
    if write.kind == "delete":
        return f"✎ deleted memory {memory.id}: {plain(memory.text)}"
    if write.kind == "update":
        return f"✎ changed memory {memory.id}: {plain(memory.text)}"
    return f"✎ remembered: {plain(memory.text)}"


class _Voice:
    """Prints a reply as it comes. A reader that went away is told of when the reply is done."""

    def __init__(self, *, silent: bool) -> None:
        self._silent = silent
        self._gone: OSError | UnicodeError | None = None
        self._printed = ""

    def hear(self, piece: str) -> None:
        """Print one piece of the text."""
        if self._silent or self._gone is not None:
            return
        self._printed = plain(piece) or self._printed
        try:
            sys.stdout.write(plain(piece))
            sys.stdout.flush()
        except (OSError, UnicodeError) as error:
            self._gone = error

    def end(self) -> None:
        """End the line that was begun. Raises what went wrong while printing."""
        if self._gone is not None:
            raise self._gone
        if self._printed and not self._printed.endswith("\n"):
            typer.echo()


def _line(*, prompt: bool) -> str | None:
    """The next line, None at the end or when the user ends it with Ctrl-C."""
    if sys.stdin is None:
        return None
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        if prompt:
            return input("> ")
        return sys.stdin.readline() or None
    except (EOFError, KeyboardInterrupt):
        if prompt:
            typer.echo()
        return None
    finally:
        signal.signal(signal.SIGINT, before)


@contextmanager
def _interrupted(act: Callable[[], None]) -> Iterator[None]:
    """Within it the first Ctrl-C calls ``act`` in the event loop; a second one ends all."""
    loop = asyncio.get_running_loop()
    count = 0

    def handle(*_: object) -> None:
        nonlocal count
        count += 1
        if count > 1:
            raise KeyboardInterrupt
        loop.call_soon_threadsafe(act)

    before = signal.signal(signal.SIGINT, handle)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
