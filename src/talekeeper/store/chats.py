"""Chats and their participants."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from typing import Any

from sqlalchemy import (
    Connection,
    Row,
    Select,
    String,
    and_,
    bindparam,
    delete,
    exists,
    false,
    func,
    insert,
    select,
    update,
)
from sqlalchemy import cast as sql_cast

from talekeeper.domain.character import Persona
from talekeeper.domain.chat import Chat
from talekeeper.domain.errors import Ambiguous, NotFound
from talekeeper.domain.limits import Plan, plan_named
from talekeeper.domain.settings import GenerationSettings
from talekeeper.store.keys import ChatKey, is_id, lookup_key
from talekeeper.store.lore_tables import lorebooks
from talekeeper.store.memory_tables import plans
from talekeeper.store.tables import accounts, chats, messages, participants, personas

__all__ = [
    "ChatState",
    "change",
    "find",
    "get",
    "insert_chat",
    "listed",
    "remove",
    "state",
    "sweep",
    "without_persona",
]

_CHAT = (
    chats.c.id,
    chats.c.title,
    chats.c.channel,
    chats.c.persona_id,
    chats.c.messages,
    chats.c.version,
    chats.c.created_at,
    chats.c.updated_at,
    chats.c.forked_from,
    chats.c.forked_at,
)
_DEFAULTS = GenerationSettings()
_VISIBLE = chats.c.importing_since.is_(None)


@dataclass(frozen=True, kw_only=True, slots=True)
class ChatState:
    """What every write and every composition needs to know of a chat before anything else.

    ``first`` is the oldest message that is not excluded. ``remembers`` tells whether the account
    has ever saved a memory, ``memory_version`` grows with each change of one; ``has_lore`` tells
    whether it has a lorebook or memory entries.
    """

    key: ChatKey
    title: str
    channel: str
    persona: Persona | None
    version: int
    next_number: int
    messages: int
    excluded: int
    first: int | None
    plan_name: str
    plan_limits: Mapping[str, Any] | None
    account_settings: Mapping[str, Any]
    chat_settings: Mapping[str, Any]
    remembers: bool
    memory_version: int
    has_lore: bool

    @property
    def plan(self) -> Plan:
        """The account's plan."""
        return plan_named(self.plan_name, self.plan_limits)

    @property
    def settings(self) -> GenerationSettings:
        """The account's settings with the chat's overrides."""
        return _DEFAULTS.changed(**self.account_settings).changed(**self.chat_settings)


# The statements of composing and recording are built once: building one costs more than running it.
_FIRST = (
    select(func.min(messages.c.number))
    .where(
        messages.c.account_id == chats.c.account_id,
        messages.c.chat_id == chats.c.id,
        messages.c.excluded == false(),
    )
    .scalar_subquery()
)


@cache
def _state_query(*, lock: bool, importing: bool) -> Select[*tuple[Any, ...]]:
    statement = (
        select(
            chats.c.title,
            chats.c.channel,
            personas.c.id.label("persona_id"),
            personas.c.name.label("persona_name"),
            personas.c.description.label("persona_description"),
            chats.c.version,
            chats.c.next_number,
            chats.c.messages,
            chats.c.excluded,
            _FIRST.label("first"),
            accounts.c.plan.label("plan_name"),
            plans.c.limits.label("plan_limits"),
            accounts.c.settings.label("account_settings"),
            chats.c.settings.label("chat_settings"),
            (accounts.c.next_memory > 1).label("remembers"),
            accounts.c.memory_version,
            exists().where(lorebooks.c.account_id == chats.c.account_id).label("has_lore"),
        )
        .join_from(chats, accounts, accounts.c.id == chats.c.account_id)
        .outerjoin(
            personas,
            and_(personas.c.account_id == chats.c.account_id, personas.c.id == chats.c.persona_id),
        )
        .outerjoin(plans, plans.c.name == func.replace(accounts.c.plan, "+boost", ""))
        .where(chats.c.account_id == bindparam("account"), chats.c.id == bindparam("chat"))
    )
    if not importing:
        statement = statement.where(_VISIBLE)
    return statement.with_for_update(of=chats) if lock else statement


def state(
    connection: Connection, key: ChatKey, *, lock: bool = False, importing: bool = False
) -> ChatState:
    """The state of a chat; ``lock`` keeps other writers out until the unit ends.

    Raises NotFound. A chat that is still being imported is found only with ``importing``.
    """
    if not is_id(key.chat):
        raise NotFound(f"There is no chat {key.chat!r}.")
    statement = _state_query(lock=lock, importing=importing)
    row = connection.execute(statement, key._asdict()).one_or_none()
    if row is None:
        raise NotFound(f"There is no chat {key.chat!r}.")
    values = dict(row._mapping)
    persona_id = values.pop("persona_id")
    name, description = values.pop("persona_name"), values.pop("persona_description")
    persona = Persona(id=persona_id, name=name, description=description) if persona_id else None
    return ChatState(key=key, persona=persona, **values)


