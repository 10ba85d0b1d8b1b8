"""The system of the National University Hospital: Yuwono, Ng and Ngiam 2016.

Names of the patient by edit distance, at thresholds from 0 to 0.5, and by classifier.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from deid_core.config import load_preset
from deid_core.detectors import Detector
from deid_core.detectors.patient_record import (
    PatientRecordDetector,
    PatientRecordOptions,
)
from deid_core.document import Annotation, Document, KnownIdentifiers
from deid_core.errors import ConfigError
from deid_core.labels import Label
from deid_core.research.corpora.corpus import Corpus, GoldDocument
from deid_core.research.published.nus.detector import NusDetector
from deid_core.research.published.options import NusOptions
from deid_core.research.scoring.gold_and_predicted import is_title
from deid_core.research.scoring.tables import Table

from .harness.columns import COLUMNS, KIN, OTHERS, PATIENT, Columns, columns_of
from .harness.figures import Scored, Verdict, is_greater
from .harness.report import Finding, Plot, Report
from .harness.runner import Runner
from .harness.systems import SystemOutput, detector_output

PAPER = "Yuwono, Ng and Ngiam 2016"
NUS, MAXENT, OURS = "nus", "nus-maxent", "hybrid"
THRESHOLDS = (0.0, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.33, 0.34, 0.4, 0.45, 0.5)
_THEIRS = 0.33
"""Section 3.1."""
_SWEPT = ("edit distance alone", "nus", "known")
_WORD = re.compile(r"[^\W_]+")
_FRAGMENT = "vomiting 2/7, LOW 1/12"
"""Section 4: their example of false positives."""
_TAKEN = {"2/7": Label.DATE, "LOW": Label.DOCTOR, "1/12": Label.DATE}
_DATES, _DOCTORS = "nus/date", "nus/doctor_list"
_THEIR_TABLE = (
    ("theirs: precision", "85.94", "100.00", "66.03", "76.71", "72.67"),
    ("theirs: recall", "100.00", "100.00", "100.00", "93.14", "97.35"),
    ("theirs: F", "92.44", "100.00", "79.50", "84.13", "83.22"),
)


def nus(runner: Runner) -> Report:
    """Detect the record's names by edit distance at all thresholds, and by classifier.

    On notes of a ward's patients with their records, and on English notes with records
    of patients who are in none of them.
    """
    notes = _notes(runner)
    output = {name: _proposals(name, notes) for name in (NUS, MAXENT)}
    output[OURS] = runner.preset_output(OURS, notes)
    found = {name: columns_of(Scored(notes, each)) for name, each in output.items()}
    sweep_table = _sweep(runner, notes)
    rules = _false_by_rule(runner)
    return Report(
        "nus",
        "What does fuzzy search for the patient's own record find, and what does it "
        "take falsely?",
        _account(runner, notes, output[OURS]),
        (
            _table_1(found),
            _of_kinds(notes, output),
            sweep_table,
            _of_fragment(),
            Table("Falsely taken by nus, English notes", ("rule", "words"), rules),
        ),
        tuple(_plots(sweep_table)),
        (
            _patients_recall(found[NUS]),
            *_of_taken(),
            _of_rules(rules),
            _of_maxent(found, runner.seed),
            *_of_thresholds(sweep_table),
        ),
    )


def _notes(runner: Runner) -> Corpus:
    if runner.ward is None:
        raise ConfigError("experiment nus: needs notes with their patients' records")
    runner.progress("nus: writing a ward's notes")
    return runner.ward(runner.size(300, 15))


def _account(runner: Runner, notes: Corpus, ours: SystemOutput) -> tuple[str, ...]:
    ward = f"{len(notes.documents)} notes with a record: {notes.name} {notes.part}"
    read = ", ".join(f"{n} {len(d)}" for n, d in _others(runner).items())
    lists = (
        "a ward is in the United States: nus has its towns, and Singapore's surnames"
    )
    refused = sum(bool(each.refusal) for each in ours.predictions)
    whole = (
        f"{OURS} is the whole pipeline; it refused {refused}, where it found nothing"
    )
    return (
        ward,
        f"notes of others, readable rows: {read}",
        lists,
        whole,
        *runner.account(),
    )


def _proposals(name: str, notes: Corpus) -> SystemOutput:
    """Return a published system's proposals, with the towns of the ward's country."""
    values = load_preset(name).options[NUS].model_dump() | {"country": "US"}
    detector = NusDetector(NusOptions.model_validate(values))
    return detector_output([detector], notes.documents)


def _table_1(found: Mapping[str, Columns]) -> Table:
    rows = [
        (
            f"{name}: {figure}",
            *(f"{each.values(column)[at]:.2f}" for column in COLUMNS),
            f"{each.values()[at]:.2f}",
        )
        for name, each in found.items()
        for at, figure in enumerate(("precision", "recall", "F"))
    ]
    columns = ("system", *COLUMNS, "overall")
    return Table("By word, as Table 1", columns, (*rows, *_THEIR_TABLE))


def _of_kinds(notes: Corpus, output: Mapping[str, SystemOutput]) -> Table:
    """Return how many of the patient's names are covered, by form."""
    required: Counter[str] = Counter()
    covered: dict[str, Counter[str]] = {name: Counter() for name in output}
    for at, document in enumerate(notes.documents):
        masks = {
            name: _covered(output[name].predictions[at].annotations) for name in output
        }
        for span in document.spans:
            if span.label is not Label.PATIENT or KIN in span.kinds:
                continue
            kind = ", ".join(span.kinds)
            text = document.text[span.span.start : span.span.end]
            words = [word for word in _WORD.finditer(text) if _is_counted(word[0])]
            required[kind] += 1
            for name, mask in masks.items():
                places = (span.span.start + i for w in words for i in range(*w.span()))
                covered[name][kind] += mask.issuperset(places)
    rows = tuple(
        (kind, f"{count:,}", *(f"{100 * covered[n][kind] / count:.2f}" for n in output))
        for kind, count in required.most_common()
    )
    columns = ("the name is", "names", *(f"{name} R" for name in output))
    return Table("The patient's names, by how they are written", columns, rows)


