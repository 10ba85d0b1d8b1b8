"""Corpora of the experiments, split into documents to learn from and to score."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random

from deid_core.errors import ConfigError
from deid_core.pipeline import Deidentifier
from deid_core.research.corpora.corpus import Corpus, GoldDocument
from deid_core.research.corpora.readers import read_corpus
from deid_core.research.scoring import predict as cross_validation
from deid_core.research.synthetic_notes import (
    Half,
    generate,
    marked,
    read_carriers,
    without_shared,
)

_NOTES_SEED = 11
_OF_NOTES = ("aci-bench", "mtsamples")

Documents = Sequence[GoldDocument]
ENGLISH = {
    "aci-bench": "aci-bench/notes.jsonl",
    "mtsamples": "mtsamples/notes.jsonl",
    "asq-phi": "asq-phi/queries.jsonl",
}
"""The path of each English corpus in the data folder."""


@dataclass(frozen=True, slots=True)
class Split:
    """Documents to learn from and documents to score.

    Args:
        name: For titles: ``MEDDOCAN train / dev``.
        language: ISO 639.
        learn: Training documents.
        corpus: Scored documents with their conventions.
    """

    name: str
    language: str
    learn: tuple[GoldDocument, ...]
    corpus: Corpus

    @property
    def account(self) -> str:
        """The split in one line."""
        learn, score = len(self.learn), len(self.corpus.documents)
        return f"{self.name}: {learn} documents learned, {score} scored"

    def learning(self, learn: Documents) -> Split:
        """Return the split with other training documents."""
        return replace(self, learn=tuple(learn))


def meddocan(data: Path, *, learn: int, score: int, seed: int) -> Split:
    """Return MEDDOCAN's train and dev, or random samples of them.

    Raises:
        ConfigError: The corpus is missing.
    """
    train, dev = (_read(data / "meddocan" / part) for part in ("train", "dev"))
    learned = sample(train.documents, learn, seed)
    scored = replace(dev, documents=sample(dev.documents, score, seed))
    return Split("MEDDOCAN train / dev", "es", learned, scored)


def english(data: Path, *, part: str) -> dict[str, Corpus]:
    """Return a part of each English corpus, by name.

    Args:
        data: The folder of the corpora.
        part: ``dev`` may be inspected, ``test`` only scored.
    """
    return {name: _read(data / path, part) for name, path in ENGLISH.items()}


def english_notes(data: Path, parts: Iterable[Corpus], notes: int) -> Documents:
    """Return annotated English training documents: real and synthetic notes.

    Args:
        data: The folder of the corpora.
        parts: Corpora that may be inspected.
        notes: Number of synthetic notes.
    """
    invented = invented_notes(data, Half.TRAINING, notes, _NOTES_SEED)
    real = (document for corpus in parts for document in corpus.documents)
    return (*real, *invented)


def invented_notes(
    data: Path, half: Half, notes: int, seed: int
) -> tuple[GoldDocument, ...]:
    """Return synthetic notes over the sections of MTS-Dialog.

    Sections that share text with a scored corpus are left out.
    """
    apart = [data / path for name, path in ENGLISH.items() if name in _OF_NOTES]
    found = read_carriers(data / "mts-dialog" / "sections.jsonl")
    usable = marked(without_shared(found, apart), Deidentifier.from_names("lexical"))
    return tuple(generate(half, usable, notes, seed))


def folds(split: Split, count: int, seed: int) -> list[Split]:
    """Return the folds of the split's scored corpus: each document is scored once.

    Args:
        split: The corpus and its name.
        count: Number of folds; Deleger and others 2013 have ten.
        seed: Of the order.
    """
    found = cross_validation.folds(split.corpus.documents, count, seed)
    return [
        replace(
            split, learn=each.learn, corpus=replace(split.corpus, documents=each.score)
        )
        for each in found
    ]


def sample(documents: Documents, most: int, seed: int) -> tuple[GoldDocument, ...]:
    """Return a random sample of documents, or all if there are no more."""
    if most >= len(documents):
        return tuple(documents)
    return tuple(Random(seed).sample(list(documents), most))  # noqa: S311 - no secret


def _read(path: Path, part: str = "all") -> Corpus:
    if not path.exists():
        raise ConfigError(
            f"{path}: not there; name the folder of the corpora with --data"
        )
    return read_corpus(path, part=part)
