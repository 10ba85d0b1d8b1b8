"""When patients were erased: notes of before are not scrubbed again.

An erased patient has no row in `patients`, until an update begins a new record, which
lacks the names of before.  Null values of `patient.updates` say when that was.
"""

from __future__ import annotations

from collections.abc import Mapping

from confluent_kafka.admin import AdminClient

from streams.engine.errors import ConfigError, RetriableError
from streams.kafka.bounded import committed_records
from streams.kafka.offsets import GroupOffsets, first_offsets, high_watermarks
from streams.kafka.topics import NOTES, PATIENT_UPDATES, Topic
from streams.operations.settings import Settings
from streams.service.lost_offsets import wait_until_stable

SKEW_MS = 5 * 60 * 1000
"""How far the clocks of hosts may differ."""


class Erasures:
    """The time of the last erasure of each patient that was erased."""

    def __init__(self) -> None:
        self._at: dict[bytes, int] = {}

    def add(self, key: bytes, at_ms: int) -> None:
        """Note an erasure."""
        self._at[key] = max(at_ms, self._at.get(key, at_ms))

    def cover(self, key: bytes, written_ms: int) -> bool:
        """Return whether the patient was erased after a note was written."""
        at = self._at.get(key)
        return at is not None and written_ms <= at + SKEW_MS


def read_erasures(settings: Settings, admin: AdminClient, partitions: int) -> Erasures:
    """Return the erasures that `patient.updates` tells of.

    Raises:
        RetriableError: The cluster does not answer, or a transaction stays open.
    """
    topic, numbers = PATIENT_UPDATES, range(partitions)
    first = first_offsets(admin, topic.name, numbers)
    high = high_watermarks(admin, topic.name, numbers)
    wait_until_stable(settings, admin, topic, high)
    found = Erasures()
    ranges = {p: (first[p], high[p]) for p in numbers}
    group = f"{settings.group}-rescrub"
    for message in committed_records(settings, topic.name, ranges, group):
        if message is not None and message.value() is None:
            key = message.key()
            found.add(key if isinstance(key, bytes) else b"", message.timestamp()[1])
    return found


def require_updates(
    settings: Settings, admin: AdminClient, starts: Mapping[int, int]
) -> None:
    """Check that `patient.updates` still holds what was sent since the first notes.

    Args:
        settings: Connection settings.
        admin: A client of the cluster.
        starts: The first offset to read of each partition of `notes`.

    Raises:
        ConfigError: It does not: a patient who was erased, and came back, would be
            taken for one who was always known.
    """
    first = first_offsets(admin, PATIENT_UPDATES.name, starts)
    notes = _times(settings, NOTES, starts)
    updates = _times(
        settings, PATIENT_UPDATES, {p: at for p, at in first.items() if at}
    )
    late = {
        p: at
        for p, at in updates.items()
        if (oldest := notes.get(p)) is not None and (at is None or at > oldest)
    }
    if late:
        raise ConfigError(
            f"{PATIENT_UPDATES.name}: retention has deleted updates of partitions "
            f"{sorted(late)} since the first notes to be read were written, so it is "
            "not known who was erased since; begin with later notes (--from), and give "
            f"{PATIENT_UPDATES.name} a retention.ms above that of {NOTES.name} for the "
            "next time"
        )


def _times(
    settings: Settings, topic: Topic, offsets: Mapping[int, int]
) -> dict[int, int | None]:
    """Return when the first record of each partition was written.

    Raises:
        RetriableError: A partition was not read in time.
    """
    if not offsets:
        return {}
    reader = GroupOffsets(settings, f"{settings.group}-rescrub", topic.name)
    try:
        found = reader.first_records(offsets)
    finally:
        reader.close()
    if unread := sorted(offsets.keys() - found.keys()):
        raise RetriableError(
            f"{topic.name}: partitions {unread} were not read in time, so it is not "
            "known who was erased"
        )
    return found
