"""Faust's Kafka driver, reading only what is committed.

Plain Faust asks for `read_committed` only when it writes transactions itself; aborted
copies of audit events would then be counted.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import ClassVar, cast

import aiokafka
from faust.app import App
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

FETCH_WAIT_MS = 500
PARTITION_BYTES = 8 * 1024 * 1024
# A service logs under its module's name; these lines are Faust's.
LOGGER = logging.getLogger("faust.watch")


class CommittedThread(AIOKafkaConsumerThread):
    """The consumer's thread; its client skips what is aborted, and waits for open."""

    logger = LOGGER

    def _create_worker_consumer(
        self, transport: Transport
    ) -> aiokafka.AIOKafkaConsumer:
        conf = self.app.conf
        # Faust's own assignor puts a table's changelog beside its topic.
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
        """Seek where the group has committed, be it offset 0 or nothing.

        aiokafka does not seek for these two: what was read and thrown away before was
        then lost.
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
        """Seek to what is committed, with nothing delivered before Faust resumes.

        When it resumes it empties the streams' queues, some turns of the loop after it
        has sought: what came in between was lost until the application's next life.
        """
        self.stop_flow()
        await super().perform_seek()
        self._seeks += 1

    async def _getmany(
        self, active_partitions: set[TP] | None, timeout: float
    ) -> RecordMap:
        # Records that were asked for before a seek and come after it would make Faust
        # take those between for a gap.
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
    """Give an app that has not started the driver that reads only what is committed."""
    app.transport = CommittedTransport(app.conf.broker_consumer, app)


def _ms(seconds: object) -> int:
    return int(1000 * cast(float, seconds))
