"""The main path of a document: read, detect, propagate, merge, replace, verify."""

from __future__ import annotations

import copy
import gc
import pickle
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import lru_cache, partial
from itertools import compress

from .config import DEFAULT_LANGUAGES, DeidConfig, OtherLanguages, load_preset
from .detection import Outcome, Proposals, detect, each_then, without_narrative
from .detectors import Detector
from .detectors.terms import KeptTerms
from .document import Document, KnownIdentifiers, ScrubbedDocument
from .errors import ConfigError, DeidError, DetectorFailed
from .explain import Explanation, explanation
from .field_types import wrong_type
from .labels import Label
from .language.identify import Language, LanguageCheck
from .language.line_ends import mended
from .language.reading import Reading, readings_of
from .merge import merge
from .policy import Policy, load_policy
from .propagation import with_propagated
from .quiet import QuietOptions, without_doubtful
from .replace import Replacement, Replacer, apply_replacements
from .runtime.first_notes import FIRST_NOTES
from .runtime.jit import compiling, count_uncompiled, is_compiled
from .spans_in_note import as_written, in_note
from .surrogates.tag import tag_of
from .term_files import NO_FILES, TermFiles
from .verify import Verifier

Readings = tuple[Reading, ...]


_MOST_UNPICKLED = 4


