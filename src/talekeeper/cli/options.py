"""Options that more than one command takes, and what they are called in settings."""

from collections.abc import Mapping
from typing import Annotated, Any, get_args

import typer

from talekeeper.compose.strategies import STRATEGIES
from talekeeper.domain.block import Mode
from talekeeper.domain.errors import InvalidInput

__all__ = [
    "AsJson",
    "ChatName",
    "ContextLimitOption",
    "InputOption",
    "LiveCapOption",
    "ModeOption",
    "ReplacingOption",
    "ReserveOption",
    "SpeakerOption",
    "StrategyOption",
    "TokenizerOption",
    "ToolsOption",
    "given",
    "mode_named",
]

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]
ChatName = Annotated[
    str, typer.Argument(metavar="CHAT", help="An id, a title, or the beginning of one.")
]
InputOption = Annotated[
    str | None,
    typer.Option("-i", "--input", metavar="TEXT", help="What you are about to say."),
]
ContextLimitOption = Annotated[
    int | None, typer.Option(min=1, metavar="N", help="Context limit in tokens.")
]
ReserveOption = Annotated[
    int | None, typer.Option(min=0, metavar="N", help="Tokens kept free for the reply.")
]
StrategyOption = Annotated[
    str | None, typer.Option(metavar="S", help=f"What gives way: {', '.join(STRATEGIES)}.")
]
LiveCapOption = Annotated[
    bool | None,
    typer.Option("--live-cap/--no-live-cap", help="Whether the live window is capped."),
]
TokenizerOption = Annotated[
    str | None,
    typer.Option(metavar="T", help="o200k_base, cl100k_base or approximate."),
]
ToolsOption = Annotated[
    bool | None,
    typer.Option("--tools/--no-tools", help="Whether the model is offered tools to save memories."),
]
SpeakerOption = Annotated[
    str | None, typer.Option(metavar="NAME-OR-ID", help="Who replies, in a group.")
]
ReplacingOption = Annotated[
    int | None, typer.Option(metavar="NUMBER", help="As if this reply were regenerated.")
]
ModeOption = Annotated[str, typer.Option(help="reply, continue or impersonate.")]


def given(**options: Any) -> Mapping[str, Any]:
    """The options that the user gave, by name."""
    return {name: value for name, value in options.items() if value is not None}


def mode_named(name: str) -> Mode:
    """The mode of that name. InvalidInput lists them."""
    for mode in get_args(Mode):
        if mode == name:
            found: Mode = mode
            return found
    raise InvalidInput(f"There is no mode {name!r}; there are {', '.join(get_args(Mode))}.")
