"""The ratio below which a word is the patient's name, from 0 to 0.5."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from deid_core.detectors import Detector
from deid_core.detectors.patient_record import KnownDetector, KnownOptions
from deid_core.document import Annotation, Document, KnownIdentifiers
from deid_core.labels import Label

from ..corpora.corpus import Corpus, GoldDocument
from ..published.nus.detector import NusDetector
from ..published.nus.options import NusOptions
from ..scoring.tables import Table
from .frame.columns import PATIENT, columns_of
from .frame.report import Finding, Plot
from .frame.runner import Bench
from .frame.systems import proposed
from .frame.verdicts import Verdict

PAPER = "Yuwono, Ng and Ngiam 2016"
NUS = "nus"
THRESHOLDS = (0.0, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.33, 0.34, 0.4, 0.45, 0.5)
_THEIRS = 0.33
"""Section 3.1."""
_SWEPT = ("edit distance alone", "nus", "known")
_WORD = re.compile(r"[^\W_]+")


def others(bench: Bench) -> dict[str, tuple[GoldDocument, ...]]:
    """Return notes that may be read, of people of whom nothing is known."""
    most = bench.size(200, 5)
    names = ("aci-bench", "mtsamples")
    return {name: bench.english[name].documents[:most] for name in names}


def sweep(bench: Bench, notes: Corpus) -> Table:
    """Return patients' names' figures by threshold, and the false words of others."""
    strangers = _strangers(bench, notes)
    rows = []
    for threshold in THRESHOLDS:
        bench.tell(f"nus: threshold {threshold:.2f}")
        cells = [f"{threshold:.2f}"]
        for detectors in _at(threshold):
            here = columns_of(notes, proposed(detectors, notes.documents))
            cells += [f"{value:.2f}" for value in here.values(PATIENT)]
            cells.append(f"{_false(detectors, strangers):.2f}")
        rows.append(tuple(cells))
    heads = ("P", "R", "F", "false in 1,000")
    columns = tuple(f"{name} {head}" for name in _SWEPT for head in heads)
    title = "Patients' names by threshold"
    return Table(title, ("R below", *columns), tuple(rows))


def _at(threshold: float) -> Iterator[Sequence[Detector]]:
    nus = NusDetector(NusOptions(threshold=threshold))
    yield [_Only(nus, "edit_distance")]
    yield [nus]
    yield [KnownDetector(KnownOptions(threshold=threshold))]


def _strangers(bench: Bench, notes: Corpus) -> list[GoldDocument]:
    """Return notes of others, each with the names of a patient who is not in it."""
    names = [each.known.patient_names for each in notes.documents]
    notes_of_others = [each for found in others(bench).values() for each in found]
    return [
        replace(each, known=KnownIdentifiers(patient_names=names[at % len(names)]))
        for at, each in enumerate(notes_of_others)
    ]


def _false(detectors: Sequence[Detector], documents: Sequence[GoldDocument]) -> float:
    """Return the words taken for a patient's name who is in none of the documents."""
    said = proposed(detectors, documents).predictions
    words = sum(len(_WORD.findall(each.text)) for each in documents)
    labels = (a.label for each in said for a in each.annotations)
    return 1000 * sum(label is Label.PATIENT for label in labels) / max(1, words)


class _Only:
    """The proposals of one rule of a detector."""

    def __init__(self, detector: Detector, rule: str) -> None:
        self._detector, self._rule = detector, rule
        self.name = f"{detector.name}/{rule}"

    def __call__(self, documents: Sequence[Document]) -> list[list[Annotation]]:
        return [
            [each for each in proposals if each.rule == self._rule]
            for proposals in self._detector(documents)
        ]


def plots(swept: Table) -> Iterator[Plot]:
    """Yield precision, recall and the false words of others, by threshold."""
    for column, figure in enumerate(("Precision", "Recall"), start=1):
        lines = {n: _line(swept, column + 4 * at) for at, n in enumerate(_SWEPT)}
        title = f"{figure} on names of patients by threshold"
        yield Plot(title, "R below", "words, %", lines=lines)
    lines = {n: _line(swept, 4 + 4 * at) for at, n in enumerate(_SWEPT)}
    title = "Words of other notes taken for a name of the patient"
    yield Plot(title, "R below", "in 1,000 words", lines=lines)


def _line(swept: Table, column: int) -> list[tuple[float, float]]:
    return [(float(row[0]), float(row[column])) for row in swept.rows]


def of_thresholds(swept: Table) -> Iterator[Finding]:
    """Yield whether their threshold is a good one."""
    recall, false = (dict(_line(swept, column)) for column in (2, 4))
    f1 = dict(_line(swept, 3))
    best = max(f1, key=lambda each: f1[each])
    words = f"F {f1[_THEIRS]:.2f} at {_THEIRS}; best {f1[best]:.2f} at {best:g}"
    chosen = Verdict(f1[best] - f1[_THEIRS] < 1, words)
    claim = f"no threshold beats {_THEIRS} by a point of F on patients' names"
    yield finding(claim, "3.1, their choice", chosen)
    tight, loose = THRESHOLDS[1], THRESHOLDS[-1]
    words = (
        f"R {recall[tight]:.2f}, {recall[_THEIRS]:.2f}, {recall[loose]:.2f} and false "
        f"words in 1,000 {false[tight]:.2f}, {false[_THEIRS]:.2f}, {false[loose]:.2f} "
        f"at {tight}, {_THEIRS}, {loose}"
    )
    rises = recall[tight] < recall[_THEIRS] and false[_THEIRS] < false[loose]
    claim = "misspelt names are found by a looser threshold, at the cost of other words"
    yield finding(claim, "3.1", Verdict(rises, words))


def finding(claim: str, place: str, verdict: Verdict) -> Finding:
    """Return what the paper found at a place, and how it stands."""
    return Finding(claim, f"{PAPER}, {place}", verdict.holds, verdict.figures)
