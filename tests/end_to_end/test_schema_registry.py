"""The wire format through Kafka, with Apicurio Registry and Confluent's serializers."""

from __future__ import annotations

import json
import time
from pathlib import Path
from types import SimpleNamespace

import orjson
import pytest

pytest.importorskip("confluent_kafka.schema_registry")

from confluent_kafka.schema_registry import Schema, SchemaRegistryClient
from confluent_kafka.schema_registry.json_schema import JSONDeserializer, JSONSerializer
from confluent_kafka.serialization import MessageField, SerializationContext

from streams.demo.flow import read_topic, summarise
from streams.kafka.client import value_of
from streams.kafka.registry import ASK_AGAIN_SECONDS, subject
from streams.kafka.topics import (
    DEAD_LETTERS,
    FRAMED,
    HL7_RAW,
    HL7_SCRUBBED,
    NOTES_SCRUBBED,
    PATIENT_UPDATES,
    PHI_AUDIT,
)
from streams.kafka.wire_format import header
from streams.model.patients.demographics import PatientId
from streams.operations.counts.counters import UNREADABLE, counts_of
from streams.operations.reconcile import Auditor
from streams.pipeline.files.feed import RawMessage, feed
from streams.products.office.dead_letters import DeadLetters, Replay, Selection, reveal
from streams.products.office.erasure import Erasure
from tests.apicurio import apicurio as run_apicurio
from tests.conftest import settings_for, with_topics
from tests.deploy.example import load
from tests.harness import drain, feed_and_drain, produce, running, values
from tests.office import private_key
from tests.registry import settings_of

pytestmark = pytest.mark.timeout(600)

SAMPLES = Path(__file__).parents[1] / "streams/formats/fhir/samples"
MSH = "MSH|^~\\&|LAB|NORTH|PHI|X|20250107||ORU^R01|C{n}|P|2.5.1\r"
PID = "PID|1||{patient}^^^NORTH^MR\r"
TEXT = "Ms. Zzfamquist was seen; takes aspirin."
OBX = "OBR|1||R1|11506-3^Progress note^LN|||20250105\rOBX|1|TX|||{text}||||||F\r"
PATIENT = {"assigning_authority": "NORTH", "id": "77001122"}
UPDATE = {
    "patient": PATIENT,
    "demographics": {"names": [{"family": "Zzfamquist", "given": "Zzgivena"}]},
}
EVENT = {"note_id": "E-1", "patient": PATIENT, "text": TEXT}
ANY_OBJECT = json.dumps({"type": "object", "properties": {"patient": {}}})
NOTES = 6  # three messages (one replayed), a FHIR resource, an event, one without it
HEADER_BYTES = 5


def message(n, patient="77001122", text=TEXT):
    pid, obx = PID.format(patient=patient), OBX.format(text=text)
    return (MSH.format(n=n) + pid + obx).encode()


@pytest.fixture(scope="module")
def apicurio(tmp_path_factory):
    with run_apicurio(tmp_path_factory.mktemp("apicurio")) as running_registry:
        yield running_registry


