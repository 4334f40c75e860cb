"""``talekeeper memories``: what a model drafts or reads deeper, and looking it over."""

import re
import sys
from collections.abc import Awaitable, Callable, Sequence
from typing import Annotated

import typer
from rich.console import Console
from rich.prompt import Prompt
from rich.text import Text

from talekeeper.cli.memories import day, print_json
from talekeeper.cli.opening import with_keeper
from talekeeper.cli.options import AsJson, ChatName
from talekeeper.cli.output import Output
from talekeeper.cli.plain import counted, safe
from talekeeper.cli.scopes import CharacterOption, GlobalOption, scope_of
from talekeeper.domain.chat import Chat
from talekeeper.domain.deeper import DeeperChange, DeeperPass
from talekeeper.domain.draft import Draft, Drafted
from talekeeper.domain.errors import InvalidInput
from talekeeper.domain.limits import LIMITS
from talekeeper.domain.memory import Memory
from talekeeper.keeper import Keeper
from talekeeper.parts.deeper import DeeperView
from talekeeper.parts.memories import memory_json

__all__ = ["register"]

_AcceptOption = Annotated[
    str | None,
    typer.Option(metavar="WHICH", help="Save these without asking: 1,3 or all or none."),
]


def register(app: typer.Typer) -> None:
    """Add the commands of this module."""
    app.command("generate")(generate)
    app.command("draft")(draft)
    app.command("deeper")(deeper)


def generate(
    context: typer.Context,
    description: Annotated[
        str,
        typer.Argument(metavar="TEXT", help="What is to be remembered; - reads it from a pipe."),
    ],
    everywhere: GlobalOption = False,
    character: CharacterOption = None,
    accept: _AcceptOption = None,
    as_json: AsJson = False,
) -> None:
    """Let a model draft memories from a description. You choose which of them are saved."""
    said = sys.stdin.read() if description == "-" else description

    async def make(keeper: Keeper) -> Drafted:
        scope = await scope_of(keeper, everywhere, character)
        return await keeper.memories.generate(said, character=scope.character)

    _review(context, make, accept, as_json=as_json)


def draft(
    context: typer.Context,
    chat: ChatName,
    messages: Annotated[
        list[str], typer.Argument(metavar="NUMBER...", help="Messages, such as 12 or 12-15.")
    ],
    everywhere: GlobalOption = False,
    character: CharacterOption = None,
    as_is: Annotated[
        bool, typer.Option("--as-is", help="One memory of what was said word for word; no model.")
    ] = False,
    accept: _AcceptOption = None,
    as_json: AsJson = False,
) -> None:
    """Make memories of messages of a chat, in the scope of its character unless you name another.

    You choose which are saved; they are pinned.
    """
    numbers = _numbers(messages)

    async def make(keeper: Keeper) -> Drafted:
        found = await keeper.chats.find(chat)
        named = everywhere or character is not None or len(found.characters) != 1
        whose = character if named else found.characters[0]
        scope = await scope_of(keeper, everywhere, whose)
        if as_is:
            whole = await keeper.memories.as_is(found.id, numbers, character=scope.character)
            return Drafted(drafts=[whole])
        return await keeper.memories.draft(found.id, numbers, character=scope.character)

    _review(context, make, accept, as_json=as_json)


def _numbers(messages: Sequence[str]) -> list[int]:
    """The numbers of messages: "12", or "12-15" for four of them."""
    numbers: list[int] = []
    for text in messages:
        first, dash, last = text.partition("-")
        if not re.fullmatch(r"[0-9]{1,9}(-[0-9]{1,9})?", text):
            raise InvalidInput(f"{text!r} is no message: write a number, or two as in 12-15.")
        ends = int(first), int(last if dash else first)
        if not 0 <= ends[1] - ends[0] < LIMITS.save_messages:
            raise InvalidInput(f"Choose 1 to {LIMITS.save_messages} messages, not {text}.")
        numbers += range(ends[0], ends[1] + 1)
    return numbers


def _review(
    context: typer.Context,
    make: Callable[[Keeper], Awaitable[Drafted]],
    accept: str | None,
    *,
    as_json: bool,
) -> None:
    """Let drafts be made, show them, and save those that the user accepts."""
    if accept is not None:
        _chosen(accept, LIMITS.generate_drafts)  # spelt wrongly it is refused before a model works
    drafted = with_keeper(context, make)
    drafts = drafted.drafts
    if not as_json:
        _show_drafts(Output(), drafted)
    if accept is not None:
        chosen = _chosen(accept, len(drafts))
    else:
        chosen = [] if as_json or not drafts else _asked(len(drafts))
    saved: list[Memory] = []
    if chosen:
        wanted = [drafts[at] for at in chosen]
        added = with_keeper(context, lambda keeper: keeper.memories.save_drafts(wanted))
        saved = [one.memory for one in added if one.memory is not None]
    if as_json:
        print_json({**drafted.as_json(), "saved": [memory_json(memory) for memory in saved]})
    elif drafts:
        typer.echo(_saved(saved))


