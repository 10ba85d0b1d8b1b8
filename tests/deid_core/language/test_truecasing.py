import pytest
from hypothesis import given
from hypothesis import strategies as st

from deid_core.language.truecasing import truecased

NOTE = (
    "The patient, Mary Hernandez, reports knee pain. She was seen by Dr. Kowalski at "
    "Mercy General Hospital in Boston, MA in March. No other complaints today."
)


@pytest.mark.parametrize("change", [str.upper, str.lower])
@pytest.mark.parametrize(
    "name", ["Mary Hernandez", "Dr. Kowalski", "Mercy General Hospital", "Boston, MA"]
)
def test_names_get_their_capitals_back(change, name):
    assert name in truecased(change(NOTE))


@pytest.mark.parametrize("change", [str.upper, str.lower])
def test_what_is_no_name_stays_small(change):
    again = truecased(change(NOTE))

    assert "reports knee pain" in again
    assert "No other complaints today" in again


def test_a_note_in_mixed_case_stays_as_it_is():
    note = "HISTORY OF PRESENT ILLNESS\n\n" + NOTE

    assert note == truecased(note)


def test_a_short_text_stays_as_it_is():
    assert truecased("CHF AND COPD") == "CHF AND COPD"


def test_words_before_a_house_are_no_part_of_its_name():
    again = truecased("spoke with martha about hospice on the third of the month")

    assert "about hospice" in again


@pytest.mark.parametrize(
    ("small", "again"),
    [
        ("seen on friday and in march, may need a scan", "march"),
        ("last seen here on dec 16, again on thu 10/24/24, sat up", "Dec 16"),
        (
            "last seen here on dec 16, again on thu 10/24/24, sat up",
            "Thu 10/24/24, sat",
        ),
        ("the record (mrn: st-998877) was reviewed by us", "ST-998877"),
        ("treated at cedar crest on the third of the month", "Cedar Crest"),
        ("he resides at 123 maple street with his brother", "123 Maple Street"),
        ("he was well.\npinecrest university hospital. seen", "Pinecrest University H"),
        ("seen with a cough, lakeshore hospital, on the ward", "Lakeshore Hospital"),
        ("she was well.\nwound clinic follow-up is planned", "Wound clinic"),
        (
            "forms are mailed to 312 bruce tunnel apt. 219, lake wyatt, pw 53106 today",
            "to 312 Bruce Tunnel Apt. 219, Lake Wyatt, PW 53106 today",
        ),
        (
            "he takes 2 tablets in the morning, one at night, of 10451 units",
            "tablets in",
        ),
        ("admitted to ucsf and then to st. mary's for rehab", "St. Mary's"),
    ],
)
def test_months_codes_streets_and_houses(small, again):
    assert again.casefold() in truecased(small).casefold()
    assert again == "march" or again in truecased(small)


@given(st.text(alphabet="abcdefghij ABCDEFGHIJ.,'\n1234ßİŉéÉ", max_size=200))
def test_length_and_letters_stay_whatever_the_text(text):
    again = truecased(text)

    assert len(text) == len(again)
    assert all(
        a == b or a.casefold() == b.casefold() for a, b in zip(text, again, strict=True)
    )


@pytest.mark.parametrize(
    "written",
    [
        "MRN-12345",
        "C12345",
        "UCSF",
        "Houston, TX",
        "Maria J.",
        "12 Bruce Tunnel Apt 3, Ely, NV 89301",
        "41 Maple Street",
        "St. Louis, Missouri",
        "Dec 16",
    ],
)
@pytest.mark.parametrize("change", [str.upper, str.lower])
def test_what_has_capitals_in_any_sentence_gets_them_back(change, written):
    note = f"she was seen again today, then went to {written} and came back later"

    assert written in truecased(change(note))


@pytest.mark.parametrize(
    "written", ["abcdef12345", "x12", "ab-12.5", "2 units", "t10 and l5", "a.b.c"]
)
def test_what_is_no_code_stays_small(written):
    note = f"she was seen again today for {written} and came back later"

    assert written.replace("a.b.c", "A.B.c") in truecased(note)


@pytest.mark.parametrize(
    "before", ["", "\n", "well.  ", "well! ", "well:\n  ", "well. (", "\n\n   \n- "]
)
def test_a_sentence_begins_with_a_capital(before):
    note = f"{before}nothing else was found at the visit of the morning"

    assert "Nothing else" in truecased(note)


def test_a_word_after_others_or_many_blanks_begins_no_sentence():
    note = "Well.          nothing, else was found at the visit of the morning".lower()

    assert "nothing, else" in truecased(note)
