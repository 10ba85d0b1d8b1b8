"""The realistic surrogate of each label."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from deid_core.labels import Label
from deid_core.language.lexicons import forms_of

from .crosswalk import Crosswalk
from .institutions import institution, profession
from .internet import email, ip_address, url, username
from .numbers import number, phone, social_security
from .person_names import person_name
from .places import place, street

Writer = Callable[[Crosswalk, Label, str], str | None]
"""Returns the replacement of a value of a label, or None."""

_INSTITUTIONS = frozenset(("clinic", "hospital", "hospitals", "infirmary", "medical"))


def _place(crosswalk: Crosswalk, label: Label, text: str) -> str | None:
    """Return another place; detection may call "St. Luke's Hospital" a town."""
    if _INSTITUTIONS.isdisjoint(forms_of(text)):
        return place(crosswalk, label, text)
    return institution(crosswalk, Label.HOSPITAL, text)


REALISTIC: Mapping[Label, Writer] = MappingProxyType(
    {
        Label.PATIENT: person_name,
        Label.DOCTOR: person_name,
        Label.USERNAME: username,
        Label.PROFESSION: profession,
        Label.HOSPITAL: institution,
        Label.ORGANIZATION: institution,
        Label.STREET: street,
        Label.CITY: _place,
        Label.STATE: place,
        Label.COUNTRY: place,
        Label.ZIP: place,
        Label.LOCATION_OTHER: institution,
        Label.PHONE: phone,
        Label.FAX: phone,
        Label.EMAIL: email,
        Label.URL: url,
        Label.IPADDR: ip_address,
        Label.SSN: social_security,
        Label.MEDICALRECORD: number,
        Label.HEALTHPLAN: number,
        Label.ACCOUNT: number,
        Label.LICENSE: number,
        Label.VEHICLE: number,
        Label.DEVICE: number,
        Label.BIOID: number,
        Label.IDNUM: number,
    }
)
"""All labels but age and date, for which there are styles of their own."""


def realistic(crosswalk: Crosswalk, label: Label, text: str) -> str | None:
    """Return a surrogate that reads like the value; None if there is none."""
    return REALISTIC[label](crosswalk, label, text)
