"""The way of a note: read, detect, echo, merge, replace, verify.  Read this first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from .config import DeidConfig, load_preset
from .detectors import Detector
from .detectors.terms import NO_FILES, KeptTerms, TermFiles
from .document import Annotation, Document, KnownIdentifiers, ScrubbedDocument
from .errors import DeidError, DetectorFailed
from .explain import Explanation, explanation
from .labels import Label
from .language.reading import Reading, readings_of
from .language.truecasing import truecased
from .merge import merge
from .policy import Policy, load_policy
from .propagation import propagated
from .replace import Replacement, Replacer, apply_replacements
from .spans_in_note import in_note, values_in, with_invisible
from .surrogates.tag import tag_of
from .verify import residue_in, verify

Proposals = list[Annotation] | DetectorFailed
Readings = tuple[Reading, ...]


class Deidentifier:
    """Remove PHI from documents.  Thread-safe; what it caches changes no result.

    Args:
        detectors: All of them must succeed on a document, or it is refused.
        policy: What is written instead.
        key: 32 secret bytes or more, for a policy that needs them.
        recasing: Detectors read a note in one letter case as if in mixed case.
        consistency: What was found once is sought everywhere.
        kept: Terms that are not removed where they are nothing else.

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
    ) -> None:
        self._detectors = tuple(detectors)
        self._truecase = truecased if recasing else _as_written
        self._is_consistent = consistency
        self._kept = kept
        self._replacer = Replacer(policy, key)

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
        return cls(
            config.build(),
            policy,
            key,
            recasing=config.recasing,
            consistency=config.consistency,
            kept=config.kept_terms(),
        )

    def deidentify(self, document: Document) -> ScrubbedDocument:
        """Return the document with every detected span replaced.

        Raises:
            DetectorFailed: A detector broke on the document.
            ResidueFound: A value of the patient's record survived.
        """
        [result] = self.deidentify_batch([document])
        if isinstance(result, DeidError):
            raise result
        return result

    def deidentify_batch(
        self, documents: Sequence[Document]
    ) -> list[ScrubbedDocument | DeidError]:
        """Return, for each document, its scrubbed form or why it is refused."""
        readings = [readings_of(each.text) for each in documents]
        proposals = self._proposals(documents, readings)
        return list(map(self._finish, documents, readings, proposals))

    def explain(self, documents: Sequence[Document]) -> list[Explanation]:
        """Return how each document of a batch became what `deidentify_batch` returns.

        An explanation holds the note: it is for the eyes of who may read that.
        """
        readings = [readings_of(each.text) for each in documents]
        proposals = self._proposals(documents, readings)
        results = map(self._finish, documents, readings, proposals)
        return list(map(explanation, documents, proposals, results))

    def _proposals(
        self, documents: Sequence[Document], readings: Sequence[Readings]
    ) -> list[Proposals]:
        """Return the proposals for each document, by all of its readings."""
        read = [
            _with_text(document, reading.text)
            for document, own in zip(documents, readings, strict=True)
            for reading in own
        ]
        found = iter(self._proposals_for(read))
        return [_in_note(own, [next(found) for _ in own]) for own in readings]

    def _proposals_for(self, documents: Sequence[Document]) -> list[Proposals]:
        # Detectors read the note as it would be written in mixed case: same offsets.
        read = [_with_text(each, self._truecase(each.text)) for each in documents]
        detected = [
            self._detect(each, documents if _reads_as_written(each) else read)
            for each in self._detectors
        ]
        joined = map(_joined, zip(*detected, strict=True))
        proposals = list(map(self._without_kept, documents, joined))
        if self._is_consistent:
            proposals = self._with_propagated(read, proposals)
        return [
            each
            if isinstance(each, DetectorFailed)
            else each + self._replacer.companions(document)
            for document, each in zip(documents, proposals, strict=True)
        ]

    def _detect(
        self, detector: Detector, documents: Sequence[Document]
    ) -> Sequence[Proposals]:
        proposals = _try(detector, documents)
        if not isinstance(proposals, DetectorFailed):
            return proposals
        # One bad document must not harm the others: find out which it is.
        alone = (_try(detector, [document]) for document in documents)
        return [p if isinstance(p, DetectorFailed) else p[0] for p in alone]

    def _without_kept(self, document: Document, proposals: Proposals) -> Proposals:
        """Return the proposals without those of terms that the user keeps."""
        if self._kept is None or isinstance(proposals, DetectorFailed):
            return proposals
        try:
            return self._kept.without_kept(document.text, proposals)
        except Exception as error:
            return DetectorFailed(f"terms: {type(error).__name__}")

    def _with_propagated(
        self, documents: Sequence[Document], proposals: Sequence[Proposals]
    ) -> list[Proposals]:
        """Return the proposals, and where else their values stand."""
        found = [[] if isinstance(p, DetectorFailed) else p for p in proposals]
        try:
            repeated = propagated(documents, found)
        except Exception as error:
            # Without echoes a name would stay: none of these notes may go out.
            failed = DetectorFailed(f"consistency: {type(error).__name__}")
            return [failed] * len(documents)
        return [
            each if isinstance(each, DetectorFailed) else each + more
            for each, more in zip(proposals, repeated, strict=True)
        ]

    def _finish(
        self, document: Document, readings: Readings, proposals: Proposals
    ) -> ScrubbedDocument | DeidError:
        try:
            return self._scrub(document, readings, proposals)
        except DeidError as error:
            return error
        except Exception as error:
            # A bug of ours must refuse this document, not stop the stream with it.
            return DetectorFailed(f"after detection: {type(error).__name__}")

    def _scrub(
        self, document: Document, readings: Readings, proposals: Proposals
    ) -> ScrubbedDocument:
        if isinstance(proposals, DetectorFailed):
            raise proposals
        annotations, values = merge(proposals), None
        if not _is_as_written(document, readings):
            annotations = with_invisible(document.text, annotations)
            values = values_in(document.text, readings, annotations)
        replacer = self._replacer
        known = replacer.withheld(document)
        written = replacer.replacements(document, annotations, proposals, values)
        replacements = self._without_residue(document, known, written)
        text, offset_map = apply_replacements(document.text, replacements)
        is_all = known is document.known
        shown = document if is_all else replace(document, known=known)
        verify(shown, text, offset_map, annotations, proposals)
        return ScrubbedDocument(
            document.id, text, tuple(annotations), offset_map, replacer.key_id
        )

    def _without_residue(
        self,
        document: Document,
        known: KnownIdentifiers,
        replacements: Sequence[Replacement],
    ) -> list[Replacement]:
        """Write the tag for every value that the policy keeps but the record withholds.

        Args:
            document: The note.
            known: The record, without what the policy lets a reader see.
            replacements: What the policy writes.
        """
        return [
            replace(each, surrogate=tag_of(each.annotation.label))
            if self._replacer.may_keep(document, each.annotation.label)
            and residue_in(known, [each.surrogate])
            else each
            for each in replacements
        ]

    def replaced_value(self, document: Document, label: Label, value: str) -> str:
        """Return what a single value of a document's patient is replaced by.

        For fields outside of any note; see `Replacer.value`.
        """
        replacer = self._replacer
        written = replacer.value(document, label, readings_of(value)[0].text)
        if not replacer.may_keep(document, label):
            return written
        is_leak = residue_in(replacer.withheld(document), [written])
        return tag_of(label) if is_leak else written


