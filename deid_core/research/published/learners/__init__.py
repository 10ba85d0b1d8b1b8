"""The learners of the published systems, by their names in recipes, and their options.

They learn to label words.  What they return is plain arrays (`predictors`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pkgutil import resolve_name
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, Protocol

from deid_core.research.training.learners import CrfsuiteOptions

if TYPE_CHECKING:
    from deid_core.research.published.predictors import Predictor
    from deid_core.research.published.rows import TrainingWords
    from deid_core.research.training.weights import Progress


@dataclass(frozen=True, slots=True)
class LinearOptions:
    """Options of a linear support vector machine.

    Args:
        c: Cost of a word on the wrong side.
    """

    c: float = 1.0


@dataclass(frozen=True, slots=True)
class KernelOptions:
    """Options of a kernel machine.

    The kernel is ``(gamma x y + constant) ** 2`` or ``exp(-gamma |x - y| ** 2)``.

    Args:
        c: Cost of a word on the wrong side.
        gamma: None is one over the number of features, libSVM's default.
        constant: r in equation 4 of Tafvizi and Pacula.
        kernel: Of machines for many classes.
    """

    c: float = 1.0
    gamma: float | None = None
    constant: float = 1.0
    kernel: Literal["quadratic", "gaussian"] = "gaussian"


@dataclass(frozen=True, slots=True)
class ForestOptions:
    """Options of a random forest.

    Args:
        trees: Number of trees.
        tried: Features that a node chooses among; None is Weka's default, the integer
            part of the binary logarithm of their number, plus one.
    """

    trees: int = 10
    tried: int | None = None


@dataclass(frozen=True, slots=True)
class MaximumEntropyOptions:
    """Options of a multinomial logistic regression.

    Args:
        c: Inverse of the L2 penalty.
        rounds: Most iterations of the optimiser.
    """

    c: float = 1.0
    rounds: int = 300


class WordLearner(Protocol):
    """Learns to label words."""

    def __call__(
        self,
        words: TrainingWords,
        options: Any,  # noqa: ANN401 - each learner has its own
        seed: int,
        progress: Progress,
        /,
    ) -> Predictor:
        """Return what was learned; the same seed, the same result."""
        ...


@dataclass(frozen=True, slots=True)
class WordLearnerSpec:
    """A learner that recipes can name.

    Args:
        options: The options that a recipe may set.
        function: ``module:function``; its module is imported when it is used.
    """

    options: type[Any]
    function: str

    def load(self) -> WordLearner:
        """Return the learner."""
        learner: WordLearner = resolve_name(f"{__name__}.{self.function}")
        return learner


WORD_LEARNERS: Mapping[str, WordLearnerSpec] = MappingProxyType(
    {
        "crfsuite": WordLearnerSpec(CrfsuiteOptions, "crfsuite:chain"),
        "svm-linear": WordLearnerSpec(LinearOptions, "scikit_learn:linear"),
        "svm-quadratic": WordLearnerSpec(KernelOptions, "scikit_learn:quadratic"),
        "svm-gaussian": WordLearnerSpec(KernelOptions, "scikit_learn:gaussian"),
        "svm-one-vs-one": WordLearnerSpec(
            KernelOptions, "scikit_learn:one_against_one"
        ),
        "svm-one-vs-all": WordLearnerSpec(
            KernelOptions, "scikit_learn:one_against_all"
        ),
        "random-forest": WordLearnerSpec(ForestOptions, "scikit_learn:forest"),
        "maxent": WordLearnerSpec(
            MaximumEntropyOptions, "scikit_learn:maximum_entropy"
        ),
    }
)
"""Every learner by its name in recipes."""
