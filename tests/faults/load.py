"""What goes into an installation, and what comes out, while faults hit it."""

from __future__ import annotations

import math
import threading
import time
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial

from confluent_kafka import Consumer, Producer, TopicPartition

from streams.demo.flow import read_topic
from streams.kafka.client import CONSUMER, PRODUCER, admin_client
from streams.kafka.topic_admin import partition_counts
from streams.kafka.topics import DEAD_LETTERS, HL7_RAW, NOTES_SCRUBBED, PHI_AUDIT
from tests.faults.ward import numbers_in, take

WATCHED = (PHI_AUDIT.name, NOTES_SCRUBBED.name, DEAD_LETTERS.name)
CHUNK = 10
UNHURRIED = {"fetch.wait.max.ms": 200}
"""Records end a fetch at once; without any it only costs the brokers."""


@dataclass(slots=True)
class Recovery:
    """A fault whose partitions have not all written anything since."""

    at: float
    wall_ms: float
    waiting: set[tuple[str, int]]


class Watch(threading.Thread):
    """Reads what becomes visible, as a `read_committed` subscriber."""

    def __init__(self, settings):
        super().__init__(daemon=True)
        self._settings = settings
        self._lock = threading.Lock()
        self._is_over = False
        self._open: list[Recovery] = []
        self._consumer = self._new()
        self.seen: set[int] = set()
        self.letters: set[tuple] = set()
        self.recovery: list[float] = []
        self.unrecovered: list[float] = []
        self.moved_at = time.monotonic()

    @property
    def done(self):
        return len(self.seen) + len(self.letters)

    def expect(self, partitions):
        """Measure when each of these partitions of inputs has an output again."""
        with self._lock:
            self._open.append(
                Recovery(time.monotonic(), time.time() * 1000, set(partitions))
            )

    def again(self):
        """Look again at topics that were deleted and made anew, or got partitions."""
        with self._lock:
            self._consumer.close()
            self._consumer = self._new()

    def run(self):
        while not self._is_over:
            with self._lock:
                for message in self._consumer.consume(500, timeout=0.05):
                    if message.error() is None:
                        self._see(message)
            time.sleep(0.02)
        self._consumer.close()

    def close(self):
        self._is_over = True
        self.join(30)
        now = time.monotonic()
        self.unrecovered = [now - each.at for each in self._open]

    def _see(self, message):
        self.moved_at = time.monotonic()
        if message.topic() == NOTES_SCRUBBED.name:
            self.seen.update(numbers_in(message.value()))
        elif message.topic() == DEAD_LETTERS.name:
            self.letters.add((message.partition(), message.offset()))
        else:
            self._recovered(message)

    def _recovered(self, message):
        source = dict(message.headers() or []).get("source", b"//")
        topic, partition, _offset = source.decode().rsplit("/", 2)
        place = topic, int(partition or -1)
        for each in self._open:
            if place in each.waiting and message.timestamp()[1] > each.wall_ms:
                each.waiting.discard(place)
                self.recovery.append(time.monotonic() - each.at)
        self._open = [each for each in self._open if each.waiting]

    def _new(self):
        consumer = Consumer(
            self._settings.client(
                **CONSUMER | UNHURRIED, **{"group.id": "faults-watch", "log_level": 0}
            )
        )
        counts = partition_counts(admin_client(self._settings))
        consumer.assign(
            [
                TopicPartition(topic, partition, 0)
                for topic in WATCHED
                for partition in range(counts.get(topic, 0))
            ]
        )
        return consumer


class Feed(threading.Thread):
    """Publishes a ward on `hl7.raw`, a little ahead of what has become visible."""

    def __init__(self, settings, ward, notes, watch, window):
        super().__init__(daemon=True)
        self._settings = settings
        self._producer = Producer(
            settings.client(
                **PRODUCER,
                **{"enable.idempotence": True, "linger.ms": 5, "message.timeout.ms": 0},
                log_level=0,
            )
        )
        self._messages = ward.notes(notes)
        self._watch, self.window = watch, window
        self.limit = math.inf
        """How many notes to send for now."""
        self.also = lambda: None
        self.base = 0
        self._paused = threading.Event()
        self._idle = threading.Event()
        self.lock = threading.RLock()
        """Held while messages are made: a ward is not made for threads."""
        self.places: dict[int, tuple[int, int]] = {}
        self._unplaced: set[int] = set()
        self.sent = 0
        self.is_over = False
        """Whether the ward has no more notes; scenarios may still send theirs."""
        self._is_closed = False
        self.error = None
        self._refused = ""

    @property
    def is_through(self):
        return self.is_over and not len(self._producer)

    def run(self):
        try:
            while not self._is_closed:
                self._turn()
        except BaseException as error:
            self.error = error
            raise

    def _turn(self):
        with self.lock:
            self.also()
        self._producer.poll(0.01)
        if self._refused:
            raise RuntimeError(
                f"a message of the sender was not delivered: {self._refused}"
            )
        is_ahead = self.sent - self._watch.done > self.window or self.sent > self.limit
        if self._paused.is_set() or self.is_over or is_ahead:
            self._idle.set()
            time.sleep(0.02)
            return
        self._idle.clear()
        with self.lock:
            chunk = take(self._messages, CHUNK)
            self.is_over = not chunk
            for message in chunk:
                self.send(message)

    def send(self, message, topic=HL7_RAW.name, headers=None):
        """Publish one message; count the notes in it."""
        numbers = numbers_in(message.value)
        self.sent += len(numbers)
        while True:
            try:
                self._producer.produce(
                    topic,
                    key=message.key,
                    value=message.value,
                    headers=list((headers or {}).items()),
                    on_delivery=partial(self._delivered, numbers),
                )
            except BufferError:
                self._producer.poll(0.2)
            else:
                return

    def _delivered(self, numbers, error, confirmed):
        # What is raised here the client mangles.
        if error is not None:
            self._refused = self._refused or error.name()
        elif confirmed.offset() is None:
            # A repetition, of which a new leader knows only that it is one.
            self._unplaced.update(numbers)
        else:
            place = confirmed.partition(), self.base + confirmed.offset()
            self.places.update(dict.fromkeys(numbers, place))

    def close(self):
        """End; what is sent until then is confirmed."""
        self.is_over = self._is_closed = True
        if self.is_alive():
            self.join(30)

    def all_places(self):
        """Return the places of all notes, also of those that had to be looked for."""
        if not self._unplaced:
            return self.places
        for message in read_topic(self._settings, HL7_RAW.name):
            place = message.partition(), self.base + message.offset()
            for number in self._unplaced.intersection(numbers_in(message.value())):
                self.places.setdefault(number, place)
        return self.places

    @contextmanager
    def paused(self):
        """Send nothing inside the block."""
        self._idle.clear()
        self._paused.set()
        self._idle.wait(60)
        self._producer.flush(60)
        yield
        self._paused.clear()
