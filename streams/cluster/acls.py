"""What each service may do at a cluster that authorizes, declared once.

Kafka's authorizer lets a principal do what an access control list (ACL) allows, and
nothing else (Kafka documentation, Security, Authorization and ACLs).  These are the
least that the services work with; ``phistream topics acls`` prints them for
``kafka-acls.sh``, and a test runs all services on a broker that knows no others.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass
from typing import Literal

from .topics import (
    ALL_TOPICS,
    DEAD_LETTERS,
    HL7_RAW,
    NOTES,
    NOTES_SCRUBBED,
    OF_INTAKE,
    OF_SCRUB,
    PATIENTS,
    PHI_AUDIT,
    WATCH_TOPICS,
    Topic,
)

READ, WRITE = ("Read", "Describe"), ("Write", "Describe")
Resource = Literal["topic", "group", "transactional-id", "cluster"]


@dataclass(frozen=True, slots=True)
class Grant:
    """What a principal may do with a resource.

    Args:
        resource: Its type, in the words of ``kafka-acls.sh``.
        name: Its name, or how names begin.
        operations: In the words of ``kafka-acls.sh``.
        is_prefix: Whether all resources count whose names begin so.
    """

    resource: Resource
    name: str
    operations: tuple[str, ...]
    is_prefix: bool = False

    def command(self, principal: str) -> str:
        """Return the line that grants it."""
        named = "" if self.resource == "cluster" else f" {self.name}"
        pattern = " --resource-pattern-type prefixed" if self.is_prefix else ""
        operations = "".join(f" --operation {each}" for each in self.operations)
        return (
            f"kafka-acls.sh --bootstrap-server HOST:PORT --add --allow-principal "
            f"{principal}{operations} --{self.resource}{named}{pattern}"
        )


def grants(group: str) -> Mapping[str, tuple[Grant, ...]]:
    """Return the grants by service.

    Args:
        group: The setting ``group``, the prefix of groups and transactional ids.
    """
    return {
        "sender": (_topic(HL7_RAW, WRITE),),
        "intake": tuple(_worker(group, "intake", OF_INTAKE, reads={HL7_RAW, PATIENTS})),
        "scrub": tuple(_worker(group, "scrub", OF_SCRUB, reads={NOTES, PATIENTS})),
        "watch": tuple(_watch(group)),
        "operator": tuple(_operator(group)),
        "subscriber": (
            _topic(NOTES_SCRUBBED, READ),
            Grant("group", "subscriber", ("Read",), is_prefix=True),
        ),
    }


def _worker(
    group: str, stage: str, topics: tuple[Topic, ...], *, reads: Set[Topic]
) -> Iterator[Grant]:
    for topic in topics:
        # Intake folds a new record of a patient into what the topic holds.
        is_both = stage == "intake" and topic is PATIENTS
        operations = READ if topic in reads else WRITE
        yield _topic(topic, ("Read", *WRITE) if is_both else operations)
    yield Grant("group", f"{group}-{stage}", ("Read", "Describe"), is_prefix=True)
    yield Grant("transactional-id", f"{group}-{stage}-", WRITE, is_prefix=True)


def _watch(group: str) -> Iterator[Grant]:
    for topic in (PHI_AUDIT, DEAD_LETTERS):
        yield _topic(topic, READ)
    for topic in WATCH_TOPICS:
        yield _topic(topic, ("Read", *WRITE))
    yield Grant("group", f"{group}-watch", ("Read", "Describe"))
    # What the workers have behind them: lag, and when the first record waiting came.
    for stage, topic in (("intake", HL7_RAW), ("scrub", NOTES)):
        yield Grant("group", f"{group}-{stage}", ("Describe",))
        yield _topic(topic, READ)


def _operator(group: str) -> Iterator[Grant]:
    for topic in ALL_TOPICS:
        yield _topic(topic, ("Create", "Describe", "DescribeConfigs", "Read"))
    yield Grant("group", f"{group}-", ("Read", "Describe"), is_prefix=True)
    yield Grant("cluster", "kafka-cluster", ("Describe", "DescribeConfigs"))


def _topic(topic: Topic, operations: tuple[str, ...]) -> Grant:
    return Grant("topic", topic.name, operations)
