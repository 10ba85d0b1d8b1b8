"""The grants of the privacy office."""

from __future__ import annotations

from collections.abc import Iterator

from streams.kafka.acls import BOTH, READ, WRITE, Grant, on_topic
from streams.kafka.topics import (
    DEAD_LETTERS,
    HL7_SCRUBBED,
    LETTERS_COME_FROM,
    LETTERS_ID,
    LETTERS_REPLAYED,
    NOTES_SCRUBBED,
    PATIENT_UPDATES,
    PHI_AUDIT,
    TOPICS,
    Stage,
)


def privacy_office(group: str) -> Iterator[Grant]:
    """Yield what `phistream dead-letters` needs: show and replay."""
    yield on_topic(DEAD_LETTERS, READ)
    yield on_topic(LETTERS_REPLAYED, BOTH)
    for topic in (PHI_AUDIT, *LETTERS_COME_FROM):
        yield on_topic(topic, WRITE)
    yield Grant("group", f"{group}-dead-letters", ("Read", "Describe"))
    yield Grant("transactional-id", LETTERS_ID, WRITE)


def erasure(group: str) -> Iterator[Grant]:
    """Yield what `phistream erase` needs."""
    for topic in TOPICS:
        read = ("Read",) if topic.phi else ()
        is_written = topic in (
            PATIENT_UPDATES, DEAD_LETTERS, PHI_AUDIT, NOTES_SCRUBBED, HL7_SCRUBBED,
        )  # fmt: skip
        written = ("Write",) if is_written else ()
        yield on_topic(topic, ("Describe", "DescribeConfigs", *read, *written))
    for name in (f"{group}-{Stage.SCRUB}", f"{group}-held", f"{group}-erase"):
        yield Grant("group", name, ("Read", "Describe"))
    yield Grant("transactional-id", LETTERS_ID, WRITE)
