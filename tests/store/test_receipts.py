"""Recorded receipts are found by their indexes, however many there are."""

from datetime import timedelta
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, event, select
from sqlalchemy.engine import Engine

from talekeeper import Keeper
from talekeeper.domain.block import Receipt, Row
from talekeeper.domain.recorded import RecordedReceipt, fingerprint
from talekeeper.store import receipts as rows
from talekeeper.store.keys import ChatKey
from talekeeper.store.opening import open_database
from talekeeper.store.tables import chats
from talekeeper.testing import TickingClock
from tests.conftest import run

NOW = TickingClock().now


def _recorded(key: ChatKey, number: int, **more: Any) -> RecordedReceipt:
    receipt = Receipt(
        tokenizer="approximate",
        approximate=True,
        context_limit=100,
        reserve=10,
        prompt_tokens=13,
        overhead=3,
        strategy="summarize",
        rows=(Row(kind="memory", source="memory:7", reason="sent", tokens=10),),
    )
    values: dict[str, Any] = {"made_at": NOW + timedelta(minutes=number), "swipe": 0} | more
    return RecordedReceipt(
        chat=key.chat, number=number, receipt=receipt, marks=(fingerprint("灯"),), **values
    )


def test_receipts_are_found_by_their_indexes(tmp_path: Path) -> None:
    plans: dict[str, str] = {}

    def explain(_c: Any, cursor: Any, statement: str, parameters: Any, *_rest: object) -> None:
        if "receipts" in statement and not statement.startswith(("EXPLAIN", "INSERT")):
            found = cursor.connection.execute(f"EXPLAIN QUERY PLAN {statement}", parameters)
            plans[statement] = " ".join(row[3] for row in found)

    async def story() -> None:
        async with Keeper.open(tmp_path / "tale.db", settle="off") as keeper:
            await keeper.characters.add(name="Mira")
            await keeper.chats.start("Mira")
        database = await open_database(tmp_path / "tale.db")

        def work(connection: Connection) -> None:
            key = ChatKey(*connection.execute(select(chats.c.account_id, chats.c.id)).one())
            for number in range(1, 20):
                rows.put(connection, key, _recorded(key, number))
            assert rows.get(connection, key, 3, 0) == _recorded(key, 3)
            assert rows.kept(connection, key) == (19, _recorded(key, 1).made_at)
            assert [one.number for one in rows.newest(connection, key, limit=2)] == [19, 18]
            assert rows.fired_since(connection, key, 1) == []
            rows.drop_digests(connection, key, [2])
            rows.forget_memories(connection, key.account, [7, 8])
            assert rows.newest(connection, key, limit=1)[0].receipt.rows[0].source == (
                "memory:deleted"
            )
            rows.remove(connection, key, [4, 5])
            rows.remove_after(connection, key, 10)
            assert rows.kept(connection, key)[0] == 8

        event.listen(Engine, "before_cursor_execute", explain)
        try:
            await database.write(work)
        finally:
            event.remove(Engine, "before_cursor_execute", explain)
            await database.close()

    run(story())
    assert len(plans) >= 9
    assert [plan for plan in plans.values() if "SCAN receipts" in plan] == []
    trimming = next(plan for statement, plan in plans.items() if " OFFSET " in statement)
    assert "ix_receipts_account_id_chat_id_made_at" in trimming
