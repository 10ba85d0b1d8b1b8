from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deid_core import (
    Address,
    Annotation,
    Deidentifier,
    Document,
    KnownId,
    KnownIdentifiers,
    Label,
    OffsetMap,
    PersonName,
    ResidueFound,
    ScrubbedDocument,
    Span,
    load_policy,
    residue_in,
    verify,
)
from deid_core.detectors.known import KnownDetector
from deid_core.replace import Replacement, apply_replacements

KNOWN = KnownIdentifiers(
    patient_names=(PersonName("Kowalski", "Jané"), PersonName("Foley", "Jane")),
    kin_names=(PersonName("Young", "Will"), PersonName("O'Brien", "")),
    provider_names=(PersonName("Wu", "Bartholomew"),),
    birth_dates=(date(1957, 3, 4),),
    addresses=(Address("12 Oak Street", "", "Springfield", "MA", "02139-4301", "US"),),
    phones=("(617) 555-0123",),
    emails=("jane@example.com",),
    ids=(KnownId("00-77881234", Label.MEDICALRECORD), KnownId("AB-123", Label.IDNUM)),
    facilities=("St. Mary's Hospital", "Medical Center"),
    employers=("Acme Widgets",),
)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("saw Kowalski today", "patient name"),
        ("saw KOWALSKI's wife", "patient name"),
        ("jane came", "patient name"),
        ("Jane\u0301 came", "patient name"),
        ("x1Kowalski", "patient name"),
        ("Foley came", "patient name"),
        ("Dr. bartholomew", "provider name"),
        ("O'Brien", "kin name"),
        ("Will Young came", "kin name"),
        ("YOUNG, WILL", "kin name"),
        ("born 3/4/57", "birth date"),
        ("born 4 March 1957", "birth date"),
        ("born March 4th, 1957", "birth date"),
        ("born 1957-03-04", "birth date"),
        ("call 617.555.0123", "phone"),
        ("call (617) 555-0123", "phone"),
        ("JANE@example.com", "e-mail"),
        ("MRN 77881234", "id"),
        ("MRN 77-88-12-34", "id"),
        ("at St. Mary's Hospital", "facility"),
        ("acme widgets", "employer"),
        ("in Springfield", "address"),
        ("zip 02139", "address"),
        ("at 12 oak street", "address"),
    ],
)
def test_a_surviving_value_is_residue_by_kind(text, kind):
    assert kind in residue_in(KNOWN, [text])


@pytest.mark.parametrize(
    "text",
    [
        "",
        "a young man will come. Young. May",
        "Will young people come",
        "Foley catheter and Foley's sign",
        "Kowalskis, kowalsky",
        "Dr. Wu",
        "born 3/5/57 in 1957, 13/4/57, 3/4/571",
        "555-0123, 617-555-01234, 9617555012399",
        "177881234, 77881235",
        "02139.5, 102139, in MA, US",
        "the medical center",
        "112 oak street",
        "Spring field",
    ],
)
def test_what_a_guard_lets_stay_is_no_residue(text):
    assert {} == residue_in(KNOWN, [text])


def test_values_do_not_continue_from_one_piece_to_the_next():
    assert {} == residue_in(KNOWN, ["12 Oak", "Street", "3/4/", "57", "Will", "Young"])


def test_every_kind_is_counted():
    assert {"patient name": 2, "birth date": 1} == residue_in(
        KNOWN, ["Jane Kowalski", "3/4/57"]
    )


@pytest.mark.parametrize(
    "known",
    [
        KnownIdentifiers(patient_names=(PersonName("Name", "Patient"),)),
        KnownIdentifiers(patient_names=(PersonName("Kontakt", "Phonek"),)),
        KnownIdentifiers(addresses=(Address("12 Date St", "", "Patient", "ID"),)),
        KnownIdentifiers(facilities=("Location Hospital",)),
    ],
)
def test_tags_are_not_residue(known):
    text = "Saw someone"
    replaced = Replacement(
        Annotation(Span(4, 11), Label.PATIENT, 1.0, "x"),
        "[NAME:PATIENT] Kontakt 12 Date St Location Hospital",
    )
    scrubbed, offset_map = apply_replacements(text, [replaced])

    assert residue_in(known, [text]) == {}
    verify(Document("d1", text, known), scrubbed, offset_map)


def test_the_error_names_kinds_and_counts_and_no_value():
    document = Document("d1", "Kowalski, 3/4/57", KNOWN)

    with pytest.raises(ResidueFound) as caught:
        verify(document, document.text, OffsetMap())

    assert "birth date (1), patient name (1)" in str(caught.value)
    assert "owalski" not in str(caught.value)


def test_nothing_known_leaves_no_residue():
    assert {} == residue_in(KnownIdentifiers(), ["Kowalski"])


@pytest.mark.parametrize("value", ["UNKNOWN", "TEST", "NA", "0000", "", "-", "12"])
def test_placeholders_are_no_residue(value):
    known = KnownIdentifiers(
        patient_names=(PersonName(value, value),),
        ids=(KnownId(value, Label.IDNUM),),
        addresses=(Address(value, value, value, value, value, value),),
        facilities=(value,),
        phones=(value,),
        emails=(value,),
    )

    assert {} == residue_in(known, [f"a {value} b {value.lower()} 12 NA {value}"])


TEXT = """
Kowalski KOWALSKI kowalski Jane JANÉ Jane\u0301 Foley foley Will Young WILL will YOUNG
O'Brien o'brien Brien Wu Bartholomew 3/4/57 03-04-1957 March 4th, 1957 4 Mar 1957-03-04
19570304 57 3 12 Oak oak Street St Springfield SPRINGFIELD MA 02139 02139-4301
617-555-0123 (617) 555-0123 +1 jane@example.com 77881234 0077881234 77-88-1234 AB123
ab-123 St. Mary's Hospital ST MARYS Acme Widgets catheter sign Dr. Mr. seen . , : ; - /
( the Patient 1 s 's J. é ½ ²
"""
pieces = st.sampled_from(TEXT.split())
gaps = st.sampled_from(["", " ", " ", " ", "\n", ", ", "-", ". ", "  ", "\t"])


@given(st.lists(st.tuples(pieces, gaps), max_size=12))
def test_what_detection_leaves_is_never_residue(parts):
    """
    Otherwise good notes would become dead letters: verify asks what is promised.
    """
    system = Deidentifier([KnownDetector()], load_policy("safe-harbor"))
    text = "".join(piece + gap for piece, gap in parts)

    [result] = system.deidentify_batch([Document("d1", text, KNOWN)])

    assert isinstance(result, ScrubbedDocument)
