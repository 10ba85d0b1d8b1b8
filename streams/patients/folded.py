"""All values of `patients`, folded by key on disk: what the last value may lack.

Before `patient.updates` several workers wrote a patient's record, so the last value of
a key may lack values of earlier ones that the topic still holds.  They are folded in
the order of their offsets; a tombstone begins anew.  In the end linked identifiers of
one patient get each other's values, as scrub keeps them from then on.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, fields, replace
from enum import Enum
from pathlib import Path
from typing import Any, cast

import orjson
from rocksdict import Options, Rdict, WriteBatch

from ..cluster.topics import PATIENTS
from ..engine.errors import (
    DamagedState,
    FatalError,
    InvalidRecord,
    StateLocked,
)
from ..engine.private_files import private_folder
from ..engine.records import Record
from ..tables.rocksdb import drop_store, translated
from .demographics import (
    Demographics,
    PatientId,
    PatientRecord,
    is_time,
    merge_records,
)

ROW, LINKS = b"r", b"l"
NO_LINK = b'"merged":[]'
UNMERGEABLE = (InvalidRecord, ValueError, KeyError, TypeError)


class State(Enum):
    """How the last value of a key compares with all of its values."""

    COMPLETE = b"="
    LACKING = b"+"
    REFUSED = b"!"


@dataclass(frozen=True, slots=True)
class _Row:
    """The values of one key so far.

    Args:
        state: Of the last value.
        position: Of the last value, as `Record` is shown.
        body: The last value if it is complete, else the union; empty without one.
    """

    state: State
    position: str
    body: bytes = field(repr=False)

    def encoded(self) -> bytes:
        return self.state.value + self.position.encode("ascii") + b"\0" + self.body

    @classmethod
    def decoded(cls, raw: bytes) -> _Row:
        position, _, body = raw[1:].partition(b"\0")
        return cls(State(raw[:1]), position.decode("ascii"), body)

    def record(self) -> PatientRecord | None:
        if not self.body:
            return None
        return _record(orjson.loads(self.body))


class FoldedPatients:
    """Folds records of `patients`, in a folder that `close` removes.

    Args:
        folder: Created; what an interrupted run left in it is deleted.

    Raises:
        StateLocked: Another process is folding there.
        FatalError: The folder can't be used.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        with self._translated():
            drop_store(folder)
            private_folder(folder)
            self._rows = Rdict(str(folder), options=_options())

    def add(self, records: Sequence[Record]) -> None:
        """Fold further records, those of each key in the order of their offsets."""
        rows: dict[bytes, _Row | None] = {}
        for each in records:
            key = each.key or b""
            rows[key] = _folded(rows[key] if key in rows else self._row(key), each)
        self._write(rows)

    def link(self) -> None:
        """Give each identifier of a patient what the linked ones have."""
        for _, row in self._all():
            if row.state is State.REFUSED or NO_LINK in row.body:
                continue
            if record := row.record():
                for other in record.merged:
                    self._add_link(record.patient, other)
                    self._add_link(other, record.patient)
        for key, _ in self._items(LINKS):
            linked = self._row(key)
            if linked is not None and linked.state is not State.REFUSED:
                self._write({key: self._linked(linked)})

    def __len__(self) -> int:
        """Return the number of patients."""
        return sum(1 for _ in self._items(ROW))

    def lacking(self) -> Iterator[tuple[bytes, bytes]]:
        """Yield the keys whose last value lacks something, and the whole value."""
        for key, row in self._all():
            if row.state is State.LACKING:
                yield key, row.body

    def refused(self) -> Iterator[str]:
        """Yield the positions of last values that can't be folded."""
        for _, row in self._all():
            if row.state is State.REFUSED:
                yield row.position

    def close(self) -> None:
        """Delete the folder."""
        self._rows.close()
        shutil.rmtree(self._folder, ignore_errors=True)

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            with translated(self._folder):
                yield
        except StateLocked as error:
            raise StateLocked(
                f"{error}: another phistream topics migrate runs with this state_dir; "
                "wait for it"
            ) from None
        except DamagedState as error:
            raise FatalError(f"{error}; check the disk, then run again") from None

    def _linked(self, row: _Row) -> _Row:
        own = row.record()
        if own is None:
            return row
        union = own
        try:
            for other in self._component(own.patient):
                union = merge_records(self._as_of(own.patient, other), union)
        except UNMERGEABLE:
            return replace(row, state=State.REFUSED)
        return row if _is_same(union, own) else _row_of(union, row.position)

    def _as_of(self, patient: PatientId, other: PatientId) -> PatientRecord:
        """Return the record of a linked identifier, as one of the patient."""
        row = self._row(other.key)
        record = None if row is None else row.record()
        if record is None:
            return PatientRecord(patient, "", Demographics(), merged=(other,))
        return replace(record, patient=patient, merged=(other, *record.merged))

    def _component(self, patient: PatientId) -> list[PatientId]:
        """Return all identifiers that links lead to, without the patient's own."""
        found = {patient: None}
        left = [patient]
        while left:
            new = [each for each in self._links(left.pop()) if each not in found]
            found |= dict.fromkeys(new)
            left += new
        return sorted(found.keys() - {patient}, key=lambda each: each.key)

    def _links(self, patient: PatientId) -> list[PatientId]:
        raw = self._get(LINKS + patient.key)
        return [PatientId.from_json(each) for each in orjson.loads(raw or b"[]")]

    def _add_link(self, one: PatientId, other: PatientId) -> None:
        linked = dict.fromkeys([*self._links(one), other])
        with self._translated():
            self._rows[LINKS + one.key] = orjson.dumps(list(map(asdict, linked)))

    def _row(self, key: bytes) -> _Row | None:
        raw = self._get(ROW + key)
        return None if raw is None else _Row.decoded(raw)

    def _get(self, key: bytes) -> bytes | None:
        with self._translated():
            value: bytes | None = self._rows.get(key)
        return value

    def _all(self) -> Iterator[tuple[bytes, _Row]]:
        for key, raw in self._items(ROW):
            yield key, _Row.decoded(raw)

    def _items(self, prefix: bytes) -> Iterator[tuple[bytes, bytes]]:
        """Yield keys without their prefix, and values, as they are now."""
        # In raw mode keys and values are bytes, which the type does not say.
        rows = cast("Iterable[tuple[bytes, bytes]]", self._rows.items(from_key=prefix))
        for key, value in rows:
            if not key.startswith(prefix):
                return
            yield key[1:], value

    def _write(self, rows: Mapping[bytes, _Row | None]) -> None:
        batch = WriteBatch(raw_mode=True)
        for key, row in rows.items():
            if row is None:
                batch.delete(ROW + key)
            else:
                batch.put(ROW + key, row.encoded())
        with self._translated():
            self._rows.write(batch)


