"""What a scenario file may say. Runs nothing, and reads no file.

Every key is listed here; an unknown one is an error that names its place.
``docs/how-to/write-a-scenario.md`` says the same in plain words.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

__all__ = [
    "Call",
    "ChatStart",
    "Cleared",
    "EditedMemory",
    "EditedSummary",
    "Expect",
    "Export",
    "Fork",
    "Import",
    "Moved",
    "RebuiltSummary",
    "Regenerated",
    "Remembered",
    "Result",
    "Said",
    "Scenario",
    "Settled",
    "Start",
    "Step",
    "Swiped",
    "Undone",
    "Write",
]

MODIFIERS = frozenset({"in_", "fails", "changes"})


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=False)


def _as_list(value: object) -> object:
    return value if isinstance(value, list) else [value]


Numbers = Annotated[list[int], BeforeValidator(_as_list)]
Names = Annotated[list[str], BeforeValidator(_as_list)]


def _short(key: str) -> BeforeValidator:
    """A plain value stands for a mapping with the one key."""
    return BeforeValidator(lambda value: value if isinstance(value, Mapping) else {key: value})


class Call(_Strict):
    """A tool call inside a reply."""

    id: str
    tool: str
    arguments: dict[str, Any] = Field(default_factory=dict)


class Write(_Strict):
    """A memory that the character writes while it replies: one of ``add``, ``update``, ``delete``.

    ``told`` is a phrase of the error that it is answered with, where it is refused.
    """

    add: str | None = None
    update: int | str | None = None
    delete: int | str | None = None
    text: str | None = None
    scope: Literal["character", "global"] = "character"
    told: str | None = None

    @model_validator(mode="after")
    def _one(self) -> "Write":
        if sum(one is not None for one in (self.add, self.update, self.delete)) != 1:
            raise ValueError("a write is one of 'add', 'update' and 'delete'")
        return self


class Said(_Strict):
    """A message: its text, who says it, the tools it calls.

    Of a reply also what the model sees, and the memories it writes: then a model is asked for it.
    """

    text: str = ""
    by: str | None = None
    calls: list[Call] = Field(default_factory=list)
    writes: list[Write] | None = None
    sees: list[dict[str, Any]] | None = None


class Result(_Strict):
    """What a tool answered to the call ``to``."""

    to: str
    text: str
    by: str | None = None


class Swiped(_Strict):
    """Another text for a message; without ``message`` the newest. ``swipe`` counts from 0."""

    text: str
    message: int | None = None
    swipe: int | None = None
    calls: list[Call] = Field(default_factory=list)


class Chosen(_Strict):
    """Which of a message's texts is shown, counted from 0."""

    message: int
    swipe: int


class Regenerated(_Strict):
    """Compose in place of a message, then add what the model wrote as its next swipe.

    With ``writes`` a model is asked, which writes these memories meanwhile.
    """

    message: int
    text: str
    writes: list[Write] | None = None
    sees: "list[dict[str, Any]] | None" = None


class Settled(_Strict):
    """The summary is brought up to date; ``made`` is how many of its nodes were made."""

    made: int | None = None


class EditedSummary(_Strict):
    """A person's text for a node of the summary."""

    node: str
    text: str


class RebuiltSummary(_Strict):
    """A node, or all, is to be made anew when the summary is settled next; ``asked`` says how many.

    What a person wrote is left alone unless ``overwrite_edits``.
    """

    node: str | None = None
    overwrite_edits: bool = False
    asked: int | None = None


class Remembered(_Strict):
    """A memory that a person adds: ``of`` a character, else global."""

    text: str
    of: str | None = None
    pinned: bool = False


class EditedMemory(_Strict):
    """A person lets a memory say something else."""

    memory: int
    text: str


class Moved(_Strict):
    """A memory is filed under the character ``to``; without one it is global."""

    memory: int
    to: str | None = None


class Undone(_Strict):
    """A change of a memory is taken back, by default the last."""

    memory: int
    change: int | None = None


class Cleared(_Strict):
    """The memories ``of`` a character, else the global ones, go to the trash: the unpinned or the
    ``pinned`` ones. ``cleared`` is how many they are."""

    of: str | None = None
    pinned: bool = False
    cleared: int | None = None


class Fork(_Strict):
    """A copy up to a message; ``as`` is what the scenario calls it."""

    at: int
    as_: str = Field(alias="as")
    title: str | None = None


class Import(_Strict):
    """A chat file: ``lines``, after the first ``until`` lines of an earlier file ``begins_as``."""

    file: str
    lines: list[dict[str, Any]] = Field(default_factory=list)
    begins_as: str | None = None
    until: int | None = None
    as_: str | None = Field(default=None, alias="as")
    outcome: Literal["new", "longer", "branch", "present"] | None = None
    added: int | None = None


