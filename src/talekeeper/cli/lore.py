"""``talekeeper lore``: lorebooks and what they are used for."""

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any, BinaryIO, get_args

import typer
from rich.table import Table

from talekeeper.cli.entry_options import entry_json, show_entries
from talekeeper.cli.exporting import written_to
from talekeeper.cli.memories import print_json
from talekeeper.cli.opening import Group, with_keeper
from talekeeper.cli.options import AsJson, given
from talekeeper.cli.output import Output
from talekeeper.cli.plain import counted, plain, safe
from talekeeper.domain.errors import InvalidInput
from talekeeper.domain.lore import Lorebook, Use
from talekeeper.formats.imported_lore import LoreFormat
from talekeeper.formats.lorebook_write import Written
from talekeeper.keeper import Keeper
from talekeeper.parts.lore import BookView

__all__ = ["BookName", "book_json", "lore_app"]

lore_app = typer.Typer(
    cls=Group, rich_markup_mode=None, help="List, change, check and export lorebooks."
)

BookName = Annotated[str, typer.Argument(metavar="BOOK", help="A lorebook's name or id.")]
_FORMATS: tuple[LoreFormat, ...] = get_args(LoreFormat)
_Global = Annotated[bool, typer.Option("--global", help="For all chats.")]
_Character = Annotated[
    list[str] | None, typer.Option("--character", metavar="NAME-OR-ID", help="For a character.")
]
_Persona = Annotated[
    list[str] | None, typer.Option("--persona", metavar="NAME-OR-ID", help="For a persona.")
]
_Chat = Annotated[list[str] | None, typer.Option("--chat", metavar="CHAT", help="For one chat.")]
_Depth = Annotated[
    int | None, typer.Option("--scan-depth", metavar="N", help="Newest messages that are searched.")
]
_Budget = Annotated[
    int | None, typer.Option("--token-budget", metavar="N", help="Tokens it may take; 0: no bound.")
]
_Recursive = Annotated[
    bool | None,
    typer.Option("--recursive/--no-recursive", help="Whether what fires can fire more."),
]
_Names = Annotated[
    bool | None,
    typer.Option("--names/--no-names", help="Whether the speakers' names are searched too."),
]
_Description = Annotated[str | None, typer.Option(metavar="TEXT", help="What it is about.")]


async def _uses(
    keeper: Keeper,
    everywhere: bool,
    characters: list[str] | None,
    personas: list[str] | None,
    chats: list[str] | None,
) -> list[Use]:
    """What the options name."""
    uses = [Use(kind="global")] if everywhere else []
    found = [await keeper.characters.get(name) for name in characters or ()]
    uses += [Use(kind="character", target=one.id) for one in found]
    uses += [Use(kind="persona", target=await _persona(keeper, name)) for name in personas or ()]
    talks = [await keeper.chats.find(name) for name in chats or ()]
    return [*uses, *(Use(kind="chat", target=one.id) for one in talks)]


async def _persona(keeper: Keeper, wanted: str) -> str:
    named = [one.id for one in await keeper.personas.list() if wanted in (one.id, one.name)]
    if not named:
        raise InvalidInput(f"There is no persona {wanted!r}.")
    return named[0]


@lore_app.command("list")
def list_books(context: typer.Context, as_json: AsJson = False) -> None:
    """List the lorebooks, and what they are used for."""

    async def work(keeper: Keeper) -> tuple[list[Lorebook], Mapping[str, str]]:
        return list(await keeper.lore.list()), await _targets(keeper)

    books, names = with_keeper(context, work)
    if as_json:
        print_json([book_json(book) for book in books])
        return
    console = Output()
    if not books:
        console.print(
            "No lorebooks. 'talekeeper import FILE' brings one in, 'talekeeper lore add' begins "
            "one.",
            highlight=False,
        )
        return
    table = Table(box=None, header_style="bold", pad_edge=False)
    table.add_column("lorebook", overflow="fold")
    table.add_column("entries", justify="right", no_wrap=True)
    table.add_column("used for", overflow="fold")
    for book in books:
        table.add_row(safe(book.name), f"{book.entries:,}", safe(_used(book, names)))
    console.table(table)


