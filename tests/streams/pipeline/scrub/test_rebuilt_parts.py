"""The last check of a rebuilt part reads it in the character set that it declares."""

from __future__ import annotations

from dataclasses import replace

import pytest

from deid_core import KnownIdentifiers, PersonName
from deid_core.document import Address
from streams.engine.errors import InvalidRecord
from streams.engine.reasons import ReasonCode
from streams.formats.readers import READERS
from streams.model.notes import ClinicalNote
from streams.model.parts import FreeText, Rebuilt
from streams.model.patients.demographics import PatientId
from streams.pipeline.publish import PatientValues, Pseudonyms
from streams.pipeline.scrub.documents import part_documents_of
from streams.pipeline.scrub.scrubbing import Texts, rebuilt

HEADER = "MSH|^~\\&|A|B|C|D|2024||ORU^R01|1|P|2.5||||||8859/1\r"
KNOWN = KnownIdentifiers(patient_names=(PersonName("Zürbögen", "Jörg"),))


class Reader:
    def __init__(self, name):
        self.name = name

    def read(self, content):
        self.texts = [FreeText(content)]
        return self

    def rebuilt(self, scrubbed, values):
        text = f"{HEADER}PID|1||7||{self.name}\rNTE|1||{scrubbed[0].text}\r"
        return Rebuilt(text.encode("latin-1"))


def rebuild(deidentifier, name, known=KNOWN, reader=Reader):
    reader = reader(name)
    patient = PatientId("A", "7")
    note = ClinicalNote("1", patient, "", "", "Mr. Zürbögen is well.", format="hl7")
    found = part_documents_of(note, known, reader)
    texts = Texts(deidentifier)
    texts.add(found.texts)
    texts.scrub()
    values = PatientValues(deidentifier, found.document, Pseudonyms(b"0" * 32))
    return rebuilt(values, found, texts.of(found.texts))


def test_a_part_without_the_patients_name_passes_in_its_own_bytes(hybrid):
    part = rebuild(hybrid, "Söderström")

    assert "Söderström" in READERS["hl7"].text(part.value)
    assert "Söderström".encode("latin-1") in part.value


def test_a_name_in_another_character_set_is_residue(hybrid):
    with pytest.raises(InvalidRecord) as caught:
        rebuild(hybrid, "Zürbögen")

    assert ReasonCode.RESIDUE is caught.value.code


@pytest.mark.parametrize(
    ("format", "value", "values"),
    [
        (
            "hl7",
            "MSH|^~\\&|PID\rPID|1||ROL^PID\rROL|ROL",
            "|^~\\&|PID\r|1||ROL^PID\r|ROL\r",
        ),
        (
            "fhir",
            r'{"resourceType":"name","name":[{"text":"\"name\":x","a":"name"}]}',
            r'{:"name",:[{:"\"name\":x",:"name"}]}',
        ),
        (
            "ccda",
            '<a xmlns="lang" xmlns:sdtc="lang"><sdtc:lang xml:lang="lang" b="c">'
            'lang="lang" &lt;lang&gt;</sdtc:lang></a>',
            'lang="lang" &lt;lang&gt;\n\n\n\n\n\nlang\nc\nlang="lang" &lt;lang&gt;\n\n',
        ),
    ],
)
def test_names_that_a_format_gives_to_places_are_no_values(format, value, values):
    assert READERS[format].shown(value.encode()) == values


def test_values_of_neighbouring_elements_are_apart():
    value = b'<a b="1"/><c d="97062"/><e>5</e><f>X</f>Y'

    *_, parted = READERS["ccda"].shown(value).split("\n\n\n\n")

    assert parted.split() == ["1", "97062", "5", "X", "Y"]


class Codes(Reader):
    """Writes a code beside the name, unless it is a leak."""

    def rebuilt(self, scrubbed, values):
        done = super().rebuilt(scrubbed, values)
        code = "" if values.is_leak("02139") else "02139"
        return Rebuilt(done.value + f"OBX|1|NM|{code}\r".encode(), {"OBX-5": 1})


def test_a_code_that_is_a_value_of_the_record_is_removed_alone(hybrid):
    known = replace(KNOWN, addresses=(Address(zip="02139"),))

    kept = rebuild(hybrid, "Söderström", reader=Codes)
    removed = rebuild(hybrid, "Söderström", known, Codes)

    assert b"|02139\r" in kept.value
    assert b"02139" not in removed.value
    with pytest.raises(InvalidRecord):
        rebuild(hybrid, "Zürbögen", known, Codes)
