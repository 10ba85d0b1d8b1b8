"""Kafka Connect: configurations name what exists, and settings do what is said.

The file sink of Kafka's own jars is run; the others need jars and services that are not
here.  Of those, names are compared with what their projects document.
"""

from __future__ import annotations

import re
import zipfile
from types import SimpleNamespace

import orjson
import pytest
from confluent_kafka import Producer

from schemas import __path__ as schemas_path
from streams.demo.flow import read_topic
from streams.kafka.client import PRODUCER
from streams.kafka.topics import NOTES_SCRUBBED
from tests.brokers import wait_until
from tests.conftest import settings_for, with_topics
from tests.deploy.connect_worker import (
    CONNECT,
    configuration,
    connect_worker,
    jars_of,
    properties,
)
from tests.harness import produce

SINKS = sorted(each.stem for each in CONNECT.glob("*.json"))
JDBC = {
    # Aiven-Open/jdbc-connector-for-apache-kafka, docs/sink-connector-config-options.rst
    "connection.url", "connection.user", "connection.password", "db.timezone",
    "dialect.name", "sql.quote.identifiers", "insert.mode", "batch.size",
    "table.name.format", "table.name.normalize", "pk.mode", "pk.fields",
    "fields.whitelist", "handle.tombstone", "auto.create", "auto.evolve",
    "max.retries", "retry.backoff.ms",
}  # fmt: skip
S3 = {
    # Aiven-Open/cloud-storage-connectors-for-apache-kafka, s3-sink-connector/README.md
    "aws.access.key.id", "aws.secret.access.key", "aws.s3.bucket.name",
    "aws.s3.endpoint", "aws.s3.region", "aws.sts.role.arn", "aws.sts.role.external.id",
    "aws.sts.role.session.name", "aws.sts.role.session.duration",
    "aws.sts.config.endpoint", "file.name.template", "file.compression.type",
    "format.output.type", "format.output.fields", "format.output.fields.value.encoding",
    "format.output.envelope", "timestamp.timezone", "timestamp.source",
}  # fmt: skip
ICEBERG = {
    # iceberg.apache.org/docs, Kafka Connect, Configuration
    "iceberg.tables", "iceberg.tables.auto-create-enabled",
    "iceberg.tables.evolve-schema-enabled", "iceberg.tables.schema-force-optional",
    "iceberg.tables.default-partition-by", "iceberg.control.topic",
    "iceberg.control.group-id-prefix", "iceberg.control.commit.interval-ms",
    "iceberg.coordinator.transactional.prefix", "iceberg.catalog.type",
    "iceberg.catalog.uri", "iceberg.catalog.warehouse", "iceberg.catalog.credential",
    "iceberg.catalog.io-impl",
}  # fmt: skip
FRAMEWORK = {
    # kafka.apache.org/documentation, Kafka Connect configs, Sink connector configs
    "connector.class", "tasks.max", "topics", "key.converter", "value.converter",
    "errors.tolerance", "errors.log.enable", "errors.log.include.messages",
    "transforms", "predicates",
}  # fmt: skip
OF_PLUGINS = {
    # Of the converters, the transformation and the client that FRAMEWORK's name.
    "value.converter.schemas.enable", "value.converter.schema.registry.url",
    "transforms.withoutNull.type", "transforms.withoutNull.predicate",
    "predicates.isNull.type", "consumer.override.isolation.level",
}  # fmt: skip
OWN = {"file": {"file"}, "s3": S3, "iceberg": ICEBERG, "jdbc": JDBC}
CLASSES = {
    "file": "org.apache.kafka.connect.file.FileStreamSinkConnector",
    # Its README, Data Format.
    "s3": "io.aiven.kafka.connect.s3.AivenKafkaConnectS3SinkConnector",
    "iceberg": "org.apache.iceberg.connect.IcebergSinkConnector",
    # Aiven-Open/jdbc-connector-for-apache-kafka, docs/sink-connector.md
    "jdbc": "io.aiven.connect.jdbc.JdbcSinkConnector",
}
WORKER = {
    # kafka.apache.org/documentation, Kafka Connect configs, Worker configs
    "bootstrap.servers", "group.id", "config.storage.topic", "offset.storage.topic",
    "status.storage.topic", "config.storage.replication.factor",
    "offset.storage.replication.factor", "status.storage.replication.factor",
    "connector.client.config.override.policy",
    "connector.client.config.override.allowlist", "key.converter", "value.converter",
    "offset.flush.interval.ms", "plugin.discovery", "listeners", "config.providers",
    "config.providers.directory.class",
    "config.providers.directory.param.allowed.paths", "security.protocol",
    "ssl.truststore.type", "ssl.truststore.location", "ssl.keystore.type",
    "ssl.keystore.location",
}  # fmt: skip
EXAMPLE = f"{schemas_path[0]}/notes.scrubbed/examples/valid/two_replacements.json"
TEXTS = (
    "Stable.\nSecond line\r\n",
    'Quotes "and" \\ backslashes',
    "Umlaut ä, combining é, 血圧, 🩺",
    "line separator \u2028 and tab \t",
    "{a=b, c=d}",
)


