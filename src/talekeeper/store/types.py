"""Column types that mean the same on SQLite and PostgreSQL."""

from datetime import UTC, datetime

from sqlalchemy import DateTime, LargeBinary, Uuid
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.engine import Dialect
from sqlalchemy.types import JSON, TypeDecorator

__all__ = ["Blob", "Id", "Json", "UtcDateTime"]

Id = Uuid(as_uuid=False)
"""A UUIDv7 as text with dashes in Python; native on PostgreSQL, 32 hex digits on SQLite."""

Json = JSON(none_as_null=True).with_variant(JSONB(none_as_null=True), "postgresql")
"""A JSON document, NULL for None."""

Blob = LargeBinary()


class UtcDateTime(TypeDecorator[datetime]):
    """An aware moment, UTC, microseconds. SQLite has no zones: there it is stored without."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        if value is None:
            return None
        value = value.astimezone(UTC)
        return value.replace(tzinfo=None) if dialect.name == "sqlite" else value

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        if value is None:
            return None
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)
