"""Records beside marked notes: right ones, and wrong ones of each kind."""

from dataclasses import fields
from datetime import date
from random import Random

import pytest
from rapidfuzz.distance import OSA

from deid_core import KnownIdentifiers, Label, PersonName, Span
from deid_core.document import KnownId
from deid_core.language.lexicons.nicknames import nicknames_of
from deid_core.research.corpora.corpus import GoldDocument, GoldSpan
from deid_core.research.decision.people import people_of
from deid_core.research.decision.records import (
    RecordKind,
    incomplete,
    misspelt,
    of_ordinary_words,
    records_of,
    right_record,
    stale,
)

SEEDS = range(12)
TAGS = {
    "PATIENT": Label.PATIENT,
    "KIN": Label.PATIENT,
    "STAFF": Label.DOCTOR,
    "DATE": Label.DATE,
    "STREET": Label.STREET,
    "CITY": Label.CITY,
    "STATE": Label.STATE,
    "ZIP": Label.ZIP,
    "PHONE": Label.PHONE,
    "EMAIL": Label.EMAIL,
    "MRN": Label.MEDICALRECORD,
    "HOSPITAL": Label.HOSPITAL,
    "ORGANIZATION": Label.ORGANIZATION,
}


def marked(template):
    """Return a document from ``[TAG|value]`` marks."""
    text, spans = "", []
    for piece in template.replace("]", "[").split("["):
        tag, bar, value = piece.partition("|")
        if bar:
            span = Span(len(text), len(text) + len(value))
            spans.append(GoldSpan(span, tag, TAGS[tag], len(spans)))
        text += value if bar else piece
    return GoldDocument("n1", text, tuple(spans))


NOTE = marked(
    "Pt [PATIENT|KESSLER, ILSE M.] DOB [DATE|03/14/1957], MRN [MRN|00448817]\n"
    "[STREET|14 Larkspur Rd], [CITY|Tarpon], [STATE|OH] [ZIP|44120], [PHONE|555-0134]\n"
    "[EMAIL|ilse@post.example]. Works at [ORGANIZATION|Tarn Packing].\n"
    "Seen at [HOSPITAL|Quellwright Memorial] on [DATE|5/6/2020] with son [KIN|Jorn].\n"
    "A low price. She may walk up the hill to bed. Frank blood; burns on young rose\n"
    "[PATIENT|Ilse] will return. Dr. [STAFF|Osei], MD; [STAFF|B. Yilmaz] /[STAFF|dkh]"
)
OTHER = marked("[PATIENT|Bram Oosterwijk] was seen by [STAFF|Nia Caldecott].")


def surnames(names):
    return [each.family for each in names]


def named(names):
    return [(each.given, each.family) for each in names]


def test_a_right_record_has_the_values_of_the_marks():
    record = right_record(NOTE, Random(1))

    assert record.patient_names[0] == PersonName("Kessler", "Ilse", "M")
    assert [each.given for each in record.kin_names] == ["Jorn"]
    assert surnames(record.provider_names)[:2] == ["Osei", "Yilmaz"]
    assert record.birth_dates == (date(1957, 3, 14),)
    [address] = record.addresses
    assert (address.street, address.city) == ("14 Larkspur Rd", "Tarpon")
    assert (address.state, address.zip) == ("OH", "44120")
    assert record.phones == ("555-0134",)
    assert record.emails == ("ilse@post.example",)
    assert record.ids == (KnownId("00448817", Label.MEDICALRECORD),)
    assert record.facilities == ("Quellwright Memorial",)
    assert record.employers == ("Tarn Packing",)


@pytest.mark.parametrize("seed", SEEDS)
def test_parts_of_names_become_whole_names(seed):
    record = right_record(NOTE, Random(seed))
    osei, yilmaz, initials = record.provider_names

    assert len(osei.given) > 1
    assert yilmaz.given.startswith("B")
    assert len(yilmaz.given) > 1
    assert (initials.given[0], initials.middle, initials.family[0]) == ("D", "K", "H")
    assert record.kin_names[0].family


@pytest.mark.parametrize(
    ("template", "given", "family"),
    [
        ("[PATIENT|Noelene FARRUGIA]", "Noelene", "Farrugia"),
        ("[PATIENT|FARRUGIA, NOELENE]", "Noelene", "Farrugia"),
        ('[PATIENT|Ilse "Izzy" van der Berg]', "Ilse", "van der Berg"),
        ("[PATIENT|Mrs. Ilse Kessler]", "Ilse", "Kessler"),
        ("[PATIENT|Kessler] came. [PATIENT|Ilse] left.", "Ilse", "Kessler"),
        ("[PATIENT|Ilse], then [PATIENT|Ilse Kessler]", "Ilse", "Kessler"),
        # The first full name of several patients.
        ("[PATIENT|Moe], [PATIENT|Ilse Kessler], [PATIENT|Bo Hart]", "Ilse", "Kessler"),
    ],
)
def test_the_patient_is_whoever_has_the_first_full_name(template, given, family):
    names = [people_of(marked(template), Random(n)).patients[0] for n in SEEDS]

    assert {family} == set(surnames(names))
    assert given in {each.given for each in names}


