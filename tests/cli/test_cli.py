"""The command line as its user meets it: outputs, JSON shapes, errors, exit statuses."""

import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from typer.main import get_command

from talekeeper import LIMITS, PLANS
from talekeeper.cli.app import app
from talekeeper.cli.running import run
from tests.cli.conftest import TALK, Cli
from tests.record.st_files import chat_file, header, reply, said


def test_import_tells_what_came_in(cli: Cli, mira: Path) -> None:
    out = cli("import", str(mira))
    assert "(5 messages, 5 added, 6 swipes, 1 excluded)" in out
    assert "nothing added" in cli("import", str(mira)).replace("\n", " ")
    (report,) = cli.json("import", str(mira))
    assert report["outcome"] == "present"
    assert set(report) == {
        "file", "kind", "outcome", "id", "title", "messages", "swipes", "excluded", "added",
        "skipped_lines", "book_entries", "unknown", "notices", "notices_left_out",
    }  # fmt: skip


def test_a_dry_run_writes_nothing(cli: Cli, mira: Path) -> None:
    assert "would be imported" in cli("import", "--dry-run", str(mira))
    assert cli.json("chats") == []


def test_warnings_name_their_lines(cli: Cli, tmp_path: Path) -> None:
    path = tmp_path / "bad.jsonl"
    path.write_bytes(chat_file(*TALK[:2], b"{broken", *TALK[2:]).getvalue())
    assert "Line 3 is not JSON" in cli("import", str(path))
    (report,) = cli.json("import", "--dry-run", str(path))
    assert [notice["line"] for notice in report["notices"]] == [3]


def test_one_bad_file_does_not_stop_the_others(cli: Cli, mira: Path, tmp_path: Path) -> None:
    bad = tmp_path / "photo.png"
    bad.write_bytes(b"\x89PNG\r\n\x1a\n" + b"\x00" * 40)
    out = cli("import", str(bad), str(mira), status=1)
    assert "not imported" in out
    assert "Error:" in cli.error
    assert [chat["messages"] for chat in cli.json("chats")] == [5]
    outcomes = cli.json("import", str(bad), str(mira), status=1)
    assert {outcome.get("outcome", "failed") for outcome in outcomes} == {"failed", "present"}


def test_cards_come_before_the_chats_that_need_them(cli: Cli, mira: Path, tmp_path: Path) -> None:
    card = tmp_path / "zz-mira.json"
    card.write_text(
        '{"spec":"chara_card_v2","spec_version":"2.0","data":{"name":"Mira","tags":["sea"]}}'
    )
    cli("import", str(mira), str(card))
    assert [c["tags"] for c in cli.json("characters")] == [["sea"]]
    assert "Mira" in cli("characters")


def test_chats_lists_ids_titles_and_counts(cli: Cli, mira: Path) -> None:
    assert "No chats yet" in cli("chats")
    cli("import", str(mira))
    (chat,) = cli.json("chats")
    assert (chat["title"], chat["messages"], chat["characters"]) == ("Mira - 2026", 5, ["Mira"])
    out = cli("chats")
    assert chat["id"] in out
    assert "Mira - 2026" in out


@pytest.mark.parametrize("how", ["id", "prefix", "no dashes", "title", "other case", "beginning"])
def test_a_chat_is_named_by_id_prefix_or_title(cli: Cli, mira: Path, how: str) -> None:
    cli("import", str(mira))
    chat = cli.json("chats")[0]["id"]
    name = {
        "id": chat,
        "prefix": chat[:13],
        "no dashes": chat.replace("-", "")[:20],
        "title": "Mira - 2026",
        "other case": "MIRA - 2026",
        "beginning": "mira",
    }[how]
    assert cli.json("show", name)["id"] == chat


def test_a_name_that_fits_two_chats_is_ambiguous(cli: Cli, mira: Path, tmp_path: Path) -> None:
    other = tmp_path / "Mira - 2027.jsonl"
    other.write_bytes(chat_file(header(), reply("Hello."), said("Hm."), reply("Yes.")).getvalue())
    cli("import", str(mira), str(other))
    assert "fits more than one chat" in cli.fails("show", "mira")
    assert "There is no chat" in cli.fails("show", "nobody")
    assert "100%" in cli.fails("show", "100%")


