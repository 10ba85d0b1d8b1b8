"""Rules for places smaller than a state, and for countries: Safe Harbor (B)."""

from __future__ import annotations

from . import addresses, coordinates, countries, postcodes, regions, streets

RULES = (
    *addresses.RULES,
    *streets.RULES,
    *postcodes.RULES,
    *regions.RULES,
    *countries.RULES,
    *coordinates.RULES,
)
