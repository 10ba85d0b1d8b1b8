"""Where experiments work: corpora by name, systems trained once and kept."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

from deid_core.research.corpora.corpus import Corpus, GoldDocument

from . import splits, systems
from .splits import Split
from .systems import Said, Variant


@dataclass
class Bench:
    """What experiments share.

    Args:
        data: The folder of the corpora.
        models: Where trained systems are kept; a later run finds them there.
        quick: A part of each corpus, few repetitions: shows that all works, no more.
        seed: What all chance hangs on.
        tell: Called with what is being done.
        mesh: A medical vocabulary, where the user has one; see `read_mesh`.
        second_annotator: A brat folder of another person's marks of documents that
            the corpora hold, where the user has one.
        ward: Writes so many notes, each with its patient's record, where there is one
            who can.
    """

    data: Path
    models: Path
    quick: bool = False
    seed: int = 1
    tell: Callable[[str], None] = lambda _: None
    mesh: Path | None = None
    second_annotator: Path | None = None
    ward: Callable[[int], Corpus] | None = None
    _kept: dict[str, Said] = field(default_factory=dict)

    def size(self, full: int, quick: int) -> int:
        """Return a size: of a full run, or of a quick one."""
        return quick if self.quick else full

    @cached_property
    def meddocan(self) -> Split:
        """MEDDOCAN (Spanish): its train part learned, its dev part scored."""
        learn, score = self.size(500, 12), self.size(250, 6)
        return splits.meddocan(self.data, learn=learn, score=score, seed=self.seed)

    @cached_property
    def english(self) -> dict[str, Corpus]:
        """The English corpora by name: the parts that may be read."""
        found = splits.english(self.data, part="dev")
        return {
            name: replace(corpus, documents=corpus.documents[: self.size(1000, 10)])
            for name, corpus in found.items()
        }

    @cached_property
    def english_notes(self) -> tuple[GoldDocument, ...]:
        """What English systems learn from: the parts that may be read, and carriers."""
        self.tell("inventing English notes to learn from")
        notes = splits.english_notes(
            self.data, self.english.values(), self.size(600, 40)
        )
        return tuple(notes)

    @cached_property
    def english_scored(self) -> dict[str, Corpus]:
        """The English corpora's parts that are only scored; in a quick run, not even.

        A quick run scores what it learned from.
        """
        if not self.quick:
            return splits.english(self.data, part="test")
        return self.english

    def said(self, variant: Variant, split: Split, **options: object) -> Said:
        """Return what a published system says of the split's scored documents.

        Args:
            variant: Which, and how it is changed.
            split: What it learns, and what it is asked.
            options: Of its detector: ``outside_bias``, ``post_rules`` and the like.
        """
        asked = split.corpus.documents
        learn = systems.fingerprint(split.learn)
        key = systems.digest(variant, learn, systems.fingerprint(asked), options)
        if key not in self._kept:
            self.tell(f"{variant.recipe}: training on {len(split.learn)} documents")
            preset, seconds = systems.trained(variant, split, self.models, self.mesh)
            self.tell(f"{variant.recipe}: tagging {len(asked)} documents")
            said = systems.classifier_says(preset, asked, options)
            self._kept[key] = replace(said, train_s=seconds)
        return self._kept[key]

    def ours(self, preset: str, corpus: Corpus) -> Said:
        """Return what one of the library's own presets replaces."""
        asked = corpus.documents
        key = systems.digest(preset, systems.fingerprint(asked))
        if key not in self._kept:
            self.tell(f"{preset}: scrubbing {len(asked)} documents")
            self._kept[key] = systems.preset_says(preset, asked)
        return self._kept[key]

    def account(self, *splits: Split) -> tuple[str, ...]:
        """Return the set-up's lines of a report."""
        size = ("quick: a part of each corpus; the figures mean little",)
        lines = (*(each.account for each in splits), f"seed {self.seed}")
        return (*lines, *size) if self.quick else lines
