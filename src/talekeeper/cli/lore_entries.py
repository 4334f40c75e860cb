"""``talekeeper lore entry``: the entries of a lorebook."""

import typer

from talekeeper.cli.entry_options import (
    ConstantOption,
    EnabledOption,
    EntryId,
    EntryText,
    KeyOption,
    MatchOption,
    SetOption,
    TitleOption,
    entry_fields,
    entry_json,
    said,
)
from talekeeper.cli.lore import BookName
from talekeeper.cli.memories import print_json
from talekeeper.cli.opening import Group, with_keeper
from talekeeper.cli.options import AsJson
from talekeeper.cli.plain import plain
from talekeeper.domain.lore import Entry

__all__ = ["entry_app"]

entry_app = typer.Typer(
    cls=Group, rich_markup_mode=None, help="Add, change and delete entries of a lorebook."
)


@entry_app.command("add")
def add_entry(
    context: typer.Context,
    book: BookName,
    text: EntryText,
    key: KeyOption = None,
    title: TitleOption = None,
    match: MatchOption = None,
    constant: ConstantOption = None,
    enabled: EnabledOption = None,
    more: SetOption = None,
    as_json: AsJson = False,
) -> None:
    """Add an entry: TEXT is sent whenever one of its keywords is mentioned."""
    fields = entry_fields(key, title, match, constant, enabled, more)
    fields["content"] = said(text)
    added = with_keeper(context, lambda keeper: keeper.lore.add_entry(book, **fields))
    _tell(added, f"Added as entry {added.id} of {plain(book)}.", as_json=as_json)


@entry_app.command("edit")
def edit_entry(
    context: typer.Context,
    book: BookName,
    entry: EntryId,
    text: str | None = typer.Option(None, metavar="TEXT", help="What is sent; - reads a pipe."),
    key: KeyOption = None,
    title: TitleOption = None,
    match: MatchOption = None,
    constant: ConstantOption = None,
    enabled: EnabledOption = None,
    more: SetOption = None,
    as_json: AsJson = False,
) -> None:
    """Change an entry. Keywords that are given take the place of those there were."""
    fields = entry_fields(key, title, match, constant, enabled, more)
    if text is not None:
        fields["content"] = said(text)
    changed = with_keeper(context, lambda keeper: keeper.lore.update_entry(book, entry, **fields))
    _tell(changed, f"Entry {entry} is changed.", as_json=as_json)


@entry_app.command("delete")
def delete_entry(
    context: typer.Context, book: BookName, entry: EntryId, as_json: AsJson = False
) -> None:
    """Delete an entry."""
    gone = with_keeper(context, lambda keeper: keeper.lore.delete_entry(book, entry))
    _tell(gone, f"Entry {entry} is deleted. It said: {plain(gone.content)}", as_json=as_json)


def _tell(entry: Entry, sentence: str, *, as_json: bool) -> None:
    if as_json:
        print_json(entry_json(entry))
    else:
        typer.echo(sentence)
