"""``talekeeper receipts``, ``receipt`` and ``diff``: what was seen when something was said."""

import json
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import typer
from rich.table import Table

from talekeeper.cli.differing import show_diff
from talekeeper.cli.opening import with_keeper
from talekeeper.cli.options import AsJson, ChatName, InputOption
from talekeeper.cli.output import Output
from talekeeper.cli.plain import safe
from talekeeper.cli.previewing import show_receipt
from talekeeper.domain.block import Context
from talekeeper.domain.chat import Chat
from talekeeper.domain.errors import InvalidInput
from talekeeper.domain.receipt_diff import ReceiptDiff
from talekeeper.domain.recorded import RecordedReceipt, SeenReceipt, SeenRow
from talekeeper.keeper import Keeper

__all__ = ["register"]

_STATES = {
    "changed": "(its text was changed since)",
    "deleted": "(deleted since)",
    "unknown": "(its text cannot be looked up)",
}

_NUMBER = "A message, or one of its swipes: 12 or 12/1."


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command("receipts")(receipts)
    app.command("receipt")(receipt)
    app.command("diff")(diff)


def receipts(
    context: typer.Context,
    chat: ChatName,
    last: Annotated[
        int, typer.Option("-n", "--last", min=1, help="How many receipts to list.")
    ] = 20,
    as_json: AsJson = False,
) -> None:
    """List the receipts that are kept of a chat's replies, the last one first."""

    async def work(keeper: Keeper) -> tuple[Chat, Sequence[RecordedReceipt]]:
        found = await keeper.chats.find(chat)
        return found, await keeper.receipts.list(found.id, last)

    found, kept = with_keeper(context, work)
    if as_json:
        _print_json([_listed_json(recorded) for recorded in kept])
    else:
        _show_list(Output(), found, kept)


def receipt(
    context: typer.Context,
    chat: ChatName,
    number: Annotated[str, typer.Argument(metavar="NUMBER", help=_NUMBER)],
    swipe: Annotated[
        int | None, typer.Option(min=0, metavar="N", help="Which swipe; without it the shown one.")
    ] = None,
    texts: Annotated[bool, typer.Option("--texts", help="Print the texts in full.")] = False,
    as_json: AsJson = False,
) -> None:
    """Show what the character saw when it said a message, and what stayed out and why."""
    wanted = _unit(number, swipe)

    async def work(keeper: Keeper) -> tuple[Chat, SeenReceipt]:
        found = await keeper.chats.find(chat)
        return found, await keeper.receipts.seen(found.id, *wanted)

    found, seen = with_keeper(context, work)
    if as_json:
        _print_json(seen.as_json())
    else:
        _show(Output(), found, seen, in_full=texts)


def diff(
    context: typer.Context,
    chat: ChatName,
    number: Annotated[
        str | None, typer.Argument(metavar="NUMBER", help=f"{_NUMBER} Without it: now.")
    ] = None,
    other: Annotated[
        str | None, typer.Argument(metavar="OTHER", help="The one to compare it with.")
    ] = None,
    setting: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="A setting that the second one has."),
    ] = None,
    persona: Annotated[
        str | None, typer.Option(metavar="NAME", help="The persona that the second one has.")
    ] = None,
    again: Annotated[
        bool, typer.Option("--again", help="Compare with that reply, written anew now.")
    ] = False,
    input_: InputOption = None,
    as_json: AsJson = False,
) -> None:
    """Compare what two replies saw; what one saw with now; or now with now under other settings."""
    settings = _settings(setting or ())
    first = _unit(number, None) if number is not None else None
    second = _unit(other, None) if other is not None else None
    if first is not None and (persona or input_):
        raise InvalidInput("--persona and --input compare now with now: name no message.")
    if second is not None and (settings or again):
        raise InvalidInput("Two replies are compared as they were: take away --set and --again.")
    if first is None and (again or not (settings or persona)):
        raise InvalidInput(
            "Name one or two messages, or say with --set or --persona what would be otherwise."
        )

    async def work(keeper: Keeper) -> ReceiptDiff:
        kept, found = keeper.receipts, (await keeper.chats.find(chat)).id
        if first is None:
            return await kept.compare(found, {}, settings, input=input_, persona_after=persona)
        if second is None:
            return await kept.since(found, *first, again=again, settings=settings)
        return await kept.diff(found, first[0], second[0], swipe=first[1], other_swipe=second[1])

    result = with_keeper(context, work)
    if as_json:
        _print_json(result.as_json())
    else:
        show_diff(Output(), result)


