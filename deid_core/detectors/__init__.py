"""What a detector is, and which there are.

A detector proposes; it never edits and never decides.  Another package adds one by an
entry point of the group ``phistream.detectors`` that names a `DetectorSpec`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Protocol

from ..errors import ConfigError
from ..options import NoOptions, Options
from ..plugins import DETECTORS as GROUP
from ..plugins import plugins
from .lexicon import LexiconOptions
from .patient_record.options import KnownOptions
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
class DetectorSpec:
    """A detector that presets can name.

    Args:
        options: What the table of its name may hold.
        make: Builds it; imports its module, so that a preset loads only what it names.
    """

    options: type[Options]
    make: Callable[[Any], Detector]


def _rules(_: NoOptions) -> Detector:
    from .rules.engine import RuleDetector

    return RuleDetector()


def _lexicon(options: LexiconOptions) -> Detector:
    from .lexicon import LexiconDetector

    return LexiconDetector(options)


def _known(options: KnownOptions) -> Detector:
    from .patient_record import KnownDetector

    return KnownDetector(options)


def _tagger(options: TaggerOptions) -> Detector:
    from .tagger import TaggerDetector

    return TaggerDetector(options)


DETECTORS: Mapping[str, DetectorSpec] = MappingProxyType(
    {
        "rules": DetectorSpec(NoOptions, _rules),
        "lexicon": DetectorSpec(LexiconOptions, _lexicon),
        "known": DetectorSpec(KnownOptions, _known),
        "tagger": DetectorSpec(TaggerOptions, _tagger),
    }
)
"""The product's own detectors, by their names in presets."""


def detector_names() -> tuple[str, ...]:
    """Return the names of the product's detectors, then of those other packages add."""
    added = (name for name in plugins(GROUP) if name not in DETECTORS)
    return (*DETECTORS, *sorted(added))


def detector_spec(name: str) -> DetectorSpec:
    """Return the detector of that name; the product's own come first.

    Args:
        name: One of `detector_names`.

    Raises:
        ConfigError: Another package's entry point does not give a `DetectorSpec`.
    """
    if name in DETECTORS:
        return DETECTORS[name]
    try:
        spec = plugins(GROUP)[name].load()
    except (ImportError, AttributeError) as error:
        problem = f"detector {name!r}: its package fails: {type(error).__name__}"
        raise ConfigError(problem) from None
    if not isinstance(spec, DetectorSpec):
        raise ConfigError(f"detector {name!r}: its entry point gives no DetectorSpec")
    return spec
