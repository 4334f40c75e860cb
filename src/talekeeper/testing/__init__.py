"""What tests of Talekeeper, and of what is built on it, need.

A clock and ids that repeat, and a language model that does as it is told, however badly.
"""

from talekeeper.testing import steps
from talekeeper.testing.clock import Ids, TickingClock
from talekeeper.testing.model_server import FakeModelServer, Script
from talekeeper.testing.steps import ModelRequest, Step

__all__ = ["FakeModelServer", "Ids", "ModelRequest", "Script", "Step", "TickingClock", "steps"]
