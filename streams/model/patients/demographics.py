"""Demographics and patient records, and how a record keeps former values."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from datetime import UTC, date, datetime
from functools import cache
from typing import Any, TypeVar

from deid_core.document import Address, PersonName
from streams.engine.errors import InvalidRecord
from streams.engine.reasons import ReasonCode

MAX_VALUES = 128
"""Values that a list keeps; the oldest ones beyond it are dropped."""

SNAPSHOT = ("names", "birth_dates", "addresses", "phones", "emails", "ids")
"""Lists that a later message replaces; replaced values become former ones."""
ACCUMULATING = ("kin", "providers", "facilities", "employers")
"""Lists that only grow: a message holds those of one encounter, not all."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class PatientId:
    """A patient's identifier and its assigning authority (CX.1 and CX.4)."""

    assigning_authority: str = field(repr=False)
    id: str = field(repr=False)

    def __post_init__(self) -> None:
        if not self.id:
            raise InvalidRecord(
                ReasonCode.NO_PATIENT, "PID-3: the identifier is empty; send one"
            )

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> PatientId:
        """Return the identifier of a valid value."""
        return cls(value["assigning_authority"], value["id"])

    @property
    def key(self) -> bytes:
        """The Kafka key: authority and id, escaped so that no two patients share it."""
        return f"{_escaped(self.assigning_authority)}|{_escaped(self.id)}".encode()


NOBODY = PatientId("", "-")
"""Stands for the patient of what names none."""


@dataclass(frozen=True, slots=True)
class Name:
    """A person's name (XPN, XCN) and its use (XPN.7: L legal, M maiden, A alias...)."""

    family: str = field(default="", repr=False)
    given: str = field(default="", repr=False)
    middle: str = field(default="", repr=False)
    prefix: str = field(default="", repr=False)
    suffix: str = field(default="", repr=False)
    use: str = field(default="", repr=False)

    def __bool__(self) -> bool:
        """Return whether family, given or middle name is present."""
        return bool(self.family or self.given or self.middle)

    def person(self) -> PersonName:
        """Return the name as a value of deid_core."""
        return PersonName(
            self.family, self.given, self.middle, self.prefix, self.suffix
        )


@dataclass(frozen=True, slots=True)
class Identifier:
    """An identifier of the patient (CX); its type is of HL7 table 0203."""

    value: str = field(repr=False)
    type: str = field(default="", repr=False)
    assigning_authority: str = field(default="", repr=False)

    def patient_id(self, authority: str) -> PatientId:
        """Return the key of the patient; the authority is used if it names none."""
        return PatientId(self.assigning_authority or authority, self.value)


_MEDICAL_RECORDS = ("MR", "MRN", "PI", "PT")
_NO_RECORDS = frozenset(
    {
        *("SS", "SSN", "DL", "DLN", "PPN", "NPI", "EN"),  # other numbers of persons
        *("AN", "VN", "BA", "CZ", "MC", "MA", "HC"),  # accounts, visits, insurance
    }
)
"""Identifier types that never key a patient (HL7 table 0203, and variants in use)."""


def may_key(identifier: Identifier, *, but: Collection[str] = ()) -> bool:
    """Return whether an identifier may key a patient."""
    return identifier.type not in _NO_RECORDS and identifier.type not in but


def keying(ids: Iterable[Identifier], *, but: Collection[str] = ()) -> list[Identifier]:
    """Return the identifiers that key a patient; the first one is preferred.

    They are the medical record numbers, or else the first one that is no account,
    insurance or social security number.

    Args:
        ids: Of the patient.
        but: Further types that never do.
    """
    usable = [each for each in ids if each.value and may_key(each, but=but)]
    medical = [each for each in usable if each.type in _MEDICAL_RECORDS]
    medical.sort(key=lambda each: _MEDICAL_RECORDS.index(each.type))
    return medical or usable[:1]


@dataclass(frozen=True, slots=True)
class Kin:
    """A relative or contact (NK1)."""

    name: Name = field(default_factory=Name, repr=False)
    relationship: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True)
