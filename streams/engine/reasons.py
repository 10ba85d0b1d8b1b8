"""The reason codes of dead letters: a closed set, also used as a metric's label.

A new code is added here and to deploy/runbook.md; a test compares the two.
"""

from __future__ import annotations

from enum import StrEnum


class ReasonCode(StrEnum):
    """Why a record can never be processed."""

    BAD_JSON = "bad_json"  # the value is not JSON
    BAD_MSH = "bad_msh"  # the message header (MSH) is unreadable
    BAD_XML = "bad_xml"  # the value is not XML, or has a document type (DTD)
    DEADLINE = "deadline"  # processing the record alone took too much CPU time
    DECODER_FAILED = "decoder_failed"  # a bug in the decoder
    DEID_ERROR = "deid_error"  # deid_core refused the note
    DETECTOR_FAILED = "detector_failed"  # a detector failed on the note
    MERGE_FAILED = "merge_failed"  # a bug while the patient record was merged
    NO_PATIENT = "no_patient"  # no identifier of the patient
    NULL_VALUE = "null_value"  # a null value is neither a message nor a note
    OTHER_LANGUAGE = "other_language"  # the preset does not read the note's language
    PATIENT_RECORD = "patient_record"  # the patient record is invalid
    POISON = "poison"  # the record ended its worker repeatedly
    RESIDUE = "residue"  # a value of the patient record leaked into the output
    SCHEMA = "schema"  # the value breaks its schema
    TOO_LARGE = "too_large"  # the value exceeds the size limit
    TOO_MANY = "too_many"  # a list of the patient group exceeds its limit
    UNDECODABLE = "undecodable"  # the bytes are not in the declared character set
    UNKNOWN_EVENT = "unknown_event"  # the type or trigger event is not supported
    UNSUPPORTED = "unsupported"  # the format of the value is not supported
    WRONG_KEY = "wrong_key"  # the key is not that of the patient
    WRONG_PARTITION = "wrong_partition"  # the key belongs to another partition


REASONS: tuple[str, ...] = tuple(ReasonCode)
OTHER = "other"
"""Stands for unknown codes, so that the label values of a metric stay bounded."""


def bounded(code: str) -> str:
    """Return a known code unchanged, and `OTHER` for any other string."""
    return code if code in REASONS else OTHER