async def _targets(keeper: Keeper) -> dict[str, str]:
    """What characters, personas and chats are called, by id."""
    names = {one.id: one.name for one in await keeper.characters.list()}
    names |= {one.id: f"you as {one.name}" for one in await keeper.personas.list()}
    return names | {one.id: f"the chat {one.title}" for one in await keeper.chats.list()}


def _used(book: Lorebook, names: Mapping[str, str]) -> str:
    if not book.uses:
        return "nothing yet"
    return ", ".join(
        "all chats" if use.target is None else names.get(use.target, "?") for use in book.uses
    )


@lore_app.command("show")
def show_book(context: typer.Context, book: BookName, as_json: AsJson = False) -> None:
    """Show a lorebook with its entries."""

    async def work(keeper: Keeper) -> tuple[BookView, Mapping[str, str]]:
        return await keeper.lore.get(book), await _targets(keeper)

    view, names = with_keeper(context, work)
    if as_json:
        entries = [entry_json(entry) for entry in view.entries]
        print_json({**book_json(view.book), "entries": entries})
        return
    console = Output()
    found = view.book
    count = counted(found.entries, "entry", "entries")
    console.print(f"[bold]{safe(found.name)}[/] · {count} · {found.id}", highlight=False)
    if found.description:
        console.print(safe(found.description), highlight=False)
    console.print(
        f"For {safe(_used(found, names))}. Searches {counted(found.scan_depth, 'message')}"
        f"{', with names' if found.names else ''}{', recursive' if found.recursive else ''}"
        f"{f'; at most {found.token_budget:,} tokens' if found.token_budget else ''}.",
        highlight=False,
    )
    if view.entries:
        show_entries(console, view.entries)


def book_json(book: Lorebook) -> dict[str, Any]:
    """A lorebook in its documented JSON shape, without its entries."""
    made = book.created_at
    return {
        **{name: value for name, value in asdict(book).items() if name != "created_at"},
        "uses": [{"kind": use.kind, "target": use.target} for use in book.uses],
        "created_at": made.isoformat() if made else None,
    }


@lore_app.command("add")
def add_book(
    context: typer.Context,
    name: Annotated[str, typer.Argument(metavar="NAME", help="What it is called.")],
    everywhere: _Global = False,
    character: _Character = None,
    persona: _Persona = None,
    chat: _Chat = None,
    description: _Description = None,
    scan_depth: _Depth = None,
    token_budget: _Budget = None,
    recursive: _Recursive = None,
    names: _Names = None,
    as_json: AsJson = False,
) -> None:
    """Begin a lorebook. Say what it is for: --global, --character, --persona or --chat."""
    fields = _fields(description, scan_depth, token_budget, recursive, names)

    async def work(keeper: Keeper) -> Lorebook:
        uses = await _uses(keeper, everywhere, character, persona, chat)
        return await keeper.lore.add(name, uses=uses, **fields)

    book = with_keeper(context, work)
    hint = "" if book.uses else " It is used for nothing yet: 'talekeeper lore use' says what for."
    _tell(book, f"The lorebook {plain(book.name)} is there.{hint}", as_json=as_json)


def _fields(
    description: str | None,
    scan_depth: int | None,
    token_budget: int | None,
    recursive: bool | None,
    names: bool | None,
) -> dict[str, Any]:
    fields = dict(
        given(
            description=description,
            scan_depth=scan_depth,
            token_budget=token_budget,
            recursive=recursive,
            names=names,
        )
    )
    if token_budget == 0:
        fields["token_budget"] = None
    return fields


