"""Processes that can't go on say so at once, with a status and the next step."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from types import SimpleNamespace

import psutil
import pytest
from confluent_kafka import Producer

from streams.demo.flow import read_topic
from streams.engine.errors import RetriableError, SlotTaken
from streams.engine.records import CommittedOffset, Output, Partition
from streams.kafka import consumer as consumers
from streams.kafka.client import CALL_SECONDS
from streams.kafka.consumer import KafkaConsumer, require_assignor
from streams.kafka.producer import KafkaProducer
from streams.kafka.topics import NOTES
from tests.brokers import wait_until
from tests.harness import is_settled


@contextmanager
def frozen(cluster):
    """Have no broker answer for a while."""
    ports = {int(each.rpartition(":")[2]) for each in cluster.bootstrap.split(",")}
    brokers = {
        each.pid
        for each in psutil.net_connections("tcp")
        if each.status == psutil.CONN_LISTEN and each.laddr.port in ports and each.pid
    }
    assert brokers
    for pid in brokers:
        os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        for pid in brokers:
            os.kill(pid, signal.SIGCONT)


def test_a_broker_that_does_not_answer_an_admin_call_is_no_bug(
    cluster, settings, monkeypatch
):
    monkeypatch.setattr(consumers, "CALL_SECONDS", 1.0)

    with frozen(cluster), pytest.raises(RetriableError, match="did not answer in time"):
        require_assignor(settings, "none")


def member(settings):
    listener = SimpleNamespace(assigned=lambda _p: None, revoked=lambda _p: None)
    return KafkaConsumer(
        settings, NOTES.name, group="g", member="g-0", listener=listener
    )


def owns(consumer):
    consumer.poll(10, 0.1)
    return bool(consumer.paused)


def test_a_worker_whose_name_another_has_taken_stops_at_its_next_call(settings):
    first = member(settings)
    wait_until(lambda: owns(first))
    second = member(settings)
    wait_until(lambda: owns(second))

    with pytest.raises(SlotTaken, match="its own first_slot"):
        wait_until(lambda: first.poll(10, 0.1) and False)

    producer = KafkaProducer(settings, "t")
    producer.begin()
    with pytest.raises(SlotTaken, match="its own first_slot"):
        producer.send_offsets(
            {Partition(NOTES.name, 0): CommittedOffset(0)}, first.group_metadata()
        )
    first.close()
    second.close()


def test_a_worker_whose_name_another_has_taken_stops_while_it_goes_back(settings):
    first = member(settings)
    wait_until(lambda: owns(first))
    second = member(settings)
    wait_until(lambda: owns(second))

    with pytest.raises(SlotTaken, match="its own first_slot"):
        # Until the first has heard of it, it goes back in vain.
        wait_until(lambda: first.rewind() is None)

    first.close()
    second.close()


def test_a_batch_that_can_not_be_read_is_named_and_holds_up_no_other(settings, caplog):
    """Zstd that inflates to more than the client takes; nobody passes over it."""
    sender = Producer(
        settings.client(
            **{"compression.type": "zstd", "message.max.bytes": 1_000_000_000}
        )
    )
    sender.produce(NOTES.name, bytes(150_000_000), partition=0)
    sender.produce(NOTES.name, b"readable", partition=1)
    assert not sender.flush(60)
    consumer = member(settings)
    wait_until(lambda: owns(consumer))
    consumer.resume(range(settings.partitions))
    records = []

    def is_named():
        records.extend(consumer.poll(10, 0.1))
        return f"{NOTES.name}[0]@0: this batch can't be read" in caplog.text

    wait_until(is_named)
    wait_until(lambda: is_named() and records)
    for _ in range(20):
        is_named()

    assert [each.value for each in records] == [b"readable"]
    assert caplog.text.count("this batch can't be read") == 1
    consumer.close()


def test_a_full_disk_ends_a_command_with_its_status_and_without_a_traceback():
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            [sys.executable, "-m", "streams.cli", "topics", "asyncapi"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )

    assert done.returncode == 74
    assert "no space is left" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_commit_is_tried_as_long_as_its_transaction_may_be_open(cluster, settings):
    """Given up earlier and aborted, it might be one that is committed in part."""
    settings = settings.model_copy(update={"transaction_seconds": 40})
    producer = KafkaProducer(settings, "t")
    producer.begin()
    producer.produce(Output(NOTES.name, b"key", b"value"))
    with ThreadPoolExecutor(1) as pool, frozen(cluster):
        commit = pool.submit(producer.commit)
        time.sleep(CALL_SECONDS + 3)

    commit.result()
    # Its marker may wait until the partition has a leader again.
    wait_until(lambda: is_settled(settings, NOTES.name))
    assert [each.value() for each in read_topic(settings, NOTES.name)] == [b"value"]
