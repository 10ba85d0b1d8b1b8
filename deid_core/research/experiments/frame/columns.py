"""Yuwono, Ng and Ngiam's four columns: how they score, word by word (their Table 1).

A word is a run of letters and digits, and is of the column of the identifier in which
it stands.  Recall counts a word as found by whatever label; precision, by the column of
the label that it got.  Words of what the columns do not name (kin, ages, e-mail) count
nowhere, nor do titles, and initials and states beside an identifier.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from deid_core.document import Annotation
from deid_core.labels import Label
from deid_core.research.corpora.corpus import Corpus, GoldDocument, GoldSpan
from deid_core.research.corpora.neutral import is_title
from deid_core.research.scoring.measures import Counts, Measure

from .systems import Said

PATIENT, IDS, DATES, OTHERS = "patient name", "ID num", "date", "other names"
COLUMNS = (PATIENT, IDS, DATES, OTHERS)
KIN = "kin"
COLUMN_OF: Mapping[Label, str] = MappingProxyType(
    {
        Label.PATIENT: PATIENT,
        **{label: IDS for label in Label if label.main == "ID"},
        Label.PHONE: IDS,
        Label.FAX: IDS,
        Label.DATE: DATES,
        Label.DOCTOR: OTHERS,
        **{label: OTHERS for label in Label if label.main == "LOCATION"},
    }
)
"""Their two notes: ids with contact numbers; doctors, hospitals and locations."""
_WORD = re.compile(r"[^\W_]+")


@dataclass(frozen=True, slots=True, eq=False)
class Columns:
    """Counts of words, of each document and column, shape ``[documents, 4]``.

    Args:
        gold: That are of the column.
        covered: Of those, found by whatever label.
        said: That got a label of the column.
        right: Of those, such as are of it.
    """

    gold: Counts
    covered: Counts
    said: Counts
    right: Counts

    def measures(self, *columns: str) -> tuple[Measure, Measure, Measure]:
        """Return precision, recall and F in percent, of columns together.

        This F asks for the right column of both sides, so that it can be resampled.
        """
        chosen = [COLUMNS.index(each) for each in columns or COLUMNS]
        gold, covered, said, right = (
            each[:, chosen].sum(axis=1, keepdims=True)
            for each in (self.gold, self.covered, self.said, self.right)
        )
        return (
            Measure("precision", right, said, scale=100.0),
            Measure("recall", covered, gold, scale=100.0),
            Measure("F1", 2 * right, said + gold, scale=100.0),
        )

    def values(self, *columns: str) -> tuple[float, float, float]:
        """Return the three, F of the other two; 0 without anything to divide by."""
        p, r = (each.value or 0.0 for each in self.measures(*columns)[:2])
        return p, r, 2 * p * r / (p + r) if p + r else 0.0


def columns_of(corpus: Corpus, said: Said) -> Columns:
    """Return what of each column was found, and what was taken for it."""
    pairs = zip(corpus.documents, said.predictions, strict=True)
    rows = [_counts(gold, found.annotations) for gold, found in pairs]
    table = np.array(rows, dtype=np.int64).reshape(len(rows), 4, len(COLUMNS))
    return Columns(*(table[:, at] for at in range(4)))


def column_of(span: GoldSpan) -> str | None:
    """Return the column of what is marked; kin are in no field of the patient's."""
    if span.label is None or KIN in span.kinds:
        return None
    return COLUMN_OF.get(span.label)


def _counts(document: GoldDocument, said: Sequence[Annotation]) -> Counts:
    """Return counts of gold, covered, said and right words, shape ``[4, columns]``."""
    gold = {
        at: column_of(each)
        for each in document.spans
        for at in range(each.span.start, each.span.end)
    }
    got = {
        at: COLUMN_OF.get(each.label)
        for each in said
        for at in range(each.span.start, each.span.end)
    }
    table = np.zeros((4, len(COLUMNS)), dtype=np.int64)
    for word in _WORD.finditer(document.text):
        if _counts_nowhere(word, gold):
            continue
        places = range(*word.span())
        column = gold.get(word.start())
        taken = next((got[at] for at in places if at in got), None)
        if column is not None:
            is_covered = all(at in got for at in places)
            table[:2, COLUMNS.index(column)] += (1, is_covered)
        if taken is not None:
            table[2:, COLUMNS.index(taken)] += (1, taken == column)
    return table


def _counts_nowhere(word: re.Match[str], gold: Mapping[int, str | None]) -> bool:
    start, end = word.span()
    if start in gold:
        return gold[start] is None or is_title(word[0])
    if is_title(word[0]):
        return True
    if len(word[0]) == 1:
        return start - 1 in gold or start - 2 in gold
    return len(word[0]) == 2 and start - 3 in gold and end + 1 in gold
