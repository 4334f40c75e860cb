"""``talekeeper plan``, ``usage`` and ``learn`` as a user meets them."""

from collections.abc import Iterator

import pytest

from talekeeper import PLANS, Conflict, InvalidInput, NotFound, SyncKeeper
from talekeeper.testing import FakeModelServer, steps
from tests.cli.conftest import Cli
from tests.conftest import OpenKeeper, run


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeModelServer]:
    """A chat model that the environment names."""
    with FakeModelServer([steps.answer("Mind the step.")]) as server:
        monkeypatch.setenv("TALEKEEPER_CHAT_BASE_URL", server.base_url)
        monkeypatch.setenv("TALEKEEPER_CHAT_MODEL", "storyteller")
        yield server


@pytest.fixture
def stairs(cli: Cli) -> Cli:
    """A chat with Mira."""
    with SyncKeeper.open(cli.db, settle="off") as keeper:
        keeper.characters.add(name="Mira")
        keeper.chats.start("Mira", title="Stairs", persona="Anna")
    return cli


def test_the_plan_is_shown_with_what_it_allows(cli: Cli) -> None:
    out = cli("plan", "show")
    assert "on the plan self_hosted" in out
    assert "live_tokens: 10,000 tokens · live window at most" in out
    assert "deeper_memory: yes · " in out
    assert "daily_tokens: no limit · " in out
    assert "free, tier1, tier2, tier3, self_hosted;" in out


def test_the_account_moves_to_another_plan(cli: Cli) -> None:
    assert "on the plan free now" in cli("plan", "set", "free")
    assert cli.json("plan", "show")["deeper_memory"] is False
    assert cli.json("plan", "set", "tier2+boost")["live_tokens"] == 28_000
    assert "There is no plan 'gold'; the plans are free" in cli.fails("plan", "set", "gold")
    assert cli.json("plan", "show")["name"] == "tier2+boost"


def test_a_plan_of_ones_own_is_defined_changed_and_deleted(cli: Cli) -> None:
    made = cli.json("plan", "define", "night", "--live-tokens", "500", "--no-deeper-memory")
    assert made == {
        "name": "night",
        "live_tokens": 500,
        "recall": PLANS["self_hosted"].recall,
        "deeper_memory": False,
        "daily_tokens": None,
    }
    assert "daily_tokens 1,000" in cli("plan", "define", "night", "--daily-tokens", "1000")
    cli("plan", "set", "night+boost")
    shown = cli.json("plan", "show")
    assert (shown["name"], shown["live_tokens"], shown["daily_tokens"]) == (
        *("night+boost", 1_000, 1_000),
    )
    assert shown["plans"][-1]["name"] == "night"
    assert "An account is on the plan 'night'" in cli.fails("plan", "delete", "night")
    assert cli.json("plan", "define", "night", "--no-daily-tokens")["daily_tokens"] is None
    cli("plan", "set", "tier1")
    assert "is deleted" in cli("plan", "delete", "night")
    assert "the plans are" in cli.fails("plan", "set", "night")


@pytest.mark.parametrize(
    ("arguments", "phrase"),
    [
        (("define", "free", "--recall", "1"), "cannot be called 'free'"),
        (("define", "a b"), "cannot be called"),
        (("define", "ночь"), "cannot be called"),
        (("define", "night", "--daily-tokens", "1", "--no-daily-tokens"), "not both"),
        (("delete", "free"), "comes with Talekeeper"),
        (("delete", "night"), "There is no plan 'night' of your own"),
        (("set", ""), "There is no plan ''"),
        (("set", "free+more"), "There is no plan 'free+more'"),
    ],
)
def test_a_plan_that_cannot_be(cli: Cli, arguments: tuple[str, ...], phrase: str) -> None:
    assert phrase in cli.fails("plan", *arguments)


def test_plans_are_kept_on_every_database(open_keeper: OpenKeeper) -> None:
    async def scenario() -> None:
        async with open_keeper("alice") as alice:
            await alice.settings.define_plan("night", daily_tokens=10)
            await alice.settings.set_plan("night")
            assert (await alice.settings.plan()).daily_tokens == 10
            assert [plan.name for plan in await alice.settings.plans()][len(PLANS) :] == ["night"]
            with pytest.raises(Conflict):
                await alice.settings.delete_plan("night")
            await alice.settings.define_plan("night", daily_tokens=20)
            assert (await alice.settings.plan()).daily_tokens == 20
            with pytest.raises(InvalidInput, match="whole number"):
                await alice.settings.define_plan("night", recall="many")
            await alice.settings.set_plan("free")
            await alice.settings.delete_plan("night")
            with pytest.raises(NotFound):
                await alice.settings.delete_plan("night")

    run(scenario())


def test_a_plan_of_ones_own_holds_for_replies(stairs: Cli, model: FakeModelServer) -> None:
    stairs("plan", "define", "night", "--daily-tokens", "0")
    stairs("plan", "set", "night")
    assert "The plan 'night' allows 0 tokens" in stairs.fails("chat", "stairs", "-i", "Hello.")
    assert model.requests == []


def test_usage_tells_what_models_were_asked_for(stairs: Cli, model: FakeModelServer) -> None:
    assert stairs("usage") == "No language model was asked in the last 30 days.\n"
    stairs("chat", "stairs", "-i", "Hello.")
    stairs("chat", "stairs", "-i", "И?")
    head, row = stairs("usage", "--days", "1").splitlines()
    assert head.split()[:3] == ["task", "model", "answers"]
    assert row.split()[:3] == ["reply", "storyteller", "2"]
    assert row.split()[-1] == "yes"
    told = stairs.json("usage")
    (only,) = told["usage"]
    assert (only["answers"], only["billable"]) == (2, True)
    assert told["prompt_tokens"] == only["prompt_tokens"] > 0


def test_learning_is_switched_off_and_on(stairs: Cli) -> None:
    assert "neither reads nor writes" in stairs("learn", "mira", "off")
    assert "Learn from Chat is off" in stairs("characters")
    assert stairs.json("characters")[0]["learns"] is False
    assert stairs.json("learn", "Mira", "on")["learns"] is True
    assert "Say on or off" in stairs.fails("learn", "Mira", "perhaps")
    assert "There is no character" in stairs.fails("learn", "Bo", "on")
