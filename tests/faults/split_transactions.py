"""Whether Kafka itself commits a part of a transaction (decision 29).

    python -m tests.faults.split_transactions
    python -m tests.faults.split_transactions --fenced
    python -m tests.faults.split_transactions --patient

A plain producer, no phistream, commits while the other brokers stand still; then it and
the coordinator are killed, or (`--patient`) the coordinator alone.  The broker is
started again at once, or (`--fenced`) when the cluster has given its partitions to
others.  A transaction must be visible in all of its partitions or in none.
"""

from __future__ import annotations

import multiprocessing
import tempfile
import time
from pathlib import Path
from typing import Annotated

import typer
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import NewTopic
from rich.console import Console
from rich.table import Table

from streams.kafka.client import CONSUMER
from tests.faults.cluster import FaultyCluster

PARTITIONS = 6
FETCH_SECONDS = 0.8
"""After which no follower's fetch waits at a leader any more."""


def split(cluster, name, *, fenced, patient):
    """Return the partitions in which a transaction is visible in the end."""
    client = {"bootstrap.servers": cluster.bootstrap, "log_level": 0}
    made = cluster.admin.create_topics([NewTopic(name, PARTITIONS, 3)])
    made[name].result(30)
    cluster.wait()
    spawning = multiprocessing.get_context("spawn")
    ours, theirs = spawning.Pipe()
    producer = spawning.Process(target=_produce, args=[client, name, theirs])
    producer.start()
    assert ours.recv()

    coordinator = cluster.leader_for("__transaction_state", name)
    others = [node.id for node in cluster.nodes if node.id != coordinator]
    for each in others:
        cluster.freeze(each)
    time.sleep(FETCH_SECONDS)
    ours.send("commit")
    time.sleep(FETCH_SECONDS)
    if not patient:
        producer.kill()
    cluster.kill(coordinator)
    for each in others:
        cluster.thaw(each)
    if fenced:
        cluster.wait_without(coordinator)
    cluster.start(coordinator)
    cluster.wait()
    if patient:
        producer.join()
    # The next owner of the id ends what is open.
    Producer(client | {"transactional.id": name}).init_transactions(60)
    return _visible(client, name)


def _produce(client, name, told):
    producer = Producer(client | {"transactional.id": name})
    producer.init_transactions(30)
    producer.begin_transaction()
    for partition in range(PARTITIONS):
        producer.produce(name, b"", partition=partition)
    producer.flush(30)
    told.send("written")
    told.recv()
    producer.commit_transaction(60)


def _visible(client, topic):
    consumer = Consumer(
        client | CONSUMER | {"group.id": topic, "enable.partition.eof": True}
    )
    consumer.assign([TopicPartition(topic, p, 0) for p in range(PARTITIONS)])
    found, left = set(), set(range(PARTITIONS))
    while left:
        message = consumer.poll(30)
        assert message is not None, "a partition does not answer"
        if message.error():
            left.discard(message.partition())
        else:
            found.add(message.partition())
    consumer.close()
    return found


def main(
    turns: Annotated[int, typer.Option(help="How many transactions.")] = 10,
    *,
    fenced: Annotated[
        bool, typer.Option("--fenced", help="Wait until the cluster is without it.")
    ] = False,
    patient: Annotated[
        bool, typer.Option("--patient", help="Let the producer live, and try again.")
    ] = False,
) -> None:
    """Exit 1 if a transaction is visible in some of its partitions only."""
    console = Console()
    table = Table("turn", f"visible in partitions, of {PARTITIONS}", "")
    splits = 0
    with tempfile.TemporaryDirectory(prefix="phistream-split-") as folder:
        cluster = FaultyCluster(Path(folder))
        try:
            cluster.up(brokers=3, seconds=240)
            for turn in range(turns):
                found = split(cluster, f"t{turn}", fenced=fenced, patient=patient)
                is_split = 0 < len(found) < PARTITIONS
                splits += is_split
                places = ", ".join(map(str, sorted(found))) or "none"
                table.add_row(str(turn), places, "split" if is_split else "")
                console.print(f"{turn + 1} of {turns}: {places}")
        finally:
            cluster.down()
    console.print(table)
    raise typer.Exit(splits > 0)


if __name__ == "__main__":
    typer.run(main)
