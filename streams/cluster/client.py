"""What all clients of the cluster share: properties, admin, errors.

librdkafka's errors are translated here, by their flags and never by their names:
``fatal()`` means that the client is spent, ``txn_requires_abort()`` that the
transaction is.  Any other failure of a transactional call has an unknown outcome.
Only that another process has taken over a static member is said by no flag.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager

from confluent_kafka import KafkaError, KafkaException, Message
from confluent_kafka.admin import AdminClient

from ..engine.errors import (
    BrokerUnreachable,
    Fenced,
    RetriableError,
    SlotTaken,
    UnknownOutcome,
)
from ..engine.records import Partition, Record
from ..engine.settings import Settings

log = logging.getLogger(__name__)

CALL_SECONDS = 15.0
FENCED_INSTANCE = KafkaError.FENCED_INSTANCE_ID
_FENCED_TEXT = KafkaError(FENCED_INSTANCE).str()

PRODUCER = {
    # The default of Java, Connect and Faust; a join by partition needs the same one.
    "partitioner": "murmur2_random",
    # librdkafka waits so long while the markers of the last transaction are written.
    "retry.backoff.ms": 1,
    "compression.type": "lz4",
    "message.max.bytes": 64 * 1024 * 1024,
    "log.connection.close": False,
}
CONSUMER = {
    "enable.auto.commit": False,
    "enable.auto.offset.store": False,
    "auto.offset.reset": "earliest",
    "isolation.level": "read_committed",
    # A fetch without records, which shows the end of a partition, takes so long.
    "fetch.wait.max.ms": 10,
    "log.connection.close": False,
}


def record_of(message: Message) -> Record:
    """Return a message of the client, without an error, as a record."""
    return Record(
        Partition(message.topic() or "", message.partition() or 0),
        message.offset() or 0,
        _bytes(message.key()),
        _bytes(message.value()),
        _headers(message),
        message.timestamp()[1],
    )


def _headers(message: Message) -> dict[str, bytes]:
    pairs = message.headers() or []
    # The client's type allows strings in place of pairs, but there are none.
    return {str(pair[0]): _bytes(pair[1]) or b"" for pair in pairs}


def _bytes(value: str | bytes | None) -> bytes | None:
    return value.encode() if isinstance(value, str) else value


def log_error(error: KafkaError) -> None:
    """Log an error of a client without its text, which may show a value."""
    log.warning("kafka client: %s", error.name())


def admin_client(settings: Settings) -> AdminClient:
    """Return a client for topics and offsets."""
    return AdminClient(settings.client(), logger=log)


def wait_for_broker(settings: Settings) -> None:
    """Wait until the cluster answers.

    Raises:
        BrokerUnreachable: It did not answer within ``broker_wait_seconds``.
    """
    admin = admin_client(settings)
    deadline = time.monotonic() + settings.broker_wait_seconds
    delay = 0.25
    while True:
        left = deadline - time.monotonic()
        try:
            admin.list_topics(timeout=max(0.5, min(5.0, left)))
        except KafkaException as error:
            name = error.args[0].name()
            if left <= 0:
                raise BrokerUnreachable(
                    f"no broker answers at {settings.bootstrap} ({name}) after "
                    f"{settings.broker_wait_seconds:.0f} s: check bootstrap, network "
                    "and security settings"
                ) from None
            log.warning(
                "no broker answers at %s (%s); next try in %.1f s",
                settings.bootstrap,
                name,
                delay,
            )
            time.sleep(delay)
            delay = min(5.0, delay * 2)
        else:
            return


@contextmanager
def translated(call: str) -> Iterator[None]:
    """Translate the client's exceptions outside of transactions."""
    try:
        yield
    except TimeoutError:
        # Of a future of the admin client.
        raise RetriableError(f"{call}: the cluster did not answer in time") from None
    except KafkaException as error:
        cause: KafkaError = error.args[0]
        require_slot(cause)
        kind = Fenced if cause.fatal() else RetriableError
        raise kind(f"{call}: {cause.name()}") from None


@contextmanager
def transactional(call: str) -> Iterator[None]:
    """Translate the client's exceptions of transactional calls."""
    try:
        yield
    except KafkaException as error:
        cause: KafkaError = error.args[0]
        require_slot(cause)
        where = f"{call}: {cause.name()}"
        if cause.fatal():
            raise Fenced(where) from None
        if cause.txn_requires_abort():
            raise RetriableError(where) from None
        raise UnknownOutcome(where) from None


def require_slot(error: KafkaError) -> None:
    """Check that an error does not say that another process has this one's slot.

    Raises:
        SlotTaken: It does.  A consumer is spent then, whatever is tried again.
    """
    # The consumer says it as a fatal error, whose text alone names the cause.
    if error.code() == FENCED_INSTANCE or _FENCED_TEXT in error.str():
        raise SlotTaken(
            "another worker has joined the group under this one's name: one that was "
            "started with the same group and slot; give each host its own first_slot, "
            "and stop the service that should not run"
        )
