"""A detector of another package, its proposals checked."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from ..document import Annotation, Document
from ..labels import Label

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
        proposals = self._propose(documents)
        for each in proposals:
            if not all(map(self._is_own, each)):
                raise TypeError("not a proposal of this detector")
        return proposals

    def _is_own(self, proposal: object) -> bool:
        return (
            isinstance(proposal, Annotation)
            and isinstance(proposal.label, Label)
            and proposal.detector == self.name
            and _RULE.fullmatch(proposal.rule) is not None
        )
