"""Every learner of words by its name in recipes of `deid_core.research.published`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Protocol

from deid_core.research.training.learners.options import CrfsuiteOptions

from .word_options import (
    ForestOptions,
    KernelOptions,
    LinearOptions,
    MaximumEntropyOptions,
)

if TYPE_CHECKING:
    from ..predictors import Predictor
    from .support import Marked


class WordLearner(Protocol):
    """Anything that can learn to label words."""

    def __call__(
        self,
        marked: Marked,
        # Each learner has its own.
        options: Any,  # noqa: ANN401
        seed: int,
        /,
    ) -> Predictor:
        """Return what was learned; the same seed, the same result."""
        ...


@dataclass(frozen=True, slots=True)
class WordKind:
    """A learner that recipes can name.

    Args:
        options: What its table may hold.
        make: Returns it; imports its module.
    """

    options: type[Any]
    make: Callable[[], WordLearner]


def _crfsuite() -> WordLearner:
    from deid_core.research.training.learners.crfsuite import learn_words

    return learn_words


def _svm(name: str) -> Callable[[], WordLearner]:
    def make() -> WordLearner:
        from . import svm

        learner: WordLearner = getattr(svm, name)
        return learner

    return make


def _forest() -> WordLearner:
    from .forest import learn

    return learn


def _maximum_entropy() -> WordLearner:
    from .maximum_entropy import learn

    return learn


WORD_LEARNERS: Mapping[str, WordKind] = MappingProxyType(
    {
        "crfsuite": WordKind(CrfsuiteOptions, _crfsuite),
        "svm-linear": WordKind(LinearOptions, _svm("linear")),
        "svm-quadratic": WordKind(KernelOptions, _svm("quadratic")),
        "svm-gaussian": WordKind(KernelOptions, _svm("gaussian")),
        "svm-one-vs-one": WordKind(KernelOptions, _svm("one_against_one")),
        "svm-one-vs-all": WordKind(KernelOptions, _svm("one_against_all")),
        "random-forest": WordKind(ForestOptions, _forest),
        "maxent": WordKind(MaximumEntropyOptions, _maximum_entropy),
    }
)
"""Every learner of words by its name."""
