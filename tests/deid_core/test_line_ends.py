"""What a line end cuts is found: the lines around it are read once more without it."""

import pytest

from deid_core import (
    Deidentifier,
    Document,
    KnownId,
    KnownIdentifiers,
    Label,
    PersonName,
    load_policy,
)
from deid_core.detectors.patient_record import PatientRecordDetector
from deid_core.language.line_ends import mended

RECORD = KnownIdentifiers(
    patient_names=(PersonName("Featherstonehaugh", "Rupert"),),
    ids=(KnownId("77881234", Label.MEDICALRECORD),),
)


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("Dr. Bertrand-\nvillon came", "Dr. Bertrandvillon came"),
        ("Dr. Bertrand-\nVillon came", "Dr. Bertrand-Villon came"),
        ("SSN 457-55-  \r\n   5462", "SSN 457-55-5462"),
        ("MRN: 0048\n2917", "MRN: 00482917"),
        ("call (404)\n555-0167", "call (404) 555-0167"),
        ("on October\n14, 2024", "on October 14, 2024"),
        ("at 4410 Larkspur\nLane", "at 4410 Larkspur Lane"),
        ("a@b\nnot. mail to ann\n@mail.example", "not. mail to ann@mail.example"),
    ],
)
def test_the_lines_around_a_cut_read_without_their_end(text, read):
    assert mended(text).text == read


@pytest.mark.parametrize(
    "text",
    [
        "",
        "one line - of text",
        "no more\ncuts here\n",
        "HR 96\n2250 D/w cards",
        "BUN 23.\n03/2020 A1c",
        "MRN 4821\n67 yo man",
        "- item\n- item -\n",
        "in May\n3 visits",
    ],
)
def test_lines_that_are_whole_are_not_read_again(text):
    assert mended(text) is None


def test_only_the_lines_around_are_read_again_and_each_place_leads_back():
    text = "first\nMr. Feather-\nstone here\nthird\nMr. Quimby-\nHart\nlast"

    reading = mended(text)

    assert reading.text == "Mr. Featherstone here\n\nMr. Quimby-Hart"
    for word in ("Mr. Featherstone", "here", "Quimby-Hart"):
        start, end = reading.in_note(*_range(reading.text, word))
        assert text[start:end].replace("-\ns", "s").replace("\n", "") == word
        is_across = "Mr." in word or "-" in word
        assert reading.goes_across(*_range(reading.text, word)) == is_across
        assert reading.of_note(start, end) == (word if is_across else "")
    assert not reading.goes_across(0, len(reading.text))


def _range(text, word):
    return text.index(word), text.index(word) + len(word)


@pytest.mark.parametrize(
    ("text", "scrubbed"),
    [
        ("seen: Feather-\nstonehaugh came", "seen: [NAME:PATIENT] came"),
        ("no 7788\n1234 x", "no [ID:MEDICALRECORD] x"),
        ("sums 7788-\n1234 x", "sums [ID:MEDICALRECORD] x"),
        ("sums 7788\n1235 x", "sums 7788\n1235 x"),
    ],
)
def test_values_of_the_record_are_found_across_line_ends(text, scrubbed):
    system = Deidentifier([PatientRecordDetector()], load_policy("safe-harbor"))

    assert system.deidentify(Document("1", text, RECORD)).text == scrubbed