class Demographics:
    """Everything that identifies a patient, as of one message or one point in time."""

    names: tuple[Name, ...] = field(default=(), repr=False)
    birth_dates: tuple[str, ...] = field(default=(), repr=False)
    sex: str = field(default="", repr=False)
    addresses: tuple[Address, ...] = field(default=(), repr=False)
    phones: tuple[str, ...] = field(default=(), repr=False)
    emails: tuple[str, ...] = field(default=(), repr=False)
    ids: tuple[Identifier, ...] = field(default=(), repr=False)
    kin: tuple[Kin, ...] = field(default=(), repr=False)
    providers: tuple[Name, ...] = field(default=(), repr=False)
    facilities: tuple[str, ...] = field(default=(), repr=False)
    employers: tuple[str, ...] = field(default=(), repr=False)

    def to_json(self) -> dict[str, Any]:
        """Return the demographics of patients/v1, without empty values."""
        compact: dict[str, Any] = _compact(self)
        return compact

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Demographics:
        """Return the demographics of a valid value."""
        return cls(
            names=_all(value, "names", lambda each: _made(Name, each)),
            birth_dates=_all(value, "birth_dates", str),
            sex=value.get("sex", ""),
            addresses=_all(value, "addresses", lambda each: _made(Address, each)),
            phones=_all(value, "phones", str),
            emails=_all(value, "emails", str),
            ids=_all(value, "ids", lambda each: _made(Identifier, each)),
            kin=_all(value, "kin", _kin),
            providers=_all(value, "providers", lambda each: _made(Name, each)),
            facilities=_all(value, "facilities", str),
            employers=_all(value, "employers", str),
        )


TYPES: Mapping[str, type[Any]] = {
    "identity": PatientId,
    "name": Name,
    "address": Address,
    "identifier": Identifier,
    "kin": Kin,
    "demographics": Demographics,
}
"""The dataclasses of the schemas' definitions and objects."""


@dataclass(frozen=True, slots=True)
class PatientRecord:
    """A patient record: current and former demographics.

    One message says as much about a patient; merging what all messages say gives the
    record that is joined with notes.

    Args:
        patient: The patient's identifier.
        updated_at: The sender's time in ISO 8601, the latest of all; empty without one.
        current: The current values.
        former: Former values, which earlier notes may hold.
        merged: Other identifiers of the same patient (ADT A40, A34, A47, A24).
        times: The time of each current list (and of `sex`) that is not `updated_at`.
    """

    patient: PatientId
    updated_at: str = field(repr=False)
    current: Demographics
    former: Demographics = field(default_factory=Demographics)
    merged: tuple[PatientId, ...] = ()
    times: Mapping[str, str] = field(default_factory=dict, repr=False)

    def to_json(self) -> dict[str, Any]:
        """Return the value of the `patients` topic, but for its version."""
        value = {
            "patient": asdict(self.patient),
            "updated_at": self.updated_at,
            "current": self.current.to_json(),
            "former": self.former.to_json(),
            "merged": [asdict(each) for each in self.merged],
        }
        return value | {"times": dict(self.times)} if self.times else value

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> PatientRecord:
        """Return the patient record of a valid value."""
        return cls(
            patient=PatientId.from_json(value["patient"]),
            updated_at=value["updated_at"],
            current=Demographics.from_json(value["current"]),
            former=Demographics.from_json(value["former"]),
            merged=_all(value, "merged", PatientId.from_json),
            times=dict(value.get("times", {})),
        )

    def time_of(self, name: str) -> str:
        """Return the sender's time of a list of `SNAPSHOT`, or of `sex`."""
        return self.times.get(name, self.updated_at)


def merge_records(older: PatientRecord | None, newer: PatientRecord) -> PatientRecord:
    """Return the patient record after an update; replaced values become former ones.

    Of each list the values with the later time are current, in whatever order the two
    arrive; if the times are equal or one is unreadable, those that arrive later.
    Merging the same record again changes nothing.

    Raises:
        InvalidRecord: too_many: The patient would have more identifiers than are kept.
    """
    if older is None:
        return newer
    order = _Order(older.updated_at, newer.updated_at)
    current: dict[str, Any] = {}
    times: dict[str, str] = {}
    for name in (*SNAPSHOT, "sex"):
        before, after = getattr(older.current, name), getattr(newer.current, name)
        of_list = order
        if older.times or newer.times:
            of_list = _Order(older.time_of(name), newer.time_of(name))
        if before and after:
            current[name] = before if of_list.is_reversed else after
            at = of_list.later
        else:
            current[name] = before or after
            at = of_list.first if before else of_list.second
        if current[name] and at != order.later:
            times[name] = at
    first, last = older.current, newer.current
    if order.is_reversed:
        first, last = last, first
    for name in ACCUMULATING:
        current[name] = _joined(getattr(first, name), getattr(last, name))
    made = Demographics(**current)
    return PatientRecord(
        patient=newer.patient,
        updated_at=order.later,
        current=made,
        former=_not_in(made, (older.former, newer.former, first, last)),
        merged=_identifiers(newer.patient, older.merged + newer.merged),
        times=times,
    )


class _Order:
    """Two times in the order of arrival, and which of them is the later.

    Args:
        first: ISO 8601; may be unreadable.
        second: ISO 8601; the later of the two unless it is readably earlier.
    """

    __slots__ = ("first", "is_reversed", "later", "second")

    def __init__(self, first: str, second: str) -> None:
        self.first, self.second = first, second
        self.is_reversed, self.later = False, first
        if first != second and (after := _moment(second)) is not None:
            before = _moment(first)
            self.is_reversed = before is not None and after < before
            self.later = first if self.is_reversed else second


