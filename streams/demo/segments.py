r"""HL7 v2 segments of the ward's messages, in the wording of versions 2.3 to 2.8.

Sources: HL7 v2.5.1 chapters 2 (MSH, NTE, escapes 2.7), 2A (data types), 3 (EVN, PID,
PD1, NK1, PV1, MRG), 4 (ORC, OBR), 7 (OBX) and 9 (TXA); what 2.7 withdrew, chapter 2A.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, datetime

from deid_core.document import Address, PersonName

from .people import NextOfKin, Staff, WardPatient
from .pools import Site

UTF_8, LATIN_1 = "UNICODE UTF-8", "8859/1"

_DELIMITER = re.compile(r"[\\|^&~]")
_ESCAPES = str.maketrans(
    {"\\": "\\E\\", "|": "\\F\\", "^": "\\S\\", "&": "\\T\\", "~": "\\R\\"}
)


Document = tuple[str, str, str]
"""LOINC code and name of a document, and its type in HL7 table 0270."""


@dataclass(frozen=True, slots=True)
class Stamp:
    """A message's control id and time."""

    control_id: str
    at: datetime = field(repr=False)

    @property
    def time(self) -> str:
        """The time as HL7 TS, to the second."""
        return f"{self.at:%Y%m%d%H%M%S}"


def escape(text: str) -> str:
    """Return the text with its delimiters escaped (chapter 2.7)."""
    return text.translate(_ESCAPES) if _DELIMITER.search(text) else text


def segment(name: str, fields: Mapping[int, str]) -> str:
    """Return a segment from its fields by number, from 1."""
    values = [name, *[""] * max(fields)]
    for number, value in fields.items():
        values[number] = value
    return "|".join(values)


def message(
    kind: tuple[str, str, str], site: Site, stamp: Stamp, segments: list[str]
) -> bytes:
    """Return a message in the site's charset, or in UTF-8 if that lacks a character.

    Args:
        kind: Message code, trigger event and structure: MSH-9.
        site: The sender.
        stamp: MSH-7 and MSH-10.
        segments: All but MSH.
    """
    body = "\r".join(segments) + "\r"
    charset, codec = _charset(site, body)
    code, event, structure = kind
    # 2.3 has no third component in MSH-9.
    has_structure = site.version != "2.3"
    header = {
        1: "^~\\&",
        2: site.application,
        3: escape(site.facility),
        4: "PHISTREAM",
        5: site.authority,
        6: stamp.time,
        8: f"{code}^{event}^{structure}" if has_structure else f"{code}^{event}",
        9: stamp.control_id,
        10: "P",
        11: site.version,
        14: "AL",
        15: "NE",
        17: charset,
    }
    return f"{segment('MSH', header)}\r{body}".encode(codec)


def _charset(site: Site, body: str) -> tuple[str, str]:
    if site.charset == UTF_8:
        return UTF_8, "utf-8"
    codec = "latin-1" if site.charset == LATIN_1 else "ascii"
    try:
        body.encode(codec)
    except UnicodeEncodeError:
        return UTF_8, "utf-8"
    return site.charset, codec


def xpn(name: PersonName, use: str = "L") -> str:
    """Return a person's name as XPN; ``use`` is of table 0200."""
    parts = (name.family, name.given, name.middle, name.suffix, name.prefix, "", use)
    return "^".join(escape(part) for part in parts)


def xcn(staff: Staff) -> str:
    """Return a provider as XCN."""
    name = staff.name
    return "^".join(
        (staff.id, escape(name.family), escape(name.given), "", "", "", "MD")
    )


def ndl(staff: Staff) -> str:
    """Return a provider as the NDL of OBR-32: a CNN in subcomponents."""
    return "&".join((staff.id, escape(staff.name.family), escape(staff.name.given)))


def xad(address: Address, use: str = "H") -> str:
    """Return an address as XAD; ``use`` is of table 0190."""
    parts = (address.street, "", address.city, address.state, address.zip)
    return "^".join((*(escape(part) for part in parts), address.country, use))


def xtn(digits: str, version: str, use: str = "PRN") -> str:
    """Return a phone as XTN: its first component was withdrawn in 2.7."""
    shown = f"({digits[:3]}){digits[3:6]}-{digits[6:]}"
    if version < "2.7":
        return f"{shown}^{use}^PH"
    return f"^{use}^PH^^1^{digits[:3]}^{digits[3:]}^^^^^{shown}"


def ts(day: date) -> str:
    """Return a day as HL7 DT."""
    return f"{day:%Y%m%d}"


