"""The table ``[options]`` of a policy: how surrogates are made."""

from __future__ import annotations

from pydantic import Field

from deid_core.runtime.options import Options


class SurrogateOptions(Options):
    """The options of a policy; an unknown key is refused."""

    keep_initials: bool = False
    """Names keep their first letters: Jane Roe becomes Joan Reed."""

    keep_weekday: bool = False
    """Dates move by whole weeks."""

    most_days: int = Field(default=365, ge=60, le=36_500)
    """Dates move by at most so many days, into the past or the future."""

    day_first: bool | None = None
    """Whether 3/4 and 3.4. are the third of April.  If None, the note's other dates
    decide; without any, 3/4 is the fourth of March and 3.4. the third of April."""
