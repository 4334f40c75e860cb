"""``talekeeper import``: folders, pipes, several files, and being stopped."""

import io
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import TALK, Cli
from tests.docs.samples import lay_out
from tests.formats.builders import picture, v2
from tests.record.st_files import chat_file, header, reply, said

NO_CARD = picture()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A SillyTavern folder: a card, a chat, its branch, a group, a lorebook, and other files."""
    lay_out(tmp_path)
    user = tmp_path / "SillyTavern" / "data" / "default-user"
    (user / "thumbnails").mkdir()
    (user / "thumbnails" / "Mira.png").write_bytes(NO_CARD)
    (user / "notes.txt").write_text("Buy lamp oil.")
    return user


def test_folders_are_searched(cli: Cli, folder: Path) -> None:
    out = cli("import", str(folder))
    assert "✓ Mira — imported (character, 6 entries in its book)\n" in out
    assert "a branch: imported as a fork" in out
    assert f"{folder / 'notes.txt'}: passed over." in out
    assert "✓ lighthouse — imported (lorebook, 1 entry)\n" in out
    assert "Kobold Lite story" in out
    assert "holds no character card" in out
    assert out.endswith("8 files: 3 chats, 1 character and 1 lorebook came in, 3 passed over\n")
    assert len(cli.json("chats")) == 3
    again = cli("import", str(folder), str(folder / "chats")).splitlines()[-1]
    assert again == "8 files: nothing came in, 5 there already, 3 passed over"


def test_what_was_passed_over_is_in_the_json(cli: Cli, folder: Path) -> None:
    found: list[dict[str, Any]] = cli.json("import", str(folder))
    passed = {Path(item["file"]).name: item["passed_over"] for item in found if len(item) == 2}
    assert set(passed) == {"storm.json", "Mira.png", "notes.txt"}
    assert ".jsonl" in passed["notes.txt"]


def test_a_damaged_card_in_a_folder_is_an_error(cli: Cli, folder: Path) -> None:
    card = folder / "characters" / "Mira.png"
    card.write_bytes(card.read_bytes()[:-30])
    out = cli("import", str(folder / "characters"), str(folder / "chats"), status=1)
    assert f"✗ {card}: not imported" in out
    assert out.endswith("3 files: 2 chats came in, 1 refused\n")
    assert cli.error.count("Error: ") == 1


def test_a_file_that_was_named_is_never_passed_over(cli: Cli, folder: Path) -> None:
    story = folder / "stories" / "storm.json"
    cli("import", str(story), str(folder / "stories"), status=1)
    assert "Kobold Lite story" in cli.error


def test_an_empty_folder_brings_nothing(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    assert cli("import", str(tmp_path / "empty")) == "No cards, lorebooks or chats there.\n"


def test_one_of_a_thing_is_singular(cli: Cli, tmp_path: Path) -> None:
    path = tmp_path / "one.jsonl"
    path.write_bytes(chat_file(header(), reply("Hello.")).getvalue())
    assert "(1 message, 1 added, 1 swipe, 0 excluded)" in cli("import", str(path))
    assert "  1 message with Mira," in cli("chats")
    card = tmp_path / "card.json"
    book = {"entries": [{"keys": ["lamp"], "content": "It burns oil."}]}
    data = {"name": "Tam", "character_book": book}
    card.write_text(json.dumps({"spec": "chara_card_v2", "spec_version": "2.0", "data": data}))
    assert "1 entry in its book" in cli("import", str(card))


def test_standard_input_is_read(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, title in (((), "stdin"), (("--name", "Evenings.jsonl"), "Evenings")):
        talk = chat_file(*TALK[:2], said(title)).getvalue()
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(talk)))
        cli("import", "-", *name)
        assert cli.json("chats")[0]["title"] == title


def test_a_pipe_is_read(tmp_path: Path, mira: Path) -> None:
    db = str(tmp_path / "tale.db")
    shell = f'cat "{mira}" | "$0" -c "$1" --db {db} import /dev/stdin --json'
    done = subprocess.run(
        ["/bin/sh", "-c", shell, sys.executable, "from talekeeper.cli import main; main()"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert json.loads(done.stdout)[0]["messages"] == 5


def test_pipes_are_told_apart_and_called_what_they_are(tmp_path: Path) -> None:
    names = [tmp_path / "one.jsonl", tmp_path / "two.jsonl"]
    talks = [chat_file(header(), reply(f"Hello {n}."), said("Hm.")).getvalue() for n in range(2)]
    shell = """mkfifo one.jsonl two.jsonl; cat > one.jsonl < a & cat > two.jsonl < b &
        "$0" -c "$1" --db tale.db import one.jsonl two.jsonl --json;
        "$0" -c "$1" --db tale.db import - --name Evenings.jsonl --json < a;
        "$0" -c "$1" --db tale.db import - --json < broken"""
    for name, talk in (("a", talks[0]), ("b", talks[1]), ("broken", b"Buy lamp oil.")):
        (tmp_path / name).write_bytes(talk)
    done = subprocess.run(
        ["/bin/sh", "-c", shell, sys.executable, "from talekeeper.cli import main; main()"],
        capture_output=True, text=True, check=False, cwd=tmp_path, timeout=60,
    )  # fmt: skip
    found = json.JSONDecoder()
    pipes, end = found.raw_decode(done.stdout)
    named, more = found.raw_decode(done.stdout[end + 1 :])
    broken = json.loads(done.stdout[end + 1 + more :])
    assert [(one["file"], one["title"]) for one in pipes] == [(p.name, p.stem) for p in names]
    assert (named[0]["file"], named[0]["outcome"]) == ("Evenings.jsonl", "present")
    assert broken[0]["file"] == "stdin"
    assert broken[0]["error"]["message"].startswith("stdin: ")


@pytest.mark.parametrize("files", [["mira"], ["-", "/dev/null"], []])
def test_a_name_is_for_one_pipe(cli: Cli, mira: Path, files: list[str]) -> None:
    names = [str(mira) if file == "mira" else file for file in files]
    cli("import", *names, "--name", "x.jsonl", status=1 if files else 2)
    assert "--name" in cli.error or not files


@pytest.mark.parametrize("command", ["| head -1", "| true", "> /dev/full"])
@pytest.mark.parametrize("as_json", ["", " --json"])
def test_files_come_in_although_nobody_reads_what_is_said(
    cli: Cli, tmp_path: Path, command: str, as_json: str
) -> None:
    for number in range(5):
        talk = chat_file(header(), reply(f"Hello {number}."), said("Hm."))
        (tmp_path / f"{number}.jsonl").write_bytes(talk.getvalue())
    shell = f'"$0" -c "$1" --db "$2" import "$3"/*.jsonl{as_json} {command}'
    arguments = ["from talekeeper.cli import main; main()", cli.db, str(tmp_path)]
    done = subprocess.run(
        ["/bin/bash", "-o", "pipefail", "-c", shell, sys.executable, *arguments],
        capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    full = command == "> /dev/full"
    assert (done.returncode, done.stderr) == (
        (1, "Error: No space left on device.\n") if full else (0, "")
    )
    assert len(cli.json("chats")) == 5


@pytest.mark.skipif(not Path("/proc/self/mem").exists(), reason="needs a file that cannot be read")
def test_a_file_that_breaks_while_it_is_read_does_not_stop_the_others(cli: Cli, mira: Path) -> None:
    cli("import", "/proc/self/mem", str(mira), status=1)
    assert cli.error == "Error: mem: Input/output error.\n"
    assert len(cli.json("chats")) == 1


@pytest.mark.parametrize("closed", [">&-", "<&-", "<&- >&-"])
def test_a_closed_stream_is_no_error(cli: Cli, mira: Path, closed: str) -> None:
    cli("import", str(mira))
    done = subprocess.run(
        ["/bin/sh", "-c", f'"$0" -c "$1" --db "$2" chats {closed}', sys.executable,
         "from talekeeper.cli import main; main()", cli.db],
        capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")


def test_the_summary_tells_growth_and_changes_from_what_came_in(
    cli: Cli, mira: Path, tmp_path: Path
) -> None:
    card, other = tmp_path / "card.json", tmp_path / "other.jsonl"
    card.write_text(json.dumps(v2(name="Mira")))
    other.write_bytes(chat_file(header(), reply("Good evening."), said("Hm.")).getvalue())
    cli("import", str(mira), str(card))
    mira.write_bytes(chat_file(*TALK, reply("Yes.")).getvalue())
    card.write_text(json.dumps(v2(name="Mira", character_book={"entries": []})))
    files = [str(mira), str(card)]
    assert cli("import", "--dry-run", *files, str(other)).splitlines()[-1] == (
        "3 files: 1 chat would come in, 1 chat would grow, 1 character would change"
    )
    assert cli("import", *files).splitlines()[-1] == "2 files: 1 chat grew, 1 character changed"


def _start(*arguments: str, db: Path) -> subprocess.Popen[str]:
    """A command in a process of its own, from the moment in which Talekeeper begins."""
    program = "from talekeeper.cli import main; print(flush=True); main()"
    process = subprocess.Popen(
        [sys.executable, "-c", program, "--db", str(db), *arguments],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )  # fmt: skip
    assert process.stdout is not None
    assert process.stdout.readline() == "\n"
    return process


def test_an_import_that_is_stopped_says_what_came_in(cli: Cli, mira: Path, tmp_path: Path) -> None:
    long = tmp_path / "z-long.jsonl"
    lines = (said(f"Line {n} of very many.") for n in range(60_000))
    long.write_bytes(chat_file(header(integrity="long"), *lines).getvalue())
    process = _start("import", str(mira), str(long), db=Path(cli.db))
    assert process.stdout is not None
    assert "Mira - 2026" in process.stdout.readline()
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    _, error = process.communicate(timeout=60)
    assert process.returncode == 130
    assert error == (f"Error: Stopped. Came in: {mira}. {long} was under way and left nothing.\n")
    assert [chat["title"] for chat in cli.json("chats")] == ["Mira - 2026"]


@pytest.mark.parametrize("after", [0.01, 0.25, 0.5, 0.8, 1.1])
def test_an_interrupt_at_the_start_leaves_no_traceback(
    after: float, mira: Path, tmp_path: Path
) -> None:
    process = _start("import", str(mira), db=tmp_path / "tale.db")
    time.sleep(after)
    process.send_signal(signal.SIGINT)
    _, error = process.communicate(timeout=60)
    assert process.returncode in (0, 130), error
    assert "Traceback" not in error