def evn(event: str, site: Site, stamp: Stamp) -> str:
    """Return EVN; its first field was withdrawn in 2.7."""
    fields = {2: stamp.time} if site.version >= "2.7" else {1: event, 2: stamp.time}
    return segment("EVN", fields)


def pid(person: WardPatient, mrn: str) -> str:
    """Return PID with all demographics.

    Former names are in PID-9 in 2.3 and 2.3.1, later in repetitions of PID-5; the SSN
    is in PID-19, from 2.7 on in PID-3.
    """
    site = person.site
    ids = f"{mrn}^^^{site.authority}^MR"
    former = "~".join(xpn(name, "A") for name in person.former_names)
    fields = {
        1: "1",
        3: ids,
        5: xpn(person.name),
        7: ts(person.birth),
        8: person.sex,
        11: xad(person.address),
        13: f"{xtn(person.phone, site.version)}~^NET^Internet^{person.email}",
        18: f"{person.account}^^^{site.authority}^AN",
    }
    if site.version >= "2.7":
        fields[3] = f"{ids}~{person.ssn}^^^SSA^SS"
    else:
        fields[19] = person.ssn
    if former and site.version < "2.4":
        fields[9] = former
    elif former:
        fields[5] += f"~{former}"
    return segment("PID", fields)


def short_pid(person: WardPatient, mrn: str) -> str:
    """Return PID with the required fields only: identifier and name."""
    fields = {1: "1", 3: f"{mrn}^^^{person.site.authority}^MR", 5: xpn(person.name)}
    return segment("PID", fields)


def pd1(person: WardPatient) -> str:
    """Return PD1 with the general practitioner."""
    return segment("PD1", {4: xcn(person.gp)})


def nk1(number: int, kin: NextOfKin, version: str) -> str:
    """Return NK1 of one relative; the relationship is of table 0063."""
    code, word = kin.relation
    fields = {1: str(number), 2: xpn(kin.name), 3: f"{code}^{word}^HL70063"}
    return segment("NK1", {**fields, 5: xtn(kin.phone, version)})


def pv1(person: WardPatient, stamp: Stamp, patient_class: str) -> str:
    """Return PV1 with the attending and referring doctors."""
    ward, room = person.index % 9 + 1, person.index % 30 + 1
    fields = {
        1: "1",
        2: patient_class,
        3: f"W{ward}^{room:02}^A^{person.site.authority}",
        7: xcn(person.attending),
        8: xcn(person.gp),
        19: f"V{stamp.control_id}",
        44: stamp.time,
    }
    return segment("PV1", fields)


def mrg(person: WardPatient) -> str:
    """Return MRG: the number that the merge takes away."""
    authority = person.site.authority
    return segment("MRG", {1: f"{person.second_mrn}^^^{authority}^MR"})


def orc(person: WardPatient, stamp: Stamp) -> str:
    """Return ORC of a completed order."""
    numbers = {2: f"P{stamp.control_id}^ORDERS", 3: f"F{stamp.control_id}^FILLER"}
    return segment("ORC", {1: "RE", **numbers, 12: xcn(person.ordering)})


def obr(person: WardPatient, stamp: Stamp, document: Document) -> str:
    """Return OBR of a report, read by the attending doctor."""
    code, name, _ = document
    fields = {
        1: "1",
        2: f"P{stamp.control_id}^ORDERS",
        3: f"F{stamp.control_id}^FILLER",
        4: f"{code}^{name}^LN",
        7: stamp.time,
        16: xcn(person.ordering),
        22: stamp.time,
        25: "F",
        32: ndl(person.attending),
    }
    return segment("OBR", fields)


def obx(number: int, kind: str, document: Document, value: str) -> str:
    """Return OBX; ``value`` is OBX-5, escaped."""
    code, name, _ = document
    fields = {1: str(number), 2: kind, 3: f"{code}^{name}^LN", 5: value, 11: "F"}
    return segment("OBX", fields)


def nte(number: int, value: str) -> str:
    """Return NTE; ``value`` is NTE-3, escaped."""
    return segment("NTE", {1: str(number), 2: "L", 3: value})


def txa(person: WardPatient, stamp: Stamp, document: Document, kind: str) -> str:
    """Return TXA of an authenticated document; ``kind`` is TX or FT."""
    fields = {
        1: "1",
        2: document[2],
        3: kind,
        4: stamp.time,
        5: xcn(person.attending),
        6: stamp.time,
        9: xcn(person.attending),
        12: f"{stamp.control_id}^{person.site.application}",
        17: "AU",
    }
    return segment("TXA", fields)
