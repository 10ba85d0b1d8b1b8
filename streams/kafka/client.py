"""Functions that all clients of the cluster share: properties, admin, errors.

librdkafka's errors are translated here, by their flags and never by their names:
``fatal()`` means that the client is spent, ``txn_requires_abort()`` that the
transaction is.  Any other failure of a transactional call has an unknown outcome.
Only that another process has taken over a static member is said by no flag.
"""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from operator import methodcaller
from typing import Any, TypeVar, cast

from confluent_kafka import (
    Consumer,
    KafkaError,
    KafkaException,
    Message,
    Producer,
    TopicPartition,
)
from confluent_kafka.admin import AdminClient

from streams.engine.errors import (
    BrokerUnreachable,
    ConfigError,
    Fenced,
    RecordRefused,
    RetriableError,
    SlotTaken,
    UnknownOutcome,
)
from streams.engine.records import NO_EPOCH, CommittedOffset, Partition, Record

from .client_properties import REFUSED
from .settings import KafkaSettings
from .wire_format import without_header

log = logging.getLogger(__name__)
_Client = TypeVar("_Client", AdminClient, Consumer, Producer)

Headers = list[tuple[str, str | bytes | None]]
_UNREADABLE: Headers = []
"""Takes the place of headers of which a name is not UTF-8."""
_headers_of = methodcaller("headers")
"""A call from C, whose result is checked: CPython leaves that out of a call of a method
that runs often, and a list with holes would pass for the headers.
"""

CALL_SECONDS = 15.0
FENCED_INSTANCE = KafkaError.FENCED_INSTANCE_ID
_FENCED_TEXT = KafkaError(FENCED_INSTANCE).str()
_REFUSALS = {
    KafkaError.MSG_SIZE_TOO_LARGE,
    KafkaError.RECORD_LIST_TOO_LARGE,
    KafkaError.INVALID_MSG_SIZE,
    KafkaError.INVALID_RECORD,
}
"""Answers of a broker that takes other records of the same producer."""
_CAUSES = {
    # Each record has the time at which it is written, or none.
    KafkaError.INVALID_TIMESTAMP: (
        "; the clock of this host is ahead of the broker's, or behind, by more than "
        "message.timestamp.after.max.ms (before.max.ms) allows: set both by NTP"
    ),
}
"""What a person has to know of an answer, whatever was written."""
REFUSED_SECONDS = 5.0
"""Time in which a broker that has just started may refuse users that it has."""

