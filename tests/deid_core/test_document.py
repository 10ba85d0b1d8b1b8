from dataclasses import fields, replace
from datetime import date, datetime
from operator import attrgetter

import pytest

from deid_core.document import (
    NOTHING_KNOWN,
    Address,
    Annotation,
    Document,
    KnownId,
    KnownIdentifiers,
    PersonName,
    Span,
    with_changed_parts,
)
from deid_core.labels import Label

MARKER = "Zyxwvut"


@pytest.mark.parametrize(("start", "end"), [(-1, 2), (3, 3), (4, 3)])
def test_a_span_that_is_none_is_refused(start, end):
    with pytest.raises(ValueError, match="not a span"):
        Span(start, end)


def test_touching_spans_do_not_overlap():
    assert not Span(0, 3).overlaps(Span(3, 5))
    assert Span(0, 4).overlaps(Span(3, 5))


@pytest.mark.parametrize("score", [-0.1, 1.1])
def test_a_score_outside_of_zero_to_one_is_refused(score):
    with pytest.raises(ValueError, match="not a score"):
        Annotation(Span(0, 1), Label.DATE, score, "rules", "date")


@pytest.mark.parametrize(
    ("rule", "source"), [("ssn", "rules/ssn"), ("provider~", "rules/provider~")]
)
def test_an_annotation_names_its_source_as_audit_events_do(rule, source):
    annotation = Annotation(Span(0, 1), Label.SSN, 1.0, "rules", rule)

    assert source == annotation.source


def test_the_source_of_a_detector_without_rules_is_the_detector():
    assert Annotation(Span(0, 1), Label.SSN, 1.0, "one").source == "one"


@pytest.mark.parametrize(
    "value",
    [
        Document(MARKER, MARKER),
        PersonName(MARKER, MARKER, MARKER, MARKER, MARKER),
        Address(*[MARKER] * 6),
        KnownId(MARKER, Label.SSN),
        KnownIdentifiers(
            patient_names=(PersonName(MARKER),),
            emails=(MARKER,),
            phones=(MARKER,),
            facilities=(MARKER,),
        ),
    ],
)
def test_no_repr_shows_what_it_holds(value):
    assert MARKER not in repr(value)


def test_identifiers_are_true_as_soon_as_one_is_known():
    assert not NOTHING_KNOWN
    assert KnownIdentifiers(birth_dates=(date(1957, 3, 14),))


def test_every_part_of_a_name_and_of_an_address_is_changed():
    assert PersonName(*"ABCDE") == with_changed_parts(PersonName(*"abcde"), str.upper)
    assert Address(*"ABCDEF") == with_changed_parts(Address(*"abcdef"), str.upper)


def test_the_text_in_ascii_has_the_same_offsets_and_is_made_once():
    document = Document("n", "caf\u00e9 \u2013 \u0141\u00f3d\u017a")

    assert document.ascii == "cafe - Oodz"
    assert document.ascii is document.ascii
    assert document == Document("n", document.text)
    assert replace(document, text="other").ascii == "other"


def test_a_document_in_mixed_case_is_its_own_in_mixed_case():
    document = Document("d", "The patient, Mary Hernandez, reports knee pain.")

    assert not document.is_in_one_case
    assert document is document.in_mixed_case


def test_a_document_in_one_case_is_read_in_mixed_case_once():
    document = Document(
        "d", "THE PATIENT, MARY HERNANDEZ, REPORTS KNEE PAIN.", patient="p"
    )
    again = document.in_mixed_case

    assert document.is_in_one_case
    assert "Mary Hernandez" in again.text
    assert (again.id, again.patient) == ("d", "p")
    assert again is document.in_mixed_case
    assert document == Document("d", document.text, patient="p")


NAN, NAME = float("nan"), PersonName(MARKER)
CELL = 'leave an empty cell out, or write "" for it'


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Document("x", NAN), f"Document: text must be str, not float; {CELL}"),
        (
            lambda: Document("x", None),
            "Document: text must be str, not NoneType; leave",
        ),
        (lambda: Document("x", b"x"), "Document: text must be str, not bytes; decode"),
        (lambda: Document("x", [MARKER]), "text must be str, not list; pass one text"),
        (lambda: Document(17, "x"), "Document: id must be str, not int; convert it"),
        (
            lambda: Document("x", "x", NAME),
            "known must be KnownIdentifiers, not Person",
        ),
        (lambda: Document("x", "x", patient=17), "Document: patient must be str"),
        (lambda: Document("x", "x", note_type=NAN), "Document: note_type must be str"),
        (lambda: PersonName(MARKER, None), "PersonName: given must be str, not None"),
        (lambda: Address(MARKER, zip=2139), "Address: zip must be str, not int; con"),
        (lambda: KnownId(8401127, Label.SSN), "KnownId: value must be str, not int"),
        (lambda: KnownId(MARKER, "ID:SSN"), "KnownId: label must be Label, not str"),
        (lambda: KnownIdentifiers(sex=NAN), "KnownIdentifiers: sex must be str"),
        (
            lambda: KnownIdentifiers(patient_names=(NAME, MARKER)),
            "KnownIdentifiers: patient_names[1] must be PersonName, not str; write "
            'e.g. PersonName(family="Roe", given="Jane")',
        ),
        (
            lambda: KnownIdentifiers(phones=MARKER),
            "KnownIdentifiers: phones must be tuple, not str; write e.g. ",
        ),
        (
            lambda: KnownIdentifiers(ids=[KnownId(MARKER, Label.SSN)]),
            "KnownIdentifiers: ids must be tuple, not list; write e.g. tuple(values)",
        ),
        (
            lambda: KnownIdentifiers(birth_dates=(datetime(1957, 3, 14, 12, 1),)),
            "KnownIdentifiers: birth_dates[0] must be date, not datetime; write e.g. ",
        ),
    ],
)
def test_a_field_of_a_wrong_type_is_named_with_the_next_step_and_without_its_value(
    make, message
):
    with pytest.raises(TypeError) as caught:
        make()

    shown = str(caught.value)
    assert message in shown
    assert [
        each for each in (MARKER, "17", "2139", "1957, 3, 14, 12") if each in shown
    ] == []


@pytest.mark.parametrize("values", fields(KnownIdentifiers), ids=attrgetter("name"))
def test_every_field_of_the_record_rejects_a_value_of_a_wrong_type(values):
    with pytest.raises(TypeError, match=f"KnownIdentifiers: {values.name}"):
        KnownIdentifiers(**{values.name: (NAN,)})
