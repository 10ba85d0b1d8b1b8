"""The main path of an adaptation: label, learn, label again, learn again, compare."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

from deid_core.config import DeidConfig
from deid_core.detectors.tagger import TaggerOptions
from deid_core.document import Document
from deid_core.errors import ConfigError
from deid_core.pipeline import Deidentifier
from deid_core.policy import load_policy
from deid_core.research.corpora.corpus import Corpus
from deid_core.research.training.encoding import Line
from deid_core.research.training.list_sources import words_of
from deid_core.research.training.recipe import Recipe
from deid_core.research.training.training import OtherLines, marked_lines, train
from deid_core.research.training.weights import Progress, no_progress
from deid_core.tagger.compiled import CompiledModel
from deid_core.tagger.model import Model
from deid_core.tagger.model_files import load_tables, save_model
from deid_core.tagger.words import pieces

from .comparison import Compared, Criterion, Figures, by_record
from .distant import Counted, Labeller, SiteLine
from .exchange import Exchange
from .kept_features import FeatureRule, PublicWords

ROUNDS = 2
COPIES = 2
"""Copies of a line with values, each with other ones."""
HELD_OUT = 5
"""One patient in so many is held out."""
_LEAST_COUNT = 3
"""What annotated corpora hold so often, and not as a value, is a word."""


@dataclass(frozen=True, slots=True)
class Adaptation:
    """The parameters with which a model is adapted.

    Args:
        preset: The system in use.
        recipe: Of the training; it learns our labels and has no rescorer.
        corpora: Annotated corpora to learn from besides.
        dev: Annotated corpora on which the model must not be worse.
        patients: New features must be in the notes of so many patients.
        criterion: How much worse the model may be.
        seed: Of the sample, the exchanged values and the learner.
        version: Of the model.
    """

    preset: DeidConfig
    recipe: Recipe
    corpora: Sequence[Corpus]
    dev: Sequence[Corpus]
    patients: int = 5
    criterion: Criterion = field(default_factory=Criterion)
    seed: int = 1
    version: str = "1"

    def __post_init__(self) -> None:
        where = f"recipe {self.recipe.name!r}"
        if not self.recipe.learned_as:
            raise ConfigError(f"{where}: must learn our labels: [learned_as]")
        if self.recipe.rescoring is not None:
            # It keeps values of the notes, whatever features are kept.
            raise ConfigError(f"{where}: has a rescorer, which holds values of notes")
        if not isinstance(self.preset.options.get("tagger"), TaggerOptions):
            raise ConfigError(f"preset {self.preset.name!r}: has no tagger to adapt")


@dataclass(frozen=True, slots=True)
class Adapted:
    """An adapted model, and what is known of it.

    Args:
        model: The model.
        counted: What became of the lines, by round.
        compared: Each set, the site's first.
        worse: Why the model is refused; empty if it is not.
        notes: Notes learned from, and held out.
        patients: Patients learned from, and held out.
    """

    model: Model
    counted: tuple[Counted, ...]
    compared: tuple[Compared, ...]
    worse: tuple[str, ...]
    notes: tuple[int, int]
    patients: tuple[int, int]


def adapt(
    adaptation: Adaptation,
    notes: Iterable[Document],
    *,
    progress: Progress = no_progress,
) -> Adapted:
    """Return a model adapted to notes with the records of their patients.

    Args:
        adaptation: How.
        notes: Of many patients; those without a record or a patient are left out.
        progress: Called between and within the steps.

    Raises:
        ConfigError: There are too few patients, or the corpora cannot be learned.
    """
    learned, held_out = _split(notes, adaptation)
    system = _System(adaptation)
    counted: list[Counted] = []
    with TemporaryDirectory(prefix="phistream-adapt-") as folder:
        place = system.model
        for number in range(ROUNDS):
            step = _part(progress, number, ROUNDS + 1)
            step(0.0, "labelling the notes")
            labeller = system.labeller(place, is_first=number == 0)
            lines = list(labeller.lines(learned))
            counted.append(labeller.counted)
            model = train(
                adaptation.recipe,
                adaptation.corpora,
                seed=adaptation.seed,
                version=adaptation.version,
                progress=step,
                others=system.others(lines, number),
            )
            place = f"{folder}/{number}"
            save_model(model, Path(place))
        progress(ROUNDS / (ROUNDS + 1), "comparing")
        compared = system.compared(place, [note for _, note in held_out])
    return Adapted(
        model,
        tuple(counted),
        compared,
        tuple(why for each in compared for why in each.worse(adaptation.criterion)),
        (len(learned), len(held_out)),
        (len({number for number, _ in learned}), len({n for n, _ in held_out})),
    )


Numbered = list[tuple[int, Document]]


def _split(
    notes: Iterable[Document], adaptation: Adaptation
) -> tuple[Numbered, Numbered]:
    """Return the notes to learn from and those held out, with their patient's number.

    A patient is in one of them only, whatever else is in the sample.
    """
    numbers: dict[str, int] = {}
    learned, held_out = Numbered(), Numbered()
    for note in notes:
        if not note.known or not note.patient:
            continue
        number = numbers.setdefault(note.patient, len(numbers))
        drawn = hashlib.sha256(f"{adaptation.seed} {note.patient}".encode()).digest()
        part = held_out if drawn[0] % HELD_OUT == 0 else learned
        part.append((number, note))
    least = max(adaptation.patients, 2)
    if not held_out or len({number for number, _ in learned}) < least:
        raise ConfigError(
            f"adapt: notes of {len(numbers)} patients with a record; "
            f"that is too few to learn from {least} and to hold out others"
        )
    return learned, held_out


class _System:
    """The preset with one model or another, and what the annotated corpora tell."""

    def __init__(self, adaptation: Adaptation) -> None:
        self._adaptation = adaptation
        options = adaptation.preset.options["tagger"]
        if not isinstance(options, TaggerOptions):
            raise TypeError("no options of a tagger")
        self._options = options
        self.model = options.model
        self._in_use = CompiledModel(load_tables(self.model))
        self._base = [
            line
            for corpus in adaptation.corpora
            for document in corpus.documents
            for line in marked_lines(document)
        ]
        self._words = _words_of(self._base)

    def with_model(self, model: str) -> Deidentifier:
        """Return the system with a model."""
        preset = self._adaptation.preset
        changed = self._options.model_copy(update={"model": model})
        config = replace(preset, options={**preset.options, "tagger": changed})
        return Deidentifier.from_config(config, load_policy("safe-harbor"))

    def labeller(self, model: str, *, is_first: bool) -> Labeller:
        """Return what labels notes with the help of a model."""
        return Labeller(
            self.with_model(model),
            CompiledModel(load_tables(model)),
            self._in_use,
            self._words,
            self._adaptation.patients,
            is_first,
        )

    def others(self, lines: Sequence[SiteLine], number: int) -> OtherLines:
        """Return a round's lines with other values, and the rule of their features."""
        adaptation = self._adaptation
        public = PublicWords.of(self._base, (each.line for each in lines))
        chance = Random(f"{adaptation.seed} {number}")  # noqa: S311 - no secret
        copies = list(_copies(lines, chance))
        counts = {
            "lines": len(lines),
            "patients": len({each.patient for each in lines}),
            "least_patients": adaptation.patients,
        }
        return OtherLines(
            [each.line for each in copies],
            [each.patient for each in copies],
            FeatureRule(public, adaptation.patients).applied,
            {"site": counts},
        )

    def compared(
        self, model: str, held_out: Sequence[Document]
    ) -> tuple[Compared, ...]:
        """Return the figures of the preset's own model and of another."""
        site, dev = by_record(held_out), self._adaptation.dev
        sides = []
        for place in (self.model, model):
            system = self.with_model(place)
            figures = [Figures.of(system, site, site=True)]
            sides.append(figures + [Figures.of(system, each) for each in dev])
        return tuple(map(Compared, *sides))


def _copies(lines: Iterable[SiteLine], chance: Random) -> Iterator[SiteLine]:
    for each in lines:
        for _ in range(COPIES if each.line.spans else 1):
            yield replace(each, line=Exchange(chance).line(each.line))


def _words_of(base: Iterable[Line]) -> frozenset[str]:
    """Return the words that are nobody's code, as they are written in notes."""
    counts = Counter[str]()
    for line in base:
        at = 0
        for span in line.spans:
            counts.update(pieces(line.text[at : span.start]))
            at = span.end
        counts.update(pieces(line.text[at:]))
    found = {word for word, count in counts.items() if count >= _LEAST_COUNT}
    return frozenset(found | words_of("frequent:en 0-3000"))


def _part(progress: Progress, number: int, parts: int) -> Callable[[float, str], None]:
    def report(share: float, word: str) -> None:
        progress((number + share) / parts, f"round {number + 1}: {word}")

    return report
