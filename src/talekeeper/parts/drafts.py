"""Drafts of memories: generated from a description, or made from chosen messages.

Nothing is saved here before a person has looked at it.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime

from sqlalchemy import Connection

from talekeeper.domain.chat import Message
from talekeeper.domain.draft import Draft, Drafted
from talekeeper.domain.errors import InvalidInput, ModelError
from talekeeper.domain.limits import LIMITS
from talekeeper.domain.memory import WriteUnit, checked_memory
from talekeeper.models.chat_model import ChatModel
from talekeeper.models.json_answers import list_in
from talekeeper.parts.desk import Desk
from talekeeper.record.accounts import plan_of
from talekeeper.record.drafts import chosen, save_drafts
from talekeeper.record.memories import Added, scope_name
from talekeeper.record.texts import checked
from talekeeper.record.usage import check_allowance, note_usage, usage_of
from talekeeper.settle.memory_prompts import draft_prompt, generate_prompt
from talekeeper.store.keys import ChatKey

__all__ = ["Drafts"]

_ANSWER_TOKENS = 2_000
_TEMPERATURE = 0.2


class Drafts:
    """Makes drafts for one account, with a model where one is needed, and saves them."""

    def __init__(self, desk: Desk, model: ChatModel | None) -> None:
        self._desk = desk
        self._model = model

    async def generate(self, description: str, *, character: str | None) -> Drafted:
        """Drafts out of a description."""
        description = checked(description).strip()
        if not description:
            raise InvalidInput("Describe in a few words what is to be remembered.")
        if len(description) > LIMITS.generate_characters:
            raise InvalidInput(
                f"A description holds at most {LIMITS.generate_characters:,} characters; this one "
                f"has {len(description):,}. Shorten it."
            )
        model = self._asked()
        whose = await self._whose(character)
        found = await self._ask(model, generate_prompt(description, whose=whose))
        return _drafted(found, character, most=LIMITS.generate_drafts)

    async def draft(self, chat: str, numbers: Collection[int], *, character: str | None) -> Drafted:
        """Drafts out of chosen messages."""
        key, model = self._desk.key(chat), self._asked()
        messages = await self._desk.read(chosen, key, numbers)
        said = [(message.number, message.speaker, message.text) for message in messages]
        whose = await self._whose(character)
        found = await self._ask(model, draft_prompt(said, whose=whose))
        units = {message.number: _unit(key, message) for message in messages}
        return _drafted(found, character, most=LIMITS.save_drafts, units=units)

    async def as_is(self, chat: str, numbers: Collection[int], *, character: str | None) -> Draft:
        """One draft of what was said, word for word."""
        key = self._desk.key(chat)
        messages = await self._desk.read(chosen, key, numbers)
        await self._whose(character)
        return Draft(
            text="\n".join(f"{message.speaker}: {message.text.strip()}" for message in messages),
            character=character,
            pinned=True,
            sources=tuple(message.number for message in messages),
            unit=_unit(key, messages[0]),
        )

    async def save(self, drafts: Sequence[Draft]) -> Sequence[Added]:
        """Save what a person accepted, all or none."""
        desk = self._desk
        return await desk.write(save_drafts, desk.account.id, drafts, now=desk.clock())

    def _asked(self) -> ChatModel:
        """The model that drafts."""
        if self._model is None:
            raise InvalidInput(
                "No language model is configured to draft memories. Set "
                "TALEKEEPER_SUMMARY_BASE_URL and TALEKEEPER_SUMMARY_MODEL, or those of the chat "
                "model; or add the memory by hand."
            )
        return self._model

    async def _whose(self, character: str | None) -> str | None:
        """The name of a character's scope, None for global. Raises NotFound."""
        name = await self._desk.read(scope_name, self._desk.account.id, character)
        return name if character is not None else None

    async def _ask(self, model: ChatModel, messages: list[dict[str, str]]) -> list[object]:
        """The drafts in the model's answer. What it took is noted, whatever the answer is."""
        desk = self._desk
        await desk.read(_check, desk.account.id, desk.clock())
        answer = await model.complete(
            messages, most_tokens=_ANSWER_TOKENS, temperature=_TEMPERATURE
        )
        used = usage_of("draft", model.name, messages, answer)
        await desk.write(note_usage, desk.account.id, [used], now=desk.clock(), new_id=desk.new_id)
        found = list_in(answer.text, "memories")
        if found is None:
            raise ModelError(
                f"The model {model.name!r} did not answer with memories. Try again, or add them by "
                "hand.",
                permanent=False,
            )
        return found


def _check(connection: Connection, account: str, now: datetime) -> None:
    check_allowance(connection, account, plan_of(connection, account), now=now)


def _unit(key: ChatKey, message: Message) -> WriteUnit:
    return WriteUnit(key.chat, message.number, message.active)


def _drafted(
    found: Sequence[object],
    character: str | None,
    *,
    most: int,
    units: Mapping[int, WriteUnit] | None = None,
) -> Drafted:
    """What can be used of an answer. With ``units``, each must rest on some of these messages."""
    drafts: list[Draft] = []
    left_out: dict[str, int] = {}
    for one in found:
        draft = _draft(one, character, units)
        if isinstance(draft, Draft) and any(draft.text == other.text for other in drafts):
            draft = "it is there twice"
        if isinstance(draft, Draft) and len(drafts) == most:
            draft = f"there are at most {most}"
        if isinstance(draft, Draft):
            drafts.append(draft)
        else:
            left_out[draft] = left_out.get(draft, 0) + 1
    notes = [f"{count} left out: {why}." for why, count in left_out.items()]
    if not found:
        notes.append("The model found nothing that is to be remembered.")
    return Drafted(drafts=drafts, notes=notes)


def _draft(
    one: object, character: str | None, units: Mapping[int, WriteUnit] | None
) -> Draft | str:
    """A draft as the model gave it, or why it is of no use."""
    given = one.get("text") if isinstance(one, Mapping) else one
    if not isinstance(given, str):
        return "it is no text"
    try:
        text = checked_memory(" ".join(checked(given).split()))
    except InvalidInput:
        long = len(given) > LIMITS.memory_characters
        return f"longer than {LIMITS.memory_characters} characters" if long else "it is no text"
    if units is None:
        return Draft(text=text, character=character)
    numbers = one.get("messages") if isinstance(one, Mapping) else None
    sources = sorted(_numbers(numbers if isinstance(numbers, list) else [numbers]) & units.keys())
    if not sources:
        return "it rests on none of the chosen messages"
    return Draft(
        text=text,
        character=character,
        pinned=True,
        sources=tuple(sources),
        unit=units[sources[0]],
    )


def _numbers(given: Iterable[object]) -> set[int]:
    found = set[int]()
    for one in given:
        text = str(one).strip().strip("#[]")
        if text.isascii() and text.isdigit() and len(text) < 10:
            found.add(int(text))
    return found
