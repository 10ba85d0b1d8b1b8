"""Which partitions a worker copies, by the plain definition and on a real group."""

from __future__ import annotations

import time
from itertools import combinations

import pytest
from confluent_kafka import Consumer
from confluent_kafka.admin import AdminClient, NewTopic

from streams.kafka.tables.standby import Standby, share, standby_copies
from tests.brokers import wait_until
from tests.conftest import has_leaders
from tests.streams.kafka.tables.changelog import CHANGELOG, PARTITIONS, take_over

INPUTS = ("changelog", "second.input")
MEMBERS = ("scrub-1", "scrub-10", "scrub-2")
"""As the assignor sorts them: by bytes."""


def assignment(members, partitions):
    """Return the partitions of each member, as Kafka's documentation defines range."""
    left, result = list(range(partitions)), {}
    for position, member in enumerate(members):
        size = -(-len(left) // (len(members) - position))
        result[member], left = left[:size], left[size:]
    return result


@pytest.mark.parametrize("members", range(1, 7))
def test_shares_are_those_of_the_range_assignor(members):
    for partitions in range(15):
        assert [
            [*share(position, members, partitions)] for position in range(members)
        ] == [*assignment(range(members), partitions).values()]


@pytest.mark.parametrize("losses", [0, 1, 2, 3])
@pytest.mark.parametrize("members", range(1, 7))
def test_copies_are_what_a_worker_gets_when_any_others_are_lost(members, losses):
    for partitions in range(15):
        now = assignment(range(members), partitions)
        for me in range(members):
            others = [each for each in range(members) if each != me]
            wanted = {
                partition
                for count in range(1, losses + 1)
                for lost in combinations(others, count)
                for partition in assignment(
                    [each for each in range(members) if each not in lost], partitions
                )[me]
            }
            assert wanted - {*now[me]} == standby_copies(
                me, members, partitions, losses
            )


@pytest.fixture
def group(settings):
    """Members of a group on two inputs; each polls until the test has ended it."""
    admin = AdminClient(settings.client())
    wanted = NewTopic(INPUTS[1], num_partitions=PARTITIONS)
    admin.create_topics([wanted])[INPUTS[1]].result(20)
    wait_until(lambda: has_leaders(admin, INPUTS[1]))
    group = Group(settings)
    yield group
    group.close()


class Group:
    """Static members of a group with an assignor, polled one after the other."""

    def __init__(self, settings):
        self._settings = settings
        self.members = {}

    def join(self, member, assignor="range"):
        self.members[member] = Consumer(
            self._settings.client(
                **{
                    "group.id": f"{self._settings.group}-scrub",
                    "group.instance.id": member,
                    "partition.assignment.strategy": assignor,
                    "session.timeout.ms": 6000,
                    "heartbeat.interval.ms": 500,
                }
            )
        )
        self.members[member].subscribe([*INPUTS])

    def leave(self, member):
        """A static member is lost when its session has timed out."""
        self.members.pop(member).close()

    def assigned(self):
        """Poll, and return the partitions of each topic and member."""
        for consumer in self.members.values():
            consumer.poll(0.05)
        return {
            (member, topic): {
                each.partition for each in consumer.assignment() if each.topic == topic
            }
            for member, consumer in self.members.items()
            for topic in INPUTS
        }

    def close(self):
        for consumer in self.members.values():
            consumer.close()


def shares(members):
    return {
        (member, topic): {*share(position, len(members), PARTITIONS)}
        for position, member in enumerate(members)
        for topic in INPUTS
    }


def turn_until(condition, *standbys):
    def turned():
        for standby in standbys:
            standby.turn()
        return condition()

    wait_until(turned, 60)


def standby_of(settings, table, member):
    return Standby(
        settings.model_copy(update={"standby_copies": 1}),
        [table],
        group=f"{settings.group}-scrub",
        member=member,
        topic=CHANGELOG,
        partitions=PARTITIONS,
        clock=lambda: time.monotonic() * 20,
    )


def copied(table):
    return {each.partition for each in table.copies()}


def test_after_a_loss_each_worker_gets_what_it_owned_or_copied(settings, group, opened):
    for member in MEMBERS:
        group.join(member)
    wait_until(lambda: group.assigned() == shares(MEMBERS))
    before = group.assigned()
    tables = {member: opened(member) for member in MEMBERS}
    for member, table in tables.items():
        take_over(table, before[member, CHANGELOG.name])
    standbys = [standby_of(settings, tables[each], each) for each in MEMBERS]
    copies = {
        member: standby_copies(position, len(MEMBERS), PARTITIONS, 1)
        for position, member in enumerate(MEMBERS)
    }
    turn_until(lambda: copies == {m: copied(t) for m, t in tables.items()}, *standbys)

    group.leave(MEMBERS[1])
    survivors = (MEMBERS[0], MEMBERS[2])
    wait_until(lambda: group.assigned() == shares(survivors))

    after = group.assigned()
    gained = {place: after[place] - before[place] for place in after}
    assert any(gained.values())
    assert all(gained[member, topic] <= copies[member] for member, topic in gained)


def test_without_the_range_assignor_nothing_is_copied(settings, group, opened, caplog):
    for member in MEMBERS:
        group.join(member, "roundrobin")
    table = opened(MEMBERS[0])
    standby = standby_of(settings, table, MEMBERS[0])

    turn_until(lambda: group.assigned() and "not range" in caplog.text, standby)

    assert copied(table) == set()


def test_an_unreachable_cluster_neither_stops_nor_delays_the_loop(
    settings, opened, caplog
):
    gone = settings.model_copy(update={"bootstrap": "127.0.0.1:1"})
    standby = standby_of(gone, opened(), "scrub-0")

    turn_until(lambda: "members of the group unknown" in caplog.text, standby)

    assert max(_turn_seconds(standby) for _ in range(50)) < 1.0


def _turn_seconds(standby):
    begun = time.monotonic()
    standby.turn()
    return time.monotonic() - begun
