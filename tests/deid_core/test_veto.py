import pytest

from deid_core.detectors.veto import is_vetoed, without_words
from deid_core.labels import Label
from tests.deid_core.marked import unmark


def vetoed(marked, label=Label.PATIENT):
    text, [span] = unmark(marked)
    return is_vetoed(text, *span, label)


@pytest.mark.parametrize(
    "marked",
    [
        "«CHIEF COMPLAINT»\n\nBack pain",
        "«Hemostasis» was obtained using electrocautery.",
        "closed with «Dermabond» and dressed",
        "a «Bovie» cautery, «Foley»".replace("«Foley»", "Foley"),
        "seen by «XYZ» today",
        "an «18-French» catheter",
        "«Tylenol» was given",
    ],
)
def test_headings_devices_drugs_and_placeholders_are_vetoed(marked):
    assert vetoed(marked)


@pytest.mark.parametrize(
    "marked",
    [
        "«Muldin Tarvo» tolerated it well",
        "I asked Dr. «Pain» about it",
        "«Kowalski» denies chest pain",
        "spoke with «Camila» about it",
    ],
)
def test_names_titles_and_what_only_persons_do_are_not(marked):
    assert not vetoed(marked)


def test_a_house_of_generic_words_is_vetoed():
    assert vetoed("seen at «Physical Therapy»", Label.HOSPITAL)
    assert not vetoed("seen at «Halvorsen House»", Label.HOSPITAL)


@pytest.mark.parametrize(
    ("marked", "left"),
    [
        ("«Formerly Kowalska», now", "Kowalska"),
        ("«Patient Jane Kowalska» came", "Jane Kowalska"),
        ("«Bliss Halloway» came", "Bliss Halloway"),
        ("«Patient»", "Patient"),
    ],
)
def test_words_that_open_a_sentence_are_no_part_of_a_name(marked, left):
    text, [span] = unmark(marked)
    start, end = without_words(text, *span)

    assert left == text[start:end]
