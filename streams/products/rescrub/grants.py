"""The grants of `phistream rescrub`."""

from __future__ import annotations

from collections.abc import Iterator

from streams.kafka.acls import BOTH, WRITE, Grant, on_topic
from streams.kafka.topics import (
    DEAD_LETTERS,
    HL7_SCRUBBED,
    NOTES,
    NOTES_SCRUBBED,
    PATIENT_UPDATES,
    PATIENTS,
    PHI_AUDIT,
    RESCRUB,
    RESCRUBBED,
    Stage,
)


def rescrub(group: str) -> Iterator[Grant]:
    """Yield what `phistream rescrub` and `phistream reconcile --version` need."""
    for topic in (NOTES, PATIENTS, PATIENT_UPDATES, PHI_AUDIT):
        yield on_topic(topic, ("Read", "Describe", "DescribeConfigs"))
    for topic in (NOTES_SCRUBBED, HL7_SCRUBBED):
        yield on_topic(topic, ("Describe", "DescribeConfigs"))
    yield on_topic(DEAD_LETTERS, BOTH)
    for topic in RESCRUBBED:
        operations = ("Create", "DescribeConfigs", *BOTH)
        yield Grant("topic", f"{topic.name}.v", operations, is_prefix=True)
    yield Grant("group", f"{group}-{Stage.SCRUB}", ("Describe",))
    for name in (RESCRUB, "reconcile"):
        yield Grant("group", f"{group}-{name}", ("Read", "Describe"), is_prefix=True)
    yield Grant("transactional-id", f"{group}-{RESCRUB}-", WRITE, is_prefix=True)
