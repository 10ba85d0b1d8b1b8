"""Patient groups: the segments of one patient, and the demographics they hold."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

from streams.engine.errors import InvalidRecord
from streams.engine.reasons import ReasonCode
from streams.model.patients.demographics import (
    Demographics,
    Identifier,
    Kin,
    Name,
    PatientId,
    distinct,
    keying,
    may_key,
)

from . import fields
from .datatypes import (
    address_of_xad,
    birth_date_of,
    email_of_xtn,
    identifier_of_cx,
    name_of_ndl,
    name_of_xcn,
    names_of_xpn,
    phone_of_xtn,
)
from .message import Repetition, Segment, part

NO_FIELDS: frozenset[int] = frozenset()
HOLDING = fields.wanted()
"""The fields that hold demographics, by segment."""

LINK = "A24"
"""All patients of the message are the same person (chapter 3.3.24)."""
NO_MERGES = ("A37", "A43", "A44", "A45")
"""Events that merge no patients: patients are unlinked, or something is moved from the
patient of MRG, who is another person (chapters 3.3.37 and 3.3.43 to 3.3.45)."""


@dataclass(frozen=True, slots=True)
class PatientGroup:
    """One PID and all segments up to the next.

    Args:
        patient: The identifier that keys notes.
        others: Medical record numbers of other authorities, which key notes as well.
        prior: Identifiers that this message merges into ``patient`` (MRG).
        merged: All identifiers of the patient, also of other groups, if this message
            merges or links any.
        demographics: Those in the segments.
        segments: All segments, PID first; the first group holds those before its PID.
    """

    patient: PatientId
    others: tuple[PatientId, ...]
    prior: tuple[PatientId, ...]
    merged: tuple[PatientId, ...]
    demographics: Demographics
    segments: tuple[Segment, ...] = field(repr=False)

    @property
    def keys(self) -> tuple[PatientId, ...]:
        """All identifiers that the group's demographics are of."""
        return tuple(dict.fromkeys((self.patient, *self.others, *self.prior)))


def patient_groups(
    segments: Sequence[Segment], authority: str, facility: str, trigger: str = ""
) -> list[PatientGroup]:
    """Return the groups of a message, one for each PID.

    Args:
        segments: Of the message, without MSH.
        authority: Replaces an empty CX.4.
        facility: The sending facility's name (MSH-4).
        trigger: The event, which may merge or link patients.

    Raises:
        InvalidRecord: no_patient: there is no PID, or one without an identifier;
            too_many: a list has more values than are kept.
    """
    starts = [at for at, each in enumerate(segments) if each.name == "PID"]
    if not starts:
        raise InvalidRecord(
            ReasonCode.NO_PATIENT, "PID: the message has no PID segment"
        )
    # Segments before the first PID (chapter 4: the order's NTE) are of that patient.
    first = starts[0]
    ordered = [segments[first], *segments[:first], *segments[first + 1 :]]
    bounds = [0, *starts[1:], len(segments)]
    groups = [
        _group(tuple(ordered[start:end]), authority, facility, trigger)
        for start, end in pairwise(bounds)
    ]
    if trigger != LINK:
        return groups
    merged = distinct(key for each in groups for key in each.keys)
    return [replace(each, merged=merged) for each in groups]


def _group(
    segments: tuple[Segment, ...], authority: str, facility: str, trigger: str
) -> PatientGroup:
    pid = segments[0]
    candidates = _patient_ids(pid, authority)
    if not candidates:
        raise InvalidRecord(
            ReasonCode.NO_PATIENT,
            "PID-3: no patient identifier; nor in PID-2 and PID-4",
        )
    patient, *others = candidates
    prior = _prior(segments, patient, authority) if trigger not in NO_MERGES else ()
    return PatientGroup(
        patient=patient,
        others=tuple(others),
        prior=prior,
        merged=distinct((patient, *others, *prior)) if prior else (),
        demographics=_demographics(segments, facility),
        segments=segments,
    )


def _patient_ids(pid: Segment, authority: str) -> list[PatientId]:
    """Return the identifiers that key the patient; the first one is preferred."""
    for number, type_ in fields.PATIENT_IDS:
        usable = keying(
            identifier_of_cx(each, type_) for each in pid.repetitions(number)
        )
        if usable:
            return list(distinct(each.patient_id(authority) for each in usable))
    return []


def _prior(
    segments: Iterable[Segment], patient: PatientId, authority: str
) -> tuple[PatientId, ...]:
    """Return the prior identifiers (MRG-1, MRG-4), chapter 3.4.10."""
    merged = (
        identifier_of_cx(each)
        for segment in segments
        if segment.name == "MRG"
        for number in fields.PRIOR_IDS
        for each in segment.repetitions(number)
    )
    ids = (
        each.patient_id(authority) for each in merged if each.value and may_key(each)
    )
    return distinct(each for each in ids if each != patient)


def _demographics(segments: Sequence[Segment], facility: str) -> Demographics:
    pid = segments[0]
    # Most segments of a report are results and comments that name nobody.
    segments = [
        each
        for each in segments
        if not HOLDING.get(each.name, NO_FIELDS).isdisjoint(each.fields)
    ]
    birth_date = birth_date_of(pid.value(7))
    phones = [value for _, value in _values(segments, fields.PHONES)]
    return Demographics(
        names=distinct(_names(segments)),
        birth_dates=(birth_date,) if birth_date else (),
        sex=pid.value(8)[:8],
        addresses=distinct(
            address_of_xad(value) for _, value in _values(segments, fields.ADDRESSES)
        ),
        phones=distinct(phone_of_xtn(each) for each in phones),
        emails=distinct(email_of_xtn(each) for each in phones),
        ids=distinct(_ids(segments)),
        kin=distinct(_kin(segments)),
        providers=distinct(_providers(segments)),
        facilities=distinct([facility, *_facilities(segments)]),
        employers=distinct(
            part(value, 1) for _, value in _values(segments, fields.EMPLOYERS)
        ),
    )


def _values(
    segments: Iterable[Segment], table: Mapping[str, tuple[int, ...]]
) -> Iterable[tuple[Segment, Repetition]]:
    """Return all repetitions of a table's fields, each with its segment."""
    return (
        (segment, value)
        for segment in segments
        for number in table.get(segment.name, ())
        for value in segment.repetitions(number)
    )


def _names(segments: Sequence[Segment]) -> Iterable[Name]:
    for _, value in _values(segments, fields.NAMES):
        yield from names_of_xpn(value)
    for _, value in _values(segments, fields.ALIASES):
        for name in names_of_xpn(value):
            yield name if name.use else replace(name, use="A")


def _ids(segments: Iterable[Segment]) -> Iterable[Identifier]:
    return (
        identifier_of_cx(value, type_)
        for segment in segments
        for number, type_ in fields.IDS.get(segment.name, ())
        for value in segment.repetitions(number)
    )


def _kin(segments: Iterable[Segment]) -> Iterable[Kin]:
    for segment, value in _values(segments, fields.KIN):
        relationship = segment.value(3)[:32] if segment.name == "NK1" else ""
        for name in names_of_xpn(value):
            yield Kin(name, relationship)


def _providers(segments: Sequence[Segment]) -> Iterable[Name]:
    for _, value in _values(segments, fields.PROVIDERS):
        yield name_of_xcn(value)
    for _, value in _values(segments, fields.READERS):
        yield name_of_ndl(value)


def _facilities(segments: Iterable[Segment]) -> Iterable[str]:
    for segment in segments:
        for number, component in fields.FACILITIES.get(segment.name, ()):
            for each in segment.repetitions(number):
                yield part(each, component)
