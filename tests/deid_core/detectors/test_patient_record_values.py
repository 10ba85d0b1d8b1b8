import re
from collections import Counter
from dataclasses import replace
from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deid_core import (
    Address,
    Deidentifier,
    Document,
    KnownId,
    KnownIdentifiers,
    Label,
    PersonName,
    load_policy,
)
from deid_core.detectors.patient_record import PatientRecordDetector
from deid_core.detectors.patient_record import record as record_module
from deid_core.detectors.patient_record.numbers import digits_of
from deid_core.detectors.patient_record.people import person_of
from deid_core.detectors.patient_record.without_separators import WithoutSeparators
from deid_core.merge import merge
from tests.deid_core.marked import unmark
from tests.deid_core.surrogates.surrogate_cases import KEY

DETECT = PatientRecordDetector()
BORN = KnownIdentifiers(birth_dates=(date(1957, 3, 4),))
PHONE = KnownIdentifiers(phones=("(617) 555-0123 x45", "+44 20 7946 0958", "555"))
EMAIL = KnownIdentifiers(emails=("Jane.Doe@example.com", "@", "none"))
IDS = KnownIdentifiers(
    ids=(
        KnownId("00-778812", Label.MEDICALRECORD),
        KnownId("219-09-9999", Label.SSN),
        KnownId("AB77.1C", Label.ACCOUNT),
        KnownId("4711", Label.IDNUM),
        KnownId("2024", Label.IDNUM),
        KnownId("1", Label.IDNUM),
        KnownId("0000000", Label.IDNUM),
        KnownId("UNKNOWN", Label.IDNUM),
    )
)
HOME = KnownIdentifiers(
    addresses=(
        Address("12 N. Oak Street Apt 4", "", "Springfield", "MA", "02139-4301", "USA"),
    )
)
ROSEWOOD = KnownIdentifiers(
    addresses=(Address("49 Rosewood Court", "Unit 7B", "", "", "123456789"),)
)
READING = KnownIdentifiers(
    addresses=(
        Address("PO Box 1234", "", "Reading", "Pennsylvania", "19601"),
        Address("7 High St", "", "Saint Paul", "", "K1A 0B1", "Canada"),
        Address("UNKNOWN", "", "NA", "", "00000"),
    )
)
PLACES = KnownIdentifiers(
    facilities=("St. Mary's Hospital", "MGH", "LAB", "Good Health Hospital", "ER"),
    employers=("Acme Widgets, Inc.", "Retired", "Self Employed", "O'Hara & Sons"),
)
FIRMS = KnownIdentifiers(
    facilities=("Northgate Medical Center", "Orchard Valley Clinic", "Wilson Center"),
    employers=("Pinebrook Manufacturing Inc.", "Target Stores"),
)


def found(text, known):
    [proposals] = DETECT([Document("d1", text, known)])
    return merge(proposals)


