"""``talekeeper memories``: what happened to a memory, taking it back, the trash."""

from collections.abc import Iterator, Sequence
from typing import Annotated

import typer

from talekeeper.cli.asking import agreed
from talekeeper.cli.memories import BY, MemoryId, print_json, show_memories
from talekeeper.cli.opening import with_keeper
from talekeeper.cli.options import AsJson
from talekeeper.cli.output import Output
from talekeeper.cli.plain import counted, plain, safe
from talekeeper.cli.scopes import CharacterOption, GlobalOption, Scope, names_of, scope_of
from talekeeper.domain.errors import Conflict, InvalidInput, NotFound
from talekeeper.domain.memory import Memory, Revision, State
from talekeeper.keeper import Keeper
from talekeeper.parts.memories import ScopeView, history_json, memory_json
from talekeeper.record.undoing import History

__all__ = ["PROTECTED", "register", "undone"]

PROTECTED = "These are the moments you marked yourself and protected from the AI."
"""Said before the pinned memories of a scope are cleared."""

_OptionalId = Annotated[
    int | None, typer.Argument(metavar="ID", help="A memory's number; list prints them.")
]
_Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]


def register(app: typer.Typer) -> None:
    """Add the commands of this module."""
    app.command("history")(show_history)
    app.command("undo")(undo)
    app.command("clear")(clear)
    app.command("trash")(trash)
    app.command("restore")(restore)
    app.command("purge")(purge)


def show_history(context: typer.Context, memory: MemoryId, as_json: AsJson = False) -> None:
    """Show all that happened to a memory: who changed it, when, from what to what, and why."""

    async def work(keeper: Keeper) -> tuple[History, dict[str | None, str], dict[str, str]]:
        history = await keeper.memories.history(memory)
        titles: dict[str, str] = {}
        for chat in {revision.unit.chat for revision in history.revisions if revision.unit}:
            try:
                titles[chat] = (await keeper.chats.get(chat)).title
            except NotFound:
                continue  # It is deleted; its memories stay.
        return history, await names_of(keeper), titles

    history, names, titles = with_keeper(context, work)
    if as_json:
        print_json(history_json(history))
        return
    console = Output()
    there = "" if history.present else " (not there now)"
    console.print(f"[bold]Memory {memory}[/]{there}", highlight=False)
    for revision in history.revisions:
        for line in _told(revision, names, titles):
            console.print(line, highlight=False)


def _told(
    revision: Revision, names: dict[str | None, str], titles: dict[str, str]
) -> Iterator[str]:
    """One change, in lines of rich's markup."""
    when = revision.made_at.astimezone().isoformat(" ", "minutes")
    idle = "" if revision.active else " · does not count now: its reply is not shown"
    who = BY[revision.author]
    yield f"{revision.position}. [bold]{revision.action}[/] by {who} · {when}{idle}"
    before, after = revision.before, revision.after
    if before is not None and before != after:
        yield f"   before: {_said(before, names)}"
    if after is not None:
        yield f"   after:  {_said(after, names)}"
    if revision.unit is not None:
        chat, number, swipe = revision.unit
        title = safe(titles.get(chat, "a deleted chat"))
        yield f"   from:   message {number}, swipe {swipe + 1}, of {title}"
    if revision.run is not None:
        yield f"   run:    {revision.run}"
    if revision.quote:
        yield f"   quote:  “{safe(revision.quote)}”"
    if revision.reason:
        yield f"   reason: {safe(revision.reason)}"


def _said(state: State, names: dict[str | None, str]) -> str:
    scope = safe(names.get(state.character, "a deleted character"))
    return f"{safe(state.text)} ({scope}{', pinned' if state.pinned else ''})"


