"""The learners of linear chains that recipes can name, and their options.

A learner reads lines as numbers (`Encoded`) and returns weights by row and label.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pkgutil import resolve_name
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Protocol

from deid_core.research.training.weights import ChainWeights, Progress

if TYPE_CHECKING:
    from deid_core.research.training.encoding import Encoded
    from deid_core.tagger.codec import Bio


@dataclass(frozen=True, slots=True)
class CrfOptions:
    """Options of our CRF trainer.

    The margins are those of a softmax margin (Gimpel and Smith 2010): during training
    the score of the gold label must exceed that of another label by so much.

    Args:
        epochs: Number of passes over the lines.
        rate: AdaGrad's step size at the start; it falls to 0 in equal steps.
        accumulator: Initial value of AdaGrad's sums of squares.
        decay: L2 decay of every weight that is touched.
        dropout: Share of features left out at each visit of a line.
        certain: A line with a smaller loss gives no gradient and is visited less often.
        sure: A word whose gold label is more probable gives no gradient.
        revisit: Probability that a certain line is visited in an epoch.
        average: The result is the mean of the weights after so many last epochs.
        missed: Margin of a value's label over "outside".
        mistaken: Margin of a value's label over any other value's label.
        invented: Margin of "outside" over any value's label.
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
    """Options of python-crfsuite, by its own names.

    Args:
        algorithm: ``lbfgs``, ``l2sgd``, ``ap``, ``pa`` or ``arow``.
        c1: L1 penalty of ``lbfgs``.
        c2: L2 penalty of ``lbfgs`` and ``l2sgd``.
        max_iterations: At most so many.
        all_transitions: Whether transitions that never occurred have weights, too.
    """

    algorithm: str = "lbfgs"
    c1: float = 0.0
    c2: float = 1.0
    max_iterations: int = 100
    all_transitions: bool = False


class Learner(Protocol):
    """Fits the weights of a linear chain."""

    def __call__(
        self,
        encoded: Encoded,
        codec: Bio,
        options: Any,  # noqa: ANN401 - each learner has its own
        *,
        seed: int,
        progress: Progress,
    ) -> ChainWeights:
        """Return the weights that fit the lines; the same seed, the same weights."""
        ...


@dataclass(frozen=True, slots=True)
class LearnerSpec:
    """A learner that recipes can name.

    Args:
        options: The options that a recipe may set.
        function: ``module:function``; its module is imported when it is used.
    """

    options: type[Any]
    function: str

    def load(self) -> Learner:
        """Return the learner."""
        learner: Learner = resolve_name(self.function)
        return learner


LEARNERS: Mapping[str, LearnerSpec] = MappingProxyType(
    {
        "crf": LearnerSpec(CrfOptions, f"{__name__}.crf:learn"),
        "crfsuite": LearnerSpec(CrfsuiteOptions, f"{__name__}.crfsuite:learn"),
    }
)
"""Every learner by its name in recipes."""
