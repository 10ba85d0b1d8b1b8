"""The thread that reads lag for watch and workers, and the rate into hl7.raw."""

from __future__ import annotations

import threading

import pytest

from streams.engine.errors import RetriableError
from streams.kafka.lag import LagState, PartitionLag
from streams.operations import lag_poller as lag
from streams.operations.lag_poller import ArrivalRate, LagPoller, stage_groups
from streams.operations.settings import Settings


def reading(stable, topic="hl7.raw"):
    return [PartitionLag("g", topic, 0, 0, stable, 0, 0.0, LagState.OK)]


def rate_of(*readings):
    rate = ArrivalRate()
    for at, stable in readings:
        rate.add(at, reading(stable) + reading(999 * at, "notes"))
    return rate.rate()


@pytest.mark.parametrize(
    ("readings", "expected"),
    [
        ((), None),
        (((100, 7),), None),
        (((100, 7), (102, 27)), 10.0),
        (((50, 0), (100, 700), (105, 800), (110, 900)), 20.0),
        (((100, 7), (105, 2)), 0.0),
    ],
)
def test_the_arrival_rate_is_that_of_hl7_raw_over_ten_seconds(readings, expected):
    assert rate_of(*readings) == expected


def test_each_stage_is_watched_on_every_topic_that_it_reads():
    assert stage_groups(Settings(group="p")) == [
        ("p-intake", "hl7.raw"),
        ("p-scrub", "notes"),
        ("p-scrub", "patient.updates"),
    ]


class Monitor:
    """Fails once, then gives readings; counts what was made and closed."""

    made = closed = 0

    def __init__(self, _settings, _groups):
        type(self).made += 1
        self._has_failed = False

    def read(self):
        if not self._has_failed:
            self._has_failed = True
            raise RetriableError("no answer")
        return reading(5)

    def close(self):
        type(self).closed += 1


@pytest.fixture
def monitor(monkeypatch):
    kind = type("Counted", (Monitor,), {})
    monkeypatch.setattr(lag, "LagMonitor", kind)
    return kind


def polled(**options):
    """Poll until a reading was taken, or for a moment; return what was called."""
    taken, errors = threading.Event(), []
    poller = LagPoller(
        Settings(), [("g", "t")], lambda _lags: taken.set(), period=0.0,
        on_error=lambda: errors.append(1), **options,
    )  # fmt: skip
    poller.start()
    was_taken = taken.wait(2)
    poller.stop()
    return was_taken, len(errors)


def test_a_failed_reading_is_reported_and_the_next_one_is_taken(monitor):
    assert polled() == (True, 1)
    assert (monitor.made, monitor.closed) == (1, 1)


def test_nothing_is_read_while_no_lag_is_wanted(monitor):
    assert polled(is_wanted=lambda: False) == (False, 0)
    assert monitor.made == 0
