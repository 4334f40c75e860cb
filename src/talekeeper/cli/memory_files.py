"""``talekeeper memories export`` and ``import``."""

import sys
from pathlib import Path
from typing import Annotated, Any, BinaryIO

import typer
from rich.console import Console
from rich.table import Table

from talekeeper.cli.exporting import written_to
from talekeeper.cli.memories import print_json
from talekeeper.cli.opening import with_keeper
from talekeeper.cli.options import AsJson
from talekeeper.cli.plain import counted, safe
from talekeeper.cli.scopes import CharacterOption, GlobalOption, scope_if_any
from talekeeper.domain.errors import InvalidInput, MemoriesOverCap
from talekeeper.domain.limits import LIMITS
from talekeeper.keeper import Keeper
from talekeeper.record.memory_files import Destination, MemoryImport

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    """Add the commands of this module."""
    app.command("export")(export_memories)
    app.command("import")(import_memories)


def export_memories(
    context: typer.Context,
    everywhere: GlobalOption = False,
    character: CharacterOption = None,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", metavar="FILE", help="Default: standard output."),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace FILE if it exists.")] = False,
    as_json: AsJson = False,
) -> None:
    """Write the memories of a scope, or all, as a JSON file."""
    if as_json and output is None:
        raise InvalidInput("Name a file with --output: --json tells about it on standard output.")

    async def work(keeper: Keeper) -> int:
        scope = await scope_if_any(keeper, everywhere, character)
        scopes = None if scope is None else [scope.character]

        async def write(out: BinaryIO) -> int:
            return out.write(await keeper.memories.export(scopes))

        return await written_to(output, write, force=force)

    written = with_keeper(context, work)
    if output is not None and as_json:
        print_json({"file": str(output), "bytes": written})
    elif output is not None:
        typer.echo(f"Wrote {output} ({written:,} bytes).")


def import_memories(
    context: typer.Context,
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="What export wrote; - is standard input.")
    ],
    everywhere: GlobalOption = False,
    character: CharacterOption = None,
    newest: Annotated[
        bool, typer.Option("--newest", help="Where not all fit, take the newest that do.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Add the memories of a file to the scopes it names, or all to one. All of them or none."""
    data = _read(file)

    async def work(keeper: Keeper) -> MemoryImport:
        scope = await scope_if_any(keeper, everywhere, character)
        into = None if scope is None else Destination(character=scope.character)
        return await keeper.memories.import_file(data, into=into, newest=newest)

    try:
        found = with_keeper(context, work)
    except MemoriesOverCap as error:
        # Beside standard output, where no result is.
        _show_over_cap(error)
        raise
    if as_json:
        print_json(_import_json(file, found))
    else:
        _show(found)


def _read(file: Path) -> bytes:
    """The file, as far as one may be long and a byte more."""
    most = LIMITS.memory_file_bytes + 1
    if str(file) == "-":
        return sys.stdin.buffer.read(most)
    with file.open("rb") as stream:
        return stream.read(most)


def _import_json(file: Path, found: MemoryImport) -> dict[str, Any]:
    return {
        "file": str(file),
        "added": found.added,
        "repeats": found.repeats,
        "left_out": found.left_out,
        "scopes": [
            {
                "scope": "global" if one.character is None else "character",
                "character": one.character,
                "name": one.name,
                "pinned": one.pinned,
                "there": one.there,
                "in_file": one.in_file,
                "added": one.added,
                "cap": one.cap,
            }
            for one in found.filled
        ],
    }


def _show(found: MemoryImport) -> None:
    said = [f"{counted(found.added, 'memory', 'memories')} came in"]
    if found.repeats:
        said.append(f"{found.repeats} said what was there already")
    if found.left_out:
        said.append(f"{found.left_out} older ones did not fit")
    typer.echo(f"{'; '.join(said)}.")


def _show_over_cap(error: MemoriesOverCap) -> None:
    table = Table(box=None, header_style="bold", pad_edge=False)
    table.add_column("scope", no_wrap=True)
    for head in ("there", "in the file", "cap"):
        table.add_column(head, justify="right", no_wrap=True)
    for name, pinned, there, in_file, cap in error.scopes:
        which = f"{safe(name)}{', pinned' if pinned else ''}"
        table.add_row(which, str(there), str(in_file), str(cap))
    Console(stderr=True).print(table)
