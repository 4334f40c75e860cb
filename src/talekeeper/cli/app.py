"""The commands and their options; what they print is in the modules beside this one."""

import json
import sys
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import anyio
import typer
from rich.console import Console

from talekeeper import __version__
from talekeeper.cli import (
    chatting,
    doctoring,
    importing,
    imports,
    listing,
    memories,
    memory_drafts,
    memory_files,
    memory_past,
    plans,
    previewing,
    receipts,
    settings,
)
from talekeeper.cli.entries import entries_app
from talekeeper.cli.exporting import export_to
from talekeeper.cli.gathering import gather, pipes
from talekeeper.cli.lore import lore_app
from talekeeper.cli.lore_entries import entry_app
from talekeeper.cli.memories import memories_app
from talekeeper.cli.opening import Absent, Group, with_keeper
from talekeeper.cli.options import (
    AsJson,
    ChatName,
    ContextLimitOption,
    InputOption,
    LiveCapOption,
    ModeOption,
    ReplacingOption,
    ReserveOption,
    SpeakerOption,
    StrategyOption,
    TokenizerOption,
    ToolsOption,
    given,
    mode_named,
)
from talekeeper.cli.output import Output
from talekeeper.cli.plain import counted, plain
from talekeeper.cli.settling import register
from talekeeper.cli.summaries import summary_app
from talekeeper.cli.talking import chat
from talekeeper.config import Config, configured
from talekeeper.domain.errors import InvalidInput
from talekeeper.keeper import Keeper

__all__ = ["app"]

app = typer.Typer(
    cls=Group,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Long-term memory for character chat.",
)


register(app)
app.command()(chat)
app.add_typer(summary_app, name="summary")
memories.register(memories_app)
memory_past.register(memories_app)
memory_drafts.register(memories_app)
memory_files.register(memories_app)
app.add_typer(memories_app, name="memories")
app.add_typer(entries_app, name="entries")
lore_app.add_typer(entry_app, name="entry")
app.add_typer(lore_app, name="lore")
plans.register(app)
receipts.register(app)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"talekeeper {__version__}")
        raise typer.Exit


@app.callback()
def options(
    context: typer.Context,
    db: Annotated[
        str | None,
        typer.Option(
            metavar="PATH-OR-URL",
            help="Database file, sqlite:///… or postgresql://… (also TALEKEEPER_DB).",
        ),
    ] = None,
    account: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Account to work for (also TALEKEEPER_ACCOUNT)."),
    ] = None,
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Version.")
    ] = False,
) -> None:
    """Long-term memory for character chat."""
    context.obj = configured(**given(db=db, account=account))


def _print_json(value: Any) -> None:
    typer.echo(json.dumps(value, ensure_ascii=False, indent=2))