def _as_written(text: str) -> str:
    return text


def _with_text(document: Document, text: str) -> Document:
    # Most notes are in mixed case, and stay the very same.
    return document if text is document.text else replace(document, text=text)


def _is_as_written(document: Document, readings: Readings) -> bool:
    return readings[0].text is document.text


def _in_note(readings: Readings, proposals: Sequence[Proposals]) -> Proposals:
    """Return the proposals for the readings of one note, with spans of the note."""
    found: list[list[Annotation]] = []
    for each in proposals:
        if isinstance(each, DetectorFailed):
            return each
        found.append(each)
    try:
        return in_note(readings, found)
    except ValueError:
        return DetectorFailed("a detector's proposal lies beyond the note")


def _reads_as_written(detector: Detector) -> bool:
    """Return whether a detector judges letter case by itself."""
    return bool(getattr(detector, "reads_as_written", False))


def _joined(detected: Sequence[Proposals]) -> Proposals:
    """Return all detectors' proposals for a document, or that one of them failed."""
    joined: list[Annotation] = []
    for each in detected:
        if isinstance(each, DetectorFailed):
            return each
        joined += each
    return joined


def _try(
    detector: Detector, documents: Sequence[Document]
) -> list[list[Annotation]] | DetectorFailed:
    try:
        proposals = detector(documents)
        if len(proposals) == len(documents) and None not in proposals:
            return proposals
    except Exception as error:
        # The class only: the message of a foreign exception can quote the note.
        return DetectorFailed(f"detector {detector.name!r}: {type(error).__name__}")
    return DetectorFailed(f"detector {detector.name!r}: its results are not aligned")
