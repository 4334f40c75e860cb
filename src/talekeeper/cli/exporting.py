"""``talekeeper export``: whole files or none."""

import os
import sys
import tempfile
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import BinaryIO

from talekeeper.domain.errors import InvalidInput
from talekeeper.keeper import Keeper

__all__ = ["export_to", "written_to"]


async def export_to(
    keeper: Keeper, name: str, output: Path | None, *, character: bool, force: bool
) -> int:
    """Write a chat or a card to ``output``, as :func:`written_to` does."""
    return await written_to(output, lambda out: _export(keeper, name, out, character), force=force)


async def written_to(
    output: Path | None, write: Callable[[BinaryIO], Awaitable[int]], *, force: bool
) -> int:
    """Write to ``output``, which appears only when it is whole; answers the bytes written.

    None is standard output. InvalidInput where the file is there already, without ``force``.
    """
    if output is None:
        return await write(sys.stdout.buffer)
    if output.is_dir():
        raise InvalidInput(f"{output} is a folder; name a file in it.")
    if output.exists() and not force:
        raise InvalidInput(f"{output} exists already; add --force to replace it.")
    if not output.parent.is_dir():
        raise InvalidInput(f"There is no folder {output.parent}; make it first.")
    output = output.resolve()
    if output.exists() and not output.is_file():
        raise InvalidInput(f"{output} is not a file; name a file to write.")
    handle, temporary = tempfile.mkstemp(dir=output.parent, prefix=f".{output.name}.")
    try:
        with os.fdopen(handle, "wb") as out:
            written = await write(out)
        Path(temporary).chmod(_mode_of(output))
        Path(temporary).replace(output)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
    return written


async def _export(keeper: Keeper, name: str, out: BinaryIO, character: bool) -> int:
    if character:
        return out.write(await keeper.files.export_card(name))
    chat = await keeper.chats.find(name)
    return await keeper.files.export_chat(chat.id, out)


def _mode_of(output: Path) -> int:
    """The permissions the file has, or a new file gets here."""
    if output.exists():
        return output.stat().st_mode & 0o777
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask
