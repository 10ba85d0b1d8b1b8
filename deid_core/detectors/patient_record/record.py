"""A patient's record, compiled for finding its values in notes.

Compiled once per record and cached by the detector; holds PHI, so nothing has a repr.
"""

from __future__ import annotations

from dataclasses import dataclass

from deid_core.document import KnownIdentifiers, with_changed_values
from deid_core.labels import Label
from deid_core.language.reading import readings_of

from .dates import BirthDates
from .emails import emails_of
from .numbers import Labelled, Numbers
from .people import Names
from .places import Places
from .prefilter import Prefilter


@dataclass(frozen=True, slots=True, repr=False)
class Record:
    """Everything of one record, compiled.

    Args:
        keys: All words to find in a note.
        prefilter: The same as numbers.
    """

    names: Names
    places: Places
    numbers: Numbers
    labelled: Labelled
    birth_dates: BirthDates
    emails: dict[str, Label]
    keys: frozenset[str]
    prefilter: Prefilter


def compile_record(known: KnownIdentifiers) -> Record:
    """Return the record prepared for look-ups; placeholders and blanks are left out.

    Its values are read as notes are.
    """
    known = with_changed_values(known, _read)
    names = Names.of(known)
    places = Places.of(known)
    birth_dates = BirthDates.of(known.birth_dates)
    labelled = Labelled.of(known)
    keys = names.keys.union(places.keys, birth_dates.keys, labelled.keys)
    return Record(
        names=names,
        places=places,
        numbers=Numbers.of(known),
        labelled=labelled,
        birth_dates=birth_dates,
        emails=emails_of(known.emails),
        keys=keys,
        prefilter=Prefilter.of(keys, names),
    )


def _read(value: str) -> str:
    return readings_of(value)[0].text
