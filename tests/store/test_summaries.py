"""The nodes of summaries in a database: what compose reads, and what an edit makes anew."""

import json
from datetime import UTC, datetime
from functools import partial
from io import BytesIO
from math import ceil, log
from random import Random

import pytest
from sqlalchemy import Connection

from talekeeper import Keeper
from talekeeper.domain.summary import Place, Summariser, Summary, frontier, merge_fingerprint
from talekeeper.store import summaries as rows
from talekeeper.store.database import Database
from talekeeper.store.keys import LAST_NUMBER, ChatKey
from talekeeper.testing import Ids, TickingClock
from tests.conftest import opened_database, run
from tests.scenarios.scripted import scripted_settler
from tests.store.test_statements import counted

CELLS = 70


def _node(place: Place, *, first: int, last: int, current: bytes, random: Random) -> Summary:
    by: Summariser = "person" if random.random() < 0.1 else "local"
    return Summary(
        place=place,
        cell=first,
        first=first,
        last=last,
        messages=last - first + 1,
        shown=last - first + 1,
        text=f"Text of {place}.",
        tokens=4,
        tokenizer="approximate",
        made_from=b"then" if random.random() < 0.3 else current,
        current=current,
        covered=False,
        summariser=by,
        model=None,
        made_at=datetime(2026, 5, 12, tzinfo=UTC),
    )


def _grow(connection: Connection, key: ChatKey, random: Random) -> list[Summary]:
    """A tree with stale, edited and missing nodes, written in any order within a tier.

    As in life the parents of a tier are there up to some position.
    """
    cells = random.randrange(CELLS)
    below = {
        Place(0, at): _node(
            Place(0, at),
            first=2 * at + 1,
            last=2 * at + 2,
            current=str(at).encode(),
            random=random,
        )
        for at in range(cells)
        if random.random() < 0.95
    }
    taken = cells
    while below:
        for node in random.sample(list(below.values()), len(below)):
            rows.put(connection, key, node)
        above: dict[Place, Summary] = {}
        taken = random.randint(taken // 8, taken // 4)
        for place in {place.parent for place in below}:
            children = [below[child] for child in place.children if child in below]
            if place.position < taken:
                above[place] = _node(
                    place,
                    first=children[0].first,
                    last=children[-1].last,
                    current=merge_fingerprint(children),
                    random=random,
                )
        below = above
    return rows.all_of(connection, key)


async def _chat(database: Database) -> tuple[Keeper, ChatKey]:
    keeper = await Keeper.of(
        database,
        "alice",
        settler=scripted_settler(database),
        clock=TickingClock(),
        new_id=Ids(),
    )
    await keeper.characters.add(name="Mira")
    chat = await keeper.chats.start("Mira")
    return keeper, ChatKey(keeper.chats._desk.account.id, chat.id)


@pytest.mark.parametrize("seed", range(12))
def test_the_candidates_hold_all_that_can_be_sent(database_url: str, seed: int) -> None:
    random = Random(seed)

    async def story() -> None:
        async with opened_database(database_url) as database:
            _, key = await _chat(database)
            nodes = await database.write(lambda connection: _grow(connection, key, random))
            by_place = {node.place: node for node in nodes}
            for node in nodes:
                above = [place for place in by_place if _is_above(place, node.place)]
                assert node.covered == any(by_place[place].valid for place in above)
            for window in random.sample(range(1, 2 * CELLS), 12):
                with counted() as seen:
                    found = await database.read(partial(rows.candidates, key=key, since=window))
                assert len(seen) == 1
                for start, before in ((window, LAST_NUMBER), (window + 3, window + 5)):
                    wanted = frontier(nodes, window=start, before=before)
                    assert frontier(found, window=start, before=before) == wanted

    run(story())


def _is_above(place: Place, other: Place) -> bool:
    while other.tier < place.tier:
        other = other.parent
        if other == place:
            return True
    return False


def _file(messages: int) -> BytesIO:
    lines: list[dict[str, object]] = [{"user_name": "Anna", "character_name": "Mira"}]
    for number in range(messages):
        name = ("Anna", "Mira")[number % 2]
        lines.append({"name": name, "is_user": name == "Anna", "mes": f"Said {number}."})
    return BytesIO("".join(json.dumps(line) + "\n" for line in lines).encode())


@pytest.mark.parametrize("database_url", ["memory", "postgres"], indirect=True)
def test_an_edit_makes_few_nodes_anew(database_url: str) -> None:
    async def story() -> None:
        async with opened_database(database_url) as database:
            keeper, _ = await _chat(database)
            await keeper.settings.change(
                context_limit=400, reserve=0, tokenizer="approximate", shares={"summary": 0.3}
            )
            chat = (await keeper.files.import_stream(_file(3_000), "Tale.jsonl")).id
            assert chat is not None
            made = await keeper.summaries.settle(chat)
            nodes = (await keeper.summaries.show(chat)).nodes
            assert made.made >= len(nodes) > 180
            long_term = sum(node.place.tier == 2 for node in nodes)
            most = 3 + ceil(log(long_term, 4))
            for number in (2, 1_500, 2_900):
                await keeper.messages.edit(chat, number, "Said otherwise.")
                anew = await keeper.summaries.settle(chat)
                assert 1 <= anew.made <= most, (number, anew, long_term)

    run(story())
