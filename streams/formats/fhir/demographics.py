"""Read the demographics of a patient, current and former, from their resources."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from deid_core import Label
from deid_core.document import Address
from streams.model.patients.demographics import (
    Demographics,
    Identifier,
    Kin,
    Name,
    PatientId,
    distinct,
    keying,
)

from .datatypes import (
    SEXES,
    address_of,
    birth_date_of,
    identifier_of,
    is_former,
    name_of,
    name_of_text,
    text,
    texts,
)
from .references import target_of
from .writer import Named, dicts

Json = Mapping[str, Any]

MOTHERS_MAIDEN_NAME = (
    "http://hl7.org/fhir/StructureDefinition/patient-mothersMaidenName"
)
SAME_PERSON = ("replaces", "replaced-by", "seealso")
"""Patient.link.type of another Patient who is the same person."""
_NO_RECORDS = ("MB", "SN", "JHN")
"""Further identifier types that never key a patient."""
_PHONES = frozenset({"phone", "fax", "pager", "sms", ""})


def demographics_of(
    resources: Sequence[Json], named: Sequence[Named], now: str
) -> tuple[Demographics, Demographics]:
    """Return the current and the former demographics that resources hold.

    Args:
        resources: Those of one patient, and those that they refer to.
        named: Names of persons and institutions in references to others.
        now: The time of the message, if it has one.
    """
    of = _by_type(resources)
    patients, relatives = of("Patient"), of("RelatedPerson")
    contacts = [each for one in patients for each in dicts(one.get("contact"))]
    holders = [*patients, *relatives, *contacts]
    former = Demographics(
        names=distinct(_names(patients, now, True)),
        addresses=distinct(_addresses(holders, now, True)),
        phones=distinct(_telecoms(holders, now, True, _PHONES)),
        emails=distinct(_telecoms(holders, now, True, {"email"})),
    )
    current = Demographics(
        names=distinct([*_names(patients, now, False), *_own(named)]),
        birth_dates=distinct(birth_date_of(each.get("birthDate")) for each in patients),
        sex=next((SEXES.get(text(each.get("gender")), "") for each in patients), ""),
        addresses=distinct(_addresses(holders, now, False)),
        phones=distinct(_telecoms(holders, now, False, _PHONES)),
        emails=distinct(_telecoms(holders, now, False, {"email"})),
        ids=distinct(
            [
                *_identifiers([*patients, *relatives]),
                *_identifiers(of("Encounter"), "VN"),
            ]
        ),
        kin=distinct(
            [*_kin([*relatives, *contacts]), *_mothers(patients), *_named_kin(named)]
        ),
        providers=distinct([*_providers(of("Practitioner")), *_named_persons(named)]),
        facilities=distinct(
            [
                *_institutions([*of("Organization"), *of("Location")]),
                *(each.name for each in named if each.label is Label.HOSPITAL),
            ]
        ),
        employers=distinct(
            each.name for each in named if each.label is Label.ORGANIZATION
        ),
    )
    return current, former


def patient_ids(patient: Json, authority: str) -> list[PatientId]:
    """Return the identifiers that key a Patient; the first one is preferred.

    They are its medical record numbers, or its first identifier that is no account,
    insurance or social security number; and its logical id, as `Patient/123` is.

    Args:
        patient: The resource.
        authority: The assigning authority of logical ids.
    """
    found = keying(_identifiers([patient]), but=_NO_RECORDS)
    keys = [each.patient_id(authority) for each in found]
    if logical := text(patient.get("id")):
        keys.append(PatientId(authority, logical))
    return list(dict.fromkeys(keys))


def linked_ids(patients: Iterable[Json], authority: str) -> list[PatientId]:
    """Return the logical ids of the same persons' other Patients."""
    links = (link for each in patients for link in dicts(each.get("link")))
    targets = (
        target_of(other.get("reference"))
        for link in links
        if link.get("type") in SAME_PERSON
        for other in dicts(link.get("other"))
    )
    return [
        PatientId(authority, each.id)
        for each in targets
        if each is not None and each.type == "Patient" and each.form == "id"
    ]


def _by_type(resources: Sequence[Json]) -> Any:  # noqa: ANN401 (a function)
    def of(type_: str) -> list[Json]:
        return [each for each in resources if each.get("resourceType") == type_]

    return of


def _names(holders: Iterable[Json], now: str, is_old: bool) -> Iterator[Name]:
    for each in holders:
        for name in dicts(each.get("name")):
            if is_former(name, now) is is_old:
                yield name_of(name)


def _addresses(holders: Iterable[Json], now: str, is_old: bool) -> Iterator[Address]:
    for each in holders:
        for address in dicts(each.get("address")):
            if is_former(address, now) is is_old:
                yield address_of(address)


def _telecoms(
    holders: Iterable[Json], now: str, is_old: bool, systems: Iterable[str]
) -> Iterator[str]:
    for each in holders:
        for contact in dicts(each.get("telecom")):
            value, system = text(contact.get("value")), text(contact.get("system"))
            system = system or ("email" if "@" in value else "")
            if system in systems and is_former(contact, now) is is_old:
                yield value


def _identifiers(holders: Iterable[Json], type_: str = "") -> Iterator[Identifier]:
    for each in holders:
        for identifier in dicts(each.get("identifier")):
            yield identifier_of(identifier, type_)


def _kin(holders: Iterable[Json]) -> Iterator[Kin]:
    for each in holders:
        relationship = next(dicts(each.get("relationship")), {})
        coding = next(dicts(relationship.get("coding")), {})
        for name in dicts(each.get("name")):
            yield Kin(name_of(name), text(coding.get("code"))[:32])


def _mothers(patients: Iterable[Json]) -> Iterator[Kin]:
    for each in patients:
        for extension in dicts(each.get("extension")):
            if extension.get("url") == MOTHERS_MAIDEN_NAME:
                yield Kin(name_of_text(text(extension.get("valueString")), "M"), "MTH")


def _providers(practitioners: Iterable[Json]) -> Iterator[Name]:
    for each in practitioners:
        for name in dicts(each.get("name")):
            yield name_of(name)


def _own(named: Iterable[Named]) -> Iterator[Name]:
    """Yield the patient's name as references to the patient have it."""
    for each in named:
        if each.label is Label.PATIENT and each.type != "RelatedPerson":
            yield name_of_text(each.name)


def _named_kin(named: Iterable[Named]) -> Iterator[Kin]:
    for each in named:
        if each.label is Label.PATIENT and each.type == "RelatedPerson":
            yield Kin(name_of_text(each.name))


def _named_persons(named: Iterable[Named]) -> Iterator[Name]:
    for each in named:
        if each.label is Label.DOCTOR:
            yield name_of_text(each.name)


def _institutions(resources: Iterable[Json]) -> Iterator[str]:
    for each in resources:
        yield text(each.get("name"))
        yield from texts(each.get("alias"))
