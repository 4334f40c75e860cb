"""Recording what a model replied: the text and the memories it wrote, in one transaction."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from sqlalchemy import Connection

from talekeeper.domain.chat import Message
from talekeeper.domain.errors import InvalidInput
from talekeeper.domain.lore import FiredEntry
from talekeeper.domain.memory import WriteUnit
from talekeeper.domain.recorded import MarkedReceipt, RecordedReceipt
from talekeeper.record import messages as units
from talekeeper.record.memory_writes import Applied, MemoryWrite, apply_writes
from talekeeper.record.messages import NewMessage, NewSwipe
from talekeeper.record.texts import storable
from talekeeper.store import chats as chat_rows
from talekeeper.store import messages as rows
from talekeeper.store import participants as participant_rows
from talekeeper.store import receipts as receipt_rows
from talekeeper.store.keys import ChatKey

__all__ = ["Basis", "NewReply", "Recorded", "basis_of", "record_reply"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Basis:
    """What a reply answers: the turn, by its first message, and what that said.

    ``newest`` is the last message where only one character could speak: a second reply to the same
    is none. ``continued`` is the message that is gone on with, ``replaced`` the one that is written
    anew.
    """

    turn: int | None
    said: tuple[int, str] | None
    newest: int | None = None
    replaced: int | None = None
    continued: tuple[int, int, str] | None = None


def basis_of(
    connection: Connection, key: ChatKey, *, replacing: int | None, continuing: bool
) -> Basis:
    """What a reply that is asked for now would answer. Raises InvalidInput where there is nothing
    to go on with, NotFound where what is written anew is gone."""
    newest = rows.listed(connection, key, limit=1)
    if continuing and not (newest and newest[0].role == "assistant" and not newest[0].excluded):
        raise InvalidInput(
            "There is no reply to go on with: the last message is not a character's, or is "
            "excluded. Ask for a reply instead."
        )
    if replacing is not None:
        last = rows.get(connection, key, replacing)
    elif newest:
        last = newest[0]
    else:
        return Basis(turn=None, said=None)
    alone = replacing is None and len(participant_rows.of_chat(connection, key)) == 1
    return Basis(
        turn=last.turn,
        said=_said(connection, key, last.turn),
        newest=last.number if alone else None,
        replaced=replacing,
        continued=(last.number, last.active, last.text) if continuing else None,
    )


def _said(connection: Connection, key: ChatKey, number: int) -> tuple[int, str] | None:
    for message in rows.there(connection, key, [number]):
        return message.active, message.text
    return None


@dataclass(frozen=True, kw_only=True, slots=True)
class NewReply:
    """What a model replied. ``speaker`` is a participant's id or name; ``scopes`` are those its
    ``writes`` may touch. ``seen`` is the account of the prompt that it answers, ``fired`` are the
    entries that fired in it. What of the texts cannot be stored is replaced by U+FFFD."""

    text: str
    speaker: str
    model: str
    reasoning: str = ""
    writes: Sequence[MemoryWrite] = ()
    scopes: Collection[str | None] = ()
    seen: MarkedReceipt | None = None
    fired: Sequence[FiredEntry] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Recorded:
    """The message that now holds the reply, None where it answers what is no longer said; and what
    became of the memories it wrote."""

    message: Message | None
    writes: Sequence[Applied] = ()


def record_reply(
    connection: Connection,
    key: ChatKey,
    new: NewReply,
    basis: Basis,
    *,
    now: datetime,
) -> Recorded:
    """Record a reply with its memory writes and its receipt, or nothing where what it answers
    changed meanwhile.

    Raises NotFound where the chat or the speaker is gone, InvalidInput where nothing more fits.
    """
    chat_rows.state(connection, key, lock=True)
    continuing = basis.continued is not None
    if basis.replaced is not None and not list(rows.there(connection, key, [basis.replaced])):
        return Recorded(message=None)
    found = basis_of(connection, key, replacing=basis.replaced, continuing=continuing)
    if basis.newest is None or found.newest is None:
        # Somebody joined or left; that alone changes nothing of what is answered.
        found = replace(found, newest=basis.newest)
    if found != basis:
        return Recorded(message=None)
    text, reasoning = storable(new.text), storable(new.reasoning) or None
    swipe = NewSwipe(text=text, sent_at=now, model=new.model, reasoning=reasoning)
    if basis.continued is not None:
        number, _, before = basis.continued
        message = units.edit(connection, key, number, before + text, now=now)
    elif basis.replaced is not None:
        message = units.add_swipe(connection, key, basis.replaced, swipe, now=now)
    else:
        said = NewMessage(role="assistant", swipes=(swipe,), speaker=new.speaker)
        message = units.add(connection, key, said, now=now)
    unit = WriteUnit(key.chat, message.number, message.active)
    writes = [replace(write, unit=unit) for write in new.writes]
    if not _may_learn(connection, key, message):
        writes = []
    applied = apply_writes(
        connection, key.account, writes, author="character", scopes=new.scopes, now=now
    )
    if new.seen is not None:
        # Last: who deletes memories for good locks the account before receipts.
        receipt_rows.put(connection, key, _recorded(unit, new.seen, new.fired, now))
    return Recorded(message=message, writes=applied)


def _recorded(
    unit: WriteUnit, seen: MarkedReceipt, fired: Sequence[FiredEntry], now: datetime
) -> RecordedReceipt:
    return RecordedReceipt(
        chat=unit.chat,
        number=unit.number,
        swipe=unit.swipe,
        made_at=now,
        receipt=seen.receipt,
        marks=seen.marks,
        digest=seen.digest,
        fired=tuple(fired),
    )


def _may_learn(connection: Connection, key: ChatKey, message: Message) -> bool:
    """Whether the speaker still learns: it may have been switched off while it spoke."""
    learning = participant_rows.learning(connection, key)
    return learning.get(message.character_id or "", True)
