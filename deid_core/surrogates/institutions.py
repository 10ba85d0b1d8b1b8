"""Realistic hospitals, employers and other places: another name, the same kind."""

from __future__ import annotations

import re

from ..detectors.fragments import words
from ..labels import Label
from ..lexicons import forms_of
from .addresses import street
from .crosswalk import Crosswalk
from .name_pools import name_pools
from .numbers import number
from .person_names import in_case_of
from .places_lists import professions

_KINDS = {
    Label.HOSPITAL: frozenset(
        words(
            """
        academy asylum center centers centre children childrens clinic clinics community
        ctr department emergency facility general group health healthcare home hosp
        hospice hospital hospitals house infirmary institute living medical medicine
        memorial nursing of pavilion pharmacy practice regional rehab rehabilitation
        sanatorium senior services surgery surgical system unit university urgent care
        """
        )
    ),
    Label.ORGANIZATION: frozenset(
        words(
            """
        academy agency associates association bank brothers center church club co
        college company construction corp corporation department elementary factory farm
        farms fire firm foundation group high holdings inc incorporated industries
        institute
        insurance limited llc llp logistics ltd market middle motors office partners
        police restaurant school services shop society solutions sons store supply
        systems temple university works
        """
        )
    ),
    Label.LOCATION_OTHER: frozenset(
        words(
            """
        airport area avenue bay beach bridge building cemetery center county court creek
        district forest fort garden gardens hall hill hills house island lake library
        mall market mountain museum park plaza prison river square stadium station
        street theater tower valley village zoo
        """
        )
    ),
}
_DEFAULTS = {
    Label.HOSPITAL: ("Hospital", "Clinic", "Medical Center"),
    Label.ORGANIZATION: ("Group", "Industries", "Associates"),
    Label.LOCATION_OTHER: ("Park", "Hall", "Bridge"),
}
_ACRONYM = re.compile(r"[A-Z]{2,5}")
_LETTERS = "BCDFGHJKLMNPRSTVW"


def institution(crosswalk: Crosswalk, label: Label, text: str) -> str | None:
    """Return another name with the words that tell the kind: "... Medical Center"."""
    if label is Label.LOCATION_OTHER and any(map(str.isdigit, text)):
        return street(crosswalk, label, text) or number(crosswalk, label, text)
    if _ACRONYM.fullmatch(text.strip()):
        return _acronym(crosswalk, text.strip())
    parts = text.split()
    end = len(parts)
    while end and set(forms_of(parts[end - 1])) <= _KINDS[label]:
        end -= 1
    kind = parts[end:]
    # What is all kind ("the clinic") gets another; a bare "Acme" stays bare.
    if not end or (not kind and label is Label.ORGANIZATION and end > 1):
        kind = [_other_kind(crosswalk, label, text)]
    key = " ".join(forms_of(" ".join(parts[:end] or parts)))
    name = crosswalk.choose("institution", key, name_pools().surnames)
    if name is None:
        return None
    written = " ".join((name.capitalize(), *kind))
    return in_case_of(text, written) if text.isupper() or text.islower() else written


def profession(crosswalk: Crosswalk, label: Label, text: str) -> str | None:
    """Return another calling."""
    other = crosswalk.choose("profession", " ".join(forms_of(text)), professions())
    if other is None:
        return None
    return in_case_of(text, other) if not text[0].islower() else other.lower()


def _other_kind(crosswalk: Crosswalk, label: Label, text: str) -> str:
    own = set(forms_of(text))
    pool = [each for each in _DEFAULTS[label] if own.isdisjoint(forms_of(each))]
    at = crosswalk.draws.number("kind", " ".join(sorted(own)), below=len(pool) or 1)
    return pool[at] if pool else "House"


def _acronym(crosswalk: Crosswalk, text: str) -> str | None:
    for counter in range(8):
        drawn = crosswalk.draws.numbers("acronym", text, counter, count=len(text))
        other = "".join(_LETTERS[each % len(_LETTERS)] for each in drawn)
        if other != text and crosswalk.are_free_words(other):
            return other
    return None
