"""The commands and their options; what they print is in the modules beside this one."""

import json
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Annotated, Any, TypeVar

import anyio
import typer
from rich.console import Console

from talekeeper import __version__
from talekeeper.cli import doctoring, importing, listing, previewing
from talekeeper.cli.exporting import export_to
from talekeeper.compose.strategies import STRATEGIES
from talekeeper.config import Config
from talekeeper.domain.block import Mode
from talekeeper.domain.limits import PLANS, plan_named
from talekeeper.keeper import Keeper

__all__ = ["app"]

T = TypeVar("T")

app = typer.Typer(
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Long-term memory for character chat.",
)

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]
ChatName = Annotated[
    str, typer.Argument(metavar="CHAT", help="An id, a title, or the beginning of one.")
]

InputOption = Annotated[
    str | None,
    typer.Option("-i", "--input", metavar="TEXT", help="What you are about to say."),
]
ContextLimitOption = Annotated[
    int | None, typer.Option(min=1, metavar="N", help="Context limit in tokens.")
]
ReserveOption = Annotated[
    int | None, typer.Option(min=0, metavar="N", help="Tokens kept free for the reply.")
]
StrategyOption = Annotated[
    str | None, typer.Option(metavar="S", help=f"What gives way: {', '.join(STRATEGIES)}.")
]
LiveCapOption = Annotated[
    bool | None,
    typer.Option("--live-cap/--no-live-cap", help="Whether the live window is capped."),
]
TokenizerOption = Annotated[
    str | None,
    typer.Option(metavar="T", help="o200k_base, cl100k_base or approximate."),
]
SpeakerOption = Annotated[
    str | None, typer.Option(metavar="NAME-OR-ID", help="Who replies, in a group.")
]
ReplacingOption = Annotated[
    int | None, typer.Option(metavar="NUMBER", help="As if this reply were regenerated.")
]
ModeOption = Annotated[str, typer.Option(help="reply, continue or impersonate.")]


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
    given = {"db": db, "account": account}
    context.obj = Config(**{name: value for name, value in given.items() if value is not None})


def _with_keeper(context: typer.Context, work: Callable[[Keeper], Awaitable[T]]) -> T:
    config: Config = context.obj

    async def run() -> T:
        async with Keeper.open(config.db, account=config.account) as keeper:
            return await work(keeper)

    return anyio.run(run)


def _print_json(value: Any) -> None:
    typer.echo(json.dumps(value, ensure_ascii=False, indent=2))


@app.command("import")
def import_(
    context: typer.Context,
    files: Annotated[
        list[Path],
        typer.Argument(metavar="FILE...", readable=False, help="Cards (PNG, JSON), chats (JSONL)."),
    ],
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Tell what would come in; write nothing.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Import character cards and SillyTavern chats."""
    progress = importing.progress(Console(stderr=True))
    outcomes = _with_keeper(
        context, lambda keeper: importing.import_all(keeper, files, dry_run, progress)
    )
    if as_json:
        _print_json([outcome.as_json() for outcome in outcomes])
    else:
        importing.show(Console(), outcomes, dry_run=dry_run)
    if any(isinstance(outcome, importing.Failure) for outcome in outcomes):
        failed = [o for o in outcomes if isinstance(o, importing.Failure)]
        sys.stderr.write("".join(f"Error: {failure.error}\n" for failure in failed))
        raise typer.Exit(1)


@app.command()
def chats(context: typer.Context, as_json: AsJson = False) -> None:
    """List the chats, the one changed last first."""
    found, names = _with_keeper(context, listing.chats)
    if as_json:
        _print_json([listing.chat_json(chat, names) for chat in found])
    else:
        listing.show_chats(Console(), found, names)


@app.command()
def characters(context: typer.Context, as_json: AsJson = False) -> None:
    """List the characters."""
    found = _with_keeper(context, lambda keeper: keeper.characters.list())
    if as_json:
        _print_json([listing.character_json(character) for character in found])
    else:
        listing.show_characters(Console(), found)


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

    result = _with_keeper(context, work)
    if as_json:
        _print_json(result.as_json())
    else:
        listing.show_chat(Console(), result)


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
    speaker: SpeakerOption = None,
    replacing: ReplacingOption = None,
    mode: ModeOption = "reply",
    as_json: AsJson = False,
) -> None:
    """Show what the model would see now, and what stays out and why. Records nothing."""
    given = {
        "context_limit": context_limit,
        "reserve": reserve,
        "strategy": strategy,
        "tokenizer": tokenizer,
        "live_cap": live_cap,
    }
    overrides = {name: value for name, value in given.items() if value is not None}
    chosen: Mode = previewing.mode_named(mode)

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

    result = _with_keeper(context, work)
    if as_json:
        _print_json(result.context.as_json())
    else:
        previewing.show(Console(), result)


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

    async def work(keeper: Keeper) -> int:
        return await export_to(keeper, name, output, character=character, force=force)

    written = _with_keeper(context, work)
    if output is None:
        return
    if as_json:
        _print_json({"file": str(output), "bytes": written})
    else:
        typer.echo(f"Wrote {output} ({written:,} bytes).")


@app.command()
def limits(
    plan: Annotated[
        str | None, typer.Option(metavar="P", help=f"One of {', '.join(PLANS)}; +boost too.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Print every limit, and what each plan allows."""
    plans = [plan_named(plan)] if plan else list(PLANS.values())
    if as_json:
        _print_json(listing.limits_json(plans))
    else:
        listing.show_limits(Console(), plans)


@app.command()
def doctor(context: typer.Context, as_json: AsJson = False) -> None:
    """Check what Talekeeper needs, and say what to do where something is missing."""
    config: Config = context.obj
    checks = anyio.run(doctoring.examine, config)
    if as_json:
        _print_json([check.as_json() for check in checks])
    else:
        doctoring.show(Console(), checks)
    if not all(check.ok for check in checks):
        raise typer.Exit(1)


@app.command()
def demo(as_json: AsJson = False) -> None:
    """Import a long sample chat into a temporary database and show what the character sees."""
    from talekeeper.cli.demo import run_demo

    result = anyio.run(run_demo, Console(quiet=as_json))
    if as_json:
        _print_json(result)