def _is_counted(word: str) -> bool:
    return len(word) > 1 and not is_title(word)


def _covered(annotations: Iterable[Annotation]) -> set[int]:
    return {at for each in annotations for at in range(each.span.start, each.span.end)}


def _fragment_labels(name: str) -> dict[str, list[Label]]:
    """Return the labels that a system gives to the words of the paper's example."""
    document = GoldDocument("", _FRAGMENT, ())
    output = detector_output(load_preset(name).build(), [document]).predictions[0]
    return {
        word: [
            each.label
            for each in output.annotations
            if each.span.start < _FRAGMENT.index(word) + len(word)
            and _FRAGMENT.index(word) < each.span.end
        ]
        for word in _TAKEN
    }


def _of_fragment() -> Table:
    rows = [
        (name, *(", ".join(found[word]) or "left" for word in _TAKEN))
        for name, found in ((name, _fragment_labels(name)) for name in (NUS, OURS))
    ]
    title = f"Their example of false ones, {_FRAGMENT}"
    return Table(title, ("system", *_TAKEN), tuple(rows))


def _false_by_rule(runner: Runner) -> tuple[tuple[str, ...], ...]:
    """Return the false words of nus in English notes by rule, most first."""
    false: Counter[str] = Counter()
    for documents in _others(runner).values():
        output = detector_output(load_preset(NUS).build(), documents).predictions
        for document, prediction in zip(documents, output, strict=True):
            for each in prediction.annotations:
                if not any(each.span.overlaps(g.span) for g in document.spans):
                    text = document.text[each.span.start : each.span.end]
                    false[each.source] += len(_WORD.findall(text))
    return tuple((rule, f"{count:,}") for rule, count in false.most_common())


def _patients_recall(found: Columns) -> Finding:
    recall = found.figures(PATIENT).recall
    covered, required = (int(each.sum()) for each in (recall.part, recall.whole))
    words = f"{covered:,} of {required:,} words, {recall.value or 0:.2f} %"
    verdict = Verdict(covered == required, words)
    return _finding("all of the patient's own name is found", "Table 1", verdict)


def _of_taken() -> Iterator[Finding]:
    found, ours = _fragment_labels(NUS), _fragment_labels(OURS)
    for word, label in _TAKEN.items():
        kind = "date" if label is Label.DATE else "doctor's name"
        is_left = "left" if not ours[word] else "taken"
        words = f"nus says {', '.join(found[word]) or 'nothing'}; {is_left} by {OURS}"
        verdict = Verdict(label in found[word], words)
        yield _finding(f"{word} is falsely taken for a {kind}", "section 4", verdict)


def _of_rules(rules: Sequence[Sequence[str]]) -> Finding:
    counts = {rule: int(count.replace(",", "")) for rule, count in rules}
    whole, of_both = (
        sum(counts.values()),
        sum(counts.get(n, 0) for n in (_DATES, _DOCTORS)),
    )
    words = f"{of_both:,} of {whole:,} false words, notes without a record"
    claim = "most false ones are dates and doctors' common names"
    holds = None if not whole else 2 * of_both > whole
    return _finding(claim, "section 4", Verdict(holds, words))


