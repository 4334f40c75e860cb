"""Reading a cell once more for lasting details: ask a model, and check what it wants to change.

Every change must rest on words that were said. Nothing is written here, and no store is known.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, ValidationError

from talekeeper.domain.deeper import CellMessage, DeeperChange
from talekeeper.domain.errors import InvalidInput, ModelError
from talekeeper.domain.limits import LIMITS
from talekeeper.domain.memory import Memory, checked_memory, repeat_key, rests_on
from talekeeper.domain.usage import Usage
from talekeeper.models.chat_model import ChatModel
from talekeeper.models.json_answers import list_in
from talekeeper.record.deeper import Reading
from talekeeper.record.memories import similar_to
from talekeeper.record.texts import checked, storable
from talekeeper.record.usage import usage_of
from talekeeper.settle.memory_prompts import deeper_prompt
from talekeeper.store.keys import lookup_key

__all__ = ["Deepener", "Read", "checked_changes"]

_ANSWER_TOKENS = 3_000
_TEMPERATURE = 0.2
_TRIES = 2
"""An answer that is no JSON is asked for once more."""

_LOOKED_AT = 100
"""So many operations of an answer are read; what comes after them is refused unread."""

_KEPT_WHOLE = 200
"""Characters: messages this short are not cut."""


class Read(NamedTuple):
    """What came of reading: the changes, or None and the reason why there are none; and what the
    model was asked for."""

    changes: Sequence[DeeperChange] | None
    usage: Sequence[Usage]
    reason: str | None = None


class Deepener:
    """Reads cells with a language model. One instance serves many callers at once."""

    def __init__(self, model: ChatModel) -> None:
        self.model = model

    async def read(self, reading: Reading) -> Read:
        """The changes the model wants, each checked. An answer that stays of no use, and an error
        that this cell will always meet, are a reason. Raises ModelError where it may succeed later,
        or the model cannot be used at all."""
        messages = _prompt(reading)
        usage: list[Usage] = []
        try:
            for _ in range(_TRIES):
                answer = await self.model.complete(
                    messages, most_tokens=_ANSWER_TOKENS, temperature=_TEMPERATURE
                )
                usage.append(usage_of("deeper", self.model.name, messages, answer))
                found = list_in(answer.text, "operations")
                if found is not None:
                    return Read(checked_changes(found, reading), usage)
        except ModelError as error:
            if not error.permanent or error.unusable:
                raise
            return Read(None, usage, str(error))
        return Read(None, usage, f"The model {self.model.name!r} did not answer with changes.")


def _prompt(reading: Reading) -> list[dict[str, str]]:
    tokens = sum(message.tokens for message in reading.messages)
    share = min(1.0, LIMITS.summary_input / max(1, tokens))
    said = [(m.number, m.speaker, _shortened(m.text, share)) for m in reading.messages]
    listed = _listed(list(reading.memories.values()))
    return deeper_prompt(
        said,
        listed,
        scopes=reading.scopes,
        user=reading.user,
        unlisted=len(reading.memories) - len(listed),
    )


def _shortened(text: str, share: float) -> str:
    """Where all is too long: the beginning and the end of what was said."""
    if share >= 1.0 or len(text) <= _KEPT_WHOLE:
        return text
    size = max(_KEPT_WHOLE, int(len(text) * share))
    return f"{text[: size * 2 // 3]} … {text[len(text) - size // 3 :]}"


def _listed(memories: Sequence[Memory]) -> list[Memory]:
    """The memories that are shown, oldest first: of very many, pinned ones and the newest."""
    left, kept = LIMITS.deeper_memory_tokens, list[Memory]()
    for memory in sorted(memories, key=lambda m: (m.pinned, m.updated_at, m.id), reverse=True):
        left -= memory.tokens
        if left < 0:
            break
        kept.append(memory)
    return sorted(kept, key=lambda memory: memory.id)


class _Operation(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")

    action: Literal["add", "update", "delete"]
    id: int | str | None = None
    text: str | None = None
    scope: Literal["character", "global"] = "character"
    character: str | None = None
    quote: str = ""
    reason: str = ""


class _Refused(Exception):
    """Why a change is not to be made."""


def checked_changes(wanted: Sequence[object], reading: Reading) -> list[DeeperChange]:
    """Every operation of an answer as a change, those that may not be made with the reason."""
    there = dict(reading.memories)
    changes: list[DeeperChange] = []
    made = deleted = 0
    for at, one in enumerate(wanted):
        change = _read(one if at < _LOOKED_AT else None, reading)
        if made >= LIMITS.deeper_operations:
            change = replace(change, refused=f"More than {LIMITS.deeper_operations} changes.")
        if change.refused is None:
            change = _checked(change, reading, there)
        if change.refused is None and change.action == "delete":
            deleted += 1
            if deleted > LIMITS.deeper_deletions:
                change = replace(change, refused=f"More than {LIMITS.deeper_deletions} deletions.")
        if change.refused is None:
            made += 1
            _foresee(change, there, -1 - at)
        changes.append(_short(change))
    return changes


def _read(one: object, reading: Reading) -> DeeperChange:
    """An operation as it came; refused where it is none, or is about nothing that is here."""
    try:
        asked = _Operation.model_validate(one)
    except ValidationError as error:
        where = ".".join(str(part) for part in error.errors()[0]["loc"]) or "it"
        action = str(one.get("action") or "?") if isinstance(one, Mapping) else "?"
        return DeeperChange(action=action, refused=f"It is no operation: {where} is wrong.")
    change = DeeperChange(
        action=asked.action,
        text=asked.text if asked.action != "delete" else None,
        quote=asked.quote,
        reason=asked.reason,
    )
    try:
        if asked.action == "add":
            return replace(change, character=_scope(asked, reading))
        given = str("" if asked.id is None else asked.id).strip().removeprefix("#").strip()
        if not (given.isascii() and given.isdigit() and len(given) < 10):
            raise _Refused(f"There is no memory {given!r} here." if given else "It names none.")
    except _Refused as refused:
        return replace(change, refused=str(refused))
    known = reading.memories.get(int(given))
    return replace(change, memory=int(given), character=known.character if known else None)


def _checked(change: DeeperChange, reading: Reading, there: Mapping[int, Memory]) -> DeeperChange:
    """The change as it may be made, or refused."""
    try:
        if change.action != "add":
            _check_known(change, there)
        message = _source(change.quote or "", reading.messages)
        change = replace(change, message=message.number)
        reason = " ".join(checked(change.reason or "").split())
        if not reason:
            raise _Refused("It gives no reason.")
        text = None
        if change.action != "delete":
            text = checked_memory(" ".join(checked(change.text or "").split()))
        change = replace(change, text=text, reason=reason)
        if change.action == "add":
            _check_new(change, there)
        elif text is not None and text == there[change.memory or 0].text:
            raise _Refused(f"Memory {change.memory} says so already.")
    except (_Refused, InvalidInput) as refused:
        return replace(change, refused=str(refused))
    return change


def _check_known(change: DeeperChange, there: Mapping[int, Memory]) -> None:
    memory = there.get(change.memory or 0)
    if memory is None:
        raise _Refused(f"There is no memory {change.memory} here.")
    if memory.pinned:
        raise _Refused(f"Memory {memory.id} is pinned.")


def _source(quote: str, messages: Sequence[CellMessage]) -> CellMessage:
    """The message in which a quote occurs."""
    if not any(letter.isalnum() for letter in quote):
        raise _Refused("It quotes nothing.")
    if len(quote) > LIMITS.memory_characters:
        raise _Refused(f"Its quote is longer than {LIMITS.memory_characters} characters.")
    checked(quote)
    for message in messages:
        if rests_on(message.text, quote):
            return message
    raise _Refused("Its quote does not occur in the messages.")


def _scope(asked: _Operation, reading: Reading) -> str | None:
    """The scope of a new memory: a character's id, None for global."""
    if asked.scope == "global":
        return None
    own = [character for character in reading.scopes if character is not None]
    if asked.character is not None and len(own) > 1:
        wanted = lookup_key(asked.character)
        named = [one for one in own if lookup_key(reading.scopes[one]) == wanted]
        if len(named) == 1:
            return named[0]
        raise _Refused(f"No character here learns as {asked.character!r}.")
    if len(own) == 1:
        return own[0]
    raise _Refused("It does not say whose memory it is." if own else "No character learns here.")


