"""``talekeeper limits``, ``plan``, ``usage`` and ``learn``: what an account may use, and used."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Annotated, Any

import typer
from rich.table import Table

from talekeeper.cli import listing
from talekeeper.cli.memories import print_json
from talekeeper.cli.opening import Group, with_keeper
from talekeeper.cli.options import AsJson, given
from talekeeper.cli.output import Output
from talekeeper.cli.plain import plain, safe
from talekeeper.domain.character import Character
from talekeeper.domain.errors import InvalidInput
from talekeeper.domain.limits import PLANS, Plan, describe, limits_of, plan_named, shown
from talekeeper.keeper import Keeper, utc_now
from talekeeper.store.usage import UsageRow

__all__ = ["plan_app", "register"]

plan_app = typer.Typer(
    cls=Group, rich_markup_mode=None, help="Show and change the account's plan; define plans."
)

PlanName = Annotated[str, typer.Argument(metavar="NAME", help="The plan's name.")]


def register(app: typer.Typer) -> None:
    """Add the commands of this module."""
    app.command()(limits)
    app.command()(learn)
    app.command()(usage)
    app.add_typer(plan_app, name="plan")


@plan_app.command("show")
def show_plan(context: typer.Context, as_json: AsJson = False) -> None:
    """Show the account's plan and what it allows, and which plans there are."""

    async def work(keeper: Keeper) -> tuple[Plan, Sequence[Plan]]:
        return await keeper.settings.plan(), await keeper.settings.plans()

    plan, there = with_keeper(context, work)
    if as_json:
        print_json({**_plan_json(plan), "plans": [_plan_json(one) for one in there]})
        return
    console = Output()
    console.print(f"The account is on the plan [bold]{safe(plan.name)}[/].", highlight=False)
    for name, value, unit, meaning in describe(plan):
        counts = value is not None and not isinstance(value, bool)
        told = f"{shown(value)} {unit}" if counts else shown(value)
        console.print(f"  {name}: {told} · {meaning}", highlight=False)
    names = ", ".join(safe(one.name) for one in there)
    console.print(f"There are {names}; +boost after a name doubles it.", highlight=False)


def _plan_json(plan: Plan) -> dict[str, Any]:
    return {"name": plan.name, **limits_of(plan)}


@plan_app.command("set")
def set_plan(
    context: typer.Context,
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="The plan's name, with +boost if you like.")
    ],
    as_json: AsJson = False,
) -> None:
    """Move the account to another plan."""
    plan = with_keeper(context, lambda keeper: keeper.settings.set_plan(name))
    if as_json:
        print_json(_plan_json(plan))
    else:
        typer.echo(f"The account is on the plan {plain(plan.name)} now.")


@plan_app.command("define")
def define_plan(
    context: typer.Context,
    name: PlanName,
    live_tokens: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Tokens of the live window at most.")
    ] = None,
    recall: Annotated[
        int | None,
        typer.Option(min=0, metavar="N", help="Facts recalled for every 15 live messages."),
    ] = None,
    deeper_memory: Annotated[
        bool | None,
        typer.Option(
            "--deeper-memory/--no-deeper-memory",
            help="Whether cells are read once more for lasting details.",
        ),
    ] = None,
    daily_tokens: Annotated[
        int | None,
        typer.Option(min=0, metavar="N", help="Tokens of language models a day at most."),
    ] = None,
    no_daily_tokens: Annotated[
        bool, typer.Option("--no-daily-tokens", help="As many tokens a day as you like.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Add a plan of your own, or change one. It is there for all accounts of the database."""
    if no_daily_tokens and daily_tokens is not None:
        raise InvalidInput("Say --daily-tokens or --no-daily-tokens, not both.")
    limits = dict(
        given(
            live_tokens=live_tokens,
            recall=recall,
            deeper_memory=deeper_memory,
            daily_tokens=daily_tokens,
        )
    )
    if no_daily_tokens:
        limits["daily_tokens"] = None
    plan = with_keeper(context, lambda keeper: keeper.settings.define_plan(name, **limits))
    if as_json:
        print_json(_plan_json(plan))
    else:
        told = ", ".join(f"{key} {shown(value)}" for key, value in limits_of(plan).items())
        typer.echo(f"The plan {plan.name}: {told}.")


@plan_app.command("delete")
def delete_plan(context: typer.Context, name: PlanName, as_json: AsJson = False) -> None:
    """Delete a plan of your own that no account is on."""
    with_keeper(context, lambda keeper: keeper.settings.delete_plan(name))
    if as_json:
        print_json({"deleted": name})
    else:
        typer.echo(f"The plan {plain(name)} is deleted.")


def limits(
    plan: Annotated[
        str | None, typer.Option(metavar="P", help=f"One of {', '.join(PLANS)}; +boost too.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Print every limit, and what each plan allows."""
    listed = [plan_named(plan)] if plan else list(PLANS.values())
    if as_json:
        print_json(listing.limits_json(listed))
    else:
        listing.show_limits(Output(), listed)


def usage(
    context: typer.Context,
    days: Annotated[
        int, typer.Option(min=1, max=36_500, metavar="N", help="How many days to look back.")
    ] = 30,
    as_json: AsJson = False,
) -> None:
    """Show what the account asked of language models, by task and model."""
    since = utc_now() - timedelta(days=days)
    rows = with_keeper(context, lambda keeper: keeper.settings.usage(since))
    if as_json:
        print_json(_usage_json(since, rows))
    else:
        _show_usage(Output(), days, rows)


def _usage_json(since: datetime, rows: Sequence[UsageRow]) -> dict[str, Any]:
    return {
        "since": since.isoformat(),
        "prompt_tokens": sum(row.prompt_tokens for row in rows),
        "reply_tokens": sum(row.reply_tokens for row in rows),
        "usage": [row._asdict() for row in rows],
    }


def _show_usage(console: Output, days: int, rows: Sequence[UsageRow]) -> None:
    if not rows:
        console.print(f"No language model was asked in the last {days} days.", highlight=False)
        return
    table = Table(box=None, header_style="bold", pad_edge=False)
    for head in ("task", "model"):
        table.add_column(head, no_wrap=True)
    for head in ("answers", "tokens read", "tokens written"):
        table.add_column(head, justify="right", no_wrap=True)
    table.add_column("billable", no_wrap=True)
    for row in rows:
        table.add_row(
            row.task,
            safe(row.model),
            f"{row.answers:,}",
            f"{row.prompt_tokens:,}",
            f"{row.reply_tokens:,}",
            "yes" if row.billable else "no",
        )
    console.table(table)


def learn(
    context: typer.Context,
    character: Annotated[
        str, typer.Argument(metavar="CHARACTER", help="A character's name or id.")
    ],
    state: Annotated[str, typer.Argument(metavar="on|off", help="Whether it learns.")],
    as_json: AsJson = False,
) -> None:
    """Switch Learn from Chat of a character on or off."""
    if state not in ("on", "off"):
        raise InvalidInput(f"Say on or off, not {state!r}.")

    async def work(keeper: Keeper) -> Character:
        found = await keeper.characters.get(character)
        return await keeper.characters.learn(found.id, state == "on")

    found = with_keeper(context, work)
    if as_json:
        print_json({"id": found.id, "name": found.name, "learns": found.learns})
    elif found.learns:
        typer.echo(f"{plain(found.name)} reads and writes memories again.")
    else:
        typer.echo(
            f"{plain(found.name)} neither reads nor writes memories now; none are made of what is "
            "said meanwhile. Those there are stay."
        )
