"""Watch on real Kafka: what it counts, and that it counts it once, whatever happens."""

from __future__ import annotations

import asyncio
import os
import signal
import time
import urllib.error
import urllib.request
from collections import Counter

import orjson
import pytest
from confluent_kafka import Consumer as KafkaConsumer
from confluent_kafka import Producer, TopicPartition
from faust.transport.consumer import Consumer

from streams.kafka.client import PRODUCER
from streams.kafka.lag import LagMonitor
from streams.kafka.local_broker.ports import free_ports
from streams.kafka.topics import DEAD_LETTERS, PHI_AUDIT, WATCH_TOPICS
from streams.operations.watch.app import READ, WatchApp, group_of
from streams.operations.watch.start_offsets import skip_older_than_a_day
from streams.operations.watch.topic_counter import TopicCounter
from streams.operations.watch.transport import CommittedThread
from tests.commands import Forked
from tests.conftest import settings_for, with_topics
from tests.harness import count_records, read_topic

pytestmark = pytest.mark.timeout(900)

MARKER = "Zzquist"
PATIENCE = 240


def audit_event(label="DATE"):
    return {
        "stage": "scrub", "outcome": "scrubbed", "join": "found", "preset": "hybrid",
        "policy": "safe-harbor", "version": "0.1.0", "key_id": "0123abcd",
        "annotations": [{"label": label, "detector": "rules/date"}],
    }  # fmt: skip


def dead_letter():
    return {
        "stage": "intake",
        "code": "bad_msh",
        "reason": MARKER,
        "sealed": {"ciphertext": MARKER},
    }


def received():
    return [("received", b"%013d" % (time.time() * 1000 - 40))]


class Writer:
    """Writes as scrub does: in transactions, some of which are aborted."""

    def __init__(self, settings):
        config = PRODUCER | {"transactional.id": "writer"}
        self._producer = Producer(settings.client(**config))
        self._producer.init_transactions(30)
        self._partitions = settings.partitions
        self._count = 0

    def write(self, topic, values, *, commit=True, headers=None):
        self._producer.begin_transaction()
        for value in values:
            self._count += 1
            self._producer.produce(
                topic.name,
                key=b"%d" % self._count,
                value=orjson.dumps(value),
                partition=self._count % self._partitions,
                headers=received() if headers is None else headers,
            )
        self._producer.flush(30)
        if commit:
            self._producer.commit_transaction(30)
        else:
            self._producer.abort_transaction(30)


async def life(settings, until, *, clock=time.time):
    """Run watch's application until ``until(counts)``; return its counts of the day."""
    app = WatchApp(settings, clock)
    stop = asyncio.Event()
    running = asyncio.create_task(app.run(stop))
    deadline = time.monotonic() + PATIENCE
    while not until(counts := day_of(app)) or not app.is_ready:
        assert time.monotonic() < deadline, counts
        assert not running.done()
        await asyncio.sleep(0.1)
    await asyncio.sleep(1.5)  # whatever is counted too much comes now
    counts = day_of(app)
    stop.set()
    await running
    return counts


def day_of(app):
    total = Counter()
    for key, bucket in app.buckets():
        if "/day/" in key:
            total.update(bucket.counts)
    return total


def run_life(settings, until):
    return asyncio.run(life(settings, until))


def has(name, count):
    return lambda counts: counts[name] >= count


def test_aborted_records_are_ignored(settings):
    writer = Writer(settings)
    for _ in range(5):
        writer.write(PHI_AUDIT, [audit_event()] * 20)
        writer.write(PHI_AUDIT, [audit_event("AGE")] * 20, commit=False)

    counts = run_life(settings, has("label/DATE", 100))

    assert (counts["label/DATE"], counts["label/AGE"]) == (100, 0)
    # The aborted ones do lie in the log.
    assert count_records(settings, PHI_AUDIT.name, "read_uncommitted") == 200


def test_what_is_counted_is_committed_past_every_marker(settings):
    """Transactions' markers leave gaps in the offsets; watch must not stay behind."""
    writer = Writer(settings)
    for n in range(40):
        writer.write(PHI_AUDIT, [audit_event()] * 3, commit=n % 3 > 0)
    expected = 3 * sum(n % 3 > 0 for n in range(40))

    run_life(settings, has("label/DATE", expected))

    monitor = LagMonitor(settings, [(group_of(settings), PHI_AUDIT.name)])
    lags = monitor.read()
    monitor.close()
    assert [lag.records for lag in lags] == ([0] * settings.partitions)
    assert all(lag.committed > 0 for lag in lags)


