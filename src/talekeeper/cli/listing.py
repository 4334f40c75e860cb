"""``talekeeper chats``, ``characters``, ``show`` and ``limits``."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from talekeeper.cli.output import Output
from talekeeper.cli.plain import counted, safe
from talekeeper.domain import limits as limit_tables
from talekeeper.domain.character import Character
from talekeeper.domain.chat import Chat, Message
from talekeeper.domain.limits import LIMITS, Plan, describe
from talekeeper.keeper import Keeper

__all__ = [
    "Shown",
    "character_json",
    "chat_json",
    "chats",
    "limits_json",
    "show_characters",
    "show_chat",
    "show_chats",
    "show_limits",
    "shown",
]

Names = Mapping[str, str]


async def chats(keeper: Keeper) -> tuple[Sequence[Chat], Names]:
    """All chats, and the names of the characters in them."""
    found = await keeper.chats.list()
    characters = await keeper.characters.list()
    return found, {character.id: character.name for character in characters}


def chat_json(chat: Chat, names: Names) -> dict[str, Any]:
    """The documented JSON shape of a chat."""
    return {
        "id": chat.id,
        "title": chat.title,
        "messages": chat.messages,
        "characters": [names.get(character, "?") for character in chat.characters],
        "channel": chat.channel,
        "forked_from": (
            {"chat": chat.forked_from[0], "message": chat.forked_from[1]}
            if chat.forked_from
            else None
        ),
        "version": chat.version,
        "created_at": chat.created_at.isoformat(),
        "updated_at": chat.updated_at.isoformat(),
    }


def _fork(chat: Chat, titles: Names) -> str:
    """Where a fork comes from, in words; empty for a chat that is none."""
    if chat.forked_from is None:
        return ""
    parent, number = chat.forked_from
    named = safe(titles[parent]) if parent in titles else "a chat that is gone"
    return f"fork of {named} ({parent}) at message {number}"


def show_chats(console: Console, found: Sequence[Chat], names: Names) -> None:
    """Two lines a chat, or how to get a first one."""
    if not found:
        console.print("No chats yet. Bring one: talekeeper import FILE, or try: talekeeper demo")
        return
    titles = {chat.id: chat.title for chat in found}
    for chat in found:
        who = safe(", ".join(names.get(one, "?") for one in chat.characters)) or "nobody"
        fork = f", {_fork(chat, titles)}" if chat.forked_from else ""
        said = f"{counted(chat.messages, 'message')} with {who}, "
        changed = f"changed {chat.updated_at:%Y-%m-%d %H:%M}{fork}"
        _show_item(console, safe(chat.title), f"{chat.id}  {said}{changed}")


def _show_item(console: Console, name: str, rest: str) -> None:
    """A name, and below it what else is to be said, indented on each of its lines."""
    console.print(f"[bold]{name}[/]", highlight=False)
    lines = console.render_str(rest, highlight=False).wrap(console, max(20, console.width - 2))
    for line in lines:
        line.rstrip()
        console.print(Text("  ").append_text(line), style="dim", soft_wrap=True)


def character_json(character: Character) -> dict[str, Any]:
    """The documented JSON shape of a character."""
    return {
        "id": character.id,
        "name": character.name,
        "nickname": character.card.nickname or None,
        "tags": list(character.card.tags),
        "creator": character.card.creator or None,
        "book_entries": character.card.book_entries,
        "learns": character.learns,
        "version": character.version,
    }


def show_characters(console: Console, found: Sequence[Character]) -> None:
    """Two lines a character, or how to get a first one."""
    if not found:
        console.print("No characters yet. Bring one: talekeeper import CARD.png")
        return
    for character in found:
        said = [character.id]
        if character.card.book_entries:
            said.append(f"{counted(character.card.book_entries, 'entry', 'entries')} in its book")
        if character.card.tags:
            said.append(f"tags: {safe(', '.join(character.card.tags))}")
        if not character.learns:
            said.append("Learn from Chat is off")
        _show_item(console, safe(character.name), "  ".join(said))


@dataclass(frozen=True, kw_only=True, slots=True)
class Shown:
    """A chat with some of its messages; ``earlier`` says that there are some before them.

    ``titles`` holds those of the account's chats by id, the one it was forked from among them.
    """

    chat: Chat
    names: Names
    messages: Sequence[Message]
    earlier: bool
    titles: Names

    def as_json(self) -> dict[str, Any]:
        """The documented JSON shape."""
        return {
            **chat_json(self.chat, self.names),
            "shown": [_message_json(message) for message in self.messages],
        }


def _message_json(message: Message) -> dict[str, Any]:
    return {
        "number": message.number,
        "role": message.role,
        "speaker": message.speaker,
        "text": message.text,
        "swipe": message.active,
        "swipes": len(message.swipes),
        "tokens": message.swipe.tokens,
        "turn": message.turn,
        "cell": message.cell,
        "excluded": message.excluded,
        "forget": message.forget,
        "version": message.version,
        "sent_at": message.swipe.sent_at.isoformat() if message.swipe.sent_at else None,
    }


async def shown(keeper: Keeper, chat: str, last: int, before: int | None) -> Shown:
    """A chat and its last messages, or those before a number."""
    found = await keeper.chats.find(chat)
    characters = await keeper.characters.list()
    messages = await keeper.messages.list(found.id, limit=last, before=before)
    first = messages[0].number if messages else before
    earlier = await keeper.messages.list(found.id, limit=1, before=first)
    names = {character.id: character.name for character in characters}
    titles = {one.id: one.title for one in await keeper.chats.list()}
    return Shown(chat=found, names=names, messages=messages, earlier=bool(earlier), titles=titles)


def show_chat(console: Console, result: Shown) -> None:
    """The chat's head, then one paragraph a message."""
    chat = result.chat
    names = ", ".join(result.names.get(one, "?") for one in chat.characters)
    console.print(f"[bold]{safe(chat.title)}[/]  [dim]{chat.id}[/]", highlight=False)
    console.print(f"{counted(chat.messages, 'message')} with {safe(names)}", highlight=False)
    if chat.forked_from:
        console.print(_fork(chat, result.titles), highlight=False)
    if result.earlier:
        first = result.messages[0].number
        console.print(f"[dim]… earlier ones: --before {first}[/]", highlight=False)
    elif not result.messages and chat.messages:
        console.print("[dim]There are no messages before that one.[/]", highlight=False)
    for message in result.messages:
        marks = [f"swipe {message.active + 1}/{len(message.swipes)}"] * (len(message.swipes) > 1)
        marks += ["excluded"] * message.excluded + ["forgotten"] * message.forget
        note = f" [yellow]({', '.join(marks)})[/]" if marks else ""
        colour = {"user": "cyan", "assistant": "magenta"}.get(message.role, "white")
        console.print(
            f"\n[dim]{message.number}[/] [bold {colour}]{safe(message.speaker)}[/]{note}",
            highlight=False,
        )
        text = message.text or "\n".join(
            f"→ {call.name}({call.arguments})" for call in message.swipe.tool_calls
        )
        console.print(safe(text), highlight=False)