def test_a_nickname_may_be_of_a_longer_name():
    note = marked("[PATIENT|Bill] came. Mr. [PATIENT|K] left.")
    names = [people_of(note, Random(n)).patients[0] for n in SEEDS]

    assert "William" in {each.given for each in names}
    assert all(each.given.lower() in {"bill", *nicknames_of("bill")} for each in names)
    assert all(each.family for each in names)


def test_initials_become_a_name_with_these_initials():
    note = marked("pt [PATIENT|KS] was seen")
    names = [people_of(note, Random(n)).patients[0] for n in SEEDS]

    assert {("K", "S")} == {(each.given[0], each.family[0]) for each in names}
    assert len({each.family for each in names}) > 1


def test_the_record_of_the_corpus_counts_first():
    names = (PersonName("Kessler-Roe", "Ilse Maria"),)
    providers = (PersonName("Osei", "Dr. Ama"),)
    known = KnownIdentifiers(patient_names=names, provider_names=providers)
    note = GoldDocument("n1", NOTE.text, NOTE.spans, known=known)
    record = right_record(note, Random(1))

    assert record.patient_names == names
    assert record.provider_names == (PersonName("Osei", "Ama"),)
    assert record.phones == ("555-0134",)


def test_a_note_without_marks_has_a_patient_too():
    record = right_record(marked("No findings."), Random(1))

    assert record.patient_names[0].family


def test_an_incomplete_record_has_some_of_the_values():
    right = right_record(NOTE, Random(1))
    counts = []
    for seed in SEEDS:
        part = incomplete(right, Random(seed))
        assert part.patient_names
        assert set(part.provider_names) <= set(right.provider_names)
        assert set(part.phones) <= set(right.phones)
        counts.append(len(part.provider_names) + len(part.phones) + len(part.emails))
    assert 0 < sum(counts) / len(counts) < 4


def test_a_stale_record_has_another_surname_address_or_employer():
    right = right_record(NOTE, Random(1))
    for seed in SEEDS:
        old = stale(right, Random(seed))
        assert old != right
        assert old.patient_names[0].given == "Ilse"
        assert old.provider_names == right.provider_names
        assert old.birth_dates == right.birth_dates
    keys = ("patient_names", "addresses", "phones", "employers", "facilities")
    old = [stale(right, Random(seed)) for seed in SEEDS]
    for key in keys:
        values = {getattr(each, key) == getattr(right, key) for each in old}
        assert values == {True, False}


def test_a_misspelt_record_has_one_edit_in_the_name():
    right = right_record(NOTE, Random(1))
    for seed in SEEDS:
        [wrong], [name] = (
            misspelt(right, Random(seed)).patient_names,
            right.patient_names,
        )
        parts = ((wrong.given, name.given), (wrong.family, name.family))
        assert sum(OSA.distance(one, other) for one, other in parts) == 1
    wrong = [misspelt(right, Random(seed)) for seed in SEEDS]
    assert len({each.phones for each in wrong}) > 2
    assert len({each.ids for each in wrong}) > 2
    assert all(len(each.phones[0]) == len(right.phones[0]) for each in wrong)


def test_ordinary_words_are_the_unmarked_words_of_the_note():
    right = right_record(NOTE, Random(1))
    unmarked = NOTE.text
    for mark in reversed(NOTE.spans):
        unmarked = unmarked[: mark.span.start] + unmarked[mark.span.end :]
    for seed in SEEDS:
        record = of_ordinary_words(right, NOTE, Random(seed))
        families = surnames((*record.patient_names, *record.provider_names))
        assert all(each.lower() in unmarked.lower() for each in families)
        assert families != surnames((*right.patient_names, *right.provider_names))
        assert record.phones == right.phones
    chosen = {
        of_ordinary_words(right, NOTE, Random(seed)).patient_names[0].family
        for seed in SEEDS
    }
    assert chosen & {"Low", "Price", "Hill", "Young", "Rose", "Burns", "Frank", "Walk"}


def test_relatives_who_share_a_name_still_share_it():
    note = marked("[PATIENT|Ilse Kessler], son [KIN|Jorn Kessler]; a low price, a hill")
    record = of_ordinary_words(right_record(note, Random(1)), note, Random(2))

    assert record.patient_names[0].family == record.kin_names[0].family != "Kessler"


def test_the_other_patient_is_of_the_other_note():
    records = records_of(NOTE, Random(1), OTHER)

    assert ("Bram", "Oosterwijk") in named(
        records[RecordKind.OTHER_PATIENT].patient_names
    )
    assert set(records) == set(RecordKind)
    assert RecordKind.OTHER_PATIENT not in records_of(NOTE, Random(1))


def test_a_seed_decides_everything():
    assert records_of(NOTE, Random(1), OTHER) == records_of(NOTE, Random(1), OTHER)
    assert records_of(NOTE, Random(1), OTHER) != records_of(NOTE, Random(2), OTHER)


def test_no_repr_shows_a_value():
    records = records_of(NOTE, Random(1), OTHER)
    shown = repr(records) + repr(people_of(NOTE, Random(1)))
    values = [
        getattr(name, field.name)
        for record in records.values()
        for name in (*record.patient_names, *record.provider_names)
        for field in fields(name)
    ]

    assert not [value for value in values if len(value) > 2 and value in shown]