def _check_new(change: DeeperChange, there: Mapping[int, Memory]) -> None:
    # What every character knows need not be known by one of them again.
    mine = [m for m in there.values() if m.character in (None, change.character)]
    text = change.text or ""
    for memory in mine:
        if repeat_key(memory.text) == repeat_key(text):
            raise _Refused("It is saved already.")
    similar = similar_to(text, mine)
    if similar:
        raise _Refused(f'It is similar to "{similar[0].text}"')


def _foresee(change: DeeperChange, there: dict[int, Memory], new: int) -> None:
    """Let the next changes be checked against what this one leaves; ``new`` stands for the number
    of a memory that is added."""
    if change.action == "delete":
        there.pop(change.memory or 0, None)
    elif change.action == "update":
        known = there[change.memory or 0]
        there[known.id] = replace(known, text=change.text or "")
    else:
        there[new] = Memory(
            id=new,
            text=change.text or "",
            character=change.character,
            pinned=False,
            author="deeper",
            created_at=_NOT_YET,
            updated_at=_NOT_YET,
            version=0,
            tokens=0,
            tokenizer="",
        )


_NOT_YET = datetime.max.replace(tzinfo=UTC)


def _short(change: DeeperChange) -> DeeperChange:
    """The change as it can be kept: what a model writes may be of any length, or unstorable."""
    return replace(
        change,
        action=_cut(change.action, 20) or "?",
        text=_cut(change.text),
        quote=_cut(change.quote),
        reason=_cut(change.reason),
        refused=_cut(change.refused),
    )


def _cut(text: str | None, most: int = LIMITS.memory_characters) -> str | None:
    if text is None:
        return None
    text = storable(text)
    return text if len(text) <= most else f"{text[:most]}…"
