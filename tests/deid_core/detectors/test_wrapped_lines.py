"""Values of the record are found where lines of a fixed width break inside of them."""

from __future__ import annotations

import textwrap

import pytest

from deid_core import Document, KnownId, KnownIdentifiers, Label, PersonName
from deid_core.detectors.patient_record import PatientRecordDetector
from deid_core.language.wrapped import unwrapped

NOTE = (
    "The patient, Quellwright Mabelle, was admitted with chest pain and was seen by "
    "the cardiologist on call. Ms. Quellwright (MRN 77881234) denies fever, cough or "
    "chills and takes lisinopril, metformin and atorvastatin as before. Mabelle lives "
    "alone."
)
KNOWN = KnownIdentifiers(
    patient_names=(PersonName("Quellwright", "Mabelle"),),
    ids=(KnownId("77881234", Label.MEDICALRECORD),),
)
DETECTOR = PatientRecordDetector()


def cut(text: str, width: int) -> str:
    """Return a text whose lines break wherever they are full."""
    return "\n".join(text[at : at + width] for at in range(0, len(text), width))


def left_of(text: str) -> str:
    """Return what is left of a note without what was found, on one line."""
    [found] = DETECTOR([Document("1", text, KNOWN)])
    spans = sorted((each.span.start, each.span.end) for each in found)
    left, at = "", 0
    for start, end in spans:
        left += text[at:start]
        at = max(at, end)
    return (left + text[at:]).replace("\n", "")


@pytest.mark.parametrize("width", range(14, 100))
def test_no_part_of_a_value_is_left_wherever_lines_break(width):
    left = left_of(cut(NOTE, width))

    whole = left_of(NOTE)
    assert whole.split() == left.split()
    for each in ("Quell", "wright", "Mabel", "belle", "7788", "1234"):
        assert each not in left


def test_a_name_of_two_lines_is_one_name():
    text = cut(NOTE, 18)
    [found] = DETECTOR([Document("1", text, KNOWN)])

    assert "Quell\nwright Mabelle" in {
        text[each.span.start : each.span.end] for each in found
    }


@pytest.mark.parametrize("width", range(20, 100))
def test_lines_that_break_between_words_join_no_values(width):
    known = KnownIdentifiers(
        patient_names=(PersonName("Onc", "Wasseen"), PersonName("Andwas", "Theca"))
    )
    text = textwrap.fill(NOTE, width)

    [found] = DETECTOR([Document("1", text, known)])

    assert not [each for each in found if "\n" in text[each.span.start : each.span.end]]


@pytest.mark.parametrize(
    "text",
    [
        "Seen today: Quell\nwright Mabelle",  # a line alone is of no fixed width
        "Seen today by Quell\nwright shipyard nurse\nand a colleague",
        "A1\nB2\nC3\nD4",  # a column
        "Seen today: Quell\n\nwright Mabelle  \n",
        "Seen today: ....\nis well, but....\nstill tired",
        "one line",
        "",
    ],
)
def test_other_lines_stay_apart(text):
    assert unwrapped(text) is None


def test_a_reading_leads_back_to_the_note():
    text = cut(NOTE, 30)

    reading = unwrapped(text)

    assert reading is not None
    assert NOTE.count(" ") == reading.text.count(" ")
    for start in range(len(reading.text) - 12):
        first, last = reading.in_note(start, start + 12)
        read = text[first:last]
        kept = reading.text[start : start + 12]
        assert kept.replace("\n", "") == read.replace("\n", "")
