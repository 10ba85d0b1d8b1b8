"""What a learner of linear weights gives, and what it may tell of its progress."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Progress = Callable[[float, str], None]
"""Called with the share done, 0 to 1, and a word on how it goes."""


@dataclass(frozen=True, slots=True, eq=False)
class ChainWeights:
    """A linear chain's weights.

    Args:
        state: Of each feature's row and label, shape ``[rows, labels]``.
        transitions: From label to label; the last row is the start of a line; forbidden
            is ``-inf``.  Shape ``[labels + 1, labels]``.
    """

    state: NDArray[np.float32]
    transitions: NDArray[np.float32]


def no_progress(_: float, __: str) -> None:
    """Report to nobody."""
