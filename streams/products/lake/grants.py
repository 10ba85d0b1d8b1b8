"""The grants of `phistream lake run`."""

from __future__ import annotations

from collections.abc import Iterator

from streams.kafka.acls import READ, Grant, on_topic
from streams.kafka.topics import HL7_SCRUBBED, NOTES_SCRUBBED, PHI_AUDIT


def lake(group: str) -> Iterator[Grant]:
    """Yield what `phistream lake run` needs."""
    for topic in (NOTES_SCRUBBED, HL7_SCRUBBED, PHI_AUDIT):
        yield on_topic(topic, READ)
    yield Grant("group", f"{group}-lake", ("Read", "Describe"))
