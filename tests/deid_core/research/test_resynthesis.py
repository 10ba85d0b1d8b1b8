"""Resynthesis of marked notes: names change, everything else stays."""

from random import Random

import pytest

from deid_core import Label, Span
from deid_core.research.corpora.corpus import GoldDocument, GoldSpan
from deid_core.research.synthetic_notes import Half, half_of, recast

SEEDS = range(12)


def marked(template, *values):
    """Return a document whose {} are identifiers, each a label and a text."""
    text, spans = "", []
    for before, (label, value) in zip(template.split("{}"), values, strict=False):
        start = len(text) + len(before)
        text += before + value
        spans.append(
            GoldSpan(Span(start, len(text)), label.value, label, len(spans), ())
        )
    return GoldDocument("n1", text + template.split("{}")[-1], tuple(spans))


def values_of(document):
    return [document.text[each.span.start : each.span.end] for each in document.spans]


def around(document):
    segments, at = [], 0
    for each in document.spans:
        segments.append(document.text[at : each.span.start])
        at = each.span.end
    return [*segments, document.text[at:]]


NOTE = marked(
    "Pt {}, seen {} by Dr. {}. {} has Parkinson disease; wife {} ({}) agrees. From {}.",
    (Label.PATIENT, "Hart, Jane"),
    (Label.DATE, "3/14"),
    (Label.DOCTOR, "O. de la Cruz"),
    (Label.PATIENT, "HART"),
    (Label.PATIENT, "anneli"),
    (Label.PATIENT, "Anneli Hart-Roe"),
    (Label.CITY, "Machias"),
)


@pytest.mark.parametrize("seed", SEEDS)
def test_all_that_is_no_name_stays(seed):
    new = recast(NOTE, Half.TRAINING, Random(seed))

    assert around(NOTE) == around(new)
    assert values_of(new)[1] == "3/14"
    assert [each.label for each in NOTE.spans] == [each.label for each in new.spans]


@pytest.mark.parametrize("seed", SEEDS)
def test_names_and_towns_are_others_of_the_same_form(seed):
    new = recast(NOTE, Half.TRAINING, Random(seed))

    patient, _, doctor, capitals, small, kin, town = values_of(new)
    family, given = patient.split(", ")
    assert family != "Hart"
    assert given != "Jane"
    assert " de la " in doctor
    assert doctor[1] == "."
    assert family.upper() == capitals
    assert small == small.lower()
    assert kin.lower().startswith(small)
    assert "-" in kin
    assert town != "Machias"


def test_the_names_are_of_the_half():
    new = [values_of(recast(NOTE, Half.TRAINING, Random(seed))) for seed in SEEDS]

    assert {half_of(part) for values in new for part in values[3].split("-")} == {
        Half.TRAINING
    }
    assert len({values[3] for values in new}) > len(SEEDS) / 2


def test_initials_become_initials_but_in_capitals_a_short_word_is_a_name():
    mixed = marked("Signed {}", (Label.DOCTOR, "JBT"))
    capitals = marked("SON {} CALLED", (Label.PATIENT, "LEE"))

    assert len(values_of(recast(mixed, Half.TRAINING, Random(1)))[0]) == 3
    new = [
        values_of(recast(capitals, Half.TRAINING, Random(seed)))[0] for seed in SEEDS
    ]
    assert any(len(value) > 3 for value in new)


def test_an_institution_keeps_its_name_now_and_then():
    note = marked("Seen at {}.", (Label.HOSPITAL, "Quillfeather Lodge"))

    new = {values_of(recast(note, Half.TRAINING, Random(n)))[0] for n in range(40)}

    assert "Quillfeather Lodge" in new
    assert len(new) > 10


def test_no_repr_shows_text():
    assert "Hart" not in repr(recast(NOTE, Half.TRAINING, Random(1)))


def test_numbers_keep_their_shape_and_are_one_number_again():
    note = marked(
        "MRN {}, acc {}, MRN {}, T 98.6.",
        (Label.MEDICALRECORD, "44-1028"),
        (Label.IDNUM, "S19-20416"),
        (Label.MEDICALRECORD, "44-1028"),
    )

    new = recast(note, Half.TRAINING, Random(3))

    mrn, accession, again = values_of(new)
    assert around(note) == around(new)
    assert mrn == again != "44-1028"
    assert accession[0].isupper()
    assert [mrn[2], accession[3]] == ["-", "-"]
    assert (mrn[:2] + mrn[3:] + accession[1:3] + accession[4:]).isdecimal()