def change(connection: Connection, key: ChatKey, *, now: datetime, **values: Any) -> None:
    """Set columns of a chat and count one change."""
    if "title" in values:
        values["title_key"] = lookup_key(values["title"])
    connection.execute(
        update(chats)
        .where(chats.c.account_id == key.account, chats.c.id == key.chat)
        .values(version=chats.c.version + 1, updated_at=now, **values)
    )


def insert_chat(
    connection: Connection,
    key: ChatKey,
    *,
    title: str,
    channel: str,
    persona_id: str | None,
    settings: Mapping[str, Any],
    now: datetime,
    importing: bool = False,
    forked_from: tuple[str, int] | None = None,
    next_number: int = 1,
    messages: int = 0,
    excluded: int = 0,
) -> None:
    """Add a chat; with ``importing`` it stays invisible until that mark is taken away."""
    connection.execute(
        insert(chats).values(
            account_id=key.account,
            id=key.chat,
            title=title,
            title_key=lookup_key(title),
            channel=channel,
            persona_id=persona_id,
            settings=dict(settings),
            version=1,
            next_number=next_number,
            messages=messages,
            excluded=excluded,
            forked_from=forked_from[0] if forked_from else None,
            forked_at=forked_from[1] if forked_from else None,
            importing_since=now if importing else None,
            created_at=now,
            updated_at=now,
        )
    )


def get(connection: Connection, key: ChatKey) -> Chat:
    """The chat of that id. Raises NotFound."""
    found = _listed(connection, key.account, chats.c.id == key.chat) if is_id(key.chat) else []
    if not found:
        raise NotFound(f"There is no chat {key.chat!r}.")
    return found[0]


def listed(connection: Connection, account: str) -> list[Chat]:
    """All visible chats, the one changed last first."""
    return _listed(connection, account)


def _listed(connection: Connection, account: str, *conditions: Any) -> list[Chat]:
    rows = connection.execute(
        select(*_CHAT)
        .where(chats.c.account_id == account, _VISIBLE, *conditions)
        .order_by(chats.c.updated_at.desc(), chats.c.id.desc())
    ).all()
    members: dict[str, list[str]] = {}
    among = select(chats.c.id).where(chats.c.account_id == account, _VISIBLE, *conditions)
    for row in connection.execute(
        select(participants.c.chat_id, participants.c.character_id)
        .where(
            participants.c.account_id == account,
            participants.c.character_id.is_not(None),
            participants.c.chat_id.in_(among),
        )
        .order_by(participants.c.chat_id, participants.c.position)
    ):
        members.setdefault(row.chat_id, []).append(row.character_id)
    return [_chat(row, members.get(row.id, [])) for row in rows]


def _chat(row: Row[*tuple[Any, ...]], members: Sequence[str]) -> Chat:
    values = dict(row._mapping)
    forked_from, forked_at = values.pop("forked_from"), values.pop("forked_at")
    return Chat(
        characters=tuple(members),
        forked_from=(forked_from, forked_at) if forked_from else None,
        **values,
    )


def find(connection: Connection, account: str, name: str) -> ChatKey:
    """The chat meant by an id, a unique prefix of one, or a title.

    A title must fit exactly (case and Unicode form do not matter) or be the only one that begins
    with it. Raises NotFound, or Ambiguous naming the first few that fit.
    """
    if not (wanted := name.strip()):
        raise NotFound("Name a chat: an id, the beginning of one, or a title.")
    key, prefix = lookup_key(wanted), wanted.lower().replace("-", "")
    as_text = func.replace(sql_cast(chats.c.id, String), "-", "")
    conditions = [chats.c.title_key == key]
    if prefix and all(letter in "0123456789abcdef" for letter in prefix):
        conditions.append(as_text.startswith(prefix, autoescape=True))
    conditions.append(chats.c.title_key.startswith(key, autoescape=True))
    for condition in conditions:
        rows = connection.execute(
            select(chats.c.id, chats.c.title)
            .where(chats.c.account_id == account, _VISIBLE, condition)
            .order_by(chats.c.id.desc())
            .limit(6)
        ).all()
        if len(rows) == 1:
            return ChatKey(account, rows[0].id)
        if rows:
            fit = [f"{row.id} ({row.title})" for row in rows[:5]] + ["others"] * (len(rows) > 5)
            shown = "; ".join(fit)
            raise Ambiguous(f"{name!r} fits more than one chat: {shown}. Use more of the id.")
    raise NotFound(f"There is no chat {name!r}. 'talekeeper chats' lists them.")


def remove(connection: Connection, key: ChatKey) -> None:
    """Delete a chat and all that hangs on it."""
    connection.execute(
        delete(chats).where(chats.c.account_id == key.account, chats.c.id == key.chat)
    )


def sweep(connection: Connection, *, before: datetime) -> int:
    """Delete chats whose import made no progress since ``before``; tell how many."""
    return connection.execute(delete(chats).where(chats.c.importing_since < before)).rowcount


def without_persona(connection: Connection, account: str, persona_id: str) -> None:
    """Let go of a persona in all chats."""
    connection.execute(
        update(chats)
        .where(chats.c.account_id == account, chats.c.persona_id == persona_id)
        .values(persona_id=None)
    )
