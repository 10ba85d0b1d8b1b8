"""Find and replace protected health information in clinical text.

    from deid_core import deidentify

    print(deidentify("Mr. Nowak was seen on 3/14/2024."))
    # Mr. [NAME:PATIENT] was seen on [DATE].

A `Deidentifier` does the same for many notes, and finds more with the patient's record:

    from deid_core import Deidentifier, Document, KnownIdentifiers, PersonName

    patient = PersonName(family="Quellwright", given="Mabelle")
    text = "Ms. Quelwright was seen on 3/14/2024; call (312) 555-0147."
    note = Document("note-1", text, KnownIdentifiers(patient_names=(patient,)))
    print(Deidentifier.from_names(policy="safe-harbor").deidentify(note).text)
    # Ms. [NAME:PATIENT] was seen on [DATE]; call [CONTACT:PHONE].

No Kafka, no network, no clock.  All that is cached of notes and patient records belongs
to the `Deidentifier` and goes with it; that of `deidentify`, and an unpickled one, stay
until the process ends.  Other caches that live as long hold lists, models and tables of
the calendar, and results for single words that are in the public lexicons
(`runtime.text_cache`): no other word, no number, no text.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .config import DeidConfig, known_presets, load_preset
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
    from .errors import (
        ConfigError,
        DeidError,
        DetectorFailed,
        OtherLanguage,
        ResidueFound,
    )
    from .explain import Decision, Explanation
    from .labels import Label
    from .pipeline import Deidentifier
    from .policy import Policy, known_policies, load_policy
    from .term_files import TermFiles
    from .text import deidentify
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
    "deidentify",
    "known_policies",
    "known_presets",
    "load_policy",
    "load_preset",
]

# A name is imported when it is first used, so that `import deid_core` loads nothing
# (PEP 562).
_NAMES_BY_MODULE = {
    "config": ("DeidConfig", "known_presets", "load_preset"),
    "document": (
        "NOTHING_KNOWN",
        "Address",
        "Annotation",
        "Document",
        "KnownId",
        "KnownIdentifiers",
        "OffsetMap",
        "PersonName",
        "ScrubbedDocument",
        "Span",
    ),
    "errors": (
        "ConfigError",
        "DeidError",
        "DetectorFailed",
        "OtherLanguage",
        "ResidueFound",
    ),
    "explain": ("Decision", "Explanation"),
    "labels": ("Label",),
    "pipeline": ("Deidentifier",),
    "policy": ("Policy", "known_policies", "load_policy"),
    "term_files": ("TermFiles",),
    "text": ("deidentify",),
    "verify": ("Verifier",),
}
_MODULES = {
    name: f".{module}" for module, names in _NAMES_BY_MODULE.items() for name in names
}

if not TYPE_CHECKING:  # to a type checker every name would be known

    def __getattr__(name: str) -> object:
        if name not in _MODULES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        value = getattr(import_module(_MODULES[name], __name__), name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
