"""What is known about a patient: the table's row and the note's own message header."""

from __future__ import annotations

from collections import OrderedDict

import orjson

from deid_core import KnownIdentifiers

from ..known import known_identifiers
from ..patients import Demographics, PatientRecord

CACHED_PATIENTS = 4096


class KnownCache:
    """Remembers the parsed rows of the patients seen last, until a row changes."""

    def __init__(self, most: int = CACHED_PATIENTS) -> None:
        self._most = most
        self._parsed: OrderedDict[
            bytes, tuple[bytes | None, Demographics | None, KnownIdentifiers]
        ] = OrderedDict()

    def identifiers(
        self, key: bytes, row: bytes | None, header: Demographics | None
    ) -> KnownIdentifiers:
        """Return all values of the row and of the header, current and former."""
        cached = self._parsed.get(key)
        if cached is not None and cached[0] == row and cached[1] == header:
            self._parsed.move_to_end(key)
            return cached[2]
        record = None if row is None else PatientRecord.from_json(orjson.loads(row))
        known = known_identifiers(record, header)
        self._parsed[key] = (row, header, known)
        if len(self._parsed) > self._most:
            self._parsed.popitem(last=False)
        return known
