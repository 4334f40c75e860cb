"""What there is, is documented; what is documented, is there."""

import re
import subprocess
import sys
from collections.abc import Iterator
from typing import Any, get_args

from pydantic import BaseModel
from typer.main import get_command

import talekeeper
from talekeeper import LIMITS, PLANS, GenerationSettings, TalekeeperError
from talekeeper.cli.app import app
from talekeeper.compose.strategies import STRATEGIES
from talekeeper.config import Config
from talekeeper.domain import errors
from talekeeper.domain.block import Kind, Reason
from talekeeper.domain.limits import describe, shown
from talekeeper.models.chat_model import Endpoint
from talekeeper.record.report import Outcome
from talekeeper.store.schema import metadata
from talekeeper.text.tokens import TOKENIZERS
from tests.conftest import ROOT
from tests.docs.pages import commands, page

CLI = page("docs/reference/cli.md")
SETTINGS = page("docs/reference/settings.md")
RECEIPT = page("docs/reference/receipt.md")
DESIGN = page("docs/explanation/design.md")


def _names(cells: list[str]) -> list[str]:
    return re.findall(r"`([^`]+)`", cells[0])


def test_generated_parts_are_fresh() -> None:
    done = subprocess.run(
        [sys.executable, "docs/generate.py", "--check"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_command_and_option_is_documented() -> None:
    root: Any = get_command(app)
    sections = CLI.sections()
    documented = {title.removeprefix("talekeeper ") for title in sections if "talekeeper" in title}
    assert documented == set(commands())
    assert _options(root) <= set(_options_in(sections["General options"]))
    for name, command in commands().items():
        own = _options(command) - _options(root)
        assert own <= set(_options_in(sections[f"talekeeper {name}"])), name


def _options(command: Any) -> set[str]:
    return {
        name
        for item in command.params
        for name in (*item.opts, *item.secondary_opts)
        if name.startswith("-")
    }


def _options_in(section: str) -> Iterator[str]:
    for line in section.splitlines():
        if line.startswith("|"):
            yield from re.findall(r"`(--?[a-z-]+)`", line)


def test_every_setting_is_documented_with_its_default() -> None:
    documented = {_names(cells)[0]: cells[2].strip("`") for cells in SETTINGS.rows("setting")}
    assert documented == dict(_settings(GenerationSettings()))


def _settings(values: BaseModel, prefix: str = "") -> Iterator[tuple[str, str]]:
    for name in type(values).model_fields:
        value = getattr(values, name)
        if isinstance(value, BaseModel):
            yield from _settings(value, f"{name}.")
        else:
            yield f"{prefix}{name}", repr(value)


def test_every_limit_is_documented_with_its_value() -> None:
    text = page("docs/reference/limits.md").text
    for name, value, unit, meaning in describe(LIMITS):
        assert unit, name
        assert meaning, name
        assert f"| `{name}` | {value:,} | {unit} | {meaning} |" in text
    for plan in PLANS.values():
        assert f"`{plan.name}`" in text
        for name, value, _, _ in describe(plan):
            assert f"`{name}`" in text
            assert shown(value) in text


def test_every_error_is_documented() -> None:
    classes = {
        value
        for value in vars(errors).values()
        if isinstance(value, type) and issubclass(value, TalekeeperError)
    }
    listed = [cells for cells in page("docs/reference/errors.md").rows("code") if len(cells) == 4]
    assert {(_names(cells)[0], cells[1].strip("`")) for cells in listed} == {
        (item.code, item.__name__) for item in classes
    }
    assert {item.__name__ for item in classes} == set(errors.__all__)
    assert len({item.code for item in classes}) == len(classes)


def test_every_kind_and_reason_of_a_receipt_is_documented() -> None:
    assert {_names(cells)[0] for cells in RECEIPT.rows("kind")} == set(get_args(Kind))
    assert {_names(cells)[0] for cells in RECEIPT.rows("reason")} == set(get_args(Reason))


def test_every_field_of_a_receipt_is_documented() -> None:
    fields = {name for cells in RECEIPT.rows("field") for name in _names(cells)}
    receipt = {*talekeeper.Receipt.__dataclass_fields__, "budget"}
    assert fields == receipt | set(talekeeper.Row.__dataclass_fields__)


def test_every_outcome_of_an_import_is_documented() -> None:
    assert {_names(cells)[0] for cells in CLI.rows("outcome")} == set(get_args(Outcome))


def test_every_strategy_and_tokenizer_is_documented() -> None:
    strategies = page("docs/how-to/choose-a-strategy.md")
    documented = {
        _names(cells)[0] for cells in strategies.rows("strategy") if "(planned)" not in cells[0]
    }
    assert documented == set(STRATEGIES)
    for name in (*STRATEGIES, *TOKENIZERS):
        assert f"`{name}`" in SETTINGS.text
    preview = next(item for item in commands()["preview"].params if item.name == "strategy")
    assert all(name in preview.help for name in STRATEGIES)


def test_every_variable_is_documented() -> None:
    prefix = Config.model_config["env_prefix"]
    fields = Config.model_fields.keys() - {"summary", "chat"}
    fields |= {f"{use}_{name}" for use in ("summary", "chat") for name in Endpoint.model_fields}
    read = {f"{prefix}{name.upper()}" for name in fields}
    for path in (ROOT / "src").rglob("*.py"):
        found = re.findall(rf"{prefix}[A-Z_]*[A-Z]\b", path.read_text(encoding="utf-8"))
        read |= set(found)
    listed = page("docs/reference/configuration.md").rows("variable")
    assert {_names(cells)[0] for cells in listed} == read


def test_every_public_name_is_documented() -> None:
    text = page("docs/reference/library.md").text
    missing = [name for name in talekeeper.__all__ if not re.search(rf"\b{name}\b", text)]
    assert not missing


def test_every_part_of_a_keeper_is_documented() -> None:
    text = page("docs/reference/library.md").text
    with talekeeper.SyncKeeper.open() as keeper:
        parts = [
            type(part).__name__ for name, part in vars(keeper._behind).items() if name[0] != "_"
        ]
    assert parts
    assert all(
        re.search(rf"autoclass:: talekeeper\.parts\.\w+\.{part}\(\)\n", text) for part in parts
    )


def test_every_table_is_documented() -> None:
    sections = page("docs/reference/schema.md").sections()
    assert set(metadata.tables) <= set(sections)
    assert all(sections[name].strip()[0] != "<" for name in metadata.tables), "say what it is for"


def test_the_design_has_the_numbers_of_the_code() -> None:
    text = " ".join(DESIGN.text.split())
    levels = (LIMITS.recent_share, LIMITS.merged_share, LIMITS.long_term_share)
    parts = [f"{share * 100:.0f}" for share in levels]
    percent = {
        f"{round(100 * share)} %": share
        for share in (
            LIMITS.live_share,
            LIMITS.cell_share,
            LIMITS.summary_share,
            LIMITS.digest_share,
        )
    }
    for number in (
        *percent,
        f"{LIMITS.live_messages} messages",
        f"holds {LIMITS.cell_messages} messages",
        f"{PLANS['self_hosted'].live_tokens:,} tokens",
        f"{LIMITS.context_limit:,}",
        f"{LIMITS.reserve:,}",
        f"at most {LIMITS.recent_ratio * 100:.0f} % of the tokens of its cell",
        f"at most {LIMITS.merge_ratio * 100:.0f} % of those of its children",
        f"share: {' %, '.join(parts)} %",
        f"{LIMITS.summary_floor} tokens are always allowed",
        f"({LIMITS.summary_input:,} tokens",
        f"leased to one settler for {LIMITS.lease_seconds} seconds",
        f"at most {LIMITS.cells_a_lease} summaries before",
        f"after {LIMITS.retry_seconds} seconds",
    ):
        assert number in text, number
    live = " | ".join(f"{plan.live_tokens:,}" for plan in PLANS.values())
    assert f"| live tokens | {live} |" in text


def test_the_pages_about_memory_have_the_numbers_of_the_code() -> None:
    explanation = " ".join(page("docs/explanation/how-memory-works.md").text.split())
    for number in (
        f"{LIMITS.live_messages} messages and {PLANS['self_hosted'].live_tokens:,} tokens",
        f"about {LIMITS.cell_messages} messages",
        f"{LIMITS.summary_share * 100:.0f} % by default",
        f"at most {LIMITS.digest_share * 100:.0f} % of it",
        f"at most about {LIMITS.summary_input:,} tokens",
    ):
        assert number in explanation, number
    editing = page("docs/how-to/read-and-edit-the-summary.md").text
    assert f"at most {LIMITS.summary_characters:,} characters" in editing
    models = page("docs/how-to/summarise-with-a-language-model.md").text
    assert f"after about {LIMITS.retry_seconds} seconds" in models


def test_the_formats_page_has_the_numbers_of_the_code() -> None:
    text = page("docs/reference/formats.md").text
    for number in (
        f"{LIMITS.card_bytes:,} bytes",
        f"{LIMITS.chat_line_bytes:,} bytes",
        f"{LIMITS.json_depth} levels",
        f"{LIMITS.swipes:,}",
        f"{LIMITS.message_characters:,} characters",
    ):
        assert number in text, number
