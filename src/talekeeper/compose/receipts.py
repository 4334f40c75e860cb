"""Receipts to be kept: each with fingerprints of the texts it stands for, and what they are now."""

from sqlalchemy import Connection

from talekeeper.compose.request import Material, Request
from talekeeper.compose.sources import sources_now, sources_of
from talekeeper.domain.block import Context
from talekeeper.domain.recorded import (
    DELETED_MEMORY,
    MarkedReceipt,
    RecordedReceipt,
    SeenReceipt,
    SeenRow,
    fingerprint,
)
from talekeeper.store.keys import ChatKey

__all__ = ["marked", "seen"]


def marked(material: Material, request: Request, context: Context) -> MarkedReceipt:
    """The receipt of a composition of ``material``, with its fingerprints."""
    sources = sources_of(material, request)
    marks: list[str] = []
    digest = None
    for row, text in zip(context.receipt.sent(), context.texts, strict=True):
        if row.kind == "digest":
            digest = text
        # What is written for this prompt alone is known by what is sent.
        written = sources.text_of(row.source) if sources.knows(row.source) else None
        marks.append(fingerprint(text if written is None else written))
    return MarkedReceipt(receipt=context.receipt, marks=tuple(marks), digest=digest)


def seen(connection: Connection, key: ChatKey, recorded: RecordedReceipt) -> SeenReceipt:
    """What was sent, with the texts that are there now as they were then."""
    rows = recorded.receipt.sent()
    sources = sources_now(connection, key, [row.source for row in rows])
    found: list[SeenRow] = []
    for row, mark in zip(rows, recorded.marks, strict=True):
        known = sources.knows(row.source)
        text = sources.text_of(row.source) if known else None
        if row.kind == "digest":
            text = recorded.digest
        if text is not None and fingerprint(text) == mark:
            found.append(SeenRow(row=row, state="same", text=text))
        elif text is not None:
            found.append(SeenRow(row=row, state="changed"))
        elif known or row.kind == "digest" or row.source == DELETED_MEMORY:
            found.append(SeenRow(row=row, state="deleted"))
        else:
            found.append(SeenRow(row=row, state="unknown"))
    return SeenReceipt(recorded=recorded, rows=found)
