"""Audit events: the properties of the schema, each kind of event in its own order."""

import orjson
import pytest

from streams.engine.records import Partition, Record
from streams.kafka.topics import NOTES, PHI_AUDIT
from streams.model.audit import AuditEvent

RECORD = Record(Partition(NOTES.name, 1), 7, b"ZZKEY", b"ZZVALUE")
IDS = {"note_id": "1" * 32, "patient": "2" * 32, "key_id": "3" * 8}
RUN = {"preset_version": "4" * 8, "policy_version": "5" * 8, "model": "m"}
NAMES = {"preset": "p", "policy": "q"}
FIRST = {"schema_version": 1, "stage": "", "source": {}, "outputs": 0}


def output_of(stage, outcome, **facts):
    return AuditEvent(stage=stage, outcome=outcome, **facts).output(RECORD)


def test_the_fields_of_the_event_are_the_properties_of_the_schema():
    fields = set(AuditEvent.__dataclass_fields__)

    added = {"schema_version", "source", "digests"}
    assert {*PHI_AUDIT.schema.definition()["properties"]} - added == (
        fields - {"unknown_patient"}
    )


@pytest.mark.parametrize(
    ("stage", "facts"),
    [
        (
            "intake",
            {
                "outcome": "routed",
                "routed": {"patients": 0, "notes": 0, "skipped": {}},
                "at_ms": 1,
            },
        ),
        ("scrub", {"outcome": "dead_letter", "code": "c", "at_ms": 1}),
        ("scrub", {"outcome": "replayed", "code": "c", "actor": "a", "at_ms": 1}),
        ("scrub", {"outcome": "erased", "at_ms": 1, "actor": "a", "reason": "r"}),
        ("scrub", {"outcome": "held", "at_ms": 1, **IDS, "version": "v"}),
        (
            "rescrub",
            {
                **IDS,
                **NAMES,
                "join": "found",
                "note_type": "",
                "outcome": "scrubbed",
                "at_ms": 1,
                "version": "v",
                "characters": 0,
                "into": "v2",
                **RUN,
                "other_language": "de",
                "held": "time",
                "annotations": [],
            },
        ),
        (
            "rescrub",
            {
                "outcome": "scrubbed",
                "at_ms": 1,
                **IDS,
                **NAMES,
                "version": "v",
                "join": "missing",
                "format": "hl7",
                "characters": 0,
                "removed": {},
                "unreadable": {},
                "found": {},
                "into": "v2",
                **RUN,
                "held": "time",
            },
        ),
        (
            "rescrub",
            {
                "outcome": "begun",
                "at_ms": 1,
                "until": 0,
                "begins_from": "0",
                "into": "v2",
                **NAMES,
                **RUN,
            },
        ),
        ("rescrub", {"outcome": "left_out", "at_ms": 1, "into": "v2"}),
        ("rescrub", {"outcome": "dead_letter", "at_ms": 1, "into": "v2", "code": "c"}),
    ],
)
def test_each_kind_of_event_has_its_properties_in_its_own_order(stage, facts):
    given = dict(facts)
    if "annotations" in given:
        given["annotations"] = orjson.Fragment(orjson.dumps(given["annotations"]))

    value = orjson.loads(output_of(stage, **given).value)

    assert [*FIRST, *facts] == [*value]
    assert facts == {name: value[name] for name in facts}


@pytest.mark.parametrize(
    ("outcome", "is_named"),
    [("held", True), ("left_out", True), ("scrubbed", False), ("revealed", False)],
)
def test_a_header_names_the_outcomes_that_readers_of_headers_need(outcome, is_named):
    plain = output_of("scrub", outcome, at_ms=1)
    waited = output_of("scrub", outcome, at_ms=1, unknown_patient="wait")

    assert outcome.encode() == plain.headers.get("outcome", outcome.encode())
    assert is_named == ("outcome" in plain.headers)
    assert "unknown_patient" not in plain.headers
    assert waited.headers["unknown_patient"] == b"wait"


def test_the_key_is_the_patient_s_pseudonym_or_the_source():
    assert output_of("scrub", "revealed", at_ms=1).key == b"notes/1/7"
    assert output_of("scrub", "held", at_ms=1, **IDS).key == b"2" * 32