def test_show_prints_messages_with_their_marks(cli: Cli, mira: Path) -> None:
    cli("import", str(mira))
    out = cli("show", "mira")
    assert "swipe 2/2" in out
    assert "excluded" in out
    assert "Ты помнишь?" in out
    shown = cli.json("show", "mira", "-n", "2", "--before", "5")["shown"]
    assert [message["number"] for message in shown] == [3, 4]
    assert shown[0]["text"] == "*nods*"


def test_show_names_earlier_messages_only_where_there_are_some(cli: Cli, mira: Path) -> None:
    cli("import", str(mira))
    assert "earlier ones: --before 4" in cli("show", "mira", "-n", "2")
    for arguments in (("--before", "3"), ("-n", "9"), ("--before", "0")):
        assert "earlier" not in cli("show", "mira", *arguments)
    assert "no messages before" in cli("show", "mira", "--before", "0")


def test_preview_shows_blocks_and_what_stayed_out(cli: Cli, mira: Path) -> None:
    cli("import", str(mira))
    out = cli("preview", "mira", "-i", "What may I not eat?")
    assert "What may I not eat?" in out
    assert "Stayed out" in out
    assert "excluded by you" in out
    assert "reserve 1,024" in out


def test_preview_json_has_the_documented_shape(cli: Cli, mira: Path) -> None:
    cli("import", str(mira))
    found = cli.json(
        "preview", "mira", "-i", "Hm?", "--context-limit", "4000", "--reserve", "500",
        "--strategy", "manual", "--tokenizer", "approximate",
    )  # fmt: skip
    assert found["tokenizer"] == {"name": "approximate", "approximate": True}
    assert (found["context_limit"], found["reserved_response"]) == (4000, 500)
    assert found["strategy"] == "manual"
    assert found["messages"][0]["role"] == "system"
    assert found["messages"][1] == {
        "role": "assistant",
        "content": "Welcome to the lighthouse, Anna.",
    }
    assert found["messages"][-1] == {"role": "user", "content": "Hm?"}
    sent = [row for row in found["receipt"] if row["reason"] == "sent"]
    assert found["prompt_tokens"] == sum(row["tokens"] for row in sent) + found["overhead"]
    assert found["overhead"] == LIMITS.reply_overhead
    assert {"kind", "source", "tokens", "reason"} <= set(found["receipt"][0])
    assert [r["source"] for r in found["receipt"] if r["reason"] == "excluded"] == ["message:4/0"]


def test_what_is_shown_adds_up_to_the_head(cli: Cli, mira: Path) -> None:
    cli("import", str(mira))
    lines = cli("preview", "mira", "-i", "Hm?").splitlines()
    begin = next(n for n, line in enumerate(lines) if line.split()[:2] == ["tokens", "kind"])
    end = next(n for n, line in enumerate(lines) if "together" in line)
    numbers = [int(line.split()[0].replace(",", "")) for line in lines[begin + 1 : end + 1]]
    head = cli.json("preview", "mira", "-i", "Hm?")["prompt_tokens"]
    assert sum(numbers[:-1]) == numbers[-1] == head


def test_preview_records_nothing(cli: Cli, mira: Path) -> None:
    cli("import", str(mira))
    before = cli.json("chats")
    first = cli("preview", "mira", "-i", "Hm?", "--json")
    assert cli("preview", "mira", "-i", "Hm?", "--json") == first
    assert cli.json("chats") == before


def test_a_budget_that_is_too_small_names_the_blocks(cli: Cli, mira: Path) -> None:
    cli("import", str(mira))
    said_so = cli.fails("preview", "mira", "--context-limit", "60", "--reserve", "40")
    assert "main_prompt (settings/main_prompt)" in said_so
    assert "raise the context limit" in said_so


