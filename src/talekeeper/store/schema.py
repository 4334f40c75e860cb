"""The whole schema: every table that is declared anywhere."""

from talekeeper.store import memory_tables, receipt_tables, tables
from talekeeper.store.metadata import metadata

__all__ = ["memory_tables", "metadata", "receipt_tables", "tables"]
