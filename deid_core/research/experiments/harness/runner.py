"""The experiment runner: corpora by name, systems trained once and kept."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

from deid_core.research.corpora.corpus import Corpus, GoldDocument

from . import splits, systems
from .splits import Split
from .systems import SystemOutput, Variant


@dataclass
class Runner:
    """Settings and results that experiments share.

    Args:
        data: The folder of the corpora.
        models: Where trained systems are kept; a later run finds them there.
        quick: Use a part of each corpus and few repetitions, to test that all works.
        seed: Of everything random.
        progress: Called with a line about each step.
        mesh: A file for `read_mesh`, if the user has one.
        second_annotator: A brat folder with another person's annotations of documents
            in the corpora, if the user has one.
        ward: Returns so many notes, each with its patient's record.
        libraries: Where other de-identification systems were installed; None for the
            environment of this process.
    """

    data: Path
    models: Path
    quick: bool = False
    seed: int = 1
    progress: Callable[[str], None] = lambda _: None
    mesh: Path | None = None
    second_annotator: Path | None = None
    ward: Callable[[int], Corpus] | None = None
    libraries: Path | None = None
    _outputs: dict[str, SystemOutput] = field(default_factory=dict)

    def size(self, full: int, quick: int) -> int:
        """Return the size for a full run, or that for a quick one."""
        return quick if self.quick else full

    @cached_property
    def meddocan(self) -> Split:
        """MEDDOCAN (Spanish): train to learn from, dev to score."""
        learn, score = self.size(500, 12), self.size(250, 6)
        return splits.meddocan(self.data, learn=learn, score=score, seed=self.seed)

    @cached_property
    def meddocan_sample(self) -> Split:
        """MEDDOCAN with few documents to learn from, for experiments with many runs."""
        whole = self.meddocan
        return whole.learning(splits.sample(whole.learn, self.size(150, 40), self.seed))

    @cached_property
    def english(self) -> dict[str, Corpus]:
        """The development parts of the English corpora, by name."""
        found = splits.english(self.data, part="dev")
        return {
            name: replace(corpus, documents=corpus.documents[: self.size(1000, 10)])
            for name, corpus in found.items()
        }

    @cached_property
    def english_notes(self) -> tuple[GoldDocument, ...]:
        """Training documents in English: the development parts and synthetic notes."""
        self.progress("inventing English notes to learn from")
        notes = splits.english_notes(
            self.data, self.english.values(), self.size(600, 40)
        )
        return tuple(notes)

    @cached_property
    def english_scored(self) -> dict[str, Corpus]:
        """The test parts of the English corpora; in a quick run, the training parts."""
        if not self.quick:
            return splits.english(self.data, part="test")
        return self.english

    def output(self, variant: Variant, split: Split, **options: object) -> SystemOutput:
        """Return the output of a published system, trained and run on a split.

        Args:
            variant: The system.
            split: Training documents and scored documents.
            options: Of its detector: ``outside_bias``, ``post_rules`` and others.
        """
        documents = split.corpus.documents
        learn = systems.fingerprint(split.learn)
        key = systems.digest(variant, learn, systems.fingerprint(documents), options)
        if key not in self._outputs:
            self.progress(f"{variant.recipe}: training on {len(split.learn)} documents")
            preset, seconds = systems.train_variant(
                variant, split, self.models, self.mesh
            )
            self.progress(f"{variant.recipe}: tagging {len(documents)} documents")
            found = systems.classifier_output(preset, documents, options)
            self._outputs[key] = replace(found, train_s=seconds)
        return self._outputs[key]

    def preset_output(self, preset: str, corpus: Corpus) -> SystemOutput:
        """Return what a preset of the library detects."""
        documents = corpus.documents
        key = systems.digest(preset, systems.fingerprint(documents))
        if key not in self._outputs:
            self.progress(f"{preset}: scrubbing {len(documents)} documents")
            self._outputs[key] = systems.preset_output(preset, documents)
        return self._outputs[key]

    def retrained_output(self, preset: str, split: Split) -> SystemOutput:
        """Return what a preset detects with its tagger trained on a split.

        Args:
            preset: With a tagger whose recipe has its name: ``meddocan``.
            split: Training documents and scored documents.
        """
        self.progress(f"{preset}: training on {len(split.learn)} documents")
        learn = replace(split.corpus, documents=split.learn)
        prints = (preset, self.seed, systems.fingerprint(split.learn))
        model = self.models / f"own-{preset}-{systems.digest(*prints)}"
        systems.train_tagger(preset, [learn], model, self.seed, version="1")
        config = systems.with_tagger(preset, model=str(model))
        config = systems.without_absent_tags(config)
        return systems.pipeline_output(config, split.corpus.documents)

    def account(self, *splits: Split) -> tuple[str, ...]:
        """Return the set-up's lines of a report."""
        size = ("quick: a part of each corpus; the figures mean little",)
        lines = (*(each.account for each in splits), f"seed {self.seed}")
        return (*lines, *size) if self.quick else lines
