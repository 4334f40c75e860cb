"""``settle``, ``worker``, ``jobs`` and ``catch-up``: the work that no reply waits for."""

import json
import math
from collections.abc import Sequence
from functools import partial
from typing import Annotated, Any

import anyio
import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.prompt import Confirm
from rich.table import Table

from talekeeper.cli.opening import opened, summary_model, with_keeper
from talekeeper.cli.options import AsJson, ChatName
from talekeeper.cli.output import Output
from talekeeper.cli.plain import counted, plain, safe
from talekeeper.config import Config
from talekeeper.domain.chat import Chat
from talekeeper.domain.errors import InvalidInput
from talekeeper.domain.limits import LIMITS
from talekeeper.keeper import Keeper, fresh_id, utc_now
from talekeeper.parts.summaries import Settled
from talekeeper.settle.catching_up import CatchUpPlan
from talekeeper.settle.settler import Outcome, settler_of
from talekeeper.settle.worker import Worker
from talekeeper.store.settling import Failure

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    """Add the commands of this module."""
    app.command()(settle)
    app.command()(worker)
    app.command()(jobs)
    app.command("catch-up")(catch_up)


def settle(
    context: typer.Context,
    chat: Annotated[
        str | None, typer.Argument(metavar="CHAT", help="One chat; without it, all.")
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="All chats: what happens without CHAT.")] = (
        False
    ),
    as_json: AsJson = False,
) -> None:
    """Do now what is due: summarise what left the live window, merge, mend what is stale."""
    if chat is not None and every:
        raise InvalidInput("Name a chat or say --all, not both.")
    console = Console(stderr=True)

    async def work(keeper: Keeper) -> tuple[Settled, Sequence[Failure]]:
        found = await keeper.chats.find(chat) if chat is not None else None
        settled = await _settle(keeper, found, console)
        return settled, await keeper.summaries.failures()

    settled, failures = with_keeper(context, work)
    waiting = sum(failure.retry_at is not None for failure in failures)
    if as_json:
        typer.echo(json.dumps(_settled_json(settled), ensure_ascii=False, indent=2))
    else:
        typer.echo(_told(settled, one=chat is not None, waiting=waiting))
    if settled.failed:
        titles = {failure.key.chat: failure.title for failure in failures}
        for outcome in settled.failed:
            title = plain(titles.get(outcome.key.chat, outcome.key.chat))
            typer.echo(f"Error: {title}: {plain(outcome.reason or '')}", err=True)
        raise typer.Exit(1)


def _told(settled: Settled, *, one: bool, waiting: int) -> str:
    """What settling did, in one line; ``waiting`` chats failed and are to be tried again."""
    if settled.made or settled.failed:
        made = counted(settled.made, "summary", "summaries")
        return f"{made} made in {counted(settled.chats, 'chat')}."
    if one and not settled.chats:
        return "Another process is settling this chat; nothing was done here."
    if waiting and not one:
        failed = counted(waiting, "chat that failed is", "chats that failed are")
        return f"Nothing was due. {failed} tried again later: see 'talekeeper jobs'."
    return "Nothing was due."


async def _settle(keeper: Keeper, chat: Chat | None, console: Console) -> Settled:
    """Settle a chat, or all of them for None, and show how far it is."""
    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("chats" if chat is None else "messages"),
        TimeRemainingColumn(),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    )
    with bar:
        what = "all chats" if chat is None else safe(chat.title)
        shown = bar.add_task(f"Settling {what}", total=None)
        most = 0

        def progress(left: int) -> None:
            nonlocal most
            most = max(most, left)
            bar.update(shown, total=most, completed=most - left)

        return await keeper.summaries.settle(chat.id if chat else None, progress=progress)


def worker(
    context: typer.Context,
    poll: Annotated[
        float, typer.Option(min=0.1, metavar="SECONDS", help="How often to look for work.")
    ] = 5.0,
    lease: Annotated[
        float,
        typer.Option(
            min=1, metavar="SECONDS", help="How soon others take over what a dead worker had."
        ),
    ] = LIMITS.lease_seconds,
    once: Annotated[bool, typer.Option("--once", help="End when nothing is due any more.")] = False,
) -> None:
    """Settle the chats of all accounts until stopped. Any number of workers share a database."""
    config: Config = context.obj

    async def run() -> None:
        database = await opened(config)
        model = summary_model(config)
        try:
            settler = settler_of(
                database,
                model=model,
                clock=utc_now,
                new_id=fresh_id,
                lease_seconds=lease,
            )
            typer.echo(f"Settling what is due in {database.location}. Ctrl-C ends it.", err=True)
            loop = Worker(settler, report=_tell)
            await (loop.drain() if once else loop.run(poll_seconds=poll))
        finally:
            if model is not None:
                await model.close()
            await database.close()

    anyio.run(run)


def _tell(outcome: Outcome) -> None:
    if outcome.state == "failed":
        typer.echo(f"{outcome.key.chat}: failed: {plain(outcome.reason or '')}", err=True)
        return
    told = []
    if outcome.made:
        told.append(counted(outcome.made, "summary", "summaries"))
    if outcome.read:
        told.append(f"{counted(outcome.read, 'cell')} read for memories")
    if told:
        typer.echo(f"{outcome.key.chat}: {', '.join(told)}")