@pytest.mark.parametrize("name", SINKS)
def test_every_property_of_a_sink_is_a_known_one(name):
    named, config = configuration(name)

    assert named == (f"phistream-{name}")
    assert (set(config) - FRAMEWORK - OF_PLUGINS - OWN[name]) == set()
    assert CLASSES[name] == config["connector.class"]
    assert all(isinstance(each, str) for each in config.values())


@pytest.mark.parametrize("name", SINKS)
def test_a_sink_reads_what_is_committed_and_stops_at_what_it_cannot_read(name):
    _, config = configuration(name)

    assert NOTES_SCRUBBED.name == config["topics"]
    assert config["consumer.override.isolation.level"] == "read_committed"
    assert config["errors.tolerance"] == "none"
    assert config["errors.log.include.messages"] == "false"


@pytest.mark.parametrize("name", SINKS)
def test_a_secret_is_read_from_a_file(name):
    _, config = configuration(name)
    worker = properties((CONNECT / "worker.properties").read_text())
    allowed = worker["config.providers.directory.param.allowed.paths"]

    for key, value in config.items():
        if re.search(r"password|secret|credential|access\.key", key):
            assert value.startswith(f"${{directory:{allowed}/{name}:"), key


def test_no_sink_writes_when_a_note_arrived():
    """Decision 12: timestamps of records, and files named by the time, would tell."""
    _, s3 = configuration("s3")

    assert s3["format.output.fields"] == "value"
    assert "timestamp" not in s3["file.name.template"]
    for name in SINKS:
        types = [v for k, v in configuration(name)[1].items() if k.endswith(".type")]
        assert not [each for each in types if "InsertField" in each]


def test_the_database_has_a_column_for_each_field_that_is_written():
    _, jdbc = configuration("jdbc")
    table = (CONNECT / "notes_scrubbed.sql").read_text("utf-8")
    columns = re.findall(r'^  "?([a-z_]+)"? ', table, re.MULTILINE)

    assert columns == jdbc["fields.whitelist"].split(",")
    assert jdbc["pk.fields"] in columns
    assert f"CREATE TABLE {jdbc['table.name.format']} " in table


def test_the_worker_reads_what_is_committed_whatever_a_sink_says():
    worker = properties((CONNECT / "worker.properties").read_text())
    clients = ("consumer.",)

    assert worker["consumer.isolation.level"] == "read_committed"
    assert worker["connector.client.config.override.allowlist"] == "isolation.level"
    own = {name.removeprefix("consumer.") for name in worker if name[:9] in clients}
    assert own <= WORKER | {"isolation.level"}
    assert {name for name in worker if name[:9] not in clients} <= WORKER


@pytest.mark.kafka
def test_the_class_and_the_properties_of_the_iceberg_sink_are_in_its_jar():
    _, config = configuration("iceberg")
    with zipfile.ZipFile(jars_of("iceberg")) as jar:
        names = jar.namelist()
        code = jar.read("org/apache/iceberg/connect/IcebergSinkConfig.class")

    assert config["connector.class"].replace(".", "/") + ".class" in names
    for name in config:
        if name.startswith("iceberg.") and "catalog." not in name:
            assert name.encode() in code, name


def value(number, text):
    with open(EXAMPLE, "rb") as file:
        note = orjson.loads(file.read())
    return orjson.dumps(note | {"note_id": f"{number:032x}", "text": text})


def publish(settings, numbers, *, commits):
    """Publish notes in a transaction, each partition in order of the numbers."""
    producer = Producer(
        settings.client(**PRODUCER, **{"transactional.id": f"test-{numbers[0]}"})
    )
    producer.init_transactions(60)
    producer.begin_transaction()
    for number in numbers:
        text = TEXTS[number % len(TEXTS)]
        producer.produce(
            NOTES_SCRUBBED.name, value(number, text), b"p", partition=number % 4
        )
    assert producer.flush(60) == 0
    if commits:
        producer.commit_transaction(60)
    else:
        producer.abort_transaction(60)


