"""The way of a note: detect, merge, replace, verify.  Read this module first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from .config import DeidConfig, load_preset
from .detectors import Detector
from .document import Annotation, Document
from .errors import DeidError, DetectorFailed
from .merge import merge
from .policy import Policy, load_policy
from .replace import OffsetMap, Replacement, apply_replacements
from .surrogates import STYLES
from .verify import verify

Proposals = list[Annotation] | DetectorFailed


@dataclass(frozen=True, slots=True)
class ScrubbedDocument:
    """A note that is safe to publish, and the account of how it became so.

    Args:
        id: The document's.
        text: The scrubbed text.
        annotations: What was replaced, with offsets in the document's text.
        offset_map: The way between the two texts.
    """

    id: str = field(repr=False)
    text: str = field(repr=False)
    annotations: tuple[Annotation, ...]
    offset_map: OffsetMap


class Deidentifier:
    """Remove PHI from documents.  Thread-safe; what it caches changes no result.

    Args:
        detectors: All of them must succeed on a document, or it is refused.
        policy: What is written instead.
    """

    def __init__(self, detectors: Sequence[Detector], policy: Policy) -> None:
        self._detectors = tuple(detectors)
        self._policy = policy

    @classmethod
    def from_names(
        cls, preset: str = "hybrid", policy: str = "safe-harbor"
    ) -> Deidentifier:
        """Return the system that a preset and a policy name.

        Raises:
            ConfigError: One of them is unknown or wrong; the message lists the known.
        """
        return cls.from_config(load_preset(preset), load_policy(policy))

    @classmethod
    def from_config(cls, config: DeidConfig, policy: Policy) -> Deidentifier:
        """Return the system that a loaded preset and policy describe."""
        return cls(config.build(), policy)

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
        detected = [self._detect(detector, documents) for detector in self._detectors]
        return [
            self._finish(document, [proposals[at] for proposals in detected])
            for at, document in enumerate(documents)
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

    def _finish(
        self, document: Document, detected: Sequence[Proposals]
    ) -> ScrubbedDocument | DeidError:
        try:
            return self._scrub(document, detected)
        except DeidError as error:
            return error
        except Exception as error:
            # A bug of ours must refuse this document, not stop the stream with it.
            return DetectorFailed(f"after detection: {type(error).__name__}")

    def _scrub(
        self, document: Document, detected: Sequence[Proposals]
    ) -> ScrubbedDocument:
        proposals: list[Annotation] = []
        for each in detected:
            if isinstance(each, DetectorFailed):
                raise each
            proposals += each
        annotations = merge(proposals)
        replacements = [self._replacement(document, each) for each in annotations]
        text, offset_map = apply_replacements(document.text, replacements)
        verify(document, text, offset_map)
        return ScrubbedDocument(document.id, text, tuple(annotations), offset_map)

    def _replacement(self, document: Document, annotation: Annotation) -> Replacement:
        style = STYLES[self._policy.style(annotation.label)]
        return Replacement(annotation, style(document, annotation))


def _try(
    detector: Detector, documents: Sequence[Document]
) -> list[list[Annotation]] | DetectorFailed:
    try:
        proposals = detector(documents)
        if len(proposals) == len(documents):
            return proposals
    except Exception as error:
        # The class only: the message of a foreign exception can quote the note.
        return DetectorFailed(f"detector {detector.name!r}: {type(error).__name__}")
    return DetectorFailed(f"detector {detector.name!r}: its results are not aligned")
