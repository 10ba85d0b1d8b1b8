"""What a detector is, and which there are.

A detector proposes; it never edits and never decides.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Protocol

from .classifier import ClassifierOptions
from .known.options import KnownOptions
from .lexicon.options import LexiconOptions
from .nus.options import NusOptions
from .options import NoOptions, Options
from .tagger import TaggerOptions

if TYPE_CHECKING:
    from ..document import Annotation, Document


class Detector(Protocol):
    """Anything that can propose annotations for documents."""

    @property
    def name(self) -> str:
        """The name in presets and, before the slash, in audit events."""
        ...

    def __call__(self, documents: Sequence[Document]) -> list[list[Annotation]]:
        """Return each document's proposals, in any order; they may overlap.

        A whole batch is given at once, so that a detector can work vectorised.
        """
        ...


@dataclass(frozen=True, slots=True)
class Kind:
    """A detector that presets can name.

    Args:
        options: What the table of its name may hold.
        make: Builds it; imports its module, so that a preset loads only what it names.
    """

    options: type[Options]
    make: Callable[[Any], Detector]


def _rules(_: NoOptions) -> Detector:
    from .rules import RuleDetector

    return RuleDetector()


def _lexicon(options: LexiconOptions) -> Detector:
    from .lexicon import LexiconDetector

    return LexiconDetector(options)


def _known(options: KnownOptions) -> Detector:
    from .known import KnownDetector

    return KnownDetector(options)


def _tagger(options: TaggerOptions) -> Detector:
    from .tagger import TaggerDetector

    return TaggerDetector(options)


def _classifier(options: ClassifierOptions) -> Detector:
    from .classifier import ClassifierDetector

    return ClassifierDetector(options)


def _nus(options: NusOptions) -> Detector:
    from .nus.detector import NusDetector

    return NusDetector(options)


DETECTORS: Mapping[str, Kind] = MappingProxyType(
    {
        "rules": Kind(NoOptions, _rules),
        "lexicon": Kind(LexiconOptions, _lexicon),
        "known": Kind(KnownOptions, _known),
        "tagger": Kind(TaggerOptions, _tagger),
        "nus": Kind(NusOptions, _nus),
        "classifier": Kind(ClassifierOptions, _classifier),
    }
)
"""Every detector by its name in presets."""
