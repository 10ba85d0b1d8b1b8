"""Find and replace protected health information in clinical text.

    deidentifier = Deidentifier.from_names(preset="hybrid", policy="safe-harbor")
    scrubbed = deidentifier.deidentify(Document("n1", text, known))

No Kafka, no network, no clock, no global state.
"""

from .config import DeidConfig, known_presets, load_preset
from .detectors.terms import TermFiles
from .document import (
    NOTHING_KNOWN,
    Address,
    Annotation,
    Document,
    KnownId,
    KnownIdentifiers,
    OffsetMap,
    PersonName,
    ScrubbedDocument,
    Span,
)
from .errors import ConfigError, DeidError, DetectorFailed, ResidueFound
from .explain import Decision, Explanation
from .labels import Label
from .pipeline import Deidentifier
from .policy import Policy, known_policies, load_policy
from .verify import residue_in, verify

__all__ = [
    "NOTHING_KNOWN",
    "Address",
    "Annotation",
    "ConfigError",
    "Decision",
    "DeidConfig",
    "DeidError",
    "Deidentifier",
    "DetectorFailed",
    "Document",
    "Explanation",
    "KnownId",
    "KnownIdentifiers",
    "Label",
    "OffsetMap",
    "PersonName",
    "Policy",
    "ResidueFound",
    "ScrubbedDocument",
    "Span",
    "TermFiles",
    "known_policies",
    "known_presets",
    "load_policy",
    "load_preset",
    "residue_in",
    "verify",
]
