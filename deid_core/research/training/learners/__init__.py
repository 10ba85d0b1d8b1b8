"""Every learner of a linear chain by its name in recipes.

A learner sees lines as numbers (`Encoded`) and gives weights by row and label.  One
that judges each word alone gives transitions of 0.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Protocol

from deid_core.tagger.weights import ChainWeights, Progress

from .options import CrfOptions, CrfsuiteOptions

if TYPE_CHECKING:
    from deid_core.tagger.codec import Bio
    from deid_core.tagger.encoding import Encoded


class Learner(Protocol):
    """Anything that can find weights for lines."""

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
        options: What the table of its name may hold.
        make: Returns it; imports its module and with it what it needs.
    """

    options: type[Any]
    make: Callable[[], Learner]


def _crf() -> Learner:
    from .crf import learn

    return learn


def _crfsuite() -> Learner:
    from .crfsuite import learn

    return learn


LEARNERS: Mapping[str, LearnerSpec] = MappingProxyType(
    {
        "crf": LearnerSpec(CrfOptions, _crf),
        "crfsuite": LearnerSpec(CrfsuiteOptions, _crfsuite),
    }
)
"""Every learner by its name in recipes."""
