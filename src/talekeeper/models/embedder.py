"""What an embedder promises. It does not know what the vectors are for."""

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

__all__ = ["Embedder", "Vectors"]

Vectors = NDArray[np.float32]
"""One row for each text."""


class Embedder(Protocol):
    """Turns texts into vectors whose dot product tells how near two meanings are.

    Safe to share between threads. Making one is cheap: what takes long to load is loaded at the
    first use.
    """

    @property
    def model_id(self) -> str:
        """Which vectors these are: stored beside them, and different where they would differ.

        Vectors of different models must not be compared. Raises InvalidInput, which says what to
        do, where the model is not on this machine.
        """

    @property
    def dimension(self) -> int:
        """Numbers in each vector."""

    def embed(self, texts: Sequence[str]) -> Vectors:
        """The vectors of the texts, in their order: float32, shape (texts, dimension).

        Each row has unit length; the row of a text with nothing in it, or nothing the model knows,
        is all zeros. The same text gives the same bytes on one machine, whatever else is in the
        batch and whoever calls at the same time. Any ``str`` has a row: lone surrogates count as
        U+FFFD. Takes time linear in the length of the texts, and does not change them.

        Raises InvalidInput, which says what to do, where the model is not on this machine.
        """
