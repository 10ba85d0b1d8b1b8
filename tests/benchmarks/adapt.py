"""What `phistream adapt` gains for values that no record holds.

    python -m tests.benchmarks.adapt --corpus BASE --dev DEV --out FOLDER

An invented hospital with habits of its own writes notes (`streams.demo.site`); half of
its patients' notes adapt the tagger, and the notes of other patients, which are read
without their records, tell what is found before and after.  With --marked FOLDER,
composed notes with records (`deid_core.research.corpora.marked`) are the site instead.
"""

from __future__ import annotations

import argparse
import sys
import time
import zlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from deid_core import Deidentifier, Document
from deid_core.config import DeidConfig, load_preset
from deid_core.detectors.patient_record import PatientRecordDetector
from deid_core.document import NOTHING_KNOWN, Span
from deid_core.policy import load_policy
from deid_core.research.adaptation.adapting import Adaptation, adapt
from deid_core.research.adaptation.card import figures_of
from deid_core.research.corpora.conventions import PLAIN, conventions_for
from deid_core.research.corpora.corpus import Corpus, GoldDocument
from deid_core.research.corpora.readers import read_corpus
from deid_core.research.scoring.coverage import cover
from deid_core.research.scoring.gold_and_predicted import comparisons_of
from deid_core.research.scoring.predict import predict
from deid_core.research.training.recipe import load_recipe
from deid_core.research.training.training import train
from deid_core.tagger.model_files import save_model
from streams.cli.terminal import show_table
from streams.demo.site import IN_RECORD, OUTSIDE, SiteHospital

NOTES_OF_EACH = 5
"""Notes of one patient."""


@dataclass
class Tally:
    """What a system finds in notes whose every value is marked."""

    found: Counter[str] = field(default_factory=Counter)
    all: Counter[str] = field(default_factory=Counter)
    false: int = 0
    words: int = 0


def tally(system: Deidentifier, gold: Corpus) -> Tally:
    """Return the counts of a system that reads the notes without their records."""
    total = Tally()
    documents = tuple(replace(d, known=NOTHING_KNOWN) for d in gold.documents)
    gold = replace(gold, documents=documents)
    for compared in comparisons_of(gold, list(predict(system, documents))):
        covered = cover(compared)
        for kind, is_found in covered.kinds:
            total.all[kind] += 1
            total.found[kind] += is_found
        total.false += len(covered.false_words)
        total.words += covered.words
    return total


def with_origin(document: GoldDocument) -> GoldDocument:
    """Return a marked note whose values say whether the record holds them."""
    detector = PatientRecordDetector()
    [found] = detector([Document(document.id, document.text, document.known)])

    def is_held(span: Span) -> bool:
        return any(each.span.overlaps(span) for each in found)

    spans = tuple(
        replace(s, kinds=(IN_RECORD if is_held(s.span) else f"other {s.tag.lower()}",))
        for s in document.spans
    )
    return replace(document, spans=spans)


def main(arguments: Sequence[str] | None = None) -> int:
    """Print what is found before and after; 1 if the model is refused."""
    options = _parser().parse_args(arguments)
    recipe = load_recipe(options.recipe)
    corpora = [_corpus(each) for each in options.corpus]
    dev = [_corpus(each) for each in options.dev]
    if options.marked:
        documents = [
            with_origin(document)
            for path in options.marked
            for document in _corpus(path).documents
            if document.known
        ]
        patients = [str(number) for number in range(len(documents))]
    else:
        people = -(-2 * options.notes // NOTES_OF_EACH)
        site = SiteHospital(seed=options.seed, patients=people)
        notes = list(site.notes(2 * options.notes))
        print(f"{site.profile}")
        documents = [each.document for each in notes]
        patients = [each.patient for each in notes]
    # Patients take turns: one half of them is never seen by the adaptation.
    unseen = {patient for patient in {*patients} if hash_of(patient) % 2}
    learned = [
        Document(d.id, d.text, d.known, p)
        for d, p in zip(documents, patients, strict=True)
        if p not in unseen
    ]
    kept = tuple(d for d, p in zip(documents, patients, strict=True) if p in unseen)
    gold = Corpus(
        "site", "unseen patients", False, conventions_for(Path("site"), PLAIN), kept
    )
    preset = load_preset(options.preset)
    out: Path = options.out
    started = time.process_time()
    if options.train_base:
        # The same recipe and corpora without the site: what the site alone adds.
        save_model(train(recipe, corpora, seed=1, version="base"), out / "base")
        preset = _with_model(preset, out / "base")
    adaptation = Adaptation(preset, recipe, corpora, dev, options.patients)
    adapted = adapt(adaptation, learned, progress=_progress)
    save_model(adapted.model, out / "adapted")
    print(f"\n{time.process_time() - started:.0f} s of CPU", flush=True)
    show_table(*figures_of(adapted.compared))
    print(*(f"refused: {each}" for each in adapted.worse), sep="\n")
    systems = [preset, _with_model(preset, out / "adapted")]
    before, after = (
        tally(Deidentifier.from_config(each, load_policy("safe-harbor")), gold)
        for each in systems
    )
    _show(before, after)
    return bool(adapted.worse)


def hash_of(patient: str) -> int:
    """Return a number of a patient, the same in every process."""
    return zlib.crc32(patient.encode())


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--corpus", type=Path, action="append", required=True)
    parser.add_argument("--dev", type=Path, action="append", required=True)
    parser.add_argument("--marked", type=Path, action="append", default=[])
    parser.add_argument("--recipe", default="english")
    parser.add_argument("--preset", default="hybrid")
    parser.add_argument("--notes", type=int, default=1000)
    parser.add_argument("--patients", type=int, default=5)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument(
        "--train-base",
        action="store_true",
        help="compare with a model of the same recipe and corpora",
    )
    return parser


def _corpus(path: Path) -> Corpus:
    return read_corpus(path)


def _with_model(preset: DeidConfig, model: Path) -> DeidConfig:
    options = preset.options["tagger"].model_copy(update={"model": f"{model}/"})
    return replace(preset, options={**preset.options, "tagger": options})


def _progress(share: float, step: str) -> None:
    print(f"\r{share:4.0%} {step:60}", end="", file=sys.stderr, flush=True)


def _show(before: Tally, after: Tally) -> None:
    kinds = sorted(before.all, key=lambda kind: (kind not in OUTSIDE, kind))
    rows = [[kind, *_recalls([kind], before, after)] for kind in kinds]
    outside = [kind for kind in kinds if kind != IN_RECORD]
    rows.append(["all outside the record", *_recalls(outside, before, after)])
    show_table(("values", "number", "found before", "after", "misses left"), rows)
    for name, each in (("before", before), ("after", after)):
        rate = 1000 * each.false / max(1, each.words)
        print(f"false words {name}: {each.false}, {rate:.2f} in 1,000")


def _recalls(kinds: Sequence[str], before: Tally, after: Tally) -> list[str]:
    count = sum(before.all[kind] for kind in kinds)
    old, new = (sum(each.found[kind] for kind in kinds) for each in (before, after))
    left = (count - new) / max(1, count - old)
    return [str(count), f"{old / count:.3f}", f"{new / count:.3f}", f"{left:.0%}"]


if __name__ == "__main__":
    sys.exit(main())
