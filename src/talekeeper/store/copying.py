"""Copying a chat's rows into another chat of the same account, in one statement a table."""

from sqlalchemy import ColumnElement, Insert, Table, insert, literal, select

from talekeeper.store.keys import ChatKey

__all__ = ["copied"]


def copied(
    table: Table, source: ChatKey, target: ChatKey, *conditions: ColumnElement[bool]
) -> Insert:
    """INSERT … SELECT of the rows of ``source`` that meet the conditions."""
    columns = [column for column in table.c if column.name != "chat_id"]
    return insert(table).from_select(
        ["chat_id", *(column.name for column in columns)],
        select(literal(target.chat, table.c.chat_id.type), *columns).where(
            table.c.account_id == source.account, table.c.chat_id == source.chat, *conditions
        ),
    )
