"""The grants of the MLLP listener."""

from __future__ import annotations

from collections.abc import Iterator

from streams.kafka.acls import WRITE, Grant, on_topic
from streams.kafka.topics import HL7_RAW


def mllp(group: str) -> Iterator[Grant]:
    """Yield what `phistream mllp` needs, whatever the group."""
    yield on_topic(HL7_RAW, WRITE)
