"""``talekeeper doctor``: what is there, what is missing, what to do about it."""

import platform
import sqlite3
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from rich.console import Console
from sqlalchemy import Connection, func, select

from talekeeper import __version__
from talekeeper.cli.opening import opened
from talekeeper.cli.plain import counted, safe
from talekeeper.config import Config
from talekeeper.domain.errors import TalekeeperError
from talekeeper.domain.limits import LIMITS
from talekeeper.store import settling
from talekeeper.store.migrate import HEAD
from talekeeper.store.tables import characters, chats, messages
from talekeeper.text.tokens import TOKENIZERS, tokenizer_named

__all__ = ["Check", "examine", "show"]

_PACKAGES = ("sqlalchemy", "alembic", "pydantic", "rs-bpe", "typer")


@dataclass(frozen=True, kw_only=True, slots=True)
class Check:
    """One thing that was looked at. ``advice`` says what to do where it is not well."""

    name: str
    ok: bool
    found: str
    advice: str | None = None

    def as_json(self) -> dict[str, Any]:
        """The documented JSON shape."""
        return asdict(self)


async def examine(config: Config) -> list[Check]:
    """Look at everything Talekeeper needs. Opens the database, as every command does."""
    packages = ", ".join(f"{name} {version(name)}" for name in _PACKAGES)
    checks = [
        Check(name="talekeeper", ok=True, found=__version__),
        Check(name="python", ok=True, found=platform.python_version()),
        Check(name="packages", ok=True, found=packages),
        Check(name="sqlite", ok=True, found=sqlite3.sqlite_version),
    ]
    checks += [_tokenizer(name) for name in TOKENIZERS]
    checks += [_replies(config), _summaries(config)]
    checks += await _database(config)
    return checks


def _tokenizer(name: str) -> Check:
    try:
        counted = tokenizer_named(name).count("Do you remember me? 你还记得我吗？ Ты помнишь?")
    except TalekeeperError as error:
        return Check(name=f"tokenizer {name}", ok=False, found="not usable", advice=str(error))
    return Check(name=f"tokenizer {name}", ok=True, found=f"works ({counted} tokens in a sample)")


async def _database(config: Config) -> list[Check]:
    try:
        database = await opened(config)
    except TalekeeperError as error:
        return [Check(name="database", ok=False, found="cannot be used", advice=str(error))]
    try:
        counts = await database.read(_counts)
        size = ""
        if Path(database.location).is_file():
            size = f", {Path(database.location).stat().st_size / 1e6:.1f} MB"
        found = f"{database.location}, schema {HEAD}{size}: {counts}"
        unfinished = await database.read(_unfinished)
        settled = await database.read(_settling)
        return [Check(name="database", ok=True, found=found), *unfinished, settled]
    finally:
        await database.close()


def _counts(connection: Connection) -> str:
    """What the database holds; chats whose import is not finished do not count."""
    shown = chats.c.importing_since.is_(None)
    said = select(func.count()).select_from(messages.join(chats)).where(shown)
    counts = (
        (select(func.count()).select_from(characters), "character"),
        (select(func.count()).select_from(chats).where(shown), "chat"),
        (said, "message"),
    )
    return ", ".join(
        counted(connection.execute(count).scalar_one(), name) for count, name in counts
    )


def _unfinished(connection: Connection) -> list[Check]:
    """The imports that are under way or died; nothing where there are none."""
    number = connection.execute(
        select(func.count()).select_from(chats).where(chats.c.importing_since.is_not(None))
    ).scalar_one()
    if not number:
        return []
    advice = (
        f"If none is running: the next import sweeps away what has rested for "
        f"{LIMITS.import_idle_minutes} minutes."
    )
    found = f"{counted(number, 'import')} not finished, not shown as a chat"
    return [Check(name="imports", ok=True, found=found, advice=advice)]


def _settling(connection: Connection) -> Check:
    """How far the work behind the replies is."""
    waiting, failed = settling.counts(connection)
    return Check(
        name="settling",
        ok=not failed,
        found=f"{counted(waiting, 'chat')} to look at, {failed:,} failed",
        advice="'talekeeper jobs' says what went wrong." if failed else None,
    )


def _replies(config: Config) -> Check:
    """Who writes replies."""
    found = "no chat model is configured; 'talekeeper chat' needs one"
    if config.chat is not None:
        found = f"written by {config.chat.model} at {config.chat.where}"
    return Check(name="replies", ok=True, found=found)


def _summaries(config: Config) -> Check:
    """Who writes summaries."""
    if config.summary is None:
        found = "the most telling sentences are chosen; no language model is configured"
        return Check(name="summaries", ok=True, found=found)
    found = f"written by {config.summary.model} at {config.summary.where}"
    return Check(name="summaries", ok=True, found=found)


def show(console: Console, checks: Sequence[Check]) -> None:
    """One line a check."""
    for check in checks:
        mark = "[green]✓[/]" if check.ok else "[red]✗[/]"
        console.print(f"{mark} {check.name}: {safe(check.found)}", highlight=False)
        if check.advice:
            console.print(f"    {safe(check.advice)}", highlight=False)
