"""All services at a broker that authorizes, each with its own name and least rights.

The broker takes TLS connections alone, with a password (SASL_SSL, SCRAM-SHA-512) or a
certificate (SSL); that it has a plain listener for the test itself is its only hole.
"""

from __future__ import annotations

import time
from types import SimpleNamespace

import orjson
import pytest
from confluent_kafka import (
    Consumer,
    ConsumerGroupTopicPartitions,
    KafkaError,
    KafkaException,
    Producer,
)
from confluent_kafka.admin import (
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    AdminClient,
    ResourcePatternType,
    ResourceType,
)

from streams.demo.ward import Ward
from streams.engine.errors import ConfigError
from streams.formats.hl7.sender import sender_key
from streams.kafka import client
from streams.kafka.acls import Grant, grants
from streams.kafka.client import wait_for_broker
from streams.kafka.local_broker import Cluster, Security
from streams.kafka.local_broker.ports import free_ports
from streams.kafka.topics import (
    ALL_TOPICS,
    HL7_RAW,
    LETTERS_REPLAYED,
    NOTES,
    NOTES_SCRUBBED,
    PATIENT_UPDATES,
)
from streams.model.patients.demographics import PatientId
from streams.operations.held_notes import waiting_notes
from streams.operations.reconcile import Auditor
from streams.pipeline.files.feed import RawMessage, feed
from tests import commands
from tests.brokers import START_SECONDS
from tests.certificates import Authority
from tests.conftest import CACHE, settings_for, with_topics
from tests.end_to_end.test_main_job import event
from tests.end_to_end.test_watch import get, labels_of, wait_for
from tests.harness import count_records, drain, produce, wait_for_group
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


GRANTED = grants("house")
USERS = (*GRANTED, "stranger")
TOPIC_NAMES = tuple(topic.name for topic in ALL_TOPICS)


def password(user):
    return f"{user}-secret"


@pytest.fixture(scope="module")
def house(tmp_path_factory):
    """A broker on which every service has its grants, and a stranger none."""
    folder = tmp_path_factory.mktemp("acls")
    cluster = Cluster(folder / "kafka", cache=CACHE)
    granted = GRANTED
    authority = Authority(folder)
    chain, _key = authority.sign("broker")
    cluster.up(
        security=Security({u: password(u) for u in USERS}, chain, authority.file),
        seconds=START_SECONDS,
    )
    certificates = {user: authority.sign(user) for user in USERS}
    try:
        settings = settings_for(
            cluster,
            folder,
            group="house",
            partitions=2,
            preset="lexical",
            # So that every topic is used.
            rebuild_messages=True,
            repeated_seconds=3600,
            unknown_patient="hold",
        )
        settings.pseudonym_key_file.chmod(0o600)
        with_topics(settings)
        admin = AdminClient({"bootstrap.servers": cluster.bootstrap})
        allowed = [acl for user in granted for acl in bindings(user, granted[user])]
        # So that whoever reads is refused by the topic, not by a group.
        allowed += bindings("*", [Grant("group", "probe", ("Read",))])
        for future in admin.create_acls(allowed).values():
            future.result(20)
        yield SimpleNamespace(
            folder=folder,
            cluster=cluster,
            settings=settings,
            authority=authority,
            certificates=certificates,
            by_certificate=False,
        )
    finally:
        cluster.down()


def settings_of(house, user):
    tls = {"ssl.ca.location": str(house.authority.file)}
    if house.by_certificate:
        chain, key = map(str, house.certificates[user])
        kafka = {
            "security.protocol": "SSL",
            "ssl.certificate.location": chain,
            "ssl.key.location": key,
        }
        bootstrap = house.cluster.tls_bootstrap
    else:
        kafka = {
            "security.protocol": "SASL_SSL",
            "sasl.mechanisms": "SCRAM-SHA-512",
            "sasl.username": user,
            "sasl.password": password(user),
        }
        bootstrap = house.cluster.sasl_bootstrap
    changes = {"bootstrap": bootstrap, "kafka": kafka | tls}
    return house.settings.model_copy(update=changes)


