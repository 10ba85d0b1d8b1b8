"""Copies of partitions that a worker will own after the loss of others.

The classic protocol's `range` assignor gives each topic's partitions in order to the
members in order of their static ids.  What a worker gets after a loss can therefore be
computed from the members of now, and be copied beforehand.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future

from confluent_kafka import ConsumerGroupState, KafkaException
from confluent_kafka.admin import ConsumerGroupDescription, MemberDescription

from streams.engine.errors import RetriableError
from streams.kafka.client import admin_client
from streams.kafka.settings import KafkaSettings
from streams.kafka.topics import Topic

from .table import ChangelogTable

log = logging.getLogger(__name__)

ASK_SECONDS = 10.0


def share(position: int, members: int, partitions: int) -> range:
    """Return the partitions that the assignor gives to a member.

    Args:
        position: Of the member among all, sorted; the first is 0.
        members: Their number.
        partitions: The number of partitions of the topic.
    """
    size, larger = divmod(partitions, members)
    start = position * size + min(position, larger)
    return range(start, start + size + (position < larger))


def standby_copies(
    position: int, members: int, partitions: int, losses: int
) -> frozenset[int]:
    """Return what a member does not own and gets when others are lost.

    Args:
        position: Of the member among all, sorted; the first is 0.
        members: Their number.
        partitions: The number of partitions of the topic.
        losses: How many others may be lost, whichever they are.
    """
    after = members - 1 - position
    copies: set[int] = set()
    for lost in range(1, losses + 1):
        # Only how many of the lost ones came before the member matters.
        for before in range(max(0, lost - after), min(position, lost) + 1):
            copies.update(share(position - before, members - lost, partitions))
    return frozenset(copies.difference(share(position, members, partitions)))


class Standby:
    """Keeps the copies of a worker as the members of its group change.

    Args:
        settings: Address of the cluster, and the number of losses to prepare for.
        tables: Of the worker; all of them have the partitions of the input.
        group: The consumer group.
        member: The worker's static id in it.
        topic: An input of the group.
        partitions: Its number of partitions.
        clock: Monotonic seconds.
    """

    def __init__(
        self,
        settings: KafkaSettings,
        tables: Sequence[ChangelogTable],
        *,
        group: str,
        member: str,
        topic: Topic,
        partitions: int,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._losses = settings.standby_copies
        self._tables = tables
        self._group = group
        self._member = member
        self._topic = topic.name
        self._partitions = partitions
        self._clock = clock
        self._admin = admin_client(settings)
        self._answer: Future[ConsumerGroupDescription] | None = None
        self._ask_at = clock()
        self._kept: frozenset[int] = frozenset()

    def turn(self) -> None:
        """Follow the copies for a moment; call it in each turn of the loop.

        Nothing is awaited here, and no failure of the cluster leaves it: copies can
        wait.
        """
        if self._answer is not None and self._answer.done():
            answer, self._answer = self._answer, None
            self._ask_at = self._clock() + ASK_SECONDS
            self._update(answer)
        if self._answer is None and self._clock() >= self._ask_at:
            self._ask()
        for table in self._tables:
            try:
                table.follow()
            except RetriableError as error:
                log.warning("copies not read: %s", error)

    def _ask(self) -> None:
        self._ask_at = self._clock() + ASK_SECONDS
        try:
            answers = self._admin.describe_consumer_groups(
                [self._group], request_timeout=ASK_SECONDS
            )
        except KafkaException as error:
            log.warning("members of the group unknown: %s", error.args[0].name())
        else:
            self._answer = answers[self._group]

    def _update(self, answer: Future[ConsumerGroupDescription]) -> None:
        try:
            group = answer.result()
        except KafkaException as error:
            log.warning("members of the group unknown: %s", error.args[0].name())
            return
        if group.state is not ConsumerGroupState.STABLE:
            return
        copies = self._copies(group.members)
        if copies != self._kept:
            log.info("keeps copies of %s", sorted(copies))
            self._kept = copies
        for table in self._tables:
            table.copy(copies)

    def _copies(self, members: Sequence[MemberDescription]) -> frozenset[int]:
        assigned = {
            member.group_instance_id or "": self._assigned_to(member)
            for member in members
        }
        # librdkafka compares the bytes of the ids.
        names = sorted(assigned, key=str.encode)
        if self._member not in names:
            return frozenset()
        expected = {
            name: {*share(position, len(names), self._partitions)}
            for position, name in enumerate(names)
        }
        if len(names) < len(members) or assigned != expected:
            log.warning("no copies: the group's assignment is not range by static ids")
            return frozenset()
        return standby_copies(
            names.index(self._member), len(names), self._partitions, self._losses
        )

    def _assigned_to(self, member: MemberDescription) -> set[int]:
        if member.assignment is None:
            return set()
        return {
            assigned.partition
            for assigned in member.assignment.topic_partitions
            if assigned.topic == self._topic
        }
