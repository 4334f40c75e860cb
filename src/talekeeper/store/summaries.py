"""The nodes of conversation summaries, and keeping their fingerprints true.

Every change of messages calls :func:`refresh`, every change of a node :func:`put` or
:func:`remove`; both bring ``current`` and ``covered`` up to date on the way from the touched cells
to the top: a few rows a tier, however long the chat.
"""

from collections.abc import Collection, Iterable, Sequence
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Connection,
    Integer,
    Row,
    and_,
    bindparam,
    delete,
    false,
    func,
    insert,
    or_,
    select,
    text,
    update,
)

from talekeeper.domain.summary import (
    FAN,
    Place,
    Summariser,
    Summary,
    merge_fingerprint,
    source_of,
)
from talekeeper.store import summary_sources as sources
from talekeeper.store.copying import copied
from talekeeper.store.keys import ChatKey
from talekeeper.store.tables import summaries

__all__ = [
    "all_of",
    "ask_anew",
    "at",
    "candidates",
    "copy_until",
    "count_of",
    "last_recent",
    "next_place",
    "put",
    "refresh",
    "refresh_all",
    "remove",
    "remove_after",
    "summed_up",
    "to_do",
    "uncovered",
]

_PAGE = 200
_TIERS = 12
"""More than any chat has: it has four to this power cells at most."""

_MOST_SENT = 256
"""More nodes than any prompt takes; those without a parent are fewer once a chat has settled."""

_FIELDS = Summary._fields[1:]
_COLUMNS = (summaries.c.tier, summaries.c.position, *(summaries.c[name] for name in _FIELDS))
_OF_CHAT = and_(
    summaries.c.account_id == bindparam("account"), summaries.c.chat_id == bindparam("chat")
)


def _of(key: ChatKey) -> ColumnElement[bool]:
    return and_(summaries.c.account_id == key.account, summaries.c.chat_id == key.chat)


def _summary(row: Row[*tuple[Any, ...]]) -> Summary:
    return Summary._make((Place(row[0], row[1]), *row[2:]))


def _values(node: Summary) -> dict[str, Any]:
    values: dict[str, Any] = {name: getattr(node, name) for name in _FIELDS}
    return {"tier": node.place.tier, "position": node.place.position, **values}


# What compose reads: the valid nodes that nothing valid covers, and the children of those that may
# overlap the live window, in one statement.
_VALID = or_(summaries.c.summariser == "person", summaries.c.made_from == summaries.c.current)
_NEWEST_OPEN = (
    select(*_COLUMNS)
    .where(_OF_CHAT, summaries.c.covered == false(), _VALID)
    .order_by(summaries.c.last.desc(), summaries.c.tier.desc())
    .limit(_MOST_SENT)
    .subquery()
)
_tried = select(*_NEWEST_OPEN.c).cte("tried", recursive=True)
_child = summaries.alias("child")
_TRIED = _tried.union_all(
    select(*(_child.c[column.name] for column in _COLUMNS)).where(
        _child.c.account_id == bindparam("account"),
        _child.c.chat_id == bindparam("chat"),
        _tried.c.tier > 0,
        or_(
            _tried.c.last >= bindparam("since", type_=Integer),
            and_(_tried.c.summariser != "person", _tried.c.made_from != _tried.c.current),
        ),
        _child.c.tier == _tried.c.tier - 1,
        _child.c.position >= FAN * _tried.c.position,
        _child.c.position < FAN * _tried.c.position + FAN,
    )
)
_CANDIDATES = select(*_TRIED.c)


def candidates(connection: Connection, key: ChatKey, *, since: int) -> list[Summary]:
    """The nodes among which :func:`frontier` chooses, for a live window that starts at ``since``
    or later. One statement."""
    rows = connection.execute(_CANDIDATES, {**key._asdict(), "since": since})
    return [_summary(row) for row in rows]


def all_of(connection: Connection, key: ChatKey, *, tier: int | None = None) -> list[Summary]:
    """All nodes of a chat, or those of one tier, in order."""
    statement = select(*_COLUMNS).where(_of(key))
    if tier is not None:
        statement = statement.where(summaries.c.tier == tier)
    rows = connection.execute(statement.order_by(summaries.c.tier, summaries.c.position))
    return [_summary(row) for row in rows]


# Like those of composing, the statements of settling are built once.
# Asked for pairs, SQLite would read all nodes of the chat.
_AT = select(*_COLUMNS).where(
    _OF_CHAT,
    summaries.c.tier.in_(bindparam("tiers", expanding=True)),
    summaries.c.position.in_(bindparam("positions", expanding=True)),
)


