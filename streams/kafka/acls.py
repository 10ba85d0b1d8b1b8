"""The grants of each service at a cluster with access control lists (ACLs).

They are the least with which the services work (Kafka documentation, Security,
Authorization and ACLs).  ``phistream topics acls`` prints them for ``kafka-acls.sh``,
and a test runs all services on a broker with these grants alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from streams.products import load, products

from .topics import (
    ALL_TOPICS,
    DEAD_LETTERS,
    HL7_RAW,
    HL7_SCRUBBED,
    MESSAGES_SEEN,
    NOTES,
    NOTES_HELD,
    NOTES_SCRUBBED,
    PATIENT_UPDATES,
    PATIENTS,
    PHI_AUDIT,
    TOPICS_OF,
    WATCH_TOPICS,
    Stage,
    Topic,
    inputs_of,
)

READ, WRITE = ("Read", "Describe"), ("Write", "Describe")
BOTH = ("Read", *WRITE)
ONLY_READ: Mapping[Stage, tuple[Topic, ...]] = {
    Stage.INTAKE: (HL7_RAW,),
    Stage.SCRUB: (),
}
READ_AND_WRITTEN: Mapping[Stage, tuple[Topic, ...]] = {
    # With repeated_seconds: the table is restored from its changelog.  Audit events are
    # read where the group's offsets are gone.
    Stage.INTAKE: (MESSAGES_SEEN, PHI_AUDIT),
    # Notes that were held are published again; updates are forwarded between linked
    # patients; tables are restored from their changelogs.
    Stage.SCRUB: (NOTES, PATIENT_UPDATES, PATIENTS, NOTES_HELD, PHI_AUDIT),
}
"""What a stage does with its topics; it writes the others."""
Resource = Literal["topic", "group", "transactional-id", "cluster"]


@dataclass(frozen=True, slots=True)
class Grant:
    """The operations that a principal may perform on a resource.

    Args:
        resource: Its type, as ``kafka-acls.sh`` names it.
        name: Its name, or a prefix of names.
        operations: As ``kafka-acls.sh`` names them.
        is_prefix: Whether ``name`` is a prefix.
    """

    resource: Resource
    name: str
    operations: tuple[str, ...]
    is_prefix: bool = False

    def command(self, principal: str) -> str:
        """Return the command line that grants it."""
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
        "sender": (on_topic(HL7_RAW, WRITE),),
        "feeder": (on_topic(PATIENT_UPDATES, WRITE),),
        "intake": tuple(_worker(group, Stage.INTAKE)),
        "scrub": tuple(_worker(group, Stage.SCRUB)),
        "watch": tuple(_watch(group)),
        "operator": tuple(_operator(group)),
        "subscriber": (
            on_topic(NOTES_SCRUBBED, READ),
            on_topic(HL7_SCRUBBED, READ),
            Grant("group", "subscriber", ("Read",), is_prefix=True),
        ),
        **{
            principal: tuple(load(place)(group))
            for product in products().values()
            for principal, place in product.grants.items()
        },
    }


def _worker(group: str, stage: Stage) -> Iterator[Grant]:
    for topic in TOPICS_OF[stage]:
        if topic in ONLY_READ[stage]:
            yield on_topic(topic, READ)
        else:
            yield on_topic(topic, BOTH if topic in READ_AND_WRITTEN[stage] else WRITE)
    yield Grant("group", f"{group}-{stage}", ("Read", "Describe"), is_prefix=True)
    yield Grant("transactional-id", f"{group}-{stage}-", WRITE, is_prefix=True)


def _watch(group: str) -> Iterator[Grant]:
    for topic in (PHI_AUDIT, DEAD_LETTERS):
        yield on_topic(topic, READ)
    for topic in WATCH_TOPICS:
        yield on_topic(topic, BOTH)
    yield Grant("group", f"{group}-watch", ("Read", "Describe"))
    # For the lag of the workers, and the time of the first record that waits.
    for stage in Stage:
        yield Grant("group", f"{group}-{stage}", ("Describe",))
        for topic in inputs_of(stage):
            yield on_topic(topic, READ)


def _operator(group: str) -> Iterator[Grant]:
    for topic in ALL_TOPICS:
        # Commands on held notes are updates.
        written = ("Write",) if topic is PATIENT_UPDATES else ()
        granted = ("Create", "Describe", "DescribeConfigs", "Read", *written)
        yield on_topic(topic, granted)
    yield Grant("group", f"{group}-", ("Read", "Describe"), is_prefix=True)
    yield Grant("cluster", "kafka-cluster", ("Describe", "DescribeConfigs"))


def on_topic(topic: Topic, operations: tuple[str, ...]) -> Grant:
    """Return the grant of operations on a topic."""
    return Grant("topic", topic.name, operations)
