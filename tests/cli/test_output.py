"""What is printed where: on narrow terminals, into pipes, to readers that go away."""

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import get_args

import pytest

from talekeeper import SyncKeeper
from talekeeper.cli.previewing import _LOOKS
from talekeeper.domain.block import Kind
from tests.cli.conftest import Cli
from tests.record.st_files import chat_file, header, reply, said

LONG = "The lamp was lit, and the sea was calm, and nobody came up the stairs that night. " * 4


def _talekeeper(shell: str, db: str) -> subprocess.CompletedProcess[str]:
    program = f"'{sys.executable}' -c 'from talekeeper.cli import main; main()'"
    script = f'set -o pipefail; talekeeper() {{ {program} "$@"; }}; {shell}'
    environment = {name: value for name, value in os.environ.items() if name != "COLUMNS"}
    return subprocess.run(
        ["/bin/bash", "-c", script],
        capture_output=True, text=True, env={**environment, "TALEKEEPER_DB": db}, timeout=60,
        check=False,
    )  # fmt: skip


def test_a_pipe_gets_whole_lines(cli: Cli, tmp_path: Path) -> None:
    path = tmp_path / f"{'A very long title ' * 8}.jsonl"
    path.write_bytes(chat_file(header(), reply(LONG), said("Hm.")).getvalue())
    cli("import", str(path))
    done = _talekeeper("talekeeper show 'a very' | cat; talekeeper chats | cat", cli.db)
    assert done.stderr == ""
    assert LONG.strip() in done.stdout
    assert len(done.stdout.splitlines()[-1]) > 80
    preview = _talekeeper("talekeeper preview 'a very' | cat", cli.db).stdout
    assert f"{LONG[:200]}…\n" in preview
    for command in ("preview 'a very'", "settings", "limits"):
        lines = _talekeeper(f"talekeeper {command} | cat", cli.db).stdout.splitlines()[1:]
        assert [line for line in lines if line != line.rstrip()] == []


@pytest.mark.parametrize("command", ["chats", "chats --json", "export many-0", "show many-0"])
def test_a_reader_that_goes_away_is_no_error(cli: Cli, tmp_path: Path, command: str) -> None:
    with SyncKeeper.open(cli.db) as keeper:
        keeper.characters.add(name="Mira")
        for number in range(300):
            chat = keeper.chats.start("Mira", title=f"many-{number} {LONG}"[:300])
            if number == 0:
                keeper.chats.rename(chat.id, "many-0")
                for _ in range(60):
                    keeper.record(chat.id, LONG * 20)
    done = _talekeeper(f"talekeeper {command} | head -1", cli.db)
    assert done.stderr == ""
    assert done.returncode in (0, 141)


def test_lists_are_readable_at_60_columns(
    cli: Cli, mira: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cli("import", str(mira))
    with SyncKeeper.open(cli.db) as keeper:
        keeper.characters.update(
            keeper.characters.get("Mira").id, tags=("lighthouse", "slow burn", "mystery", "sea")
        )
    monkeypatch.setenv("COLUMNS", "60")
    for command in ("chats", "characters"):
        lines = cli(command).splitlines()
        assert max(map(len, lines)) <= 60
        assert not lines[0].startswith(" ")
        assert all(line.startswith("  ") and line == line.rstrip() for line in lines[1:])
        listed = cli.json(command)[0]["id"]
        assert lines[1].startswith(f"  {listed}")
    assert "slow burn" in " ".join(cli("characters").split())


def test_limits_keep_their_names_at_60(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    out = cli("limits")
    assert "…" not in out
    for name in (*cli.json("limits")["limits"], "self_hosted"):
        assert f" {name} " in out


def test_the_demo_ends_in_one_paragraph(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "72")
    lines = cli("demo").splitlines()
    closing = lines[len(lines) - lines[::-1].index("") :]
    assert all(len(line) > 50 for line in closing[:-1])


def test_what_stayed_out_is_told_in_runs_from_the_oldest(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "120")
    with SyncKeeper.open(cli.db, settle="off") as keeper:
        keeper.characters.add(name="Mira")
        chat = keeper.chats.start("Mira", title="Long")
        for _ in range(1_100):
            keeper.record(chat.id, LONG)
        keeper.messages.exclude(chat.id, 900)
    given = ("--no-live-cap", "--context-limit", "8000", "--strategy", "truncate")
    out = cli("preview", "long", *given)
    found = out.partition("Stayed out\n")[2].splitlines()
    assert len(found) == 4
    assert re.match(r"  [0-9,]+ messages \(1-[0-9,]+\)[^:]*: ", found[0])
    assert found[-2].startswith("  message 900/0, ")
    assert "gave way" in found[1]
    assert "gave way" in found[3]


def test_kinds_differ_without_colour_and_in_colour() -> None:
    assert set(_LOOKS) == set(get_args(Kind))
    for looks in zip(*_LOOKS.values(), strict=True):
        assert len(set(looks)) == len(_LOOKS)


def test_the_legend_names_every_letter_of_the_bar(
    cli: Cli, mira: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "120")
    cli("import", str(mira))
    _, _, bar, legend = cli("preview", "mira", "-i", "Hm?").splitlines()[:4]
    assert {*bar} - {"░", "▒"} == {"M", "m", "i", "T"}
    for letter, kind in (("M", "main_prompt"), ("m", "message"), ("i", "input"), ("T", "tools")):
        assert f"{letter} {kind} " in legend


def test_a_preview_keeps_its_columns_at_60(
    cli: Cli, mira: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cli("import", str(mira))
    monkeypatch.setenv("COLUMNS", "60")
    lines = cli("preview", "mira", "-i", LONG).splitlines()
    assert any(line.split()[:2] == ["tokens", "kind"] for line in lines)
    row = next(line for line in lines if " input " in line and "lamp" in line)
    assert row.split()[0].isdigit()
    assert len(row) == 60
