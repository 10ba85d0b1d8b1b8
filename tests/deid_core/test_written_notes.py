"""The project's own invented notes: sound, apart from one another, and kept found."""

from functools import cache
from pathlib import Path

import pytest

from deid_core import Label
from deid_core.research.corpora.readers import read_corpus
from deid_core.research.scoring.coverage import cover, coverage_measures
from deid_core.research.scoring.evaluation import Outcome
from deid_core.research.scoring.predict import predict

FOLDER = Path(__file__).parents[1] / "written_notes"
LEAST_WORDS = {"train": 400_000, "dev": 60_000, "held_out": 40_000}
PARTS = tuple(LEAST_WORDS)
SHARED_WORDS = 12


@cache
def corpus_of(part):
    return read_corpus(FOLDER / part)


def documents_of(part):
    return corpus_of(part).documents


def holds_nothing(document, conventions):
    return not any(
        each.label is not None and each.tag not in conventions.neutral
        for each in document.spans
    )


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
def test_each_part_is_large_and_some_of_its_texts_hold_nothing(part):
    corpus = corpus_of(part)
    words = [len(each.text.split()) for each in corpus.documents]
    quiet = sum(
        count
        for count, each in zip(words, corpus.documents, strict=True)
        if holds_nothing(each, corpus.conventions)
    )

    assert sum(words) >= LEAST_WORDS[part]
    assert 0.1 < quiet / sum(words) < 0.6


def test_no_note_is_twice_there():
    ids = [each.id for part in PARTS for each in documents_of(part)]

    assert len({*ids}) == len(ids)


@pytest.mark.parametrize("part", PARTS)
def test_every_tag_occurs(part):
    tags = {each.tag for one in documents_of(part) for each in one.spans}

    assert tags == set(corpus_of(part).conventions.tags)


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
    corpus = corpus_of("dev")
    said = list(predict(hybrid, corpus.documents))

    of = [cover(side) for side in Outcome.of(corpus, said).compared]
    measures = {each.name: each.value for each in coverage_measures(of)}
    assert measures["recall"] >= 0.92
    assert measures["false per 1,000"] <= 7
    assert all(not each.refusal for each in said)


def test_names_are_much_of_what_is_marked_but_not_all():
    labels = [gold.label for each in documents_of("train") for gold in each.spans]
    names = sum(label in (Label.PATIENT, Label.DOCTOR) for label in labels)

    assert 0.2 < names / len(labels) < 0.8
