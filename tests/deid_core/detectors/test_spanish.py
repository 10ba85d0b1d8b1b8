"""What a Spanish model's finds are called."""

import pytest

from deid_core import Annotation, Deidentifier, Document, Label, Span
from deid_core.detectors.spanish import renamed
from tests.deid_core.marked import unmark


def labels(marked, label, tag="TAG"):
    text, spans = unmark(marked)
    found = [
        Annotation(Span(*each), label, 0.9, "tagger", "es/x", tag) for each in spans
    ]
    return [(each.label, each.tag) for each in renamed(text, found)]


@pytest.mark.parametrize(
    "marked",
    [
        "Paciente: «Ana Ruiz Soto».",
        "La paciente «Ana Ruiz Soto» acude a consulta",
        "El paciente, D. «Luis Ruiz», refiere",
        "Nombre y apellidos: «Ana Ruiz»",
        "un paciente llamado «Luis Ruiz»",
    ],
)
def test_who_stands_behind_paciente_is_the_patient(marked):
    assert labels(marked, Label.DOCTOR) == [(Label.PATIENT, "")]


@pytest.mark.parametrize(
    "marked",
    [
        "El paciente Dr. «Luis Ruiz»",
        "Médico del paciente: Dra. «Ana Ruiz»",
        "paciente de «Ana Ruiz»",
        "Responsable clínico: «Ana Ruiz»",
        "impaciente «Ana Ruiz»",
    ],
)
def test_any_other_provider_stays_one(marked):
    assert labels(marked, Label.DOCTOR) == [(Label.DOCTOR, "TAG")]


def test_the_patients_name_is_the_patients_everywhere_in_the_note():
    marked = "Paciente: «Ana Ruiz». Refiere «Ana Ruiz» dolor. Firmado: «Luis Mota»"

    assert [label for label, _ in labels(marked, Label.DOCTOR)] == [
        Label.PATIENT,
        Label.PATIENT,
        Label.DOCTOR,
    ]


def test_five_digits_of_a_province_are_a_postcode_and_stay_a_place():
    found = labels("«28013» «Madrid» «99123» «280»", Label.CITY)

    assert found == [
        (Label.CITY, "TAG"),
        (Label.ZIP, ""),
        *[(Label.CITY, "TAG")] * 3,
    ]


def test_a_scrubbed_spanish_note_tells_sex_and_shows_no_digit_of_a_postcode():
    text = (
        "Paciente: María García López. Mujer de 45 años. Sexo: Mujer.\n"
        "Vive en Calle Mayor 12, 28013 Madrid."
    )

    found = Deidentifier.from_names(preset="meddocan").deidentify(Document("1", text))

    assert found.text == (
        "Paciente: [NAME:PATIENT]. Mujer de [AGE]. Sexo: Mujer.\n"
        "Vive en [LOCATION:STREET], [LOCATION:ZIP] [LOCATION:CITY]."
    )


@pytest.mark.parametrize(
    "text", ["Anamnesis\nMujer, 63 años, con dolor.", "Mujer 72 a. NHC 448812."]
)
def test_a_sex_that_begins_a_case_is_kept(text):
    found = Deidentifier.from_names(preset="meddocan").deidentify(Document("1", text))

    assert "Mujer" in found.text
