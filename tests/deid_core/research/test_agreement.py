"""Spans and tokens: strict, relaxed, blind, by category; MEDDOCAN's own scores."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deid_core import Annotation, Label, Span
from deid_core.research.corpora.conventions import Conventions
from deid_core.research.corpora.corpus import GoldDocument, GoldSpan, Prediction
from deid_core.research.scoring.agreement import end_within_two, exact, overlap
from deid_core.research.scoring.evaluation import SCORERS, Outcome, scorers_for
from deid_core.research.scoring.meddocan import (
    merged,
    ner_strict,
    span_merged,
    span_strict,
)
from deid_core.research.tokenizer import Token, tokenize
from tests.deid_core.research.scoring_cases import (
    ALL_SOUGHT,
    DATE,
    DOCTOR,
    PATIENT,
    PLAIN,
    corpus_of,
    figures,
    gold,
    outcome,
    say,
)
from tests.sampling import examples

MARKED = "«Ann Lee|PATIENT» saw «Moss|DOCTOR» on «May 3|DATE»."
SAID = (("Ann Lee", PATIENT), ("Moss", PATIENT), ("May", DATE), ("saw", DOCTOR))


def scored(scorer, marked, *said, conventions=PLAIN):
    return figures(SCORERS[scorer](outcome(marked, *said, conventions=conventions)))


@pytest.mark.parametrize(
    ("scorer", "right", "said", "wanted"),
    [
        ("span strict", 1, 4, 3),
        ("span relaxed", 2, 4, 3),  # "May" ends two characters before "May 3"
        ("span overlap", 2, 4, 3),
        ("span strict, main", 2, 4, 3),
        ("span strict, HIPAA", 1, 3, 2),  # no doctors
        ("span strict, blind", 2, 4, 3),
        ("span overlap, blind", 3, 4, 3),
        ("token", 3, 5, 5),  # Ann, Lee, May
        ("token, main", 4, 5, 5),
        ("token, HIPAA", 3, 4, 4),
        ("token, blind", 4, 5, 5),
    ],
)
def test_micro_scores_are_those_counted_by_hand(scorer, right, said, wanted):
    figure = scored(scorer, MARKED, *SAID)

    assert pytest.approx(right / said) == figure["precision"]
    assert pytest.approx(right / wanted) == figure["recall"]
    assert pytest.approx(2 * right / (said + wanted)) == figure["F1"]


def test_each_label_has_its_own_scores_and_macro_is_their_mean():
    figure = scored("span strict", MARKED, *SAID)

    assert pytest.approx(2 / 3) == figure["F1 NAME:PATIENT"]
    assert figure["precision NAME:PATIENT"] == 0.5
    assert figure["recall NAME:PATIENT"] == 1
    assert figure["F1 NAME:DOCTOR"] == 0
    assert figure["F1 DATE"] == 0
    assert pytest.approx((2 / 3) / 3) == figure["macro F1 by label"]


def test_macro_by_document_is_the_mean_of_the_documents_that_have_a_share():
    documents = [gold(text, PLAIN) for text in ("«Ann|PATIENT»", "Bob", "«Lee|DOCTOR»")]
    said = [say("Ann", ("Ann", PATIENT)), say("Bob"), say("Lee")]
    corpus = corpus_of(*documents, conventions=PLAIN)

    figure = figures(SCORERS["span strict"](Outcome.of(corpus, said)))

    assert figure["macro F1 by document"] == 0.5


def test_relaxed_needs_the_same_start_and_an_end_at_most_two_away():
    assert end_within_two([(0, 5, "a")], [(0, 7, "a")]) == ["a"]
    assert end_within_two([(0, 5, "a")], [(0, 8, "a")]) == []
    assert end_within_two([(0, 5, "a")], [(1, 5, "a")]) == []
    assert end_within_two([(0, 5, "a")], [(0, 5, "b")]) == []


def test_overlapping_spans_are_paired_once_each():
    assert overlap([(0, 9, "a")], [(0, 3, "a"), (4, 9, "a")]) == ["a"]
    assert overlap([(0, 3, "a"), (4, 9, "a")], [(0, 9, "a")]) == ["a"]
    assert overlap([(0, 3, "a")], [(3, 9, "a")]) == []


def test_a_coarse_tag_of_the_corpus_is_agreed_with_by_each_label_that_it_allows():
    tags = {"PERSON": (PATIENT, DOCTOR), "DATE": (DATE,)}
    coarse = Conventions("coarse", tags)

    figure = scored(
        "span strict", "«Moss|PERSON»", ("Moss", DOCTOR), conventions=coarse
    )

    assert figure["F1"] == 1
    assert figure["F1 NAME:PATIENT"] == 1


def test_what_is_said_of_a_tag_without_counterpart_is_neither_right_nor_wrong():
    tags = {"SEX": (), "NAME": (PATIENT,)}
    conventions = Conventions("c", tags)

    figure = scored(
        "span strict",
        "«man|SEX» «Lee|NAME»",
        ("man", PATIENT),
        ("Lee", PATIENT),
        conventions=conventions,
    )

    assert (figure["precision"], figure["recall"]) == (1, 1)


def test_neutral_ages_count_only_where_a_corpus_wants_them():
    said = ("23", Label.AGE)

    assert scored("span strict", "A 23 man", said)["precision"] is None
    assert (
        scored("span strict", "A 23 man", said, conventions=ALL_SOUGHT)["precision"]
        == 0
    )


def test_a_task_s_own_scorers_are_for_its_corpus():
    corpus = corpus_of(conventions=Conventions("meddocan", {}))
    other = corpus_of(conventions=PLAIN)

    assert "MEDDOCAN NER strict" in scorers_for(corpus)
    assert "MEDDOCAN NER strict" not in scorers_for(other)


def test_a_token_on_which_two_spans_meet_has_the_first_one_s_label():
    figure = scored("token", "«Ann|PATIENT»«Lee|DOCTOR»", ("AnnLee", PATIENT))

    assert (figure["precision"], figure["recall"]) == (1, 1)


# MEDDOCAN


def triples(marked, *said, conventions=PLAIN):
    document = gold(marked, conventions)
    corpus = corpus_of(document, conventions=conventions)
    prediction = say(document.text, *said)
    return [
        each(corpus, document, prediction)
        for each in (ner_strict, span_strict, span_merged)
    ]


def test_meddocan_ner_needs_type_and_offsets_and_span_offsets_alone():
    ner, span, _ = triples(MARKED, *SAID)

    assert ner == (1, 4, 3)
    assert span == (2, 4, 3)


def test_meddocan_merged_takes_a_name_said_in_two_parts_as_right():
    _, strict, merged_ones = triples(
        "«Ann Lee|PATIENT» ok", ("Ann", PATIENT), ("Lee", PATIENT)
    )

    assert strict == (0, 2, 1)
    assert merged_ones == (1, 1, 1)


def test_meddocan_merged_still_counts_what_is_missed_and_what_is_false():
    _, _, merged_ones = triples(
        "«Ann|PATIENT», «Lee|PATIENT» ok «Moss|DOCTOR» now",
        ("Ann, Lee", PATIENT),
        ("now", DATE),
    )

    assert merged_ones == (1, 2, 2)


def test_spans_merge_over_marks_and_not_over_letters_or_digits():
    text = "ab, (cd) e fg"
    spans = [Span(0, 2), Span(5, 7), Span(11, 13)]

    assert merged(text, spans) == {Span(0, 7), Span(11, 13)}


def test_meddocan_counts_marks_without_counterpart_too():
    conventions = Conventions("meddocan", {"SEXO": (), "N": (PATIENT,)})

    ner, _, _ = triples(
        "«varon|SEXO» «Lee|N»", ("Lee", PATIENT), conventions=conventions
    )

    assert ner == (1, 1, 2)


# Properties

TEXT = "Ann Lee 12 saw Bob; Dr. Moss (2004) on May 3, aged 91. Foley! x"
labels = st.sampled_from([PATIENT, DOCTOR, DATE, Label.IDNUM])


@st.composite
def marks(draw):
    """Disjoint (span, label) pairs, as predictions and most gold are."""
    cuts = sorted(draw(st.sets(st.integers(0, len(TEXT)), max_size=12)))
    pairs = zip(cuts[::2], cuts[1::2], strict=False)
    return [(Span(start, end), draw(labels)) for start, end in pairs]


def as_gold(pairs):
    spans = [GoldSpan(s, label.name, label, at) for at, (s, label) in enumerate(pairs)]
    return GoldDocument("d", TEXT, tuple(spans))


def as_said(pairs):
    return Prediction(tuple(Annotation(s, label, 1.0, "t") for s, label in pairs))


def all_scores(pairs, said):
    corpus = corpus_of(as_gold(pairs), conventions=ALL_SOUGHT)
    result = Outcome.of(corpus, [as_said(said)])
    return {
        name: figures(s(result))
        for name, s in SCORERS.items()
        if not name.startswith("coverage")
    }


@given(marks())
def test_a_perfect_prediction_scores_one_everywhere(pairs):
    for figure in all_scores(pairs, pairs).values():
        assert {*figure.values()} <= {1.0, None}


@given(marks(), marks())
def test_exchanging_gold_and_prediction_exchanges_precision_and_recall(one, other):
    there, back = all_scores(one, other), all_scores(other, one)

    for scorer, figure in there.items():
        assert figure["precision"] == back[scorer]["recall"]
        assert figure["recall"] == back[scorer]["precision"]
        assert figure["F1"] == back[scorer]["F1"]


@given(marks(), marks())
@settings(max_examples=examples(200))
def test_a_looser_score_is_never_lower(one, other):
    figure = {name: each["F1"] or 0 for name, each in all_scores(one, other).items()}

    assert figure["span strict"] <= figure["span relaxed"] <= figure["span overlap"]
    assert figure["span strict"] <= figure["span strict, main"]
    assert figure["span strict, main"] <= figure["span strict, blind"]
    assert figure["span strict, blind"] <= figure["span overlap, blind"]
    assert figure["token"] <= figure["token, main"] <= figure["token, blind"]


@given(marks(), marks())
def test_exact_agreement_is_the_intersection(one, other):
    left, right = (
        [(span.start, span.end, label.value) for span, label in side]
        for side in (one, other)
    )

    assert len({*left} & {*right}) == len(exact(left, right))


@given(st.text())
def test_tokens_are_where_they_say(text):
    assert all(text[t.start : t.end] == t.text for t in tokenize(text))


@given(st.text())
def test_nothing_but_blanks_lies_between_tokens(text):
    """
    Tokens are in order, disjoint, and lose no letter, digit or mark.
    """
    position = 0
    for token in tokenize(text):
        assert position <= token.start < token.end
        assert _is_blank(text[position : token.start])
        position = token.end

    assert _is_blank(text[position:])


def _is_blank(text):
    return all(c.isspace() or c < " " for c in text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Since6/03/04", ["Since", "6", "/", "03", "/", "04"]),
        ("O'Brien-Lee", ["O", "'", "Brien", "-", "Lee"]),
        ("BP 120/80.", ["BP", "120", "/", "80", "."]),
        ("Łukasz Ğül", ["Łukasz", "Ğül"]),
        ("Jose\u0301 x", ["Jose\u0301", "x"]),
        ("a_b\x00c", ["a", "_", "b", "c"]),
        ("", []),
    ],
)
def test_splits_run_together_text(text, expected):
    assert expected == [token.text for token in tokenize(text)]


def test_no_repr_shows_the_text():
    assert "Fitzwilliam" not in repr(Token(0, 11, "Fitzwilliam"))
