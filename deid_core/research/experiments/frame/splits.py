"""What is learned from and what is scored, on the corpora at hand."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random

from deid_core.errors import ConfigError
from deid_core.pipeline import Deidentifier
from deid_core.research.corpora.corpus import Corpus, GoldDocument
from deid_core.research.corpora.readers import read_corpus
from deid_core.research.scoring import cross_validation
from deid_core.research.synthetic_notes import (
    Half,
    generate,
    marked,
    read_carriers,
    without_shared,
)

_CARRIER_SEED = 11
_OF_NOTES = ("aci-bench", "mtsamples")

Documents = Sequence[GoldDocument]
ENGLISH = {
    "aci-bench": "aci-bench/notes.jsonl",
    "mtsamples": "mtsamples/notes.jsonl",
    "asq-phi": "asq-phi/queries.jsonl",
}
"""Where each English corpus lies in the data's folder."""


@dataclass(frozen=True, slots=True)
class Split:
    """One way to part a corpus.

    Args:
        name: For titles: ``MEDDOCAN train / dev``.
        language: ISO 639.
        learn: What systems are trained on.
        corpus: What is scored, with its conventions.
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
        """Return the split with other documents to learn from."""
        return replace(self, learn=tuple(learn))


def meddocan(data: Path, *, learn: int, score: int, seed: int) -> Split:
    """Return MEDDOCAN's train and dev, or so many documents of each, drawn.

    Raises:
        ConfigError: The corpus is not there.
    """
    train, dev = (_read(data / "meddocan" / part) for part in ("train", "dev"))
    learned = drawn(train.documents, learn, seed)
    scored = replace(dev, documents=drawn(dev.documents, score, seed))
    return Split("MEDDOCAN train / dev", "es", learned, scored)


def english(data: Path, *, part: str) -> dict[str, Corpus]:
    """Return a part of each English corpus, by name.

    Args:
        part: ``dev`` is to be read, ``test`` only to be scored.
    """
    return {name: _read(data / path, part) for name, path in ENGLISH.items()}


def english_notes(data: Path, parts: Iterable[Corpus], notes: int) -> Documents:
    """Return marked English documents to learn from: real ones, and invented notes.

    Args:
        parts: The corpora whose documents may be read.
        notes: How many to invent.
    """
    invented = carrier_notes(data, Half.TRAINING, notes, _CARRIER_SEED)
    real = (document for corpus in parts for document in corpus.documents)
    return (*real, *invented)


def carrier_notes(
    data: Path, half: Half, notes: int, seed: int
) -> tuple[GoldDocument, ...]:
    """Return invented notes over the sections of MTS-Dialog.

    Sections that share text with a corpus that is scored are left out.
    """
    apart = [data / path for name, path in ENGLISH.items() if name in _OF_NOTES]
    found = read_carriers(data / "mts-dialog" / "sections.jsonl")
    usable = marked(without_shared(found, apart), Deidentifier.from_names("lexical"))
    return tuple(generate(half, usable, notes, seed))


def folds(split: Split, count: int, seed: int) -> list[Split]:
    """Return the split's scored corpus in folds: each part scored once.

    Args:
        count: How many, by document; Deleger and others take ten.
        seed: Of the order.
    """
    found = cross_validation.folds(split.corpus.documents, count, seed)
    return [
        replace(
            split, learn=each.learn, corpus=replace(split.corpus, documents=each.score)
        )
        for each in found
    ]


def drawn(documents: Documents, most: int, seed: int) -> tuple[GoldDocument, ...]:
    """Return so many documents, drawn; all of them where there are no more."""
    if most >= len(documents):
        return tuple(documents)
    return tuple(Random(seed).sample(list(documents), most))  # noqa: S311  # likewise


def _read(path: Path, part: str = "all") -> Corpus:
    if not path.exists():
        raise ConfigError(
            f"{path}: not there; name the folder that holds the corpora with --data"
        )
    return read_corpus(path, part=part)
