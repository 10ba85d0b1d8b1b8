"""The cost of scrubbing for medication extraction: Deleger and others 2013, Table 4."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256

import numpy as np

from deid_core.document import Annotation, Document, OffsetMap
from deid_core.policy import Policy, load_policy
from deid_core.replace import Replacement, Replacer, apply_replacements
from deid_core.research.corpora.conventions import PLAIN, conventions_for
from deid_core.research.corpora.corpus import Corpus, GoldDocument
from deid_core.research.scoring.measures import Measure, counts
from deid_core.research.scoring.tables import Table
from deid_core.research.synthetic_notes import read_carriers

from .harness.cross_validated import english_account, english_folds, english_output
from .harness.drug_names import LIST, Extractor, Medication, read_names
from .harness.figures import CHANCE, Figures, Scored, p_of
from .harness.report import Finding, Plot, Report
from .harness.runner import Runner
from .harness.splits import Split, sample
from .harness.systems import SystemOutput, Variant

SOURCE = "Deleger and others 2013, Table 4"
_NOTES = ("aci-bench", "mtsamples")
_SECTIONS = "mts-dialog"
_LOSS = 0.5
_BEST_RECALL = 0.93
_OURS, _MCRF2, _BIASED, _MARKS = "ours", "mcrf2", "mcrf2, threshold .93", "gold marks"
_COLUMNS = ("system, written as", "notes", "drugs", "redacted", "introduced")
_MEASURED = ("P", "R", "F1", "F1 with dose, route, frequency", "p")

Write = Callable[[GoldDocument, Sequence[Annotation]], list[Replacement]]
Key = tuple[str, str]


@dataclass(frozen=True, slots=True)
class _Note:
    """Counts of drug names in one note before and after scrubbing."""

    gold: int
    found: int
    right: int
    whole: int
    redacted: int
    introduced: int


def medication(runner: Runner) -> Report:
    """Extract drug names before and after scrubbing, with three kinds of replacements.

    The corpora have no annotated medications.  What the extractor finds in the original
    note is the gold standard, so its own errors cost nothing.
    """
    extract = Extractor(read_names(runner.data))
    scored = _scored(runner)
    writers = _writers(runner.seed)
    found: dict[str, dict[Key, list[_Note]]] = {}
    for corpus, systems in scored.items():
        runner.progress(f"looking for drugs in {corpus}")
        found[corpus] = {
            (system, style): [*_notes(each, write, extract)]
            for system, each in systems.items()
            for style, write in writers.items()
        }
    everywhere = {
        key: [note for each in found.values() for note in each.get(key, ())]
        for key in _keys(found, (_OURS, _MCRF2, _BIASED))
    }
    return Report(
        "medication",
        "Does scrubbing cost who looks for medications in the scrubbed notes?",
        (
            english_account(runner),
            f"MTS-Dialog: {len(scored[_SECTIONS][_OURS].corpus.documents)} sections, "
            "tagged by the system of the first fold",
            f"drug names of {LIST}; redacted: names that a replacement touches; "
            "introduced: names in what was written",
            "ours refuses to take drugs of the same FDA lists for names",
            *runner.account(),
        ),
        (
            _table("All", everywhere, runner.seed),
            *(_table(name, each, runner.seed) for name, each in found.items()),
        ),
        (_plot(everywhere),),
        tuple(
            _finding(system, everywhere, runner.seed)
            for system in (_OURS, _MCRF2, _BIASED)
        ),
    )


def _scored(runner: Runner) -> dict[str, dict[str, Scored]]:
    """Return the output of each system by corpus."""
    below = {"outside_below": _BEST_RECALL}
    plain = english_output(runner, Variant(_MCRF2))
    biased = english_output(runner, Variant(_MCRF2), options=below)
    found = {
        name: {
            _OURS: Scored(
                plain[name].corpus, runner.preset_output("hybrid", plain[name].corpus)
            ),
            _MCRF2: plain[name],
            _BIASED: biased[name],
            _MARKS: Scored(
                plain[name].corpus, SystemOutput.of_gold(plain[name].corpus.documents)
            ),
        }
        for name in _NOTES
    }
    split = _sections(runner)
    sections = split.corpus
    found[_SECTIONS] = {
        _OURS: Scored(sections, runner.preset_output("hybrid", sections)),
        _MCRF2: Scored(sections, runner.output(Variant(_MCRF2), split)),
        _BIASED: Scored(sections, runner.output(Variant(_MCRF2), split, **below)),
    }
    return found


def _sections(runner: Runner) -> Split:
    carriers = read_carriers(runner.data / _SECTIONS / "sections.jsonl")
    documents = [GoldDocument(each.id, each.text, ()) for each in carriers]
    chosen = sample(documents, runner.size(600, 30), runner.seed)
    first = english_folds(runner)[_NOTES[0]][0]
    conventions = conventions_for(runner.data, PLAIN)
    corpus = Corpus(_SECTIONS, "sections", False, conventions, chosen)
    return Split(_SECTIONS, "en", first.learn, corpus)


def _writers(seed: int) -> dict[str, Write]:
    # The key protects nothing: the notes are public.
    key = sha256(f"laboratory {seed}".encode()).digest()
    return {
        "asterisks": _asterisks,
        "tags": _by_policy(Replacer(Policy("tags", "tag"))),
        "surrogates": _by_policy(Replacer(load_policy("surrogate"), key)),
    }


def _asterisks(
    document: GoldDocument, annotations: Sequence[Annotation]
) -> list[Replacement]:
    return [
        Replacement(each, "*" * (each.span.end - each.span.start))
        for each in annotations
    ]


def _by_policy(replacer: Replacer) -> Write:
    def write(
        document: GoldDocument, annotations: Sequence[Annotation]
    ) -> list[Replacement]:
        note = Document(document.id, document.text)
        return replacer.replacements(note, annotations)

    return write


def _notes(each: Scored, write: Write, extract: Extractor) -> Iterator[_Note]:
    pairs = zip(each.corpus.documents, each.output.predictions, strict=True)
    for document, prediction in pairs:
        if prediction.refusal:
            # It is not published, so that its drugs are lost.
            lost = len(extract(document.text))
            yield _Note(lost, 0, 0, 0, lost, 0)
            continue
        text, way = apply_replacements(
            document.text, write(document, prediction.annotations)
        )
        yield _compared(extract(document.text), extract(text), way)


def _compared(
    before: Sequence[Medication], after: Sequence[Medication], way: OffsetMap
) -> _Note:
    kept = [_mapped(each, way) for each in after]
    back = [each for each in kept if each is not None]
    names = {each.span for each in before} & {each.span for each in back}
    redacted = [
        each
        for each in before
        if any(
            row.start < each.span.end and each.span.start < row.end for row in way.rows
        )
    ]
    whole = len({*before} & {*back})
    introduced = len(after) - len(back)
    return _Note(len(before), len(after), len(names), whole, len(redacted), introduced)


def _mapped(each: Medication, way: OffsetMap) -> Medication | None:
    """Return the medication with its span in the original; None if it is new."""
    start, end = each.span.start, each.span.end
    if any(row.scrubbed_start < end and start < row.scrubbed_end for row in way.rows):
        return None
    first = way.to_original(start)
    return replace(each, span=type(each.span)(first, first + end - start))


def _keys(
    found: Mapping[str, Mapping[Key, list[_Note]]], systems: Sequence[str]
) -> list[Key]:
    keys = {key: None for each in found.values() for key in each}
    return [key for key in keys if key[0] in systems]


def _measures(notes: Sequence[_Note]) -> tuple[Measure, Measure, Measure, Measure]:
    """Return P, R and F1 of names, and F1 of names with their context."""
    gold, found = counts(n.gold for n in notes), counts(n.found for n in notes)
    right, whole = counts(n.right for n in notes), counts(n.whole for n in notes)
    names = Figures.of(right, found, gold)
    with_context = Measure("F1 whole", 2 * whole, found + gold, scale=100)
    return names.precision, names.recall, names.f1, with_context


def _p(notes: Sequence[_Note], seed: int) -> float | None:
    """Return the p of the difference of F1 to the original notes."""
    f1 = _measures(notes)[2]
    gold = counts(n.gold for n in notes)
    return p_of(Measure("F1", 2 * gold, 2 * gold, scale=100), f1, seed)


def _table(title: str, by: Mapping[Key, list[_Note]], seed: int) -> Table:
    rows = tuple(_row(key, notes, seed) for key, notes in by.items() if notes)
    return Table(f"{title}: drug names after scrubbing", (*_COLUMNS, *_MEASURED), rows)


def _row(key: Key, notes: Sequence[_Note], seed: int) -> tuple[str, ...]:
    shown = (f"{each.value or 0:.2f}" for each in _measures(notes))
    p = _p(notes, seed)
    sums = np.array([(n.gold, n.redacted, n.introduced) for n in notes]).sum(axis=0)
    star = "*" if p is not None and p < CHANCE else ""
    return (
        ", ".join(key),
        str(len(notes)),
        *map(str, sums.tolist()),
        *shown,
        "-" if p is None else f"{p:.4f}{star}",
    )


def _plot(by: Mapping[Key, list[_Note]]) -> Plot:
    systems = [*dict.fromkeys(system for system, _ in by)]
    styles = [*dict.fromkeys(style for _, style in by)]
    bars = {
        style: [100 - (_measures(by[each, style])[2].value or 0) for each in systems]
        for style in styles
    }
    title = "F1 of drug names lost by scrubbing"
    return Plot(title, "", "points of F1 lost", bars=bars, names=systems)


def _finding(system: str, by: Mapping[Key, list[_Note]], seed: int) -> Finding:
    lost, words = [], []
    for (its, style), notes in by.items():
        if its == system:
            lost.append(100 - (_measures(notes)[2].value or 0))
            p = _p(notes, seed)
            words.append(f"{style} {lost[-1]:.2f} (p {1 if p is None else p:.4f})")
    return Finding(
        f"Scrubbing by {system} costs less than {_LOSS} points of F1, however written",
        f"{SOURCE} (changes of -0.11 to +0.19)",
        max(lost) < _LOSS,
        f"points of F1 lost: {', '.join(words)}",
    )