def _of_maxent(found: Mapping[str, Columns], seed: int) -> Finding:
    one, other = (found[n].figures(PATIENT, OTHERS).f1 for n in (MAXENT, NUS))
    better = is_greater(one, other, seed=seed)
    claim = "the maximum-entropy classifier does no better on names"
    words = f"F of all names: {better.figures}"
    return _finding(claim, "section 4", Verdict(better.holds is not True, words))


def _others(runner: Runner) -> dict[str, tuple[GoldDocument, ...]]:
    """Return development notes of people without a record."""
    most = runner.size(200, 5)
    names = ("aci-bench", "mtsamples")
    return {name: runner.english[name].documents[:most] for name in names}


def _sweep(runner: Runner, notes: Corpus) -> Table:
    """Return figures of patients' names and false words of others, by threshold."""
    strangers = _strangers(runner, notes)
    rows = []
    for threshold in THRESHOLDS:
        runner.progress(f"nus: threshold {threshold:.2f}")
        cells = [f"{threshold:.2f}"]
        for detectors in _at(threshold):
            here = columns_of(
                Scored(notes, detector_output(detectors, notes.documents))
            )
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
    yield [PatientRecordDetector(PatientRecordOptions(threshold=threshold))]


def _strangers(runner: Runner, notes: Corpus) -> list[GoldDocument]:
    """Return notes of others, each with the names of a patient who is not in it."""
    names = [each.known.patient_names for each in notes.documents]
    notes_of_others = [each for found in _others(runner).values() for each in found]
    return [
        replace(each, known=KnownIdentifiers(patient_names=names[at % len(names)]))
        for at, each in enumerate(notes_of_others)
    ]


def _false(detectors: Sequence[Detector], documents: Sequence[GoldDocument]) -> float:
    """Return false patient names in 1,000 words of documents without the patient."""
    output = detector_output(detectors, documents).predictions
    words = sum(len(_WORD.findall(each.text)) for each in documents)
    labels = (a.label for each in output for a in each.annotations)
    return 1000 * sum(label is Label.PATIENT for label in labels) / max(1, words)


class _Only:
    """The proposals of one rule of a detector."""

    def __init__(self, detector: Detector, rule: str) -> None:
        self._detector, self._rule = detector, rule
        self.name = f"{detector.name}/{rule}"
        self.reads_as_written = detector.reads_as_written

    def __call__(self, documents: Sequence[Document]) -> list[list[Annotation]]:
        return [
            [each for each in proposals if each.rule == self._rule]
            for proposals in self._detector(documents)
        ]


def _plots(sweep_table: Table) -> Iterator[Plot]:
    """Yield precision, recall and false words in other notes, by threshold."""
    for column, figure in enumerate(("Precision", "Recall"), start=1):
        lines = {n: _line(sweep_table, column + 4 * at) for at, n in enumerate(_SWEPT)}
        title = f"{figure} on names of patients by threshold"
        yield Plot(title, "R below", "words, %", lines=lines)
    lines = {n: _line(sweep_table, 4 + 4 * at) for at, n in enumerate(_SWEPT)}
    title = "Words of other notes taken for a name of the patient"
    yield Plot(title, "R below", "in 1,000 words", lines=lines)


def _line(sweep_table: Table, column: int) -> list[tuple[float, float]]:
    return [(float(row[0]), float(row[column])) for row in sweep_table.rows]


def _of_thresholds(sweep_table: Table) -> Iterator[Finding]:
    """Yield findings on the choice of the threshold."""
    recall, false = (dict(_line(sweep_table, column)) for column in (2, 4))
    f1 = dict(_line(sweep_table, 3))
    best = max(f1, key=lambda each: f1[each])
    words = f"F {f1[_THEIRS]:.2f} at {_THEIRS}; best {f1[best]:.2f} at {best:g}"
    chosen = Verdict(f1[best] - f1[_THEIRS] < 1, words)
    claim = f"no threshold beats {_THEIRS} by a point of F on patients' names"
    yield _finding(claim, "3.1, their choice", chosen)
    tight, loose = THRESHOLDS[1], THRESHOLDS[-1]
    words = (
        f"R {recall[tight]:.2f}, {recall[_THEIRS]:.2f}, {recall[loose]:.2f} and false "
        f"words in 1,000 {false[tight]:.2f}, {false[_THEIRS]:.2f}, {false[loose]:.2f} "
        f"at {tight}, {_THEIRS}, {loose}"
    )
    rises = recall[tight] < recall[_THEIRS] and false[_THEIRS] < false[loose]
    claim = "misspelt names are found by a looser threshold, at the cost of other words"
    yield _finding(claim, "3.1", Verdict(rises, words))


def _finding(claim: str, place: str, verdict: Verdict) -> Finding:
    """Return a claim at a place in the paper with its verdict."""
    return Finding(claim, f"{PAPER}, {place}", verdict.holds, verdict.figures)
