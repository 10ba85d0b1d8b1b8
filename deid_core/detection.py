"""Run all detectors on a batch of documents.

Fails closed: a document on which any detector breaks is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial

from .detectors import Detector
from .detectors.terms import NAME as TERMS
from .document import PATIENT_RECORD, Annotation, Document
from .errors import DeidError, DetectorFailed

Proposals = Sequence[Annotation]
Step = Callable[[Document, Proposals], Proposals]
"""What is done with the proposals for a document."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """The proposals for a document, or why it is refused; no step undoes a refusal.

    Args:
        proposals: Of all steps until now; none of a refused document.
        refused: Why it may not be published; None where it may.
    """

    proposals: Proposals = field(repr=False, default=())
    refused: DeidError | None = None

    def then(self, name: str, step: Callable[[Proposals], Proposals]) -> Outcome:
        """Return what a step makes of the proposals; one that breaks refuses.

        Args:
            name: Of the step, for the message.
            step: Called unless the document is refused.
        """
        if self.refused is not None:
            return self
        try:
            return Outcome(step(self.proposals))
        except Exception as error:
            # The class only: the message of a foreign exception can quote the note.
            return failed(name, error)

    @classmethod
    def joined(cls, outcomes: Iterable[Outcome]) -> Outcome:
        """Return all proposals of some outcomes, or the first refusal."""
        proposals: list[Annotation] = []
        for outcome in outcomes:
            if outcome.refused is not None:
                return outcome
            proposals += outcome.proposals
        return cls(proposals)


def failed(name: str, error: Exception) -> Outcome:
    """Return the refusal of a document because a step broke on it."""
    return Outcome(refused=DetectorFailed(f"{name}: {type(error).__name__}"))


def each_then(
    name: str, step: Step, documents: Iterable[Document], outcomes: Iterable[Outcome]
) -> list[Outcome]:
    """Return what a step makes of the proposals for each document of a batch."""
    return [
        outcome.then(name, partial(step, document))
        for document, outcome in zip(documents, outcomes, strict=True)
    ]


def detect(
    detectors: Iterable[Detector],
    written: Sequence[Document],
    truecased: Sequence[Document],
) -> list[Outcome]:
    """Return the proposals for each document of a batch.

    Args:
        detectors: All of them must succeed.
        written: The documents as they were written.
        truecased: The same in mixed case, with the same offsets.
    """
    by_detector = [_detected(each, written, truecased) for each in detectors]
    return list(map(Outcome.joined, zip(*by_detector, strict=True)))


def without_narrative(document: Document, proposals: Proposals) -> Proposals:
    """Return, of vocabulary, only proposals of the patient's record and the lists."""
    if not document.is_vocabulary:
        return proposals
    return [each for each in proposals if each.detector in (PATIENT_RECORD, TERMS)]


def _detected(
    detector: Detector, written: Sequence[Document], truecased: Sequence[Document]
) -> Sequence[Outcome]:
    proposals = _try(detector, written, truecased)
    if not isinstance(proposals, Outcome):
        return list(map(Outcome, proposals))
    # One bad document must not harm the others: find out which it is.
    alone = (
        _try(detector, [one], [other])
        for one, other in zip(written, truecased, strict=True)
    )
    return [each if isinstance(each, Outcome) else Outcome(each[0]) for each in alone]


def _try(
    detector: Detector, written: Sequence[Document], truecased: Sequence[Document]
) -> list[list[Annotation]] | Outcome:
    """Return the proposals for each document, or the refusal of all of them."""
    name = f"detector {detector.name!r}"
    try:
        proposals = detector(written if detector.reads_as_written else truecased)
        if len(proposals) == len(written) and None not in proposals:
            return proposals
    except Exception as error:
        return failed(name, error)
    return Outcome(refused=DetectorFailed(f"{name}: its results are not aligned"))
