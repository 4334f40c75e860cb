"""The whole schema: every table that is declared anywhere."""

from talekeeper.store import lore_tables, memory_tables, receipt_tables, tables
from talekeeper.store.metadata import metadata

__all__ = ["lore_tables", "memory_tables", "metadata", "receipt_tables", "tables"]
