"""What is wrong with marks, what is taken for what, and agreement beyond chance."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deid_core import Annotation, Span
from deid_core.research.corpora.corpus import GoldDocument, GoldSpan, Prediction
from deid_core.research.scoring.agreement import CATEGORIES
from deid_core.research.scoring.confusion import (
    NOTHING,
    Confusion,
    cohens_kappa,
    confusion_of_spans,
    confusion_of_tokens,
)
from deid_core.research.scoring.errors import ErrorClass, error_classes
from deid_core.research.scoring.evaluation import Outcome, evaluate
from deid_core.research.scoring.tables import as_json, tables_of
from tests.deid_core.research.scoring_cases import (
    ALL_SOUGHT,
    DATE,
    DOCTOR,
    PATIENT,
    PLAIN,
    corpus_of,
    gold,
    outcome,
    perfect,
    say,
)

NAME = "«Ann Lee Moss|PATIENT» came."


def classes(marked, *said):
    found = error_classes(outcome(marked, *said, conventions=PLAIN).compared, PLAIN)
    return dict(found.counts)


@pytest.mark.parametrize(
    ("said", "kind"),
    [
        ((("Ann Lee Moss", DOCTOR),), ErrorClass.TYPE),
        ((("Ann Lee", PATIENT),), ErrorClass.SHORT),
        ((("Ann", PATIENT), ("Moss", PATIENT)), ErrorClass.SHORT),
        ((("Ann Lee Moss came", PATIENT),), ErrorClass.LONG),
        ((("Moss came", PATIENT),), ErrorClass.SHORT_AND_LONG),
        ((("Moss came", DOCTOR),), ErrorClass.TYPE_AND_EXTENT),
        ((("Ann", DOCTOR), ("Moss", PATIENT)), ErrorClass.SHORT),
        ((), ErrorClass.MISSING),
    ],
)
def test_a_mark_that_is_not_found_as_it_stands_is_one_error(said, kind):
    assert classes(NAME, *said) == {(kind, "NAME:PATIENT"): 1}


def test_what_is_found_as_it_stands_is_no_error():
    assert classes(NAME, ("Ann Lee Moss", PATIENT)) == {}


def test_what_shares_no_character_with_a_mark_is_spurious_under_its_own_type():
    found = classes(NAME, ("Ann Lee Moss", PATIENT), ("came", DATE))

    assert found == {(ErrorClass.SPURIOUS, "DATE"): 1}


def test_one_proposal_over_two_marks_is_two_errors_of_extent_and_none_spurious():
    found = classes("«Ann|PATIENT» «Moss|PATIENT»", ("Ann Moss", PATIENT))

    assert found == {(ErrorClass.LONG, "NAME:PATIENT"): 2}


def test_shares_are_of_all_errors_and_none_where_there_are_none():
    compared = outcome(
        "«Ann|PATIENT» «Bo|DOCTOR» x", ("x", DATE), conventions=PLAIN
    ).compared
    found = error_classes(compared, PLAIN)

    assert found.total == 3
    assert pytest.approx(2 / 3) == found.share(ErrorClass.MISSING)
    assert found.of(ErrorClass.MISSING, "NAME:DOCTOR") == 1
    assert error_classes([], PLAIN).share(ErrorClass.MISSING) is None


def test_spans_of_one_extent_are_counted_by_what_they_are_taken_for():
    marked = "«Ann Lee|PATIENT» saw «Moss|DOCTOR» and «Bo|DOCTOR» on «May 3|DATE»."
    said = (("Ann Lee", DOCTOR), ("Moss", PATIENT), ("Bo", DOCTOR), ("saw", DATE))
    found = confusion_of_spans(
        outcome(marked, *said, conventions=ALL_SOUGHT).compared, ALL_SOUGHT
    )

    assert found.pairs() == [(("NAME:PATIENT", "NAME:DOCTOR"), 2)]
    assert cell(found, "NAME:DOCTOR", "NAME:DOCTOR") == 1
    assert cell(found, "DATE", NOTHING) == 1
    assert cell(found, NOTHING, "DATE") == 1


def cell(confusion, row, column):
    at = confusion.categories.index
    return confusion.counts[at(row), at(column)]


def test_tokens_that_nobody_marks_are_counted_too():
    marked = "«Ann Lee|PATIENT» came in."
    found = confusion_of_tokens(
        outcome(marked, ("Lee came", PATIENT), conventions=PLAIN).compared,
        PLAIN,
        CATEGORIES["blind"],
    )

    assert found.categories == ("PHI", NOTHING)
    assert found.counts.tolist() == [[1, 1], [1, 2]]


def test_kappa_is_what_cohen_counts_by_hand():
    found = Confusion(("yes", NOTHING), np.array([[20, 5], [10, 15]]))

    assert pytest.approx(0.4) == cohens_kappa(found)


@given(st.lists(st.integers(0, 50), min_size=4, max_size=4))
def test_kappa_is_the_same_whoever_is_called_gold(counts):
    table = np.array(counts).reshape(2, 2)
    one, other = (Confusion(("a", NOTHING), each) for each in (table, table.T))

    assert cohens_kappa(one) == cohens_kappa(other)


@pytest.mark.parametrize("table", [[[0, 0], [0, 0]], [[7, 0], [0, 0]]])
def test_kappa_is_nothing_where_chance_explains_all(table):
    assert cohens_kappa(Confusion(("a", NOTHING), np.array(table))) is None


spans = st.lists(
    st.tuples(st.integers(0, 15), st.integers(1, 6), st.sampled_from([PATIENT, DATE])),
    max_size=4,
)


def disjoint(drawn):
    found, end = [], 0
    for start, size, label in sorted(drawn):
        if start >= end:
            end = start + size
            found.append((Span(start, end), label))
    return found


@given(spans, spans)
def test_each_wrong_mark_is_in_one_class_and_each_right_one_on_the_diagonal(one, other):
    marks, said = disjoint(one), disjoint(other)
    document = GoldDocument(
        "d",
        "abcdefghijklmnopqrstuvwxyz",
        tuple(
            GoldSpan(s, label.value, label, at) for at, (s, label) in enumerate(marks)
        ),
    )
    prediction = Prediction(tuple(Annotation(s, label, 1.0, "t") for s, label in said))
    corpus = corpus_of(document, conventions=ALL_SOUGHT)
    compared = Outcome.of(corpus, [prediction]).compared

    errors = error_classes(compared, ALL_SOUGHT)
    confusion = confusion_of_spans(compared, ALL_SOUGHT)

    right = len({*marks} & {*said})
    spurious = errors.of(ErrorClass.SPURIOUS)
    assert right == confusion.counts.trace()
    assert len(marks) - right == errors.total - spurious
    assert spurious <= len(said) - right


def test_an_evaluation_has_tables_of_errors_and_of_what_is_taken_for_what():
    document = gold("«Ann|PATIENT» saw «Moss|DOCTOR»", PLAIN)
    said = say(document.text, ("Ann", DOCTOR), ("saw", DATE))
    result = evaluate(corpus_of(document, conventions=PLAIN), [said], system="s")

    tables = {t.title.partition(":")[0]: t for t in tables_of(result)}

    assert tables["errors"].rows[0] == ("all", "1", "0", "0", "0", "0", "1", "1")
    assert tables["taken for each other"].rows == (
        ("1: NAME:PATIENT", "-", "1", "-"),
        ("2: NAME:DOCTOR", "-", "-", "1"),
        ("spurious", "-", "-", "-"),
    )


def test_an_evaluation_tells_errors_and_confusion_as_json_without_any_text():
    document = gold("«Ann|PATIENT» saw «Moss|DOCTOR»", PLAIN)
    said = say(document.text, ("Ann", DOCTOR))
    result = evaluate(corpus_of(document, conventions=PLAIN), [said], system="s")

    values = as_json(result)

    assert values["errors"] == [
        {"class": "missing", "of": "NAME:DOCTOR", "count": 1},
        {"class": "type", "of": "NAME:PATIENT", "count": 1},
    ]
    assert {"gold": "NAME:DOCTOR", "said": None, "count": 1} in values["confusion"]


def test_without_an_error_there_is_no_table_of_errors():
    document = gold("«Ann|PATIENT»", PLAIN)
    corpus = corpus_of(document, conventions=PLAIN)
    result = evaluate(corpus, [perfect(document, PLAIN)], system="s")

    titles = [table.title for table in tables_of(result)]

    assert not any(each.startswith(("errors", "taken")) for each in titles)
