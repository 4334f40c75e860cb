"""``talekeeper settings``: what is in force, where each setting comes from, and changing them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import typer
from pydantic import BaseModel
from rich.table import Table

from talekeeper.cli.output import Output
from talekeeper.cli.plain import safe
from talekeeper.domain.chat import Chat
from talekeeper.domain.errors import InvalidInput
from talekeeper.domain.limits import LIMITS
from talekeeper.domain.settings import GenerationSettings
from talekeeper.keeper import Keeper
from talekeeper.parts.settings import Origin

__all__ = [
    "AuthorsNoteOption",
    "ImageTokensOption",
    "InForce",
    "MainPromptOption",
    "ModelOption",
    "NamesOption",
    "NoteDepthOption",
    "NoteRoleOption",
    "PostHistoryOption",
    "PrefillOption",
    "ShareOption",
    "UnsetOption",
    "changes_of",
    "in_force",
    "show",
]

ModelOption = Annotated[
    str | None, typer.Option(metavar="TEXT", help="The name of the model you use.")
]
NamesOption = Annotated[
    str | None,
    typer.Option(metavar="HOW", help="Names before messages: auto, always or never."),
]
MainPromptOption = Annotated[
    str | None, typer.Option(metavar="TEXT", help="The first instruction to the model.")
]
PostHistoryOption = Annotated[
    str | None, typer.Option(metavar="TEXT", help="An instruction after the conversation.")
]
PrefillOption = Annotated[
    str | None, typer.Option(metavar="TEXT", help="The beginning of the reply.")
]
ImageTokensOption = Annotated[
    int | None, typer.Option(min=1, metavar="N", help="Tokens that a picture counts.")
]
AuthorsNoteOption = Annotated[
    str | None, typer.Option(metavar="TEXT", help="Your note inside the conversation.")
]
NoteDepthOption = Annotated[
    int | None, typer.Option(min=0, metavar="N", help="Messages between the note and the end.")
]
NoteRoleOption = Annotated[
    str | None, typer.Option(metavar="R", help="Who says the note: system, user or assistant.")
]
ShareOption = Annotated[
    list[str] | None,
    typer.Option(metavar="LAYER=PART", help="A layer's part of the budget, such as summary=0.15."),
]
UnsetOption = Annotated[
    list[str] | None,
    typer.Option(metavar="SETTING", help="Take a setting back to where it was before."),
]


@dataclass(frozen=True, kw_only=True, slots=True)
class InForce:
    """The settings of a chat, or of the account where ``chat`` is None."""

    chat: Chat | None
    settings: GenerationSettings
    origins: Mapping[str, Origin]

    def as_json(self) -> dict[str, Any]:
        """The documented JSON shape."""
        return {
            "chat": self.chat.id if self.chat else None,
            "settings": self.settings.model_dump(),
            "from": dict(self.origins),
        }


def changes_of(
    options: Mapping[str, Any],
    note: Mapping[str, Any],
    shares: Sequence[str],
    unset: Sequence[str],
) -> dict[str, Any]:
    """The changes that the options of the command ask for. InvalidInput for a share's spelling."""
    changes = dict(options)
    if note:
        changes["authors_note"] = dict(note)
    if shares:
        changes["shares"] = dict(map(_share, shares))
    for name in unset:
        key = name.replace("-", "_")
        if key in changes:
            raise InvalidInput(f"Setting {key!r} cannot be changed and unset at once.")
        changes[key] = None
    return changes


def _share(text: str) -> tuple[str, float]:
    layer, _, part = text.partition("=")
    try:
        return layer.strip(), float(part)
    except ValueError:
        raise InvalidInput(
            f"Write a share as LAYER=PART, such as summary=0.15, not {text!r}."
        ) from None


async def in_force(keeper: Keeper, name: str | None, changes: Mapping[str, Any]) -> InForce:
    """Make the changes, if any; answer what is in force then."""
    chat = await keeper.chats.find(name) if name is not None else None
    chat_id = chat.id if chat else None
    if changes:
        await keeper.settings.change(chat_id, **changes)
    return InForce(
        chat=chat,
        settings=await keeper.settings.get(chat_id),
        origins=await keeper.settings.origins(chat_id),
    )


def show(console: Output, found: InForce) -> None:
    """A table: each setting, its value, and where that comes from."""
    head = f"of {safe(found.chat.title)}" if found.chat else "of the account"
    console.print(f"[bold]Settings[/] {head}", highlight=False)
    table = Table(box=None, header_style="bold", pad_edge=False)
    table.add_column("setting", no_wrap=True)
    table.add_column("from", no_wrap=True)
    table.add_column("value", overflow="fold")
    for name, value in _rows(found.settings):
        origin = found.origins[name]
        style = "dim" if origin == "default" else ""
        table.add_row(name, origin, safe(_said(name, value)), style=style)
    console.table(table)


def _rows(values: BaseModel, prefix: str = "") -> Iterator[tuple[str, Any]]:
    for name in type(values).model_fields:
        value = getattr(values, name)
        if isinstance(value, BaseModel):
            yield from _rows(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value


def _said(name: str, value: Any) -> str:
    if value is None and name == "context_limit":
        return f"not set ({LIMITS.context_limit:,} is assumed)"
    if value is None or value == "":
        return "not set"
    if isinstance(value, bool):
        return "on" if value else "off"
    return f"{value:,}" if isinstance(value, int) else str(value)
