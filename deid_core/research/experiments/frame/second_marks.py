"""One annotator's marks as gold for another: people and systems as equals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from deid_core.document import Annotation
from deid_core.errors import ConfigError
from deid_core.research.corpora.corpus import Corpus, GoldDocument, GoldSpan, Prediction
from deid_core.research.corpora.readers import read_corpus

from .runner import Bench
from .scores import sides_of
from .systems import Said


def charged(corpus: Corpus, said: Said) -> Said:
    """Return what was said, but for what is neither right nor wrong by the gold marks.

    One annotator must not be blamed for it by another who leaves it out.
    """
    found = (Prediction(tuple(each.scored())) for each in sides_of(corpus, said))
    return replace(said, predictions=tuple(found))


def as_gold(corpus: Corpus, said: Said) -> Corpus:
    """Return the corpus with what an annotator said as its marks."""
    documents = [
        replace(document, spans=_spans(corpus, each.annotations))
        for document, each in zip(corpus.documents, said.predictions, strict=True)
    ]
    return replace(corpus, documents=tuple(documents))


def _spans(corpus: Corpus, said: Sequence[Annotation]) -> tuple[GoldSpan, ...]:
    spoken = corpus.conventions
    return tuple(
        GoldSpan(each.span, spoken.tag_of(each.label), spoken.fold(each.label), at)
        for at, each in enumerate(said)
    )


def as_said(corpus: Corpus) -> Said:
    """Return a person's marks as if a system had said them."""
    return Said(tuple(_prediction(each) for each in corpus.documents), 0.0)


def _prediction(document: GoldDocument) -> Prediction:
    found: list[Annotation] = []
    for each in document.spans:
        if each.label and (not found or each.span.start >= found[-1].span.end):
            found.append(Annotation(each.span, each.label, 1.0, "person", tag=each.tag))
    return Prediction(tuple(found))


def second_marks(bench: Bench) -> tuple[Corpus, Corpus] | None:
    """Return the documents that a second person marked: as at hand, and as marked.

    Raises:
        ConfigError: The folder holds no document of the corpora, or another text.
    """
    folder = bench.second_annotator
    if folder is None:
        return None
    names = {file.stem for file in folder.glob("*.txt")}
    for corpus in (bench.meddocan.corpus, *bench.english.values()):
        shared = tuple(each for each in corpus.documents if each.id in names)
        if shared:
            return replace(corpus, documents=shared), _read(folder, corpus, shared)
    raise ConfigError(
        f"{folder}: no .txt file is named like a document of the corpora; name each "
        "after the document's id"
    )


def _read(folder: Path, corpus: Corpus, shared: tuple[GoldDocument, ...]) -> Corpus:
    marked = read_corpus(folder, format="brat", conventions=corpus.conventions.name)
    by_id = {each.id: each for each in marked.documents}
    found = tuple(by_id[each.id] for each in shared)
    for number, (here, there) in enumerate(zip(shared, found, strict=True), start=1):
        if here.text != there.text:
            raise ConfigError(
                f"{folder}: document {number} has another text than the corpus's; "
                "mark the corpus's own"
            )
    return replace(marked, documents=found)
