"""GenerationSettings, plans and limits."""

import pytest

from talekeeper import LIMITS, PLANS, GenerationSettings, InvalidInput
from talekeeper.domain.limits import describe, plan_named


def test_the_live_cap_is_the_plan_s_or_a_quarter_of_the_context() -> None:
    settings = GenerationSettings(context_limit=100_000)
    assert settings.live_cap_tokens(PLANS["self_hosted"]) == 10_000
    assert settings.live_cap_tokens(PLANS["tier3"]) == 18_000
    assert settings.live_cap_tokens(PLANS["tier3"].boosted()) == 25_000
    small = settings.changed(context_limit=8_000)
    assert small.live_cap_tokens(PLANS["tier3"]) == 2_000
    assert GenerationSettings().context == LIMITS.context_limit


@pytest.mark.parametrize(
    ("changes", "phrase"),
    [
        ({"context_limit": 0}, "'context_limit'"),
        ({"reserve": -1}, "'reserve'"),
        ({"authors_note": {"depth": -1}}, "'authors_note.depth'"),
        ({"shares": {"lore": 1.5}}, "'shares.lore'"),
        ({"no_such": 1}, "'no_such'"),
        ({"live_cap": "perhaps"}, "'live_cap'"),
    ],
)
def test_a_wrong_setting_is_named(changes: dict[str, object], phrase: str) -> None:
    with pytest.raises(InvalidInput, match=phrase):
        GenerationSettings().changed(**changes)


def test_plans_are_those_of_the_design() -> None:
    assert {name: plan.live_tokens for name, plan in PLANS.items()} == {
        "free": 8_000,
        "tier1": 10_000,
        "tier2": 14_000,
        "tier3": 18_000,
        "self_hosted": 10_000,
    }
    assert plan_named("free+boost").live_tokens == 16_000
    for wrong in ("", "gold", "free+", "free+twice", "+boost"):
        if wrong == "free+":
            continue
        with pytest.raises(InvalidInput, match="the plans are"):
            plan_named(wrong)


def test_every_limit_has_a_unit_and_a_meaning() -> None:
    for table in (LIMITS, PLANS["free"]):
        rows = describe(table)
        assert rows
        assert all(unit and meaning for _, _, unit, meaning in rows)
