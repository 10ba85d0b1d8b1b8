"""All services at a broker that authorizes, each with its own name and least rights."""

from __future__ import annotations

import subprocess
import sys
import time
from dataclasses import replace
from types import SimpleNamespace

import orjson
import pytest
from confluent_kafka import Consumer, KafkaError
from confluent_kafka.admin import (
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    AdminClient,
    ResourcePatternType,
    ResourceType,
)

from streams.cluster.acls import grants
from streams.cluster.local_broker import Cluster
from streams.cluster.local_broker.ports import free_ports
from streams.cluster.topics import (
    HL7_RAW,
    NOTES,
    NOTES_SCRUBBED,
    PATIENT_UPDATES,
    PATIENTS,
)
from streams.demo.ward import Ward
from streams.files.feed import RawMessage, feed
from streams.operations.reconcile import Auditor
from streams.patients.demographics import Demographics, PatientId, PatientRecord
from tests import commands
from tests.conftest import CACHE, settings_for, with_topics
from tests.end_to_end.test_watch import get, labels_of, wait_for
from tests.harness import count_records, drain, produce, raw
from tests.mllp_service import Sender, message
from tests.office import private_file

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(600)]

NOTES_WRITTEN = 60
TYPES = {
    "topic": ResourceType.TOPIC,
    "group": ResourceType.GROUP,
    "transactional-id": ResourceType.TRANSACTIONAL_ID,
    "cluster": ResourceType.BROKER,
}
OPERATIONS = {
    "Read": AclOperation.READ,
    "Write": AclOperation.WRITE,
    "Create": AclOperation.CREATE,
    "Describe": AclOperation.DESCRIBE,
    "DescribeConfigs": AclOperation.DESCRIBE_CONFIGS,
}


def bindings(service, granted):
    for grant in granted:
        pattern = ResourcePatternType.LITERAL
        if grant.is_prefix:
            pattern = ResourcePatternType.PREFIXED
        for operation in grant.operations:
            yield AclBinding(
                TYPES[grant.resource],
                grant.name,
                pattern,
                f"User:{service}",
                "*",
                OPERATIONS[operation],
                AclPermissionType.ALLOW,
            )


def password(user):
    return f"{user}-secret"


@pytest.fixture(scope="module")
def house(tmp_path_factory):
    """A broker on which every service has its grants, and a stranger none."""
    folder = tmp_path_factory.mktemp("acls")
    cluster = Cluster(folder / "kafka", cache=CACHE)
    granted = grants("house")
    users = [*granted, "stranger"]
    cluster.up(users={user: password(user) for user in users})
    try:
        settings = settings_for(
            cluster, folder, group="house", partitions=2, preset="lexical"
        )
        settings.pseudonym_key_file.chmod(0o600)
        with_topics(settings)
        admin = AdminClient({"bootstrap.servers": cluster.bootstrap})
        allowed = [acl for user in granted for acl in bindings(user, granted[user])]
        for future in admin.create_acls(allowed).values():
            future.result(20)
        yield SimpleNamespace(folder=folder, cluster=cluster, settings=settings)
    finally:
        cluster.down()


def settings_of(house, user):
    kafka = {
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanisms": "PLAIN",
        "sasl.username": user,
        "sasl.password": password(user),
    }
    changes = {"bootstrap": house.cluster.sasl_bootstrap, "kafka": kafka}
    return house.settings.model_copy(update=changes)


def config_of(house, user, **more):
    settings = settings_of(house, user)
    names = (
        "bootstrap",
        "group",
        "preset",
        "state_dir",
        "pseudonym_key_file",
        "dead_letter_key_file",
    )
    values = {name: str(getattr(settings, name)) for name in names} | more
    values["partitions"] = settings.partitions
    lines = [f"{k} = {v!r}" for k, v in values.items()]
    lines += ["[kafka]", *(f'"{k}" = {v!r}' for k, v in settings.kafka.items())]
    file = house.folder / f"{user}.toml"
    file.write_text("\n".join(lines).replace("'", '"'), "utf-8")
    return file


def command(house, user, *arguments, **more):
    file = config_of(house, user, **more)
    return [sys.executable, "-m", "streams.cli", *arguments, "--config", str(file)]


def start(house, user, *arguments, **more):
    with (house.folder / f"{user}.log").open("ab") as log:
        return subprocess.Popen(
            command(house, user, *arguments, **more), stdout=log, stderr=log
        )


