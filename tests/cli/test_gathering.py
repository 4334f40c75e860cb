"""Which files an import finds, in what order, and what it says of the others."""

import os
from pathlib import Path

import pytest

from tests.cli.conftest import TALK, Cli
from tests.formats.builders import card_chunk, picture, v2
from tests.record.st_files import chat_file, header, reply, said

WIDE = {"variables": {f"v{n}": "x" * 1000 for n in range(400)}}
"""More than what is read of a file to tell its kind."""


def test_a_pipe_in_a_folder_is_passed_over(cli: Cli, tmp_path: Path, mira: Path) -> None:
    os.mkfifo(tmp_path / "waits.jsonl")
    found = cli.json("import", str(tmp_path))
    passed = {item["file"]: item["passed_over"] for item in found if "passed_over" in item}
    assert "pipe" in passed[str(tmp_path / "waits.jsonl")]
    assert any(item.get("title") == mira.stem for item in found)


def test_a_folder_that_cannot_be_read_does_not_stop_the_others(
    cli: Cli, mira: Path, tmp_path: Path
) -> None:
    folder, name = tmp_path / "deep", "d" * 250
    folder.mkdir()
    inside = os.open(folder, os.O_RDONLY)
    for _ in range(20):  # until its path is longer than one may be
        os.mkdir(name, dir_fd=inside)
        inside, above = os.open(name, os.O_RDONLY, dir_fd=inside), inside
        os.close(above)
    os.close(inside)
    out = cli("import", str(folder), str(mira), status=1)
    assert cli.error.startswith(f"Error: {folder}/{name}/")
    assert cli.error.endswith(": File name too long. Name the files in it one by one.\n")
    assert out.endswith("2 files: 1 chat came in, 1 refused\n")


@pytest.mark.parametrize("more", [{}, WIDE])
def test_branches_come_after_what_they_branched_from(
    cli: Cli, tmp_path: Path, more: dict[str, object]
) -> None:
    branch = {**header(**more, main_chat="b"), "note": '"first_mes"'}
    (tmp_path / "a.jsonl").write_bytes(chat_file(branch, *TALK[1:4], said("No.")).getvalue())
    (tmp_path / "b.jsonl").write_bytes(chat_file(header(**more), *TALK[1:]).getvalue())
    outcomes = [item["outcome"] for item in cli.json("import", str(tmp_path))[:2]]
    assert outcomes == ["new", "branch"]


def test_a_chat_of_one_line_is_still_a_chat(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_bytes(chat_file(reply("Hello.")).getvalue())
    (tmp_path / "b.json").write_text('{"spec":"chara_card_v2","data":{"name":"Mira"}}')
    found = cli.json("import", str(tmp_path))
    assert [item["kind"] for item in found[:2]] == ["character", "chat"]


def test_a_picture_that_is_cut_off_is_no_picture_without_a_card(cli: Cli, tmp_path: Path) -> None:
    folder = tmp_path / "characters"
    folder.mkdir()
    whole = picture(after=(card_chunk("chara", v2(name="Mira")),))
    (folder / "Mira.png").write_bytes(whole[: whole.index(b"chara") - 4])
    said_so = cli.fails("import", str(folder))
    assert "cut off or damaged" in said_so
    assert said_so == cli.fails("import", str(folder / "Mira.png"))


def test_a_file_that_is_named_and_lies_in_a_folder_counts_as_named(
    cli: Cli, tmp_path: Path
) -> None:
    folder = tmp_path / "stories"
    folder.mkdir()
    (folder / "storm.json").write_text('{"savedsettings":{}}')
    for names in ([folder, folder / "storm.json"], [folder / "storm.json", folder]):
        assert "Kobold" in cli.fails("import", *map(str, names))
