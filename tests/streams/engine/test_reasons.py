"""The codes of dead letters are a closed set."""

from streams.engine.errors import InvalidRecord
from streams.engine.reasons import OTHER, ReasonCode, bounded


def test_an_unknown_code_is_counted_as_other():
    assert "residue" == bounded("residue")
    assert OTHER == bounded("zzmarker")


def test_a_code_is_shown_as_its_value():
    error = InvalidRecord(ReasonCode.NO_PATIENT, "PID-3: why")

    assert "no_patient: PID-3: why" == str(error)
    assert "no_patient" == f"{error.code}"