def jobs(
    context: typer.Context,
    retry: Annotated[bool, typer.Option("--retry", help="Try what failed again, now.")] = False,
    chat: Annotated[
        str | None, typer.Option("--chat", metavar="CHAT", help="With --retry: this chat alone.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """List what went wrong in the background, and when it is tried again."""

    async def work(keeper: Keeper) -> tuple[int, list[Failure]]:
        again = 0
        if retry:
            found = await keeper.chats.find(chat) if chat else None
            again = await keeper.summaries.retry(found.id if found else None)
        return again, list(await keeper.summaries.failures())

    again, failures = with_keeper(context, work)
    if as_json:
        shown = {"retried": again, "failures": [_failure_json(failure) for failure in failures]}
        typer.echo(json.dumps(shown, ensure_ascii=False, indent=2))
        return
    if retry:
        typer.echo(f"{counted(again, 'chat')} will be tried again at the next settle.")
    _show_failures(Output(), failures)


def catch_up(
    context: typer.Context,
    chat: ChatName,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Consent: start without asking.")] = (
        False
    ),
    pause: Annotated[
        bool, typer.Option("--pause", help="Stop; what the model made stays.")
    ] = False,
    price: Annotated[
        tuple[float, float] | None,
        typer.Option(
            metavar="IN OUT", help="What a million tokens read and written cost: shows the sum."
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Have a model write the summaries made without one: shows what it takes, then asks."""
    if yes and pause:
        raise InvalidInput("Say --yes or --pause, not both.")
    if price is not None and not all(math.isfinite(part) and part >= 0 for part in price):
        raise InvalidInput("A price is a number from 0, such as 0.15.")
    console = Console(stderr=True)
    config: Config = context.obj
    found, plan = with_keeper(context, partial(_planned, name=chat, pause=pause))
    if not as_json:
        _show_plan(Output(), found, plan, price)
    asks = bool(plan.calls) and not (pause or yes or as_json)
    if asks and config.summary is None:
        typer.echo(f"There is no model to do it. {_NO_MODEL}")
    elif asks:
        yes = _consent(console)
    failed: str | None = None
    if yes and plan.calls:

        async def start(keeper: Keeper) -> tuple[CatchUpPlan, Settled]:
            await keeper.summaries.catch_up(found.id, "start")
            settled = await _settle(keeper, found, console)
            return await keeper.summaries.catch_up(found.id), settled

        plan, settled = with_keeper(context, start)
        failed = next((outcome.reason for outcome in settled.failed), None)
        if not as_json:
            typer.echo(_caught_up(plan))
    if as_json:
        typer.echo(json.dumps(plan.as_json(), indent=2))
    if failed is not None:
        typer.echo(f"Error: {plain(failed)}", err=True)
    if failed is not None or (yes and plan.calls):
        raise typer.Exit(1)


_NO_MODEL = (
    "Set TALEKEEPER_SUMMARY_BASE_URL and TALEKEEPER_SUMMARY_MODEL, and run this command again."
)


def _caught_up(plan: CatchUpPlan) -> str:
    if not plan.calls:
        return "Done."
    left = counted(plan.calls, "summary is", "summaries are")
    return f"{left} left: 'talekeeper jobs' tells what went wrong. Mend that, and run this again."


async def _planned(keeper: Keeper, name: str, *, pause: bool) -> tuple[Chat, CatchUpPlan]:
    found = await keeper.chats.find(name)
    return found, await keeper.summaries.catch_up(found.id, "pause" if pause else "plan")


def _consent(console: Console) -> bool:
    try:
        return Confirm.ask("Start?", console=console, default=False)
    except EOFError:
        return False


def _show_plan(
    console: Output, chat: Chat, plan: CatchUpPlan, price: tuple[float, float] | None
) -> None:
    console.print(f"[bold]{safe(chat.title)}[/]", highlight=False)
    if not plan.calls:
        console.print("Nothing is left for a model to do here.")
        return
    console.print(
        f"{counted(plan.calls, 'summary was', 'summaries were')} made without a model. Having one "
        f"write them takes {counted(plan.calls, 'request')}: about {plan.tokens_in:,} tokens read "
        f"and {plan.tokens_out:,} written.",
        highlight=False,
    )
    if price is not None:
        cost = (plan.tokens_in * price[0] + plan.tokens_out * price[1]) / 1_000_000
        console.print(f"At {price[0]:g} and {price[1]:g} a million: {cost:,.2f}.", highlight=False)
    if plan.state:
        console.print(f"It is {plan.state}.", highlight=False)


def _settled_json(settled: Settled) -> dict[str, Any]:
    return {
        "chats": settled.chats,
        "made": settled.made,
        "failed": [{"chat": o.key.chat, "reason": o.reason} for o in settled.failed],
    }


def _failure_json(failure: Failure) -> dict[str, Any]:
    return {
        "chat": failure.key.chat,
        "title": failure.title,
        "reason": failure.reason,
        "permanent": failure.permanent,
        "attempts": failure.attempts,
        "failed_at": failure.failed_at.isoformat(),
        "retry_at": failure.retry_at.isoformat() if failure.retry_at else None,
    }


def _show_failures(console: Output, failures: list[Failure]) -> None:
    if not failures:
        console.print("Nothing failed.")
        return
    table = Table(box=None, pad_edge=False)
    for head in ("chat", "what", "tries", "next"):
        table.add_column(head, overflow="fold")
    for failure in failures:
        following = "settled without the model"
        if failure.retry_at is not None:
            following = failure.retry_at.astimezone().strftime("%Y-%m-%d %H:%M:%S")
        table.add_row(safe(failure.title), safe(failure.reason), str(failure.attempts), following)
    console.print(table)
