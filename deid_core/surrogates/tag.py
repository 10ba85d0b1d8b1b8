"""The plainest surrogate: the label in brackets."""

from __future__ import annotations

from ..document import Annotation, Document


def tag(_: Document, annotation: Annotation) -> str:
    """Return the annotation's label in brackets: ``[NAME:PATIENT]``, ``[DATE]``."""
    return f"[{annotation.label.value}]"
