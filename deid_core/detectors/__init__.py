"""The interface of a detector, and the table of all detectors.

A detector proposes; it never edits and never decides.  Another package adds one by an
entry point of the group ``phistream.detectors`` that names a `DetectorSpec`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import EntryPoint
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Protocol

from deid_core.errors import ConfigError
from deid_core.runtime.options import NoOptions, Options
from deid_core.runtime.plugins import DETECTORS as GROUP
from deid_core.runtime.plugins import failed, plugins

from .lexicon import LexiconOptions
from .patient_record.options import PatientRecordOptions
from .plugin import CheckedDetector
from .tagger import TaggerOptions
from .terms import NAME as TERMS

if TYPE_CHECKING:
    from deid_core.document import Annotation, Document


class Detector(Protocol):
    """Anything that can propose annotations for documents."""

    @property
    def name(self) -> str:
        """The name in presets and, before the slash, in audit events."""
        ...

    @property
    def reads_as_written(self) -> bool:
        """True if it judges letter case by itself.

        The others get a note in one letter case in mixed case, with the same offsets.
        """
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


def _patient_record(options: PatientRecordOptions) -> Detector:
    from .patient_record import PatientRecordDetector

    return PatientRecordDetector(options)


def _tagger(options: TaggerOptions) -> Detector:
    from .tagger import TaggerDetector

    return TaggerDetector(options)


DETECTORS: Mapping[str, DetectorSpec] = MappingProxyType(
    {
        "rules": DetectorSpec(NoOptions, _rules),
        "lexicon": DetectorSpec(LexiconOptions, _lexicon),
        "known": DetectorSpec(PatientRecordOptions, _patient_record),
        "tagger": DetectorSpec(TaggerOptions, _tagger),
    }
)
"""The product's own detectors, by their names in presets."""


# Keys of presets, and what else audit events name as a source.
_RESERVED = (
    *("name", "summary", "like", "detectors", "recasing", "consistency"),
    *("echo", "shift"),
)


def detector_names() -> tuple[str, ...]:
    """Return the names of the product's detectors, then of those other packages add.

    Raises:
        ConfigError: Another package takes a name of the product.
    """
    return (*DETECTORS, *sorted(_plugins()))


def detector_spec(name: str) -> DetectorSpec:
    """Return the detector of that name.

    Args:
        name: One of `detector_names`.

    Raises:
        ConfigError: Another package's detector fails; the message names the package.
    """
    return DETECTORS[name] if name in DETECTORS else _plugin_spec(_plugins()[name])


def _plugins() -> Mapping[str, EntryPoint]:
    return plugins(GROUP, (*DETECTORS, TERMS, *_RESERVED))


def _plugin_spec(plugin: EntryPoint) -> DetectorSpec:
    """Return the detector of an entry point; it is imported here.

    Raises:
        ConfigError: It cannot be imported, or is no `DetectorSpec`; built, it raises
            that, too, if it fails or bears another name.
    """
    name = plugin.name
    what = f"detector {name!r}"
    try:
        spec = plugin.load()
    except Exception as error:
        raise failed(what, plugin, error) from None
    if not isinstance(spec, DetectorSpec):
        raise failed(what, plugin, "its entry point is not a DetectorSpec")

    def make(options: Options) -> Detector:
        try:
            detector = spec.make(options)
            own_name, as_written = detector.name, detector.reads_as_written
        except ConfigError:
            raise
        except Exception as error:
            raise failed(what, plugin, error) from None
        if own_name != name:
            raise failed(what, plugin, "the detector bears another name")
        return CheckedDetector(name, detector, reads_as_written=as_written)

    return DetectorSpec(spec.options, make)
