"""Playing a scenario: each step through the public Keeper, each expectation compared exactly."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import ndiff
from io import BytesIO
from typing import Any

from talekeeper import (
    Chat,
    Context,
    DepthPrompt,
    Keeper,
    Message,
    NewMessage,
    NewSwipe,
    Row,
    TalekeeperError,
    ToolCall,
)
from talekeeper.domain.chat import Role
from tests.scenarios.script import Call, Expect, Export, Import, Regenerated, Said, Scenario, Step

__all__ = ["Mismatch", "play"]


class Mismatch(AssertionError):
    """What happened is not what the scenario says; the message shows the difference."""


async def play(scenario: Scenario, keeper: Keeper) -> None:
    """Play all steps. Raises Mismatch at the first one that turns out differently."""
    stage = _Stage(keeper)
    await stage.set_up(scenario)
    for number, step in enumerate(scenario.steps, 1):
        where = f"step {number} ({step.verb.rstrip('_')})"
        try:
            await stage.perform(step)
        except Mismatch as error:
            raise Mismatch(f"{where}: {error}") from None
        except TalekeeperError as error:
            raise Mismatch(f"{where} failed: [{error.code}] {error}") from error


@dataclass
class _Stage:
    """The state of a performance: what the scenario's names mean."""

    keeper: Keeper
    chats: dict[str, str] = field(default_factory=dict)
    files: dict[str, list[bytes]] = field(default_factory=dict)

    async def set_up(self, scenario: Scenario) -> None:
        keeper = self.keeper
        if scenario.plan:
            await keeper.settings.set_plan(scenario.plan)
        if scenario.settings:
            await keeper.settings.change(**scenario.settings)
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
            _compare("the messages that changed", step.changes, changed)

    async def _do(self, step: Step) -> object:
        chat, value = self._chat(step), getattr(step, step.verb)
        messages, chats = self.keeper.messages, self.keeper.chats
        match step.verb:
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
        if step.in_ in self.chats or step.verb == "import_":
            return self.chats.get(step.in_, "")
        if step.expect and step.expect.model_fields_set == {"chats"}:
            return ""
        known = ", ".join(self.chats) or "none"
        raise Mismatch(f"there is no chat {step.in_!r} in this scenario; there are: {known}")

    async def _regenerate(self, chat: str, value: Regenerated) -> None:
        context = await self.keeper.compose(chat, replacing=value.message)
        if value.sees is not None:
            _compare("what the model sees", _expected(value.sees), _sent(context))
        await self.keeper.messages.add_swipe(chat, value.message, value.text)

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
            _compare("the outcome", [value.outcome], [report.outcome])
        if value.added is not None:
            _compare("the number of messages added", [value.added], [report.added])

    async def _export(self, chat: str, value: Export) -> None:
        out = BytesIO()
        await self.keeper.files.export_chat(chat, out)
        if value.same_as is not None:
            wanted, found = b"".join(self.files[value.same_as]), out.getvalue()
            _compare("the file", wanted.decode().splitlines(True), found.decode().splitlines(True))
        else:
            parsed = [json.loads(line) for line in out.getvalue().splitlines()]
            _compare("the file", [_json(i) for i in value.lines or ()], [_json(i) for i in parsed])

    async def _expect(self, chat: str, value: Expect) -> None:
        asked = value.model_fields_set
        if not asked or asked - {"recorded", "chats"}:
            context = await self.keeper.compose(
                chat,
                value.input,
                speaker=value.speaker,
                replacing=value.replacing,
                mode=value.mode,
                now=value.now,
                settings=value.settings,
            )
            _compare_context(value, context, await self._names())
        if value.recorded is not None:
            found = await self.keeper.messages.list(chat, limit=1_000)
            wanted = [f"{who}: {text}" for item in value.recorded for who, text in item.items()]
            _compare("what is recorded", wanted, [_shown(message) for message in found])
        if value.chats is not None:
            wanted = [f"{title}: {what}" for item in value.chats for title, what in item.items()]
            _compare("the chats", wanted, _chat_lines(await self.keeper.chats.list()))

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
        ToolCall(id=call.id, name=call.tool, arguments=_json(call.arguments)) for call in calls
    )


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def _line(item: Mapping[str, Any]) -> bytes:
    return _json(item).encode() + b"\n"


