"""National University Hospital: spelling variants of what the record holds."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from deid_core.config import load_preset
from deid_core.document import Annotation
from deid_core.errors import ConfigError
from deid_core.labels import Label

from ..corpora.corpus import Corpus, GoldDocument
from ..corpora.neutral import is_title
from ..published.nus.detector import NusDetector
from ..published.nus.options import NusOptions
from ..scoring.tables import Table
from .frame.columns import COLUMNS, KIN, OTHERS, PATIENT, Columns, columns_of
from .frame.report import Finding, Report
from .frame.runner import Bench
from .frame.systems import Said, proposed
from .frame.verdicts import Verdict, is_greater
from .nus_thresholds import NUS, finding, of_thresholds, others, plots, sweep

MAXENT, OURS = "nus-maxent", "hybrid"
_FRAGMENT = "vomiting 2/7, LOW 1/12"
"""Section 4: their own example of what is taken falsely."""
_TAKEN = {"2/7": Label.DATE, "LOW": Label.DOCTOR, "1/12": Label.DATE}
_DATES, _DOCTORS = "nus/date", "nus/doctor_list"
_WORD = re.compile(r"[^\W_]+")
_THEIR_TABLE = (
    ("theirs: precision", "85.94", "100.00", "66.03", "76.71", "72.67"),
    ("theirs: recall", "100.00", "100.00", "100.00", "93.14", "97.35"),
    ("theirs: F", "92.44", "100.00", "79.50", "84.13", "83.22"),
)


def nus(bench: Bench) -> Report:
    """Seek the record's names by edit distance, at every threshold, or a classifier.

    Notes of a ward's patients with their records, and readable English notes sought
    through for patients who are in none of them.
    """
    notes = _notes(bench)
    said = {name: _says(name, notes) for name in (NUS, MAXENT)}
    said[OURS] = bench.ours(OURS, notes)
    found = {name: columns_of(notes, each) for name, each in said.items()}
    swept = sweep(bench, notes)
    rules = _false_by_rule(bench)
    return Report(
        "nus",
        "What does fuzzy search for the patient's own record find, and what does it "
        "take falsely?",
        _account(bench, notes, said[OURS]),
        (
            _table_1(found),
            _of_kinds(notes, said),
            swept,
            _of_fragment(),
            Table("Falsely taken by nus, English notes", ("rule", "words"), rules),
        ),
        tuple(plots(swept)),
        (
            _patients_recall(found[NUS]),
            *_of_taken(),
            _of_rules(rules),
            _of_maxent(found, bench.seed),
            *of_thresholds(swept),
        ),
    )


def _notes(bench: Bench) -> Corpus:
    if bench.ward is None:
        raise ConfigError("experiment nus: needs notes with their patients' records")
    bench.tell("nus: writing a ward's notes")
    return bench.ward(bench.size(300, 15))


def _account(bench: Bench, notes: Corpus, ours: Said) -> tuple[str, ...]:
    ward = f"{len(notes.documents)} notes with a record: {notes.name} {notes.part}"
    read = ", ".join(f"{n} {len(d)}" for n, d in others(bench).items())
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
        *bench.account(),
    )


def _says(name: str, notes: Corpus) -> Said:
    """Return what a published system proposes, with the towns of the ward's country."""
    values = load_preset(name).options[NUS].model_dump() | {"country": "US"}
    detector = NusDetector(NusOptions.model_validate(values))
    return proposed([detector], notes.documents)


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


def _of_kinds(notes: Corpus, said: Mapping[str, Said]) -> Table:
    """Return how many of the patient's names are covered, by how they are written."""
    sought: Counter[str] = Counter()
    covered: dict[str, Counter[str]] = {name: Counter() for name in said}
    for at, document in enumerate(notes.documents):
        masks = {
            name: _covered(said[name].predictions[at].annotations) for name in said
        }
        for span in document.spans:
            if span.label is not Label.PATIENT or KIN in span.kinds:
                continue
            kind = ", ".join(span.kinds)
            text = document.text[span.span.start : span.span.end]
            words = [word for word in _WORD.finditer(text) if _is_sought(word[0])]
            sought[kind] += 1
            for name, mask in masks.items():
                places = (span.span.start + i for w in words for i in range(*w.span()))
                covered[name][kind] += mask.issuperset(places)
    rows = tuple(
        (kind, f"{count:,}", *(f"{100 * covered[n][kind] / count:.2f}" for n in said))
        for kind, count in sought.most_common()
    )
    columns = ("the name is", "names", *(f"{name} R" for name in said))
    return Table("The patient's names, by how they are written", columns, rows)


