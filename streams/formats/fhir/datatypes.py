"""FHIR data types as values of phistream: names, addresses, identifiers."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from deid_core.document import Address
from streams.formats import written_names
from streams.model.patients.demographics import Identifier, Name, is_day

from .json_text import Number
from .rules import TYPES
from .writer import dicts

NAME_USES = {
    "official": "L",
    "usual": "D",
    "nickname": "N",
    "maiden": "M",
    "old": "B",
    "anonymous": "S",
    "temp": "TEMP",
}
"""XPN.7 (HL7 table 0200) by HumanName.use."""
SYSTEM_TYPES = {
    "http://hl7.org/fhir/sid/us-ssn": "SS",
    "urn:oid:2.16.840.1.113883.4.1": "SS",
    "http://hl7.org/fhir/sid/us-npi": "NPI",
    "urn:oid:2.16.840.1.113883.4.6": "NPI",
    "http://hl7.org/fhir/sid/us-mbi": "MC",
    "http://hl7.org/fhir/sid/us-medicare": "MC",
}
"""Identifier types (HL7 table 0203) of systems that have but one."""
SEXES = {"male": "M", "female": "F", "other": "O", "unknown": "U"}
"""PID-8 (HL7 table 0001) by gender."""
_TITLES = TYPES["HumanName"].rules["prefix"].words
_SUFFIXES = TYPES["HumanName"].rules["suffix"].words
_DAY = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)
_FIRST_YEAR = "1800"


def text(value: object) -> str:
    """Return a text without the blanks around it, or an empty one."""
    if not isinstance(value, str) or isinstance(value, Number):
        return ""
    return value.strip()


def texts(value: object) -> list[str]:
    """Return the texts of a list, or the one that a value is."""
    items = value if isinstance(value, list) else [value]
    return [each for each in map(text, items) if each]


def name_of(value: Mapping[str, Any]) -> Name:
    """Return a HumanName; one that has no parts is taken apart."""
    family, given = text(value.get("family")), texts(value.get("given"))
    use = NAME_USES.get(text(value.get("use")), "")
    if not family and not given:
        return name_of_text(text(value.get("text")), use)
    return Name(
        family=family,
        given=given[0] if given else "",
        middle=" ".join(given[1:]),
        prefix=" ".join(texts(value.get("prefix"))),
        suffix=" ".join(texts(value.get("suffix"))),
        use=use,
    )


def name_of_text(written: str, use: str = "") -> Name:
    """Return a name written as one text."""
    return written_names.name_of_text(written, use, _TITLES, _SUFFIXES)


def address_of(value: Mapping[str, Any]) -> Address:
    """Return an Address; one that has no parts is a street."""
    lines = texts(value.get("line"))
    parts = {
        "street": lines[0] if lines else "",
        "other": " ".join(lines[1:]),
        "city": text(value.get("city")),
        "state": text(value.get("state")),
        "zip": text(value.get("postalCode")),
        "country": text(value.get("country")),
    }
    if not any(parts.values()):
        parts["street"] = text(value.get("text"))
    return Address(**parts)


def identifier_of(value: Mapping[str, Any], type_: str = "") -> Identifier:
    """Return an Identifier; its type is that of table 0203.

    Its assigning authority is its system, without `urn:oid:`, as CX.4.2 has it; or its
    assigner's name.
    """
    system = text(value.get("system"))
    concept = value.get("type")
    codings = dicts(concept.get("coding")) if isinstance(concept, dict) else ()
    codes = (text(each.get("code"))[:8] for each in codings)
    found = next((each for each in codes if each), "")
    assigner = value.get("assigner")
    named = text(assigner.get("display")) if isinstance(assigner, dict) else ""
    return Identifier(
        text(value.get("value")),
        found or SYSTEM_TYPES.get(system) or type_,
        system.removeprefix("urn:oid:") or named,
    )


def birth_date_of(value: object) -> str:
    """Return a birth date; empty if it is not a whole, plausible one."""
    day = text(value)
    return day if is_day(day) and day >= _FIRST_YEAR else ""


def time_of(value: object) -> str:
    """Return a date or a time as ISO 8601; empty if it is not a whole one."""
    written = text(value)
    if not _DAY.match(written):
        return ""
    try:
        datetime.fromisoformat(written)
    except ValueError:
        return ""
    return written


def is_former(value: Mapping[str, Any], now: str) -> bool:
    """Return whether a name, an address or a number is no longer in use.

    Args:
        value: Has a `use`, a `period`, or neither.
        now: The time of the message; without one whatever has an end has ended.
    """
    if value.get("use") == "old":
        return True
    period = value.get("period")
    end = text(period.get("end")) if isinstance(period, dict) else ""
    return bool(end) and (not now or end[:10] < now[:10])
