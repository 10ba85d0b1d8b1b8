"""What the checks look at: settings and clients, made when they are asked for."""

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

from streams.cluster.client import CONSUMER
from streams.engine.errors import BrokerUnreachable
from streams.engine.settings import Settings, load_settings

ANSWER_SECONDS = 8.0
_API = re.compile(r"ApiKey \S+ \((\d+)\) Versions (\d+)\.\.(\d+)")
client_log = logging.getLogger("streams.operations.doctor.client")
client_log.addHandler(logging.NullHandler())
client_log.propagate = False
"""What the client says while it can't connect is the finding's to say, once."""

Versions = Mapping[int, tuple[int, int]]
"""By number of the API: the lowest and the highest version that all brokers speak."""


@dataclass(frozen=True, slots=True)
class BrokerInfo:
    """What the cluster told on the first call."""

    metadata: ClusterMetadata
    versions: Versions


class CheckContext:
    """Everything the checks look at.  Each part is made once, when it is asked for.

    Args:
        config: As ``--config``.
        overrides: From the command line.
        environment: Of the process.
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
        """The settings, as a service started here would load them."""
        return load_settings(self.config, self.overrides, self.environment)

    @cached_property
    def admin(self) -> AdminClient:
        """A client for questions."""
        return AdminClient(self.settings.client(), logger=client_log)

    @cached_property
    def broker(self) -> BrokerInfo:
        """What the cluster tells of itself.

        Raises:
            BrokerUnreachable: Nobody answered in time.
        """
        with _recorded_versions() as told:
            # Only the client's own log shows which versions the broker speaks.
            properties = self.settings.client(debug="feature")
            admin = AdminClient(properties, logger=client_log)
            try:
                metadata = admin.list_topics(timeout=ANSWER_SECONDS)
            except KafkaException as error:
                raise BrokerUnreachable(error.args[0].name()) from None
            admin.poll(0)
        return BrokerInfo(metadata, told.versions)

    def consumer(self, group: str) -> Consumer:
        """Return a consumer of stable records that is no member of any group."""
        properties = {**CONSUMER, "group.id": group, "enable.partition.eof": True}
        return Consumer(self.settings.client(**properties), logger=client_log)


@contextmanager
def _recorded_versions() -> Iterator[_VersionHandler]:
    told = _VersionHandler()
    client_log.addHandler(told)
    client_log.setLevel(logging.DEBUG)
    try:
        yield told
    finally:
        client_log.setLevel(logging.WARNING)
        client_log.removeHandler(told)


class _VersionHandler(logging.Handler):
    """Gathers the versions from the client's log, the least of several brokers."""

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