def _is_sought(word: str) -> bool:
    return len(word) > 1 and not is_title(word)


def _covered(annotations: Iterable[Annotation]) -> set[int]:
    return {at for each in annotations for at in range(each.span.start, each.span.end)}


def _fragment_says(name: str) -> dict[str, list[Label]]:
    """Return what a system takes each word of the paper's example for."""
    document = GoldDocument("", _FRAGMENT, ())
    said = proposed(load_preset(name).build(), [document]).predictions[0]
    return {
        word: [
            each.label
            for each in said.annotations
            if each.span.start < _FRAGMENT.index(word) + len(word)
            and _FRAGMENT.index(word) < each.span.end
        ]
        for word in _TAKEN
    }


def _of_fragment() -> Table:
    rows = [
        (name, *(", ".join(found[word]) or "left" for word in _TAKEN))
        for name, found in ((name, _fragment_says(name)) for name in (NUS, OURS))
    ]
    title = f"Their example of false ones, {_FRAGMENT}"
    return Table(title, ("system", *_TAKEN), tuple(rows))


def _false_by_rule(bench: Bench) -> tuple[tuple[str, ...], ...]:
    """Return how many words of English notes nus takes falsely, by rule, most first."""
    false: Counter[str] = Counter()
    for documents in others(bench).values():
        said = proposed(load_preset(NUS).build(), documents).predictions
        for document, prediction in zip(documents, said, strict=True):
            for each in prediction.annotations:
                if not any(each.span.overlaps(g.span) for g in document.spans):
                    text = document.text[each.span.start : each.span.end]
                    false[each.source] += len(_WORD.findall(text))
    return tuple((rule, f"{count:,}") for rule, count in false.most_common())


def _patients_recall(found: Columns) -> Finding:
    _, recall, _ = found.measures(PATIENT)
    covered, sought = (int(each.sum()) for each in (recall.part, recall.whole))
    words = f"{covered:,} of {sought:,} words, {recall.value or 0:.2f} %"
    verdict = Verdict(covered == sought, words)
    return finding("all of the patient's own name is found", "Table 1", verdict)


def _of_taken() -> Iterator[Finding]:
    found, ours = _fragment_says(NUS), _fragment_says(OURS)
    for word, label in _TAKEN.items():
        kind = "date" if label is Label.DATE else "doctor's name"
        is_left = "left" if not ours[word] else "taken"
        words = f"nus says {', '.join(found[word]) or 'nothing'}; {is_left} by {OURS}"
        verdict = Verdict(label in found[word], words)
        yield finding(f"{word} is falsely taken for a {kind}", "section 4", verdict)


def _of_rules(rules: Sequence[Sequence[str]]) -> Finding:
    counts = {rule: int(count.replace(",", "")) for rule, count in rules}
    whole, of_both = (
        sum(counts.values()),
        sum(counts.get(n, 0) for n in (_DATES, _DOCTORS)),
    )
    words = f"{of_both:,} of {whole:,} false words, notes without a record"
    claim = "most false ones are dates and doctors' common names"
    holds = None if not whole else 2 * of_both > whole
    return finding(claim, "section 4", Verdict(holds, words))


def _of_maxent(found: Mapping[str, Columns], seed: int) -> Finding:
    one, other = (found[n].measures(PATIENT, OTHERS)[2] for n in (MAXENT, NUS))
    better = is_greater(one, other, seed=seed)
    claim = "the maximum-entropy classifier does no better on names"
    words = f"F of all names: {better.figures}"
    return finding(claim, "section 4", Verdict(better.holds is not True, words))