def config_of(house, user, **more):
    settings = settings_of(house, user)
    names = ("group", "preset", "state_dir", "unknown_patient")
    names += ("pseudonym_key_file", "dead_letter_key_file")
    values = {name: str(getattr(settings, name)) for name in names}
    values |= {"bootstrap": settings.bootstrap, "partitions": settings.partitions}
    values |= {"rebuild_messages": True, "repeated_seconds": 3600, **more}
    changed = values.pop("kafka", {})
    lines = [f"{k} = {orjson.dumps(v).decode()}" for k, v in values.items()]
    kafka = settings.kafka | changed
    lines += ["[kafka]", *(f'"{k}" = "{v}"' for k, v in kafka.items())]
    file = house.folder / f"{user}.toml"
    file.write_text("\n".join(lines), "utf-8")
    return file


def start(house, user, *arguments, **more):
    log = house.folder / f"{user}.log"
    file = config_of(house, user, **more)
    return commands.Forked(*arguments, "--config", file, stdout=log, stderr=log)


def ask(house, user, *arguments):
    file = config_of(house, user)
    return commands.phistream(*arguments, "--config", file, text=True)


def count(house):
    return count_records(house.settings, NOTES_SCRUBBED.name, "read_committed")


def sent_by(seed):
    """Return the messages of a ward: notes of strangers, broken ones, repetitions."""
    values = [m.value for m in Ward(seed=seed, patients=20).messages(NOTES_WRITTEN)]
    first = next(value for value in values if value and b"|ORU^" in value[:200])
    unknown = {"id": "N-1", "text": "Seen again.", "patient_id": f"unknown-{seed}"}
    broken = b"MSH|^~\\&|LAB|NORTH|B|C|20250101||ORU^R01|X1|P|2.5\rPID|broken"
    for value in (*values, first, orjson.dumps(unknown), broken):
        yield RawMessage(value, sender_key(value or b""))


@pytest.mark.parametrize("by_certificate", [False, True], ids=["password", "mtls"])
def test_all_services_work_with_their_grants_alone(house, monkeypatch, by_certificate):
    monkeypatch.setattr(house, "by_certificate", by_certificate)
    before = count(house)
    services = [start(house, stage, "run", stage) for stage in ("intake", "scrub")]
    port = free_ports(1)[0]
    services.append(start(house, "watch", "watch", "--port", str(port)))
    try:
        sent = feed(settings_of(house, "sender"), sent_by(5 + by_certificate))
        drain(house.settings)
        waiting = ask(house, "operator", "held", "list", "--json")
        released = ask(house, "operator", "held", "release", "--all")
        wait_for(lambda: get(port, "/readyz")[0] == 200)
        wait_for(lambda: labels_of(port))
        wait_for(lambda: waiting_notes(house.settings) == [])
        as_operator = settings_of(house, "operator")
        verdicts = Auditor(as_operator).verdicts()
        reconcile = ask(house, "operator", "reconcile")
        doctor = ask(house, "operator", "doctor", "--json")
        status = ask(house, "operator", "status", "--json")
    finally:
        for service in services:
            service.terminate()
        ended = [service.wait(120) for service in services]

    assert sent == NOTES_WRITTEN + 3
    assert before < count(house)
    assert ended == [0, 0, 0]
    assert all(each.is_sound and not each.pending for each in verdicts)
    assert reconcile.returncode == 0, reconcile.stderr
    assert status.returncode == 0, status.stderr
    assert "AUTHORIZATION" not in doctor.stdout
    assert orjson.loads(waiting.stdout)
    assert released.returncode == 0, released.stderr
    written = {
        t: count_records(house.settings, t, "read_committed") for t in TOPIC_NAMES
    }
    # Only the privacy office writes marks of replays.
    assert [t for t, some in written.items() if not some] == [LETTERS_REPLAYED.name]


def allowed(user, operation):
    return {
        each.name
        for each in GRANTED.get(user, ())
        if each.resource == "topic" and operation in each.operations
    }


@pytest.mark.parametrize("user", USERS)
def test_a_user_writes_no_topic_but_those_that_are_granted(house, user):
    """Each attempt is a real record; what passed would show in the next test."""
    denied, refused = {*TOPIC_NAMES} - allowed(user, "Write"), {}
    producer = Producer(settings_of(house, user).client(**{"linger.ms": 0}))
    for topic in denied:
        producer.produce(
            topic,
            b"x",
            partition=0,
            on_delivery=lambda error, sent: refused.update({sent.topic(): error}),
        )
    left = producer.flush(120)

    assert left == 0
    codes = {topic: error and error.code() for topic, error in refused.items()}
    assert dict.fromkeys(denied, KafkaError.TOPIC_AUTHORIZATION_FAILED) == codes