class Deidentifier:
    """Remove PHI from documents.  Thread-safe.

    Its caches change no result; what they hold of notes and records goes with it.

    One that a preset and a policy describe can be pickled, unless it has a key: another
    process builds it again, once, and keeps it.

    Args:
        detectors: All of them must succeed on a document, or it is refused.
        policy: What is written instead.
        key: 32 secret bytes or more, for a policy that needs them.
        recasing: Detectors read a note in one letter case as if in mixed case.
        consistency: What was found once is found everywhere (`propagation`).
        kept: Terms that are not removed where they are nothing else.
        quiet: When doubtful proposals are dropped; None for never.
        languages: Those that the detectors read, English by default, as in a
            preset; none: any, unchecked.
        other_languages: What is done with a document that is surely in another.

    Raises:
        ConfigError: The policy needs a key and there is none, or it is too short.
    """

    def __init__(
        self,
        detectors: Sequence[Detector],
        policy: Policy,
        key: bytes | None = None,
        *,
        recasing: bool = True,
        consistency: bool = True,
        kept: KeptTerms | None = None,
        quiet: QuietOptions | None = None,
        languages: Sequence[str] = DEFAULT_LANGUAGES,
        other_languages: OtherLanguages = OtherLanguages.REFUSE,
    ) -> None:
        self._detectors = tuple(detectors)
        self._truecases, self._propagates = recasing, consistency
        self._kept, self._quiet = kept, quiet
        self._check = LanguageCheck(languages) if languages else None
        self._refuses = other_languages is OtherLanguages.REFUSE
        self._replacer = Replacer(policy, key)
        self._verifier = Verifier()
        self._described_by: tuple[DeidConfig, Policy] | None = None

    @classmethod
    def from_names(
        cls,
        preset: str = "hybrid",
        policy: str = "safe-harbor",
        key: bytes | None = None,
        *,
        terms: TermFiles = NO_FILES,
    ) -> Deidentifier:
        """Return the system that a preset and a policy name.

        Args:
            preset: Detection.
            policy: Replacement.
            key: 32 secret bytes or more, for a policy that needs them.
            terms: Lists of names and terms to remove and to keep, besides the preset's.

        Raises:
            ConfigError: One of them is unknown or wrong; the message lists the known.
        """
        config = load_preset(preset)
        config = replace(config, terms=config.terms | terms)
        return cls.from_config(config, load_policy(policy), key)

    @classmethod
    def from_config(
        cls, config: DeidConfig, policy: Policy, key: bytes | None = None
    ) -> Deidentifier:
        """Return the system that a loaded preset and policy describe."""
        with _without_collections(), compiling():
            built = cls(
                config.build(),
                policy,
                key,
                recasing=config.recasing,
                consistency=config.consistency,
                kept=config.kept_terms(),
                quiet=config.quiet,
                languages=config.languages,
                other_languages=config.other_languages,
            )
            if is_compiled():
                built._read_first_notes()
        built._described_by = config, policy
        return built

    def __copy__(self) -> Deidentifier:
        """Return one that shares detectors and caches, as no unpickled one does."""
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__)
        return other

    def __reduce__(self) -> tuple[Callable[[bytes], Deidentifier], tuple[bytes]]:
        """Return what another process builds the same system of.

        Raises:
            TypeError: It has a key, or detectors that no preset describes.
        """
        if self._replacer.key_id:
            # Pickles are written to the disks of schedulers.
            reason = "its key would be in the pickle"
        elif self._described_by is None:
            reason = "no preset describes its detectors"
        else:
            return _unpickled, (pickle.dumps(self._described_by),)
        raise TypeError(
            f"cannot pickle this Deidentifier: {reason}; build one in each process, "
            "e.g. in the initializer of a pool"
        )

    def with_key(self, key: bytes) -> Deidentifier:
        """Return the same system with another key; detectors are shared.

        Without a style that needs a key it is this very system.

        Raises:
            ConfigError: The key is too short.
        """
        replacer = self._replacer.with_key(key)
        if replacer is self._replacer:
            return self
        other = copy.copy(self)
        other._replacer = replacer  # noqa: SLF001  # a copy of this class
        return other

    def deidentify(self, document: Document) -> ScrubbedDocument:
        """Return the document with every detected span replaced.

        Raises:
            DetectorFailed: A detector broke on the document.
            ResidueFound: A value leaked.
            OtherLanguage: It is in a language that is not read.
        """
        [result] = self.deidentify_batch([document])
        if isinstance(result, DeidError):
            raise result
        return result

    def deidentify_batch(
        self, documents: Iterable[Document]
    ) -> list[ScrubbedDocument | DeidError]:
        """Return, for each document, its scrubbed form or why it is refused."""
        documents = _checked(documents)
        if not is_compiled():
            count_uncompiled(len(documents))
        readings = [_readings_of(document) for document in documents]
        return self._results(documents, readings, self._languages(readings))

    def explain(self, documents: Iterable[Document]) -> list[Explanation]:
        """Return how each document of a batch became what `deidentify_batch` returns.

        An explanation holds the note: show it only to those who may read that.
        """
        documents = _checked(documents)
        readings = [_readings_of(document) for document in documents]
        others = self._languages(readings)
        outcomes = self._outcomes(documents, readings, others)
        results = map(self._result, documents, readings, outcomes, others)
        proposals = [outcome.proposals for outcome in outcomes]
        return list(map(explanation, documents, proposals, results))

    def replaced_value(self, document: Document, label: Label, value: str) -> str:
        """Return what a single value of a document's patient is replaced by.

        For fields outside of any note; see `Replacer.value`.
        """
        written = self._replacer.value(document, label, readings_of(value)[0].text)
        return tag_of(label) if self._leaks(document, label, written) else written

    def leaked_in(self, known: KnownIdentifiers, texts: Iterable[str]) -> Counter[str]:
        """Return how many values of a record leak in texts; see `Verifier`."""
        return self._verifier.leaked_in(known, texts)

    def leaked_beside(self, document: Document, texts: Iterable[str]) -> Counter[str]:
        """Return how many values that the policy withholds leak in texts.

        Args:
            document: Gives the record and the note type; its text is not looked at.
            texts: Outputs that were not written by `deidentify`, e.g. a whole message.
        """
        return self._verifier.leaked_in(self._replacer.withheld(document), texts)

    def _read_first_notes(self) -> None:
        """Compile what notes need, so that the first one costs no more than the next.

        Raises:
            ConfigError: All of them are refused.
        """
        # They are in languages that not all presets read.
        readings = [_readings_of(note) for note in FIRST_NOTES]
        results = self._results(FIRST_NOTES, readings, [None] * len(readings))
        errors = [result for result in results if isinstance(result, DeidError)]
        if len(errors) == len(results):
            raise ConfigError(f"every invented note is refused: {errors[0]}")

    def _results(
        self,
        documents: Sequence[Document],
        readings: Sequence[Readings],
        others: Sequence[Language | None],
    ) -> list[ScrubbedDocument | DeidError]:
        outcomes = self._outcomes(documents, readings, others)
        return list(map(self._result, documents, readings, outcomes, others))

    def _languages(self, readings: Sequence[Readings]) -> list[Language | None]:
        """Return the language of each document that is in one that is not read."""
        if self._check is None:
            return [None] * len(readings)
        return [self._check.other(first.text) for first, *_ in readings]

    def _outcomes(
        self,
        documents: Sequence[Document],
        readings: Sequence[Readings],
        others: Sequence[Language | None],
    ) -> list[Outcome]:
        """Detect in all documents that are not refused for their language."""
        if self._check is None or not self._refuses or not any(others):
            return self._detected(documents, readings)
        is_read = [other is None for other in others]
        kept, own = compress(documents, is_read), compress(readings, is_read)
        detected = iter(self._detected([*kept], [*own]))
        refusal = self._check.refusal
        return [
            next(detected) if other is None else Outcome(refused=refusal(other))
            for other in others
        ]

    def _detected(
        self, documents: Sequence[Document], readings: Sequence[Readings]
    ) -> list[Outcome]:
        """Read, detect and propagate."""
        written = [
            _with_text(document, reading.text)
            for document, own in zip(documents, readings, strict=True)
            for reading in own
        ]
        notes = [number for number, own in enumerate(readings) for _ in own]
        # Detectors read a note in one letter case in mixed case: same offsets.
        cased = (
            [document.in_mixed_case for document in written]
            if self._truecases
            else written
        )
        outcomes = detect(self._detectors, written, cased)
        outcomes = each_then("narrative", without_narrative, written, outcomes)
        if self._quiet is not None:
            step = partial(without_doubtful, self._quiet)
            outcomes = each_then("quiet", step, written, outcomes)
        if self._kept is not None:
            outcomes = each_then("terms", self._kept.without_kept, written, outcomes)
        if self._propagates:
            outcomes = with_propagated(cased, outcomes, notes)
            outcomes = each_then("narrative", without_narrative, written, outcomes)
        of_readings = iter(each_then("shift", self._accompanied, written, outcomes))
        return [in_note(own, [next(of_readings) for _ in own]) for own in readings]

    def _accompanied(self, document: Document, proposals: Proposals) -> Proposals:
        return [*proposals, *self._replacer.companions(document)]

    def _result(
        self,
        document: Document,
        readings: Readings,
        outcome: Outcome,
        other: Language | None,
    ) -> ScrubbedDocument | DeidError:
        if outcome.refused is not None:
            return outcome.refused
        try:
            scrubbed = self._scrubbed(document, readings, outcome.proposals)
            return replace(scrubbed, other_language=other.tag) if other else scrubbed
        except DeidError as error:
            return error
        except Exception as error:
            # A bug of ours must refuse this document, not stop the stream with it.
            return DetectorFailed(f"after detection: {type(error).__name__}")

    def _scrubbed(
        self, document: Document, readings: Readings, proposals: Proposals
    ) -> ScrubbedDocument:
        """Merge, replace and verify."""
        merged = merge(proposals)
        annotations, values = as_written(document.text, readings, merged)
        replacements = [
            self._without_leak(document, replacement)
            for replacement in self._replacer.replacements(
                document, annotations, proposals, values
            )
        ]
        text, offset_map = apply_replacements(document.text, replacements)
        known = self._replacer.withheld(document)
        self._verifier.verify(
            document.text, known, text, offset_map, annotations, proposals
        )
        return ScrubbedDocument(
            document.id, text, tuple(annotations), offset_map, self._replacer.key_id
        )

    def _without_leak(self, document: Document, written: Replacement) -> Replacement:
        label = written.annotation.label
        if self._leaks(document, label, written.surrogate):
            return replace(written, surrogate=tag_of(label))
        return written

    def _leaks(self, document: Document, label: Label, written: str) -> bool:
        """Return whether the policy keeps a value that the record withholds."""
        return self._replacer.may_keep(document, label) and bool(
            self._verifier.leaked_in(self._replacer.withheld(document), [written])
        )


def _readings_of(document: Document) -> Readings:
    """Return how a note may be read, the lines around cut words once more."""
    readings = readings_of(document.text)
    across = mended(document.text, numbers=bool(document.known))
    return readings if across is None else (*readings, across)


def _checked(documents: Iterable[Document]) -> list[Document]:
    checked = list(documents)
    for document in checked:
        if not isinstance(document, Document):
            raise wrong_type("document", document, Document)
    return checked


@lru_cache(maxsize=_MOST_UNPICKLED)
def _unpickled(description: bytes) -> Deidentifier:
    """Return the system that preset and policy describe, built once a process.

    Pools send a function, and with it its system, once for every few notes.
    """
    # They were part of the pickle that is being loaded.
    config, policy = pickle.loads(description)  # noqa: S301
    return Deidentifier.from_config(config, policy)


def _with_text(document: Document, text: str) -> Document:
    # Most notes read as they are written, in mixed case: they stay the same object.
    return document if text is document.text else replace(document, text=text)


@contextmanager
def _without_collections() -> Iterator[None]:
    """Collect no garbage: what is loaded stays, and takes long to search."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
