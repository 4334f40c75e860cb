"""``talekeeper settings``: what is in force, where it comes from, and changing it."""

from pathlib import Path

import pytest

from talekeeper import GenerationSettings
from tests.cli.conftest import Cli


def test_everything_is_a_default_at_first(cli: Cli) -> None:
    found = cli.json("settings")
    assert found["chat"] is None
    assert found["settings"] == GenerationSettings().model_dump()
    assert set(found["from"].values()) == {"default"}
    assert "32,768 is assumed" in cli("settings")


def test_it_says_where_each_setting_comes_from(cli: Cli, mira: Path) -> None:
    cli("import", str(mira))
    cli("settings", "--context-limit", "16384", "--no-live-cap", "--authors-note", "It rains.")
    found = cli.json("settings", "mira", "--context-limit", "8192", "--strategy", "manual")
    assert found["chat"] == cli.json("chats")[0]["id"]
    assert found["settings"]["context_limit"] == 8192
    assert found["settings"]["live_cap"] is False
    assert found["settings"]["authors_note"]["text"] == "It rains."
    assert found["from"]["context_limit"] == found["from"]["strategy"] == "chat"
    assert found["from"]["live_cap"] == found["from"]["authors_note"] == "account"
    assert found["from"]["reserve"] == "default"
    assert cli.json("settings")["settings"]["context_limit"] == 16384
    rows = {line.split()[0]: line.split()[1:3] for line in cli("settings", "mira").splitlines()}
    assert rows["context_limit"] == ["chat", "8,192"]
    assert rows["live_cap"] == ["account", "off"]
    assert rows["authors_note.text"] == ["account", "It"]


def test_what_is_changed_is_what_preview_uses(cli: Cli, mira: Path) -> None:
    cli("import", str(mira))
    cli("settings", "mira", "--context-limit", "4000", "--reserve", "500", "--tokenizer",
        "approximate", "--names", "always", "--main-prompt", "Be Mira.", "--share", "lore=0.1",
        "--share", "recall=0")  # fmt: skip
    shown = cli.json("preview", "mira")
    assert (shown["context_limit"], shown["reserved_response"]) == (4000, 500)
    assert shown["tokenizer"]["name"] == "approximate"
    assert shown["messages"][0]["content"].startswith("Be Mira.")
    shares = cli.json("settings", "mira")["settings"]["shares"]
    assert (shares["lore"], shares["recall"]) == (0.1, 0.0)


def test_the_parts_of_a_group_are_set_one_by_one(cli: Cli, mira: Path) -> None:
    cli("import", str(mira))
    cli("settings", "mira", "--share", "lore=0.3", "--authors-note-depth", "2")
    cli("settings", "--share", "lore=0.1", "--share", "summary=0.05", "--authors-note", "It rains.")
    found = cli.json("settings", "mira")
    shares, note = found["settings"]["shares"], found["settings"]["authors_note"]
    assert (shares["lore"], shares["summary"]) == (0.3, 0.05)
    assert note == {"text": "It rains.", "depth": 2, "role": "system"}
    came = found["from"]
    assert (came["shares.lore"], came["shares.summary"]) == ("chat", "account")
    assert (came["shares.recall"], came["shares"]) == ("default", "chat")
    rows = {line.split()[0]: line.split()[1] for line in cli("settings", "mira").splitlines()}
    assert (rows["authors_note.text"], rows["authors_note.depth"]) == ("account", "chat")


def test_shares_that_no_longer_fit_do_not_lock_a_chat(cli: Cli, mira: Path) -> None:
    cli("import", str(mira))
    cli("settings", "mira", "--share", "lore=0.5")
    cli("settings", "--share", "summary=0.4")
    assert cli.json("settings", "mira")["settings"]["shares"]["lore"] == 0.5
    assert cli.json("preview", "mira")["prompt_tokens"]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("settings", "--reserve", "x"), "'--reserve' must be a whole number."),
        (("settings", "--context-limit", "0"), "'--context-limit' must be at least 1."),
        (("show", "x", "-n", "few"), "'-n' / '--last' must be a whole number."),
    ],
)
def test_wrong_numbers_are_told_in_plain_words(
    cli: Cli, arguments: tuple[str, ...], sentence: str
) -> None:
    assert cli.fails(*arguments, status=2) == f"Error: {sentence}\n"


def test_unset_goes_back_to_where_it_was_before(cli: Cli, mira: Path) -> None:
    cli("import", str(mira))
    cli("settings", "--reserve", "2000")
    cli("settings", "mira", "--reserve", "500")
    found = cli.json("settings", "mira", "--unset", "reserve")
    assert (found["settings"]["reserve"], found["from"]["reserve"]) == (2000, "account")
    assert cli.json("settings", "--unset", "reserve")["from"]["reserve"] == "default"


@pytest.mark.parametrize(
    ("arguments", "phrase"),
    [
        (("--strategy", "magic"), "there are summarize, truncate, manual"),
        (("--tokenizer", "magic"), "o200k_base"),
        (("--names", "sometimes"), "'names'"),
        (("--share", "lore"), "LAYER=PART"),
        (("--share", "love=0.5"), "Setting 'shares.love' is not known."),
        (("--share", "lore=nan"), "must be"),
        (("--share", "lore=-1"), "Setting 'shares.lore' must be at least 0."),
        (("--share", "lore=0.6"), "add up to 1.1"),
        (("--model", ""), "Setting 'model' must not be empty."),
        (("--authors-note-role", "boss"), "must be 'system', 'user' or 'assistant'."),
        (("--unset", "mood"), "There is no setting 'mood'"),
        (("--reserve", "3", "--unset", "reserve"), "at once"),
        (("--context-limit", "100"), "must be smaller"),
        (("nobody",), "There is no chat"),
    ],
)
def test_wrong_settings_are_explained(cli: Cli, arguments: tuple[str, ...], phrase: str) -> None:
    assert phrase in cli.fails("settings", *arguments)
    assert set(cli.json("settings")["from"].values()) == {"default"}