def _saved(saved: Sequence[Memory]) -> str:
    if not saved:
        return "Nothing was saved."
    numbers = ", ".join(str(memory.id) for memory in saved)
    return f"Saved as {'memory' if len(saved) == 1 else 'memories'} {numbers}."


def _show_drafts(console: Output, drafted: Drafted) -> None:
    for at, one in enumerate(drafted.drafts, start=1):
        console.print(f"[bold]{at}[/]  {safe(one.text)}", highlight=False)
        for mark in _marks(one):
            console.print(f"   [dim]{mark}[/]", highlight=False)
    for note in drafted.notes:
        console.print(f"[yellow]![/] {safe(note)}", highlight=False)


def _marks(one: Draft) -> list[str]:
    marks = []
    if one.sources:
        numbers = ", ".join(map(str, one.sources))
        marks.append(f"from {'message' if len(one.sources) == 1 else 'messages'} {numbers}")
    if one.too_long:
        most = LIMITS.memory_characters
        marks.append(f"{one.length:,} characters: {most} are the most, so it cannot be saved")
    return marks


def _asked(count: int) -> list[int]:
    """Which of the drafts the user wants; no answer at all means none."""
    console = Console(stderr=True)
    while True:
        try:
            answer = Prompt.ask("Save which? 1,3 or all or none", console=console, default="none")
        except EOFError:
            console.print()
            return []
        try:
            return _chosen(answer, count)
        except InvalidInput as error:
            console.print(Text(str(error)))


def _chosen(answer: str, count: int) -> list[int]:
    """The places of the drafts that an answer names, from 0. InvalidInput says what is wrong."""
    words = answer.replace(",", " ").split()
    if words == ["all"]:
        return list(range(count))
    if words in (["none"], []):
        return []
    for word in words:
        if not re.fullmatch(r"[0-9]{1,3}", word) or not 0 < int(word) <= count:
            raise InvalidInput(
                f"{word!r} is no draft: write numbers from 1 to {count}, or all, or none."
            )
    return sorted({int(word) - 1 for word in words})


def deeper(context: typer.Context, chat: ChatName, as_json: AsJson = False) -> None:
    """Show whether deeper memory is active in a chat, and what it did there."""

    async def work(keeper: Keeper) -> tuple[Chat, DeeperView]:
        found = await keeper.chats.find(chat)
        return found, await keeper.memories.deeper(found.id)

    found, view = with_keeper(context, work)
    if as_json:
        print_json(view.as_json())
    else:
        _show_deeper(Output(), found, view)


_SHOWN = 10
"""Passes that are shown, the last ones."""


def _show_deeper(console: Output, chat: Chat, view: DeeperView) -> None:
    active = "[green]Active[/]" if view.active else f"Not active. {safe(view.why_not or '')}"
    console.print(f"[bold]Deeper memory[/] of {safe(chat.title)}: {active}", highlight=False)
    if view.passes:
        console.print(
            f"{counted(view.made, 'change')} made, {view.refused:,} refused, in "
            f"{counted(len(view.passes), 'pass', 'passes')}.",
            highlight=False,
        )
    for one in view.passes[-_SHOWN:]:
        _show_pass(console, one)


def _show_pass(console: Output, one: DeeperPass) -> None:
    messages = f"messages {one.cell}–{one.last}" if one.last is not None else f"cell {one.cell}"
    told = [one.outcome, f"{one.made} made", f"{one.refused} refused"]
    if one.outcome != "done":
        told = [one.outcome, *([one.reason] if one.reason else [])]
    console.print(f"\n{messages} · {day(one.made_at)} · {safe(' · '.join(told))}", highlight=False)
    if one.run is not None and one.made:
        console.print(f"  [dim]talekeeper memories undo --run {one.run}[/]", highlight=False)
    for change in one.changes:
        console.print(f"  {safe(_told(change))}", highlight=False)
    if one.unlisted:
        console.print(f"  and {one.unlisted:,} more refused", highlight=False)


def _told(change: DeeperChange) -> str:
    """One change in a line: what, on what grounds, and why not where it was refused."""
    which = f" {change.memory}" if change.memory is not None else ""
    text = f": {change.text}" if change.text else ""
    quote = f" “{change.quote}”" if change.quote else ""
    refused = f" (refused: {change.refused})" if change.refused else ""
    return " ".join(f"{change.action}{which}{text}{quote}{refused}".split())
