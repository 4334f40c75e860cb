"""Every scenario, on SQLite in memory and on PostgreSQL."""

from pathlib import Path

import pytest

from talekeeper import Keeper
from talekeeper.testing import Ids, TickingClock
from tests.conftest import opened_database, run
from tests.scenarios.runner import Mismatch, play
from tests.scenarios.script import BadScenario, read_scenario
from tests.scenarios.scripted import scripted_settler

SCENARIOS = sorted(Path(__file__).parent.glob("*.yaml"))


@pytest.mark.parametrize("database_url", ["memory", "postgres"], indirect=True)
@pytest.mark.parametrize("path", SCENARIOS, ids=[path.stem for path in SCENARIOS])
def test_scenario(path: Path, database_url: str) -> None:
    async def performance() -> None:
        async with opened_database(database_url) as database:
            settler = scripted_settler(database)
            keeper = await Keeper.of(
                database, "alice", settler=settler, clock=TickingClock(), new_id=Ids()
            )
            await play(read_scenario(path), keeper)

    wrong = None
    try:
        run(performance())
    except (BadScenario, Mismatch) as error:
        wrong = f"{path.name}: {error}"
    if wrong is not None:
        pytest.fail(wrong, pytrace=False)
