"""The codes of dead letters are a closed set."""

from streams.engine.errors import InvalidRecord
from streams.engine.reasons import OTHER, ReasonCode, bounded


def test_an_unknown_code_is_counted_as_other():
    assert bounded("residue") == "residue"
    assert bounded("zzmarker") == OTHER


def test_a_code_is_shown_as_its_value():
    error = InvalidRecord(ReasonCode.NO_PATIENT, "PID-3: why")

    assert str(error) == "no_patient: PID-3: why"
    assert f"{error.code}" == "no_patient"