@pytest.fixture(scope="module")
def job(module_cluster, apicurio, tmp_path_factory):
    """The run: what was published, and how a subscriber has read it."""
    folder = tmp_path_factory.mktemp("registry")
    settings = with_topics(
        settings_for(module_cluster, folder, rebuild_messages=True, policy="surrogate")
    )
    table = settings_of(apicurio.url, register=True).schema_registry
    named = settings.model_copy(update={"schema_registry": table})
    office = private_key(settings)
    keys = {office.public.id: office}

    client = SchemaRegistryClient({"url": apicurio.url})

    def sent_by_confluent(topic, value):
        """Return a value as another program's serializer writes it."""
        serialize = JSONSerializer(ANY_OBJECT, client)
        return serialize(value, SerializationContext(topic.name, MessageField.VALUE))

    update = sent_by_confluent(PATIENT_UPDATES, UPDATE)
    event = sent_by_confluent(HL7_RAW, EVENT)
    sender = event[:HEADER_BYTES]
    later = Schema(json.dumps({"type": "object", "properties": {"x": {}}}), "JSON")
    with client, running(named, "intake", "scrub") as services:
        produce(settings, PATIENT_UPDATES.name, [(b"NORTH|77001122", update)])
        drain(settings, services)
        # What the services register has ids by now, so the next one is free.
        newest = max(
            client.get_latest_version(each).schema_id for each in client.get_subjects()
        )
        feed_and_drain(
            settings,
            services,
            [
                RawMessage(message(1), b"own"),
                RawMessage(sender + message(2), b"own"),
                RawMessage(sender[:3], b"own"),
                RawMessage(header(newest + 1) + message(3), b"own"),
                RawMessage(event, b"own"),
                RawMessage(
                    sender + (SAMPLES / "DocumentReference.json").read_bytes(), b"own"
                ),
            ],
        )
        asked_at = time.monotonic()
        letters = [
            each.original(keys)
            for each in DeadLetters(named).read(Selection(), pytest.fail)
        ]
        later_id = client.register_schema("of.a.sender-value", later)
        time.sleep(max(0, asked_at + ASK_AGAIN_SECONDS - time.monotonic()))
        replayed = Replay(named, keys, "tester").run(Selection())
        drain(settings, services)
        [first, *_] = DeadLetters(named).read(Selection(), pytest.fail)
        revealed = reveal(named, first, keys, "tester", 1)
        erasure = Erasure(named, [PatientId.from_json(PATIENT)])
        found = erasure.find()
        erased = erasure.erase(
            found, actor="tester", reason="R-1", seconds=120, at_ms=1
        )
        reading = {
            topic: deserialized(client, topic, published_on(settings, topic))
            for topic in (NOTES_SCRUBBED, PHI_AUDIT)
        }
        subjects = {
            each: client.get_latest_version(each).schema_id
            for each in client.get_subjects()
        }
        # Workers that run have their ids, and know those of their senders.
        apicurio.stop()
        last = message(4, "88002233", "Seen again; takes aspirin.")
        feed_and_drain(settings, services, [RawMessage(sender + last, b"own")])
        # Of an id that it has not seen, a worker can't know without the registry.
        feed(settings, [RawMessage(header(newest + 2) + last, b"own")])
        status = services[0].process.wait(120)
        said = services[0].tail()
    return SimpleNamespace(
        settings=settings,
        ids={topic: subjects[subject(topic)] for topic in FRAMED},
        subjects=subjects,
        unknown=newest + 1,
        later_id=later_id,
        sender=sender,
        letters=letters,
        replayed=replayed,
        revealed=revealed,
        found=found,
        erased=erased,
        ended=(status, said),
        reading=reading,
    )


def published_on(settings, topic):
    return [*read_topic(settings, topic.name)]


def deserialized(client, topic, messages):
    """Return values as a subscriber reads them, who has Confluent's client alone.

    It fetches the schema by the id of each value, and checks the value by it.
    """
    read = JSONDeserializer(None, schema_registry_client=client)
    context = SerializationContext(topic.name, MessageField.VALUE)
    return [(each.value(), read(each.value(), context)) for each in messages]


def test_nothing_is_missing_doubled_changed_or_out_of_order(job):
    auditor = Auditor(job.settings)
    verdicts = auditor.verdicts()

    assert [each for each in verdicts if not each.is_sound] == []
    assert auditor._marks.are_checked
    [raw] = [each for each in verdicts if each.topic == HL7_RAW.name]
    # Both letters were replayed; one of them has become a letter again.
    assert (raw.inputs, raw.scrubbed, raw.pending) == (10, 6, 1)
    # One letter was erased with its patient.
    assert (raw.dead_letters, raw.no_note) == (2, 1)


def test_the_registry_has_our_schemas_and_those_of_the_senders(job):
    ours = {subject(topic) for topic in FRAMED}
    senders = {"patient.updates-value", "hl7.raw-value", "of.a.sender-value"}

    assert ours | senders == job.subjects.keys()


