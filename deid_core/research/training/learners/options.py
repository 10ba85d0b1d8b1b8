"""What recipes may say of learners."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class CrfOptions:
    """How the own learner goes about it.

    The margins are a softmax-margin's (Gimpel and Smith 2010): by so much the gold
    label's score must exceed another's while it learns, as a logarithm.

    Args:
        epochs: How often it goes over all lines.
        rate: AdaGrad's rate at the start; it falls to 0 in equal steps.
        accumulator: What AdaGrad's sums of squares start at.
        decay: Pull of every touched weight to 0 (L2).
        dropout: Share of features that a visit of a line does without.
        certain: A line whose loss is below gives no gradient, and is then drawn less
            often.
        sure: A word whose gold label has a higher probability gives no gradient.
        revisit: How often a line that was certain is drawn.
        average: The result is the mean of the weights after so many last epochs.
        missed: Margin over "outside" where a value is.
        mistaken: Margin over another value's label, or the other part of this value.
        invented: Margin over any label where nothing is.
    """

    epochs: int = 10
    rate: float = 0.08
    accumulator: float = 0.5
    decay: float = 1e-4
    dropout: float = 0.15
    certain: float = 0.01
    sure: float = 0.998
    revisit: float = 0.3
    average: int = 1
    missed: float = 0.0
    mistaken: float = 0.0
    invented: float = 0.0


@dataclass(frozen=True, slots=True)
class CrfsuiteOptions:
    """How python-crfsuite goes about it: its own parameters' names.

    Args:
        algorithm: ``lbfgs``, ``l2sgd``, ``ap``, ``pa`` or ``arow``.
        c1: Of L1, with ``lbfgs``.
        c2: Of L2, with ``lbfgs`` and ``l2sgd``.
        max_iterations: At most so many.
        all_transitions: Whether transitions that were never seen have weights, too.
    """

    algorithm: str = "lbfgs"
    c1: float = 0.0
    c2: float = 1.0
    max_iterations: int = 100
    all_transitions: bool = False
