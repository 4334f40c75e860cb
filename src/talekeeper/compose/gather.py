"""Reading what one composition works from, in a small and constant number of statements."""

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import Connection

from talekeeper.compose.lore_shelf import compiled
from talekeeper.compose.recollect import sendable
from talekeeper.compose.request import LeftOut, Material, Request, tail_of
from talekeeper.compose.scene import Firing
from talekeeper.domain.cell import Tail
from talekeeper.domain.character import Card, Character
from talekeeper.domain.chat import LiveMessage
from talekeeper.domain.errors import InvalidInput, NotFound
from talekeeper.domain.limits import LIMITS
from talekeeper.domain.settings import GenerationSettings
from talekeeper.store import chats as chat_rows
from talekeeper.store import live as live_rows
from talekeeper.store import lore as lore_rows
from talekeeper.store import participants as participant_rows
from talekeeper.store import receipts as receipt_rows
from talekeeper.store import summaries as summary_rows
from talekeeper.store.chats import ChatState
from talekeeper.store.keys import ChatKey, lookup_key
from talekeeper.store.live import Outline
from talekeeper.store.memories import Sendable
from talekeeper.store.participants import Participant

__all__ = ["gather"]

_EXCLUDED_SHOWN = 50

Cast = Sequence[tuple[Participant, Character | None]]


def gather(
    connection: Connection, key: ChatKey, request: Request, overrides: Mapping[str, Any]
) -> Material:
    """All that composing this chat needs. Raises NotFound, InvalidInput."""
    state = chat_rows.state(connection, key)
    settings = state.settings.changed(**overrides)
    lines = _lines(connection, key, settings, before=request.replacing)
    outline = _outline(connection, state, request)
    cast = participant_rows.cast(connection, key)
    member, character = _speaker(cast, request, _replaced(outline), lines)
    excluded, older_excluded = _excluded(connection, state, request.replacing, outline)
    off, silent, scopes = _learning(state, member, character, cast)
    return Material(
        seed=key.chat,
        speaker=character.card if character else Card(name=member.name),
        speaker_id=member.character_id,
        members=tuple(_spoken(*participant) for participant in cast),
        spoken={m.character_id: _spoken(m, c) for m, c in cast if m.character_id},
        persona=state.persona,
        settings=settings,
        plan=state.plan,
        next_number=request.replacing or state.next_number,
        tail=_tail(connection, state, lines, request),
        lines=lines,
        older=_older(state, lines, outline),
        excluded=excluded,
        older_excluded=older_excluded,
        summaries=summary_rows.candidates(connection, key, since=lines[0].number if lines else 0),
        memories=None if off else _memories(connection, state, scopes, request.replacing),
        memory_off=off or silent,
        **_lore(connection, state, character, request),
    )


def _lore(
    connection: Connection,
    state: ChatState,
    character: Character | None,
    request: Request,
) -> dict[str, Any]:
    """The lorebooks in play, and when their entries fired last where that matters; nobody asks
    where there are no books. A character's own books are in play when it speaks."""
    if not state.has_lore:
        return {}
    found = lore_rows.in_play(
        connection,
        state.key,
        characters=[character.id] if character else [],
        persona=state.persona.id if state.persona else None,
    )
    books = compiled(connection, state.key.account, found)
    window = max((book.window for book in books), default=0)
    if not window:
        return {"books": books}
    last = request.replacing or state.next_number + (request.input is not None)
    before = {
        (one.book, one.entry): Firing(number, one.digest)
        for number, some in receipt_rows.fired_since(connection, state.key, max(0, last - window))
        if number < last
        for one in some
    }
    return {"books": books, "fired": before}


def _learning(
    state: ChatState, member: Participant, character: Character | None, cast: Cast
) -> tuple[list[str], list[str], list[str | None]]:
    """Why no memories are read, if none are; else whose are not, and the scopes in play."""
    if state.channel == "challenge":
        return ["a challenge: every attempt begins without memories"], [], []
    if character is not None and not character.learns:
        return [f"Learn from Chat is off for {member.name}"], [], []
    others = [one for _, one in cast if one is not None]
    silent = [f"Learn from Chat is off for {one.name}" for one in others if not one.learns]
    return [], silent, [None, *(one.id for one in others if one.learns)]


def _memories(
    connection: Connection, state: ChatState, scopes: Sequence[str | None], replacing: int | None
) -> Sendable:
    """What is remembered; nobody asks for it where nothing ever was saved."""
    if not state.remembers:
        return Sendable([], [], 0)
    return sendable(
        connection, state.key, scopes, replacing=replacing, version=state.memory_version
    )


def _spoken(member: Participant, character: Character | None) -> str:
    return character.spoken_name if character else member.name


