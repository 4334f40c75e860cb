"""The scopes of saved memories as options name them: ``--global``, or ``--character``."""

from dataclasses import dataclass
from typing import Annotated

import typer

from talekeeper.domain.errors import InvalidInput
from talekeeper.domain.limits import LIMITS
from talekeeper.keeper import Keeper

__all__ = [
    "CharacterOption",
    "GlobalOption",
    "Scope",
    "filled",
    "names_of",
    "scope_if_any",
    "scope_of",
]

GlobalOption = Annotated[
    bool, typer.Option("--global", help="The global scope: every character sees it.")
]
CharacterOption = Annotated[
    str | None, typer.Option("--character", metavar="NAME-OR-ID", help="A character's scope.")
]


@dataclass(frozen=True, kw_only=True, slots=True)
class Scope:
    """A scope: a character's id, or None for global, and what it is called."""

    character: str | None
    name: str


async def scope_if_any(keeper: Keeper, everywhere: bool, character: str | None) -> Scope | None:
    """The scope that the options name, if they name one. InvalidInput for two."""
    if everywhere and character is not None:
        raise InvalidInput("Say --global or --character, not both.")
    if character is not None:
        found = await keeper.characters.get(character)
        return Scope(character=found.id, name=found.name)
    return Scope(character=None, name="global") if everywhere else None


async def scope_of(keeper: Keeper, everywhere: bool, character: str | None) -> Scope:
    """The scope that the options name. InvalidInput unless it is exactly one."""
    found = await scope_if_any(keeper, everywhere, character)
    if found is None:
        raise InvalidInput("Say of which scope: --global, or --character NAME.")
    return found


async def names_of(keeper: Keeper) -> dict[str | None, str]:
    """What each scope is called: ``global`` first, then the characters by name."""
    names: dict[str | None, str] = {None: "global"}
    names.update((one.id, one.name) for one in await keeper.characters.list())
    return names


def filled(unpinned: int, pinned: int) -> str:
    """How full a scope is: "12/100 · 3/20 pinned"."""
    return f"{unpinned}/{LIMITS.memories} · {pinned}/{LIMITS.pinned_memories} pinned"
