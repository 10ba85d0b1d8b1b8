"""The context of checks: settings and clients, created on first use."""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from confluent_kafka import Consumer, KafkaException
from confluent_kafka.admin import AdminClient, ClusterMetadata

from streams.engine.errors import BrokerUnreachable
from streams.kafka.client import (
    CONSUMER,
    admin_client,
    consumer_client,
    security_problem,
)
from streams.operations.settings import Settings, load_settings

TIMEOUT_SECONDS = 8.0
_API = re.compile(r"ApiKey \S+ \((\d+)\) Versions (\d+)\.\.(\d+)")
client_log = logging.getLogger("streams.operations.doctor.client")
client_log.addHandler(logging.NullHandler())
client_log.propagate = False
"""Not shown: a finding reports once that the client can't connect."""

Versions = Mapping[int, tuple[int, int]]
"""The lowest and highest version that all brokers support, by API key."""


@dataclass(frozen=True, slots=True)
class BrokerInfo:
    """The cluster's answer to the first call."""

    metadata: ClusterMetadata
    versions: Versions


class CheckContext:
    """Everything that checks work with; each part is created once, on first use.

    Args:
        config: As ``--config``.
        overrides: From the command line.
        environment: Variables of the process.
        clock: Seconds since 1970.
    """

    def __init__(
        self,
        config: Path | None,
        overrides: Mapping[str, object],
        environment: Mapping[str, str],
        *,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.config = config
        self.overrides = overrides
        self.environment = environment
        self.clock = clock

    @cached_property
    def settings(self) -> Settings:
        """The settings as a service would load them."""
        return load_settings(self.config, self.overrides, self.environment)

    @cached_property
    def admin(self) -> AdminClient:
        """An admin client."""
        return admin_client(self.settings, logger=client_log)

    @cached_property
    def broker(self) -> BrokerInfo:
        """Nodes, topics and API versions.

        Raises:
            BrokerUnreachable: No broker answered in time.
        """
        with _recorded_versions() as recorded:
            # Only the client's own log shows the API versions.
            problems: list[str] = []
            admin = admin_client(
                self.settings,
                debug="feature",
                error_cb=lambda error: problems.append(security_problem(error)),
                logger=client_log,
            )
            try:
                metadata = admin.list_topics(timeout=TIMEOUT_SECONDS)
            except KafkaException as error:
                admin.poll(0)
                why = next(filter(None, problems), error.args[0].name())
                raise BrokerUnreachable(why) from None
            admin.poll(0)
        return BrokerInfo(metadata, recorded.versions)

    def partitions(self, topic: str) -> int:
        """Return how many partitions a topic has; 0 if it is missing or hidden."""
        metadata = self.broker.metadata.topics.get(topic)
        if metadata is None or metadata.error is not None:
            return 0
        return len(metadata.partitions)

    def consumer(self, group: str) -> Consumer:
        """Return a consumer of committed records that joins no group."""
        properties = {**CONSUMER, "group.id": group, "enable.partition.eof": True}
        return consumer_client(self.settings, logger=client_log, **properties)


@contextmanager
def _recorded_versions() -> Iterator[_VersionHandler]:
    handler = _VersionHandler()
    client_log.addHandler(handler)
    client_log.setLevel(logging.DEBUG)
    try:
        yield handler
    finally:
        client_log.setLevel(logging.WARNING)
        client_log.removeHandler(handler)


class _VersionHandler(logging.Handler):
    """Collects from the client's log the versions that all brokers support."""

    def __init__(self) -> None:
        super().__init__()
        self.versions: dict[int, tuple[int, int]] = {}

    def emit(self, record: logging.LogRecord) -> None:
        found = _API.search(record.getMessage())
        if found is None:
            return
        api, low, high = map(int, found.groups())
        known = self.versions.get(api, (low, high))
        self.versions[api] = max(low, known[0]), min(high, known[1])
