"""Run all detectors on a batch of documents.

Fails closed: a document on which any detector breaks gets no proposals but the failure.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from .detectors import Detector
from .detectors.terms import NAME as TERMS
from .detectors.terms import KeptTerms
from .document import PATIENT_RECORD, Annotation, Document
from .errors import DetectorFailed

Proposals = list[Annotation] | DetectorFailed
"""The proposals of all detectors for one document, or which of them failed."""


def detect(
    detectors: Iterable[Detector],
    written: Sequence[Document],
    truecased: Sequence[Document],
) -> list[Proposals]:
    """Return the proposals for each document of a batch.

    Args:
        detectors: All of them must succeed.
        written: The documents as they were written.
        truecased: The same in mixed case, with the same offsets.
    """
    found = [_detected(each, written, truecased) for each in detectors]
    return [joined(each) for each in zip(*found, strict=True)]


def without_kept(
    kept: KeptTerms, documents: Iterable[Document], found: Iterable[Proposals]
) -> list[Proposals]:
    """Return the proposals without those of terms that the user keeps."""
    return [
        each if isinstance(each, DetectorFailed) else _without_kept(kept, one, each)
        for one, each in zip(documents, found, strict=True)
    ]


def without_narrative(
    documents: Iterable[Document], found: Iterable[Proposals]
) -> list[Proposals]:
    """Return, of vocabulary, only proposals of the patient's record and the lists."""
    return [
        [each for each in proposals if each.detector in (PATIENT_RECORD, TERMS)]
        if document.is_vocabulary and not isinstance(proposals, DetectorFailed)
        else proposals
        for document, proposals in zip(documents, found, strict=True)
    ]


def _without_kept(
    kept: KeptTerms, document: Document, found: list[Annotation]
) -> Proposals:
    try:
        return kept.without_kept(document.text, found)
    except Exception as error:
        return DetectorFailed(f"terms: {type(error).__name__}")


def joined(proposals: Iterable[Proposals]) -> Proposals:
    """Return what several detectors propose for a document, or the first failure."""
    found: list[Annotation] = []
    for each in proposals:
        if isinstance(each, DetectorFailed):
            return each
        found += each
    return found


def _detected(
    detector: Detector, written: Sequence[Document], truecased: Sequence[Document]
) -> Sequence[Proposals]:
    proposals = _try(detector, written, truecased)
    if not isinstance(proposals, DetectorFailed):
        return proposals
    # One bad document must not harm the others: find out which it is.
    alone = (
        _try(detector, [one], [other])
        for one, other in zip(written, truecased, strict=True)
    )
    return [p if isinstance(p, DetectorFailed) else p[0] for p in alone]


def _try(
    detector: Detector, written: Sequence[Document], truecased: Sequence[Document]
) -> list[list[Annotation]] | DetectorFailed:
    try:
        proposals = detector(written if detector.reads_as_written else truecased)
        if len(proposals) == len(written) and None not in proposals:
            return proposals
    except Exception as error:
        # The class only: the message of a foreign exception can quote the note.
        return DetectorFailed(f"detector {detector.name!r}: {type(error).__name__}")
    return DetectorFailed(f"detector {detector.name!r}: its results are not aligned")
