"""What the patient-record detector proposes for a later step to decide."""

import re

import pytest

from deid_core import Address, Document, KnownIdentifiers, Label, PersonName
from deid_core.detectors.patient_record import (
    PatientRecordDetector,
    PatientRecordOptions,
)
from schemas import FOLDER
from tests.deid_core.marked import unmark

SURE = PatientRecordDetector()
DOUBTFUL = PatientRecordDetector(PatientRecordOptions(doubtful=True))
HILL = KnownIdentifiers(
    patient_names=(PersonName("Hill", "Rose"),),
    kin_names=(PersonName("Foley", "Dennis"),),
    provider_names=(PersonName("Haddad", "D. K."), PersonName("de la Low", "May")),
    addresses=(Address("12 Larkspur Ridge Road", "Apt 4", "Mobile", "AL", "36601"),),
    facilities=("Quellwright Memorial Hospital", "Good Hope Clinic"),
    employers=("Tarn & Gill Packing, Inc.",),
)


def proposed(text, known=HILL, detect=DOUBTFUL):
    [proposals] = detect([Document("d1", text, known)])
    return proposals


def doubtful(text, known=HILL):
    return [each for each in proposed(text, known) if each.rule.endswith("_doubtful")]


@pytest.mark.parametrize(
    "marked",
    [
        # Ordinary words and eponyms; a run of one person's is one proposal.
        "a «hill», a «rose», «rose hill» and a «Foley» catheter",
        "«LOW» back pain; «May» 3; a «rose» «may» not",
        # A particle alone is none, and what is sure is not doubtful again.
        "de la mode; Rose Hill was seen; «hill»",
        # Misspelt into a capitalised word.
        "HEART normal; «Hall» regular",
        # Initials.
        "«RH» came; «R.H.» and «R. H.», not RHx, A.R.H., RH2 or rh",
        "seen «DKH», note/«dkh» and «dh»\ndh and\nsigned - «dkh»",
        # Single words of places, in any case.
        "near the «larkspur ridge», in «mobile» homes, AL, a road",
        "the «Quellwright» people; «good hope»; hope; a memorial; hospital",
        "works at «TARN» and the «gill»",
    ],
)
def test_proposes_what_the_guards_reject(marked):
    text, expected = unmark(marked)

    assert expected == sorted((a.span.start, a.span.end) for a in doubtful(text))


@pytest.mark.parametrize(
    ("text", "label", "rule"),
    [
        ("a rose", Label.PATIENT, "patient_doubtful"),
        ("Foley catheter", Label.PATIENT, "kin_doubtful"),
        ("low", Label.DOCTOR, "provider_doubtful"),
        ("x Hall. Hall", Label.PATIENT, "patient~_doubtful"),
        ("by KH, DKH", Label.DOCTOR, "provider_initials_doubtful"),
        ("larkspur", Label.STREET, "address_doubtful"),
        ("mobile", Label.CITY, "address_doubtful"),
        ("quellwright", Label.HOSPITAL, "facility_doubtful"),
        ("tarn", Label.ORGANIZATION, "employer_doubtful"),
    ],
)
def test_says_what_it_may_be_with_a_low_score(text, label, rule):
    found = doubtful(text)

    assert found
    assert {(label, rule, 0.3)} == {(a.label, a.rule, a.score) for a in found}


def test_sure_proposals_are_the_same_with_and_without():
    text = "Rose Hill of 12 Larkspur Ridge Road, Mobile AL: a hill. Mr. Foley, RH, low"
    sure = [each for each in proposed(text) if not each.rule.endswith("_doubtful")]

    assert sure == proposed(text, detect=SURE)
    assert len(sure) < len(proposed(text))


def test_audit_events_may_name_the_rules():
    text = (FOLDER / "phi.audit" / "v1.json").read_text()
    [pattern] = set(re.findall(r'"pattern": "(\^\[a-z0-9_\./~-\][^"]*)"', text))
    found = doubtful(
        "a rose, Hall, DKH, low, foley, larkspur, mobile, tarn quellwright"
    )

    assert len(found) > 5
    assert all(re.fullmatch(pattern, each.source) for each in found)


def test_a_record_without_names_or_places_has_none():
    assert doubtful("a rose", KnownIdentifiers(phones=("6175550123",))) == []


def test_initials_that_are_words_need_a_note_with_letter_case():
    known = KnownIdentifiers(patient_names=(PersonName("Stone", "Ian"),))

    assert doubtful("IS was seen with other small words.", known)
    assert doubtful("HE IS WELL AND EATS AND DRINKS.", known) == []
