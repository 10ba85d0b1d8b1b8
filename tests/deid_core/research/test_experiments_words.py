"""How the published systems' papers count words: PHI or not, and by column."""

from deid_core import Label
from deid_core.research.corpora.corpus import GoldDocument, GoldSpan
from deid_core.research.experiments.harness.columns import (
    DATES,
    IDS,
    OTHERS,
    PATIENT,
    columns_of,
)
from deid_core.research.experiments.harness.phi import phi_of
from tests.deid_core.research.experiment_cases import marked, scored

SEEN = marked("Seen: «Ann Marlow», on «3/4/2011» (again).", (Label.PATIENT, Label.DATE))
NAME, DATE = (each.span for each in SEEN.spans)


def place(span):
    return span.start, span.end


def test_words_are_what_white_space_parts_with_marks_at_their_ends_apart():
    phi = phi_of(scored([SEEN], []))

    # Seen : Ann Marlow , on 3/4/2011 ( again ) .
    assert 11 == phi.words.sum()
    assert (0, 3, 0, 8) == phi.table


def test_phi_and_what_is_none_are_scored_alike():
    false = (0, 4)
    phi = phi_of(
        scored([SEEN], [(false, Label.CITY), (place(NAME), Label.DOCTOR)]),
    )

    assert (2, 1, 1, 7) == phi.table
    p, r, _ = phi.phi.values
    assert (round(100 * 2 / 3, 6), round(100 * 2 / 3, 6)) == (round(p, 6), round(r, 6))
    p, r, _ = phi.rest.values
    assert (100 * 7 / 8, 100 * 7 / 8) == (p, r)


def test_recall_is_by_any_label_and_precision_by_the_column():
    found = columns_of(
        scored([SEEN], [(place(NAME), Label.DOCTOR), (place(DATE), Label.DATE)]),
    )

    assert (0.0, 100.0) == found.values(PATIENT)[:2]
    assert (0.0, 0.0) == found.values(OTHERS)[:2]
    assert (100.0, 100.0, 100.0) == found.values(DATES)
    p, r, f = found.values()
    assert (60.0, 100.0, 75.0) == (p, r, f)


def test_titles_kin_and_initials_beside_a_name_count_nowhere():
    text = "Her son Carl and Mr. Ann T Marlow"
    at = text.index
    spans = (
        kin := (at("Carl"), at("Carl") + 4),
        whole := (at("Mr."), at("Ann") + 3),
        last := (at("Marlow"), len(text)),
    )
    labels = (Label.PATIENT,) * 3
    kinds = (("kin",), (), ())
    gold = tuple(
        GoldSpan(type(NAME)(*span), label.value, label, number, kind)
        for number, (span, label, kind) in enumerate(
            zip(spans, labels, kinds, strict=True)
        )
    )
    document = GoldDocument("n", text, gold)

    found = columns_of(
        scored(
            [document], [(kin, Label.PATIENT), ((whole[0], last[1]), Label.PATIENT)]
        ),
    )

    assert 2 == found.gold.sum() == found.predicted.sum() == found.right.sum()


def test_what_is_none_and_taken_counts_against_its_column():
    found = columns_of(scored([SEEN], [((0, 4), Label.PHONE)]))

    assert (0.0, 0.0, 0.0) == found.values(IDS)
    assert 1 == found.predicted.sum()
