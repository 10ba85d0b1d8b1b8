"""Find the notes that the live feed has published: those alone are scrubbed again.

`notes` holds more: notes that wait for demographics, or were discarded, and those that
were released or replayed, once more.  Sealed audit events say which were published.
"""

from __future__ import annotations

import re
from collections.abc import Container, Mapping

import numpy as np
import numpy.typing as npt
from confluent_kafka import Message
from confluent_kafka.admin import AdminClient

from streams.kafka.bounded import committed_records
from streams.kafka.client import record_of
from streams.kafka.offsets import GroupOffsets, high_watermarks, offsets_at
from streams.kafka.topic_admin import partition_counts
from streams.kafka.topics import DAY_MS, NOTES, PHI_AUDIT
from streams.model.outputs import OUTCOME, SOURCE
from streams.model.seals import SEAL, Seal, Seals, audit_key
from streams.operations.settings import Settings
from streams.service.lost_offsets import wait_until_stable

_SOURCE = re.compile(rb"notes/([0-9]{1,9})/([0-9]{1,18})")
_SCRUBBED = b'"outcome":"scrubbed"'
"""As orjson writes it; no value that it writes can hold the quotation marks."""

Range = tuple[int, int]


class Offsets:
    """A set of offsets of one partition: one byte for each that there may be.

    Args:
        first: The first that it may hold.
        end: The one after the last.
    """

    def __init__(self, first: int, end: int) -> None:
        self._first = first
        self.flags: npt.NDArray[np.bool_] = np.zeros(max(0, end - first), dtype=bool)

    def __contains__(self, offset: object) -> bool:
        row = offset - self._first if isinstance(offset, int) else -1
        return 0 <= row < len(self.flags) and bool(self.flags[row])

    def __len__(self) -> int:
        return int(self.flags.sum())

    def add(self, offset: int) -> None:
        """Add an offset, if the set may hold it."""
        row = offset - self._first
        if 0 <= row < len(self.flags):
            self.flags[row] = True


class PublishedNotes:
    """The offsets of the notes that the live feed has published.

    Args:
        ranges: First and end offset of each partition of `notes`.
    """

    def __init__(self, ranges: Mapping[int, Range]) -> None:
        self._of = {p: Offsets(*each) for p, each in ranges.items()}

    def __getitem__(self, partition: int) -> Container[int]:
        return self._of[partition]

    def __len__(self) -> int:
        return sum(map(len, self._of.values()))

    def flags(self, partition: int) -> npt.NDArray[np.bool_]:
        """Return, for each offset of a partition's range, whether it is published."""
        return self._of[partition].flags

    def add(self, partition: int, offset: int) -> None:
        """Add a note, if it is in the ranges."""
        if partition in self._of:
            self._of[partition].add(offset)


def read_published(
    settings: Settings, admin: AdminClient, ranges: Mapping[int, Range]
) -> PublishedNotes:
    """Return the notes of some ranges that the live feed has published.

    Args:
        settings: Connection settings, and the keys of the seals.
        admin: A client of the cluster.
        ranges: Of `notes`; scrub has committed the offsets before their ends.

    Raises:
        RetriableError: The cluster does not answer, or a transaction stays open.
    """
    partitions = range(partition_counts(admin)[PHI_AUDIT.name])
    high = high_watermarks(admin, PHI_AUDIT.name, partitions)
    wait_until_stable(settings, admin, PHI_AUDIT, high)
    first = offsets_at(admin, PHI_AUDIT.name, partitions, _oldest_ms(settings, ranges))
    seals = [Seals(audit_key(each.value)) for each in settings.key_ring()]
    by_id = {each.key_id: each for each in seals}
    found = PublishedNotes(ranges)
    group = f"{settings.group}-rescrub"
    wanted = {p: (first[p], high[p]) for p in partitions}
    for message in committed_records(settings, PHI_AUDIT.name, wanted, group):
        if message is not None and (place := _place(message, by_id)) is not None:
            found.add(*place)
    return found


def _place(message: Message, seals: Mapping[str, Seals]) -> tuple[int, int] | None:
    """Return partition and offset of the note that an audit event calls published."""
    record = record_of(message)
    headers, value = record.headers, record.value or b""
    found = _SOURCE.fullmatch(headers.get(SOURCE, b""))
    if found is None or OUTCOME in headers or _SCRUBBED not in value:
        return None
    seal = Seal.read(headers.get(SEAL, b""))
    if seal is None or seal.key_id not in seals:
        return None
    made = seals[seal.key_id].of_output(
        PHI_AUDIT.name, record.key, record.value, headers.items(), seal.input
    )
    return (int(found[1]), int(found[2])) if made == seal else None


def _oldest_ms(settings: Settings, ranges: Mapping[int, Range]) -> int:
    """Return a time before any note of the ranges was processed."""
    reader = GroupOffsets(settings, f"{settings.group}-rescrub", NOTES.name)
    try:
        times = reader.first_records(
            {p: first for p, (first, end) in ranges.items() if end > first}
        )
    finally:
        reader.close()
    known = [at for at in times.values() if at is not None]
    # A partition that was not read in time may have an older one.
    is_complete = len(times) == sum(end > first for first, end in ranges.values())
    return max(0, min(known) - DAY_MS) if known and is_complete else 0