@pytest.mark.parametrize("user", USERS)
def test_a_user_reads_no_topic_but_those_that_are_granted(house, user):
    denied, refused = {*TOPIC_NAMES} - allowed(user, "Read"), {}
    if user == "operator":  # reconcile and doctor read everything
        assert not denied
        return
    consumer = Consumer(settings_of(house, user).client(**{"group.id": "probe"}))
    consumer.subscribe([*denied])
    deadline = time.monotonic() + 60
    while refused.keys() != denied and time.monotonic() < deadline:
        found = consumer.poll(0.5)
        if found is not None:
            refused[found.topic()] = found.error() and found.error().code()
    consumer.close()

    assert dict.fromkeys(denied, KafkaError.TOPIC_AUTHORIZATION_FAILED) == refused


@pytest.mark.parametrize("user", USERS)
def test_a_user_has_no_group_and_no_transaction_of_another(house, user):
    def is_granted(resource, name, operation):
        return any(
            resource == each.resource
            # To Kafka, who may read or write a resource may describe it.
            and (operation in each.operations or operation == "Describe")
            and (name.startswith(each.name) if each.is_prefix else name == each.name)
            for each in GRANTED.get(user, ())
        )

    settings, wrong = settings_of(house, user), []
    admin = AdminClient(settings.client())
    for group in ("house-intake", "house-scrub", "house-watch", "subscriber-1"):
        asked = admin.list_consumer_group_offsets([ConsumerGroupTopicPartitions(group)])
        code = code_of(lambda asked=asked, group=group: asked[group].result(30))
        is_denied = code == KafkaError.GROUP_AUTHORIZATION_FAILED
        if not (is_denied or is_granted("group", group, "Describe")):
            wrong.append((group, code))
    for name in ("house-intake-0", "house-scrub-0"):
        if is_granted("transactional-id", name, "Write"):
            continue
        producer = Producer(settings.client(**{"transactional.id": name}))
        code = code_of(lambda producer=producer: producer.init_transactions(30))
        if code != KafkaError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED:
            wrong.append((name, code))

    assert wrong == []


def code_of(call):
    try:
        call()
    except KafkaException as error:
        return error.args[0].code()
    return None


WRONG = {
    "password": ({"sasl.password": "ZZMARKER"}, "sasl.username"),
    "user": ({"sasl.username": "ZZMARKER"}, "sasl.username"),
    "mechanism": ({"sasl.mechanisms": "PLAIN"}, "sasl.mechanisms"),
    "unknown authority": ({"ssl.ca.location": "other"}, "ssl.ca.location"),
    "no authority": ({"ssl.ca.location": None}, "ssl.ca.location"),
    "host name": ({"bootstrap.servers": "localhost"}, "ssl.ca.location"),
    "no certificate": (
        {"ssl.certificate.location": None, "ssl.key.location": None},
        "ssl.certificate.location",
    ),
    "foreign certificate": (
        {"ssl.certificate.location": "other", "ssl.key.location": "other"},
        "ssl.certificate.location",
    ),
    "port without TLS": ({"bootstrap.servers": "plain"}, "security.protocol"),
}


def with_wrong(house, tmp_path, name):
    """Return the scrub's settings of which one is wrong."""
    changes, named = WRONG[name]
    house = SimpleNamespace(**vars(house))
    house.by_certificate = "certificate" in name
    settings = settings_of(house, "scrub")
    other = Authority(tmp_path, "other")
    files = dict(zip(("ssl.certificate.location", "ssl.key.location"),
                     other.sign("scrub"), strict=True))  # fmt: skip
    files["ssl.ca.location"] = other.file
    bootstrap, kafka = settings.bootstrap, dict(settings.kafka)
    for key, value in changes.items():
        if key == "bootstrap.servers":
            port = bootstrap.partition(":")[2]
            plain = house.cluster.bootstrap
            bootstrap = plain if value == "plain" else f"{value}:{port}"
        elif value is None:
            del kafka[key]
        else:
            kafka[key] = str(files[key]) if value == "other" else value
    return settings.model_copy(update={"bootstrap": bootstrap, "kafka": kafka}), named


@pytest.mark.parametrize("name", WRONG)
def test_wrong_credentials_are_refused_with_what_to_do(
    house, tmp_path, monkeypatch, name
):
    monkeypatch.setattr(client, "REFUSED_SECONDS", 0.5)
    settings, named = with_wrong(house, tmp_path, name)

    with pytest.raises(ConfigError) as caught:
        wait_for_broker(settings)

    assert named in str(caught.value)
    assert "ZZMARKER" not in str(caught.value)


