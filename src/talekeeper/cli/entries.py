"""``talekeeper entries``: memory entries, sent when a keyword is mentioned."""

import typer

from talekeeper.cli.entry_options import (
    ConstantOption,
    EnabledOption,
    EntryId,
    EntryText,
    KeyOption,
    MatchOption,
    SetOption,
    TitleOption,
    entry_fields,
    entry_json,
    said,
    show_entries,
)
from talekeeper.cli.memories import print_json
from talekeeper.cli.opening import Group, with_keeper
from talekeeper.cli.options import AsJson
from talekeeper.cli.output import Output
from talekeeper.cli.plain import counted, plain, safe
from talekeeper.cli.scopes import CharacterOption, GlobalOption, names_of, scope_if_any, scope_of
from talekeeper.domain.lore import Entry
from talekeeper.keeper import Keeper

__all__ = ["entries_app"]

entries_app = typer.Typer(
    cls=Group,
    rich_markup_mode=None,
    help="List and change memory entries: texts that are sent when a keyword is mentioned.",
)


@entries_app.command("list")
def list_entries(
    context: typer.Context,
    everywhere: GlobalOption = False,
    character: CharacterOption = None,
    as_json: AsJson = False,
) -> None:
    """List the memory entries of a scope, or of all scopes."""

    async def work(keeper: Keeper) -> list[tuple[str | None, str, list[Entry]]]:
        one = await scope_if_any(keeper, everywhere, character)
        names = await names_of(keeper)
        scopes = [one.character] if one is not None else list(names)
        found = [(scope, names[scope], list(await keeper.entries.list(scope))) for scope in scopes]
        return found if one is not None else [scope for scope in found if scope[2]]

    found = with_keeper(context, work)
    if as_json:
        print_json(
            [
                {"character": scope, "entries": [entry_json(entry) for entry in entries]}
                for scope, _, entries in found
            ]
        )
        return
    console = Output()
    if not any(entries for _, _, entries in found):
        console.print("No memory entries. 'talekeeper entries add' adds one.", highlight=False)
    for at, (_, name, entries) in enumerate(found):
        if entries:
            gap = "\n" if at else ""
            count = counted(len(entries), "entry", "entries")
            console.print(f"{gap}[bold]{safe(name)}[/] · {count}", highlight=False)
            show_entries(console, entries)


@entries_app.command("add")
def add_entry(
    context: typer.Context,
    text: EntryText,
    key: KeyOption = None,
    everywhere: GlobalOption = False,
    character: CharacterOption = None,
    title: TitleOption = None,
    match: MatchOption = None,
    constant: ConstantOption = None,
    enabled: EnabledOption = None,
    more: SetOption = None,
    as_json: AsJson = False,
) -> None:
    """Add a memory entry: TEXT is sent whenever one of its keywords is mentioned."""
    fields = entry_fields(None, title, match, constant, enabled, more)
    text = said(text)

    async def work(keeper: Keeper) -> tuple[str, Entry]:
        scope = await scope_of(keeper, everywhere, character)
        added = await keeper.entries.add(text, *(key or ()), character=scope.character, **fields)
        return scope.name, added

    name, entry = with_keeper(context, work)
    _tell(entry, f"Added as entry {entry.id} of {plain(name)}.", as_json=as_json)


@entries_app.command("edit")
def edit_entry(
    context: typer.Context,
    entry: EntryId,
    everywhere: GlobalOption = False,
    character: CharacterOption = None,
    text: str | None = typer.Option(None, metavar="TEXT", help="What is sent; - reads a pipe."),
    key: KeyOption = None,
    title: TitleOption = None,
    match: MatchOption = None,
    constant: ConstantOption = None,
    enabled: EnabledOption = None,
    more: SetOption = None,
    as_json: AsJson = False,
) -> None:
    """Change a memory entry. Keywords that are given take the place of those there were."""
    fields = entry_fields(key, title, match, constant, enabled, more)
    if text is not None:
        fields["content"] = said(text)

    async def work(keeper: Keeper) -> Entry:
        scope = await scope_of(keeper, everywhere, character)
        return await keeper.entries.update(entry, character=scope.character, **fields)

    changed = with_keeper(context, work)
    _tell(changed, f"Entry {entry} is changed.", as_json=as_json)


@entries_app.command("delete")
def delete_entry(
    context: typer.Context,
    entry: EntryId,
    everywhere: GlobalOption = False,
    character: CharacterOption = None,
    as_json: AsJson = False,
) -> None:
    """Delete a memory entry."""

    async def work(keeper: Keeper) -> Entry:
        scope = await scope_of(keeper, everywhere, character)
        return await keeper.entries.delete(entry, character=scope.character)

    gone = with_keeper(context, work)
    _tell(gone, f"Entry {entry} is deleted. It said: {plain(gone.content)}", as_json=as_json)


def _tell(entry: Entry, sentence: str, *, as_json: bool) -> None:
    if as_json:
        print_json(entry_json(entry))
    else:
        typer.echo(sentence)
