"""What a detector is.  A detector proposes; it never edits and never decides."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from ..document import Annotation, Document


class Detector(Protocol):
    """Anything that can propose annotations for documents."""

    @property
    def name(self) -> str:
        """The name in presets and, before the slash, in audit events."""
        ...

    def __call__(self, documents: Sequence[Document]) -> list[list[Annotation]]:
        """Return each document's proposals, in any order; they may overlap.

        A whole batch is given at once, so that a detector can work vectorised.
        """
        ...
