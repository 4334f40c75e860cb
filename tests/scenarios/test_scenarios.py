"""Every scenario, on SQLite in memory and on PostgreSQL."""

from pathlib import Path

import pytest

from tests.conftest import run
from tests.scenarios.comparing import Mismatch
from tests.scenarios.reading import BadScenario, read_scenario
from tests.scenarios.runner import play
from tests.scenarios.scripted import actors

SCENARIOS = sorted(Path(__file__).parent.glob("*.yaml"))


@pytest.mark.parametrize("database_url", ["memory", "postgres"], indirect=True)
@pytest.mark.parametrize("path", SCENARIOS, ids=[path.stem for path in SCENARIOS])
def test_scenario(path: Path, database_url: str) -> None:
    async def performance() -> None:
        async with actors(database_url) as everybody:
            await play(read_scenario(path), everybody)

    wrong = None
    try:
        run(performance())
    except (BadScenario, Mismatch) as error:
        wrong = f"{path.name}: {error}"
    if wrong is not None:
        pytest.fail(wrong, pytrace=False)