@pytest.mark.parametrize("topic", [NOTES_SCRUBBED, PHI_AUDIT], ids=lambda t: t.name)
def test_a_subscriber_reads_values_by_confluents_own_deserializer(job, topic):
    found = job.reading[topic]

    assert len(found) >= NOTES - 1
    for raw, value in found:
        assert header(job.ids[topic]) == raw[:HEADER_BYTES]
        assert value == orjson.loads(raw[HEADER_BYTES:])
        topic.schema.check_strictly(value)


def test_audit_events_of_persons_have_the_wire_format_too(job):
    outcomes = [value["outcome"] for _raw, value in job.reading[PHI_AUDIT]]

    assert outcomes.count("replayed") == 2
    assert outcomes.count("revealed") == 1
    assert outcomes.count("erased") == 2  # a row and a letter


def test_of_rebuilt_messages_json_alone_has_a_header(job):
    found = {
        dict(each.headers())["content-type"]: each
        for each in published_on(job.settings, HL7_SCRUBBED)
    }

    assert found[b"x-application/hl7-v2+er7"].value().startswith(b"MSH")
    fhir = found[b"application/fhir+json"]
    assert header(job.ids[HL7_SCRUBBED]) == fhir.value()[:HEADER_BYTES]
    assert orjson.loads(value_of(fhir))["resourceType"] == "DocumentReference"


def test_inputs_with_a_header_are_read(job):
    texts = [each["text"] for each in values(job.settings, NOTES_SCRUBBED.name)]

    assert len(texts) == NOTES
    assert not [each for each in texts if "Zzfamquist" in each]  # by the update


def test_a_cut_header_and_an_unknown_id_are_dead_letters_with_all_their_bytes(job):
    stored = published_on(job.settings, DEAD_LETTERS)

    assert sorted((each.value for each in job.letters), key=len) == [
        job.sender[:3],
        header(job.unknown) + message(3),
    ]
    said = [orjson.loads(each.value()) for each in stored if each.value()]
    assert {each["code"] for each in said} == {"unsupported"}
    assert sum("begins with a zero byte" in each["reason"] for each in said) == 2
    assert sum("does not know the id" in each["reason"] for each in said) == 1


def test_a_letter_is_replayed_with_its_header_and_read_once_its_id_is_known(job):
    assert job.unknown == job.later_id
    assert job.replayed.counts == {("hl7.raw", "unsupported"): 2}
    assert job.replayed.unreadable == []
    again = [each.value() for each in published_on(job.settings, HL7_RAW)][6:8]
    assert {job.sender[:3], header(job.unknown) + message(3)} == {*again}
    assert job.revealed.value in again


def test_a_patient_is_erased_whose_letter_and_update_have_headers(job):
    assert (len(job.found.rows), len(job.found.letters)) == (1, 1)
    assert job.erased.is_carried_out
    assert job.erased.left.is_empty
    gone = [
        each for each in published_on(job.settings, DEAD_LETTERS) if not each.value()
    ]
    assert len(gone) == 1


def test_an_id_not_seen_before_ends_a_worker_without_the_registry(job):
    """Its record waits: it is neither published nor a dead letter."""
    status, said = job.ended

    assert status == 69
    assert "the registry did not answer" in said


def test_the_readers_of_the_product_read_it(job):
    nlp, lake = load("nlp_consumer"), load("parquet_lake")
    scrubbed = published_on(job.settings, NOTES_SCRUBBED)
    audited = published_on(job.settings, PHI_AUDIT)

    assert summarise(job.settings).scrubbed == NOTES
    for each in audited:
        found = counts_of(PHI_AUDIT.name, each.value(), dict(each.headers()), 0)
        assert found != UNREADABLE
        assert lake.row(each)["source"] == orjson.loads(value_of(each))["source"]
    finds = [f for each in scrubbed for f in nlp.finds(nlp.json_of(each.value()))]
    assert [each["drug"] for each in finds] == ["aspirin"] * 5