class Export(_Strict):
    """What a chat is as a file: the bytes of a file imported before, or these lines."""

    same_as: str | None = None
    lines: list[dict[str, Any]] | None = None

    @model_validator(mode="after")
    def _one(self) -> "Export":
        if (self.same_as is None) == (self.lines is None):
            raise ValueError("give either the name of a file or 'lines'")
        return self


class Expect(_Strict):
    """What is asked of compose, and all that must be so now."""

    input: str | None = None
    speaker: str | None = None
    replacing: int | None = None
    mode: Literal["reply", "continue", "impersonate"] = "reply"
    now: datetime | None = None
    settings: dict[str, Any] = Field(default_factory=dict)
    messages: list[dict[str, Any]] | None = None
    receipt: list[str] | dict[str, list[str]] | None = None
    prompt_tokens: int | None = None
    notes: list[str] | None = None
    recorded: list[dict[str, str]] | None = None
    chats: list[dict[str, str]] | None = None
    summary: list[str | dict[str, str]] | None = None
    not_in_summary: int | None = None
    memories: dict[str, list[dict[int | str, str]]] | None = None


class ChatStart(_Strict):
    """The chat that is there when the scenario begins."""

    with_: Names | None = Field(default=None, alias="with")
    persona: str | None = None
    title: str | None = None
    greet: bool = True


class Start(ChatStart):
    """Another chat, which the scenario calls ``as``; its ``channel`` may be a challenge."""

    as_: str = Field(alias="as")
    channel: Literal["web", "discord", "telegram", "challenge"] = "web"


class Step(_Strict):
    """One thing that happens: one verb, and perhaps ``in``, ``fails`` and ``changes``."""

    say: Annotated[Said, _short("text")] | None = None
    reply: Annotated[Said, _short("text")] | None = None
    narrate: Annotated[Said, _short("text")] | None = None
    result: Result | None = None
    swipe: Annotated[Swiped, _short("text")] | None = None
    choose: Chosen | None = None
    regenerate: Regenerated | None = None
    edit: Swiped | None = None
    delete: int | None = None
    delete_turn: int | None = None
    exclude: Numbers | None = None
    include: Numbers | None = None
    forget: Numbers | None = None
    unforget: Numbers | None = None
    rewind: int | None = None
    settle: Annotated[Settled, _short("made")] | None = None
    edit_summary: EditedSummary | None = None
    rebuild_summary: Annotated[RebuiltSummary, _short("node")] | None = None
    remember: Annotated[Remembered, _short("text")] | None = None
    edit_memory: EditedMemory | None = None
    delete_memory: int | None = None
    pin: int | None = None
    unpin: int | None = None
    move: Moved | None = None
    restore: int | None = None
    undo: Annotated[Undone, _short("memory")] | None = None
    undo_turn: int | None = None
    clear: Cleared | None = None
    learn_on: str | None = None
    learn_off: str | None = None
    start: Start | None = None
    delete_chat: str | None = None
    delete_character: str | None = None
    wait: int | None = None
    fork: Fork | None = None
    join: Names | None = None
    leave: str | None = None
    persona: str | None = None
    rename: str | None = None
    set: dict[str, Any] | None = None
    plan: str | None = None
    import_: Import | None = Field(default=None, alias="import")
    export: Annotated[Export, _short("same_as")] | None = None
    expect: Expect | None = None
    in_: str = Field(default="main", alias="in")
    fails: dict[str, str] | None = None
    changes: list[int] | None = None

    @model_validator(mode="after")
    def _one_verb(self) -> "Step":
        verbs = self.model_fields_set - MODIFIERS
        if len(verbs) != 1:
            found = ", ".join(sorted(verbs)) or "none"
            raise ValueError(f"a step does exactly one thing; this one: {found}")
        if self.fails is not None and len(self.fails) != 1:
            raise ValueError("'fails' names one error code and a phrase of its message")
        return self

    @property
    def verb(self) -> str:
        """The one key that says what happens."""
        (verb,) = self.model_fields_set - MODIFIERS
        return verb


class PersonaScript(_Strict):
    """Whom the user can play."""

    name: str
    description: str = ""


class Scenario(_Strict):
    """A scripted chat and what it must come to."""

    about: str
    characters: list[dict[str, Any]] = Field(default_factory=list)
    personas: list[PersonaScript] = Field(default_factory=list)
    settings: dict[str, Any] = Field(default_factory=dict)
    plan: str | None = None
    chat: ChatStart | Literal["none"] = ChatStart()
    steps: list[Step] = Field(min_length=1)
