"""What a scenario file may say, and reading one. Runs nothing.

Every key is listed here; an unknown key, or one that stands twice, is an error that names its
place. ``docs/how-to/write-a-scenario.md`` says the same in plain words.
"""

import re
from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any, Literal

import yaml
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator

__all__ = [
    "BadScenario",
    "Call",
    "ChatStart",
    "EditedSummary",
    "Expect",
    "Export",
    "Fork",
    "Import",
    "RebuiltSummary",
    "Regenerated",
    "Result",
    "Said",
    "Scenario",
    "Settled",
    "Step",
    "Swiped",
    "read_scenario",
]

MODIFIERS = frozenset({"in_", "fails", "changes"})


class BadScenario(Exception):
    """A scenario file that cannot be understood; the message says where and why."""


class _BadRepeat(Exception):
    """A ``repeat`` that is not written as it should be."""


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


class Said(_Strict):
    """A message: its text, who says it, the tools it calls."""

    text: str = ""
    by: str | None = None
    calls: list[Call] = Field(default_factory=list)


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
    """Compose in place of a message, then add what the model wrote as its next swipe."""

    message: int
    text: str
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


class ChatStart(_Strict):
    """The chat that is there when the scenario begins."""

    with_: Names | None = Field(default=None, alias="with")
    persona: str | None = None
    title: str | None = None
    greet: bool = True


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


def read_scenario(path: Path) -> Scenario:
    """The scenario in a file. BadScenario says where one cannot be understood."""
    try:
        written = yaml.load(path.read_text(encoding="utf-8"), _Loader)
        return Scenario.model_validate(_repeated(written))
    except (yaml.YAMLError, _BadRepeat) as error:
        raise BadScenario(f"{path.name}: {error}") from error
    except ValidationError as error:
        wrong = (
            f"{path.name}: {'.'.join(str(part) for part in one['loc'])}: {one['msg']}"
            for one in error.errors()
        )
        raise BadScenario("\n".join(wrong)) from error


class _Loader(yaml.SafeLoader):
    """YAML in which a key stands once, and what looks like a date is a text."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        keys = [self.construct_object(key, deep=True) for key, _ in node.value]
        for key in keys:
            if keys.count(key) > 1:
                raise yaml.constructor.ConstructorError(
                    None, None, f"the key {key!r} stands twice", node.start_mark
                )
        return super().construct_mapping(node, deep)


_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in found if not tag.endswith(":timestamp")]
    for first, found in yaml.SafeLoader.yaml_implicit_resolvers.items()
}

_COUNT = re.compile(r"\{(\d*)n([+-]\d+)?\}")


def _repeated(written: Any, n: int | None = None) -> Any:
    """The same with each ``{repeat: [first, last], of: […]}`` in a list written out.

    In the texts inside, ``{n}`` is the number of the round, ``{2n-1}`` is counted from it.
    """
    if isinstance(written, list):
        return [one for item in written for one in _rounds(item, n)]
    if isinstance(written, dict):
        return {_repeated(key, n): _repeated(value, n) for key, value in written.items()}
    if isinstance(written, str) and n is not None:
        return _COUNT.sub(lambda m: str(int(m[1] or 1) * n + int(m[2] or 0)), written)
    return written


def _rounds(item: Any, n: int | None) -> Iterator[Any]:
    if not (isinstance(item, dict) and "repeat" in item):
        yield _repeated(item, n)
        return
    match item:
        case {"repeat": [int(first), int(last)], "of": list(of), **more} if not more:
            for number in range(first, last + 1):
                yield from _repeated(of, number)
        case _:
            raise _BadRepeat("write 'repeat: [first, last]' and 'of:' with a list")
