"""The codes of dead letters: a closed set, fit for metric labels and the runbook.

Who adds an InvalidRecord with a new code adds it here and to deploy/runbook.md; tests
compare the three.
"""

from __future__ import annotations

from collections.abc import Mapping

REASONS: Mapping[str, str] = {
    "bad_json": "the value is not JSON",
    "bad_msh": "the message header (MSH) can't be read",
    "deadline": "processing the record alone took too much CPU time",
    "decoder_failed": "a bug of ours in the decoder",
    "deid_error": "deid_core refused the note",
    "detector_failed": "a detector broke on the note",
    "merge_failed": "a bug of ours while the patient's record was merged",
    "no_patient": "no identifier says whose it is",
    "null_value": "a null value is no message and no note",
    "patient_record": "the patient's record breaks its schema or can't be merged",
    "poison": "the record ended its worker again and again",
    "residue": "a value of the patient's record survived in the output",
    "schema": "the value breaks its schema",
    "too_large": "the value is over the limit",
    "too_many": "a list of the patient group is longer than can be kept",
    "undecodable": "the bytes are not of the character set declared",
    "unknown_event": "the message's event is none that is handled",
    "wrong_key": "the key is not the note's patient",
    "wrong_partition": "the key belongs to another partition",
}
OTHER = "other"
"""For a code that is not above: a metric's labels stay bounded."""


def bounded(code: str) -> str:
    """Return the code if it is known, else `OTHER`."""
    return code if code in REASONS else OTHER
