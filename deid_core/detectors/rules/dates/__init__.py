"""Rules for dates: Safe Harbor (C)."""

from __future__ import annotations

from . import (
    abroad,
    bare,
    cued,
    holidays,
    numeric,
    periods,
    separated,
    weekdays,
    written,
)

RULES = (
    *numeric.RULES,
    *separated.RULES,
    *cued.RULES,
    *written.RULES,
    *holidays.RULES,
    *periods.RULES,
    *bare.RULES,
    *weekdays.RULES,
    *abroad.RULES,
)
