"""What recipes may say of rescoring."""

from __future__ import annotations

from dataclasses import dataclass

from deid_core.errors import ConfigError


@dataclass(frozen=True, slots=True)
class RescoringOptions:
    """How a rescorer is learned.

    Args:
        folds: Each chain that gives paths leaves one part in so many out.
        most: How many paths of a line are looked at.
        gap: How much less likely than the best one a path may be, as a logarithm.
        decay: Pull of the weights to 0 (L2), and of the chain's scale to 1.
        least_weight: Smaller weights are dropped.
        rounds: Of the optimiser, at the most.
        epochs: Of the learner of these chains; None for as many as the recipe's.
        copies: Of each line that these chains learn from; None for the recipe's.
    """

    folds: int = 3
    most: int = 8
    gap: float = 5.0
    decay: float = 4.0
    least_weight: float = 0.01
    rounds: int = 120
    epochs: int | None = None
    copies: int | None = None

    def __post_init__(self) -> None:
        if self.folds < 2 or self.most < 2 or self.gap <= 0:
            raise ConfigError("rescoring: needs 2 folds, 2 paths and a gap at least")
