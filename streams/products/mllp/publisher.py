"""Publishes messages on `hl7.raw`, and says of each when Kafka has stored it.

The producer is idempotent and waits for all replicas.  A message that is answered with
an error may be stored all the same, e.g. when only Kafka's answer is late: its sender
sends it again, and intake drops what it has seen.  All messages of a sender have the
same key, so they are in one partition, in the order in which they were published.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Awaitable, Callable
from functools import partial

from confluent_kafka import KafkaError, KafkaException, Message, Producer

from streams.formats.hl7.acknowledgement import Refusal
from streams.kafka.client import PRODUCER, log_error, producer_client
from streams.kafka.topics import HL7_RAW
from streams.operations.settings import Settings

from .settings import MllpSettings

log = logging.getLogger(__name__)

POLL_SECONDS = 0.1
CHECK_SECONDS = 5.0
FULL_QUEUE_SECONDS = 0.05
QUEUE_KB = 128 * 1024

Stored = asyncio.Future[Refusal | None]
"""The outcome of a message: None when it is stored."""
Publish = Callable[[bytes, bytes], Awaitable[Stored]]
"""Takes key and value; returns when the message has its place in the order."""


class KafkaPublisher:
    """Publishes from an event loop; a thread takes Kafka's answers.

    confluent-kafka's own AIOProducer is not used: it collects messages in batches of
    its own, by which a sender that waits for each answer would wait longer.

    Args:
        settings: Of the service.
        loop: On which `publish` is called.
    """

    def __init__(self, settings: Settings, loop: asyncio.AbstractEventLoop) -> None:
        self._settings = settings
        self._properties = {
            **PRODUCER,
            "enable.idempotence": True,
            "acks": "all",
            "linger.ms": 1,
            "message.timeout.ms": int(MllpSettings.of(settings).answer_seconds * 1000),
            "queue.buffering.max.kbytes": QUEUE_KB,
            "error_cb": log_error,
        }
        self._loop = loop
        self._producer = self._new()
        self._answers: list[tuple[Stored, KafkaError | None]] = []
        self._is_spent = self._is_closing = False
        self._last_error = ""
        self._thread = threading.Thread(
            target=self._take_answers, name="kafka", daemon=True
        )
        self._thread.start()

    async def publish(self, key: bytes, value: bytes) -> Stored:
        """Queue a message behind those before it; wait while the queue is full."""
        stored: Stored = self._loop.create_future()
        while not stored.done():
            try:
                self._producer.produce(
                    HL7_RAW.name,
                    key=key,
                    value=value,
                    on_delivery=partial(self._delivered, stored),
                )
            except BufferError:
                await asyncio.sleep(FULL_QUEUE_SECONDS)
            except KafkaException as error:
                cause: KafkaError = error.args[0]
                self._is_spent |= cause.fatal() or cause.name() == "_FATAL"
                self._settle([(stored, cause)])
            else:
                break
        return stored

    async def is_reachable(self) -> bool:
        """Return whether the cluster answers and has the topic."""
        try:
            found = await asyncio.to_thread(
                self._producer.list_topics, HL7_RAW.name, CHECK_SECONDS
            )
        except KafkaException:
            return False
        return found.topics[HL7_RAW.name].error is None

    def close(self) -> None:
        """Stop; what is queued and unanswered is dropped."""
        self._is_closing = True
        self._thread.join()
        self._producer.purge()
        self._producer.flush(CHECK_SECONDS)

    def _new(self) -> Producer:
        return producer_client(self._settings, **self._properties)

    def _take_answers(self) -> None:
        while not self._is_closing:
            self._producer.poll(POLL_SECONDS)
            if self._is_spent:
                self._renew()
            if self._answers:
                answers, self._answers = self._answers, []
                self._loop.call_soon_threadsafe(self._settle, answers)

    def _delivered(
        self, stored: Stored, error: KafkaError | None, _message: Message
    ) -> None:
        self._answers.append((stored, error))
        if error is not None and error.fatal():
            self._is_spent = True

    def _renew(self) -> None:
        """Replace the producer; what is left in the old one is answered as failed."""
        spent, self._producer = self._producer, self._new()
        self._is_spent = False
        spent.purge()
        spent.flush(CHECK_SECONDS)

    def _settle(self, answers: list[tuple[Stored, KafkaError | None]]) -> None:
        for stored, error in answers:
            self._log(error)
            if not stored.done():
                stored.set_result(_refusal(error))

    def _log(self, error: KafkaError | None) -> None:
        """Log when messages begin to fail, and when they no longer do."""
        name = "" if error is None else error.name()
        if name != self._last_error:
            self._last_error = name
            if name:
                log.warning("%s: messages are not stored: %s", HL7_RAW.name, name)
            else:
                log.warning("%s: messages are stored again", HL7_RAW.name)


def _refusal(error: KafkaError | None) -> Refusal | None:
    if error is None:
        return None
    is_large = error.code() == KafkaError.MSG_SIZE_TOO_LARGE
    return Refusal.TOO_LARGE if is_large else Refusal.NOT_STORED
