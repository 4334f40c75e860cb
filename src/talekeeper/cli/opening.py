"""The general options, before or after the command, and the Keeper that they name."""

from collections.abc import Awaitable, Callable
from copy import copy
from typing import Any, TypeVar

import anyio
import typer
from typer.core import TyperGroup, TyperOption

from talekeeper.config import Config
from talekeeper.domain.errors import NotFound
from talekeeper.keeper import Keeper
from talekeeper.models.chat_model import ChatModel
from talekeeper.models.openai_compatible import OpenAICompatible
from talekeeper.store import accounts
from talekeeper.store.opening import open_database

__all__ = ["Group", "summary_model", "with_keeper"]

T = TypeVar("T")


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


def summary_model(config: Config) -> ChatModel | None:
    """The language model that writes summaries, None where the configuration names none."""
    return OpenAICompatible(config.summary) if config.summary else None


def with_keeper(
    context: typer.Context,
    work: Callable[[Keeper], Awaitable[T]],
    *,
    makes_account: bool = False,
) -> T:
    """Run ``work`` on the Keeper that the options name.

    The account ``default`` comes with the database; another one is made only where a command
    ``makes_account``. Else NotFound names those that there are.
    """
    config: Config = context.obj

    async def run() -> T:
        database = await open_database(config.db)
        try:
            known = {"default"} | {one.name for one in await database.read(accounts.listed)}
            if config.account not in known and not makes_account:
                named = ", ".join(sorted(known))
                raise NotFound(
                    f"There is no account {config.account!r}; there are {named}. "
                    "An import makes a new one."
                )
            model = summary_model(config)
            try:
                return await work(await Keeper.of(database, config.account, summary_model=model))
            finally:
                if model is not None:
                    await model.close()
        finally:
            await database.close()

    return anyio.run(run)
