"""The brokers of one test process: started on demand, lent to one user at a time."""

from __future__ import annotations

import time
from contextlib import contextmanager
from pathlib import Path

from confluent_kafka import ConsumerGroupState, KafkaException
from confluent_kafka.admin import AdminClient

from streams.kafka.local_broker import Cluster

CACHE = Path("~/.cache/phistream/maven").expanduser()
START_SECONDS = 240
"""For a broker: on a busy machine its disk may stand still for a minute."""
ANSWER_SECONDS = 30
PATIENCE = 240
"""For what must come about, however busy the machine is."""


class Brokers:
    """Running brokers that tests borrow one after the other.

    A start costs five seconds of CPU, so a broker is kept for the whole session. One is
    enough until a test borrows while a fixture of its module still holds the first.
    """

    def __init__(self, folder):
        self._folder = folder
        self._all = []
        self._idle = []

    @contextmanager
    def borrow(self):
        """Lend a broker that has no topics and no idle groups."""
        cluster = self._idle.pop() if self._idle else self._start()
        wait_until(lambda: is_emptied(cluster))
        try:
            yield cluster
        finally:
            self._idle.append(cluster)

    def down(self):
        for cluster in self._all:
            cluster.down()

    def _start(self):
        cluster = Cluster(self._folder / f"kafka-{len(self._all) + 1}", cache=CACHE)
        cluster.up(seconds=START_SECONDS)
        self._all.append(cluster)
        return cluster


def empty(cluster):
    """Delete the topics, and the groups without members, that earlier tests left."""
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap})
    topics = topics_of(admin)
    listed = admin.list_consumer_groups(states={ConsumerGroupState.EMPTY})
    groups = [each.group_id for each in listed.result(ANSWER_SECONDS).valid]
    futures = {}
    if topics:
        futures |= admin.delete_topics(topics)
    if groups:
        futures |= admin.delete_consumer_groups(groups)
    for future in futures.values():
        future.result(ANSWER_SECONDS)
    # The controller has answered; the broker learns it a moment later.
    wait_until(lambda: not topics_of(admin))


def is_emptied(cluster):
    """Empty a cluster if its brokers answer; after a pause they may not yet."""
    try:
        empty(cluster)
    except (KafkaException, TimeoutError):
        return False
    return True


def topics_of(admin):
    """Return the names of the topics that are not Kafka's own."""
    names = admin.list_topics(timeout=ANSWER_SECONDS).topics
    return [name for name in names if not name.startswith("__")]


def wait_until(condition, seconds=PATIENCE):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.02)