@pytest.mark.parametrize(
    ("arguments", "phrase"),
    [
        (("--strategy", "magic"), "there are summarize, truncate, manual"),
        (("--tokenizer", "magic"), "o200k_base"),
        (("--mode", "magic"), "reply, continue, impersonate"),
        (("--speaker", "Lena"), "is not in this chat"),
        (("--replacing", "2"), "only replies are regenerated"),
        (("--replacing", "99"), "no message 99"),
        (("-i", "  "), "must not be empty"),
    ],
)
def test_wrong_options_are_explained(
    cli: Cli, mira: Path, arguments: tuple[str, ...], phrase: str
) -> None:
    cli("import", str(mira))
    assert phrase in cli.fails("preview", "mira", *arguments)


def test_export_gives_the_file_back(cli: Cli, mira: Path, tmp_path: Path) -> None:
    cli("import", str(mira))
    out = tmp_path / "out.jsonl"
    cli("export", "mira", "-o", str(out))
    assert out.read_bytes() == mira.read_bytes()
    assert "--force" in cli.fails("export", "mira", "-o", str(out))
    assert cli.json("export", "mira", "-o", str(out), "--force")["bytes"] == len(out.read_bytes())
    assert "--output" in cli.fails("export", "mira", "--json")
    assert "no folder" in cli.fails("export", "mira", "-o", str(tmp_path / "no" / "x"))
    assert "is a folder" in cli.fails("export", "mira", "-o", str(tmp_path))
    assert sorted(path.name for path in tmp_path.glob("*out*")) == ["out.jsonl"]


def test_limits_prints_every_number(cli: Cli) -> None:
    out = cli("limits")
    for name in PLANS:
        assert name in out
    assert "cell_messages" in out
    found = cli.json("limits", "--plan", "tier3+boost")
    assert found["plans"]["tier3+boost"]["live_tokens"]["value"] == 36_000
    assert found["limits"]["live_messages"]["value"] == LIMITS.live_messages
    assert "the plans are" in cli.fails("limits", "--plan", "gold")


