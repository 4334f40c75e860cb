"""Playing a scenario: each step through the public Keeper, each expectation compared exactly."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from io import BytesIO
from typing import Any

from talekeeper import (
    Context,
    DepthPrompt,
    Keeper,
    NewMessage,
    NewSwipe,
    TalekeeperError,
    ToolCall,
)
from talekeeper.domain.chat import Role
from talekeeper.parts.summaries import SummaryView
from tests.scenarios.comparing import Mismatch, compare
from tests.scenarios.remembering import MEMORY_VERBS, Remembering
from tests.scenarios.script import (
    Call,
    Expect,
    Export,
    Import,
    RebuiltSummary,
    Regenerated,
    Said,
    Scenario,
    Settled,
    Start,
    Step,
)
from tests.scenarios.scripted import Actors
from tests.scenarios.shown import (
    chat_lines,
    expected_messages,
    expected_node,
    message_line,
    node_head,
    node_line,
    row_line,
    sent_messages,
    to_json,
)

__all__ = ["play"]


async def play(scenario: Scenario, actors: Actors) -> None:
    """Play all steps. Raises Mismatch at the first one that turns out differently."""
    stage = _Stage(actors)
    await stage.set_up(scenario)
    for number, step in enumerate(scenario.steps, 1):
        where = f"step {number} ({step.verb.rstrip('_')})"
        try:
            await stage.perform(step)
        except Mismatch as error:
            raise Mismatch(f"{where}: {error}") from None
        except TalekeeperError as error:
            raise Mismatch(f"{where} failed: [{error.code}] {error}") from error


_LISTINGS = frozenset({"recorded", "chats", "summary", "not_in_summary", "memories"})
"""What is looked at without composing a prompt."""


@dataclass
class _Stage:
    """The state of a performance: what the scenario's names mean."""

    actors: Actors
    chats: dict[str, str] = field(default_factory=dict)
    files: dict[str, list[bytes]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.keeper: Keeper = self.actors.keeper
        self.remembering = Remembering(self.actors, self.chats)

    async def set_up(self, scenario: Scenario) -> None:
        keeper = self.keeper
        if scenario.plan:
            await keeper.settings.set_plan(scenario.plan)
        # Their schemas would have to be counted in every scenario.
        await keeper.settings.change(**{"tools": False, **scenario.settings})
        names = []
        for fields in scenario.characters:
            character = await keeper.characters.add(**_card_fields(fields))
            names.append(character.name)
        for persona in scenario.personas:
            await keeper.personas.add(persona.name, persona.description)
        start = scenario.chat
        if start == "none" or not names:
            return
        chat = await keeper.chats.start(
            *(names if start.with_ is None else start.with_),
            title=start.title,
            persona=start.persona,
            greet=start.greet,
        )
        self.chats["main"] = chat.id

    async def perform(self, step: Step) -> None:
        """Do one step; hold it against its ``fails`` and ``changes``."""
        try:
            changed = await self._do(step)
        except TalekeeperError as error:
            if step.fails is None:
                raise
            ((code, phrase),) = step.fails.items()
            if error.code != code or phrase not in str(error):
                raise Mismatch(
                    f"it failed otherwise:\n- [{code}] …{phrase}…\n+ [{error.code}] {error}"
                ) from error
            return
        if step.fails is not None:
            raise Mismatch(f"it should have failed with {step.fails}, but did not")
        if step.changes is not None:
            compare("the messages that changed", step.changes, changed)

    async def _do(self, step: Step) -> object:
        chat, value = self._chat(step), getattr(step, step.verb)
        messages, chats = self.keeper.messages, self.keeper.chats
        match step.verb:
            case verb if verb in MEMORY_VERBS:
                await self.remembering.act(chat, verb, value)
            case "reply" if value.writes is not None or value.sees is not None:
                await self.remembering.reply(chat, value)
            case "regenerate" if value.writes is not None:
                await self.remembering.reply(chat, value, replacing=value.message)
            case "start":
                await self._start(value)
            case "say" | "reply" | "narrate":
                roles: dict[str, Role] = {"say": "user", "reply": "assistant", "narrate": "system"}
                await messages.add(chat, _new(roles[step.verb], value))
            case "result":
                await self.keeper.record(
                    chat, value.text, role="tool", speaker=value.by, tool_call_id=value.to
                )
            case "swipe":
                number = value.message or (await messages.list(chat, limit=1))[-1].number
                await messages.add_swipe(chat, number, value.text, tool_calls=_calls(value.calls))
            case "choose":
                await messages.choose_swipe(chat, value.message, value.swipe)
            case "regenerate":
                await self._regenerate(chat, value)
            case "edit":
                number = value.message or (await messages.list(chat, limit=1))[-1].number
                await messages.edit(chat, number, value.text, swipe=value.swipe)
            case "exclude" | "include" | "forget" | "unforget":
                return list(await getattr(messages, step.verb)(chat, *value))
            case "delete" | "delete_turn":
                return list(await getattr(messages, step.verb)(chat, value))
            case "rewind":
                await chats.rewind(chat, value)
            case "settle":
                await self._settle(chat, value)
            case "edit_summary":
                await self.keeper.summaries.edit(chat, value.node, value.text)
            case "rebuild_summary":
                await self._rebuild(chat, value)
            case "fork":
                fork = await chats.fork(chat, value.at, title=value.title)
                self.chats[value.as_] = fork.id
            case "join":
                await chats.join(chat, *value)
            case "leave":
                await chats.leave(chat, value)
            case "persona":
                await chats.set_persona(chat, value)
            case "rename":
                await chats.rename(chat, value)
            case "set":
                await self.keeper.settings.change(chat, **value)
            case "plan":
                await self.keeper.settings.set_plan(value)
            case "import_":
                await self._import(value)
            case "export":
                await self._export(chat, value)
            case "expect":
                await self._expect(chat, value)
            case other:
                raise Mismatch(f"nobody knows how to {other!r}")
        return None

    def _chat(self, step: Step) -> str:
        if step.in_ in self.chats or step.verb in ("import_", "start", *MEMORY_VERBS):
            return self.chats.get(step.in_, "")
        if step.expect and step.expect.model_fields_set <= {"chats", "memories"}:
            return ""
        known = ", ".join(self.chats) or "none"
        raise Mismatch(f"there is no chat {step.in_!r} in this scenario; there are: {known}")

    async def _regenerate(self, chat: str, value: Regenerated) -> None:
        context = await self.keeper.compose(chat, replacing=value.message, now=self.actors.clock())
        if value.sees is not None:
            compare("what the model sees", expected_messages(value.sees), sent_messages(context))
        await self.keeper.messages.add_swipe(chat, value.message, value.text)

    async def _start(self, value: Start) -> None:
        names = [one.name for one in await self.keeper.characters.list()]
        chat = await self.keeper.chats.start(
            *(names if value.with_ is None else value.with_),
            title=value.title,
            persona=value.persona,
            channel=value.channel,
            greet=value.greet,
        )
        self.chats[value.as_] = chat.id

    async def _settle(self, chat: str, value: Settled) -> None:
        settled = await self.keeper.summaries.settle(chat)
        for outcome in settled.failed:
            raise Mismatch(f"settling failed: {outcome.reason}")
        if value.made is not None:
            compare("the number of summaries made", [value.made], [settled.made])

    async def _rebuild(self, chat: str, value: RebuiltSummary) -> None:
        asked = await self.keeper.summaries.rebuild(
            chat, value.node, overwrite_edits=value.overwrite_edits
        )
        if value.asked is not None:
            compare("the number of summaries to be made anew", [value.asked], [asked])

    async def _import(self, value: Import) -> None:
        begun: Sequence[bytes] = []
        if value.begins_as is not None:
            begun = self.files[value.begins_as][: value.until]
        lines = [*begun, *(_line(item) for item in value.lines)]
        self.files[value.file] = lines
        report = await self.keeper.files.import_stream(BytesIO(b"".join(lines)), value.file)
        if report.id is not None:
            self.chats.setdefault("main", report.id)
            if value.as_ is not None:
                self.chats[value.as_] = report.id
        if value.outcome is not None:
            compare("the outcome", [value.outcome], [report.outcome])
        if value.added is not None:
            compare("the number of messages added", [value.added], [report.added])

    async def _export(self, chat: str, value: Export) -> None:
        out = BytesIO()
        await self.keeper.files.export_chat(chat, out)
        if value.same_as is not None:
            wanted, found = b"".join(self.files[value.same_as]), out.getvalue()
            compare("the file", wanted.decode().splitlines(True), found.decode().splitlines(True))
        else:
            parsed = [json.loads(line) for line in out.getvalue().splitlines()]
            compare(
                "the file", [to_json(i) for i in value.lines or ()], [to_json(i) for i in parsed]
            )

    async def _expect(self, chat: str, value: Expect) -> None:
        asked = value.model_fields_set
        if not asked or asked - _LISTINGS:
            context = await self.keeper.compose(
                chat,
                value.input,
                speaker=value.speaker,
                replacing=value.replacing,
                mode=value.mode,
                now=value.now or self.actors.clock(),
                settings=value.settings,
            )
            _compare_context(value, context, await self._names())
        if value.recorded is not None:
            found = await self.keeper.messages.list(chat, limit=1_000)
            wanted = [f"{who}: {text}" for item in value.recorded for who, text in item.items()]
            compare("what is recorded", wanted, [message_line(message) for message in found])
        if value.chats is not None:
            wanted = [f"{title}: {what}" for item in value.chats for title, what in item.items()]
            compare("the chats", wanted, chat_lines(await self.keeper.chats.list()))
        if value.memories is not None:
            await self.remembering.compare(value.memories)
        if asked & {"summary", "not_in_summary"}:
            _compare_summary(value, await self.keeper.summaries.show(chat))

    async def _names(self) -> Mapping[str, str]:
        names = {character.id: character.name for character in await self.keeper.characters.list()}
        return names | {persona.id: persona.name for persona in await self.keeper.personas.list()}


def _card_fields(fields: Mapping[str, Any]) -> dict[str, Any]:
    card = dict(fields)
    if "alternate_greetings" in card:
        card["alternate_greetings"] = tuple(card["alternate_greetings"])
    if "depth_prompt" in card:
        card["depth_prompt"] = DepthPrompt(**card["depth_prompt"])
    return card


def _new(role: Role, said: Said) -> NewMessage:
    swipe = NewSwipe(text=said.text, tool_calls=_calls(said.calls))
    return NewMessage(role=role, swipes=(swipe,), speaker=said.by)


def _calls(calls: Iterable[Call]) -> tuple[ToolCall, ...]:
    return tuple(
        ToolCall(id=call.id, name=call.tool, arguments=to_json(call.arguments)) for call in calls
    )


def _line(item: Mapping[str, Any]) -> bytes:
    return to_json(item).encode() + b"\n"


def _compare_context(value: Expect, context: Context, names: Mapping[str, str]) -> None:
    receipt = context.receipt
    if value.messages is not None:
        compare("what is sent", expected_messages(value.messages), sent_messages(context))
    if isinstance(value.receipt, list):
        wanted = [" ".join(row.split()) for row in value.receipt]
        rows = [f"{row.reason} {row_line(row, names)}" for row in receipt.rows]
        compare("the receipt", wanted, rows)
    elif value.receipt is not None:
        for reason, expected in value.receipt.items():
            wanted = [" ".join(row.split()) for row in expected]
            rows = [row_line(row, names) for row in receipt.rows if row.reason == reason]
            compare(f"the receipt's rows with reason {reason!r}", wanted, rows)
    if value.prompt_tokens is not None:
        compare("the prompt's tokens", [value.prompt_tokens], [receipt.prompt_tokens])
    if value.notes is not None:
        compare("the receipt's notes", value.notes, list(receipt.notes))


def _compare_summary(value: Expect, view: SummaryView) -> None:
    if value.summary is not None:
        wanted = [expected_node(item) for item in value.summary]
        texts = [": " in line for line in wanted]
        texts += [True] * len(view.nodes)
        found = [
            node_line(node, view) if text else node_head(node, view)
            for node, text in zip(view.nodes, texts, strict=False)
        ]
        compare("the summary", wanted, found)
    if value.not_in_summary is not None:
        compare("the messages not in the summary", [value.not_in_summary], [view.waiting])