def _print_json(value: Any) -> None:
    typer.echo(json.dumps(value, ensure_ascii=False, indent=2))


def _unit(text: str, swipe: int | None) -> tuple[int, int | None]:
    """The message and the swipe that are meant. InvalidInput for anything else."""
    number, slash, own = text.partition("/")
    numbers = [number, own] if slash else [number]
    if not all(part.isascii() and part.isdecimal() for part in numbers):
        raise InvalidInput(f"Name a message by its number, such as 12 or 12/1, not {text!r}.")
    if slash and swipe is not None:
        raise InvalidInput("Name the swipe once: behind the number, or with --swipe.")
    return int(number), int(own) if slash else swipe


def _settings(given: Sequence[str]) -> Mapping[str, Any]:
    """The settings of ``--set``; a value is JSON, or a text as it stands."""
    found: dict[str, Any] = {}
    for text in given:
        name, equals, value = text.partition("=")
        group, dot, inner = name.strip().replace("-", "_").partition(".")
        if not equals or not group:
            raise InvalidInput(
                f"Write a setting as NAME=VALUE, such as strategy=truncate, not {text!r}."
            )
        if dot:
            before = found.get(group)
            found[group] = {**(before if isinstance(before, dict) else {}), inner: _value(value)}
        else:
            found[group] = _value(value)
    return found


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def _listed_json(recorded: RecordedReceipt) -> dict[str, Any]:
    receipt = recorded.receipt
    return {
        **recorded.head(),
        "sent": len(receipt.sent()),
        "left_out": len(receipt.left_out()),
    }


def _show_list(console: Output, chat: Chat, kept: Sequence[RecordedReceipt]) -> None:
    console.print(f"[bold]{safe(chat.title)}[/]", highlight=False)
    if not kept:
        console.print(
            "No receipts yet. One is kept with each reply that a language model writes here: "
            "talekeeper chat",
            highlight=False,
        )
        return
    table = Table(box=None, header_style="bold", pad_edge=False)
    for name in ("message", "made (UTC)", "tokens", "budget", "strategy", "sent", "stayed out"):
        right = name in ("message", "tokens", "budget", "sent", "stayed out")
        table.add_column(name, justify="right" if right else "left", no_wrap=True)
    for recorded in kept:
        receipt = recorded.receipt
        table.add_row(
            f"{recorded.number}/{recorded.swipe}",
            f"{recorded.made_at:%Y-%m-%d %H:%M:%S}",
            f"{receipt.prompt_tokens:,}",
            f"{receipt.budget:,}",
            safe(receipt.strategy),
            str(len(receipt.sent())),
            str(len(receipt.left_out())),
        )
    console.table(table)


def _show(console: Output, chat: Chat, seen: SeenReceipt, *, in_full: bool) -> None:
    recorded = seen.recorded
    console.print(
        f"[bold]{safe(chat.title)}[/]: what was seen for message {recorded.number}, "
        f"swipe {recorded.swipe}, at {recorded.made_at:%Y-%m-%d %H:%M:%S} UTC",
        highlight=False,
    )
    texts = tuple(_text(row) for row in seen.rows)
    show_receipt(console, Context(messages=(), receipt=recorded.receipt, texts=texts))
    if not in_full:
        return
    for row, text in zip(seen.rows, texts, strict=True):
        console.print(f"\n[bold]{row.row.kind}[/] [dim]{safe(row.row.source)}[/]", highlight=False)
        console.print(safe(text), highlight=False)


def _text(seen: SeenRow) -> str:
    return seen.text if seen.text is not None else _STATES[seen.state]
