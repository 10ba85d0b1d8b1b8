"""Whole messages through Kafka: rebuilt, each once, and no value in any of them."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from types import SimpleNamespace

import orjson
import pytest

from streams.demo.flow import read_topic
from streams.demo.ward import Ward
from streams.kafka.topics import DEAD_LETTERS, HL7_SCRUBBED, NOTES, PHI_AUDIT
from streams.operations.reconcile import Auditor
from streams.pipeline.files.feed import RawMessage
from tests.conftest import settings_for, with_topics
from tests.harness import feed_and_drain, raw, running, values

pytestmark = pytest.mark.timeout(600)

SAMPLES = Path(__file__).parents[1] / "streams/formats/fhir/samples"
MSH = "MSH|^~\\&|LAB|NORTH|PHI|X|202501070{n}00||{event}|C{n}|P|2.5.1\r"
PID = "PID|1||77001122^^^NORTH^MR||Zzfamquist^Zzgivena||19520304|F\r"
TEXT = "Ms. Zzfamquist was seen on 1/5/2025."
OWN = [
    (MSH.format(n=1, event="ADT^A04") + PID).encode(),
    (
        MSH.format(n=2, event="ORU^R01")
        + PID
        + "ZZZ|Zzsecret\r"
        + "OBR|1||R1|11506-3^Progress note^LN|||20250105\r"
        + f"OBX|1|TX|11506-3^Progress note^LN||{TEXT}||||||F|||20250105\r"
    ).encode(),
]
RESOURCES = ("Bundle", "DocumentReference", "Patient")


@pytest.fixture(scope="module")
def job(module_cluster, tmp_path_factory):
    """The run: what was fed, and what came of it."""
    folder = tmp_path_factory.mktemp("messages")
    settings = with_topics(
        settings_for(module_cluster, folder, rebuild_messages=True, policy="surrogate")
    )
    ward = Ward(seed=5, split="test", patients=20, note_words=60)
    resources = [(SAMPLES / f"{name}.json").read_bytes() for name in RESOURCES]
    with running(settings, "intake", "scrub") as services:
        feed_and_drain(settings, services, map(raw, ward.admissions()))
        feed_and_drain(settings, services, [RawMessage(OWN[0], b"own")])
        feed_and_drain(
            settings,
            services,
            [
                RawMessage(OWN[1], b"own"),
                *(RawMessage(each, b"fhir") for each in resources),
                *map(raw, ward.messages(120)),
            ],
        )
    return SimpleNamespace(
        settings=settings,
        ward=ward,
        verdicts=Auditor(settings).verdicts(),
        audit=values(settings, PHI_AUDIT.name),
        dead=values(settings, DEAD_LETTERS.name),
        messages=[*read_topic(settings, HL7_SCRUBBED.name)],
        logs="".join(path.read_text() for path in folder.glob("*.log")),
    )


def test_every_message_has_exactly_one_outcome(job):
    # Intake has refused the ward's broken messages.
    assert [
        (each["code"], each["reason"]) for each in job.dead if each["stage"] == "scrub"
    ] == []
    assert [
        (each.missing, each.doubled, each.out_of_order) for each in job.verdicts
    ] == [(0, 0, 0)] * 3


def test_each_part_is_rebuilt_once(job):
    parts = sum(
        each["routed"].get("parts", 0) for each in job.audit if "routed" in each
    )
    sources = Counter(dict(each.headers())["source"] for each in job.messages)

    assert parts == len(job.messages) > 80
    assert {1} == {*sources.values()}
    assert all(each.startswith(NOTES.name.encode()) for each in sources)


def test_a_message_shows_the_surrogates_and_days_of_its_note(job):
    [message] = [
        each.value().decode()
        for each in job.messages
        if b"OBR|1||" in each.value() and b"was seen on" in each.value()
        if b"11506-3^Progress note^LN||Ms. " in each.value()
    ]

    fields = {row[:3]: row.split("|") for row in message.split("\r")}
    family = fields["PID"][5].split("^")[0]
    text = fields["OBX"][5]
    month, day, year = text.rstrip(".").split()[-1].split("/")
    assert f"Ms. {family} was seen on" in text
    assert fields["OBR"][7] == f"{year}{int(month):02}{int(day):02}"
    assert "ZZZ" not in fields


def test_formats_are_told_by_headers_and_values_are_in_their_form(job):
    formats = Counter(dict(each.headers())["format"] for each in job.messages)

    assert {b"hl7", b"fhir"} == {*formats}
    for each in job.messages:
        if dict(each.headers())["format"] == b"fhir":
            assert orjson.loads(each.value())["resourceType"] in RESOURCES
        else:
            assert each.value().startswith(b"MSH|^~\\&|")


def test_no_value_and_no_time_is_in_what_subscribers_get(job):
    published = b"".join(each.value() for each in job.messages).lower()

    for marker in (b"zzfam", b"zzgiv", b"zzsecret", b"77001122", b"20250105"):
        assert marker not in published
    for each in job.messages:
        names = {name for name, _ in each.headers()}
        assert names == {"source", "format", "content-type", "seal", "key_id"}
        assert each.timestamp()[1] == -1
    assert "zzfam" not in job.logs.lower()


def test_what_was_removed_is_counted_in_the_audit_event(job):
    removed = Counter()
    for each in job.audit:
        removed.update(each.get("removed", {}))

    assert removed["ZZZ"] == 1
    assert all(
        {"found", "removed", "unreadable"} <= each.keys()
        for each in job.audit
        if "format" in each
    )
