"""The tools by which a character keeps its memories: what a model is told of them, and reading what
it asks for. What becomes of that is not decided here."""

import json
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from talekeeper.domain.limits import LIMITS

__all__ = [
    "BELONGS",
    "MEMORY_TOOLS",
    "TOOLS_TEXT",
    "AddMemory",
    "DeleteMemory",
    "ToolError",
    "UpdateMemory",
    "asked_for",
]

BELONGS = (
    "A memory is a fact that stays true for weeks: the name somebody wants to be called by, a "
    "birthday, an allergy, a boundary, an explicit promise. Not what happens in the story, today's "
    "mood or how people feel about each other: the summary of the conversation keeps that."
)
"""What is saved and what is not; in every prompt that may lead to a memory."""


class ToolError(Exception):
    """A call that cannot be done; the message tells the model what to do instead."""


class _Call(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")


class AddMemory(_Call):
    """Save a new memory."""

    text: str
    scope: Literal["character", "global"] = "character"


class UpdateMemory(_Call):
    """Let a memory say something else."""

    id: int | str
    text: str


class DeleteMemory(_Call):
    """Delete a memory."""

    id: int | str


_CALLS: Mapping[str, type[AddMemory | UpdateMemory | DeleteMemory]] = MappingProxyType(
    {"add_memory": AddMemory, "update_memory": UpdateMemory, "delete_memory": DeleteMemory}
)

_ID = {"type": ["integer", "string"], "description": "The number after # in the list of memories."}
_TEXT = {
    "type": "string",
    "maxLength": LIMITS.memory_characters,
    "description": "One fact in one sentence, with names, in the language of the conversation.",
}


def _tool(name: str, description: str, **properties: Any) -> Mapping[str, Any]:
    optional = ("scope",)
    return {
        "type": "function",
        "function": {
            "name": name,
            "description": description,
            "parameters": {
                "type": "object",
                "properties": properties,
                "required": [key for key in properties if key not in optional],
                "additionalProperties": False,
            },
        },
    }


MEMORY_TOOLS: tuple[Mapping[str, Any], ...] = (
    _tool(
        "add_memory",
        f"Save something new that must not be forgotten. {BELONGS}",
        text=_TEXT,
        scope={
            "type": "string",
            "enum": ["character", "global"],
            "description": "character: only you know it (default). global: every character does.",
        },
    ),
    _tool(
        "update_memory",
        "Correct a memory that is no longer true or needs a detail. Give the whole new text.",
        id=_ID,
        text=_TEXT,
    ),
    _tool(
        "delete_memory", "Delete a memory that is wrong or that you were asked to forget.", id=_ID
    ),
)
"""In the shape of OpenAI chat completions."""


TOOLS_TEXT = json.dumps(MEMORY_TOOLS, ensure_ascii=False)
"""About what a model reads of them: each server writes them in its own way."""


def asked_for(name: str, arguments: str) -> AddMemory | UpdateMemory | DeleteMemory:
    """What a call asks for. Raises ToolError for a tool that is not there, or arguments that are
    not what it takes."""
    call = _CALLS.get(name.strip())
    if call is None:
        raise ToolError(f"There is no tool {name!r}; there are {', '.join(_CALLS)}.")
    try:
        given = json.loads(arguments.strip() or "{}", strict=False)
        # Some servers encode the arguments twice.
        given = json.loads(given, strict=False) if isinstance(given, str) else given
        return call.model_validate(given)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"]) or "the arguments"
        raise ToolError(f"{where}: {first['msg']}. Call {name} again with all it needs.") from None
    except (ValueError, RecursionError):
        raise ToolError(f"The arguments of {name} are no JSON object. Call it again.") from None