def at(connection: Connection, key: ChatKey, places: Collection[Place]) -> dict[Place, Summary]:
    """The nodes that stand at these places."""
    found: dict[Place, Summary] = {}
    wanted = sorted(places)
    for start in range(0, len(wanted), _PAGE):
        page = set(wanted[start : start + _PAGE])
        tiers, positions = {place.tier for place in page}, {place.position for place in page}
        bound = {**key._asdict(), "tiers": sorted(tiers), "positions": sorted(positions)}
        nodes = map(_summary, connection.execute(_AT, bound))
        found.update((node.place, node) for node in nodes if node.place in page)
    return found


_LAST_RECENT = (
    select(*_COLUMNS)
    .where(_OF_CHAT, summaries.c.tier == 0)
    .order_by(summaries.c.position.desc())
    .limit(1)
)


def last_recent(connection: Connection, key: ChatKey) -> Summary | None:
    """The newest node of tier 0."""
    row = connection.execute(_LAST_RECENT, key._asdict()).one_or_none()
    return _summary(row) if row else None


# The condition is spelled as that of the index which holds just these.
_TO_DO = (
    select(*_COLUMNS)
    .where(_OF_CHAT, text("(due OR (made_from <> current AND summariser <> 'person'))"))
    .order_by(summaries.c.tier, summaries.c.position)
    .limit(bindparam("limit", type_=Integer))
)


def to_do(connection: Connection, key: ChatKey, *, limit: int) -> list[Summary]:
    """The first nodes, lowest tier first, that are stale or asked to be made anew."""
    rows = connection.execute(_TO_DO, {**key._asdict(), "limit": limit})
    return [_summary(row) for row in rows]


_LAST_OF_TIER = (
    select(summaries.c.position)
    .where(_OF_CHAT, summaries.c.tier == bindparam("tier"))
    .order_by(summaries.c.position.desc())
    .limit(1)
)


def count_of(connection: Connection, key: ChatKey, tier: int) -> int:
    """How many positions of a tier are taken, the empty ones between included."""
    last = connection.execute(_LAST_OF_TIER, {**key._asdict(), "tier": tier}).scalar()
    return 0 if last is None else last + 1


