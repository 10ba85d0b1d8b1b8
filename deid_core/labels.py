"""The PHI categories of the i2b2-2014 shared task, under their main categories.

A label's value is the text between the brackets of a tag: ``NAME:PATIENT``, ``DATE``.
Source: Stubbs and Uzuner 2015, i2b2/UTHealth 2014 track 1 (7 main categories, 25
subcategories); 45 CFR 164.514(b)(2)(i), identifiers (A) to (R), for Safe Harbor.
"""

from __future__ import annotations

from enum import StrEnum


class Label(StrEnum):
    """Category of protected health information."""

    PATIENT = "NAME:PATIENT"
    DOCTOR = "NAME:DOCTOR"
    USERNAME = "NAME:USERNAME"
    PROFESSION = "PROFESSION"
    HOSPITAL = "LOCATION:HOSPITAL"
    ORGANIZATION = "LOCATION:ORGANIZATION"
    STREET = "LOCATION:STREET"
    CITY = "LOCATION:CITY"
    STATE = "LOCATION:STATE"
    COUNTRY = "LOCATION:COUNTRY"
    ZIP = "LOCATION:ZIP"
    LOCATION_OTHER = "LOCATION:OTHER"
    AGE = "AGE"
    DATE = "DATE"
    PHONE = "CONTACT:PHONE"
    FAX = "CONTACT:FAX"
    EMAIL = "CONTACT:EMAIL"
    URL = "CONTACT:URL"
    IPADDR = "CONTACT:IPADDR"
    SSN = "ID:SSN"
    MEDICALRECORD = "ID:MEDICALRECORD"
    HEALTHPLAN = "ID:HEALTHPLAN"
    ACCOUNT = "ID:ACCOUNT"
    LICENSE = "ID:LICENSE"
    VEHICLE = "ID:VEHICLE"
    DEVICE = "ID:DEVICE"
    BIOID = "ID:BIOID"
    IDNUM = "ID:IDNUM"

    @property
    def main(self) -> str:
        """The main category: ``NAME`` for ``NAME:PATIENT``."""
        return self.partition(":")[0]

    @property
    def safe_harbor(self) -> str:
        """The letter of the identifier in 45 CFR 164.514(b)(2)(i)."""
        return SAFE_HARBOR[self]


SAFE_HARBOR = {
    Label.PATIENT: "A",
    Label.DOCTOR: "A",
    Label.USERNAME: "R",
    Label.PROFESSION: "R",
    Label.HOSPITAL: "B",
    Label.ORGANIZATION: "B",
    Label.STREET: "B",
    Label.CITY: "B",
    Label.STATE: "B",
    Label.COUNTRY: "B",
    Label.ZIP: "B",
    Label.LOCATION_OTHER: "B",
    Label.AGE: "C",
    Label.DATE: "C",
    Label.PHONE: "D",
    Label.FAX: "E",
    Label.EMAIL: "F",
    Label.SSN: "G",
    Label.MEDICALRECORD: "H",
    Label.HEALTHPLAN: "I",
    Label.ACCOUNT: "J",
    Label.LICENSE: "K",
    Label.VEHICLE: "L",
    Label.DEVICE: "M",
    Label.URL: "N",
    Label.IPADDR: "O",
    Label.BIOID: "P",
    Label.IDNUM: "R",
}