def limits_json(plans: Sequence[Plan]) -> dict[str, Any]:
    """The documented JSON shape: one object for all plans, one for each plan."""

    def rows(limits: Any) -> dict[str, Any]:
        return {
            name: {"value": value, "unit": unit, "meaning": meaning}
            for name, value, unit, meaning in describe(limits)
        }

    return {"limits": rows(LIMITS), "plans": {plan.name: rows(plan) for plan in plans}}


def show_limits(console: Output, plans: Sequence[Plan]) -> None:
    """Two tables: the plans one below the other, then what holds for all."""
    table = Table(
        title="Plans",
        title_justify="left",
        box=None,
        header_style="bold",
        pad_edge=False,
        padding=(0, 1, 0, 0),
    )
    table.add_column("plan", no_wrap=True)
    for name, *_ in describe(plans[0]):
        table.add_column(name, justify="right", no_wrap=True)
    for plan in plans:
        values = (limit_tables.shown(value) for _, value, _, _ in describe(plan))
        table.add_row(f" {plan.name} ", *values)
    console.table(table)
    for name, _, unit, meaning in describe(plans[0]):
        console.print(f"  {name}: {meaning}" + (f" ({unit})" if unit else ""), highlight=False)
    console.print()
    table = Table(title="All plans", title_justify="left", box=None, header_style="bold")
    table.add_column("limit", no_wrap=True)
    table.add_column("value", justify="right", no_wrap=True)
    table.add_column("meaning", overflow="fold")
    for name, value, unit, meaning in describe(LIMITS):
        table.add_row(name, f"{value:,}", f"{meaning} ({unit})")
    console.table(table)
