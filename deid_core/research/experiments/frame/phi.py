"""PHI or not, word by word: how Tafvizi and Pacula score (section 5.2, Table 2)."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from deid_core.document import Token
from deid_core.research.corpora.corpus import Corpus
from deid_core.research.published.tokenizers import words
from deid_core.research.scoring.agreement import Category, in_tokens, marks_of, prf
from deid_core.research.scoring.gold_and_predicted import Sides
from deid_core.research.scoring.measures import Counts

from .scores import Figures, classes_of, sides_of
from .systems import Said

RECIPE = "stat-deid-linear"


@dataclass(frozen=True, slots=True, eq=False)
class Phi:
    """Counts of words, of each document, shape ``[documents, 1]``.

    Args:
        right: PHI, and taken for it.
        said: Taken for PHI.
        gold: PHI.
        words: All: what white space parts, with the marks at its ends apart.
    """

    right: Counts
    said: Counts
    gold: Counts
    words: Counts

    @property
    def phi(self) -> Figures:
        """Precision, recall and F of PHI."""
        return _figures(self.right, self.said, self.gold)

    @property
    def rest(self) -> Figures:
        """Precision, recall and F of what is none, "defined analogously"."""
        both = self.words - self.said - self.gold + self.right
        return _figures(both, self.words - self.said, self.words - self.gold)

    @property
    def table(self) -> tuple[int, int, int, int]:
        """Words: PHI found, PHI missed, falsely taken for PHI, rightly left."""
        right, said, gold, words = (
            int(each.sum()) for each in (self.right, self.said, self.gold, self.words)
        )
        return right, gold - right, said - right, words - said - gold + right


def phi_of(corpus: Corpus, said: Said) -> Phi:
    """Return what of a corpus's words was taken for PHI, and what is."""
    category = classes_of(RECIPE)
    rows = [_counts(each, corpus, category) for each in sides_of(corpus, said)]
    table = np.array(rows, dtype=np.int64).reshape(len(rows), 4)
    return Phi(*(table[:, at : at + 1] for at in range(4)))


def _counts(
    sides: Sides, corpus: Corpus, category: Category
) -> tuple[int, int, int, int]:
    text = sides.document.text
    tokens = [
        Token(each.start, each.stop, text[each.start : each.stop])
        for each in words(text, 0, len(text))
    ]
    gold, said = (
        {mark[:2] for mark in in_tokens(marks, tokens)}
        for marks in marks_of(sides, corpus.conventions, category)
    )
    return len(gold & said), len(said), len(gold), len(tokens)


def _figures(right: Counts, said: Counts, gold: Counts) -> Figures:
    return Figures(*(replace(each, scale=100.0) for each in prf(right, said, gold)))