def test_every_command_ends_with_78_at_a_wrong_password(house):
    wrong = {"sasl.password": "ZZMARKER"}
    file = house.folder / "note.txt"
    file.write_text("MSH|")
    said = {}
    for arguments in (
        ["run", "intake"],
        ["run", "scrub"],
        ["mllp", "--port", str(free_ports(1)[0])],
        ["watch", "--port", str(free_ports(1)[0])],
        ["feed", str(file)],
        ["reconcile"],
        ["status", "--once"],
        ["doctor"],
    ):
        config = config_of(house, "scrub", kafka=wrong)
        done = commands.phistream(*arguments, "--config", config, text=True)
        text = " ".join((done.stdout + done.stderr).split())
        assert "refuses the user or the password" in text, arguments
        assert "Traceback" not in text + done.stderr
        assert "ZZMARKER" not in text
        said[arguments[-1] if arguments[0] == "run" else arguments[0]] = done.returncode

    assert said.pop("doctor") == 1
    assert {78} == {*said.values()}


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

    assert (shown.returncode, replayed.returncode) == (0, 0), replayed.stderr
    assert "ZZ" in shown.stdout
    assert "1 dead letters replayed" in replayed.stdout
    assert strange.returncode == 78
    assert "hidden from this user: dead.letters" in strange.stderr


def test_an_erasure_needs_no_more_than_its_grants(house):
    scrub = start(house, "scrub", "run", "scrub")
    try:
        patient = PatientId("A", "erased77")
        value = {"patient": {"assigning_authority": "A", "id": "erased77"}}
        produce(
            house.settings, PATIENT_UPDATES.name, [(patient.key, orjson.dumps(value))]
        )
        wait_for_group(house.settings, PATIENT_UPDATES.name, "scrub")
        done = ask(
            house, "erasure", "erase", "erased77^^^A", "--yes", "--reason", "DSR-1",
            "--published",
        )  # fmt: skip
    finally:
        scrub.terminate()
        scrub.wait(120)

    assert (done.returncode, done.stderr.strip()) == (0, "")
    assert "erased: 1 rows, 0 held, 0 letters, 3 null values" in done.stdout


def test_a_feeder_publishes_updates_of_patients_and_nothing_else(house):
    file = house.folder / "updates.jsonl"
    file.write_text('{"patient": {"assigning_authority": "A", "id": "1"}}')

    updates = ask(house, "feeder", "feed", "--updates", file)
    notes = house.folder / "notes.jsonl"
    notes.write_bytes(event("1", "Seen, well."))
    messages = ask(house, "feeder", "feed", notes)

    assert (updates.returncode, updates.stderr.strip()) == (0, "")
    assert "1 patient updates published on patient.updates" in updates.stdout
    assert messages.returncode == 70
    assert "hl7.raw: 1 of 1 messages were not confirmed" in messages.stderr
    assert "TOPIC_AUTHORIZATION_FAILED" in messages.stderr
    seen = reading(house, "feeder", PATIENT_UPDATES.name)
    assert seen.error().code() == KafkaError.GROUP_AUTHORIZATION_FAILED


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

    assert (answer[1:], status) == (["AA", "1"], 0)


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
        feed(settings_of(house, "sender"), sent_by(7))
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

    assert len(taken) == 1
    assert before == kept < count(house)
    assert all(each.is_sound for each in Auditor(house.settings).verdicts())
    assert '"notes.scrubbed' in log.read_text().replace("\\", "")


def test_a_worker_without_grants_says_what_it_lacks(house):
    done = ask(house, "stranger", "run", "scrub")

    assert done.returncode != 0
    assert "hidden from this user: notes, patient.updates, patients" in done.stderr
    assert "phistream topics acls" in done.stderr
    assert "Traceback" not in done.stderr


def test_doctor_and_status_without_grants_say_what_is_refused(house):
    doctor = ask(house, "stranger", "doctor")
    status = ask(house, "stranger", "status")

    assert (doctor.returncode, status.returncode) == (1, 78)
    assert "phistream topics acls" in " ".join(doctor.stdout.split())
    assert "CLUSTER_AUTHORIZATION_FAILED" in doctor.stdout
    assert "missing, or hidden" in status.stderr
    assert "Traceback" not in doctor.stdout + doctor.stderr + status.stderr
