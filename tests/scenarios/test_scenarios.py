"""Every scenario, on SQLite in memory and on PostgreSQL."""

from pathlib import Path

import pytest

from tests.conftest import OpenKeeper, run
from tests.scenarios.runner import Mismatch, play
from tests.scenarios.script import BadScenario, read_scenario

SCENARIOS = sorted(Path(__file__).parent.glob("*.yaml"))


@pytest.mark.parametrize("database_url", ["memory", "postgres"], indirect=True)
@pytest.mark.parametrize("path", SCENARIOS, ids=[path.stem for path in SCENARIOS])
def test_scenario(path: Path, open_keeper: OpenKeeper) -> None:
    async def performance() -> None:
        async with open_keeper() as keeper:
            await play(read_scenario(path), keeper)

    wrong = None
    try:
        run(performance())
    except (BadScenario, Mismatch) as error:
        wrong = f"{path.name}: {error}"
    if wrong is not None:
        pytest.fail(wrong, pytrace=False)
