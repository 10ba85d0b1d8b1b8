"""What the auditor believes is complete: it knows every topic that a stage writes."""

from __future__ import annotations

from streams.cluster.topics import HL7_RAW, TOPICS
from streams.operations.reconcile.auditor import OUTPUTS
from streams.operations.reconcile.marks import HAS_SOURCE, INPUTS, SOURCES


def test_every_topic_that_is_no_table_has_records_that_are_judged():
    judged = {t.name for t in TOPICS if "delete" in t.cleanup and t is not HL7_RAW}

    assert judged == set(SOURCES) == set(OUTPUTS)
    assert set(INPUTS) - {HL7_RAW.name} <= judged


def test_a_source_is_read_from_the_value_wherever_its_schema_has_it():
    has_source = {
        topic.name
        for topic in TOPICS
        if topic.name in SOURCES
        and topic.schema_version
        and "source" in topic.schema.definition()["properties"]
    }

    assert has_source == HAS_SOURCE
