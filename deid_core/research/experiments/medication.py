"""Deleger and others 2013, Table 4: what scrubbing costs who looks for medications."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256

import numpy as np

from deid_core.document import Annotation, Document, OffsetMap
from deid_core.policy import Policy, load_policy
from deid_core.replace import Replacement, Replacer, apply_replacements

from ..corpora.conventions import PLAIN, conventions_for
from ..corpora.corpus import Corpus, GoldDocument
from ..scoring.measures import Measure, counts
from ..scoring.resampling import difference
from ..scoring.tables import Table
from ..synthetic_notes import read_carriers
from .frame.cross_validated import english_account, english_crossed, english_folds
from .frame.joint import CHANCE, Scored
from .frame.medication import LIST, Extractor, Medication, read_names
from .frame.report import Finding, Plot, Report
from .frame.runner import Bench
from .frame.second_marks import as_said
from .frame.splits import Split, drawn
from .frame.systems import Variant

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
    """Drug names of one note, before and after: counts."""

    gold: int
    said: int
    right: int
    whole: int
    redacted: int
    introduced: int


def medication(bench: Bench) -> Report:
    """Look for drug names in notes before scrubbing and after, written three ways.

    The corpora mark no medications: what the extractor finds in the note as it was
    stands for gold, so its own errors cost nothing.
    """
    extract = Extractor(read_names(bench.data))
    said = _said(bench)
    writers = _writers(bench.seed)
    found: dict[str, dict[Key, list[_Note]]] = {}
    for corpus, systems in said.items():
        bench.tell(f"looking for drugs in {corpus}")
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
            english_account(bench),
            f"MTS-Dialog: {len(said[_SECTIONS][_OURS].corpus.documents)} sections, "
            "tagged by the system of the first fold",
            f"drug names of {LIST}; redacted: names that a replacement touches; "
            "introduced: names in what was written",
            "ours refuses to take drugs of the same FDA lists for names",
            *bench.account(),
        ),
        (
            _table("All", everywhere, bench.seed),
            *(_table(name, each, bench.seed) for name, each in found.items()),
        ),
        (_plot(everywhere),),
        tuple(
            _finding(system, everywhere, bench.seed)
            for system in (_OURS, _MCRF2, _BIASED)
        ),
    )


def _said(bench: Bench) -> dict[str, dict[str, Scored]]:
    """Return, by corpus and system, what is replaced."""
    below = {"outside_below": _BEST_RECALL}
    plain = english_crossed(bench, Variant(_MCRF2))
    biased = english_crossed(bench, Variant(_MCRF2), options=below)
    found = {
        name: {
            _OURS: Scored(plain[name].corpus, bench.ours("hybrid", plain[name].corpus)),
            _MCRF2: plain[name],
            _BIASED: biased[name],
            _MARKS: Scored(plain[name].corpus, as_said(plain[name].corpus)),
        }
        for name in _NOTES
    }
    split = _sections(bench)
    sections = split.corpus
    found[_SECTIONS] = {
        _OURS: Scored(sections, bench.ours("hybrid", sections)),
        _MCRF2: Scored(sections, bench.said(Variant(_MCRF2), split)),
        _BIASED: Scored(sections, bench.said(Variant(_MCRF2), split, **below)),
    }
    return found


def _sections(bench: Bench) -> Split:
    carriers = read_carriers(bench.data / _SECTIONS / "sections.jsonl")
    documents = [GoldDocument(each.id, each.text, ()) for each in carriers]
    chosen = drawn(documents, bench.size(600, 30), bench.seed)
    first = english_folds(bench)[_NOTES[0]][0]
    spoken = conventions_for(bench.data, PLAIN)
    corpus = Corpus(_SECTIONS, "sections", False, spoken, chosen)
    return Split(_SECTIONS, "en", first.learn, corpus)


def _writers(seed: int) -> dict[str, Write]:
    # No secret is kept by it: the notes are public.
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
    pairs = zip(each.corpus.documents, each.said.predictions, strict=True)
    for document, said in pairs:
        if said.refusal:
            # It is not published, and its drugs are lost with it.
            lost = len(extract(document.text))
            yield _Note(lost, 0, 0, 0, lost, 0)
            continue
        text, way = apply_replacements(document.text, write(document, said.annotations))
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
    """Return the medication with its span in the note; None if it was written anew."""
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
    """Return P, R and F1 of names, and F1 of names with what is said of them."""
    gold, said = counts(n.gold for n in notes), counts(n.said for n in notes)
    right, whole = counts(n.right for n in notes), counts(n.whole for n in notes)
    return (
        Measure("precision", right, said, scale=100),
        Measure("recall", right, gold, scale=100),
        Measure("F1", 2 * right, said + gold, scale=100),
        Measure("F1 whole", 2 * whole, said + gold, scale=100),
    )


def _p(notes: Sequence[_Note], seed: int) -> float | None:
    """Return how often chance gives as large a difference from the note as it was."""
    f1 = _measures(notes)[2]
    gold = counts(n.gold for n in notes)
    found = difference(Measure("F1", 2 * gold, 2 * gold, scale=100), f1, seed=seed)
    return None if found is None else found.p


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
