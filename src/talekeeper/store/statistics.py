"""What a database knows of its tables' contents, by which it chooses how to read them."""

from sqlalchemy import Connection, text

__all__ = ["take_stock"]


def take_stock(connection: Connection) -> None:
    """After many rows came in at once: let PostgreSQL look at them now.

    Until it does so by itself, up to minutes later, it plans for tables that hold next to nothing,
    and reads a long chat whole to find its end. SQLite plans without such knowledge.
    """
    if connection.dialect.name == "postgresql":
        connection.execute(text("ANALYZE (SKIP_LOCKED) messages, swipes, lines"))