@lore_app.command("edit")
def edit_book(
    context: typer.Context,
    book: BookName,
    name: Annotated[str | None, typer.Option(metavar="NAME", help="A new name.")] = None,
    description: _Description = None,
    scan_depth: _Depth = None,
    token_budget: _Budget = None,
    recursive: _Recursive = None,
    names: _Names = None,
    as_json: AsJson = False,
) -> None:
    """Change a lorebook's name, or how it is searched."""
    fields = {
        **_fields(description, scan_depth, token_budget, recursive, names),
        **given(name=name),
    }
    changed = with_keeper(context, lambda keeper: keeper.lore.update(book, **fields))
    _tell(changed, f"The lorebook {plain(changed.name)} is changed.", as_json=as_json)


@lore_app.command("delete")
def delete_book(
    context: typer.Context,
    book: BookName,
    sure: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    as_json: AsJson = False,
) -> None:
    """Delete a lorebook with all its entries."""
    found = with_keeper(context, lambda keeper: keeper.lore.get(book)).book
    count = counted(found.entries, "entry", "entries")
    if not sure and not typer.confirm(f"Delete {plain(found.name)} with {count}?", err=True):
        raise typer.Exit(1)
    gone = with_keeper(context, lambda keeper: keeper.lore.delete(found.id))
    _tell(gone, f"The lorebook {plain(gone.name)} is deleted, with {count}.", as_json=as_json)


@lore_app.command("use")
def use_book(
    context: typer.Context,
    book: BookName,
    everywhere: _Global = False,
    character: _Character = None,
    persona: _Persona = None,
    chat: _Chat = None,
    no_longer: Annotated[bool, typer.Option("--no-longer", help="Stop using it for that.")] = False,
    as_json: AsJson = False,
) -> None:
    """Use a lorebook for all chats, a character, a persona or one chat."""

    async def work(keeper: Keeper) -> tuple[Lorebook, Mapping[str, str]]:
        uses = await _uses(keeper, everywhere, character, persona, chat)
        if not uses:
            raise InvalidInput("Say what for: --global, --character, --persona or --chat.")
        change = keeper.lore.unuse if no_longer else keeper.lore.use
        for use in uses:
            changed = await change(book, use.kind, use.target)
        return changed, await _targets(keeper)

    changed, names = with_keeper(context, work)
    sentence = f"{plain(changed.name)} is used for {plain(_used(changed, names))}."
    _tell(changed, sentence, as_json=as_json)


@lore_app.command("export")
def export_book(
    context: typer.Context,
    book: BookName,
    form: Annotated[
        str | None,
        typer.Option(
            "--format", metavar="FORMAT", help=f"One of {', '.join(_FORMATS)}; as it came."
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", metavar="FILE", help="Default: standard output."),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace FILE if it exists.")] = False,
    as_json: AsJson = False,
) -> None:
    """Write a lorebook as a file of a front-end: byte for byte as it came if nothing changed."""
    if as_json and output is None:
        raise InvalidInput("Name a file with --output: --json tells about it on standard output.")
    chosen = _format(form)

    async def work(keeper: Keeper) -> tuple[int, Written]:
        written = await keeper.lore.export(book, chosen)

        async def write(out: BinaryIO) -> int:
            return out.write(written.data)

        return await written_to(output, write, force=force), written

    size, written = with_keeper(context, work)
    if as_json:
        notices = [notice.text for notice in written.notices]
        print_json({"file": str(output), "bytes": size, "notices": notices})
        return
    if output is not None:
        typer.echo(f"Wrote {output} ({size:,} bytes).")
    for notice in written.notices:
        typer.echo(f"! {notice.text}", err=True)


def _format(name: str | None) -> LoreFormat | None:
    if name is None:
        return None
    for known in _FORMATS:
        if known == name:
            return known
    raise InvalidInput(f"There is no format {name!r}; there are {', '.join(_FORMATS)}.")


def _tell(book: Lorebook, sentence: str, *, as_json: bool) -> None:
    if as_json:
        print_json(book_json(book))
    else:
        typer.echo(sentence)
