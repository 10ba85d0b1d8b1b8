"""The styles in which a policy can replace PHI."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from deid_core.labels import Label

from .dates import shift, year
from .generalise import GENERALISED, generalise
from .pseudonym import pseudonym
from .realistic import REALISTIC, Writer, realistic
from .tag import keep, mask, remove, tag


@dataclass(frozen=True, slots=True)
class Style:
    """One way to replace.

    Args:
        write: Returns the replacement of a value; if None, the tag is written.
        labels: The labels that it can replace.
        needs_key: Whether it draws from the project's key.
        is_invented: It writes what reads as a value, which must be no real one: neither
            the original nor another of the patient.
        may_keep: It may write the value itself.
        shows_year: It writes the year of a date, or the shifted year.
    """

    write: Writer
    labels: frozenset[Label] = frozenset(Label)
    needs_key: bool = False
    is_invented: bool = False
    may_keep: bool = False
    shows_year: bool = False


_KEPT = frozenset(
    {
        Label.AGE,
        Label.DATE,
        Label.CITY,
        Label.STATE,
        Label.ZIP,
        Label.COUNTRY,
        Label.PROFESSION,
    }
)

STYLES: Mapping[str, Style] = MappingProxyType(
    {
        "tag": Style(tag),
        "mask": Style(mask),
        "remove": Style(remove),
        "pseudonym": Style(pseudonym, needs_key=True),
        "surrogate": Style(
            realistic, frozenset(REALISTIC), needs_key=True, is_invented=True
        ),
        "shift": Style(shift, frozenset({Label.DATE}), needs_key=True, shows_year=True),
        "year": Style(year, frozenset({Label.DATE}), may_keep=True, shows_year=True),
        "generalise": Style(generalise, GENERALISED, may_keep=True),
        "keep": Style(keep, _KEPT, may_keep=True, shows_year=True),
    }
)
"""Every style by its name in policies."""
