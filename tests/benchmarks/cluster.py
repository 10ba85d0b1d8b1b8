"""A Kafka cluster for one benchmark, removed when it ends."""

from __future__ import annotations

import secrets
import shutil
import tempfile
from contextlib import contextmanager
from pathlib import Path

import psutil

from streams.engine.keys.files import write_private
from streams.engine.keys.office import make_pair, public_file
from streams.kafka.client import wait_for_broker
from streams.kafka.local_broker import Cluster
from streams.kafka.topic_admin import create_topics
from streams.operations.settings import Settings

CACHE = Path("~/.cache/phistream/maven").expanduser()


@contextmanager
def benchmark_settings(*, brokers=1, **changes):
    """Yield settings for a new cluster with topics."""
    folder = Path(tempfile.mkdtemp(prefix="phistream-bench-"))
    cluster = Cluster(folder / "broker", cache=CACHE)
    key = folder / "pseudonym.key"
    write_private(key, secrets.token_hex(32).encode())
    make_pair(folder / "office.key")
    try:
        cluster.up(brokers=brokers)
        settings = Settings(
            bootstrap=cluster.bootstrap,
            state_dir=folder / "state",
            broker_dir=folder / "broker",
            pseudonym_key_file=key,
            dead_letter_key_file=public_file(folder / "office.key"),
            replication=brokers,
            **changes,
        )
        wait_for_broker(settings)
        create_topics(settings)
        yield settings
    finally:
        cluster.down()
        shutil.rmtree(folder, ignore_errors=True)


def broker_processes(settings):
    """Return the processes of the cluster that `benchmark_settings` started."""
    nodes = Cluster(settings.broker_dir, cache=CACHE).nodes
    return [psutil.Process(node.pid) for node in nodes]
