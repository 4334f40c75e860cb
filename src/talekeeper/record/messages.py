"""Adding messages and swipes, and everything that can be done to them."""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from typing import get_args

from sqlalchemy import Connection

from talekeeper.domain.cell import place
from talekeeper.domain.chat import Message, Part, Role, Swipe, ToolCall
from talekeeper.domain.errors import Conflict, InvalidInput, NotFound
from talekeeper.domain.limits import LIMITS
from talekeeper.record.following import follow, follow_rewind
from talekeeper.record.texts import check_texts, checked, checked_name
from talekeeper.record.tool_groups import groups, reaching_over
from talekeeper.store import chats as chat_rows
from talekeeper.store import lines as line_rows
from talekeeper.store import live as live_rows
from talekeeper.store import messages as rows
from talekeeper.store import participants as participant_rows
from talekeeper.store import summaries as summary_rows
from talekeeper.store.chats import ChatState
from talekeeper.store.keys import ChatKey, lookup_key
from talekeeper.text.tokens import tokenizer_named

__all__ = [
    "NewMessage",
    "NewSwipe",
    "add",
    "add_swipe",
    "choose_swipe",
    "delete",
    "delete_turn",
    "edit",
    "exclude",
    "forget",
    "rewind",
]


@dataclass(frozen=True, kw_only=True, slots=True)
class NewSwipe:
    """A text to be recorded; empty only beside tool calls or parts, or as a tool's result."""

    text: str
    sent_at: datetime | None = None
    model: str | None = None
    reasoning: str | None = None
    tool_calls: tuple[ToolCall, ...] = ()
    parts: tuple[Part, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class NewMessage:
    """A message to be recorded.

    ``speaker`` is a participant's id or name for a character, any name otherwise; without it the
    persona speaks, or the only character. The first swipe is active. ``external_id`` makes the
    write idempotent: a message that carries it already is returned as it is.
    """

    role: Role
    swipes: tuple[NewSwipe, ...]
    speaker: str | None = None
    external_id: str | None = None
    tool_call_id: str | None = None


def add(
    connection: Connection,
    key: ChatKey,
    new: NewMessage,
    *,
    now: datetime,
    expected_version: int | None = None,
) -> Message:
    """Append a message. ``expected_version`` is the chat's. Raises Conflict, InvalidInput."""
    _check_new(new)
    state = chat_rows.state(connection, key, lock=True)
    if new.external_id is not None:
        number = rows.number_of(connection, key, new.external_id)
        if number is not None:
            return rows.get(connection, key, number)
    _expect(expected_version, state.version, "chat")
    speaker, character_id = _speaker(connection, state, new)
    number = state.next_number
    swipes = tuple(_swipe(state, index, swipe, new.role) for index, swipe in enumerate(new.swipes))
    turn, cell = place(
        live_rows.tail(connection, key),
        number=number,
        role=new.role,
        live_cap=state.settings.live_cap_tokens(state.plan),
        limits=LIMITS,
    )
    message = Message(
        number=number,
        role=new.role,
        speaker=speaker,
        character_id=character_id,
        active=0,
        turn=turn,
        cell=cell,
        version=1,
        swipes=swipes,
        learnable=_learnable(connection, key, character_id),
        external_id=new.external_id,
        tool_call_id=new.tool_call_id,
    )
    rows.insert_message(connection, key, message)
    chat_rows.change(connection, key, now=now, next_number=number + 1, messages=state.messages + 1)
    if cell != number:
        # The cell may have been summarised, and have become the last one again since.
        summary_rows.refresh(connection, key, [cell])
    return message


def _learnable(connection: Connection, key: ChatKey, character_id: str | None) -> bool:
    """Whether memories may be made of what is said: of a character's if it learns, of all else if
    anybody there does."""
    learning = participant_rows.learning(connection, key)
    if character_id is not None:
        return learning.get(character_id, True)
    return not learning or any(learning.values())


def _check_new(new: NewMessage) -> None:
    if new.role not in get_args(Role):
        raise InvalidInput(f"There is no role {new.role!r}; there are {', '.join(get_args(Role))}.")
    for mark in (new.external_id, new.tool_call_id):
        if mark is not None and (not mark or len(checked(mark)) > LIMITS.title_characters):
            raise InvalidInput(f"An id holds 1 to {LIMITS.title_characters} characters.")
    if not new.swipes:
        raise InvalidInput("A message needs at least one swipe.")
    if len(new.swipes) > LIMITS.swipes:
        raise InvalidInput(f"A message holds at most {LIMITS.swipes} swipes.")
    if (new.role == "tool") != (new.tool_call_id is not None):
        raise InvalidInput("A tool message, and only a tool message, names its tool_call_id.")


def _swipe(state: ChatState, index: int, new: NewSwipe, role: Role) -> Swipe:
    text = checked(new.text)
    if not text.strip() and not (new.tool_calls or new.parts or role == "tool"):
        raise InvalidInput("The text of a message must not be empty.")
    if new.tool_calls and role != "assistant":
        raise InvalidInput("Only a character's message can hold tool calls.")
    check_texts([new.model, [asdict(call) for call in new.tool_calls]])
    check_texts([part.url for part in new.parts])
    tokenizer = tokenizer_named(state.settings.tokenizer)
    return Swipe(
        index=index,
        text=text,
        tokens=tokenizer.count(text),
        tokenizer=tokenizer.name,
        sent_at=new.sent_at,
        model=new.model,
        reasoning=checked(new.reasoning) if new.reasoning else None,
        tool_calls=new.tool_calls,
        parts=new.parts,
    )


def _speaker(connection: Connection, state: ChatState, new: NewMessage) -> tuple[str, str | None]:
    """The (name, character id) of who speaks."""
    if new.role == "assistant":
        return _character(connection, state, new.speaker)
    if new.speaker:
        return checked_name(new.speaker, "A speaker's name"), None
    if new.role == "user" and state.persona:
        return state.persona.name, None
    return {"user": "User", "system": "Narrator", "tool": "Tool"}[new.role], None


def _character(
    connection: Connection, state: ChatState, wanted: str | None
) -> tuple[str, str | None]:
    members = participant_rows.of_chat(connection, state.key)
    if not members:
        raise InvalidInput("This chat has no characters; let one join first.")
    if wanted is None:
        if len(members) != 1:
            raise InvalidInput("This chat has several characters: say which one speaks.")
        return members[0].name, members[0].character_id
    key = lookup_key(wanted)
    for member in members:
        if wanted == member.character_id:
            return member.name, member.character_id
    for member in members:
        if lookup_key(member.name) == key:
            return member.name, member.character_id
    names = ", ".join(repr(member.name) for member in members)
    raise NotFound(f"{wanted!r} is not in this chat; its characters are {names}.")


def add_swipe(
    connection: Connection,
    key: ChatKey,
    number: int,
    new: NewSwipe,
    *,
    now: datetime,
    expected_version: int | None = None,
) -> Message:
    """Add an alternative text and make it the active one. ``expected_version`` is the message's."""
    state, message = _locked(connection, key, number, expected_version)
    if len(message.swipes) >= LIMITS.swipes:
        raise InvalidInput(f"Message {number} has {LIMITS.swipes} swipes already.")
    swipe = _swipe(state, message.swipes[-1].index + 1, new, message.role)
    rows.insert_swipe(connection, key, number, swipe)
    learns = message.learnable and _learnable(connection, key, message.character_id)
    return _changed(connection, key, number, now=now, active=swipe.index, learnable=learns)


def choose_swipe(
    connection: Connection,
    key: ChatKey,
    number: int,
    swipe: int,
    *,
    now: datetime,
    expected_version: int | None = None,
) -> Message:
    """Make one of a message's swipes the active one."""
    _, message = _locked(connection, key, number, expected_version)
    if all(swipe != other.index for other in message.swipes):
        raise NotFound(f"Message {number} has no swipe {swipe}; it has {len(message.swipes)}.")
    if message.active == swipe:
        return message
    return _changed(connection, key, number, now=now, active=swipe)


def edit(
    connection: Connection,
    key: ChatKey,
    number: int,
    text: str,
    *,
    now: datetime,
    swipe: int | None = None,
    expected_version: int | None = None,
) -> Message:
    """Replace the text of a swipe, by default the active one."""
    state, message = _locked(connection, key, number, expected_version)
    wanted = message.active if swipe is None else swipe
    current = next((item for item in message.swipes if item.index == wanted), None)
    if current is None:
        raise NotFound(f"Message {number} has no swipe {wanted}; it has {len(message.swipes)}.")
    new = _swipe(
        state,
        wanted,
        NewSwipe(text=text, tool_calls=current.tool_calls, parts=current.parts),
        message.role,
    )
    changed = replace(current, text=new.text, tokens=new.tokens, tokenizer=new.tokenizer)
    rows.replace_swipe(connection, key, number, changed)
    learns = message.learnable and _learnable(connection, key, message.character_id)
    return _changed(connection, key, number, now=now, learnable=learns)


def exclude(
    connection: Connection,
    key: ChatKey,
    numbers: Iterable[int],
    excluded: bool,
    *,
    now: datetime,
) -> tuple[int, ...]:
    """Keep messages out of prompts, or let them in again; a tool call goes with its results.

    Answers the numbers that changed. Raises NotFound when one does not exist; then none changes.
    """
    state = chat_rows.state(connection, key, lock=True)
    changing = [m for m in groups(connection, key, numbers) if m.excluded != excluded]
    if changing:
        rows.change(connection, key, [m.number for m in changing], excluded=excluded)
        step = len(changing) if excluded else -len(changing)
        chat_rows.change(connection, key, now=now, excluded=state.excluded + step)
        summary_rows.refresh(connection, key, (m.cell for m in changing))
    return tuple(message.number for message in changing)


def forget(
    connection: Connection, key: ChatKey, numbers: Iterable[int], forgotten: bool, *, now: datetime
) -> tuple[int, ...]:
    """Keep messages out of summary, facts and deeper memory, or let them in again."""
    chat_rows.state(connection, key, lock=True)
    changing = [m for m in groups(connection, key, numbers) if m.forget != forgotten]
    if changing:
        rows.change(connection, key, [m.number for m in changing], forget=forgotten)
        chat_rows.change(connection, key, now=now)
        follow(connection, key, changing)
    return tuple(message.number for message in changing)


def delete(
    connection: Connection,
    key: ChatKey,
    number: int,
    *,
    now: datetime,
    expected_version: int | None = None,
) -> tuple[int, ...]:
    """Delete a message with all its swipes; a tool call goes with its results. Answers which."""
    state, _ = _locked(connection, key, number, expected_version)
    return _remove(connection, state, groups(connection, key, [number]), now)


def delete_turn(
    connection: Connection, key: ChatKey, number: int, *, now: datetime
) -> tuple[int, ...]:
    """Delete the whole turn that message ``number`` belongs to. Answers which messages went."""
    state, message = _locked(connection, key, number, None)
    return _remove(connection, state, rows.turn_of(connection, key, message.turn), now)


def rewind(
    connection: Connection,
    key: ChatKey,
    number: int,
    *,
    now: datetime,
    expected_version: int | None = None,
) -> int:
    """Delete every message above ``number`` and tell how many; the version is the chat's.

    A tool group that would be split goes whole: of a call and its results nothing stays.
    """
    state = chat_rows.state(connection, key, lock=True)
    _expect(expected_version, state.version, "chat")
    if number < 0:
        raise InvalidInput("Rewind to the number of a message, or to 0 for an empty chat.")
    number = min(number, state.next_number)
    split = reaching_over(connection, key, number)
    if split:
        _remove(connection, state, split, now)
        state = chat_rows.state(connection, key)
    gone, excluded = rows.counts(connection, key, since=number + 1)
    if gone:
        line_rows.forget_after(connection, key, number)
        rows.remove_after(connection, key, number)
        follow_rewind(connection, key, number)
        chat_rows.change(
            connection,
            key,
            now=now,
            messages=state.messages - gone,
            excluded=state.excluded - excluded,
        )
    return gone + len(split)


def _remove(
    connection: Connection, state: ChatState, gone: Sequence[Message], now: datetime
) -> tuple[int, ...]:
    numbers = [message.number for message in gone]
    line_rows.forget_text(connection, state.key, numbers)
    rows.remove(connection, state.key, numbers)
    follow(connection, state.key, gone, deleted=True)
    chat_rows.change(
        connection,
        state.key,
        now=now,
        messages=state.messages - len(gone),
        excluded=state.excluded - sum(message.excluded for message in gone),
    )
    return tuple(message.number for message in gone)


def _locked(
    connection: Connection, key: ChatKey, number: int, expected_version: int | None
) -> tuple[ChatState, Message]:
    state = chat_rows.state(connection, key, lock=True)
    message = rows.get(connection, key, number)
    _expect(expected_version, message.version, f"message {number}")
    return state, message


def _expect(expected: int | None, found: int, what: str) -> None:
    if expected is not None and expected != found:
        raise Conflict(
            f"The {what} changed since it was read (version {found}, not {expected}). "
            "Read it again."
        )


def _changed(
    connection: Connection, key: ChatKey, number: int, *, now: datetime, **values: int
) -> Message:
    rows.change(connection, key, [number], **values)
    chat_rows.change(connection, key, now=now)
    message = rows.get(connection, key, number)
    follow(connection, key, [message])
    return message