def ask(house, user, *arguments):
    file = config_of(house, user)
    return commands.phistream(*arguments, "--config", file, text=True)


def count(house):
    return count_records(house.settings, NOTES_SCRUBBED.name, "read_committed")


def test_all_services_work_with_their_grants_alone(house):
    ward = Ward(seed=5, patients=20)
    services = [start(house, stage, "run", stage) for stage in ("intake", "scrub")]
    port = free_ports(1)[0]
    services.append(start(house, "watch", "watch", "--port", str(port)))
    try:
        sent = feed(
            settings_of(house, "sender"), map(raw, ward.messages(NOTES_WRITTEN))
        )
        drain(house.settings)
        wait_for(lambda: get(port, "/readyz")[0] == 200)
        wait_for(lambda: labels_of(port))
        as_operator = settings_of(house, "operator")
        verdicts = Auditor(as_operator).verdicts()
        doctor = ask(house, "operator", "doctor", "--json")
        status = ask(house, "operator", "status", "--json")
    finally:
        for service in services:
            service.terminate()
        ended = [service.wait(120) for service in services]

    assert sent == NOTES_WRITTEN
    assert 0 < count(house)
    assert [0, 0, 0] == ended
    assert all(each.is_sound and not each.pending for each in verdicts)
    assert 0 == status.returncode, status.stderr
    assert "AUTHORIZATION" not in doctor.stdout


def test_a_migration_needs_no_more_than_its_grants(house):
    def done():
        # Workers that were stopped stay members until their sessions end.
        asked.append(ask(house, "migration", "topics", "migrate"))
        return "members" not in asked[-1].stderr

    asked = []
    partial = PatientRecord(
        PatientId("A", "lacking"), "", Demographics(phones=("555-0100",))
    )
    whole = replace(partial, current=Demographics(phones=("555-0101",)))
    rows = [PATIENTS.schema.versioned(each.to_json()) for each in (partial, whole)]
    produce(
        house.settings,
        PATIENTS.name,
        [(b"A|lacking", orjson.dumps(row)) for row in rows],
    )
    wait_for(done)

    assert (0, "") == (asked[-1].returncode, asked[-1].stderr.strip())
    assert "; 1 lack values" in asked[-1].stdout


def test_the_privacy_office_shows_and_replays_with_its_grants_alone(house):
    def newest():
        wanted = ("--code", "bad_msh", "--json")
        listed = ask(house, user, "dead-letters", "list", *wanted)
        letters = orjson.loads(listed.stdout)["letters"]
        return letters[-1]["place"] if letters else None

    key = ("--private-key", private_file(house.settings))
    user = "privacy-office"
    before, intake = newest(), start(house, "intake", "run", "intake")
    try:
        feed(settings_of(house, "sender"), [RawMessage(b"MSX|^~\\&|ZZ", b"k")])
        wait_for(lambda: newest() != before)
    finally:
        intake.terminate()
        intake.wait(120)

    place = newest()
    shown = ask(house, user, "dead-letters", "show", place, "--reveal", *key)
    replayed = ask(house, user, "dead-letters", "replay", place, *key)
    strange = ask(house, "stranger", "dead-letters", "list")

    assert (0, 0) == (shown.returncode, replayed.returncode), replayed.stderr
    assert "ZZ" in shown.stdout
    assert "1 dead letters replayed" in replayed.stdout
    assert 78 == strange.returncode
    assert "hidden from this user: dead.letters" in strange.stderr


def test_an_erasure_needs_no_more_than_its_grants(house):
    scrub = start(house, "scrub", "run", "scrub")
    try:
        patient = PatientId("A", "erased77")
        value = {"patient": {"assigning_authority": "A", "id": "erased77"}}
        produce(
            house.settings, PATIENT_UPDATES.name, [(patient.key, orjson.dumps(value))]
        )
        drain(house.settings)
        done = ask(
            house, "erasure", "erase", "erased77^^^A", "--yes", "--reason", "DSR-1"
        )
    finally:
        scrub.terminate()
        scrub.wait(120)

    assert (0, "") == (done.returncode, done.stderr.strip())
    assert "erased: 1 rows" in done.stdout


