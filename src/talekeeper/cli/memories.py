"""``talekeeper memories``: listing what is saved, and changing it by hand."""

import json
import sys
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Annotated, Any

import typer
from rich.table import Table
from rich.text import Text

from talekeeper.cli.opening import Group, with_keeper
from talekeeper.cli.options import AsJson
from talekeeper.cli.output import Output
from talekeeper.cli.plain import plain, safe
from talekeeper.cli.scopes import (
    CharacterOption,
    GlobalOption,
    filled,
    names_of,
    scope_if_any,
    scope_of,
)
from talekeeper.domain.memory import Author, Memory
from talekeeper.keeper import Keeper
from talekeeper.parts.memories import ScopeView, memory_json
from talekeeper.record.memories import Added

__all__ = ["BY", "MemoryId", "day", "memories_app", "print_json", "register", "show_memories"]

memories_app = typer.Typer(
    cls=Group, rich_markup_mode=None, help="List, change, undo, export and import saved memories."
)

MemoryId = Annotated[int, typer.Argument(metavar="ID", help="A memory's number; list prints them.")]
TextArgument = Annotated[
    str, typer.Argument(metavar="TEXT", help="What it says; - reads it from a pipe.")
]

BY: Mapping[Author, str] = {
    "person": "you",
    "character": "the character",
    "deeper": "deeper memory",
}
"""Who changed a memory, in words."""


def register(app: typer.Typer) -> None:
    """Add the commands of this module."""
    app.command("list")(list_memories)
    app.command("add")(add_memory)
    app.command("edit")(edit_memory)
    app.command("delete")(delete_memory)
    app.command("pin")(pin_memory)
    app.command("unpin")(unpin_memory)
    app.command("move")(move_memory)


def print_json(value: Any) -> None:
    """Print a value as JSON."""
    typer.echo(json.dumps(value, ensure_ascii=False, indent=2))


def list_memories(
    context: typer.Context,
    everywhere: GlobalOption = False,
    character: CharacterOption = None,
    as_json: AsJson = False,
) -> None:
    """List the memories of a scope, or of all scopes, and how full each is."""

    async def work(keeper: Keeper) -> list[ScopeView]:
        one = await scope_if_any(keeper, everywhere, character)
        if one is not None:
            return [await keeper.memories.list(one.character)]
        there = await keeper.memories.scopes()
        scopes = [scope for scope in await names_of(keeper) if scope is None or scope in there]
        return [await keeper.memories.list(scope) for scope in scopes]

    views = with_keeper(context, work)
    if as_json:
        print_json([view.as_json() for view in views])
        return
    console = Output()
    for at, view in enumerate(views):
        gap = "\n" if at else ""
        counts = filled(view.unpinned, view.pinned)
        console.print(f"{gap}[bold]{safe(view.name)}[/] · {counts}", highlight=False)
        if view.memories:
            show_memories(console, view.memories)


def show_memories(
    console: Output, memories: Sequence[Memory], names: Mapping[str | None, str] | None = None
) -> None:
    """A table, a memory a row; with ``names`` it tells their scopes too."""
    table = Table(box=None, header_style="bold", pad_edge=False)
    table.add_column("id", justify="right", no_wrap=True)
    if names is not None:
        table.add_column("scope", no_wrap=True)
    table.add_column("", no_wrap=True)
    table.add_column("since", no_wrap=True)
    table.add_column("by", no_wrap=True)
    table.add_column("memory", overflow="fold")
    for memory in memories:
        table.add_row(
            str(memory.id),
            *([] if names is None else [safe(names.get(memory.character, "?"))]),
            "pinned" if memory.pinned else "",
            day(memory.deleted_at or memory.updated_at),
            BY[memory.author],
            Text(plain(memory.text)),
        )
    console.table(table)


def day(moment: datetime) -> str:
    """The day of a moment, where the user is."""
    return moment.astimezone().date().isoformat()