MAX_MESSAGE_BYTES = 64 * 1024 * 1024
"""Of keys, values and headers before they are compressed; the broker has its own."""
PRODUCER = {
    # The default of Java, Connect and Faust; a join by partition needs the same one.
    "partitioner": "murmur2_random",
    # librdkafka waits so long while the markers of the last transaction are written.
    "retry.backoff.ms": 1,
    "compression.type": "lz4",
    # Of the client's own framing, and the header of a replay, there is a little more.
    "message.max.bytes": MAX_MESSAGE_BYTES + 1024 * 1024,
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


def value_of(message: Message) -> bytes | None:
    """Return the value of a message, without the wire format where we write it."""
    return without_header(message.topic() or "", _bytes(message.value()))


def record_of(message: Message) -> Record:
    """Return a message of the client, without an error, as a record."""
    return Record(
        Partition(message.topic() or "", message.partition() or 0),
        message.offset() or 0,
        _bytes(message.key()),
        value_of(message),
        {str(pair[0]): _bytes(pair[1]) or b"" for pair in header_pairs(message)},
        message.timestamp()[1],
        has_bad_headers=message.headers() is _UNREADABLE,
        leader_epoch=epoch_of(message.leader_epoch()),
    )


def header_pairs(message: Message) -> Headers:
    """Return names and values of a message's headers; none if a name is not UTF-8.

    Ask no message in another way: the client keeps the list that it has failed to make,
    and a second call that returns it ends the process.
    """
    try:
        pairs = _headers_of(message)
    except SystemError as error:
        if not isinstance(error.__cause__, UnicodeDecodeError):
            raise
        message.set_headers(_UNREADABLE)
        return _UNREADABLE
    # The client's type allows strings in place of pairs, but there are none.
    return cast("Headers", pairs or [])


def epoch_of(leader_epoch: int | None) -> int:
    """Return the client's leader epoch as the engine has it."""
    return NO_EPOCH if leader_epoch is None else leader_epoch


def position_of(partition: Partition, committed: CommittedOffset) -> TopicPartition:
    """Return a committed offset as the client wants it, with its leader epoch."""
    topic, index = partition
    return TopicPartition(
        topic, index, committed.offset, committed.metadata, committed.leader_epoch
    )


def _bytes(value: str | bytes | None) -> bytes | None:
    return value.encode() if isinstance(value, str) else value


def log_error(error: KafkaError) -> None:
    """Log an error of a client without its text, which may show a value."""
    log.warning("kafka client: %s", error.name())


_PROPERTY = re.compile(r'(?:property:? "|`)([a-z]+\.[\w.]+)')
_INVALID = KafkaError._INVALID_ARG  # noqa: SLF001  # the client's public name
_ADDRESS = re.compile(r"^\w+://([^/]*)/")
_PROBLEMS = (
    (
        re.compile("Unsupported SASL mechanism"),
        "the broker offers other mechanisms; check sasl.mechanisms",
    ),
    (
        re.compile("SASL authentication error"),
        "the broker refuses the user or the password; check sasl.username and "
        "kafka_password",
    ),
    (
        re.compile("certificate verify failed"),
        "the broker's certificate can't be verified; ssl.ca.location must name the "
        "authority that signed it, and bootstrap the host that it is for",
    ),
    (
        re.compile(r"\balert\b"),
        "the broker refuses this client's certificate; ssl.certificate.location and "
        "ssl.key.location must name one that an authority known to it signed",
    ),
    (
        re.compile("connecting to a PLAINTEXT broker listener"),
        "that listener has no TLS; check security.protocol and the port",
    ),
)
"""Texts of librdkafka and OpenSSL for what no further try can mend."""


def admin_client(settings: KafkaSettings, **extra: Any) -> AdminClient:  # noqa: ANN401  # as client() takes
    """Return a client for topics and offsets.

    Raises:
        ConfigError: A property is wrong.
    """
    return _new(AdminClient, settings, extra)


def consumer_client(settings: KafkaSettings, **extra: Any) -> Consumer:  # noqa: ANN401  # as client() takes
    """Return a consumer.

    Raises:
        ConfigError: A property is wrong, or does not go with another.
    """
    return _new(Consumer, settings, extra)


def producer_client(settings: KafkaSettings, **extra: Any) -> Producer:  # noqa: ANN401  # as client() takes
    """Return a producer.

    Raises:
        ConfigError: A property is wrong, or does not go with another.
    """
    return _new(Producer, settings, extra)


def _new(
    kind: Callable[..., _Client], settings: KafkaSettings, extra: Mapping[str, Any]
) -> _Client:
    properties = {"logger": log, **settings.client(**extra)}
    try:
        return kind(properties)
    except KafkaException as error:
        cause: KafkaError = error.args[0]
        if cause.code() != _INVALID:
            raise RetriableError(f"no client of Kafka: {cause.name()}") from None
        raise ConfigError(f"[kafka]: the client refuses {_refused(cause)}") from None


def _refused(error: KafkaError) -> str:
    """Return which properties are wrong; the client's own text may show a password."""
    names = [*dict.fromkeys(_PROPERTY.findall(error.str()))]
    if not names:
        return "a property or a file it names; correct it (librdkafka's names)"
    hints = [f"; for {name} {REFUSED[name]}" for name in names if name in REFUSED]
    properties = " beside ".join(names)
    return f"property {properties}; correct it (librdkafka's names){''.join(hints)}"


def security_problem(error: KafkaError) -> str:
    """Return what is wrong with TLS or credentials, and with whom; "" if nothing."""
    text = error.str()
    address = _ADDRESS.search(text)
    for pattern, problem in _PROBLEMS:
        if pattern.search(text):
            return f"{address[1]}: {problem}" if address else problem
    return ""


def wait_for_broker(settings: KafkaSettings) -> None:
    """Wait until the cluster answers.

    Raises:
        BrokerUnreachable: It did not answer within ``broker_wait_seconds``.
        ConfigError: A property is wrong, or a broker refused the client.
    """
    refusals: list[tuple[float, str]] = []

    def note(error: KafkaError) -> None:
        if problem := security_problem(error):
            refusals.append((time.monotonic(), problem))

    admin = admin_client(settings, error_cb=note)
    deadline = time.monotonic() + settings.broker_wait_seconds
    delay = 0.25
    while True:
        left = deadline - time.monotonic()
        try:
            admin.list_topics(timeout=max(0.5, min(5.0, left)))
        except KafkaException as error:
            admin.poll(0)
            now = time.monotonic()
            if refusals and (left <= 0 or now - refusals[0][0] > REFUSED_SECONDS):
                raise ConfigError(f"[kafka]: {refusals[-1][1]}") from None
            name = error.args[0].name()
            if left <= 0:
                advice = (
                    "start it with phistream broker up"
                    if settings.bootstrap == settings.own_bootstrap()
                    else "check bootstrap, network and security settings"
                )
                raise BrokerUnreachable(
                    f"no broker answers at {settings.bootstrap} ({name}) after "
                    f"{settings.broker_wait_seconds:.0f} s: {advice}"
                ) from None
            log.warning(
                "no broker answers at %s (%s); next try in %.1f s",
                settings.bootstrap,
                refusals[-1][1] if refusals else name,
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
        where = f"{call}: {cause.name()}{_CAUSES.get(cause.code(), '')}"
        if cause.fatal():
            raise Fenced(where) from None
        if cause.code() in _REFUSALS:
            raise RecordRefused(where) from None
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
