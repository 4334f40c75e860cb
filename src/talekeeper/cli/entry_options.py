"""Options that describe an entry, and an entry as people and programs read it."""

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Annotated, Any

import typer
from rich.table import Table
from rich.text import Text

from talekeeper.cli.options import given
from talekeeper.cli.output import Output
from talekeeper.cli.plain import plain, safe
from talekeeper.domain.errors import InvalidInput
from talekeeper.domain.lore import Entry

__all__ = [
    "ConstantOption",
    "EnabledOption",
    "EntryId",
    "EntryText",
    "KeyOption",
    "MatchOption",
    "SetOption",
    "TitleOption",
    "entry_fields",
    "entry_json",
    "said",
    "show_entries",
]

EntryId = Annotated[int, typer.Argument(metavar="ENTRY", help="An entry's number.")]
EntryText = Annotated[
    str, typer.Argument(metavar="TEXT", help="What is sent when it fires; - reads it from a pipe.")
]
KeyOption = Annotated[
    list[str] | None,
    typer.Option("-k", "--key", metavar="KEY", help="A keyword that fires it. Give it once each."),
]
TitleOption = Annotated[str | None, typer.Option(metavar="TITLE", help="A name, for you alone.")]
MatchOption = Annotated[
    str | None, typer.Option(metavar="MATCH", help="substring (the default), word or regex.")
]
ConstantOption = Annotated[
    bool | None, typer.Option("--constant/--no-constant", help="Whether it always fires.")
]
EnabledOption = Annotated[
    bool | None, typer.Option("--on/--off", help="Whether it can fire at all.")
]
SetOption = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="FIELD=VALUE", help="Any other field, such as depth=2."),
]

_SHOWN = 300
"""Characters of an entry's text in a list."""


def entry_fields(
    keys: Sequence[str] | None,
    title: str | None,
    match: str | None,
    constant: bool | None,
    enabled: bool | None,
    more: Sequence[str] | None,
) -> dict[str, Any]:
    """The fields that the options name. InvalidInput for one that is no FIELD=VALUE."""
    fields = dict(given(title=title, match=match, constant=constant, enabled=enabled))
    if keys:
        fields["keys"] = list(keys)
    for one in more or ():
        name, equals, value = one.partition("=")
        if not equals:
            raise InvalidInput(f"Write it as FIELD=VALUE, not {one!r}.")
        fields[name.strip()] = _value(value)
    return fields


def _value(text: str) -> Any:
    """JSON where it is JSON, else the text itself."""
    try:
        return json.loads(text)
    except ValueError:
        return text


def said(text: str) -> str:
    """The text of an argument, or of standard input for a dash."""
    return sys.stdin.read() if text == "-" else text


def entry_json(entry: Entry) -> dict[str, Any]:
    """An entry in its documented JSON shape: the fields of Entry by name."""
    return asdict(entry)


def show_entries(console: Output, entries: Sequence[Entry]) -> None:
    """A table, an entry a row."""
    table = Table(box=None, header_style="bold", pad_edge=False)
    table.add_column("entry", justify="right", no_wrap=True)
    table.add_column("fires on", overflow="fold")
    table.add_column("text", overflow="fold")
    for entry in entries:
        table.add_row(str(entry.id), safe(_fires(entry)), Text(_shortened(entry)))
    console.table(table)


def _fires(entry: Entry) -> str:
    words = ", ".join(plain(key) for key in entry.keys) or "no keyword"
    if entry.constant:
        words = "always"
    if entry.secondary:
        others = ", ".join(plain(key) for key in entry.secondary)
        words += f" · {_LOGIC[entry.logic]} {others}"
    return words if entry.enabled else f"off ({words})"


_LOGIC: Mapping[str, str] = {
    "and_any": "and any of",
    "and_all": "and all of",
    "not_any": "and none of",
    "not_all": "and not all of",
}


def _shortened(entry: Entry) -> str:
    text = plain(" ".join(entry.content.split()))
    text = text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
    return f"[{plain(entry.title)}] {text}" if entry.title else text
