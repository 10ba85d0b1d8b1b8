"""The examples for subscribers, run as they are, on topics of intake and scrub."""

from __future__ import annotations

import json
import random
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from contextlib import contextmanager
from types import SimpleNamespace

import duckdb
import pyarrow.parquet as pq
import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import NewTopic

from streams.demo.flow import read_topic
from streams.demo.ward import Ward
from streams.kafka.client import PRODUCER, admin_client
from streams.kafka.offsets import GroupOffsets
from streams.kafka.topics import NOTES, NOTES_SCRUBBED, PHI_AUDIT
from tests.conftest import has_leaders, settings_for, with_topics
from tests.deploy.example import EXAMPLES, load
from tests.harness import feed_and_drain, is_settled, raw, running

PATIENCE = 150
ABORTED = b'{"text": "an aborted copy of aspirin", "note_id": "aborted", "offsets": []}'


@pytest.fixture(scope="module")
def ward(module_cluster, tmp_path_factory):
    """Topics that intake and scrub have filled, with aborted copies among the notes."""
    folder = tmp_path_factory.mktemp("examples")
    settings = with_topics(settings_for(module_cluster, folder, preset="lexical"))
    people = Ward(seed=3, split="test", patients=40, note_words=80)
    with running(settings, "intake", "scrub") as services:
        feed_and_drain(settings, services, map(raw, people.admissions()))
        feed_and_drain(settings, services, map(raw, people.messages(150)))
        abort_some(settings)
        feed_and_drain(settings, services, map(raw, people.messages(50)))
    return SimpleNamespace(
        settings=settings,
        bootstrap=settings.bootstrap,
        scrubbed=[*read_topic(settings, NOTES_SCRUBBED.name)],
        audit=[*read_topic(settings, PHI_AUDIT.name)],
    )


def abort_some(settings, partitions=4):
    """Leave records of an aborted transaction in every partition of the output."""
    producer = Producer(settings.client(**PRODUCER, **{"transactional.id": "aborts"}))
    producer.init_transactions(30)
    producer.begin_transaction()
    for partition in range(partitions):
        producer.produce(NOTES_SCRUBBED.name, ABORTED, partition=partition)
    producer.flush()
    producer.abort_transaction(30)


