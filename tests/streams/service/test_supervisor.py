"""Which deaths of a worker the supervisor answers with a new one."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from streams.engine.exit_status import EX_CONFIG, EX_SOFTWARE, EX_TEMPFAIL
from streams.kafka.topics import Stage
from streams.operations.settings import Settings
from streams.service import supervisor
from streams.service.supervisor import MAX_SHORT_LIVES, Supervisor


class Process(SimpleNamespace):
    """A worker that has ended already."""

    def terminate(self, _seconds=0):
        pass

    join = kill = terminate


@pytest.fixture
def run(monkeypatch):
    """Run a supervisor over workers that live so long and end with these statuses."""

    def run(statuses, seconds, begun=lambda _heartbeat: None):
        clock, started = iter(range(0, 10**9, seconds)), []

        def start(_self, _ordinal, heartbeat):
            begun(heartbeat)
            started.append(statuses[len(started)])
            return Process(exitcode=started[-1])

        monkeypatch.setattr(Supervisor, "_start", start)
        monkeypatch.setattr(supervisor.signal, "signal", lambda *_: None)
        monkeypatch.setattr(
            supervisor,
            "time",
            SimpleNamespace(monotonic=lambda: next(clock), sleep=lambda _s: None),
        )
        return Supervisor(Stage.SCRUB, 1, Settings(), {}).run(), len(started)

    return run


def test_a_worker_that_is_fenced_by_mistake_starts_again(run):
    """As when a broker dies between a request to join and its answer."""
    assert run([EX_TEMPFAIL, EX_CONFIG], 10) == (EX_CONFIG, 2)


def test_services_that_fence_each_other_for_ever_end(run):
    statuses = [EX_TEMPFAIL] * 100

    assert run(statuses, 10) == (EX_TEMPFAIL, MAX_SHORT_LIVES + 1)


def test_a_worker_that_dies_now_and_then_starts_again(run):
    statuses = [EX_SOFTWARE] * 30 + [EX_CONFIG]

    assert run(statuses, 10) == (EX_CONFIG, 31)


def test_a_worker_that_crashed_is_not_excused_whatever_it_was_in(run):
    """A record may have broken the memory of a client that dies in its next call."""
    excused = []

    def begun(heartbeat):
        excused.append(heartbeat.is_excused)
        # It ends in a call that no record can be the cause of.
        heartbeat.excuse(True)

    run([1, -11, -9, EX_SOFTWARE, EX_CONFIG], 10, begun)

    assert excused == [False, True, False, False, True]
