"""Cross-validation: documents are tagged by systems that learned from the others."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from deid_core.research.corpora.corpus import Corpus

from .figures import Scored
from .runner import Runner
from .splits import Split, folds, sample
from .systems import SystemOutput, Variant


def concatenated(pieces: Iterable[tuple[Corpus, SystemOutput]]) -> Scored:
    """Return the parts of one corpus, each with its output, as one."""
    corpora, outputs = zip(*pieces, strict=True)
    documents = [document for corpus in corpora for document in corpus.documents]
    return Scored(
        replace(corpora[0], documents=tuple(documents)),
        SystemOutput(
            tuple(each for output in outputs for each in output.predictions),
            sum(output.tag_s for output in outputs),
            sum(output.train_s for output in outputs),
        ),
    )


def english_folds(runner: Runner, most_folds: int = 4) -> dict[str, list[Split]]:
    """Return the folds of each English corpus, to learn from those of all three.

    One model tags the same fold of every corpus.  It is trained on the other folds of
    all corpora, a mix of kinds of notes.  A quick run has two folds.
    """
    count = runner.size(most_folds, 2)
    most = runner.size(1000, 10)
    parts = {
        name: folds(_to_score(name, corpus, most, runner.seed), count, runner.seed)
        for name, corpus in runner.english.items()
    }
    learned = [
        tuple(document for each in same for document in each.learn)
        for same in zip(*parts.values(), strict=True)
    ]
    return {
        name: [part.learning(learn) for part, learn in zip(each, learned, strict=True)]
        for name, each in parts.items()
    }


def _to_score(name: str, corpus: Corpus, most: int, seed: int) -> Split:
    documents = sample(corpus.documents, most, seed)
    return Split(name, "en", (), replace(corpus, documents=documents))


def english_output(
    runner: Runner,
    variant: Variant,
    most_folds: int = 4,
    options: Mapping[str, object] | None = None,
) -> dict[str, Scored]:
    """Return the cross-validated output of a published system on each English corpus.

    Args:
        runner: Trains the system.
        variant: The system.
        most_folds: See `english_folds`.
        options: Of its detector.
    """
    return {
        name: concatenated(
            (part.corpus, runner.output(variant, part, **(options or {})))
            for part in parts
        )
        for name, parts in english_folds(runner, most_folds).items()
    }


def english_account(runner: Runner, most_folds: int = 4) -> str:
    """Return the set-up's line on `english_folds`."""
    parts = english_folds(runner, most_folds)
    sizes = ", ".join(
        f"{name} {sum(len(p.corpus.documents) for p in each)}"
        for name, each in parts.items()
    )
    count = len(next(iter(parts.values())))
    return f"English, parts that may be read, {count}-fold by document: {sizes}"


def meddocan_scored(
    runner: Runner, systems: Sequence[str], ours: str = ""
) -> dict[str, list[Scored]]:
    """Return published systems on `meddocan_sample`, and ours under a name.

    Args:
        runner: Trains the systems.
        systems: Their recipes.
        ours: The name of our preset in the result; empty to leave it out.
    """
    split = runner.meddocan_sample
    found = {
        name: [Scored(split.corpus, runner.output(Variant(name), split))]
        for name in systems
    }
    if ours:
        output = runner.preset_output("meddocan", split.corpus)
        found[ours] = [Scored(split.corpus, output)]
    return found