@pytest.mark.parametrize(
    ("known", "marked"),
    [
        (BORN, "«3/4/57», «03/04/1957», «4.3.1957», «1957-03-04», «19570304»"),
        (BORN, "«March 4, 1957», «4th of March 1957», «04-MAR-57», «1957 Mar 4»"),
        (BORN, "«195703041530», «195703041530» «03041957» «030457»"),
        (BORN, "1957, March 1957, 157/3/4, 3/4/571, 3 of 4 in 57"),
        (BORN, "«3/4/57», 14 March; born 57"),
        (BORN, "«Monday, March 4, 1957», «Mon 03/04/57», Monday."),
        # One digit wrong, two swapped, day and month swapped.
        (BORN, "«3/5/57», «3/4/58», «4/3/75», «March 14, 1957», «1967-03-04»"),
        (BORN, "«13/4/57», «4 March 1951», 5/6/57, 4/5/58, May 4, 1957"),
        (BORN, "3 5 57, HR 3 57 4, 3.5 of 57"),
        # Without its year, behind a cue.
        (BORN, "birthday is «March 4», born on the «4th of March», turns 67 on «3/4»"),
        (BORN, "«March 4» is her birthday. Seen March 4. Pain 3/4; dob «3/4»"),
        (PHONE, "«(617) 555-0123», «617.555.0123», «6175550123», «+1 617-555-0123»"),
        (PHONE, "«16175550123», «1 (617) 555 0123», «555-0123», «555.0123»"),
        (PHONE, "«5550123», call «555 0123»; 5550123.5, 55501234"),
        (PHONE, "617-555-01234, 9617555012399, 617-555-0124, 555"),
        (PHONE, "«020 7946 0958», «+44 (0)20 7946 0958», «00442079460958»"),
        (EMAIL, "«jane.doe@EXAMPLE.com». xjane.doe@example.com, none @"),
        (EMAIL, "user «jane.doe», «JANE.DOE»; jane.doe@other.org, jane.doe2, jane"),
        (IDS, "MRN«778812», #«00778812», «00-778812», «778 812», 778812.5, 1778812"),
        (IDS, "77/88/12, 77.8812, «219099999»? no: «219 09 9999», «219-09-9999»"),
        (IDS, "«ab77 1c», «AB-77-1C», AB771CD, xab771c, «4711», 47-11, 14711, A4711"),
        (IDS, "in 2024, unknown, 0000000, 1"),
        (IDS, "ID «2024»? ID: «2024», MRN# «2024», case number «2024», room 2024"),
        (IDS, "SSN ending in «9999», xxx-xx-«9999», ***-**-«9999», SSN: «9999», 9999"),
        (IDS, "last four of social «9999», last 4 «9999». Dose 9999 units, 1-9999"),
        (HOME, "lives at «12 N. Oak Street Apt 4», «Springfield», «MA» «02139»"),
        (HOME, "«12 Oak St»., «12 North Oak», «12 Oak St #4», «Oak Street»"),
        (HOME, "13 Oak leaves, oak street, 12 oaks, MA in USA, 02139.5, 102139"),
        (HOME, "«SPRINGFIELD», «MASSACHUSETTS»; zip «02139-4301»; «springfield»"),
        (HOME, "«Springfield», «MA», «USA»"),
        (
            HOME,
            "«Apt 4», «apartment 4», «Apt. 4», apt 5, the 4; «12 OAK STREET, APT 4»",
        ),
        (
            ROSEWOOD,
            "«49 Rosewood Ct», lives on «Rosewood», in «Unit 7B», Rosewood floor",
        ),
        (ROSEWOOD, "«123456789» and «12345-6789», 123456788"),
        (READING, "Reading a book. reading. She moved to «Reading». PA normal."),
        (READING, "«Reading», «PA» «19601»; «Reading», «Pennsylvania»; «READING» «PA»"),
        (
            READING,
            "«PO Box 1234», «St. Paul», «K1A 0B1», «k1a0b1», St. Pauls, NA 00000",
        ),
        (
            PLACES,
            "«St. Mary's Hospital», «St Marys Hosp», «SAINT MARY\u2019S HOSPITAL»",
        ),
        (PLACES, "at «MGH» and «Good Health Hospital», in good health hospital care"),
        (PLACES, "LAB, lab, ER, at «St. Mary's», Mary's school, st. mary's"),
        (
            PLACES,
            "for «ACME Widgets», a retired man, self employed; «O\u2019Hara and Sons»",
        ),
        (FIRMS, "works at «Pinebrook», for «Pinebrook Manufacturing»; pinebrook, Pine"),
        (FIRMS, "employed by «Target»; he works at «Target». Target dose, at Target"),
        (FIRMS, "«Northgate» called; «Orchard Valley» notes, orchard valley, Valley"),
        (FIRMS, "seen at «orchard valley clinic»."),
    ],
)
def test_finds_values_and_leaves_the_rest(known, marked):
    """
    What is between « and » is found, and nothing else.
    """
    text, expected = unmark(marked)

    assert expected == [(a.span.start, a.span.end) for a in found(text, known)]


@pytest.mark.parametrize(
    ("text", "known", "label", "detector"),
    [
        ("3/4/57", BORN, Label.DATE, "known/birth_date"),
        ("617-555-0123", PHONE, Label.PHONE, "known/phone"),
        ("jane.doe@example.com", EMAIL, Label.EMAIL, "known/email"),
        ("778812", IDS, Label.MEDICALRECORD, "known/id"),
        ("219-09-9999", IDS, Label.SSN, "known/id"),
        ("12 Oak St", HOME, Label.STREET, "known/address"),
        ("Springfield", HOME, Label.CITY, "known/address"),
        ("02139", HOME, Label.ZIP, "known/address"),
        ("MGH", PLACES, Label.HOSPITAL, "known/facility"),
        ("Acme Widgets", PLACES, Label.ORGANIZATION, "known/employer"),
    ],
)
def test_says_what_it_is(text, known, label, detector):
    [annotation] = found(text, known)

    assert (label, detector, 0.99) == (
        annotation.label,
        annotation.source,
        annotation.score,
    )


def test_state_and_country_have_their_labels():
    labels = [a.label for a in found("Springfield, MA, USA", HOME)]

    assert labels == [Label.CITY, Label.STATE, Label.COUNTRY]