def undo(
    context: typer.Context,
    memory: _OptionalId = None,
    change: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", help="Which change of it; history prints them."),
    ] = None,
    chat: Annotated[str | None, typer.Option(metavar="CHAT", help="The chat of --message.")] = None,
    message: Annotated[
        int | None, typer.Option(metavar="NUMBER", help="All that the replies of its turn changed.")
    ] = None,
    run: Annotated[
        str | None, typer.Option(metavar="RUN", help="All that one deeper pass changed.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Take back a change of a memory (the last one), of a turn, or of a deeper pass."""
    _check_one_way(memory, change, chat, message, run)

    async def work(keeper: Keeper) -> Sequence[Memory]:
        if memory is not None:
            return [await keeper.memories.undo(memory, change)]
        if run is not None:
            return await keeper.memories.undo_run(run)
        found = await keeper.chats.find(chat or "")
        return await keeper.memories.undo_turn(found.id, message or 0)

    changed = with_keeper(context, work)
    if not changed:
        raise Conflict("There is no change of a memory left in it that could be taken back.")
    if as_json:
        print_json([memory_json(one) for one in changed])
        return
    for one in changed:
        typer.echo(undone(one))


def _check_one_way(
    memory: int | None,
    change: int | None,
    chat: str | None,
    message: int | None,
    run: str | None,
) -> None:
    """InvalidInput unless the options name one thing to take back."""
    if (chat is None) != (message is None):
        raise InvalidInput("A turn is named by both --chat and --message.")
    if sum(way is not None for way in (memory, chat, run)) != 1:
        raise InvalidInput("Say what to take back: a memory's ID, --chat with --message, or --run.")
    if change is not None and memory is None:
        raise InvalidInput("--change belongs to a memory's ID.")


def undone(memory: Memory) -> str:
    """What a memory is after something was taken back, as a sentence."""
    if memory.deleted_at is not None:
        return f"Memory {memory.id} is in the trash: {plain(memory.text)}"
    return f"Memory {memory.id} says again: {plain(memory.text)}"


def clear(
    context: typer.Context,
    everywhere: GlobalOption = False,
    character: CharacterOption = None,
    yes: Annotated[
        bool, typer.Option("--yes", "-y", help="Clear the unpinned ones without asking.")
    ] = False,
    pinned: Annotated[
        bool, typer.Option("--pinned", help="Clear the pinned ones too, without asking.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Put the memories of a scope into the trash: the unpinned, then, asked apart, the pinned."""

    async def look(keeper: Keeper) -> tuple[Scope, ScopeView]:
        scope = await scope_of(keeper, everywhere, character)
        return scope, await keeper.memories.list(scope.character)

    scope, view = with_keeper(context, look)
    if view.unpinned and not yes:
        what = counted(view.unpinned, "memory", "memories")
        if not agreed(f"Put {what} of {safe(scope.name)} into the trash for 30 days?"):
            raise InvalidInput("Nothing was cleared. Answer yes, or add --yes.")
    unpinned = with_keeper(context, lambda keeper: keeper.memories.clear(scope.character))
    too = bool(view.pinned) and (pinned or _gives_up_pinned(view.pinned))
    marked = 0
    if too:
        marked = with_keeper(
            context, lambda keeper: keeper.memories.clear(scope.character, pinned=True)
        )
    kept = view.pinned - marked
    if as_json:
        print_json({"unpinned": unpinned, "pinned": marked, "pinned_kept": kept})
        return
    told = counted(unpinned + marked, "memory", "memories")
    typer.echo(f"{told} of {plain(scope.name)} went into the trash; {kept} pinned stay.")


def _gives_up_pinned(count: int) -> bool:
    what = "the pinned one" if count == 1 else f"the {count} pinned ones"
    return agreed(f"{PROTECTED} Put {what} into the trash too?")


def trash(context: typer.Context, as_json: AsJson = False) -> None:
    """List what was deleted in the last 30 days; the dates are those of the deletion."""

    async def work(keeper: Keeper) -> tuple[Sequence[Memory], dict[str | None, str]]:
        return await keeper.memories.trash(), await names_of(keeper)

    found, names = with_keeper(context, work)
    if as_json:
        print_json([memory_json(memory) for memory in found])
    elif found:
        show_memories(Output(), found, names)
    else:
        typer.echo("The trash is empty.")


def restore(context: typer.Context, memory: MemoryId, as_json: AsJson = False) -> None:
    """Take a memory out of the trash."""
    restored = with_keeper(context, lambda keeper: keeper.memories.restore(memory))
    if as_json:
        print_json(memory_json(restored))
    else:
        typer.echo(f"Memory {memory} is back: {plain(restored.text)}")


def purge(
    context: typer.Context,
    memory: _OptionalId = None,
    every: Annotated[
        bool, typer.Option("--all", help="All that is in the trash instead of one memory.")
    ] = False,
    yes: _Yes = False,
    as_json: AsJson = False,
) -> None:
    """Delete a memory for good, with its history, or all that is in the trash. Asks first."""
    if (memory is None) == (not every):
        raise InvalidInput("Name a memory by its ID, or say --all for the whole trash.")
    count = 1 if memory is not None else len(with_keeper(context, lambda k: k.memories.trash()))
    if count and not yes:
        what = f"memory {memory}" if memory is not None else counted(count, "memory", "memories")
        if not agreed(f"Delete {what} for good? This cannot be undone."):
            raise InvalidInput("Nothing was deleted. Answer yes, or add --yes.")

    async def work(keeper: Keeper) -> int:
        if memory is None:
            return await keeper.memories.empty_trash()
        await keeper.memories.purge(memory)
        return 1

    gone = with_keeper(context, work)
    if as_json:
        print_json({"deleted": gone})
    else:
        typer.echo(f"{counted(gone, 'memory', 'memories')} deleted for good.")