def add_memory(
    context: typer.Context,
    text: TextArgument,
    everywhere: GlobalOption = False,
    character: CharacterOption = None,
    pinned: Annotated[
        bool, typer.Option("--pinned", help="Send it in every prompt; no AI changes it.")
    ] = False,
    anyway: Annotated[
        bool, typer.Option("--anyway", help="Add it although similar memories are there.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Save a memory. Where a similar one is there, nothing is added and it is shown."""
    said = sys.stdin.read() if text == "-" else text

    async def work(keeper: Keeper) -> tuple[str, Added, str | None]:
        scope = await scope_of(keeper, everywhere, character)
        added = await keeper.memories.add(
            said, character=scope.character, pinned=pinned, even_if_similar=anyway
        )
        warns = pinned and added.memory is not None
        warning = await keeper.memories.pinned_warning(scope.character) if warns else None
        return scope.name, added, warning

    name, added, warning = with_keeper(context, work)
    done = added.memory is not None and added.memory.pinned >= pinned
    if as_json:
        print_json(_added_json(added, warning))
    elif added.memory is None:
        _show_similar(Output(), added.similar)
    elif not done:
        known = added.memory.id
        typer.echo(
            f"Memory {known} says so, not pinned: 'talekeeper memories pin {known}' pins it."
        )
    elif added.repeats:
        typer.echo(f"Memory {added.memory.id} says so already; nothing was added.")
    else:
        what = "pinned memory" if pinned else "memory"
        typer.echo(f"Saved as {what} {added.memory.id} of {plain(name)}.")
        _warn(warning)
    if not done:
        raise typer.Exit(1)


def _added_json(added: Added, warning: str | None) -> dict[str, Any]:
    return {
        "added": added.memory is not None and not added.repeats,
        "memory": memory_json(added.memory) if added.memory else None,
        "similar": [memory_json(memory) for memory in added.similar],
        "warning": warning,
    }


def _show_similar(console: Output, similar: Sequence[Memory]) -> None:
    console.print("Nothing was added: something similar is saved already.", highlight=False)
    show_memories(console, similar)
    console.print(
        f"Change it with 'talekeeper memories edit {similar[0].id} TEXT', or add yours with "
        "--anyway.",
        highlight=False,
    )


def _warn(warning: str | None) -> None:
    if warning is not None:
        typer.echo(f"! {warning}")


def edit_memory(
    context: typer.Context, memory: MemoryId, text: TextArgument, as_json: AsJson = False
) -> None:
    """Let a memory say something else."""
    said = sys.stdin.read() if text == "-" else text
    changed = with_keeper(context, lambda keeper: keeper.memories.edit(memory, said))
    _tell(changed, f"Memory {memory} says now: {plain(changed.text)}", as_json=as_json)


def delete_memory(context: typer.Context, memory: MemoryId, as_json: AsJson = False) -> None:
    """Put a memory into the trash, where it stays for 30 days."""
    deleted = with_keeper(context, lambda keeper: keeper.memories.delete(memory))
    said = f"Memory {memory} is in the trash. 'talekeeper memories restore {memory}' takes it out."
    _tell(deleted, said, as_json=as_json)


def pin_memory(context: typer.Context, memory: MemoryId, as_json: AsJson = False) -> None:
    """Send a memory in every prompt, and let no AI change it."""

    async def work(keeper: Keeper) -> tuple[Memory, str | None]:
        pinned = await keeper.memories.pin(memory)
        return pinned, await keeper.memories.pinned_warning(pinned.character)

    pinned, warning = with_keeper(context, work)
    if as_json:
        print_json({"memory": memory_json(pinned), "warning": warning})
    else:
        typer.echo(f"Memory {memory} is pinned: {plain(pinned.text)}")
        _warn(warning)


def unpin_memory(context: typer.Context, memory: MemoryId, as_json: AsJson = False) -> None:
    """Take a pin away."""
    unpinned = with_keeper(context, lambda keeper: keeper.memories.unpin(memory))
    _tell(unpinned, f"Memory {memory} is not pinned: {plain(unpinned.text)}", as_json=as_json)


def move_memory(
    context: typer.Context,
    memory: MemoryId,
    everywhere: GlobalOption = False,
    character: CharacterOption = None,
    as_json: AsJson = False,
) -> None:
    """File a memory under a character, or as global."""

    async def work(keeper: Keeper) -> tuple[str, Memory]:
        scope = await scope_of(keeper, everywhere, character)
        return scope.name, await keeper.memories.move(memory, scope.character)

    name, moved = with_keeper(context, work)
    _tell(moved, f"Memory {memory} is {_owned(name, moved)} now.", as_json=as_json)


def _owned(name: str, memory: Memory) -> str:
    return "global" if memory.character is None else f"{plain(name)}'s"


def _tell(memory: Memory, sentence: str, *, as_json: bool) -> None:
    if as_json:
        print_json(memory_json(memory))
    else:
        typer.echo(sentence)
