"""All that the segments of one patient's group say about him or her."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from ..errors import InvalidRecord
from ..patients import MOST_VALUES, Demographics, Identifier, Kin, Name, PatientId
from .datatypes import (
    address_of_xad,
    birth_date_of,
    email_of_xtn,
    identifier_of_cx,
    name_of_ndl,
    name_of_xcn,
    name_of_xpn,
    phone_of_xtn,
)
from .message import Repetition, Segment, part

T = TypeVar("T")

MEDICAL_RECORD_TYPES = ("MR", "PI", "PT")
NOT_OF_THE_PATIENT_INDEX = frozenset(
    ("SS", "DL", "PPN", "AN", "VN", "MC", "MA", "HC", "NPI", "BA", "CZ", "EN")
)
"""CX.5 types that never key a patient (HL7 table 0203)."""

PATIENT_ID_FIELDS = ((3, ""), (2, "PT"), (4, "PT"))
OTHER_ID_FIELDS = ((18, "AN"), (19, "SS"), (20, "DL"), (21, "MR"))

PROVIDERS: dict[str, tuple[tuple[Callable[[Repetition], Name], int], ...]] = {
    "PD1": ((name_of_xcn, 4),),
    "PV1": tuple((name_of_xcn, n) for n in (7, 8, 9, 17, 52)),
    "ORC": tuple((name_of_xcn, n) for n in (10, 11, 12, 19)),
    "OBR": (
        *((name_of_xcn, n) for n in (10, 16, 28)),
        *((name_of_ndl, n) for n in (32, 33, 34, 35)),
    ),
    "OBX": ((name_of_xcn, 16), (name_of_xcn, 25)),
    "TXA": tuple((name_of_xcn, n) for n in (5, 9, 10, 11, 22, 23)),
    "ROL": ((name_of_xcn, 4),),
    "PRT": ((name_of_xcn, 5),),
    "DG1": ((name_of_xcn, 16),),
    "PR1": tuple((name_of_xcn, n) for n in (8, 11, 12)),
}
"""Where names of doctors and staff stand: segment, data type and field."""

FACILITIES = {"PV1": ((3, 4), (39, 1)), "ORC": ((21, 1),), "PD1": ((3, 1),)}
"""Where names of facilities stand: segment, field and component."""

ALL: frozenset[int] = frozenset()
FIELDS = {
    **dict.fromkeys(("PID", "MRG", "NK1", "GT1", "ROL", "PRT", "DG1", "PR1"), ALL),
    "PD1": frozenset((3, 4)),
    "PV1": frozenset((3, 7, 8, 9, 17, 19, 39, 50, 52)),
    "ORC": frozenset((10, 11, 12, 19, 21)),
    "IN1": frozenset((11, 16, 19, 36, 49)),
}
"""Segments and fields that say something about the patient; ALL is every field."""


@dataclass(frozen=True, slots=True)
class PatientGroup:
    """One PID and all segments up to the next: a patient, and what was done.

    Args:
        patient: The identifier that keys notes.
        others: Medical record numbers of other authorities, which key them as well.
        prior: Identifiers that this message merges into ``patient`` (MRG).
        demographics: What the segments say.
        segments: All of them, PID first.
    """

    patient: PatientId
    others: tuple[PatientId, ...]
    prior: tuple[PatientId, ...]
    demographics: Demographics
    segments: tuple[Segment, ...] = field(repr=False)


def patient_groups(
    segments: Sequence[Segment], authority: str, facility: str
) -> list[PatientGroup]:
    """Return the groups of a message, one a PID.

    Args:
        segments: Of the message, without MSH.
        authority: What stands for CX.4 where the sender leaves it empty.
        facility: The sending facility's name (MSH-4).

    Raises:
        InvalidRecord: no_patient when there is no PID, or one without an identifier.
    """
    starts = [at for at, each in enumerate(segments) if each.name == "PID"]
    if not starts:
        raise InvalidRecord("no_patient", "PID: the message has no PID segment")
    ends = [*starts[1:], len(segments)]
    return [
        _group(tuple(segments[start:end]), authority, facility)
        for start, end in zip(starts, ends, strict=True)
    ]


def _group(
    segments: tuple[Segment, ...], authority: str, facility: str
) -> PatientGroup:
    pid = segments[0]
    candidates = _patient_ids(pid, authority)
    if not candidates:
        raise InvalidRecord(
            "no_patient", "PID-3: no patient identifier; nor in PID-2 and PID-4"
        )
    patient, *others = candidates
    return PatientGroup(
        patient=patient,
        others=tuple(others),
        prior=_prior(segments, patient, authority),
        demographics=_demographics(segments, facility),
        segments=segments,
    )


def _patient_ids(pid: Segment, authority: str) -> list[PatientId]:
    """Return the identifiers that key the patient, the one to use first at the head."""
    for number, type_ in PATIENT_ID_FIELDS:
        ids = [identifier_of_cx(each, type_) for each in pid.repetitions(number)]
        ids = [each for each in ids if each.value]
        medical = sorted(
            (each for each in ids if each.type in MEDICAL_RECORD_TYPES),
            key=lambda each: MEDICAL_RECORD_TYPES.index(each.type),
        )
        usable = (
            medical
            or [each for each in ids if each.type not in NOT_OF_THE_PATIENT_INDEX][:1]
        )
        if usable:
            return list(dict.fromkeys(_patient_id(each, authority) for each in usable))
    return []


def _patient_id(identifier: Identifier, authority: str) -> PatientId:
    return PatientId(identifier.assigning_authority or authority, identifier.value)


def _prior(
    segments: Iterable[Segment], patient: PatientId, authority: str
) -> tuple[PatientId, ...]:
    """Return the prior identifiers (MRG-1, MRG-4), chapter 3.4.10."""
    ids = [
        _patient_id(identifier_of_cx(each), authority)
        for segment in segments
        if segment.name == "MRG"
        for number in (1, 4)
        for each in segment.repetitions(number)
        if part(each, 1)
    ]
    return tuple(each for each in dict.fromkeys(ids) if each != patient)


def _demographics(segments: Sequence[Segment], facility: str) -> Demographics:
    pid = segments[0]
    phones = [each for number in (13, 14) for each in pid.repetitions(number)]
    numbers = [_without_email(each) for each in phones]
    birth_date = birth_date_of(pid.value(7))
    return Demographics(
        names=_unique(_names(pid)),
        birth_dates=(birth_date,) if birth_date else (),
        sex=pid.value(8)[:8],
        addresses=_unique(
            address_of_xad(each)
            for segment in segments
            for number in _ADDRESS_FIELDS.get(segment.name, ())
            for each in segment.repetitions(number)
        ),
        phones=_unique([*numbers, *_contact_numbers(segments)]),
        emails=_unique(email_of_xtn(each) for each in phones),
        ids=_unique(_ids(segments)),
        kin=_unique(_kin(segments)),
        providers=_unique(_providers(segments)),
        facilities=_unique([facility, *_facilities(segments)]),
        employers=_unique(
            part(each, 1)
            for segment in segments
            for number in _EMPLOYER_FIELDS.get(segment.name, ())
            for each in segment.repetitions(number)
        ),
    )


_ADDRESS_FIELDS = {"PID": (11,), "NK1": (4,), "GT1": (5,), "IN1": (19,)}
_EMPLOYER_FIELDS = {"NK1": (13,), "GT1": (16,), "IN1": (11,)}


def _names(pid: Segment) -> Iterable[Name]:
    for each in pid.repetitions(5):
        yield name_of_xpn(each)
    for each in pid.repetitions(9):
        name = name_of_xpn(each)
        yield (
            name
            if name.use
            else Name(
                name.family, name.given, name.middle, name.prefix, name.suffix, "A"
            )
        )


def _without_email(value: Repetition) -> str:
    phone = phone_of_xtn(value)
    return "" if "@" in phone else phone


def _contact_numbers(segments: Iterable[Segment]) -> Iterable[str]:
    fields = {"NK1": (5, 6), "GT1": (6, 7)}
    return (
        _without_email(each)
        for segment in segments
        for number in fields.get(segment.name, ())
        for each in segment.repetitions(number)
    )


def _ids(segments: Iterable[Segment]) -> Iterable[Identifier]:
    for segment in segments:
        for number, type_ in _ID_FIELDS.get(segment.name, ()):
            for each in segment.repetitions(number):
                identifier = identifier_of_cx(each, type_)
                if identifier.value:
                    yield identifier


_ID_FIELDS = {
    "PID": (*PATIENT_ID_FIELDS, *OTHER_ID_FIELDS),
    "PV1": ((19, "VN"), (50, "VN")),
    "MRG": ((1, "MR"), (3, "AN"), (4, "MR")),
    "IN1": ((36, "MB"), (49, "MB")),
    "GT1": ((12, "SS"),),
}


def _kin(segments: Iterable[Segment]) -> Iterable[Kin]:
    for segment in segments:
        fields = _KIN_FIELDS.get(segment.name, ())
        for number in fields:
            for each in segment.repetitions(number):
                relation = segment.value(3)[:32] if segment.name == "NK1" else ""
                yield Kin(name_of_xpn(each), relation)


_KIN_FIELDS = {"NK1": (2, 30), "GT1": (3,), "IN1": (16,), "PID": (6,)}


def _providers(segments: Iterable[Segment]) -> Iterable[Name]:
    for segment in segments:
        for make, number in PROVIDERS.get(segment.name, ()):
            for each in segment.repetitions(number):
                yield make(each)


def _facilities(segments: Iterable[Segment]) -> Iterable[str]:
    for segment in segments:
        for number, component in FACILITIES.get(segment.name, ()):
            for each in segment.repetitions(number):
                yield part(each, component)


def _unique(values: Iterable[T]) -> tuple[T, ...]:
    found = tuple(dict.fromkeys(each for each in values if _says_something(each)))
    if len(found) > MOST_VALUES:
        # To drop some would be to leave them standing in the notes.
        raise InvalidRecord(
            "too_many", f"PID: a list of more than {MOST_VALUES} values; send fewer"
        )
    return found


def _says_something(value: object) -> bool:
    return value not in _NOTHING and not (isinstance(value, Name) and not value)


_NOTHING: tuple[object, ...] = ("", Kin(Name()), address_of_xad(()))