def test_a_feeder_publishes_updates_of_patients_and_nothing_else(house):
    file = house.folder / "updates.jsonl"
    file.write_text('{"patient": {"assigning_authority": "A", "id": "1"}}')

    updates = ask(house, "feeder", "feed", "--updates", file)
    messages = ask(house, "feeder", "feed", file)

    assert (0, "") == (updates.returncode, updates.stderr.strip())
    assert "1 patient updates published on patient.updates" in updates.stdout
    assert 70 == messages.returncode
    assert "hl7.raw: 1 of 1 messages were not confirmed" in messages.stderr
    assert "TOPIC_AUTHORIZATION_FAILED" in messages.stderr
    seen = reading(house, "feeder", PATIENT_UPDATES.name)
    assert KafkaError.GROUP_AUTHORIZATION_FAILED == seen.error().code()


def test_an_mllp_listener_stores_messages_with_its_grants_alone(house):
    def connected():
        try:
            senders.append(Sender(port))
        except ConnectionRefusedError:
            assert service.poll() is None
        return senders

    port, senders = free_ports(1)[0], []
    service = start(house, "mllp", "mllp", "--port", str(port))
    try:
        wait_for(connected)
        answer = senders[0].send(message("a", "1"))
    finally:
        service.terminate()
        status = service.wait(60)
        for each in senders:
            each.close()

    assert (["AA", "1"], 0) == (answer[1:], status)


@pytest.mark.parametrize(
    ("topic", "error"),
    [
        (NOTES_SCRUBBED.name, None),
        (HL7_RAW.name, KafkaError.TOPIC_AUTHORIZATION_FAILED),
        (NOTES.name, KafkaError.TOPIC_AUTHORIZATION_FAILED),
    ],
)
def test_a_subscriber_reads_scrubbed_notes_and_nothing_else(house, topic, error):
    found = reading(house, "subscriber", topic)

    assert error == (found.error() and found.error().code())


def reading(house, user, topic):
    """Return the first record of a topic, or the error in its place."""
    consumer = Consumer(
        settings_of(house, user).client(
            **{"group.id": f"{user}-1", "auto.offset.reset": "earliest"}
        )
    )
    consumer.subscribe([topic])
    deadline = time.monotonic() + 120
    found = None
    while found is None and time.monotonic() < deadline:
        found = consumer.poll(0.5)
    consumer.close()
    assert found is not None
    return found


def test_what_a_worker_may_not_publish_waits_until_it_may(house):
    admin = AdminClient({"bootstrap.servers": house.cluster.bootstrap})
    write = AclBindingFilter(
        ResourceType.TOPIC,
        NOTES_SCRUBBED.name,
        ResourcePatternType.LITERAL,
        "User:scrub",
        "*",
        AclOperation.WRITE,
        AclPermissionType.ALLOW,
    )
    taken = admin.delete_acls([write])[write].result(20)
    before = count(house)
    services = [start(house, stage, "run", stage) for stage in ("intake", "scrub")]
    log = house.folder / "scrub.log"
    try:
        feed(
            settings_of(house, "sender"),
            map(raw, Ward(seed=6, patients=9).messages(30)),
        )
        # On a busy machine the worker takes a minute to load its model.
        wait_for(lambda: "TOPIC_AUTHORIZATION_FAILED" in log.read_text(), 240)
        kept = count(house)
        for future in admin.create_acls(taken).values():
            future.result(20)
        drain(house.settings)
    finally:
        for service in services:
            service.terminate()
        for service in services:
            service.wait(120)

    assert 1 == len(taken)
    assert before == kept < count(house)
    assert all(each.is_sound for each in Auditor(house.settings).verdicts())
    assert '"notes.scrubbed' in log.read_text().replace("\\", "")


def test_a_worker_without_grants_says_what_it_lacks(house):
    done = ask(house, "stranger", "run", "scrub")

    assert 0 != done.returncode
    assert "hidden from this user: notes, patient.updates, patients" in done.stderr
    assert "phistream topics acls" in done.stderr
    assert "Traceback" not in done.stderr


def test_doctor_and_status_without_grants_say_what_is_refused(house):
    doctor = ask(house, "stranger", "doctor")
    status = ask(house, "stranger", "status")

    assert (1, 78) == (doctor.returncode, status.returncode)
    assert "phistream topics acls" in " ".join(doctor.stdout.split())
    assert "CLUSTER_AUTHORIZATION_FAILED" in doctor.stdout
    assert "missing, or hidden" in status.stderr
    assert "Traceback" not in doctor.stdout + doctor.stderr + status.stderr
