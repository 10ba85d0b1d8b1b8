from __future__ import annotations

import math
import random
from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deid_core import (
    ConfigError,
    Deidentifier,
    Document,
    KnownIdentifiers,
    Label,
    PersonName,
    load_preset,
)
from deid_core.research.published.nus.dates import DATE, ORDERS, dates, pattern_of
from deid_core.research.published.nus.detector import NusDetector
from deid_core.research.published.nus.names import HONORIFICS, ratios, words_in
from deid_core.research.published.options import NusOptions
from tests.deid_core.marked import unmark

DETECT = NusDetector()
KNOWN = KnownIdentifiers(
    patient_names=(PersonName("Kowalski", "Jonathan"), PersonName("Tan-Lim", "Bo")),
    provider_names=(PersonName("Reitman", "Susan"),),
    facilities=("Cedar County Memorial",),
)
FRAGMENT = "vomiting 2/7, LOW 1/12"


def proposals(text, known=KNOWN, detect=DETECT):
    [annotations] = detect([Document("n1", text, known)])
    return annotations


def found(text, *rules, detect=DETECT):
    return sorted(
        {
            (a.span.start, a.span.end)
            for a in proposals(text, detect=detect)
            if a.rule in rules
        }
    )


def test_the_papers_own_false_ones_are_found_falsely():
    labels = {FRAGMENT[a.span.start : a.span.end]: a.label for a in proposals(FRAGMENT)}

    assert labels == {"2/7": Label.DATE, "1/12": Label.DATE, "LOW": Label.DOCTOR}


@pytest.mark.parametrize("preset", ["nus", "nus-maxent"])
def test_the_whole_system_replaces_them_too(preset):
    scrubbed = Deidentifier.from_names(preset).deidentify(Document("n1", FRAGMENT))

    assert scrubbed.text == "vomiting [DATE], [NAME:DOCTOR] [DATE]"


def test_the_product_leaves_them_alone(hybrid):
    scrubbed = hybrid.deidentify(Document("n1", FRAGMENT))

    assert scrubbed.text == FRAGMENT


def test_the_preset_says_what_the_detector_does_by_default():
    assert NusOptions() == load_preset("nus").options["nus"]
    assert load_preset("nus-maxent").options["nus"].names == "maximum_entropy"


@pytest.mark.parametrize(
    "marked",
    [
        "Seen: «Jonathan» «KOWALSKI», well.",
        "«kowalski»'s wife; «Kowalsky»; «Jonathn»; «Jonahtan»",
        "«Tan-Lim» «Bo», «TanLim», but not Tan and not Lim",
        "Not Kowal, not Jon, not Bob: R is 3/5, 5/3 and 1/2.",
        "S/o O/E c/o b/o",
    ],
)
def test_names_by_the_ratio_of_edits_to_the_shorter_length(marked):
    text, spans = unmark(marked)

    assert spans == found(text, "edit_distance")


@pytest.mark.parametrize(
    ("threshold", "is_name"),
    [(0.0, False), (0.1, False), (0.12, False), (0.13, True), (0.33, True)],
)
def test_a_name_is_what_is_below_the_threshold(threshold, is_name):
    detect = NusDetector(NusOptions(threshold=threshold))

    assert is_name == bool(found("Kowalsky", "edit_distance", detect=detect))


def test_at_zero_not_even_the_exact_name_is_below():
    assert found("Kowalski", "edit_distance", detect=_at(0.0)) == []
    assert found("Kowalski", "edit_distance", detect=_at(0.01)) == [(0, 8)]


def test_without_a_record_no_word_is_near():
    assert ratios(list(words_in("Kowalski")), ()).tolist() == [math.inf]
    assert proposals("Kowalski is well", known=KnownIdentifiers()) == []


def test_the_ratio_is_what_plain_edit_distance_says():
    """
    Against Wagner and Fischer's algorithm, written out.
    """
    rng = random.Random(4)
    names = ["".join(rng.choices("abc", k=rng.randint(1, 6))) for _ in range(40)]
    tokens = tuple(names[:10])

    result = ratios(list(words_in(" ".join(names))), tokens)

    expected = [
        min(_distance(n, w) / min(len(n), len(w)) for n in tokens) for w in names
    ]
    assert expected == pytest.approx(result.tolist())


@pytest.mark.parametrize("honorific", HONORIFICS)
@pytest.mark.parametrize("between", [". ", " ", ".", "\n"])
def test_one_word_after_an_honorific_goes(honorific, between):
    text = f"by {honorific.upper()}{between}Xu Yz"
    start = text.index("Xu")

    assert found(text, "honorific") == [(start, start + 2)]


@pytest.mark.parametrize(
    "marked",
    [
        "Prof «Dr» «Xu», A/Prof «Xu»",
        "general «medicine», gen «surg», miss «doses», lady «with» pain",
        "sirs, drs X, dr: X, dr 2/7, ms",
    ],
)
def test_whatever_the_word_is(marked):
    text, spans = unmark(marked)

    assert spans == found(text, "honorific")


def test_a_doctors_title_makes_the_name_a_doctors():
    labels = [a.label for a in proposals("Dr Xu and Mdm Xu")]

    assert labels == [Label.DOCTOR, Label.PATIENT]


@pytest.mark.parametrize(
    "marked",
    [
        "NRIC «S1234567D», «t7654321z»; MRN «A1234567»",
        "AS1234567D S1234567DX S123456D BP 120/80",
    ],
)
def test_ids_have_the_shapes_of_the_preset(marked):
    text, spans = unmark(marked)

    assert spans == found(text, "id")


