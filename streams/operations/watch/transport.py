"""Faust's connection to Kafka: credentials, and a driver that reads only committed.

Plain Faust requests `read_committed` only when it writes transactions itself; it would
count aborted copies of audit events.
"""

from __future__ import annotations

import logging
import ssl
from collections.abc import Mapping
from typing import ClassVar, cast

import aiokafka
from faust import SASLCredentials, SSLCredentials
from faust.app import App
from faust.auth import Credentials
from faust.transport.consumer import RecordMap
from faust.transport.drivers.aiokafka import (
    AIOKafkaConsumerThread,
    Consumer,
    Transport,
    credentials_to_aiokafka_auth,
    server_list,
)
from faust.types import TP
from faust.types.transports import ConsumerT

from streams.engine.errors import ConfigError
from streams.operations.settings import Settings

SUPPORTED = (
    "security.protocol", "sasl.mechanism", "sasl.mechanisms", "sasl.username",
    "sasl.password", "ssl.ca.location", "ssl.certificate.location",
    "ssl.key.location", "ssl.key.password",
)  # fmt: skip
MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")
PROTOCOLS = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")

FETCH_WAIT_MS = 500
PARTITION_BYTES = 8 * 1024 * 1024
# A service logs under its module's name; these lines are Faust's.
LOGGER = logging.getLogger("faust.watch")


def credentials(settings: Settings) -> Credentials | None:
    """Translate librdkafka's security properties; None for a plain connection.

    Raises:
        ConfigError: A security property has no counterpart in Faust.
    """
    properties = {key: str(value) for key, value in settings.client().items()}
    _refuse_unsupported(properties)
    protocol = properties.get("security.protocol", "PLAINTEXT").upper()
    if protocol not in PROTOCOLS:
        raise ConfigError(f"security.protocol: not one of {', '.join(PROTOCOLS)}")
    context = _tls_context(properties) if protocol.endswith("SSL") else None
    if protocol.startswith("SASL"):
        return SASLCredentials(
            username=properties.get("sasl.username"),
            password=properties.get("sasl.password"),
            mechanism=_mechanism(properties),
            ssl_context=context,
        )
    return None if context is None else SSLCredentials(context)


def _refuse_unsupported(properties: Mapping[str, str]) -> None:
    unsupported = sorted(
        key
        for key in properties
        if key.startswith(("ssl.", "sasl.", "security.")) and key not in SUPPORTED
    )
    if unsupported:
        raise ConfigError(
            f"watch does not support {', '.join(unsupported)}; supported: "
            f"{', '.join(SUPPORTED)}"
        )


def _mechanism(properties: Mapping[str, str]) -> str:
    name = properties.get("sasl.mechanisms", properties.get("sasl.mechanism", ""))
    if name.upper() not in MECHANISMS:
        raise ConfigError(f"sasl.mechanisms: watch supports {', '.join(MECHANISMS)}")
    return name.upper()


def _tls_context(properties: Mapping[str, str]) -> ssl.SSLContext:
    try:
        context = ssl.create_default_context(cafile=properties.get("ssl.ca.location"))
        if "ssl.certificate.location" in properties:
            context.load_cert_chain(
                properties["ssl.certificate.location"],
                properties.get("ssl.key.location"),
                properties.get("ssl.key.password"),
            )
    except OSError as error:
        raise ConfigError(f"ssl: a file can't be used ({error.strerror})") from None
    return context


class CommittedThread(AIOKafkaConsumerThread):
    """The consumer's thread; its client reads only committed records."""

    logger = LOGGER

    def _create_worker_consumer(
        self, transport: Transport
    ) -> aiokafka.AIOKafkaConsumer:
        conf = self.app.conf
        # Faust's own assignor assigns a table's changelog together with its topic.
        self._assignor = self.app.assignor
        return aiokafka.AIOKafkaConsumer(  # type: ignore[no-untyped-call]  # it has no types
            bootstrap_servers=server_list(transport.url, transport.default_port),
            client_id=conf.broker_client_id,
            group_id=conf.id,
            isolation_level="read_committed",
            enable_auto_commit=False,
            auto_offset_reset=conf.consumer_auto_offset_reset,
            partition_assignment_strategy=[self._assignor],
            max_poll_records=conf.broker_max_poll_records,
            max_poll_interval_ms=_ms(conf.broker_max_poll_interval),
            max_partition_fetch_bytes=PARTITION_BYTES,
            fetch_max_wait_ms=FETCH_WAIT_MS,
            request_timeout_ms=_ms(conf.broker_request_timeout),
            session_timeout_ms=_ms(conf.broker_session_timeout),
            rebalance_timeout_ms=_ms(conf.broker_rebalance_timeout),
            heartbeat_interval_ms=_ms(conf.broker_heartbeat_interval),
            metadata_max_age_ms=conf.consumer_metadata_max_age_ms,
            **credentials_to_aiokafka_auth(conf.broker_credentials, conf.ssl_context),
        )

    async def seek_to_committed(self) -> Mapping[TP, int]:
        """Seek to the committed offset, also where it is 0 or absent.

        aiokafka does not seek in these two cases, and records that were read and
        dropped before would be lost.
        """
        committed = await super().seek_to_committed()
        first = {
            tp: 0
            for tp, offset in committed.items()
            if not offset and tp.topic not in self.app.tables.changelog_topics
        }
        if first:
            await self.seek_wait(first)
        return committed


class CommittedConsumer(Consumer):
    """Faust's consumer on such a thread."""

    logger = LOGGER
    _seeks = 0

    def _new_consumer_thread(self) -> AIOKafkaConsumerThread:
        return CommittedThread(self, loop=self.loop, beacon=self.beacon)

    async def _add_gap(self, tp: TP, offset_from: int, offset_to: int) -> None:
        # Markers and aborted records leave gaps.  Faust counts the record behind a gap
        # as part of it, finds it twice, and commits no further than one gap a second.
        await super()._add_gap(tp, offset_from, offset_to - 1)

    async def perform_seek(self) -> None:
        """Seek to what is committed; deliver nothing before Faust resumes.

        When it resumes it empties the streams' queues, some iterations of the event
        loop after the seek.  Records delivered in between would be lost until the next
        run of the application.
        """
        self.stop_flow()
        await super().perform_seek()
        self._seeks += 1

    async def _getmany(
        self, active_partitions: set[TP] | None, timeout: float
    ) -> RecordMap:
        # Records requested before a seek may arrive after it.  Faust would take those
        # between for a gap.
        seeks = self._seeks
        records = await super()._getmany(active_partitions, timeout)
        if seeks == self._seeks or not records:
            return records
        await super().perform_seek()
        return {}


class CommittedTransport(Transport):
    """Faust's driver with such a consumer."""

    Consumer: ClassVar[type[ConsumerT]] = CommittedConsumer


def read_committed(app: App) -> None:
    """Give an app that has not started the driver that reads only committed records."""
    app.transport = CommittedTransport(app.conf.broker_consumer, app)


def _ms(seconds: object) -> int:
    return int(1000 * cast(float, seconds))
