"""The brokers of one test process: started on demand, lent to one user at a time."""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path

from confluent_kafka import ConsumerGroupState
from confluent_kafka.admin import AdminClient

from streams.broker import Cluster

CACHE = Path("~/.cache/phistream/maven").expanduser()
ANSWER_SECONDS = 30


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
        empty(cluster)
        try:
            yield cluster
        finally:
            self._idle.append(cluster)

    def down(self):
        for cluster in self._all:
            cluster.down()

    def _start(self):
        cluster = Cluster(self._folder / f"kafka-{len(self._all) + 1}", cache=CACHE)
        cluster.up()
        self._all.append(cluster)
        return cluster


def empty(cluster):
    """Delete the topics, and the groups without members, that earlier tests left."""
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap})
    topics = [
        name
        for name in admin.list_topics(timeout=ANSWER_SECONDS).topics
        if not name.startswith("__")
    ]
    listed = admin.list_consumer_groups(states={ConsumerGroupState.EMPTY})
    groups = [each.group_id for each in listed.result(ANSWER_SECONDS).valid]
    futures = {}
    if topics:
        futures |= admin.delete_topics(topics)
    if groups:
        futures |= admin.delete_consumer_groups(groups)
    for future in futures.values():
        future.result(ANSWER_SECONDS)
