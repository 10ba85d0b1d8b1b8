"""The four columns of Yuwono, Ng and Ngiam 2016, Table 1: scoring word by word.

A word is a run of letters and digits in the column of its identifier.  Recall counts a
word as found whatever its label, precision by the column of its predicted label.  Words
of other identifiers (kin, ages, e-mail) do not count, nor do titles, nor initials and
states next to an identifier.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

import numpy as np

from deid_core.document import Annotation
from deid_core.labels import Label
from deid_core.research.corpora.corpus import GoldDocument, GoldSpan
from deid_core.research.scoring.gold_and_predicted import is_title
from deid_core.research.scoring.measures import Counts, Measure

from .figures import Figures, Scored

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
"""Their notes to the table: ids include contact numbers; other names are doctors,
hospitals and locations."""
_WORD = re.compile(r"[^\W_]+")


@dataclass(frozen=True, slots=True, eq=False)
class Columns:
    """Counts of words by document and column, shape ``[documents, 4]``.

    Args:
        gold: Words of the column.
        covered: Of those, found with any label.
        predicted: Words with a predicted label of the column.
        right: Of those, words of the column.
    """

    gold: Counts
    covered: Counts
    predicted: Counts
    right: Counts

    def figures(self, *columns: str) -> Figures:
        """Return the figures of some columns together, by default of all.

        This F1 requires the right column in gold and prediction, so that it can be
        resampled.
        """
        chosen = [COLUMNS.index(each) for each in columns or COLUMNS]
        gold, covered, predicted, right = (
            each[:, chosen].sum(axis=1, keepdims=True)
            for each in (self.gold, self.covered, self.predicted, self.right)
        )
        recall = Measure("recall", covered, gold, scale=100.0)
        return replace(Figures.of(right, predicted, gold), recall=recall)

    def values(self, *columns: str) -> tuple[float, float, float]:
        """Return precision, recall and their F; 0 where one is undefined."""
        p, r, _ = self.figures(*columns).values
        return p, r, 2 * p * r / (p + r) if p + r else 0.0


def columns_of(scored: Scored) -> Columns:
    """Return the counts of a corpus and a system's output."""
    pairs = zip(scored.corpus.documents, scored.output.predictions, strict=True)
    rows = [_counts(gold, found.annotations) for gold, found in pairs]
    table = np.array(rows, dtype=np.int64).reshape(len(rows), 4, len(COLUMNS))
    return Columns(*(table[:, at] for at in range(4)))


def column_of(span: GoldSpan) -> str | None:
    """Return the column of a gold span; kin are in no field of the record."""
    if span.label is None or KIN in span.kinds:
        return None
    return COLUMN_OF.get(span.label)


def _counts(document: GoldDocument, predicted: Sequence[Annotation]) -> Counts:
    """Return counts of gold, covered, predicted and right words, ``[4, columns]``."""
    gold = {
        at: column_of(each)
        for each in document.spans
        for at in range(each.span.start, each.span.end)
    }
    got = {
        at: COLUMN_OF.get(each.label)
        for each in predicted
        for at in range(each.span.start, each.span.end)
    }
    table = np.zeros((4, len(COLUMNS)), dtype=np.int64)
    for word in _WORD.finditer(document.text):
        if _is_ignored(word, gold):
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


def _is_ignored(word: re.Match[str], gold: Mapping[int, str | None]) -> bool:
    start, end = word.span()
    if start in gold:
        return gold[start] is None or is_title(word[0])
    if is_title(word[0]):
        return True
    if len(word[0]) == 1:
        return start - 1 in gold or start - 2 in gold
    return len(word[0]) == 2 and start - 3 in gold and end + 1 in gold
