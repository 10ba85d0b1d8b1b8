"""Patient records and demographics as the known identifiers of a document."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date
from typing import Any, TypeVar

from deid_core import KnownId, KnownIdentifiers, Label, PersonName

from .demographics import (
    Demographics,
    Identifier,
    Name,
    PatientId,
    PatientRecord,
    merge_records,
)

LABELS_OF_ID_TYPES = {
    **dict.fromkeys(
        ("MR", "MRN", "PI", "PT", "MRT", "PN", "PE", "AM"), Label.MEDICALRECORD
    ),
    **dict.fromkeys(("SS", "SSN"), Label.SSN),
    **dict.fromkeys(("AN", "BA", "AC", "VN"), Label.ACCOUNT),
    **dict.fromkeys(("DL", "DLN", "LN", "MD", "PPN", "DEA", "NPI"), Label.LICENSE),
    **dict.fromkeys(
        ("MC", "MA", "HC", "SN", "MB", "NH", "JHN", "NI", "PC"), Label.HEALTHPLAN
    ),
}
"""Label by identifier type (HL7 table 0203); that of any other type is IDNUM."""

_SEXES = ("F", "M")
"""The codes of HL7 table 0001 that decide the gender of a given name."""

T = TypeVar("T")


def known_identifiers(
    *sources: PatientRecord | Demographics | None,
) -> KnownIdentifiers:
    """Return all current and former values of the sources."""
    parts: list[Demographics] = []
    merged: list[Identifier] = []
    for source in sources:
        if isinstance(source, PatientRecord):
            parts += source.current, source.former
            own = (source.patient, *source.merged)
            merged += [Identifier(each.id, "MR") for each in own]
        elif source is not None:
            parts.append(source)

    def gathered(name: str) -> list[Any]:
        return [each for part in parts for each in getattr(part, name)]

    ids = [*gathered("ids"), *merged]
    return KnownIdentifiers(
        patient_names=_persons(gathered("names")),
        kin_names=_persons(kin.name for kin in gathered("kin")),
        provider_names=_persons(gathered("providers")),
        birth_dates=_unique(date.fromisoformat(d) for d in gathered("birth_dates")),
        addresses=_unique(gathered("addresses")),
        phones=_unique(gathered("phones")),
        emails=_unique(gathered("emails")),
        ids=_unique(KnownId(each.value, _label(each.type)) for each in ids),
        facilities=_unique(gathered("facilities")),
        employers=_unique(gathered("employers")),
        sex=next((each.sex for each in parts if each.sex in _SEXES), ""),
    )


class PatientRecords:
    """The records of the patients of a file or a message, folded in their order."""

    def __init__(self) -> None:
        self._records: dict[bytes, PatientRecord] = {}

    def update(self, updates: Iterable[PatientRecord]) -> None:
        """Take patient records."""
        for each in updates:
            key = each.patient.key
            self._records[key] = merge_records(self._records.get(key), each)

    def known(
        self, patient: PatientId, demographics: Demographics | None
    ) -> KnownIdentifiers:
        """Return what is known of a patient, by the records and a note."""
        return known_identifiers(self._records.get(patient.key), demographics)


def _unique(values: Iterable[T]) -> tuple[T, ...]:
    return tuple(dict.fromkeys(values))


def _persons(names: Iterable[Name]) -> tuple[PersonName, ...]:
    return _unique(name.person() for name in names if name)


def _label(id_type: str) -> Label:
    return LABELS_OF_ID_TYPES.get(id_type, Label.IDNUM)
