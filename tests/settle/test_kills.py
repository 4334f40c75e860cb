"""Workers that are killed in the middle lose nothing and do nothing twice (see benchmarks)."""

import os
import sys
from pathlib import Path

import pytest
from benchmarks.killing import kill_workers


@pytest.mark.skipif(
    sys.platform == "win32" or not hasattr(os, "fork"), reason="workers are forked and killed"
)
def test_killed_workers_leave_what_an_undisturbed_run_makes(tmp_path: Path) -> None:
    found = kill_workers(tmp_path, kills=20, seed=3)
    assert found.differing is None
    assert found.kills == 20
    assert found.leased > 0
    assert found.nodes > 300
