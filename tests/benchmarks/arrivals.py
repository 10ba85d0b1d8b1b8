"""Records as they become visible to a `read_committed` reader: how many, and when."""

from __future__ import annotations

import time

import numpy as np
from confluent_kafka import Consumer, Producer, TopicPartition

from streams.kafka.client import CONSUMER, PRODUCER, admin_client
from streams.kafka.offsets import end_offsets
from streams.kafka.topic_admin import partition_counts
from streams.kafka.topics import HL7_RAW, NOTES, NOTES_SCRUBBED
from streams.model.outputs import SOURCE

PATIENCE_SECONDS = 120


class Reader:
    """Reads topics from where they end when it is made."""

    def __init__(self, settings, *topics):
        self._consumer = Consumer(
            settings.client(**CONSUMER, **{"group.id": "bench-reader"})
        )
        admin = admin_client(settings)
        counts = partition_counts(admin)
        self._consumer.assign(
            [
                TopicPartition(topic, p, end)
                for topic in topics
                for p, end in end_offsets(admin, topic, range(counts[topic])).items()
            ]
        )
        self.count = 0

    def read(self, seconds):
        """Return the records that are visible within so many seconds."""
        messages = self._consumer.consume(1000, timeout=seconds)
        self.count += len(messages)
        return messages

    def wait_for(self, count, check):
        """Return when so many records have arrived since the reader was made."""
        last, since = self.count, time.monotonic()
        while self.count < count:
            check()
            self.read(0.02)
            if self.count > last:
                last, since = self.count, time.monotonic()
            assert time.monotonic() - since < PATIENCE_SECONDS, "no record arrives"

    def close(self):
        self._consumer.close()


class Timed:
    """Notes sent to `hl7.raw` on a fixed schedule, and their times of arrival.

    The schedule does not wait for the service (an open loop), and a latency counts from
    the scheduled time: a note that is sent late, because those before it took long,
    does not look quick.
    """

    def __init__(self, settings):
        self._reader = Reader(settings, NOTES.name, NOTES_SCRUBBED.name)
        self._producer = Producer(settings.client(**PRODUCER, **{"linger.ms": 1}))
        self._due = {}
        self._message_of_note = {}
        self._arrived = {}
        self.late = 0.0
        """The longest time that a note was sent after it was due."""

    def run(self, messages, rate, check):
        """Send the messages, so many a second, and wait until all have arrived."""
        started, count = time.monotonic() + 0.1, 0
        for count, message in enumerate(messages, start=1):
            due = started + (count - 1) / rate
            while (left := due - time.monotonic()) > 0:
                self._read(min(left, 0.002))
            self.late = max(self.late, -left)
            self._send(message, due)
        self._producer.flush(10)
        deadline = time.monotonic() + PATIENCE_SECONDS
        while len(self._arrived) < count:
            check()
            self._read(0.02)
            assert time.monotonic() < deadline, "a note does not arrive"

    def latencies(self, *, skip):
        """Return the seconds from schedule to arrival.

        Args:
            skip: Seconds at the beginning of the schedule that do not count.
        """
        origins = {self._message_of_note[s]: at for s, at in self._arrived.items()}
        first = min(self._due.values()) + skip
        due = {origin: at for origin, at in self._due.items() if at >= first}
        return np.array([origins[origin] - at for origin, at in due.items()])

    def close(self):
        self._reader.close()

    def _send(self, message, due):
        def delivered(error, sent):
            assert error is None, error
            self._due[_position(sent)] = due

        self._producer.produce(
            HL7_RAW.name, value=message.value, key=message.key, on_delivery=delivered
        )
        self._producer.poll(0)

    def _read(self, seconds):
        messages = self._reader.read(seconds)
        now = time.monotonic()
        for message in messages:
            source = dict(message.headers())[SOURCE]
            if message.topic() == NOTES.name:
                self._message_of_note[_position(message)] = source
            else:
                self._arrived[source] = now


def _position(message):
    return f"{message.topic()}/{message.partition()}/{message.offset()}".encode()
