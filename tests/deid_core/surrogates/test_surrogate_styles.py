"""The other styles: mask, remove, pseudonym, keep; and how all fall closed."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deid_core import Annotation, Document, KnownIdentifiers, Label, Span
from deid_core.policy import Policy
from deid_core.replace import Replacer
from deid_core.surrogates import STYLES
from tests.deid_core.surrogates.surrogate_cases import KEY, KNOWN, OTHER_KEY, write

QA = {"policy": "internal-qa"}


def written(style, label, *texts, known=KNOWN, document_id="n1", patient="p1"):
    """Return what a note of these values becomes, value by value."""
    policy = Policy("t", "tag", {label: style})
    annotations, start = [], 0
    for text in texts:
        span = Span(start, start + len(text))
        annotations.append(Annotation(span, label, 1.0, "t", "x"))
        start = span.end
    document = Document(document_id, "".join(texts), known, patient)
    done = Replacer(policy, KEY).replacements(document, annotations)
    return [each.surrogate for each in done]


@pytest.mark.parametrize(
    ("text", "mask"),
    [
        ("Jane Roe-Smith", "Xxxx Xxx-Xxxxx"),
        ("(217) 555-0123", "(***) ***-****"),
        ("AB-12c", "XX-**x"),
        ("Größe 1½", "Xxxxx **"),
        ("李伟", "XX"),
        ("3/14/2024", "*/**/****"),
    ],
)
def test_a_mask_keeps_length_case_and_marks(text, mask):
    assert written("mask", Label.PATIENT, text) == [mask]


@given(st.text(min_size=1))
def test_a_mask_shows_no_letter_and_no_digit(text):
    [mask] = written("mask", Label.PATIENT, text)

    assert mask == "[NAME:PATIENT]" or len(text) == len(mask)
    assert mask == "[NAME:PATIENT]" or not re.search(r"[^\WXx_]", mask)
    assert mask != text


def test_what_is_removed_leaves_nothing_unless_the_note_would():
    assert _removed("Mabel", "Quellwright", " is well") == ["", ""]
    assert _removed("Mabel", "Quellwright", "") == ["[NAME:PATIENT]"] * 2


def _removed(first, second, rest):
    spans = Span(0, len(first)), Span(len(first), len(first) + len(second))
    annotations = [Annotation(span, Label.PATIENT, 1.0, "t", "x") for span in spans]
    policy = Policy("t", "remove")
    document = Document("n1", first + second + rest)
    return [
        each.surrogate for each in Replacer(policy).replacements(document, annotations)
    ]


@pytest.mark.parametrize(
    "same",
    [
        ["Mabel Quellwright", "Quellwright", "MS. QUELLWRIGHT", "Quelwright, M."],
        ["Ada Okonkwo", "ada", "A. Okonkwo"],
        ["Dr. Patrick O'Brien", "Patrick"],
        ["Steven Kowalczyk", "KOWALCZYK, STEVEN"],
    ],
)
def test_all_ways_to_write_a_person_have_one_pseudonym(same):
    pseudonyms = {write(Label.PATIENT, text, **QA) for text in same}

    [pseudonym] = pseudonyms
    assert re.fullmatch(r"\[NAME:PATIENT-[0-9a-f]{8}\]", pseudonym)


def test_persons_have_pseudonyms_of_their_own():
    people = "Mabel", "Tobias", "Ada", "Patrick O'Brien", "Steven", "Quellwright-Roe"

    assert len(people) == len({write(Label.PATIENT, each, **QA) for each in people})


@pytest.mark.parametrize(
    ("label", "same"),
    [
        (Label.DATE, ["3/14/2024", "March 14, 2024", "2024-03-14"]),
        (Label.MEDICALRECORD, ["0077881234", "77-88-1234"]),
        (Label.PHONE, ["(217) 555-0123", "217.555.0123"]),
        (Label.CITY, ["Springfield", "SPRINGFIELD"]),
    ],
)
def test_all_forms_of_a_value_have_one_pseudonym(label, same):
    assert len({write(label, text, **QA) for text in same}) == 1


def test_pseudonyms_of_other_keys_and_patients_are_others():
    own = write(Label.PATIENT, "Mabel", **QA)

    assert own != write(Label.PATIENT, "Mabel", key=OTHER_KEY, **QA)
    assert own != write(Label.PATIENT, "Mabel", patient="p2", **QA)


def test_without_a_patient_the_note_is_the_scope():
    def of(document_id, patient):
        return written(
            "pseudonym",
            Label.PATIENT,
            "Mabel",
            document_id=document_id,
            patient=patient,
        )

    assert of("n1", "") == of("n1", "")
    assert of("n1", "") != of("n2", "")
    assert of("n1", "p") == of("n2", "p")
    assert of("n1", "") != of("other", "n1")


def keep_dates(text, *annotations, proposals=(), known=KNOWN):
    kept = (Label.DATE, Label.AGE, Label.CITY)
    policy = Policy("t", "tag", dict.fromkeys(kept, "keep"))
    document = Document("n1", text, known)
    done = Replacer(policy).replacements(document, annotations, proposals)
    return [each.surrogate for each in done]


def at(text, value, label):
    start = text.index(value)
    return Annotation(Span(start, start + len(value)), label, 0.9, "t", "x")


def test_what_may_be_kept_is_kept():
    text = "born 3/14/1932 in Springfield"

    assert keep_dates(
        text, at(text, "3/14/1932", Label.DATE), at(text, "Springfield", Label.CITY)
    ) == ["3/14/1932", "Springfield"]


def test_what_one_detector_calls_something_else_is_not_kept():
    """
    Merge joins what overlaps under the most trusted label: a name could hide in it.
    """
    text = "seen by April Roe 3/14"
    merged = at(text, "April Roe 3/14", Label.DATE)
    name = at(text, "April Roe", Label.PATIENT)

    assert keep_dates(text, merged, proposals=[merged, name]) == ["[DATE]"]
    assert keep_dates(text, merged, proposals=[merged]) == ["April Roe 3/14"]


def test_the_record_that_must_not_survive_is_the_record_without_what_is_kept():
    policy = Policy("t", "tag", {Label.DATE: "keep", Label.ZIP: "keep"})
    document = Document("n1", "", KNOWN)

    rest = Replacer(policy).withheld(document)

    assert rest.birth_dates == ()
    assert (rest.addresses[0].zip, rest.addresses[0].city) == ("", "Springfield")
    assert KNOWN.phones == rest.phones
    assert KNOWN is Replacer(Policy("t", "tag")).withheld(document)


@pytest.mark.parametrize("name", [n for n, s in STYLES.items() if not s.may_keep])
@settings(deadline=None)
@given(st.text(min_size=1, max_size=12), st.sampled_from(Label))
def test_no_style_writes_the_original(name, text, label):
    """Whatever a detector may call whatever."""
    if label in STYLES[name].labels:
        [surrogate] = written(name, label, text, known=KnownIdentifiers())
        assert surrogate != text


@given(st.text("0123456789/-. JanMarch", min_size=1, max_size=12), st.integers(0, 99))
def test_what_looks_like_a_date_becomes_another_or_a_tag(text, patient):
    [surrogate] = written("shift", Label.DATE, text, patient=str(patient))

    assert surrogate == "[DATE]" or re.sub(r"\W", "", surrogate) != re.sub(
        r"\W", "", text
    )


@pytest.mark.parametrize(
    ("label", "text", "surrogate"),
    [
        (Label.PATIENT, "Mabel Quellwright", "Carmel Honaker"),
        (Label.PATIENT, "QUELLWRIGHT, MABEL A.", "HONAKER, CARMEL T."),
        (Label.DOCTOR, "Dr. Patrick O'Brien", "Dr. Joaquin Walley"),
        (Label.CITY, "Dover, DE 19901", "Coalinga, CA 93210"),
        (Label.ZIP, "62704-1234", "02134-2947"),
        (Label.STREET, "12 Oak Street, Apt 4B", "55 Weathers Street, Apt 6Y"),
        (Label.HOSPITAL, "Mercy General Hospital", "Olson General Hospital"),
        (Label.HOSPITAL, "NMC", "KDL"),
        (Label.ORGANIZATION, "Acme Widgets", "Maus Group"),
        (Label.PHONE, "(217) 555-0123", "(277) 555-0111"),
        (Label.PHONE, "+44 20 7946 0958", "+44 32 3085 3164"),
        (Label.SSN, "123-45-6789", "988-23-3173"),
        (Label.MEDICALRECORD, "0077881234", "0096668343"),
        (Label.EMAIL, "mabel.quellwright@mail.test", "carmel.honaker@example.net"),
        (Label.URL, "https://www.mabel.test/page", "https://www.example.org/f5e3a339"),
        (Label.IPADDR, "10.1.2.3", "203.0.113.45"),
        (Label.USERNAME, "mquell01", "friesen69"),
        (Label.DATE, "March 14, 1982", "August 3, 1981"),
        (Label.DATE, "5th to 8th of March, 2024", "26th to 29th of July, 2023"),
        (Label.DATE, "Christmas 2023", "Mother's Day 2023"),
    ],
)
def test_a_surrogate_is_the_same_in_every_version(label, text, surrogate):
    """Notes published with one key must go on fitting together."""
    assert surrogate == write(label, text)