def _outline(connection: Connection, state: ChatState, request: Request) -> Outline:
    """What is excluded, and what is replaced; asked for where there is either."""
    if request.replacing is None and not state.excluded:
        return Outline(None, 0, 0, None, None, None)
    found = live_rows.outline(connection, state.key, replacing=request.replacing)
    if found.role not in (None, "assistant"):
        raise InvalidInput(
            f"Message {request.replacing} is not a character's; only replies are regenerated."
        )
    return found


def _replaced(outline: Outline) -> tuple[str | None, str] | None:
    """Who spoke the message to be replaced: (id, name)."""
    return None if outline.speaker is None else (outline.character_id, outline.speaker)


def _lines(
    connection: Connection, key: ChatKey, settings: GenerationSettings, *, before: int | None
) -> list[LiveMessage]:
    """The newest messages: one more than the live window can hold, or all that the budget could."""
    if settings.live_cap:
        newest = live_rows.live(connection, key, limit=LIMITS.live_messages + 1, before=before)
        if not newest or newest[0].turn != newest[-1].turn or newest[0].number == newest[0].turn:
            return newest
        # A turn longer than the window: all of it, for the window is never less than this turn.
        turn, first = newest[0].turn, newest[0].number
        return [*live_rows.live_since(connection, key, number=turn, before=first), *newest]
    budget, page, found = settings.budget, 256, list[LiveMessage]()
    while sum(line.tokens for line in found) < budget:
        older = live_rows.live(
            connection, key, limit=page, before=found[0].number if found else before
        )
        if not older:
            break
        found, page = [*older, *found], page * 2
    return found


def _speaker(
    cast: Cast,
    request: Request,
    replaced: tuple[str | None, str] | None,
    lines: Sequence[LiveMessage],
) -> tuple[Participant, Character | None]:
    """Who speaks.

    The one asked for; else who said what is replaced or continued, if still there; else the first
    who has not spoken in the current turn (an input begins a new one).
    """
    if not cast:
        raise InvalidInput("This chat has no characters; add one first.")
    if request.speaker is not None:
        asked = _member(cast, request.speaker, request.speaker)
        if asked is None:
            names = ", ".join(repr(member.name) for member, _ in cast)
            raise NotFound(f"{request.speaker!r} is not in this chat; its characters are {names}.")
        return asked
    if request.mode == "continue" and lines and lines[-1].role == "assistant":
        replaced = lines[-1].character_id, lines[-1].speaker
    before = _member(cast, *replaced) if replaced is not None else None
    if before is not None:
        return before
    turn = lines[-1].turn if lines and request.input is None else None
    heard = [
        _member(cast, line.character_id, line.speaker)
        for line in lines
        if line.turn == turn and line.role == "assistant"
    ]
    return next((pair for pair in cast if pair not in heard), cast[0])


def _member(
    cast: Cast, character_id: str | None, name: str
) -> tuple[Participant, Character | None] | None:
    """The participant of that id, else of that name: one that was deleted has only its name."""
    key = lookup_key(name)
    by_id = (pair for pair in cast if character_id and pair[0].character_id == character_id)
    by_name = (pair for pair in cast if lookup_key(pair[0].name) == key)
    return next(by_id, None) or next(by_name, None)


def _tail(
    connection: Connection, state: ChatState, lines: Sequence[LiveMessage], request: Request
) -> Tail | None:
    """Where an input would go; read anew only where excluded messages could make a difference."""
    if request.input is not None and state.excluded:
        return live_rows.tail(connection, state.key)
    return tail_of(lines)


def _older(state: ChatState, lines: Sequence[LiveMessage], outline: Outline) -> LeftOut | None:
    """The messages before ``lines`` that are not excluded."""
    shown = state.messages - state.excluded - (outline.later - outline.later_excluded)
    count = shown - len(lines)
    if count <= 0 or not lines:
        return None
    return LeftOut(count=count, first=state.first or 1, last=lines[0].number - 1)


def _excluded(
    connection: Connection, state: ChatState, replacing: int | None, outline: Outline
) -> tuple[list[tuple[int, int, int]], LeftOut | None]:
    """The newest excluded messages one by one, and the older ones together."""
    if not state.excluded:
        return [], None
    found = live_rows.excluded(connection, state.key, limit=_EXCLUDED_SHOWN + 1, before=replacing)
    shown = [(row.number, row.active, row.tokens) for row in found[-_EXCLUDED_SHOWN:]]
    if len(found) <= _EXCLUDED_SHOWN:
        return shown, None
    count = state.excluded - outline.later_excluded - len(shown)
    return shown, LeftOut(count=count, first=outline.first_excluded or 1, last=found[0].number)