def _folded(known: _Row | None, record: Record) -> _Row | None:
    """Return the row of a key after a further record of it."""
    if record.value is None:
        return None
    position = str(record)
    body = known.body if known else b""
    try:
        last = _parsed(record)
        before = known.record() if known else None
        union = last if before is None else merge_records(before, last)
    except UNMERGEABLE:
        return _Row(State.REFUSED, position, body)
    if before is None or _is_same(union, last):
        return _Row(State.COMPLETE, position, record.value)
    return _row_of(union, position)


def _parsed(record: Record) -> PatientRecord:
    """Return the patient record of a record of `patients`.

    Raises:
        ValueError: It breaks its schema, or is another patient's.
    """
    value = orjson.loads(record.value or b"")
    PATIENTS.schema.check(value)
    parsed = _record(value)
    if parsed.patient.key != record.key:
        raise ValueError
    return parsed


def _record(value: Mapping[str, Any]) -> PatientRecord:
    """Return the patient record of a valid value; unreadable times become none.

    Of two unreadable times merging keeps the first, which would differ from run to run.
    """
    record = PatientRecord.from_json(value)
    times = {name: _readable(time) for name, time in record.times.items()}
    return replace(record, updated_at=_readable(record.updated_at), times=times)


def _readable(time: str) -> str:
    return time if is_time(time) else ""


def _row_of(union: PatientRecord, position: str) -> _Row:
    value = PATIENTS.schema.versioned(union.to_json())
    return _Row(State.LACKING, position, orjson.dumps(value))


def _is_same(one: PatientRecord, other: PatientRecord) -> bool:
    """Return whether both say the same, in whatever order."""
    return _content(one) == _content(other)


def _content(record: PatientRecord) -> tuple[object, ...]:
    values = [
        frozenset(value) if isinstance(value, tuple) else value
        for part in (record.current, record.former)
        for each in fields(part)
        for value in [getattr(part, each.name)]
    ]
    return (*values, record.updated_at, dict(record.times), frozenset(record.merged))


def _options() -> Options:
    options = Options(raw_mode=True)
    options.create_if_missing(True)
    options.set_keep_log_file_num(1)
    options.set_write_buffer_size(16 * 1024 * 1024)
    return options
