"""The progress of the groups through the inputs, and what contradicts it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from confluent_kafka.admin import AdminClient

from streams.kafka.offsets import GroupOffsets, high_watermarks
from streams.kafka.topics import NOTES, PATIENT_UPDATES
from streams.operations.lag_poller import STAGES
from streams.operations.settings import Settings

from .inputs import Inputs
from .marks import INPUTS
from .verdict import Fault

TRANSACTIONAL = (NOTES.name, PATIENT_UPDATES.name)
"""Inputs that this service writes: their partitions may end with a marker."""

Offsets = Mapping[tuple[str, int], int | None]


@dataclass(frozen=True, slots=True)
class OffsetFault:
    """A fault of committed offsets."""

    fault: Fault
    topic: str
    partition: int
    offset: int
    says: str


class GroupProgress:
    """The committed offsets of the groups, as they are now.

    Args:
        settings: Connection settings.
        admin: A client.
        counts: The number of partitions of each topic.
    """

    def __init__(
        self, settings: Settings, admin: AdminClient, counts: Mapping[str, int]
    ) -> None:
        self._settings = settings
        self._admin = admin
        self._counts = counts
        self._before = self._committed()

    def judge(
        self, inputs: Mapping[tuple[str, int], Inputs]
    ) -> tuple[Offsets, list[OffsetFault]]:
        """Return up to which offsets records must have been processed, and faults.

        Call it when all outputs have been read: the offsets of their inputs were
        committed with them.

        Args:
            inputs: By topic and partition.
        """
        now, due = self._committed(), dict(self._before)
        ends = {
            (topic, partition): end
            for topic in INPUTS
            for partition, end in high_watermarks(
                self._admin, topic, range(self._counts.get(topic, 0))
            ).items()
        }
        findings = []
        for place in now:
            for each in _findings(place, now[place], ends[place], inputs):
                findings.append(each)
                if each.fault in (Fault.OFFSETS_GONE, Fault.OFFSETS_SET_BACK):
                    due[place] = inputs[place].last_processed + 1
        return due, findings

    def _committed(self) -> dict[tuple[str, int], int | None]:
        found: dict[tuple[str, int], int | None] = {}
        for topic in INPUTS:
            group = group_of(self._settings, topic)
            offsets = GroupOffsets(self._settings, group, topic)
            try:
                known = offsets.read_known(range(self._counts.get(topic, 0)))
            finally:
                offsets.close()
            found |= {(topic, partition): known[partition] for partition in known}
        return found


def group_of(settings: Settings, topic: str) -> str:
    """Return the group that reads a topic."""
    return f"{settings.group}-{STAGES[topic]}"


def _findings(
    place: tuple[str, int],
    at: int | None,
    end: int,
    inputs: Mapping[tuple[str, int], Inputs],
) -> Iterator[OffsetFault]:
    topic, partition = place
    processed = inputs[place].last_processed + 1
    if at is None and _is_begun(topic, partition, inputs):
        says = "records were processed, but the group has no committed offset"
        yield OffsetFault(Fault.OFFSETS_GONE, topic, partition, processed, says)
    elif at is not None and at < processed:
        says = f"records were processed, but offset {at} is committed"
        yield OffsetFault(Fault.OFFSETS_SET_BACK, topic, partition, processed, says)
    elif at is not None and at > end:
        says = f"offset {at} is committed; was the topic created again?"
        yield OffsetFault(Fault.OFFSETS_AHEAD, topic, partition, end, says)
    processed = max(at or 0, processed)
    deleted = inputs[place].first - processed
    # After the last record there may be the marker of its transaction.
    if deleted > (topic in TRANSACTIONAL):
        says = f"{deleted} offsets were deleted before they were processed"
        yield OffsetFault(Fault.DELETED_UNREAD, topic, partition, processed, says)


def _is_begun(
    topic: str, partition: int, inputs: Mapping[tuple[str, int], Inputs]
) -> bool:
    """Return whether the stage has processed records of a partition's number.

    A worker commits the offsets of all its topics when it takes them over.
    """
    return any(
        inputs[each, partition].last_processed >= 0
        for each in INPUTS
        if STAGES[each] == STAGES[topic] and (each, partition) in inputs
    )
