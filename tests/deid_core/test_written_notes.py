"""The project's own invented notes: sound, apart from one another, and kept found."""

from pathlib import Path

import pytest

from deid_core import Label
from deid_core.research.corpora.readers import read_corpus
from deid_core.research.scoring.coverage import cover, coverage_measures
from deid_core.research.scoring.evaluation import Outcome
from deid_core.research.scoring.predict import predict

FOLDER = Path(__file__).parents[1] / "written_notes"
PARTS = ("train", "dev", "held_out")
SHARED_WORDS = 12


def documents_of(part):
    return read_corpus(FOLDER / f"{part}.jsonl").documents


def shingles(text):
    words = text.casefold().split()
    return {
        tuple(words[at : at + SHARED_WORDS])
        for at in range(len(words) - SHARED_WORDS + 1)
    }


@pytest.mark.parametrize("part", PARTS)
def test_marks_are_disjoint_and_hold_no_blank_ends(part):
    for document in documents_of(part):
        end = 0
        for gold in document.spans:
            value = document.text[gold.span.start : gold.span.end]
            assert gold.span.start >= end, document.id
            assert value.strip() == value != "", document.id
            end = gold.span.end


@pytest.mark.parametrize("part", PARTS)
def test_half_of_the_words_are_of_texts_that_hold_nothing(part):
    quiet = all_words = 0
    for document in documents_of(part):
        count = len(document.text.split())
        all_words += count
        quiet += count * (not document.spans)

    assert 0.3 < quiet / all_words < 0.8


@pytest.mark.parametrize(("one", "other"), [PARTS[:2], PARTS[1:], PARTS[::2]])
def test_no_two_parts_share_a_sentence(one, other):
    ours = {shingle for each in documents_of(one) for shingle in shingles(each.text)}
    theirs = {
        shingle for each in documents_of(other) for shingle in shingles(each.text)
    }

    assert ours.isdisjoint(theirs)


def test_what_is_found_in_the_notes_that_may_be_read_stays_found(hybrid):
    """
    Dense notes, far harder than dictated ones: a floor below what was reached.
    """
    corpus = read_corpus(FOLDER / "dev.jsonl")
    said = list(predict(hybrid, corpus.documents))

    of = [cover(side) for side in Outcome.of(corpus, said).compared]
    measures = {each.name: each.value for each in coverage_measures(of)}
    assert measures["recall"] >= 0.84
    assert measures["false per 1,000"] <= 6.5
    assert all(not each.refusal for each in said)


def test_names_are_the_most_of_what_is_marked():
    labels = [gold.label for each in documents_of("train") for gold in each.spans]
    names = sum(label in (Label.PATIENT, Label.DOCTOR) for label in labels)

    assert names > len(labels) / 2
