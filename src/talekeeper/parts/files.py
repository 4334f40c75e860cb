"""``keeper.files``: foreign files in, and out again."""

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from functools import partial
from itertools import islice
from pathlib import Path, PurePath
from typing import BinaryIO

import anyio
import anyio.to_thread

from talekeeper.domain.errors import UnreadableFile
from talekeeper.domain.limits import LIMITS
from talekeeper.formats.card import read_card
from talekeeper.formats.detect import HEAD_BYTES, sniff
from talekeeper.formats.imported import ImportedHeader, ImportedLine
from talekeeper.formats.lorebook import read_lorebook
from talekeeper.formats.st_chat import read_st_chat
from talekeeper.parts.desk import Desk
from talekeeper.record import cards, lore_files
from talekeeper.record.exporting import export_chat
from talekeeper.record.importing import ChatImport
from talekeeper.record.relation import Digest, Follower, Relation, chained
from talekeeper.record.report import ImportReport
from talekeeper.record.taking_over import Chained

__all__ = ["Files", "Progress"]

Progress = Callable[[int], None]
"""Told how many bytes of the file have been read so far."""


class Files:
    """Import and export. Detection is by content; the name is only a title."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    async def import_file(
        self, path: str | Path, *, dry_run: bool = False, progress: Progress | None = None
    ) -> ImportReport:
        """Import a character card (PNG, JSON), a lorebook (JSON) or a SillyTavern chat (JSONL).

        All of it comes in, or nothing. Raises UnreadableFile, Conflict, StoreError.
        """
        with _reading(str(path)):
            stream = await anyio.to_thread.run_sync(Path(path).open, "rb")
        with stream:
            return await self.import_stream(
                stream, Path(path).name, dry_run=dry_run, progress=progress
            )

    async def import_stream(
        self,
        stream: BinaryIO,
        name: str,
        *,
        dry_run: bool = False,
        progress: Progress | None = None,
    ) -> ImportReport:
        """The same for an open file; it must be seekable. ``name`` is the file's name."""
        with _reading(name):
            head = await anyio.to_thread.run_sync(stream.read, HEAD_BYTES)
            stream.seek(0)
        kind = sniff(head)
        if kind == "chat_jsonl":
            return await self._import_chat(stream, name, dry_run, progress or _nobody)
        if kind == "lorebook":
            return await self._import_lorebook(stream, name, dry_run)
        return await self._import_card(stream, name, dry_run)

    async def export_chat(self, chat: str, out: BinaryIO) -> int:
        """Write a chat as a SillyTavern file; answers the bytes written.

        Lines that were imported and not changed since come back byte for byte.
        """
        return await self._desk.read(export_chat, self._desk.key(chat), out)

    async def export_card(self, character: str, kind: cards.CardKind | None = None) -> bytes:
        """A character as a card: the file it came from if nothing changed, else its card anew.

        ``kind`` is png or json; PNG only where the character came from one.
        """
        return await self._desk.read(cards.export_card, self._desk.account.id, character, kind=kind)

    async def _import_card(self, stream: BinaryIO, name: str, dry_run: bool) -> ImportReport:
        with _reading(name):
            data = await anyio.to_thread.run_sync(stream.read, LIMITS.card_bytes + 1)
        if len(data) > LIMITS.card_bytes:
            raise UnreadableFile(f"{name}: a card holds at most {LIMITS.card_bytes} bytes.")
        imported = await anyio.to_thread.run_sync(read_card, data)
        desk = self._desk
        run = desk.read if dry_run else desk.write
        return await run(
            cards.import_card,
            desk.account.id,
            imported,
            data,
            file_name=name,
            new_id=desk.new_id(),
            book_id=desk.new_id(),
            now=desk.clock(),
            dry_run=dry_run,
        )

    async def _import_lorebook(self, stream: BinaryIO, name: str, dry_run: bool) -> ImportReport:
        """A new lorebook is used for nothing: whom it is for, no file tells."""
        with _reading(name):
            data = await anyio.to_thread.run_sync(stream.read, LIMITS.lorebook_bytes + 1)
        title = PurePath(name).stem
        imported = await anyio.to_thread.run_sync(partial(read_lorebook, data, name=title))
        desk = self._desk
        run = desk.read if dry_run else desk.write
        return await run(
            lore_files.import_book,
            desk.account.id,
            imported,
            data,
            file_name=name,
            new_id=desk.new_id(),
            now=desk.clock(),
            dry_run=dry_run,
        )

    async def _import_chat(
        self, stream: BinaryIO, name: str, dry_run: bool, progress: Progress
    ) -> ImportReport:
        desk = self._desk
        relation = await self._relation(stream, name)
        job = ChatImport(
            key=desk.key(desk.new_id()), file_name=name, relation=relation, new_id=desk.new_id
        )
        if dry_run or relation.kind == "present":
            await desk.read(job.look)
            async for batch in _batches(stream, name, job.digest):
                job.count(batch)
                progress(stream.tell())
            return job.report(relation.chat)
        await desk.write(job.begin, now=desk.clock())
        try:
            async for batch in _batches(stream, name, job.digest):
                await desk.write(job.write, batch, now=desk.clock())
                progress(stream.tell())
            return await desk.write(job.finish, now=desk.clock())
        except BaseException:
            with anyio.CancelScope(shield=True):
                await desk.write(job.abandon)
            raise

    async def _relation(self, stream: BinaryIO, name: str) -> Relation:
        """Follow the file as long as some chat agrees with it."""
        desk = self._desk
        follower, digest = Follower(desk.account.id), Digest()
        async for batch in _batches(stream, name, digest):
            for item, _ in batch:
                if isinstance(item, ImportedHeader):
                    follower.header = item
            said = [(i, chain) for i, chain in batch if isinstance(i, ImportedLine) and chain]
            relation = await desk.read(follower.follow, said)
            if relation:
                return relation
        return await desk.read(follower.ended, digest.value)


async def _batches(stream: BinaryIO, name: str, digest: Digest) -> AsyncIterator[list[Chained]]:
    """The file from its beginning, in batches; parsing happens in a thread."""
    stream.seek(0)
    items = chained(read_st_chat(stream), digest)
    while batch := await anyio.to_thread.run_sync(_next, items, name):
        yield batch


def _next(items: Iterator[Chained], name: str) -> list[Chained]:
    """As much as one transaction writes, bounded in items and in bytes."""
    batch: list[Chained] = []
    size = 0
    with _reading(name):
        for item, chain in islice(items, LIMITS.import_batch):
            batch.append((item, chain))
            size += len(item.raw)
            if size >= LIMITS.import_batch_bytes:
                break
    return batch


@contextmanager
def _reading(name: str) -> Iterator[None]:
    """What the system says of a file that cannot be read is an UnreadableFile."""
    try:
        yield
    except OSError as error:
        raise UnreadableFile(f"{name}: {error.strerror or error}.") from error


def _nobody(_read: int) -> None:
    """Nobody wants to know."""