def _compare_context(value: Expect, context: Context, names: Mapping[str, str]) -> None:
    receipt = context.receipt
    if value.messages is not None:
        _compare("what is sent", _expected(value.messages), _sent(context))
    if isinstance(value.receipt, list):
        wanted = [" ".join(row.split()) for row in value.receipt]
        rows = [f"{row.reason} {_row(row, names)}" for row in receipt.rows]
        _compare("the receipt", wanted, rows)
    elif value.receipt is not None:
        for reason, expected in value.receipt.items():
            wanted = [" ".join(row.split()) for row in expected]
            rows = [_row(row, names) for row in receipt.rows if row.reason == reason]
            _compare(f"the receipt's rows with reason {reason!r}", wanted, rows)
    if value.prompt_tokens is not None:
        _compare("the prompt's tokens", [value.prompt_tokens], [receipt.prompt_tokens])
    if value.notes is not None:
        _compare("the receipt's notes", value.notes, list(receipt.notes))


def _row(row: Row, names: Mapping[str, str]) -> str:
    """A receipt row as scenarios write it, ids replaced by names."""
    source = row.source
    for key, name in names.items():
        source = source.replace(key, name)
    text = f"{row.kind} {source} {'-' if row.tokens is None else row.tokens}"
    if row.count != 1:
        text += f" x{row.count}"
    return f"{text} ({row.note})" if row.note else text


def _expected(messages: Iterable[Mapping[str, Any]]) -> list[str]:
    """The messages a scenario writes, one text each, to be compared with :func:`_sent`."""
    shown = []
    for message in messages:
        for role, content in message.items():
            said = content if isinstance(content, Mapping) else {"text": content}
            shown.append(
                _message(role, said.get("text", ""), said.get("to"), said.get("calls", ()))
            )
    return shown


def _sent(context: Context) -> list[str]:
    return [
        _message(
            message["role"],
            message["content"] or "",
            message.get("tool_call_id"),
            [
                {
                    "id": call["id"],
                    "tool": call["function"]["name"],
                    "arguments": json.loads(call["function"]["arguments"]),
                }
                for call in message.get("tool_calls", ())
            ],
        )
        for message in context.messages
    ]


def _message(role: str, text: str, to: str | None, calls: Iterable[Mapping[str, Any]]) -> str:
    shown = f"{role} to {to}: {text}" if to is not None else f"{role}: {text}"
    for call in calls:
        shown += f"\n  calls {call['id']}: {call['tool']} {_json(call.get('arguments', {}))}"
    return shown


def _shown(message: Message) -> str:
    """A recorded message: ``3 Mira, swipe 2 of 3, excluded: the text``."""
    marks = [f"{message.number} {message.speaker}"]
    if len(message.swipes) > 1:
        place = [swipe.index for swipe in message.swipes].index(message.active) + 1
        marks.append(f"swipe {place} of {len(message.swipes)}")
    marks += ["excluded"] * message.excluded + ["forgotten"] * message.forget
    return f"{', '.join(marks)}: {message.text}"


def _chat_lines(chats: Sequence[Chat]) -> list[str]:
    titles = {chat.id: chat.title for chat in chats}
    lines = []
    for chat in chats:
        line = f"{chat.title}: {chat.messages} messages"
        if chat.forked_from:
            source, number = chat.forked_from
            line += f", fork of {titles.get(source, 'a deleted chat')} at {number}"
        lines.append(line)
    return lines


def _compare(what: str, wanted: Sequence[object], found: object) -> None:
    assert isinstance(found, list)
    if list(wanted) == found:
        return
    old = [line for item in wanted for line in str(item).splitlines() or [""]]
    new = [line for item in found for line in str(item).splitlines() or [""]]
    lines = [line.rstrip("\n") for line in ndiff(old, new) if not line.startswith("?")]
    raise Mismatch(f"{what}: not as the scenario says (-) but so (+):\n" + "\n".join(lines))