def is_day(text: str) -> bool:
    """Return whether the text is a date as the schemas have it (YYYY-MM-DD)."""
    try:
        return date.fromisoformat(text).isoformat() == text
    except ValueError:
        return False


def is_time(text: str) -> bool:
    """Return whether the text is a time that decides which values are current."""
    return _moment(text) is not None


def _moment(updated_at: str) -> float | None:
    """Return the time in seconds since 1970, or None if it is unreadable."""
    try:
        when = datetime.fromisoformat(updated_at)
    except ValueError:
        return None
    # A time without a zone is the sender's local time; for comparison UTC will do.
    return (when if when.tzinfo else when.replace(tzinfo=UTC)).timestamp()


def _not_in(current: Demographics, parts: Sequence[Demographics]) -> Demographics:
    """Return the values of the parts that ``current`` does not hold, oldest first."""
    kept: dict[str, Any] = {}
    for name in SNAPSHOT:
        now = getattr(current, name)
        lists = [each for part in parts if (each := getattr(part, name)) != now]
        if any(lists):
            values = (each for one in lists for each in one if each not in now)
            kept[name] = _bounded(values)
    return Demographics(**kept)


def _identifiers(own: PatientId, merged: Iterable[PatientId]) -> tuple[PatientId, ...]:
    found = tuple(each for each in dict.fromkeys(merged) if each != own)
    if len(found) > MAX_VALUES:
        # A dropped identifier would not be found in the notes.
        raise InvalidRecord(
            ReasonCode.TOO_MANY,
            f"merged: more than {MAX_VALUES} identifiers of one patient; check the "
            "merges of its sender",
        )
    return found


def _joined(first: tuple[T, ...], last: tuple[T, ...]) -> tuple[T, ...]:
    return first if first == last else _bounded(first + last)


def _bounded(values: Iterable[T]) -> tuple[T, ...]:
    return tuple(dict.fromkeys(values))[-MAX_VALUES:]


def _kin(value: Mapping[str, Any]) -> Kin:
    return Kin(_made(Name, value.get("name", {})), value.get("relationship", ""))


def _made(kind: Callable[..., T], value: Mapping[str, Any]) -> T:
    """Return a value from the known properties; version 1 may gain others."""
    known = _property_names(kind)
    return kind(**{name: each for name, each in value.items() if name in known})


def records_of(
    keys: Sequence[PatientId],
    sent_at: str,
    current: Demographics,
    former: Demographics | None = None,
    merged: Sequence[PatientId] | None = None,
) -> tuple[PatientRecord, ...]:
    """Return what a message says of a patient, under every key.

    Args:
        keys: Of the patient; each record names the other ones.
        sent_at: The time of the message.
        current: What it says.
        former: What it says of former values.
        merged: All that the records name; the keys, unless it is given.
    """
    named = keys if merged is None else merged
    return tuple(
        PatientRecord(
            key,
            sent_at,
            current,
            former or Demographics(),
            merged=tuple(each for each in named if each != key),
        )
        for key in keys
    )


def distinct(values: Iterable[T]) -> tuple[T, ...]:
    """Return the values of a message that are not empty, each once, in order.

    Raises:
        InvalidRecord: They are too many.
    """
    found = tuple(dict.fromkeys(each for each in values if _is_filled(each)))
    if len(found) > MAX_VALUES:
        # A dropped value would not be found in the notes.
        raise InvalidRecord(
            ReasonCode.TOO_MANY,
            f"demographics: a list of more than {MAX_VALUES} values; send fewer",
        )
    return found


def _is_filled(value: object) -> bool:
    if isinstance(value, Kin):
        return bool(value.name)
    if isinstance(value, Identifier):
        return bool(value.value)
    return bool(value) and value != Address()


@cache
def _property_names(kind: Any) -> tuple[str, ...]:  # noqa: ANN401 (a dataclass's type)
    return tuple(each.name for each in fields(kind))


def _all(
    value: Mapping[str, Any], name: str, make: Callable[[Any], T]
) -> tuple[T, ...]:
    return tuple(make(each) for each in value.get(name, ()))


def _compact(value: Any) -> Any:  # noqa: ANN401 (JSON)
    """Return values as JSON without empty ones; `asdict` takes five times as long."""
    if isinstance(value, tuple):
        return [_compact(each) for each in value]
    if isinstance(value, str):
        return value
    parts = ((name, getattr(value, name)) for name in value.__dataclass_fields__)
    return {name: _compact(part) for name, part in parts if part}


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("|", "\\|")
