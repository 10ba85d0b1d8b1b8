"""Rules for dates: Safe Harbor (C)."""

from __future__ import annotations

from . import cued, holidays, numeric, periods, separated, written

RULES = (
    *numeric.RULES,
    *separated.RULES,
    *cued.RULES,
    *written.RULES,
    *holidays.RULES,
    *periods.RULES,
)
