"""Read persons and institutions from the header and the entries of a document."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from lxml import etree

from deid_core import Label
from streams.engine.errors import InvalidRecord
from streams.engine.reasons import ReasonCode
from streams.formats.values import Known
from streams.model.patients.demographics import (
    Demographics,
    Identifier,
    Kin,
    Name,
    PatientId,
    distinct,
)

from .datatypes import (
    address_of,
    birth_date_of,
    identifier_of,
    names_of,
    telecom_of,
    text_of,
)
from .rules import TYPES
from .xml_text import children, name_of

MEDICAL_RECORD = "MR"
NATIONAL = frozenset({"SS", "DL", "MC"})
"""Types of identifiers (HL7 table 0203) of persons that are no record number."""

_PROVIDERS = frozenset({"assignedPerson", "informationRecipient", "maintainingPerson"})
_KIN = frozenset({"associatedPerson", "relatedPerson", "guardianPerson"})
_KIN_ROLES = ("guardian", "associatedEntity", "relatedEntity", "relatedSubject")
_FACILITIES = frozenset(
    {
        *("representedOrganization", "providerOrganization", "receivedOrganization"),
        *("serviceProviderOrganization", "wholeOrganization", "scopingOrganization"),
        *("representedCustodianOrganization", "guardianOrganization", "location"),
    }
)
_SEXES = {"M": "M", "F": "F", "UN": "U"}


def patient_role_of(root: etree._Element) -> etree._Element:
    """Return the only patient of a document.

    Raises:
        InvalidRecord: There is none, or several.
    """
    roles = children(root, "recordTarget", "patientRole")
    if not roles:
        raise InvalidRecord(
            ReasonCode.NO_PATIENT, "recordTarget: the document names no patient"
        )
    if len(roles) > 1:
        raise InvalidRecord(
            ReasonCode.UNSUPPORTED,
            "recordTarget: several patients; send a document for each",
        )
    return roles[0]


def patient_ids_of(role: etree._Element, authority: str) -> list[PatientId]:
    """Return the identifiers that key the patient; the first one is preferred.

    Args:
        role: The patientRole.
        authority: Of identifiers that have no root besides themselves.

    Raises:
        InvalidRecord: There is none.
    """
    ids = _patient_identifiers(role)
    medical = [each for each in ids if each.type == MEDICAL_RECORD]
    # A national number keys a patient who has no other one: its root says what it is.
    national = [each for each in ids if each.type in NATIONAL][:1]
    keys = [each.patient_id(authority) for each in medical or national]
    if not keys:
        raise InvalidRecord(
            ReasonCode.NO_PATIENT,
            "recordTarget: the patient has no identifier; send the medical record "
            "number",
        )
    return list(dict.fromkeys(keys))


def demographics_of(root: etree._Element) -> Demographics:
    """Return the demographics that a document holds."""
    role = patient_role_of(root)
    patients = children(role, "patient")
    contacts = [role, *_all(root, _KIN_ROLES)]
    telecoms = [
        telecom_of(each.get("value", ""))
        for holder in contacts
        for each in children(holder, "telecom")
    ]
    return Demographics(
        names=distinct(_names(patients)),
        birth_dates=distinct(
            birth_date_of(each.get("value", ""))
            for one in patients
            for each in children(one, "birthTime")
        ),
        sex=next(
            (
                _SEXES.get(each.get("code", ""), "")
                for one in patients
                for each in children(one, "administrativeGenderCode")
            ),
            "",
        ),
        addresses=distinct(
            address_of(each) for holder in contacts for each in children(holder, "addr")
        ),
        phones=distinct(
            each.value for each in telecoms if each.label in (Label.PHONE, Label.FAX)
        ),
        emails=distinct(each.value for each in telecoms if each.label is Label.EMAIL),
        ids=distinct(
            [
                *_patient_identifiers(role),
                *(
                    identifier_of(each, "VN")
                    for each in children(
                        root, "componentOf", "encompassingEncounter", "id"
                    )
                ),
            ]
        ),
        kin=distinct(_kin(root)),
        providers=distinct(_names(_all(root, _PROVIDERS))),
        facilities=distinct(_facilities(root)),
    )


def known_of(root: etree._Element) -> Known:
    """Return what the header says of identifiers that are elsewhere, too."""
    return Known.of(demographics_of(root))


def _patient_identifiers(role: etree._Element) -> list[Identifier]:
    holders = [role, *children(role, "patient")]
    found = [
        identifier_of(each, MEDICAL_RECORD)
        for holder in holders
        for each in children(holder, "id")
        if each.get("nullFlavor") is None or each.get("extension")
    ]
    return [each for each in found if each.value]


def _all(root: etree._Element, names: Iterable[str]) -> list[etree._Element]:
    wanted = frozenset(names)
    return [each for each in root.iter() if name_of(each) in wanted]


def _names(persons: Iterable[etree._Element]) -> Iterator[Name]:
    for person in persons:
        for each in children(person, "name"):
            yield from names_of(each)


def _kin(root: etree._Element) -> Iterator[Kin]:
    for person in _all(root, _KIN):
        yield from _kin_of(person, person.getparent())
    for subject in _children_of_all(root, "relatedSubject", "subject"):
        yield from _kin_of(subject, subject.getparent())
    for player in _players(root, Label.PATIENT):
        yield from _kin_of(player, None)


def _kin_of(person: etree._Element, role: etree._Element | None) -> Iterator[Kin]:
    codes = children(role, "code") if role is not None else []
    relationship = codes[0].get("code", "")[:32] if codes else ""
    for name in _names([person]):
        yield Kin(name, relationship)


def _facilities(root: etree._Element) -> Iterator[str]:
    holders = [*_all(root, _FACILITIES), *_players(root, Label.HOSPITAL)]
    for holder in holders:
        yield from map(text_of, children(holder, "name"))


def _players(root: etree._Element, label: Label) -> list[etree._Element]:
    """Return those who play a role in which a name has a label."""
    labels = TYPES["ParticipantRole"].labels
    roles = [
        each
        for each in _all(root, ["participantRole"])
        if labels.get(each.get("classCode", ""), labels["*"]) is label
    ]
    return [player for each in roles for player in children(each, "playingEntity")]


def _children_of_all(
    root: etree._Element, name: str, child: str
) -> list[etree._Element]:
    return [found for each in _all(root, [name]) for found in children(each, child)]
