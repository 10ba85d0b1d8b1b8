"""Coverage: what stays readable and what is lost, whatever it is called."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deid_core import Annotation, Label, Span
from deid_core.research.corpora.conventions import conventions_for
from deid_core.research.corpora.corpus import GoldDocument, GoldSpan, Prediction
from deid_core.research.scoring.coverage import (
    cover,
    coverage_measures,
    recall_by_label,
)
from deid_core.research.scoring.gold_and_predicted import comparisons_of
from tests.deid_core.research.scoring_cases import (
    AGE,
    ALL_SOUGHT,
    DATE,
    DOCTOR,
    PATIENT,
    PLAIN,
    corpus_of,
    figures,
    gold,
    outcome,
    perfect,
    say,
)


def covered(marked, *said, conventions=PLAIN, decoys=()):
    [compared] = outcome(marked, *said, conventions=conventions, decoys=decoys).compared
    return cover(compared)


def measured(marked, *said, conventions=PLAIN, decoys=()):
    return figures(
        coverage_measures(
            [covered(marked, *said, conventions=conventions, decoys=decoys)]
        )
    )


def found(*arguments, **options):
    return [each for _, each in covered(*arguments, **options).values]


def falsely(marked, *said, conventions=PLAIN):
    result = covered(marked, *said, conventions=conventions)
    text = gold(marked, conventions).text
    return [text[span.start : span.end] for span in result.false_words]


def test_a_span_is_found_when_every_letter_and_digit_is_covered_by_any_label():
    marked = "Seen «O'Neil, Ann|PATIENT» today."

    assert found(marked, ("O'Neil, Ann", DOCTOR)) == [True]
    assert found(marked, ("O'Neil", DATE), ("Ann", PATIENT)) == [True]
    assert found(marked, ("O'Neil, An", PATIENT)) == [False]


def test_a_title_inside_a_span_need_not_be_covered():
    marked = "Seen by «Dr. Lee|DOCTOR» and «Ann Moss, M.D.|DOCTOR»."

    assert found(marked, ("Lee", DOCTOR), ("Ann Moss", DOCTOR)) == [True, True]
    assert found(marked, ("Lee", DOCTOR), ("Moss", DOCTOR)) == [True, False]


def test_where_titles_are_not_neutral_they_are_letters_as_all_others():
    strict = replace(PLAIN, titles_are_neutral=False)
    marked = "Seen by «Pa Houa|DOCTOR», MD."

    assert found(marked, ("Houa", DOCTOR), conventions=strict) == [False]
    assert found(marked, ("Pa Houa", DOCTOR), conventions=strict) == [True]
    said = ("Pa Houa, MD", DOCTOR)
    assert falsely(marked, said, conventions=strict) == ["MD."]
    assert falsely(marked, said) == []


def test_notes_that_are_written_for_the_project_have_no_neutral_titles():
    for name in ("written_notes", "dense-notes"):
        assert not conventions_for(Path("any"), name).titles_are_neutral
    assert conventions_for(Path("any"), "mtsamples").titles_are_neutral


def test_a_span_of_titles_alone_must_be_covered():
    assert found("Ask «Dr.|DOCTOR» now") == [False]


def test_a_word_is_false_when_a_letter_of_it_is_redacted_and_it_is_not_gold():
    marked = "The Foley of «Ann|PATIENT» held 300 ml."

    assert falsely(marked, ("Foley", DOCTOR), ("Ann", PATIENT)) == ["Foley"]
    assert falsely(marked, ("Fo", DOCTOR)) == ["Foley"]
    assert falsely(marked, ("of Ann", PATIENT)) == ["of"]


def test_a_word_that_a_gold_span_ends_in_is_not_false():
    assert falsely("«Ann|PATIENT»'s leg", ("Ann's", PATIENT)) == []


def test_marks_and_white_space_are_never_false():
    assert falsely("pain -- severe", (" -- ", DATE)) == []


def test_a_title_beside_a_gold_span_is_not_false_and_elsewhere_is():
    marked = "Dr. «Lee|DOCTOR», MD, and the Dr. of Foley"

    assert falsely(marked, ("Dr. Lee, MD", DOCTOR)) == []
    assert falsely(marked, ("Dr. of", DOCTOR)) == ["Dr.", "of"]


@pytest.mark.parametrize("age", ["23-year-old", "89", "forty-five", "18 months"])
def test_ages_under_90_are_neither_sought_nor_false(age):
    assert found(f"A «{age}|AGE» man") == []
    assert falsely(f"A {age} man", (age, AGE)) == []


@pytest.mark.parametrize("age", ["90", "101-year-old", "ninety-two"])
def test_ages_over_89_are_sought(age):
    assert found(f"A «{age}|AGE» man") == [False]
    assert falsely(f"A {age} man", (age, AGE))


@pytest.mark.parametrize("year", ["2004", "1998 to 2001", "the 1990s", "year 2010"])
def test_years_alone_are_neither_sought_nor_false(year):
    assert found(f"Since «{year}|DATE» well") == []
    assert falsely(f"Since {year} well", (year, DATE)) == []


@pytest.mark.parametrize(
    "date", ["May 2004", "5/2004", "2004-05-01", "20045", "summer"]
)
def test_more_than_a_year_is_sought(date):
    assert found(f"Since «{date}|DATE» well") == [False]


def test_a_number_is_neutral_only_under_the_label_that_makes_it_so():
    assert falsely("bed 23", ("23", Label.IDNUM)) == ["23"]


def test_a_corpus_may_want_ages_and_years_found():
    assert found("A «23|AGE» man", conventions=ALL_SOUGHT) == [False]
    assert falsely("A 23 man", ("23", AGE), conventions=ALL_SOUGHT) == ["23"]


def test_tags_that_a_corpus_calls_neutral_are_not_sought():
    aci = conventions_for(Path("x"), "aci-bench")

    assert found("«spring of 2019|DATE_YEAR»", conventions=aci) == []


def test_recall_false_words_and_precision_are_counted_by_hand():
    figure = measured(
        "«Ann Lee|PATIENT» saw «Dr. Moss|DOCTOR» on Foley ward six of ten beds",
        ("Ann Lee", PATIENT),
        ("Foley", DOCTOR),
    )

    assert figure["recall"] == 0.5
    assert pytest.approx(1000 / 12) == figure["false per 1,000"]
    assert pytest.approx(2 / 3) == figure["precision (words)"]
    assert figure["specificity"] is None
    assert figure["decoys touched %"] is None


def test_specificity_is_the_share_of_empty_documents_in_which_no_word_is_lost():
    texts = (
        "A clear query",
        "Another one",
        "With «Ann|PATIENT» in it",
        "a 40 year old",
    )
    documents = [gold(text, PLAIN) for text in texts]
    said = [
        say(documents[0].text),
        say(documents[1].text, ("one", PATIENT)),
        say(documents[2].text, ("With", PATIENT)),
        say(documents[3].text, ("40 year old", AGE)),
    ]
    compared = comparisons_of(corpus_of(*documents, conventions=PLAIN), said)

    figure = figures(coverage_measures([cover(each) for each in compared]))

    assert pytest.approx(2 / 3) == figure["specificity"]


def test_a_decoy_is_touched_when_a_letter_of_it_is_covered():
    marked = "A Foley and a Bovie and a Moya"
    said = (("Foley", PATIENT), ("Bo", PATIENT))

    figure = measured(marked, *said, decoys=("Foley", "Bovie", "Moya"))

    assert pytest.approx(200 / 3) == figure["decoys touched %"]


def test_a_value_is_found_only_when_each_place_of_it_is():
    text = "Ann Lee, again Ann Lee"
    spans = tuple(GoldSpan(Span(at, at + 7), "PATIENT", PATIENT, 0) for at in (0, 15))
    corpus = corpus_of(GoldDocument("d", text, spans), conventions=PLAIN)
    once = Prediction((Annotation(Span(0, 7), PATIENT, 1.0, "t"),))

    [compared] = comparisons_of(corpus, [once])

    assert cover(compared).values == ((PATIENT, False),)
    assert [each.span for each in cover(compared).missed] == [Span(15, 22)]


def test_recall_is_told_by_label():
    result = covered("«Ann|PATIENT» «Lee|DOCTOR» «May 1|DATE»", ("Ann", DATE))

    assert (figures(recall_by_label([result]))) == {
        "recall DATE": 0,
        "recall NAME:DOCTOR": 0,
        "recall NAME:PATIENT": 1,
    }


def test_an_empty_document_has_no_words():
    assert covered("").words == 0
    assert covered(" \n").words == 0


TEXT = "Ann Lee 12 saw Bob; Dr. Moss (2004) on May 3, aged 91. Foley! x"
spans = st.tuples(st.integers(0, len(TEXT) - 1), st.integers(1, 12)).map(
    lambda pair: Span(pair[0], min(pair[0] + pair[1], len(TEXT)))
)
labels = st.sampled_from([PATIENT, DOCTOR, DATE, AGE, Label.IDNUM])
annotations = st.builds(Annotation, spans, labels, st.just(1.0), st.just("t"))
gold_spans = st.lists(st.tuples(spans, labels), max_size=6)


def document_of(pairs):
    marked = [
        GoldSpan(span, label.value, label, at) for at, (span, label) in enumerate(pairs)
    ]
    marked.sort(key=lambda each: each.span)
    return GoldDocument("d", TEXT, tuple(marked))


@given(gold_spans, st.lists(annotations, max_size=6), annotations)
def test_one_annotation_more_never_lowers_recall_nor_raises_false_words_left_out(
    pairs, said, extra
):
    corpus = corpus_of(document_of(pairs), conventions=PLAIN)
    few, more = (
        cover(comparisons_of(corpus, [Prediction(tuple(each))])[0])
        for each in (said, [*said, extra])
    )

    assert {*few.values} >= {pair for pair in more.values if not pair[1]}
    assert sum(ok for _, ok in few.values) <= sum(ok for _, ok in more.values)
    assert {*few.false_words} <= {*more.false_words}
    assert {*more.missed} <= {*few.missed}


@given(gold_spans)
def test_a_perfect_prediction_finds_all_and_loses_nothing(pairs):
    document = document_of(pairs)
    corpus = corpus_of(document, conventions=PLAIN)

    [compared] = comparisons_of(corpus, [perfect(document, PLAIN)])
    result = cover(compared)

    assert all(ok for _, ok in result.values)
    assert result.false_words == ()
    assert result.missed == ()


def test_a_label_that_the_corpus_never_marks_is_not_charged():
    unmarked = replace(PLAIN, unmarked=frozenset({Label.PROFESSION}))
    said = ("baker", Label.PROFESSION)

    assert falsely("a retired baker", said, conventions=unmarked) == []
    assert falsely("a retired baker", said) == ["baker"]
