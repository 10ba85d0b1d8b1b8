"""The reason codes of dead letters: a closed set, also used as a metric's label.

A new code is added here and to deploy/runbook.md; a test compares the two.
"""

from __future__ import annotations

from enum import StrEnum


class ReasonCode(StrEnum):
    """Why a record can never be processed."""

    BAD_JSON = "bad_json"
    """The value is not JSON."""
    BAD_MSH = "bad_msh"
    """The message header (MSH) is unreadable."""
    DEADLINE = "deadline"
    """Processing the record alone took too much CPU time."""
    DECODER_FAILED = "decoder_failed"
    """A bug in the decoder."""
    DEID_ERROR = "deid_error"
    """deid_core refused the note."""
    DETECTOR_FAILED = "detector_failed"
    """A detector failed on the note."""
    MERGE_FAILED = "merge_failed"
    """A bug while the patient record was merged."""
    NO_PATIENT = "no_patient"
    """No identifier of the patient."""
    NULL_VALUE = "null_value"
    """A null value is neither a message nor a note."""
    PATIENT_RECORD = "patient_record"
    """The patient record breaks its schema or cannot be merged."""
    POISON = "poison"
    """The record ended its worker repeatedly."""
    RESIDUE = "residue"
    """A value of the patient record leaked into the output."""
    SCHEMA = "schema"
    """The value breaks its schema."""
    TOO_LARGE = "too_large"
    """The value exceeds the size limit."""
    TOO_MANY = "too_many"
    """A list of the patient group exceeds its limit."""
    UNDECODABLE = "undecodable"
    """The bytes are not in the declared character set."""
    UNKNOWN_EVENT = "unknown_event"
    """The message type or trigger event is not supported."""
    WRONG_KEY = "wrong_key"
    """The key is not the note's patient."""
    WRONG_PARTITION = "wrong_partition"
    """The key belongs to another partition."""


REASONS: tuple[str, ...] = tuple(ReasonCode)
OTHER = "other"
"""Stands for unknown codes, so that the label values of a metric stay bounded."""


def bounded(code: str) -> str:
    """Return a known code unchanged, and `OTHER` for any other string."""
    return code if code in REASONS else OTHER