def test_a_site_names_its_own_shapes():
    detect = NusDetector(NusOptions(id_shapes=("AA-000",)))

    assert found("xy-123 S1234567D", "id", detect=detect) == [(0, 6)]


@pytest.mark.parametrize(
    "marked",
    [
        "tel «6789 1234», «67891234», «+65 6789-1234», «312-555-0147»",
        "2024-03-14, 120 80 72, 78 12 10 14, 1500H, 123456, 1234567890123456",
    ],
)
def test_contact_numbers_are_digits_with_spaces_and_dashes(marked):
    text, spans = unmark(marked)

    assert spans == found(text, "contact")


@pytest.mark.parametrize(
    "marked",
    [
        "at «Tan Tock Seng Hospital», «TTSH» and «Cedar County Memorial»",
        "at cedar county memorial, ttsh",
    ],
)
def test_hospitals_of_the_list_and_of_the_record(marked):
    text, spans = unmark(marked)

    assert spans == found(text, "hospital_list")


def test_towns_of_the_country_with_and_without_their_kind():
    text, spans = unmark("lives in «Bedok», «Bishan New Town», not Boston")

    assert spans == found(text, "place_list")
    assert found(text, "place_list", detect=NusDetector(NusOptions(country="MC"))) == []


def test_doctors_of_the_list_and_of_the_record_with_a_capital():
    text, spans = unmark("«LOW», «Ng», «Reitman»; low, ng, reitman")

    assert spans == found(text, "doctor_list")


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"country": "XX"}, "no towns of 'XX'"),
        ({"surnames": "none"}, "unknown word list 'none'"),
        ({"id_shapes": ("ABC",)}, "must hold a digit"),
    ],
)
def test_what_is_not_there_refuses_to_start(changes, says):
    with pytest.raises(ConfigError, match=says):
        NusDetector(NusOptions(**changes))


@pytest.mark.parametrize("value", [["a", 1], [], "A0", 3])
def test_shapes_that_are_no_texts_refuse_to_start(value):
    with pytest.raises(ConfigError, match="id_shapes"):
        NusOptions.read({"id_shapes": value}, "own")


def test_nothing_found_here_is_echoed_through_the_note():
    text = "Dr Quellwright came.  Quellwright left."

    scrubbed = Deidentifier.from_names("nus").deidentify(Document("n1", text))

    assert scrubbed.text == "Dr [NAME:DOCTOR] came.  Quellwright left."


@pytest.mark.timeout(60)
@pytest.mark.parametrize("part", ["1", "-", "1 ", "1/", "Dr ", "a-", "Tan ", "may "])
def test_hostile_text_takes_linear_time(part):
    assert proposals(part * (60_000 // len(part))) is not None


def _at(threshold):
    return NusDetector(NusOptions(threshold=threshold))


def _distance(one, other):
    row = list(range(len(other) + 1))
    for i, a in enumerate(one, 1):
        left, row[0] = row[0], i
        for j, b in enumerate(other, 1):
            left, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, left + (a != b))
    return row[-1]


MONTHS = ["1", "01", "12", "Jan", "JANUARY", "may", "Sept", "december"]
PARTS = {
    "d": st.sampled_from(["1", "07", "19", "31"]),
    "m": st.sampled_from(MONTHS),
    "y": st.sampled_from(["1999", "2016", "16", "04"]),
}
DELIMITERS = st.sampled_from(["-", ",", "/", ":", " ", "\t", ", ", " - "])


def spans(text):
    return [(a.span.start, a.span.end) for a in dates(text)]


@st.composite
def dates_of_the_grid(draw):
    parts = [draw(PARTS[part]) for part in draw(st.sampled_from(ORDERS))]
    written = parts[0]
    for part in parts[1:]:
        written += draw(DELIMITERS) + part
    return written


def test_the_grid_is_the_papers():
    whole = {"".join(order) for order in permutations("dmy")} - {"dym", "myd"}

    assert whole | {"dm", "md", "ym", "my"} == set(ORDERS)


@given(dates_of_the_grid())
def test_every_date_of_the_grid_is_found_whole(written):
    """
    Whatever the order, the form of each part and the delimiters.
    """
    assert spans(f"Seen on {written}; well") == [(8, 8 + len(written))]


@pytest.mark.parametrize(
    "marked",
    [
        "vomiting «2/7», LOW «1/12», PR 78/min, Bp 120/70",
        "at «10:30», pain «2/10», ratio «1:4» x «11 3» tabs",
        "since «March 2014» or «14 Mar» or «3-2014» and May",
        "TWC 14 UC10, 1500H, 33/Chinese/M, 0.125 , qD , 40",
        "BP 120/80, 45/99, 32/13, 1.5 / 2.5, 2/7th, x2/7",
        "14.3.2016 has dots, 14th March an ordinal, 14Mar2016 no delimiter",
    ],
)
def test_what_looks_like_a_date_is_one(marked):
    text, expected = unmark(marked)

    assert expected == spans(text)


@pytest.mark.parametrize("order", ORDERS)
def test_no_order_repeats_without_bound(order):
    """
    A pattern that repeats without bound could take more than linear time.
    """
    assert not {"*", "+"} & set(pattern_of(order))
    assert not {"*", "+"} & set(DATE.pattern)
