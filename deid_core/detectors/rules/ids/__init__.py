"""Rules for identifying numbers: Safe Harbor (G) to (M), (P) and (R)."""

from __future__ import annotations

from . import biometrics, checked, devices_and_vehicles, labelled, unlabelled

RULES = (
    *labelled.RULES,
    *checked.RULES,
    *unlabelled.RULES,
    *devices_and_vehicles.RULES,
    *biometrics.RULES,
)