def test_tables_survive_a_restart_and_count_nothing_twice(settings):
    writer = Writer(settings)
    writer.write(PHI_AUDIT, [audit_event()] * 30)
    writer.write(DEAD_LETTERS, [dead_letter()] * 10)

    expected = {"dead/intake/bad_msh": 10, "published/notes": 30, "label/DATE": 30}
    first = run_life(settings, lambda counts: expected.items() <= counts.items())
    again = run_life(settings, has("label/DATE", 30))
    assert first == again

    writer.write(PHI_AUDIT, [audit_event()] * 5)
    # Each count of an event moves by itself: all of them have to arrive.
    more = run_life(settings, lambda now: {5} == set((now - first).values()))
    assert more["label/DATE"] == 35


def test_what_comes_while_faust_resumes_is_not_lost(settings, monkeypatch):
    """Faust empties its queues when it resumes, some time after it has sought back."""
    seek, gather = Consumer.perform_seek, TopicCounter.gather

    async def slow_seek(self):
        await seek(self)
        await asyncio.sleep(2)

    async def late_gather(self, stream):
        while not self._is_restored():
            await asyncio.sleep(0.05)
        await asyncio.sleep(4)
        await gather(self, stream)

    writer = Writer(settings)
    writer.write(PHI_AUDIT, [audit_event()] * 30)
    run_life(settings, has("label/DATE", 30))
    writer.write(PHI_AUDIT, [audit_event()] * 5)
    monkeypatch.setattr(Consumer, "perform_seek", slow_seek)
    monkeypatch.setattr(TopicCounter, "gather", late_gather)

    counts = run_life(settings, has("label/DATE", 35))

    assert counts["label/DATE"] == 35


def test_what_comes_before_a_seek_to_the_first_offset_is_not_lost(
    settings, monkeypatch
):
    """aiokafka leaves a partition where it is if 0 is committed, or nothing."""
    writer, seek = Writer(settings), CommittedThread.seek_to_committed
    writer.write(PHI_AUDIT, [audit_event()] * 30)  # so that there is a table to restore
    run_life(settings, has("label/DATE", 30))
    written = 0

    async def busy_seek(self):
        nonlocal written
        writer.write(DEAD_LETTERS, [dead_letter()] * 5)
        written += 5
        await asyncio.sleep(2)  # they reach a flow that is stopped, and are dropped
        return await seek(self)

    monkeypatch.setattr(CommittedThread, "seek_to_committed", busy_seek)

    name = "dead/intake/bad_msh"
    counts = run_life(settings, lambda counts: counts[name] >= written > 0)

    assert written == counts[name]


def test_records_that_come_again_after_a_crash_count_once(settings):
    """The offsets go back as far as can be; the tables know what they have counted."""
    writer = Writer(settings)
    writer.write(PHI_AUDIT, [audit_event()] * 50)
    first = run_life(settings, has("label/DATE", 50))

    forget_offsets(settings)
    writer.write(PHI_AUDIT, [audit_event("AGE")])
    again = run_life(settings, has("label/AGE", 1))

    assert (again["label/DATE"], again["label/AGE"]) == (50, 1)
    assert first["audit/scrub"] + 1 == again["audit/scrub"]


def forget_offsets(settings):
    consumer = KafkaConsumer(settings.client(**{"group.id": group_of(settings)}))
    consumer.commit(
        offsets=[
            TopicPartition(topic, partition, 0)
            for topic in READ
            for partition in range(settings.partitions)
        ],
        asynchronous=False,
    )
    consumer.close()


def test_the_tables_changelogs_hold_known_words_and_numbers_alone(settings):
    writer = Writer(settings)
    writer.write(DEAD_LETTERS, [dead_letter()] * 4)
    event = audit_event() | {"note_type": MARKER, "preset": f"{MARKER} {MARKER}"}
    writer.write(PHI_AUDIT, [event] * 4)
    run_life(settings, lambda c: c["dead/intake/bad_msh"] >= 4
             and c["published/notes"] >= 4)  # fmt: skip

    written = [
        (message.key() + (message.value() or b"")).decode()
        for topic in WATCH_TOPICS
        for message in read_topic(settings, topic.name)
    ]

    assert any("dead/intake/bad_msh" in text for text in written)
    assert [text for text in written if MARKER in text] == []


def test_a_first_start_leaves_out_what_is_older_than_a_day(settings):
    now = time.time()
    producer = Producer(settings.client(**PRODUCER))
    for days in (40, 3, 0):
        producer.produce(
            PHI_AUDIT.name,
            value=orjson.dumps(audit_event("AGE" if days else "DATE")),
            partition=0,
            timestamp=int((now - days * 86_400) * 1000),
        )
    assert producer.flush(30) == 0

    # All partitions of both topics get an offset; one of them is not the first.
    moved = skip_older_than_a_day(settings, group_of(settings), READ)

    assert len(READ) * settings.partitions == moved
    consumer = KafkaConsumer(settings.client(**{"group.id": group_of(settings)}))
    [stands] = consumer.committed([TopicPartition(PHI_AUDIT.name, 0)], timeout=10)
    consumer.close()
    assert stands.offset == 2
    counts = run_life(settings, has("label/DATE", 1))
    assert (counts["label/DATE"], counts["label/AGE"]) == (1, 0)


