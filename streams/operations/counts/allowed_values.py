"""The only values that counters are named by; any other value counts as `other`.

A value passes from a record to a table, page or metric only if it is listed here or has
one of a few narrow forms: a version, the name of a setting, a short hash.
"""

from __future__ import annotations

import re
from collections.abc import Container, Mapping
from types import MappingProxyType

from deid_core.detectors import detector_names
from deid_core.detectors.terms import NAME as TERMS
from deid_core.labels import Label
from streams.engine.reasons import REASONS

OTHER = "other"

LABELS = frozenset(label.value for label in Label)
STAGES = ("intake", "scrub")
JOINS = ("found", "missing")

NOTE_TYPES: Mapping[str, str] = MappingProxyType(
    {
        "10164-2": "History of present illness",
        "11488-4": "Consult note",
        "11502-2": "Laboratory report",
        "11504-8": "Surgical operation note",
        "11506-3": "Progress note",
        "11526-1": "Pathology study",
        "18726-0": "Radiology studies",
        "18748-4": "Diagnostic imaging study",
        "18761-7": "Transfer summary",
        "18842-5": "Discharge summary",
        "28570-0": "Procedure note",
        "34109-9": "Note",
        "34111-5": "Emergency department note",
        "34117-2": "History and physical note",
        "34133-9": "Summarization of episode note",
        "34746-8": "Nurse note",
        "34748-4": "Telephone encounter note",
        "51847-2": "Evaluation and plan note",
        "57133-1": "Referral note",
        "AR": "Autopsy report",
        "CD": "Cardiodiagnostics",
        "CN": "Consultation",
        "DI": "Diagnostic imaging",
        "DS": "Discharge summary",
        "ED": "Emergency department report",
        "HP": "History and physical examination",
        "OP": "Operative report",
        "PC": "Psychiatric consultation",
        "PH": "Psychiatric history and physical",
        "PN": "Procedure note",
        "PR": "Progress note",
        "SP": "Surgical pathology",
        "TS": "Transfer summary",
    }
)
"""LOINC codes of documents (LOINC 2.78) and HL7 table 0270 (HL7 v2.5.1, 9.6.1.2)."""

_EVENT = re.compile(r"(?:MDM|ORU|ADT)_[A-Z][0-9]{2}")
_NAME = re.compile(r"[a-z][a-z0-9._-]{0,39}")
_VERSION = re.compile(r"[0-9][0-9a-z.+-]{0,19}")
_DIGEST = re.compile(r"[0-9a-f]{12}")
_KEY_ID = re.compile(r"[0-9a-f]{8}")


def label(value: object) -> str:
    """Return a label of deid_core."""
    return _one_of(value, LABELS)


def stage(value: object) -> str:
    """Return `intake` or `scrub`."""
    return _one_of(value, STAGES)


def join(value: object) -> str:
    """Return `found` or `missing`."""
    return _one_of(value, JOINS)


def code(value: object) -> str:
    """Return the reason code of a dead letter."""
    return _one_of(value, REASONS)


def detector(value: object) -> str:
    """Return the detector's name, with a tilde for a fuzzy match."""
    if not isinstance(value, str):
        return OTHER
    name = value.partition("/")[0].rstrip("~")
    if name not in (*detector_names(), TERMS):
        return OTHER
    return name + "~" * value.endswith("~")


def note_type(value: object) -> str:
    """Return a code of `NOTE_TYPES`, an HL7 event, or `none`."""
    if value == "":
        return "none"
    is_event = isinstance(value, str) and _EVENT.fullmatch(value)
    return str(value) if is_event else _one_of(value, NOTE_TYPES)


def name(value: object) -> str:
    """Return the name of a preset, policy or model."""
    return _of_form(value, _NAME)


def version(value: object) -> str:
    """Return the version of a program."""
    return _of_form(value, _VERSION)


def key_id(value: object) -> str:
    """Return the id of a pseudonym key: eight hex digits of its hash."""
    return _of_form(value, _KEY_ID)


def digest(value: object) -> str:
    """Return the first twelve hex digits of a model's hash."""
    return _of_form(value[:12] if isinstance(value, str) else value, _DIGEST)


def _one_of(value: object, allowed: Container[str]) -> str:
    return value if isinstance(value, str) and value in allowed else OTHER


def _of_form(value: object, form: re.Pattern[str]) -> str:
    return value if isinstance(value, str) and form.fullmatch(value) else OTHER
