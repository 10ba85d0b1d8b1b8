"""Counters of patient updates, which have no audit event unless they are refused."""

from __future__ import annotations

from collections.abc import Sequence

from prometheus_client import CollectorRegistry

from streams.engine.records import Output, Record
from streams.kafka.topics import DEAD_LETTERS, PATIENT_UPDATES, PATIENTS
from streams.model.outputs import SOURCE, source_header

from . import catalogue


class UpdateMetrics:
    """The metrics of scrub's patient updates; every series exists from the start.

    An update that changes its patient's record writes one row of `patients`: the folded
    record, or a null value that erases the patient.
    """

    def __init__(self, registry: CollectorRegistry) -> None:
        updates = catalogue.UPDATES.on(registry)
        self._folded = updates.labels("folded")
        self._unchanged = updates.labels("unchanged")
        self._erased = updates.labels("erased")
        self._dead_letters = updates.labels("dead_letter")
        self._forwarded = catalogue.UPDATES_FORWARDED.on(registry)

    def count(self, records: Sequence[Record], outputs: Sequence[Output]) -> None:
        """Count the updates among committed records by their outputs."""
        updates = {
            source_header(each)
            for each in records
            if each.partition.topic == PATIENT_UPDATES.name
        }
        if not updates:
            return
        rows = [each for each in outputs if each.topic == PATIENTS.name]
        letters = [each for each in outputs if each.topic == DEAD_LETTERS.name]
        erased = sum(each.value is None for each in rows)
        with_output = {each.headers[SOURCE] for each in (*rows, *letters)}
        self._folded.inc(len(rows) - erased)
        self._erased.inc(erased)
        self._dead_letters.inc(sum(each.headers[SOURCE] in updates for each in letters))
        self._unchanged.inc(len(updates - with_output))
        self._forwarded.inc(sum(e.topic == PATIENT_UPDATES.name for e in outputs))