# The command


def started(settings, folder, port, **environment):
    """Start `phistream watch` as a person would."""
    given = {
        "PHISTREAM_BOOTSTRAP": settings.bootstrap,
        "PHISTREAM_GROUP": settings.group,
        "PHISTREAM_STATE_DIR": str(settings.state_dir),
        "PHISTREAM_BROKER_DIR": str(settings.broker_dir),
    }
    log = folder / "watch.log"
    return Forked(
        *("watch", "--port", port),
        env=os.environ | given | environment,
        stdout=log,
        stderr=log,
    )


def get(port, path):
    """Return the status and JSON of a path; 0 when nobody answers."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=60) as a:
            return a.status, orjson.loads(a.read())
    except urllib.error.HTTPError as error:
        return error.code, None
    except OSError:
        return 0, None


def wait_for(question, seconds=PATIENCE):
    deadline = time.monotonic() + seconds
    while not (answer := question()):
        assert time.monotonic() < deadline
        time.sleep(0.25)
    return answer


def labels_of(port):
    _, body = get(port, "/api/phi")
    return (body or {}).get("phi", {}).get("day", {}).get("labels", {})


def test_killed_again_and_again_watch_counts_everything_once(settings, tmp_path):
    """kill -9 while it reads, counts and writes its tables: none lost, none twice."""
    writer, port, written = Writer(settings), free_ports(1)[0], 0
    for kill in range(4):
        process = started(settings, tmp_path, port)
        wait_for(lambda: get(port, "/readyz")[0] == 200)
        for batch in range(12):
            writer.write(PHI_AUDIT, [audit_event()] * 20, commit=batch % 4 > 0)
            written += 20 * (batch % 4 > 0)
        # Before, within and after a flush of the tables, which comes twice a second.
        time.sleep(0.23 * kill)
        process.kill()
        process.wait(120)
        writer.write(PHI_AUDIT, [audit_event()] * 20)
        written += 20

    counts = run_life(settings, has("label/DATE", written))

    assert {"audit/scrub": written, "label/DATE": written}.items() <= counts.items()


def test_an_outage_of_the_broker_does_not_end_watch(fresh_cluster, tmp_path):
    """The page stays, says that it is behind, and counts on when the broker is back."""
    settings = with_topics(settings_for(fresh_cluster, tmp_path))
    port = free_ports(1)[0]
    process = started(settings, tmp_path, port, PHISTREAM_LOG_LEVEL="debug")
    try:
        wait_for(lambda: get(port, "/readyz")[0] == 200)
        Writer(settings).write(PHI_AUDIT, [audit_event()] * 10)
        Writer(settings).write(DEAD_LETTERS, [dead_letter()] * 3)
        wait_for(lambda: labels_of(port) == {"DATE": 10})

        fresh_cluster.kill(1)
        time.sleep(8)
        assert process.poll() is None
        assert get(port, "/healthz")[0] == 200
        assert labels_of(port) == {"DATE": 10}
        fresh_cluster.restart(1)

        Writer(settings).write(PHI_AUDIT, [audit_event()] * 5)
        wait_for(lambda: labels_of(port) == {"DATE": 15})
    finally:
        process.send_signal(signal.SIGTERM)
        status = process.wait(120)
    log = (tmp_path / "watch.log").read_text()
    assert status == 0, log
    # The dead letters' contents went through its hands, at debug level.
    assert MARKER not in log
    assert "Traceback" not in log


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_watch_cleanly(settings, tmp_path, number):
    port = free_ports(1)[0]
    process = started(settings, tmp_path, port)
    wait_for(lambda: get(port, "/readyz")[0] == 200)
    # An open event stream must not hold it up.
    stream = urllib.request.urlopen(f"http://127.0.0.1:{port}/api/events", timeout=60)
    assert stream.readline().strip() == b"event: figures"

    process.send_signal(number)

    assert process.wait(120) == 0
    stream.close()
    log = (tmp_path / "watch.log").read_text()
    assert "watch has stopped" in log
    assert "Traceback" not in log


def test_watch_without_its_topics_says_what_to_do(cluster, tmp_path):
    settings = settings_for(cluster, tmp_path)

    process = started(settings, tmp_path, free_ports(1)[0])

    assert process.wait(120) == 78
    assert "run: phistream topics create" in (tmp_path / "watch.log").read_text()
