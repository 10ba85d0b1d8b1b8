"""Faults of brokers: they die, stand still, restart, and their coordinators move."""

from __future__ import annotations

import time

from confluent_kafka import ElectionType, TopicPartition

from tests.faults.scenarios import faults_of, scenario

COORDINATORS = ("__consumer_offsets", "__transaction_state")


@scenario(settings={"rebuild_messages": True})
def broker_kill(run):
    """kill -9 of one broker at a time, at random moments."""
    run.start()
    for _ in run.moments(faults_of(run, 6)):
        kill_one(run)


def kill_one(run):
    node = run.rng.choice(run.cluster.nodes).id
    run.cluster.kill(node)
    run.fault("kill -9 broker")
    time.sleep(run.rng.uniform(0, 3))
    run.cluster.wait_without(node)
    run.cluster.start(node)
    run.cluster.wait()


@scenario(brokers=3)
def broker_restarted_at_once(run):
    """kill -9 of one broker at a time, back before the cluster notices.

    Kafka 4.3.1 may then commit a part of a transaction (decision 29).
    """
    run.start()
    for _ in run.moments(faults_of(run, 6)):
        node = run.rng.choice(run.cluster.nodes).id
        run.cluster.kill(node)
        run.fault("kill -9 broker")
        run.cluster.start(node)
        run.cluster.wait()


@scenario(effects={"broker out of the cluster": ""})
def broker_freeze(run):
    """SIGSTOP of a broker past its session, then SIGCONT."""
    run.start()
    run.seen.must_abort = False
    for _ in run.moments(faults_of(run, 4)):
        freeze_one(run)


def freeze_one(run):
    node = run.rng.choice(run.cluster.nodes).id
    run.cluster.freeze(node)
    run.fault("SIGSTOP broker")
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline and node in run.cluster.answering():
        time.sleep(0.5)
    run.effect("broker out of the cluster", node not in run.cluster.answering())
    time.sleep(max(0, deadline - time.monotonic()))
    run.cluster.thaw(node)
    run.cluster.wait()


@scenario()
def brokers_all_killed(run):
    """kill -9 of all brokers at once."""
    run.start()
    for _ in run.moments(faults_of(run, 3)):
        kill_all(run)


def kill_all(run):
    for node in run.cluster.nodes:
        run.cluster.kill(node.id)
    run.fault("kill -9 all brokers")
    time.sleep(run.rng.uniform(0, 5))
    for node in run.cluster.nodes:
        run.cluster.start(node.id)
    run.cluster.wait()


@scenario(brokers=3)
def coordinator_kill(run):
    """kill -9 of the broker that coordinates a group, or a transactional id."""
    run.start()
    for number in run.moments(faults_of(run, 4)):
        kill_coordinator(run, of_group=bool(number % 2))


def kill_coordinator(run, *, of_group):
    stage = run.rng.choice(["intake", "scrub"])
    group = f"{run.settings.group}-{stage}"
    name = group if of_group else f"{group}-0"
    topic = COORDINATORS[not of_group]
    node = run.cluster.leader_for(topic, name)
    run.cluster.kill(node)
    run.fault(f"kill -9 leader of {topic}")
    run.cluster.wait_without(node)
    run.cluster.start(node)
    run.cluster.wait()


@scenario(brokers=3, effects={"coordinators elsewhere": ""})
def coordinator_moves(run):
    """Coordinators move away by an orderly shutdown, and back by an election."""
    run.start()
    run.seen.must_abort = False
    for number in run.moments(faults_of(run, 4)):
        stage = run.rng.choice(["intake", "scrub"])
        name = f"{run.settings.group}-{stage}" + ("" if number % 2 else "-0")
        topic = COORDINATORS[not number % 2]
        node = run.cluster.leader_for(topic, name)
        run.cluster.stop(node)
        run.fault("coordinators moved away")
        moved = run.cluster.leader_for(topic, name) != node
        run.effect("coordinators elsewhere", moved)
        run.cluster.start(node)
        run.cluster.wait()
        elect(run.cluster)
        run.fault("coordinators moved back")


@scenario(brokers=3, effects={"partitions with another leader": ""})
def rolling_restart(run):
    """All brokers restarted in order, one after the other."""
    run.start()
    run.seen.must_abort = False
    for _ in run.moments(faults_of(run, 2)):
        restart_in_order(run)


def restart_in_order(run):
    for node in run.cluster.nodes:
        led = run.cluster.led_by(node.id)
        run.cluster.stop(node.id)
        run.fault("broker restarted")
        elsewhere = led - run.cluster.led_by(node.id)
        run.effect("partitions with another leader", len(elsewhere))
        run.cluster.start(node.id)
        run.cluster.wait()


def elect(cluster):
    """Have the preferred replicas lead the coordinators' partitions again."""
    partitions = [
        TopicPartition(topic, partition)
        for topic in COORDINATORS
        for partition in cluster.admin.list_topics(topic).topics[topic].partitions
    ]
    cluster.admin.elect_leaders(ElectionType.PREFERRED, partitions).result(30)