@pytest.mark.timeout(60)
@pytest.mark.parametrize(
    "text",
    [
        "1" * 10**6,
        "4711" * 250_000,
        "57 3 " * 100_000,
        "12 Oak St " * 50_000,
        "-" * 10**6,
    ],
)
def test_a_huge_note_takes_seconds(text):
    for known in (BORN, PHONE, IDS, HOME):
        found(text, known)


def test_records_that_share_an_address_each_find_all_of_theirs():
    home = Address(street="12 Rosewood Ave", city="Springfield", zip="02139")
    detector, text = (
        PatientRecordDetector(),
        "12 Rosewood Ave, 02139; MRN 7719042, 5518833",
    )

    def found(number: str) -> list[str]:
        known = KnownIdentifiers(
            addresses=(home,), ids=(KnownId(number, Label.MEDICALRECORD),)
        )
        [annotations] = detector([Document("d", text, known)])
        return [text[a.span.start : a.span.end] for a in merge(annotations)]

    assert found("7719042") == ["12 Rosewood Ave", "02139", "7719042"]
    assert found("5518833") == ["12 Rosewood Ave", "02139", "5518833"]


def records_of_one_stay() -> list[KnownIdentifiers]:
    """Return a record as it grows: each time by one value."""
    known = KnownIdentifiers(
        patient_names=(PersonName("Quelwright", "Hanna"),),
        birth_dates=(date(1957, 3, 4),),
        addresses=(Address("12 Rosewood Ave", "", "Springfield", "MA", "02139"),),
    )
    records = [known]
    for name, value in (
        ("provider_names", PersonName("Tolemach", "Ada")),
        ("provider_names", PersonName("Brzezynski", "Ian")),
        ("kin_names", PersonName("Quelwright", "Bernard")),
        ("ids", KnownId("7719042", Label.MEDICALRECORD)),
        ("ids", KnownId("5518833", Label.ACCOUNT)),
        ("phones", "(617) 555-0123"),
        ("emails", "hanna.q@example.com"),
        ("facilities", "Wexbrook Hospital"),
        ("employers", "Acme Widgets, Inc."),
        ("patient_names", PersonName("Tolemach", "Hanna")),
    ):
        known = replace(known, **{name: (*getattr(known, name), value)})
        records.append(known)
    return records


STAY = (
    "Hanna Quelwright, born 3/4/57, of 12 Rosewood Ave, Springfield, MA 02139 (7719042,"
    " 5518833). Dr. Tolemach, Dr. Ian Brzezynsky and Bernard told Wexbrook Hospital; "
    "she works at Acme, 617-555-0123, hanna.q@example.com. B. Quelwright. HQ. Bernie."
)


def scrubber() -> Deidentifier:
    return Deidentifier([PatientRecordDetector()], load_policy("surrogate"), KEY)


def test_a_note_of_a_record_that_grew_is_scrubbed_as_if_it_were_the_first():
    system, records = scrubber(), records_of_one_stay()

    for known in (*records, *reversed(records)):
        document = Document("d", STAY, known, "p")
        anew = scrubber().deidentify(document)
        assert anew == system.deidentify(document)
        assert anew.annotations


def test_a_value_of_many_records_is_prepared_once(monkeypatch):
    prepared = Counter()

    def counted(group, name):
        prepared[name] += 1
        return person_of(group, name)

    monkeypatch.setattr(record_module, "person_of", counted)
    compiler = record_module.RecordCompiler()
    for known in records_of_one_stay():
        compiler.compiled(known)

    assert [*prepared.values()] == [1] * 5


@pytest.mark.parametrize("rest", ["", " caf\u00e9", " \ud800", " \u3001\U0001f600"])
def test_a_number_is_found_where_it_stands_in_texts_of_any_letters(rest):
    known = KnownIdentifiers(ids=(KnownId("AB-7719-042", Label.MEDICALRECORD),))
    text = f"{rest} id: ab 77.19 042,{rest}"
    [[annotation]] = PatientRecordDetector()([Document("d", text, known)])
    span = annotation.span
    assert text[span.start : span.end] == "ab 77.19 042"


ODD = st.text(
    st.sampled_from("aK09 -./\u00a0\u00b2\u00df\u0130\u0301\u0663\u2013\u212a\u4e2d")
)


@given(st.text() | ODD)
def test_a_run_of_digits_without_separators_is_in_the_run_of_all_digits(
    text,
):
    runs = re.findall("[0-9]+", WithoutSeparators(text).characters)
    assert all(run in digits_of(text) for run in runs)