@contextmanager
def example(name, *arguments):
    """Run an example until the test has seen enough."""
    process = subprocess.Popen(
        [sys.executable, EXAMPLES / f"{name}.py", *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def wait_until(condition, what, process=None):
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline, f"waited in vain: {what}"
        if process is not None:
            assert process.poll() is None, process.stderr.read()
        time.sleep(0.05)


def positions(messages):
    return sorted((m.partition(), m.offset()) for m in messages)


def stored(lake, topic):
    return sorted(
        (row["partition"], row["offset"])
        for file in (lake / topic).rglob("*.parquet")
        for row in pq.read_table(
            file, columns=["partition", "offset"], partitioning=None
        ).to_pylist()
    )


def test_drugs_are_found_and_lead_back_to_the_original_notes(ward):
    nlp = load("nlp_consumer")
    expected = sum(len(nlp.finds(json.loads(m.value()))) for m in ward.scrubbed)
    originals = {
        (m.partition(), m.offset()): json.loads(m.value())["text"]
        for m in read_topic(ward.settings, NOTES.name)
    }

    with example("nlp_consumer", ward.bootstrap) as process:
        finds = [json.loads(process.stdout.readline()) for _ in range(expected)]
        wait_until(lambda: is_committed(ward), "the offsets are committed", process)

    assert expected > 10
    assert "aborted" not in {find["note_id"] for find in finds}
    for find in finds:
        source = find["source"]
        original = originals[source["partition"], source["offset"]]
        there = original[find["original_start"] : find["original_end"]]
        assert find["drug"] == there.lower()


def is_committed(ward):
    """Return whether all that stands in the topic has been committed as processed."""
    group = GroupOffsets(ward.settings, "drug-finder", NOTES_SCRUBBED.name)
    committed = group.read(range(4))
    group.close()
    last = {m.partition(): m.offset() + 1 for m in ward.scrubbed}
    return all(committed[p] >= after for p, after in last.items())


def test_the_lake_holds_every_record_once_and_answers(ward, tmp_path):
    for topic, messages in (
        ("notes.scrubbed", ward.scrubbed),
        ("phi.audit", ward.audit),
    ):
        due = positions(messages)
        with example("parquet_lake", ward.bootstrap, topic, tmp_path) as process:
            wait_until(lambda t=topic, d=due: stored(tmp_path, t) == d, topic, process)

    notes, labels, dead = map(duckdb.DuckDBPyRelation.fetchall, answers(tmp_path))

    assert len(ward.scrubbed) == sum(row[1] for row in notes)
    events = [json.loads(m.value()) for m in ward.audit]
    found = Counter(a["label"] for e in events for a in e.get("annotations", []))
    assert found == {label: removed for _day, label, removed, _score in labels}
    codes = Counter((e["stage"], e["code"]) for e in events if "code" in e)
    assert codes
    assert codes == {(stage, code): count for _day, stage, code, count in dead}


def answers(lake):
    return load("duckdb_query").answers(lake)


def test_a_lake_writer_killed_at_random_moments_neither_loses_nor_doubles(
    ward, tmp_path
):
    """Copies of notes, of two days, lie ready, so that the writer always writes."""
    rng, topic = random.Random(5), "copies"
    partitions = topic_of_copies(ward.settings, topic)
    produce_copies(ward, topic, transactions=150)
    due = positions(read_topic(ward.settings, topic))
    cut_off = 0
    for _ in range(12):
        before = len(stored_names(tmp_path, topic))
        with lake_of_copies(ward, topic, tmp_path) as process:
            wait_until(
                lambda b=before: len(stored_names(tmp_path, topic)) > b,
                "the writer is at work",
                process,
            )
            time.sleep(rng.uniform(0, 0.05))
            process.send_signal(signal.SIGKILL)
            process.wait()
        cut_off += any(tmp_path.rglob("*.tmp"))
    left = len(due) - len(stored(tmp_path, topic))
    with lake_of_copies(ward, topic, tmp_path) as process:
        wait_until(lambda: stored(tmp_path, topic) == due, "all is stored", process)

    assert partitions == sorted({p for p, _ in due})
    assert left > 0
    assert cut_off > 0, "no kill hit a file that was being written"
    assert [*tmp_path.rglob("*.tmp")] == []


@contextmanager
def lake_of_copies(ward, topic, lake):
    """Run the writer on a topic that is not among its own, with a schema of them."""
    script = (
        "import sys; from pathlib import Path; sys.path.insert(0, sys.argv[1]);"
        "import parquet_lake as lake;"
        f"lake.COLUMNS[{topic!r}] = lake.COLUMNS['notes.scrubbed'];"
        f"lake.DATED.add({topic!r});"
        f"lake.main(sys.argv[2], {topic!r}, Path(sys.argv[3]), 3)"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", script, EXAMPLES, ward.bootstrap, lake],
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def stored_names(lake, topic):
    return [*(lake / topic).rglob("*.parquet")]


def topic_of_copies(settings, topic, partitions=3):
    admin = admin_client(settings)
    admin.create_topics([NewTopic(topic, partitions, 1)])[topic].result()
    wait_until(lambda: has_leaders(admin, topic), "the topic's leaders")
    return [*range(partitions)]


def produce_copies(ward, topic, *, transactions):
    """Copy scrubbed notes in transactions, one in four of them aborted."""
    rng = random.Random(6)
    producer = Producer(
        ward.settings.client(**PRODUCER, **{"transactional.id": "copies"})
    )
    producer.init_transactions(30)
    days = [int(time.time() * 1000) - back * 24 * 60 * 60 * 1000 for back in (0, 1)]
    for _ in range(transactions):
        producer.begin_transaction()
        day = rng.choice(days)
        for message in rng.sample(ward.scrubbed, 50):
            producer.produce(
                topic,
                message.value(),
                partition=rng.randrange(3),
                timestamp=day,
            )
        if rng.random() < 0.25:
            producer.flush()
            producer.abort_transaction(30)
        else:
            producer.commit_transaction(30)
    wait_until(lambda: is_settled(ward.settings, topic), "all is to be read")


@pytest.mark.skipif(not shutil.which("kcat"), reason="kcat is not installed")
def test_kcat_prints_what_was_committed_and_nothing_else(ward):
    done = subprocess.run(
        ["sh", EXAMPLES / "kcat.sh", ward.bootstrap],
        capture_output=True,
        text=True,
        check=True,
        timeout=PATIENCE,
    )

    lines = done.stdout.splitlines()
    assert sorted(lines) == sorted(m.value().decode() for m in ward.scrubbed)
