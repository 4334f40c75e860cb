"""Column types that mean the same on SQLite and PostgreSQL."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import DateTime, LargeBinary, Uuid
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.engine import Dialect
from sqlalchemy.types import JSON, TypeDecorator

__all__ = ["Blob", "Id", "Json", "UtcDateTime"]


class _Id(Uuid[str]):
    """Puts the dashes in without making a ``UUID`` of each value: a composition reads dozens."""

    cache_ok = True

    def result_processor(
        self, dialect: Dialect, coltype: object
    ) -> Callable[[str | None], str | None] | None:
        found: Any = super().result_processor(dialect, coltype)  # type: ignore[no-untyped-call]
        return found if dialect.supports_native_uuid else _dashed


def _dashed(value: str | None) -> str | None:
    if value is None:
        return None
    return f"{value[:8]}-{value[8:12]}-{value[12:16]}-{value[16:20]}-{value[20:]}"


Id = _Id(as_uuid=False)
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
        return value.astimezone(UTC) if value is not None else None

    def result_processor(
        self, dialect: Dialect, coltype: object
    ) -> Callable[[Any], datetime | None] | None:
        """SQLite holds a text: it is read in one step, not by way of a moment without a zone."""
        return _moment if dialect.name == "sqlite" else super().result_processor(dialect, coltype)


def _moment(value: str | None) -> datetime | None:
    return datetime.fromisoformat(f"{value}+00:00") if value is not None else None
