"""What is published of a note besides its text, for whoever publishes it."""

import pytest

from deid_core import Deidentifier, Document, KnownIdentifiers, PersonName
from streams.engine.errors import InvalidRecord
from streams.engine.reasons import ReasonCode
from streams.pipeline.publish import PatientValues, Pseudonyms, published

PSEUDONYMS = Pseudonyms(b"k" * 32)
KNOWN = KnownIdentifiers(patient_names=(PersonName("Quellwright", "Mabelle"),))


@pytest.fixture(scope="module")
def values_of():
    system = Deidentifier.from_names(preset="lexical", policy="safe-harbor")

    def values_of(note_type="", patient="N|1"):
        document = Document("n1", "", KNOWN, patient, note_type)
        return PatientValues(system, document, PSEUDONYMS)

    return values_of


@pytest.mark.parametrize("is_known", [True, False])
@pytest.mark.parametrize("code", ["Quellwright", "DS_Mabelle"])
def test_a_type_that_holds_a_value_of_the_record_refuses_the_note(
    values_of, code, is_known
):
    with pytest.raises(InvalidRecord, match="note_type holds a value") as refused:
        published(values_of(code), "", is_known=is_known)

    assert refused.value.code == ReasonCode.RESIDUE
    assert code not in str(refused.value)


@pytest.mark.parametrize(
    ("code", "is_known", "shown"),
    [
        ("11506-3", False, "11506-3"),
        ("OP", True, "OP"),
        ("OP", False, ""),
        ("D2024-03-14", True, ""),
    ],
)
def test_a_type_that_could_not_be_compared_or_may_hold_a_date_is_left_out(
    values_of, code, is_known, shown
):
    note = published(values_of(code), "", is_known=is_known)

    join = "found" if is_known else "missing"
    assert (shown, join) == (note.note_type, note.join)


def test_a_bug_in_a_policy_refuses_the_note_and_names_no_value(values_of):
    with pytest.raises(InvalidRecord, match="written_at: TypeError") as refused:
        published(values_of(), Text("2024-03-14"), is_known=True)

    assert refused.value.code == ReasonCode.DEID_ERROR


class Text(str):
    def __getitem__(self, _slice):
        return 7


def test_a_note_of_nobody_has_an_id_and_no_pseudonym_of_a_patient(values_of):
    one, nobody = values_of().ids, values_of(patient="").ids

    assert PSEUDONYMS.patient(b"N|1") == one.patient
    assert PSEUDONYMS.note(b"N|1", "n1") == one.note_id
    assert nobody.patient == ""
    assert PSEUDONYMS.note(b"", "n1") == nobody.note_id
