"""What Kubernetes' probes see of a worker: while it waits, works, and waits again."""

from __future__ import annotations

import time
from contextlib import suppress
from urllib.error import URLError

import pytest

from streams.kafka.local_broker.ports import free_ports
from tests.brokers import START_SECONDS, wait_until
from tests.conftest import settings_for, with_topics
from tests.end_to_end.test_metrics import get
from tests.harness import start_service, worker_processes

pytestmark = pytest.mark.timeout(400)

WATCHDOG_SECONDS = 8
WITHOUT_BROKER_SECONDS = 12
"""Longer than the watchdog waits."""


def statuses(ports, path):
    """Return the status of each worker; None while it does not listen."""
    found = []
    for port in ports:
        try:
            found.append(get(port, path)[0])
        except (URLError, ConnectionError):
            found.append(None)
    return found


def test_a_worker_that_waits_for_its_broker_is_alive_and_not_ready(
    fresh_cluster, tmp_path
):
    ports = free_ports(2)
    settings = with_topics(
        settings_for(
            fresh_cluster,
            tmp_path,
            preset="lexical",
            # The ordinal of a pod, whose port is that of every other.
            first_slot=3,
            metrics_port_by_slot=False,
            watchdog_seconds=WATCHDOG_SECONDS,
            broker_wait_seconds=120,
        )
    )

    def stay_alive(seconds):
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            assert statuses(ports, "/healthz") == [200, 200]
            time.sleep(0.2)

    fresh_cluster.kill(1)
    services = [
        start_service(stage, settings.model_copy(update={"metrics_port": port}))
        for stage, port in zip(("intake", "scrub"), ports, strict=True)
    ]
    try:
        wait_until(lambda: statuses(ports, "/healthz") == [200, 200], 120)
        stay_alive(WITHOUT_BROKER_SECONDS)
        assert statuses(ports, "/readyz") == [503, 503]

        fresh_cluster.restart(1, seconds=START_SECONDS)
        wait_until(lambda: statuses(ports, "/readyz") == [200, 200], 120)
        workers = [worker.pid for each in services for worker in worker_processes(each)]

        fresh_cluster.kill(1)
        stay_alive(WITHOUT_BROKER_SECONDS)
        assert workers == [
            worker.pid for each in services for worker in worker_processes(each)
        ]
        fresh_cluster.restart(1, seconds=START_SECONDS)
        wait_until(lambda: statuses(ports, "/readyz") == [200, 200], 120)
    finally:
        for each in services:
            with suppress(ProcessLookupError):
                each.stop()
