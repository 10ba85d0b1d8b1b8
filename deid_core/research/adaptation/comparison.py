"""Compare an adapted model with the one in use, and refuse it where it is worse.

Nobody has marked the site's notes.  The records of held-out patients tell which of
their values a system misses that sees the note alone; and ordinary words of English
that it replaces outside of these values are taken for false.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Self

from deid_core.detectors.patient_record import PatientRecordDetector
from deid_core.document import NOTHING_KNOWN, Document
from deid_core.language.lexicons import is_frequent, normal
from deid_core.pipeline import Deidentifier
from deid_core.research.corpora.conventions import PLAIN, conventions_for
from deid_core.research.corpora.corpus import Corpus, GoldDocument, GoldSpan
from deid_core.research.scoring.coverage import cover
from deid_core.research.scoring.gold_and_predicted import comparisons_of
from deid_core.research.scoring.predict import predict

_MARKS = ".,;:()[]"
_LEAST_LETTERS = 4
SITE = "site, held out"


@dataclass(frozen=True, slots=True)
class Criterion:
    """Limits on how much worse than the model in use an adapted one may be.

    One word more, and of a development set one value less, is always allowed.

    Args:
        site_recall: The share of the record's values in held-out notes of the site.
        site_false: Ordinary words replaced in these notes, in 1,000.
        dev_recall: The share of each development set's values.
        dev_false: The share by which falsely redacted words of each development set
            may rise; by `least_false` in 1,000 they may in any case.
    """

    site_recall: float = 0.0
    site_false: float = 1.0
    dev_recall: float = 0.005
    dev_false: float = 0.1
    least_false: float = 0.1

    def false_words(self, before: Figures) -> float:
        """Return how many more words of a set may be false."""
        if before.name == SITE:
            return max(1, self.site_false * before.words / 1000)
        least = self.least_false * before.words / 1000
        return max(1, least, self.dev_false * before.false)


@dataclass(frozen=True, slots=True)
class Figures:
    """Counts of what a system does with the notes of one set.

    Args:
        name: Of the set.
        found: Values found.
        required: Values that must be found.
        redacted: Words replaced, whole or in part.
        false: Of these, words that are counted as false.
        words: All words.
        refused: Notes refused.
    """

    name: str
    found: int
    required: int
    redacted: int
    false: int
    words: int
    refused: int

    @property
    def recall(self) -> float:
        """The share of values found."""
        return self.found / max(1, self.required)

    @property
    def false_rate(self) -> float:
        """False words in 1,000."""
        return 1000 * self.false / max(1, self.words)

    @property
    def redacted_rate(self) -> float:
        """Words replaced in 1,000."""
        return 1000 * self.redacted / max(1, self.words)

    @classmethod
    def of(cls, system: Deidentifier, gold: Corpus, *, site: bool = False) -> Self:
        """Return the figures of a system, which reads the notes without records."""
        documents = tuple(replace(d, known=NOTHING_KNOWN) for d in gold.documents)
        gold = replace(gold, documents=documents)
        predicted = list(predict(system, documents))
        covers = [cover(each) for each in comparisons_of(gold, predicted)]
        false = [
            document.text[word.start : word.end]
            for document, each in zip(documents, covers, strict=True)
            for word in each.false_words
        ]
        return cls(
            SITE if site else gold.name,
            sum(found for each in covers for _, found in each.values),
            sum(len(each.values) for each in covers),
            sum(each.right_words for each in covers) + len(false),
            sum(map(_is_clearly_false, false)) if site else len(false),
            sum(each.words for each in covers),
            sum(bool(each.refusal) for each in predicted),
        )


@dataclass(frozen=True, slots=True)
class Compared:
    """One set, read with the model in use and with the adapted one."""

    before: Figures
    after: Figures

    def worse(self, criterion: Criterion) -> list[str]:
        """Return in words what is worse than the criterion allows."""
        before, after, name = self.before, self.after, self.before.name
        is_site = name == SITE
        recall = criterion.site_recall if is_site else criterion.dev_recall
        # One value, or one word, says nothing about a small set.
        values = max(not is_site, recall * before.required)
        words = criterion.false_words(before)
        found: list[str] = []
        if (lost := before.found - after.found) > values:
            found.append(
                f"{name}: {lost} values less are found; allowed are {values:.0f}"
            )
        if (more := after.false - before.false) > words:
            found.append(
                f"{name}: {more} more words are false; allowed are {words:.0f}"
            )
        if after.refused > before.refused:
            found.append(f"{name}: more notes are refused")
        return found


def _is_clearly_false(word: str) -> bool:
    """Return whether a replaced word is an ordinary one in small letters."""
    word = word.strip(_MARKS)
    return len(word) >= _LEAST_LETTERS and word.islower() and is_frequent(normal(word))


def by_record(notes: Sequence[Document]) -> Corpus:
    """Return notes in which the values of their records are marked."""
    detector = PatientRecordDetector()
    marked = []
    for number, (note, found) in enumerate(zip(notes, detector(notes), strict=True)):
        spans = tuple(
            GoldSpan(each.span, each.label.value, each.label, at)
            for at, each in enumerate(sorted(found, key=lambda each: each.span))
        )
        marked.append(GoldDocument(str(number), note.text, spans))
    plain = conventions_for(Path("site"), PLAIN)
    return Corpus("site", "held out", False, plain, tuple(marked))
