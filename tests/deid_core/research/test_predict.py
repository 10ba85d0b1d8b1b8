"""Folds share nothing, and every document is scored once."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deid_core import Deidentifier
from deid_core.research.corpora.conventions import conventions_for
from deid_core.research.corpora.corpus import Corpus, GoldDocument
from deid_core.research.scoring.predict import cross_validated, folds

NOTES = tuple(
    GoldDocument(str(at), f"Seen by Dr. Name{'abcdefghijk'[at]}.", ())
    for at in range(11)
)


@given(st.integers(2, 11), st.integers(0, 99))
def test_each_document_is_scored_once_and_never_learned_where_it_is_scored(k, seed):
    parts = folds(NOTES, k, seed)

    assert k == len(parts)
    assert sorted(NOTES, key=id) == sorted(
        (each for part in parts for each in part.score), key=id
    )
    for part in parts:
        assert not {*part.learn} & {*part.score}
        assert {*NOTES} == {*part.learn, *part.score}
        assert 11 // k <= len(part.score) <= 11 // k + 1


def test_the_same_seed_gives_the_same_folds_and_another_seed_others():
    assert folds(NOTES, 5, 1) == folds(NOTES, 5, 1)
    assert folds(NOTES, 5, 1) != folds(NOTES, 5, 2)


@pytest.mark.parametrize("k", [0, 1, 12])
def test_too_few_and_too_many_folds_are_refused(k):
    with pytest.raises(ValueError, match="folds of 11 documents"):
        folds(NOTES, k, 1)


def corpus(documents=NOTES):
    return Corpus(
        "invented", "all", False, conventions_for(Path("."), "mtsamples"), documents
    )


def test_predictions_come_in_the_corpus_order_from_systems_that_did_not_learn_them():
    system = Deidentifier.from_names("lexical")
    learned = []

    def system_of(documents):
        learned.append({each.id for each in documents})
        return system

    said = cross_validated(corpus(), 5, 1, system_of)

    assert len(learned) == 5
    assert len(said) == 11
    for note, each in zip(NOTES, said, strict=True):
        [found] = each.annotations
        assert note.text[found.span.start : found.span.end].startswith("Name")


def test_documents_with_the_same_id_are_refused():
    same = tuple(replace(each, id="1") for each in NOTES)

    with pytest.raises(ValueError, match="the same id"):
        cross_validated(
            corpus(same), 5, 1, lambda _: Deidentifier.from_names("lexical")
        )
