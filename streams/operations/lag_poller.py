"""Lag of consumer groups, read on a thread of its own; and the rate into hl7.raw."""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence

from streams.engine.errors import StreamError
from streams.kafka.client import CALL_SECONDS, admin_client, translated
from streams.kafka.lag import LagMonitor, PartitionLag
from streams.kafka.topics import HL7_RAW, Stage, inputs_of

from .settings import Settings

log = logging.getLogger(__name__)

STAGES: Mapping[str, str] = {
    topic.name: stage.value for stage in Stage for topic in inputs_of(stage)
}
"""The stage that reads each topic of the data path."""
RATE_SECONDS = 10.0
MEMBERS_SECONDS = 5.0
"""Between two questions for the members of the groups."""


def stage_groups(settings: Settings) -> list[tuple[str, str]]:
    """Return the consumer groups of the stages, each with a topic that it reads."""
    return [pair for stage in Stage for pair in groups_of(stage, settings)]


def groups_of(stage: Stage, settings: Settings) -> list[tuple[str, str]]:
    """Return the consumer group of a stage with each of the topics that it reads."""
    group = f"{settings.group}-{stage}"
    return [(group, topic.name) for topic in inputs_of(stage)]


class ArrivalRate:
    """Records a second that arrive in hl7.raw, from its last stable offsets."""

    def __init__(self) -> None:
        self._ends: deque[tuple[float, int]] = deque(maxlen=30)

    def add(self, at: float, lags: Iterable[PartitionLag]) -> None:
        """Add a reading of the lag."""
        end = sum(lag.stable for lag in lags if lag.topic == HL7_RAW.name)
        self._ends.append((at, end))

    def rate(self) -> float | None:
        """Return the rate over the last ten seconds; None before two readings."""
        ends = list(self._ends)
        if not ends:
            return None
        last_at, last = ends[-1]
        recent = ((at, end) for at, end in ends if last_at - at <= RATE_SECONDS)
        first_at, first = next(recent)
        if first_at == last_at:
            return None
        return max(0, last - first) / (last_at - first_at)


class LagPoller:
    """Reads the lag periodically on a thread, between `start` and `stop`.

    Args:
        settings: Connection settings.
        groups: Consumer groups, each with the topic that it reads.
        take: Called with each reading.
        period: Seconds between two readings.
        on_error: Called when a reading failed.
        is_wanted: Whether to read at all; while it is not, no broker is contacted.
    """

    def __init__(
        self,
        settings: Settings,
        groups: Sequence[tuple[str, str]],
        take: Callable[[Sequence[PartitionLag]], None],
        *,
        period: float,
        on_error: Callable[[], None] = lambda: None,
        is_wanted: Callable[[], bool] = lambda: True,
    ) -> None:
        self._settings = settings
        self._groups = groups
        self._take = take
        self._period = period
        self._on_error = on_error
        self._is_wanted = is_wanted
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="lag", daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def stop(self) -> None:
        """Stop the thread; wait up to five seconds for a reading in progress."""
        self._stopping.set()
        self._thread.join(5)

    def _run(self) -> None:
        monitor: LagMonitor | None = None
        while not self._stopping.is_set():
            began = time.monotonic()
            try:
                if self._is_wanted():
                    monitor = monitor or LagMonitor(self._settings, self._groups)
                    self._take(monitor.read())
            except StreamError as error:
                log.warning("lag: %s", error)
                self._on_error()
            self._stopping.wait(max(0.1, self._period - (time.monotonic() - began)))
        if monitor is not None:
            monitor.close()


class GroupMembers:
    """Counts the workers of each stage, as the coordinators of their groups know them.

    Args:
        settings: Connection settings and the groups' prefix.
        clock: Monotonic seconds.
    """

    def __init__(
        self, settings: Settings, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._admin = admin_client(settings)
        self._groups = {f"{settings.group}-{stage}": stage.value for stage in Stage}
        self._clock = clock
        self._read_at = -MEMBERS_SECONDS

    def read(self) -> Mapping[str, int] | None:
        """Return the number of members by stage; None too soon, or if none answers."""
        if self._clock() - self._read_at < MEMBERS_SECONDS:
            return None
        self._read_at = self._clock()
        try:
            with translated("describe groups"):
                futures = self._admin.describe_consumer_groups([*self._groups])
                found = {
                    stage: len(futures[group].result(CALL_SECONDS).members)
                    for group, stage in self._groups.items()
                }
        except StreamError as error:
            log.warning("workers: %s", error)
            return None
        return found
