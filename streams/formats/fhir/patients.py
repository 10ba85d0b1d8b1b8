"""Split the resources of a message into those of each patient.

A resource belongs to the patient that its `subject` or `patient` refers to: a Patient
of the Bundle, a contained one, one that is named by an identifier, or one that the
message does not hold (`Patient/123`).  What has no such element (Practitioner,
Organization, Medication...) belongs to every patient whose resources refer to it.
Alone it is nobody's, and so is what might name a patient and does not.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from deid_core import Label
from streams.engine.errors import InvalidRecord
from streams.engine.reasons import ReasonCode
from streams.formats.values import OTHER
from streams.model.patients.demographics import PatientId
from streams.model.patients.known_identifiers import LABELS_OF_ID_TYPES
from streams.model.patients.numbers import numbers_of

from .datatypes import identifier_of, text
from .demographics import patient_ids
from .json_text import dumps
from .references import Target, target_of
from .rules import RESOURCE_TYPES, SUBJECTS, SUPPORTED, TYPES
from .writer import Known, dicts

BUNDLE_TYPES = TYPES["Bundle"].rules["type"].words
Json = dict[str, Any]
MAX_SHARED = 50_000
"""Entries that belong to several patients, counted with each of them."""
_OF_SEVERAL = ("Binary", "Device")
"""Types that may name a patient, and be used for several if they do not."""
# A Bundle in a Bundle may be that of any patient.
_IN_BUNDLES = SUPPORTED - {"Bundle"}


@dataclass(slots=True)
class Entry:
    """An entry of a Bundle, or the resource that is the whole message."""

    value: Json = field(repr=False)
    resource: Json = field(repr=False)
    names: tuple[str, ...] = field(repr=False)

    @property
    def type(self) -> str:
        """The resource type; `other` for one that the standard does not know."""
        return type_of(self.resource)


@dataclass(slots=True)
class Group:
    """A patient of a message, and the entries that are theirs."""

    keys: list[PatientId]
    entries: list[Entry] = field(default_factory=list, repr=False)

    def resources(self) -> list[Json]:
        """Return the resources of all entries, and those that they contain."""
        own = [each.resource for each in self.entries]
        return [*own, *(more for each in own for more in dicts(each.get("contained")))]


@dataclass(frozen=True, slots=True)
class Split:
    """The patients of a message.

    Args:
        groups: One for each patient.
        skipped: Numbers of entries that can't be given to one patient, by type.
    """

    groups: Sequence[Group]
    skipped: Mapping[str, int]


def type_of(resource: Mapping[str, Any]) -> str:
    """Return the type of a resource, or `other` if the standard does not know it."""
    type_ = resource.get("resourceType")
    is_known = isinstance(type_, str) and type_ in RESOURCE_TYPES
    return str(type_) if is_known else OTHER


def entries_of(message: Json) -> list[Entry]:
    """Return the entries of a Bundle, or the one resource that a message is.

    Raises:
        InvalidRecord: The resource, or the Bundle of that type, has no rules.
    """
    type_ = type_of(message)
    if type_ not in SUPPORTED:
        raise InvalidRecord(
            ReasonCode.UNSUPPORTED,
            f"FHIR: resourceType: {type_} is not supported; "
            f"supported are: {', '.join(sorted(SUPPORTED))}",
        )
    if type_ != "Bundle":
        return [Entry({}, message, _names({}, message))]
    if text(message.get("type")) not in BUNDLE_TYPES:
        raise InvalidRecord(
            ReasonCode.UNSUPPORTED,
            "FHIR: Bundle.type is not supported; "
            f"supported are: {', '.join(sorted(BUNDLE_TYPES))}",
        )
    found = []
    for each in dicts(message.get("entry")):
        resource = each.get("resource")
        resource = resource if isinstance(resource, dict) else {}
        found.append(Entry(each, resource, _names(each, resource)))
    return found


def known_of(entries: Sequence[Entry]) -> Known:
    """Return what entries say of what is named in several places."""
    labels: dict[str, Label] = {}
    values: dict[str, list[str]] = {"identifier": [], "telecom": [], "birthDate": []}
    for name, found in _holders(each.resource for each in entries):
        value = text(found.get("value"))
        values[name].append(value)
        if name == "identifier" and value:
            type_ = identifier_of(found).type
            label = LABELS_OF_ID_TYPES.get(type_, Label.IDNUM)
            if labels.get(value, Label.IDNUM) is Label.IDNUM:
                labels[value] = label
    return Known(
        types={name: each.type for each in entries for name in each.names},
        labels=labels,
        numbers=numbers_of(*values.values()),
    )


def _holders(value: object, name: str = "") -> Iterator[tuple[str, Json]]:
    """Yield all identifiers, telephone numbers and birth dates, wherever they are."""
    if name == "birthDate":
        yield name, {"value": value}
    elif isinstance(value, Mapping):
        if name in ("identifier", "telecom"):
            yield name, dict(value)
        for inner, each in value.items():
            is_one = inner in ("masterIdentifier", "groupIdentifier", "requisition")
            yield from _holders(each, "identifier" if is_one else inner)
    elif isinstance(value, Iterable) and not isinstance(value, str):
        for each in value:
            yield from _holders(each, name)


def split(
    entries: Sequence[Entry], authority: str, nobody: PatientId | None = None
) -> Split:
    """Return the patients of a message.

    Args:
        entries: Of the message.
        authority: The assigning authority of logical ids.
        nobody: Stands for the patient of a message that could name none.

    Raises:
        InvalidRecord: no_patient: no patient is named; schema: two Patients have the
            same id.
    """
    return _Splitter(entries, authority).split(nobody)


class _Splitter:
    def __init__(self, entries: Sequence[Entry], authority: str) -> None:
        self._entries = entries
        self._authority = authority
        self._groups: list[Group] = []
        self._by_key: dict[PatientId, Group] = {}
        self._of_patient: dict[str, Group] = {}
        self._by_name = {name: each for each in entries for name in each.names}

    def split(self, nobody: PatientId | None) -> Split:
        for each in self._entries:
            if each.type == "Patient":
                self._add_patient(each)
        owners = [self._owner(each) for each in self._entries]
        names_owner = any(map(_names_owner, self._entries))
        if not self._groups and nobody is not None and not names_owner:
            return Split([Group([nobody], list(self._entries))], {})
        if not self._groups:
            raise InvalidRecord(
                ReasonCode.NO_PATIENT,
                "FHIR: no patient; send a Patient, or refer to one as the subject",
            )
        return self._given(owners)

    def _given(self, owners: Sequence[Group | None]) -> Split:
        only = self._groups[0] if len(self._groups) == 1 else None
        skipped: Counter[str] = Counter()
        members: dict[int, list[int]] = {id(each): [] for each in self._groups}
        shared: list[int] = []
        for number, (entry, owner) in enumerate(
            zip(self._entries, owners, strict=True)
        ):
            owner = owner or (only if _may_lack_owner(entry) else None)
            if owner is not None:
                members[id(owner)].append(number)
            elif entry.type not in SUPPORTED and entry.resource:
                # What it is suffices: it is removed and counted when it is rebuilt.
                entry.resource = {"resourceType": entry.type}
                entry.value = {"resource": entry.resource}
                members[id(self._groups[0])].append(number)
            elif _is_shared(entry):
                shared.append(number)
            else:
                skipped[entry.type] += 1
        unused = set(shared)
        copies = 0
        for group in self._groups:
            reached = self._reached(members[id(group)], shared)
            unused -= reached
            copies += len(reached)
            if copies > MAX_SHARED and len(self._groups) > 1:
                raise InvalidRecord(
                    ReasonCode.TOO_LARGE,
                    "Bundle.entry: too many patients refer to too many resources; "
                    "send a Bundle for each patient",
                )
            numbers = sorted({*members[id(group)], *reached})
            group.entries = [self._entries[each] for each in numbers]
        skipped.update(self._entries[each].type for each in unused)
        return Split([each for each in self._groups if each.entries], skipped)

    def _reached(self, own: Iterable[int], shared: Iterable[int]) -> set[int]:
        """Return the shared entries that entries refer to, also by way of others."""
        numbers = {id(self._entries[each]): each for each in shared}
        reached = {n for n in shared if self._entries[n].type == "MessageHeader"}
        waiting = [*own, *reached]
        while waiting:
            for name in _references(self._entries[waiting.pop()].resource):
                found = self._by_name.get(name)
                number = numbers.get(id(found))
                if number is not None and number not in reached:
                    reached.add(number)
                    waiting.append(number)
        return reached

    def _add_patient(self, entry: Entry) -> None:
        keys = patient_ids(entry.resource, self._authority)
        if not keys and (target := target_of(entry.value.get("fullUrl"))):
            keys = [PatientId(self._authority, target.id)]
        if not keys:
            raise InvalidRecord(
                ReasonCode.NO_PATIENT,
                "FHIR: Patient: neither identifier nor id; send one",
            )
        group = self._group(keys)
        for name in entry.names:
            # Two servers may have a Patient of that id each.
            if self._by_name[name].resource != entry.resource:
                raise InvalidRecord(
                    ReasonCode.SCHEMA, "FHIR: two Patients have the same id; part them"
                )
            self._of_patient[name] = group

    def _group(self, keys: Sequence[PatientId]) -> Group:
        found = next(
            (self._by_key[each] for each in keys if each in self._by_key), None
        )
        if found is None:
            found = Group([])
            self._groups.append(found)
        for each in keys:
            if each not in found.keys:
                found.keys.append(each)
            self._by_key.setdefault(each, found)
        return found

    def _owner(self, entry: Entry) -> Group | None:
        if entry.type == "Patient":
            if entry.names:
                return self._of_patient[entry.names[0]]
            return self._group(patient_ids(entry.resource, self._authority))
        reference = entry.resource.get(SUBJECTS.get(entry.type, ""))
        if not isinstance(reference, dict):
            return None
        return self._referred(reference, entry)

    def _referred(self, reference: Json, entry: Entry) -> Group | None:
        """Return the patient that a reference points to."""
        target = target_of(reference.get("reference"))
        if target is not None:
            return self._targeted(target, entry)
        identifier = reference.get("identifier")
        type_ = reference.get("type", "Patient")
        if not isinstance(identifier, dict) or type_ != "Patient":
            return None
        found = identifier_of(identifier)
        return self._group([found.patient_id(self._authority)]) if found.value else None

    def _targeted(self, target: Target, entry: Entry) -> Group | None:
        if target.form == "contained":
            return self._contained(target, entry)
        if target.type not in ("", "Patient"):
            return None
        if target.form == "search":
            named = identifier_of({"system": target.system, "value": target.id})
            return self._group([named.patient_id(self._authority)])
        name = f"{target.type or 'urn'}/{target.id}"
        if name in self._by_name:
            return self._of_patient.get(name)
        return self._group([PatientId(self._authority, target.id)])

    def _contained(self, target: Target, entry: Entry) -> Group | None:
        for each in dicts(entry.resource.get("contained")):
            if each.get("resourceType") == "Patient" and each.get("id") == target.id:
                # A contained id means nothing outside of its resource.
                outside = {name: each[name] for name in each if name != "id"}
                keys = patient_ids(outside, self._authority)
                return self._group(keys or [self._inside(target, entry)])
        return None

    def _inside(self, target: Target, entry: Entry) -> PatientId:
        """Return the key of a patient whom only the resource that contains it names."""
        holder = entry.names[-1] if entry.names else _digest(entry.resource)
        return PatientId(self._authority, f"{holder}#{target.id}")


def _names(entry: Json, resource: Json) -> tuple[str, ...]:
    """Return what references may call an entry: `Patient/123`, `urn/<uuid>`."""
    found = []
    if target := target_of(entry.get("fullUrl")):
        found.append(f"{target.type or 'urn'}/{target.id}")
    if target := target_of(f"{resource.get('resourceType')}/{resource.get('id')}"):
        found.append(f"{target.type}/{target.id}")
    return tuple(dict.fromkeys(found))


def _digest(resource: Json) -> str:
    return hashlib.sha256(dumps(resource)).hexdigest()


def _names_owner(entry: Entry) -> bool:
    """Return whether an entry names a patient, though none that can be read."""
    return SUBJECTS.get(entry.type, "") in entry.resource


def _may_lack_owner(entry: Entry) -> bool:
    """Return whether an entry belongs to the only patient though it names none."""
    element = SUBJECTS.get(entry.type, "")
    return entry.type in _IN_BUNDLES and element not in entry.resource


def _is_shared(entry: Entry) -> bool:
    is_of_someone = entry.type in SUBJECTS and entry.type not in _OF_SEVERAL
    return entry.type in _IN_BUNDLES and not is_of_someone


def _references(value: object) -> Iterator[str]:
    """Yield the names of everything that a resource refers to."""
    if isinstance(value, list):
        for each in value:
            yield from _references(each)
    elif isinstance(value, dict):
        for name, each in value.items():
            if name in ("reference", "url") and (target := target_of(each)):
                yield f"{target.type or 'urn'}/{target.id}"
            else:
                yield from _references(each)