def next_place(connection: Connection, key: ChatKey) -> Place:
    """Where the node of a new cell goes: after the last, and under no text of a person, which in a
    chat that was rewound tells of what was said before, not of what comes now."""
    position = count_of(connection, key, 0)
    while True:
        place = Place(0, position)
        above = [Place(tier, position // FAN**tier) for tier in range(1, _TIERS)]
        edited = [node.place for node in at(connection, key, above).values() if node.edited]
        if not edited:
            return place
        highest = max(edited)
        position = (highest.position + 1) * FAN**highest.tier


def uncovered(connection: Connection, key: ChatKey) -> list[Summary]:
    """The valid nodes that no valid node covers, in the order of the chat."""
    rows = connection.execute(
        select(*_COLUMNS)
        .where(_of(key), summaries.c.covered == false(), _VALID)
        .order_by(summaries.c.first)
    )
    return [_summary(row) for row in rows]


def ask_anew(
    connection: Connection,
    key: ChatKey,
    *,
    due: bool = True,
    place: Place | None = None,
    by: Sequence[Summariser] = ("local", "model", "person"),
) -> int:
    """Let a node, or all, be made anew, or no longer; only those written ``by`` one of these.

    Until then they are sent as they are. Answers how many there are.
    """
    chosen = [_of(key), summaries.c.summariser.in_(list(by))]
    if place is not None:
        chosen += [summaries.c.tier == place.tier, summaries.c.position == place.position]
    return int(connection.execute(update(summaries).where(*chosen).values(due=due)).rowcount)


def summed_up(connection: Connection, key: ChatKey) -> int:
    """How many messages the valid nodes tell of that no other valid node covers."""
    statement = select(func.coalesce(func.sum(summaries.c.messages), 0)).where(
        _of(key), summaries.c.covered == false(), _VALID
    )
    return int(connection.execute(statement).scalar_one())


def refresh(connection: Connection, key: ChatKey, cells: Iterable[int]) -> None:
    """Take into account that messages of these cells changed; most have no node yet."""
    wanted, touched = sorted(set(cells)), list[Place]()
    for start in range(0, len(wanted), _PAGE):
        rows = connection.execute(
            select(*_COLUMNS).where(
                _of(key),
                summaries.c.tier == 0,
                summaries.c.cell.in_(wanted[start : start + _PAGE]),
            )
        )
        for node in map(_summary, rows.all()):
            source = source_of(sources.cell_messages(connection, key, node.cell))
            if source is None:
                _delete(connection, key, [node.place])
            elif (source.first, source.last, source.messages, source.shown) != (
                node.first,
                node.last,
                node.messages,
                node.shown,
            ) or source.fingerprint != node.current:
                _change(
                    connection,
                    key,
                    node.place,
                    first=source.first,
                    last=source.last,
                    messages=source.messages,
                    shown=source.shown,
                    current=source.fingerprint,
                )
            else:
                continue
            touched.append(node.place)
    _propagate(connection, key, touched)


def refresh_all(connection: Connection, key: ChatKey) -> None:
    """Take into account that any messages may have changed: after an import of the same chat."""
    cells = select(summaries.c.cell).where(_of(key), summaries.c.tier == 0)
    refresh(connection, key, list(connection.execute(cells).scalars()))


def put(connection: Connection, key: ChatKey, node: Summary) -> None:
    """Write a node in place of what stood there."""
    _delete(connection, key, [node.place])
    connection.execute(
        insert(summaries).values(account_id=key.account, chat_id=key.chat, **_values(node))
    )
    _propagate(connection, key, [node.place])


def remove(connection: Connection, key: ChatKey, places: Collection[Place]) -> None:
    """Take nodes away."""
    _delete(connection, key, places)
    _propagate(connection, key, places)


def remove_after(connection: Connection, key: ChatKey, number: int) -> None:
    """Take away the nodes all of whose messages are above ``number``; the chat ends there now."""
    gone = and_(_of(key), summaries.c.first > number)
    if connection.execute(delete(summaries).where(gone)).rowcount:
        last = last_recent(connection, key)
        _propagate(connection, key, [last.place] if last else [])
    last = last_recent(connection, key)
    if last is not None and last.last > number:
        refresh(connection, key, [last.cell])


def copy_until(connection: Connection, source: ChatKey, target: ChatKey, number: int) -> None:
    """Copy the nodes that end at or before ``number`` into a fork of the chat."""
    connection.execute(copied(summaries, source, target, summaries.c.last <= number))
    last = last_recent(connection, target)
    if last is not None:
        _propagate(connection, target, [last.place])


def _change(connection: Connection, key: ChatKey, place: Place, **values: Any) -> None:
    connection.execute(
        update(summaries)
        .where(_of(key), summaries.c.tier == place.tier, summaries.c.position == place.position)
        .values(**values)
    )


def _delete(connection: Connection, key: ChatKey, places: Collection[Place]) -> None:
    for tier in {place.tier for place in places}:
        positions = [place.position for place in places if place.tier == tier]
        connection.execute(
            delete(summaries).where(
                _of(key), summaries.c.tier == tier, summaries.c.position.in_(positions)
            )
        )


def _propagate(connection: Connection, key: ChatKey, touched: Collection[Place]) -> None:
    """Bring the ancestors of touched places up to date, then who is covered below them."""
    if not touched:
        return
    highest = connection.execute(select(func.max(summaries.c.tier)).where(_of(key))).scalar() or 0
    path, level, known = set(touched), set(touched), dict[Place, Summary]()
    while level:
        parents = {place.parent for place in level}
        family = {child for parent in parents for child in parent.children}
        known |= at(connection, key, (family | parents) - known.keys())
        for parent in parents:
            _renew(connection, key, parent, known)
        path |= parents
        level = {parent for parent in parents if parent.tier < highest}
    _cover(connection, key, path, known)


def _renew(connection: Connection, key: ChatKey, place: Place, known: dict[Place, Summary]) -> None:
    """Let a parent follow its children; without any it goes."""
    node = known.get(place)
    if node is None:
        return
    children = [known[child] for child in place.children if child in known]
    if not children:
        _delete(connection, key, [place])
        del known[place]
        return
    values: dict[str, Any] = {
        "first": min(child.first for child in children),
        "last": max(child.last for child in children),
        "messages": sum(child.messages for child in children),
        "shown": sum(child.shown for child in children),
        "current": merge_fingerprint(children),
    }
    if any(getattr(node, name) != value for name, value in values.items()):
        known[place] = node._replace(**values)
        _change(connection, key, place, **values)


def _cover(
    connection: Connection, key: ChatKey, path: Collection[Place], known: dict[Place, Summary]
) -> None:
    """Mark who stands under a valid node: walks the path, and what else its changes reach.

    A node covers no further than it tells: one below that came later is not hidden by it.
    """
    waiting = [(place, 0) for place in path if place.parent not in path]
    while waiting:
        place, until = waiting.pop()
        node = known.get(place)
        covered = node is not None and node.last <= until
        turned = node is not None and node.covered != covered
        if turned:
            _change(connection, key, place, covered=covered)
        if place.tier and (place in path or (turned and node is not None and not node.valid)):
            known |= at(connection, key, set(place.children) - known.keys())
            below = max(until, node.last) if node is not None and node.valid else until
            waiting += ((child, below) for child in place.children)
