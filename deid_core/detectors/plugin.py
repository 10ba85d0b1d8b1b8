"""A detector of another package, its proposals checked."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from deid_core.document import Annotation, Document, Span
from deid_core.labels import Label

Propose = Callable[[Sequence[Document]], list[list[Annotation]]]

# As the schema of audit events has it.
_RULE = re.compile(r"[a-z0-9_./~-]{0,30}")


class CheckedDetector:
    """A detector of another package, as the product's own behave.

    What could not be published is an error here, so that the note is refused with the
    detector's name and the service goes on.

    Args:
        name: In presets.
        propose: The detector as its package made it.
        reads_as_written: Whether it judges letter case by itself.
    """

    def __init__(self, name: str, propose: Propose, *, reads_as_written: bool) -> None:
        self.name = name
        self.reads_as_written = reads_as_written
        self._propose = propose

    def __call__(self, documents: Sequence[Document]) -> list[list[Annotation]]:
        """Return the detector's proposals.

        Raises:
            TypeError: One of them is no proposal of this detector.
        """
        # As lists: what can be read only once would be empty after the check.
        proposals = [list(each) for each in self._propose(documents)]
        for document, own in zip(documents, proposals, strict=True):
            if not all(self._is_own(each, len(document.text)) for each in own):
                raise TypeError("not a proposal of this detector")
        return proposals

    def _is_own(self, proposal: object, length: int) -> bool:
        return (
            isinstance(proposal, Annotation)
            and isinstance(proposal.span, Span)
            and proposal.span.end <= length
            and isinstance(proposal.label, Label)
            and proposal.detector == self.name
            and _RULE.fullmatch(proposal.rule) is not None
        )