@pytest.fixture(scope="module")
def connected(module_cluster, tmp_path_factory):
    """A worker of Connect; on the topic committed, aborted and null values."""
    folder = tmp_path_factory.mktemp("connect")
    jars_of("connect")
    settings = with_topics(settings_for(module_cluster, folder))
    publish(settings, range(20), commits=True)
    publish(settings, range(20, 30), commits=False)
    publish(settings, range(30, 50), commits=True)
    produce(settings, NOTES_SCRUBBED.name, [(b"p", None)])
    publish(settings, range(50, 60), commits=False)
    # Whoever has read these has passed all the others.
    publish(settings, range(60, 64), commits=True)
    with connect_worker(settings.bootstrap, folder) as worker:
        yield SimpleNamespace(settings=settings, worker=worker, folder=folder)


def written(path):
    return path.read_bytes().splitlines(keepends=True) if path.exists() else []


def wait_for_end(connected, name):
    """Wait until a sink has committed the last note of each partition."""
    ends = {
        each.partition(): each.offset() + 1
        for each in read_topic(connected.settings, NOTES_SCRUBBED.name)
    }

    def is_there():
        assert "FAILED" not in connected.worker.state(name), connected.worker.trace(
            name
        )
        _, answer = connected.worker.ask(f"/connectors/{name}/offsets")
        found = {
            each["partition"]["kafka_partition"]: each["offset"]["kafka_offset"]
            for each in answer.get("offsets", ())
        }
        return all(found.get(p, 0) >= end for p, end in ends.items())

    wait_until(is_there, 120)


def test_the_file_sink_writes_each_committed_note_once_as_it_was_published(connected):
    name, config = configuration("file")
    path = connected.folder / "notes.jsonl"
    # As the other sinks get their secrets.
    (secrets := connected.folder / "secrets/file").mkdir()
    (secrets / "path").write_text(str(path))
    connected.worker.start(name, config | {"file": f"${{directory:{secrets}:path}}"})
    wait_for_end(connected, name)

    published = [*range(20), *range(30, 50), *range(60, 64)]
    wanted = [value(number, TEXTS[number % len(TEXTS)]) for number in published]
    lines = written(path)
    assert sorted(wanted) == sorted(line.removesuffix(b"\n") for line in lines)
    found = [int(orjson.loads(line)["note_id"], 16) for line in lines]
    for partition in range(4):
        mine = [number for number in found if number % 4 == partition]
        assert sorted(mine) == mine


def test_the_converter_without_schemas_takes_every_note_for_a_map(connected):
    """As S3 and Iceberg get them; the file sink writes Java's form of a map."""
    _, config = configuration("s3")
    _, own = configuration("file")
    path = connected.folder / "maps.txt"
    converter = {k: v for k, v in config.items() if k.startswith("value.converter")}
    connected.worker.start("maps", own | converter | {"file": str(path)})
    wait_for_end(connected, "maps")

    text = path.read_text("utf-8")
    # In any order.
    for each in (
        "note_id=",
        "schema_version=1",
        "source={",
        "topic=notes",
        "offset=42",
    ):
        assert text.count(each) == 44, each


def test_the_converter_with_schemas_refuses_plain_json(connected):
    """Which is why the database sink needs the schema registry."""
    _, config = configuration("file")
    converter = {
        "value.converter": "org.apache.kafka.connect.json.JsonConverter",
        "value.converter.schemas.enable": "true",
        "file": str(connected.folder / "none.txt"),
    }
    connected.worker.start("schemas", config | converter)
    wait_until(lambda: connected.worker.state("schemas") == ["FAILED"], 120)

    assert '"schema" and "payload"' in connected.worker.trace("schemas")
    assert written(connected.folder / "none.txt") == []


def test_a_sink_may_not_set_another_property_of_its_client(connected):
    _, config = configuration("file")
    config |= {"consumer.override.group.id": "other", "file": "/nowhere"}

    status, answer = connected.worker.ask("/connectors/other/config", config, "PUT")
    assert status == 400
    assert "The 'Allowlist' policy does not allow 'group.id'" in answer["message"]


@pytest.mark.parametrize("name", SINKS)
def test_the_framework_knows_what_every_sink_asks_of_it(connected, name):
    _, config = configuration("file")
    status, answer = connected.worker.ask(
        "/connector-plugins/FileStreamSinkConnector/config/validate",
        config | {"file": "x", "name": name},
        "PUT",
    )
    known = {each["value"]["name"] for each in answer["configs"]}

    assert (status, answer["error_count"]) == (200, 0)
    asked = set(configuration(name)[1])
    assert asked & FRAMEWORK <= known
    assert {
        each for each in asked if each.startswith(("transforms.", "predicates."))
    } <= known
