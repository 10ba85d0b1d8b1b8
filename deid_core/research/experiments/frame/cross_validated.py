"""Cross-validation: every document is tagged by a system that learned the others."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from deid_core.research.corpora.corpus import Corpus

from .joint import Scored
from .runner import Bench
from .splits import Split, drawn, folds
from .systems import Said, Variant


def crossed(bench: Bench, variant: Variant, parts: Sequence[Split]) -> Scored:
    """Return what a published system says of each fold, put together.

    Args:
        bench: Trains and keeps.
        variant: Which system.
        parts: As `folds` gives them.
    """
    return together((part.corpus, bench.said(variant, part)) for part in parts)


def together(pieces: Iterable[tuple[Corpus, Said]]) -> Scored:
    """Return the pieces of one corpus as one."""
    corpora, saids = zip(*pieces, strict=True)
    documents = [document for corpus in corpora for document in corpus.documents]
    return Scored(
        replace(corpora[0], documents=tuple(documents)),
        Said(
            tuple(each for said in saids for each in said.predictions),
            sum(said.tag_s for said in saids),
            sum(said.train_s for said in saids),
        ),
    )


def few(bench: Bench) -> Split:
    """Return MEDDOCAN with so few documents to learn that sweeps can be afforded."""
    whole = bench.meddocan
    learned = drawn(whole.learn, bench.size(150, 40), bench.seed)
    return whole.learning(learned)


def english_folds(bench: Bench, most_folds: int = 4) -> dict[str, list[Split]]:
    """Return the folds of each English corpus; what is learned is of all three.

    A fold's system learns the other folds' documents of every corpus, so one model
    tags that fold of each: it is trained on a mix of kinds of notes.

    Args:
        bench: Whose corpora.
        most_folds: Two in a quick run.
    """
    count = bench.size(most_folds, 2)
    most = bench.size(1000, 10)
    parts = {
        name: folds(_of_all(name, corpus, most, bench.seed), count, bench.seed)
        for name, corpus in bench.english.items()
    }
    learned = [
        tuple(document for each in same for document in each.learn)
        for same in zip(*parts.values(), strict=True)
    ]
    return {
        name: [part.learning(learn) for part, learn in zip(each, learned, strict=True)]
        for name, each in parts.items()
    }


def english_crossed(
    bench: Bench,
    variant: Variant,
    most_folds: int = 4,
    options: Mapping[str, object] | None = None,
) -> dict[str, Scored]:
    """Return what a published system says of the English corpora, by fold.

    Args:
        bench: Trains and keeps.
        variant: Which system.
        most_folds: As `english_folds` has it.
        options: Of its detector.
    """
    asked = options or {}
    return {
        name: together((p.corpus, bench.said(variant, p, **asked)) for p in parts)
        for name, parts in english_folds(bench, most_folds).items()
    }


def english_account(bench: Bench, most_folds: int = 4) -> str:
    """Return the set-up's line on `english_folds`."""
    parts = english_folds(bench, most_folds)
    sizes = ", ".join(
        f"{name} {sum(len(p.corpus.documents) for p in each)}"
        for name, each in parts.items()
    )
    count = len(next(iter(parts.values())))
    return f"English, parts that may be read, {count}-fold by document: {sizes}"


def _of_all(name: str, corpus: Corpus, most: int, seed: int) -> Split:
    documents = drawn(corpus.documents, most, seed)
    return Split(name, "en", (), replace(corpus, documents=documents))
