"""What is known about a patient: the table's row and the note's own message header."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field, fields

import orjson

from deid_core import KnownIdentifiers

from ..patients.demographics import Demographics, PatientRecord
from ..patients.known_identifiers import known_identifiers

CACHED_PATIENTS = 4096
LISTS = tuple(each.name for each in fields(Demographics) if each.name != "sex")


@dataclass(frozen=True, slots=True)
class _Row:
    """A row of the table, parsed once."""

    raw: bytes = field(repr=False)
    record: PatientRecord
    values: dict[str, frozenset[object]] = field(repr=False)
    known: KnownIdentifiers

    def holds(self, header: Demographics) -> bool:
        """Return whether the header says nothing that the row does not."""
        return all(
            self.values[name].issuperset(getattr(header, name)) for name in LISTS
        )


class KnownCache:
    """Remembers the parsed rows of the patients seen last, until a row changes.

    The same row gives the same object, so that the detectors prepare it only once.
    """

    def __init__(self, most: int = CACHED_PATIENTS) -> None:
        self._most = most
        self._rows: OrderedDict[bytes, _Row] = OrderedDict()

    def identifiers(
        self, key: bytes, raw: bytes | None, header: Demographics | None
    ) -> KnownIdentifiers:
        """Return all values of the row and of the header, current and former."""
        if raw is None:
            return known_identifiers(header)
        row = self._row(key, raw)
        if header is None or row.holds(header):
            return row.known
        return known_identifiers(row.record, header)

    def _row(self, key: bytes, raw: bytes) -> _Row:
        row = self._rows.get(key)
        if row is None or row.raw != raw:
            row = self._rows[key] = _parsed(raw)
        self._rows.move_to_end(key)
        if len(self._rows) > self._most:
            self._rows.popitem(last=False)
        return row


def _parsed(raw: bytes) -> _Row:
    record = PatientRecord.from_json(orjson.loads(raw))
    values = {
        name: frozenset(getattr(record.current, name) + getattr(record.former, name))
        for name in LISTS
    }
    return _Row(raw, record, values, known_identifiers(record))
