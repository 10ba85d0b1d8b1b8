"""Find and replace protected health information in clinical text.

    from deid_core import Deidentifier, Document, KnownIdentifiers, PersonName

    patient = PersonName(family="Quellwright", given="Mabelle")
    text = "Ms. Quelwright was seen on 3/14/2024; call (312) 555-0147."
    note = Document("note-1", text, KnownIdentifiers(patient_names=(patient,)))
    print(Deidentifier.from_names(policy="safe-harbor").deidentify(note).text)
    # Ms. [NAME:PATIENT] was seen on [DATE]; call [CONTACT:PHONE].

No Kafka, no network, no clock.  All that is cached of notes and patient records belongs
to the `Deidentifier` and goes with it.  Caches that live as long as the process hold
lists, models and tables of the calendar, and results for single words that are in the
public lexicons (`language.text_cache`): no other word, no number, no text.
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
from .errors import ConfigError, DeidError, DetectorFailed, OtherLanguage, ResidueFound
from .explain import Decision, Explanation
from .labels import Label
from .pipeline import Deidentifier
from .policy import Policy, known_policies, load_policy
from .verify import Verifier

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
    "OtherLanguage",
    "PersonName",
    "Policy",
    "ResidueFound",
    "ScrubbedDocument",
    "Span",
    "TermFiles",
    "Verifier",
    "known_policies",
    "known_presets",
    "load_policy",
    "load_preset",
]
