"""CDA data types as values of phistream: times, names, addresses, identifiers."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime

from lxml import etree

from deid_core import Label
from deid_core.document import Address
from streams.formats.documents import Unreadable, UnreadableKind, from_base64
from streams.formats.written_names import name_of_text
from streams.model.patients.demographics import Identifier, Name, is_day

from .rules import LISTS
from .terminology import type_of_root
from .xml_text import name_of

NAME_USES = {"L": "L", "A": "A", "P": "S", "I": "A"}
"""XPN.7 (HL7 table 0200) by EN.use."""
_BIRTH_NAME = "BR"
_STREETS = (
    "streetAddressLine",
    *("houseNumber", "streetName", "streetNameBase", "unitID", "postBox"),
    *("additionalLocator", "deliveryAddressLine"),
)
_TIME = re.compile(
    r"(?P<day>\d{8})(?P<time>\d{2,6}(?:\.\d{1,9})?)?(?P<zone>[+-]\d{4})?", re.ASCII
)
_SCHEME = re.compile(r"(tel|fax|mailto|https?|sip|mllp|ftp):(?://)?", re.IGNORECASE)
_LABELS = {
    "tel": Label.PHONE,
    "sip": Label.PHONE,
    "fax": Label.FAX,
    "mailto": Label.EMAIL,
}
ENCODED = "B64"
"""The representation of an ED in base64."""
_FIRST_YEAR = "1800"
_AFFIXES = LISTS["affix"]


@dataclass(frozen=True, slots=True)
class Telecom:
    """A telephone number, an e-mail address or a link (TEL).

    Args:
        label: What it is.
        scheme: `tel:`, `mailto:`; empty without one.
        value: Without the scheme.
    """

    label: Label
    scheme: str
    value: str = field(repr=False)


def telecom_of(written: str) -> Telecom:
    """Return a TEL by its scheme, else by its form."""
    value = written.strip()
    found = _SCHEME.match(value)
    if found is None:
        return Telecom(Label.EMAIL if "@" in value else Label.PHONE, "", value)
    label = _LABELS.get(found[1].lower(), Label.URL)
    if label is Label.URL:
        return Telecom(label, "", value)
    return Telecom(label, f"{found[1].lower()}:", value[found.end() :].strip())


def day_of(written: str) -> str:
    """Return the day (YYYY-MM-DD) of a TS; empty if it has none."""
    found = _TIME.fullmatch(written.strip())
    if found is None:
        return ""
    day = found["day"]
    shown = f"{day[:4]}-{day[4:6]}-{day[6:]}"
    return shown if is_day(shown) else ""


def time_of(written: str) -> str:
    """Return a TS as ISO 8601; empty if it is not a whole day."""
    day, found = day_of(written), _TIME.fullmatch(written.strip())
    if not day or found is None or len(found["time"] or "") < len("HHMM"):
        return day
    time = found["time"].partition(".")[0].ljust(6, "0")
    zone = found["zone"] or ""
    shown = f"{day}T{time[:2]}:{time[2:4]}:{time[4:6]}"
    shown += f"{zone[:3]}:{zone[3:]}" if zone else ""
    try:
        datetime.fromisoformat(shown)
    except ValueError:
        return day
    return shown


def birth_date_of(written: str) -> str:
    """Return a birth date; empty if it is not a whole, plausible one."""
    day = day_of(written)
    return day if day >= _FIRST_YEAR else ""


def text_of(element: etree._Element) -> str:
    """Return the text of an element and of those in it, blanks collapsed."""
    return " ".join("".join(map(str, element.itertext())).split())


def names_of(element: etree._Element) -> Iterator[Name]:
    """Yield the names of a PN: that in use, and that at birth; one text is parted."""
    use = next(
        (NAME_USES[each] for each in element.get("use", "").split() if each in "LAPI"),
        "",
    )
    parts = _parts_of(element)
    families, given = parts.get("family", []), parts.get("given", [])
    if not families and not given:
        yield name_of_text(text_of(element), use, _AFFIXES, _AFFIXES)
        return
    births = [text_of(each) for each in families if _is_of_birth(each)]
    others = [text_of(each) for each in families if not _is_of_birth(each)]
    first, *middle = [text_of(each) for each in given] or [""]
    yield Name(
        family=" ".join(others or births),
        given=first,
        middle=" ".join(middle),
        prefix=" ".join(map(text_of, parts.get("prefix", []))),
        suffix=" ".join(map(text_of, parts.get("suffix", []))),
        use=use,
    )
    for each in births if others else ():
        yield Name(family=each, given=first, middle=" ".join(middle), use="M")


def address_of(element: etree._Element) -> Address:
    """Return an AD; one without parts is a street."""
    parts = _parts_of(element)

    def part(name: str) -> str:
        return " ".join(map(text_of, parts.get(name, [])))

    streets = [text_of(each) for name in _STREETS for each in parts.get(name, [])]
    if not parts:
        return Address(street=text_of(element))
    return Address(
        street=streets[0] if streets else "",
        other=" ".join(streets[1:]),
        city=part("city"),
        state=part("state"),
        zip=part("postalCode"),
        country=part("country"),
    )


def media_type_of(element: etree._Element) -> str:
    """Return the media type of an ED without parameters; empty without one."""
    return str(element.get("mediaType", "")).partition(";")[0].strip().lower()


def data_of(element: etree._Element, text: str) -> bytes:
    """Return the data of an ED whose text is given.

    Raises:
        Unreadable: It is compressed, or not in base64.
    """
    if "compression" in element.attrib:
        raise Unreadable(UnreadableKind.ARCHIVE)
    if element.get("representation") == ENCODED:
        return from_base64(text)
    return text.encode()


def identifier_of(element: etree._Element, type_: str = "") -> Identifier:
    """Return an II; one without an extension is its root."""
    root = element.get("root", "").strip()
    extension = element.get("extension", "").strip()
    if not extension:
        return Identifier("" if type_of_root(root) else root, type_)
    return Identifier(extension, type_of_root(root) or type_, root)


def _is_of_birth(element: etree._Element) -> bool:
    return _BIRTH_NAME in element.get("qualifier", "").split()


def _parts_of(element: etree._Element) -> dict[str, list[etree._Element]]:
    parts: dict[str, list[etree._Element]] = {}
    for each in element:
        if text_of(each):
            parts.setdefault(name_of(each), []).append(each)
    return parts
