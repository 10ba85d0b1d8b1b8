"""Reads the topics from where the tables end.

The consumer joins no group: which partitions it reads, and from where, the tables say.
What it commits to Kafka afterwards is for those who watch the lag, and is never read.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping

from confluent_kafka import KafkaException, TopicPartition

from streams.engine.errors import FatalError, Fenced
from streams.engine.records import Partition, Record
from streams.kafka.client import (
    CONSUMER,
    admin_client,
    consumer_client,
    log_error,
    record_of,
    translated,
)
from streams.kafka.offsets import END_OF_PARTITION, end_offsets, first_offsets
from streams.operations.settings import Settings

log = logging.getLogger(__name__)

POLL_SECONDS = 0.2
POLL_RECORDS = 1000
BEYOND = {
    # Records that are gone must stop the service, not be skipped.
    "auto.offset.reset": "error",
}


class LakeSource:
    """The records of all topics, from the tables' offsets on.

    Args:
        settings: Address of the cluster.
        counts: By topic, the number of its partitions.
        reached: By topic, the next offset of each partition; absent ones begin with
            the topic's first record.

    Raises:
        FatalError: The topic has lost records that the table has not.
    """

    def __init__(
        self,
        settings: Settings,
        counts: Mapping[str, int],
        reached: Mapping[str, Mapping[int, int]],
    ) -> None:
        admin = admin_client(settings)
        places: dict[Partition, int] = {}
        for topic, count in counts.items():
            firsts = first_offsets(admin, topic, range(count))
            ends = end_offsets(admin, topic, range(count))
            for index in range(count):
                where = Partition(topic, index)
                offset = reached[topic].get(index, firsts[index])
                _require_within(where, offset, firsts[index], ends[index])
                places[where] = offset
        self._consumer = consumer_client(
            settings,
            **{
                **CONSUMER,
                **BEYOND,
                "group.id": f"{settings.group}-lake",
                "enable.partition.eof": True,
            },
            error_cb=log_error,
        )
        self._at = places
        self._ends: dict[Partition, int] = {}
        self._consumer.assign(
            [TopicPartition(p.topic, p.index, at) for p, at in places.items()]
        )

    def poll(self) -> list[Record]:
        """Return the records that are there, or soon will be.

        Raises:
            FatalError: A partition does not go on where the table ends.
            RetriableError: The cluster did not answer.
        """
        records = []
        with translated("read"):
            messages = self._consumer.consume(POLL_RECORDS, timeout=POLL_SECONDS)
        for message in messages:
            error = message.error()
            where = Partition(message.topic() or "", message.partition() or 0)
            if error is None:
                record = record_of(message)
                self._at[where] = record.next_offset
                self._ends.pop(where, None)
                records.append(record)
            elif error.code() == END_OF_PARTITION:
                self._ends[where] = message.offset() or 0
            elif error.name() == "_AUTO_OFFSET_RESET":
                raise FatalError(
                    f"{where}: offset {self._at[where]} is not in the topic any more: "
                    "records are lost, or the topic was made anew (runbook, The lake)"
                )
            elif error.fatal():
                raise Fenced(f"read: {error.name()}")
            else:
                log.warning("read: %s", error.name())
        return records

    @property
    def ends(self) -> Mapping[Partition, int]:
        """The offsets of partitions that were read to their end, markers included."""
        return self._ends

    def lag(self, topic: str) -> int:
        """Return how many offsets of a topic were not read yet, as far as is known."""
        lag = 0
        for where, at in self._at.items():
            if where.topic != topic or where in self._ends:
                continue
            place = TopicPartition(where.topic, where.index)
            found = self._consumer.get_watermark_offsets(place, cached=True)
            lag += max(0, found[1] - at) if found else 0
        return lag

    def report(self, topic: str, offsets: Mapping[int, int]) -> None:
        """Commit offsets to Kafka, where lag is watched; a failure does no harm."""
        places = [TopicPartition(topic, p, at) for p, at in offsets.items()]
        try:
            self._consumer.commit(offsets=places, asynchronous=True)
        except KafkaException as error:
            log.warning("commit of offsets: %s", error.args[0].name())

    def close(self) -> None:
        """Close the connection."""
        self._consumer.close()


def _require_within(where: Partition, offset: int, first: int, end: int) -> None:
    if not first <= offset <= end:
        raise FatalError(
            f"{where}: the table goes on at offset {offset}, and the topic has {first} "
            f"to {end}: records are lost, or the topic was made anew (runbook, The "
            "lake)"
        )
