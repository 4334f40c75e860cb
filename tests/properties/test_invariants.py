"""The invariants of the design, held against random lives of chats on both databases.

``HYPOTHESIS_PROFILE=thorough`` tries many more and longer lives, other ones each time, and shortens
one that fails.
"""

import os

from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from tests.properties.machine import Lives

COMMON = settings(
    deadline=None,
    database=None,
    report_multiple_bugs=False,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
QUICK = settings(COMMON, phases=[Phase.generate])
PROFILES = {
    "quick": (
        settings(QUICK, max_examples=16, stateful_step_count=30, derandomize=True),
        settings(QUICK, max_examples=6, stateful_step_count=25, derandomize=True),
    ),
    "thorough": (
        settings(COMMON, max_examples=1_000, stateful_step_count=50),
        settings(COMMON, max_examples=100, stateful_step_count=50),
    ),
}
IN_MEMORY, ON_POSTGRESQL = PROFILES[os.environ.get("HYPOTHESIS_PROFILE", "quick")]


class TestInMemory:
    def test_invariants(self) -> None:
        run_state_machine_as_test(Lives, settings=IN_MEMORY)


class TestOnPostgresql:
    def test_invariants(self, postgres_server: str) -> None:
        class LivesOnPostgresql(Lives):
            url = postgres_server

        run_state_machine_as_test(LivesOnPostgresql, settings=ON_POSTGRESQL)
