"""What the tests of tables share: a changelog, its owner, and waiting."""

from __future__ import annotations

import subprocess
import sys
import time
from contextlib import contextmanager

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from streams.kafka.client import PRODUCER
from streams.kafka.topics import Topic
from tests.brokers import wait_until
from tests.conftest import has_leaders

PARTITIONS = 4
CHANGELOG = Topic(
    name="changelog", key="any", readers="its owner", phi=True, retention_days=-1,
    cleanup="compact",
)  # fmt: skip


def create(settings):
    admin = AdminClient(settings.client())
    wanted = NewTopic(
        CHANGELOG.name, num_partitions=PARTITIONS, config=CHANGELOG.config()
    )
    admin.create_topics([wanted])[CHANGELOG.name].result(20)
    wait_until(lambda: has_leaders(admin, CHANGELOG.name))


class Owner:
    """A producer of rows in transactions, as the owner of a partition is one."""

    def __init__(self, settings, name="scrub-0", **properties):
        self._producer = Producer(
            settings.client(**PRODUCER, **{"transactional.id": name, **properties})
        )
        self._producer.init_transactions(20)

    def begin(self, partition, rows):
        """Write rows in a new transaction; return one more than the last's offset."""
        offsets = []
        self._producer.begin_transaction()
        for key, value in rows:
            self._producer.produce(
                CHANGELOG.name,
                key=key,
                value=value,
                partition=partition,
                on_delivery=lambda _error, message: offsets.append(message.offset()),
            )
        self._producer.flush(20)
        return max(offsets) + 1

    def commit(self, partition=None, rows=()):
        after = self.begin(partition, rows) if rows else None
        self._producer.commit_transaction(20)
        return after

    def abort(self):
        self._producer.abort_transaction(20)


def until(answer, wanted, seconds=120):
    """Call until the answers name these partitions."""
    left, deadline = {*wanted}, time.monotonic() + seconds
    while left:
        assert time.monotonic() < deadline, "waited in vain"
        left -= {*answer()}


def take_over(table, partitions):
    table.open(partitions)
    until(table.ready, partitions)
    table.settle(partitions)
    until(table.settled, partitions)
    return table


def rows_of(table, partition):
    return dict(table.scan(partition, b""))


def reached(table, partition):
    return {each.partition: each.next_offset for each in table.progress()}[partition]


HOLD = """
import sys, time
from pathlib import Path
from streams.kafka.tables.store import PartitionStore
store = PartitionStore(Path(sys.argv[1]), sys.argv[2], oldest=1e9)
if not store.next_offset:
    store.write([(b"a", b"1")], 7, is_current=True)
    store.flush()
print("open", flush=True)
time.sleep(600)
"""


@contextmanager
def held_by_another_process(folder, identity="topic-1"):
    """Have a second process open a store; give its id."""
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLD, folder, identity], stdout=subprocess.PIPE
    )
    try:
        assert holder.stdout.readline() == b"open\n"
        yield holder.pid
    finally:
        holder.kill()
        holder.wait()
        holder.stdout.close()


@contextmanager
def small_disk(place, size):
    """A file system of a few bytes, where a root may mount one."""
    place.mkdir()
    done = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", place],
        capture_output=True,
        check=False,
    )
    if done.returncode:
        pytest.skip(f"no tmpfs here: {done.stderr.decode(errors='replace').strip()}")
    try:
        yield place
    finally:
        subprocess.run(["umount", place], check=True)