@app.command("import")
def import_(
    context: typer.Context,
    files: Annotated[
        list[Path],
        typer.Argument(
            metavar="FILE...",
            readable=False,
            help="Cards (PNG, JSON), chats (JSONL), folders; - is standard input.",
        ),
    ],
    name: Annotated[
        str | None, typer.Option(metavar="NAME", help="What standard input or a pipe is called.")
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Tell what would come in; write nothing.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Import character cards and SillyTavern chats."""
    console = Output(quiet=as_json)
    gathered = gather(files)
    with pipes(gathered.files, name) as streams:
        run = importing.Run(
            gathered,
            streams=streams,
            dry_run=dry_run,
            tell=partial(imports.show, console, dry_run=dry_run, details=gathered.one),
        )
        # One console for both on a terminal, so that the bar and the lines do not mix.
        bar = console if console.is_terminal and not as_json else Console(stderr=True)
        try:
            if_absent: Absent = "pretend" if dry_run else "make"
            with_keeper(context, lambda keeper: run.go(keeper, bar), if_absent=if_absent)
        except KeyboardInterrupt:
            run.stopped = True
    try:
        if as_json:
            _print_json([outcome.as_json() for outcome in run.outcomes])
        elif not run.stopped and not run.unheard:
            imports.show_end(console, run.outcomes, dry_run=dry_run)
    except OSError as error:
        run.unheard = error
    if run.stopped:
        raise run.stopped_at()
    sys.stderr.write("".join(f"Error: {failure.error}\n" for failure in run.failures))
    if run.failures:
        raise typer.Exit(1)
    if run.unheard:
        raise run.unheard


@app.command()
def chats(context: typer.Context, as_json: AsJson = False) -> None:
    """List the chats, the one changed last first."""
    found, names = with_keeper(context, listing.chats)
    if as_json:
        _print_json([listing.chat_json(chat, names) for chat in found])
    else:
        listing.show_chats(Output(), found, names)


@app.command()
def characters(context: typer.Context, as_json: AsJson = False) -> None:
    """List the characters."""
    found = with_keeper(context, lambda keeper: keeper.characters.list())
    if as_json:
        _print_json([listing.character_json(character) for character in found])
    else:
        listing.show_characters(Output(), found)


@app.command()
def show(
    context: typer.Context,
    chat: ChatName,
    last: Annotated[
        int, typer.Option("-n", "--last", min=1, help="How many messages to show.")
    ] = 20,
    before: Annotated[
        int | None, typer.Option(metavar="NUMBER", help="Show messages before this one.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Show a chat and its last messages."""

    async def work(keeper: Keeper) -> listing.Shown:
        return await listing.shown(keeper, chat, last, before)

    result = with_keeper(context, work)
    if as_json:
        _print_json(result.as_json())
    else:
        listing.show_chat(Output(), result)


@app.command()
def preview(
    context: typer.Context,
    chat: ChatName,
    input_: InputOption = None,
    context_limit: ContextLimitOption = None,
    reserve: ReserveOption = None,
    strategy: StrategyOption = None,
    live_cap: LiveCapOption = None,
    tokenizer: TokenizerOption = None,
    tools: ToolsOption = None,
    speaker: SpeakerOption = None,
    replacing: ReplacingOption = None,
    mode: ModeOption = "reply",
    as_json: AsJson = False,
) -> None:
    """Show what the model would see now, and what stays out and why. Records nothing."""
    overrides = given(
        context_limit=context_limit,
        reserve=reserve,
        strategy=strategy,
        tokenizer=tokenizer,
        live_cap=live_cap,
        tools=tools,
    )
    chosen = mode_named(mode)

    async def work(keeper: Keeper) -> previewing.Preview:
        found = await keeper.chats.find(chat)
        composed = await keeper.compose(
            found.id,
            input_,
            speaker=speaker,
            replacing=replacing,
            mode=chosen,
            settings=overrides,
        )
        return previewing.Preview(chat=found, context=composed)

    result = with_keeper(context, work)
    if as_json:
        _print_json(result.context.as_json())
    else:
        previewing.show(Output(), result)


@app.command("settings")
def settings_(
    context: typer.Context,
    chat: Annotated[
        str | None, typer.Argument(metavar="CHAT", help="A chat; without one, the account.")
    ] = None,
    model: settings.ModelOption = None,
    context_limit: ContextLimitOption = None,
    reserve: ReserveOption = None,
    tokenizer: TokenizerOption = None,
    strategy: StrategyOption = None,
    live_cap: LiveCapOption = None,
    tools: ToolsOption = None,
    names: settings.NamesOption = None,
    main_prompt: settings.MainPromptOption = None,
    post_history: settings.PostHistoryOption = None,
    prefill: settings.PrefillOption = None,
    authors_note: settings.AuthorsNoteOption = None,
    authors_note_depth: settings.NoteDepthOption = None,
    authors_note_role: settings.NoteRoleOption = None,
    share: settings.ShareOption = None,
    image_tokens: settings.ImageTokensOption = None,
    unset: settings.UnsetOption = None,
    as_json: AsJson = False,
) -> None:
    """Show the settings in force and where each comes from; with options, change them."""
    options = given(
        model=model,
        context_limit=context_limit,
        reserve=reserve,
        tokenizer=tokenizer,
        strategy=strategy,
        live_cap=live_cap,
        tools=tools,
        names=names,
        main_prompt=main_prompt,
        post_history=post_history,
        prefill=prefill,
        image_tokens=image_tokens,
    )
    note = given(text=authors_note, depth=authors_note_depth, role=authors_note_role)
    changes = settings.changes_of(options, note, share or (), unset or ())
    found = with_keeper(context, lambda keeper: settings.in_force(keeper, chat, changes))
    if as_json:
        _print_json(found.as_json())
    else:
        settings.show(Output(), found)


@app.command()
def rename(
    context: typer.Context,
    chat: ChatName,
    title: Annotated[str, typer.Argument(metavar="TITLE", help="The new title.")],
    as_json: AsJson = False,
) -> None:
    """Give a chat another title."""
    result = with_keeper(context, lambda keeper: chatting.renamed(keeper, chat, title))
    if as_json:
        _print_json(result.as_json())
        return
    typer.echo(f"{plain(result.before)} is called {plain(result.chat.title)} now.")
    if result.others:
        typer.echo(f"So is {counted(len(result.others), 'other chat')}: name them by their ids.")


@app.command()
def delete(
    context: typer.Context,
    chat: ChatName,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    as_json: AsJson = False,
) -> None:
    """Delete a chat with all its messages. Asks first. Characters and personas stay."""
    found = with_keeper(context, lambda keeper: keeper.chats.find(chat))
    if not yes:
        chatting.confirm_deletion(found)
    found = with_keeper(context, lambda keeper: chatting.deleted(keeper, found.id))
    if as_json:
        _print_json(chatting.deleted_json(found))
    else:
        went = counted(found.messages, "message")
        typer.echo(f"Deleted {plain(found.title)} with its {went}.")


@app.command()
def export(
    context: typer.Context,
    name: Annotated[
        str, typer.Argument(metavar="CHAT", help="A chat; with --character a character.")
    ],
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", metavar="FILE", help="Default: standard output."),
    ] = None,
    character: Annotated[
        bool, typer.Option("--character", help="Export a character's card instead of a chat.")
    ] = False,
    force: Annotated[bool, typer.Option("--force", help="Replace FILE if it exists.")] = False,
    as_json: AsJson = False,
) -> None:
    """Write a chat as a SillyTavern file; untouched lines come back byte for byte."""

    if as_json and output is None:
        raise InvalidInput("Name a file with --output: --json tells about it on standard output.")

    async def work(keeper: Keeper) -> int:
        return await export_to(keeper, name, output, character=character, force=force)

    written = with_keeper(context, work)
    if output is None:
        return
    if as_json:
        _print_json({"file": str(output), "bytes": written})
    else:
        typer.echo(f"Wrote {output} ({written:,} bytes).")


@app.command()
def doctor(context: typer.Context, as_json: AsJson = False) -> None:
    """Check what Talekeeper needs, and say what to do where something is missing."""
    config: Config = context.obj
    checks = anyio.run(doctoring.examine, config)
    if as_json:
        _print_json([check.as_json() for check in checks])
    else:
        doctoring.show(Output(), checks)
    if not all(check.ok for check in checks):
        raise typer.Exit(1)


@app.command()
def demo(as_json: AsJson = False) -> None:
    """Import a long sample chat into a temporary database and show what the character sees."""
    from talekeeper.cli.demo import run_demo

    result = anyio.run(run_demo, Output(quiet=as_json))
    if as_json:
        _print_json(result)