def test_doctor_says_what_is_well_and_what_is_not(
    cli: Cli, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert all(check["ok"] for check in cli.json("doctor"))
    (tmp_path / "notes.txt").write_text("not a database " * 100)
    broken = Cli(str(tmp_path / "notes.txt"), capsys)
    out = broken("doctor", status=1)
    assert "not a Talekeeper database" in out.replace("\n", " ")


def test_doctor_tells_unfinished_imports_from_chats(cli: Cli, mira: Path) -> None:
    cli("import", str(mira))
    assert "1 character, 1 chat, 5 messages" in cli("doctor")
    with closing(sqlite3.connect(cli.db)) as connection, connection:
        connection.execute("UPDATE chats SET importing_since = '2026-01-01 00:00:00'")
    checks = {check["name"]: check for check in cli.json("doctor")}
    assert checks["database"]["found"].endswith("1 character, 0 chats, 0 messages")
    assert checks["imports"]["found"].startswith("1 import not finished")
    assert "next import" in checks["imports"]["advice"]
    cli("import", str(mira))
    assert "imports" not in {check["name"] for check in cli.json("doctor")}


def test_demo_shows_what_fell_out(cli: Cli) -> None:
    out = cli("demo")
    assert "told by the summary" in out
    assert "in the chat alone" in out
    found = cli.json("demo")
    assert found["context"]["prompt_tokens"] > 1000
    assert len(found["early"]) >= 5
    told = {what: fact["source"] for what, fact in found["early"].items()}
    assert {told["the allergy"], told["the promise"]} == {"summary:merged-0"}
    assert told["where the spare key is"].startswith("memory:")
    assert len(found["memories"]) == 3
    assert all(fact["in_context"] for fact in found["early"].values())
    assert found["summary"]["levels"]["merged"]
    assert not Path(cli.db).exists()


@pytest.mark.parametrize(
    ("arguments", "status"),
    [(("bogus",), 2), (("preview",), 2), (("show", "x", "--bogus"), 2), (("limits", "--plan"), 2)],
)
def test_commands_that_are_not_understood(
    cli: Cli, arguments: tuple[str, ...], status: int
) -> None:
    cli.fails(*arguments, status=status)


def test_accounts_do_not_see_each_other(cli: Cli, mira: Path) -> None:
    cli("--account", "alice", "import", str(mira))
    chat = cli.json("--account", "alice", "chats")[0]["id"]
    other = mira.with_name("Other.jsonl")
    other.write_bytes(chat_file(header(), reply("Hello.")).getvalue())
    cli("--account", "charlie", "import", str(other))
    assert [found["title"] for found in cli.json("--account", "charlie", "chats")] == ["Other"]
    assert "There is no chat" in cli.fails("--account", "charlie", "preview", chat)
    assert "There is no chat" in cli.fails("--account", "charlie", "export", chat)


def test_general_options_may_follow_the_command(mira: Path, tmp_path: Path) -> None:
    db, other = (str(tmp_path / name) for name in ("tale.db", "other.db"))
    after = ["import", str(mira), "--db", db, "--account=alice"]
    assert run(after) == 0
    assert run(["--db", other, "show", "mira", "--account", "alice", "--db", db]) == 0
    assert not Path(other).exists()
    assert run(["--db", db, "--account", "alice", "show", "mira"]) == 0
    commands = list(getattr(get_command(app), "commands", {}).values())
    for command in commands:
        commands += getattr(command, "commands", {}).values()
        if not hasattr(command, "commands"):
            assert {"db", "account"} <= {item.name for item in command.params}
    assert len(commands) > 18


def test_an_account_that_is_not_there_is_not_made(cli: Cli, mira: Path) -> None:
    cli("import", str(mira), "--account", "alice")
    said_so = cli.fails("chats", "--account", "bob")
    assert "There is no account 'bob'; there are alice, default." in said_so
    assert "would be imported" in cli("import", str(mira), "--dry-run", "--account", "bob")
    cli.fails("import", str(mira.with_name("nope.jsonl")), "--account", "bob")
    cli.fails("settings", "--reserve", "10", "--account", "bob")
    assert "there are alice, default." in cli.fails("chats", "--account", "bob")
    assert cli.json("chats") == []


def test_a_folder_that_is_not_there_is_not_made(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for db in (str(tmp_path / "no" / "x.db"), f"sqlite:///{tmp_path / 'no' / 'x.db'}"):
        assert "There is no folder" in Cli(db, capsys).fails("chats")
        assert "There is no folder" in Cli(db, capsys)("doctor", status=1).replace("\n", " ")
    assert not (tmp_path / "no").exists()


def test_the_default_database_gets_its_folder(tmp_path: Path) -> None:
    done = _talekeeper("chats", "--json", XDG_DATA_HOME=str(tmp_path / "data"), HOME=str(tmp_path))
    assert (done.stdout, done.stderr) == ("[]\n", "")


def test_memory_is_no_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert Cli(":memory:", capsys).json("chats") == []
    assert list(tmp_path.iterdir()) == []


def _talekeeper(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", "from talekeeper.cli import main; main()", *arguments],
        capture_output=True,
        text=True,
        env={**os.environ, **environment},
        timeout=60,
        check=False,
    )


def test_the_environment_names_the_database(tmp_path: Path, mira: Path) -> None:
    db = str(tmp_path / "env.db")
    assert _talekeeper("import", str(mira), TALEKEEPER_DB=db).returncode == 0
    assert '"messages": 5' in _talekeeper("--db", f"sqlite:///{db}", "chats", "--json").stdout
    done = _talekeeper("preview", "nobody", TALEKEEPER_DB=db)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "Error: There is no chat 'nobody'. 'talekeeper chats' lists them.\n"


def test_export_writes_bytes_to_standard_output(tmp_path: Path, mira: Path) -> None:
    db = str(tmp_path / "env.db")
    _talekeeper("import", str(mira), TALEKEEPER_DB=db)
    done = _talekeeper("export", "mira", TALEKEEPER_DB=db)
    assert done.stdout == mira.read_text()


def test_help_names_every_command() -> None:
    done = _talekeeper("--help")
    for command in ("import", "chats", "show", "characters", "preview", "export", "limits",
                    "doctor", "demo"):  # fmt: skip
        assert command in done.stdout
