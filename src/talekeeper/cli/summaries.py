"""``talekeeper summary``: reading, editing and rebuilding what is told of the time before."""

import json
import sys
from collections.abc import Sequence
from typing import Annotated

import typer
from rich.text import Text
from rich.tree import Tree

from talekeeper.cli.opening import Group, with_keeper
from talekeeper.cli.options import AsJson, ChatName
from talekeeper.cli.output import Output
from talekeeper.cli.plain import counted, plain, safe
from talekeeper.domain.chat import Chat
from talekeeper.domain.errors import Conflict, InvalidInput
from talekeeper.domain.summary import Place, Summary
from talekeeper.keeper import Keeper
from talekeeper.parts.summaries import Settled, SummaryView

__all__ = ["show_tree", "summary_app"]

summary_app = typer.Typer(
    cls=Group, rich_markup_mode=None, help="Read, edit and rebuild the summary of a chat."
)

NodeName = Annotated[
    str,
    typer.Argument(metavar="NODE", help="CHAT/NODE, as in 'Mira/recent-12'; show prints them."),
]


@summary_app.command("show")
def show_summary(
    context: typer.Context,
    chat: ChatName,
    full: Annotated[
        bool, typer.Option("--full", help="Print the texts of all nodes, sent or not.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Show the summary as a tree: what is sent of it, and what that was made from."""

    async def work(keeper: Keeper) -> tuple[Chat, SummaryView]:
        found = await keeper.chats.find(chat)
        return found, await keeper.summaries.show(found.id)

    found, view = with_keeper(context, work)
    if as_json:
        typer.echo(json.dumps(view.as_json(), ensure_ascii=False, indent=2))
    else:
        _show(Output(), found, view, full=full)


@summary_app.command("edit")
def edit_summary(
    context: typer.Context,
    node: NodeName,
    text: Annotated[
        str,
        typer.Option("--text", metavar="TEXT", help="The new text; - reads it from a pipe."),
    ],
    as_json: AsJson = False,
) -> None:
    """Put your own text in place of a node's."""
    name, place = _split(node)
    new = sys.stdin.read() if text == "-" else text

    async def work(keeper: Keeper) -> tuple[Chat, Summary]:
        found = await keeper.chats.find(name)
        return found, await keeper.summaries.edit(found.id, place, new)

    found, edited = with_keeper(context, work)
    if as_json:
        typer.echo(json.dumps(_edited_json(found, edited), ensure_ascii=False, indent=2))
    else:
        typer.echo(
            f"{edited.name} of {plain(found.title)} is yours now ({edited.tokens} tokens). "
            "It stays until you rebuild it or delete its messages."
        )


@summary_app.command("rebuild")
def rebuild_summary(
    context: typer.Context,
    chat: ChatName,
    node: Annotated[
        str | None, typer.Option(metavar="NODE", help="One node instead of all of them.")
    ] = None,
    overwrite_edits: Annotated[
        bool, typer.Option("--overwrite-edits", help="Write over what a person wrote, too.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Make the summary anew, all of it or one node. Edited nodes stay unless told otherwise."""
    place = node.rpartition("/")[2] if node is not None else None

    async def work(keeper: Keeper) -> tuple[Chat, int, Settled]:
        found = await keeper.chats.find(chat)
        try:
            asked = await keeper.summaries.rebuild(found.id, place, overwrite_edits=overwrite_edits)
        except Conflict as error:
            raise Conflict(
                f"{place} was edited by a person. To write over that, add --overwrite-edits."
            ) from error
        return found, asked, await keeper.summaries.settle(found.id)

    found, asked, settled = with_keeper(context, work)
    if as_json:
        typer.echo(json.dumps({"chat": found.id, "asked": asked, "made": settled.made}))
    else:
        made = counted(settled.made, "summary", "summaries")
        typer.echo(f"{made} made anew in {plain(found.title)}.")
    if settled.failed:
        typer.echo(f"Error: {plain(settled.failed[0].reason or '')}", err=True)
        raise typer.Exit(1)


def _split(node: str) -> tuple[str, str]:
    chat, slash, name = node.rpartition("/")
    if not slash or not chat:
        raise InvalidInput(
            f"{node!r} does not say of which chat: write CHAT/NODE, as in 'Mira/recent-12'."
        )
    return chat, name


def _edited_json(chat: Chat, node: Summary) -> dict[str, object]:
    return {
        "id": f"{chat.id}/{node.name}",
        "tokens": node.tokens,
        "text": node.text,
        "edited": node.edited,
    }


def _show(console: Output, chat: Chat, view: SummaryView, *, full: bool) -> None:
    console.print(f"[bold]{safe(chat.title)}[/]", highlight=False)
    if not view.nodes:
        console.print(
            "There is no summary yet. 'talekeeper settle' makes one of what has left the live "
            "window, or is about to."
        )
    show_tree(console, view, full=full)


def show_tree(console: Output, view: SummaryView, *, full: bool) -> None:
    """The nodes as a tree, with the texts of those in the prompt; ``full``: with all texts."""
    nodes = {node.place: node for node in view.nodes}
    tree = Tree("", hide_root=True)
    for place in sorted(_roots(nodes), key=lambda place: nodes[place].first):
        _branch(tree, nodes, place, view, full)
    console.print(tree)
    console.print(_waiting(view), highlight=False)


def _roots(nodes: dict[Place, Summary]) -> Sequence[Place]:
    return [place for place in nodes if place.parent not in nodes]


def _branch(
    tree: Tree, nodes: dict[Place, Summary], place: Place, view: SummaryView, full: bool
) -> None:
    node = nodes[place]
    sent = place in view.sent
    head = Text(node.name, style="bold green" if sent else "dim")
    head.append(
        f"  messages {node.first}–{node.last} · {counted(node.tokens, 'token')}",
        style="" if sent else "dim",
    )
    for mark in _marks(node, sent=sent):
        head.append(f" · {mark}", style="yellow")
    branch = tree.add(head)
    if node.text and (sent or full):
        branch.add(Text(f"{plain(node.text)}\n"))
    for child in node.place.children:
        if child in nodes:
            _branch(branch, nodes, child, view, full)


def _marks(node: Summary, *, sent: bool) -> list[str]:
    marks = ["in the prompt"] if sent else []
    if node.edited:
        marks.append("edited by you")
        if node.changed:
            marks.append("its messages changed since")
    elif node.changed:
        marks.append("stale: its messages changed; settle makes it anew")
    if node.due:
        marks.append("to be rebuilt")
    if not node.text:
        marks.append("nothing in it worth keeping")
    if node.summariser == "model" and node.model:
        marks.append(f"by {plain(node.model)}")
    return marks


def _waiting(view: SummaryView) -> str:
    if not view.waiting:
        return "Every message is in the summary."
    told = f"{counted(view.waiting, 'message')} not yet in the summary"
    older = view.waiting - view.live
    if not older:
        return f"{told}: still in the live window."
    return f"{told}: {view.live:,} in the live window, {older:,} older ('talekeeper settle')."
