"""Rules for names of persons: Safe Harbor (A)."""

from __future__ import annotations

from . import described, labelled, signatures, titled

RULES = (
    *titled.RULES,
    *labelled.RULES,
    *described.RULES,
    *signatures.RULES,
)
