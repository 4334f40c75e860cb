"""The general options, before or after the command, and the Keeper that they name."""

from collections.abc import Awaitable, Callable
from copy import copy
from functools import partial
from pathlib import Path
from typing import Any, Literal, TypeVar

import anyio
import typer
from typer.core import TyperGroup, TyperOption

from talekeeper.config import Config
from talekeeper.domain.errors import NotFound, StoreError
from talekeeper.keeper import Keeper
from talekeeper.models.chat_model import ChatModel
from talekeeper.models.openai_compatible import OpenAICompatible
from talekeeper.store import accounts
from talekeeper.store.database import Database
from talekeeper.store.opening import open_database

__all__ = ["Absent", "Group", "chat_model", "opened", "summary_model", "with_keeper"]

T = TypeVar("T")

Absent = Literal["refuse", "make", "pretend"]
"""What happens where the account is not there: an error; it is made, and stays unless it stays
empty; or the work is done on an empty one that is nowhere kept."""


class Group(TyperGroup):
    """Commands that take the options of Config after them too; there they win."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        general = [_after(item) for item in self.params if item.name in Config.model_fields]
        self.take(general)

    def take(self, general: list[TyperOption]) -> None:
        """Let all commands, those of groups too, take these options."""
        for command in self.commands.values():
            if isinstance(command, Group):
                command.take(general)
            else:
                command.params += general


def _after(option: Any) -> TyperOption:
    """A general option as it stands after a command: it changes the Config, not the command."""
    found: TyperOption = copy(option)
    found.expose_value = False
    found.callback = _take
    return found


def _take(context: Any, option: Any, value: str | None) -> None:
    if value is not None:
        context.obj = context.obj.model_copy(update={option.name: value})


def chat_model(config: Config) -> ChatModel | None:
    """The language model that writes replies, None where the configuration names none."""
    return OpenAICompatible(config.chat) if config.chat else None


def summary_model(config: Config) -> ChatModel | None:
    """The language model that writes summaries, None where the configuration names none."""
    return OpenAICompatible(config.summary) if config.summary else None


async def opened(config: Config) -> Database:
    """The database that the options name. Only the default one's folder is made."""
    if config.db == Config.model_fields["db"].get_default(call_default_factory=True):
        folder = Path(config.db).parent
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StoreError(f"The folder {folder} cannot be made: {error.strerror}.") from error
    return await open_database(config.db)


def with_keeper(
    context: typer.Context,
    work: Callable[[Keeper], Awaitable[T]],
    *,
    if_absent: Absent = "refuse",
) -> T:
    """Run ``work`` on the Keeper that the options name.

    The account ``default`` comes with the database. Where another one is absent, NotFound names
    those that there are, unless a command says something else.
    """
    config: Config = context.obj

    async def run() -> T:
        database = await opened(config)
        try:
            known = {"default"} | {one.name for one in await database.read(accounts.listed)}
            absent = config.account not in known
            if absent and if_absent == "pretend":
                async with Keeper.open(account=config.account, settle="off") as keeper:
                    return await work(keeper)
            if absent and if_absent == "refuse":
                named = ", ".join(sorted(known))
                raise NotFound(
                    f"There is no account {config.account!r}; there are {named}. "
                    "An import makes a new one."
                )
            replies, summaries = chat_model(config), summary_model(config)
            try:
                keeper = await Keeper.of(
                    database, config.account, chat_model=replies, summary_model=summaries
                )
                return await work(keeper)
            finally:
                if absent:
                    await database.write(partial(accounts.remove_if_empty, name=config.account))
                for model in (replies, summaries):
                    if model is not None:
                        await model.close()
        finally:
            await database.close()

    return anyio.run(run)
