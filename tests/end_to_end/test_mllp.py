"""`phistream mllp` as a process, on real Kafka."""

from __future__ import annotations

import base64
import json
import os
import random
import threading
import time

import pytest
from confluent_kafka.admin import (
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    ResourceType,
)
from prometheus_client.parser import text_string_to_metric_families

from streams.demo.flow import read_topic
from streams.kafka.client import admin_client
from streams.kafka.topics import HL7_RAW
from streams.products.mllp.catalogue import METRICS
from streams.products.mllp.frames import START
from tests.brokers import PATIENCE
from tests.conftest import settings_for, with_topics
from tests.harness import running, values
from tests.mllp_service import Listener, Sender, listener, message
from tests.streams.products.mllp.test_listener import certificates, client_of

pytestmark = pytest.mark.timeout(600)
__all__ = ["certificates"]


def stored(settings):
    """Return the messages on `hl7.raw` in their order, by partition."""
    found = {}
    for each in read_topic(settings, HL7_RAW.name):
        found.setdefault(each.partition(), []).append(each)
    return found


def control_id(value):
    return value.split(b"|")[9].decode()


class Resending(threading.Thread):
    """Sends messages one by one, each again until it is acknowledged."""

    def __init__(self, service, name, count):
        super().__init__(daemon=True)
        self._service, self._name, self._count = service, name, count
        self.acknowledged, self.sent = [], 0
        self.is_cancelled = False

    def run(self):
        sender = None
        for number in range(self._count):
            identifier = f"{self._name}-{number}"
            while not self.is_cancelled:
                try:
                    sender = sender or Sender(self._service.port)
                    self.sent += 1
                    answer = sender.send(message(self._name, identifier))
                except OSError:
                    if sender:
                        sender.close()
                    sender = None
                    time.sleep(0.02)
                    continue
                if answer[1] == "AA":
                    assert identifier == answer[2]
                    self.acknowledged.append(identifier)
                    break
        if sender:
            sender.close()


def test_messages_are_acknowledged_stored_and_routed(settings, tmp_path):
    with listener(settings, tmp_path) as service, running(settings, "intake"):
        senders = {name: service.sender() for name in "abc"}
        for number in range(20):
            for name, sender in senders.items():
                text = f"{name}-{number}"
                assert sender.send(message(name, text))[1:] == ["AA", text]
        status = service.stop()
        deadline = time.monotonic() + 60
        while len(values(settings, "phi.audit")) < 60:
            assert time.monotonic() < deadline
            time.sleep(0.2)
    outcomes = {each["outcome"] for each in values(settings, "phi.audit")}

    found = stored(settings)
    partitions = {}
    for partition, records in found.items():
        for each in records:
            partitions.setdefault(each.key(), set()).add(partition)
            assert each.value().endswith(b"ZZMARKER\r")
    order = {
        name: [
            control_id(each.value())
            for records in found.values()
            for each in records
            if each.key() == f"APP{name}|FAC".encode()
        ]
        for name in "abc"
    }
    assert status == 0
    assert outcomes == {"routed"}
    assert [len(each) for each in partitions.values()] == [1, 1, 1]
    assert {n: [f"{n}-{i}" for i in range(20)] for n in "abc"} == order


def test_without_kafka_the_answer_is_an_error_and_then_again_an_acknowledgement(
    fresh_cluster, tmp_path
):
    settings = with_topics(settings_for(fresh_cluster, tmp_path))
    node = fresh_cluster.nodes[0].id
    with listener(settings, tmp_path, answer_seconds=10) as service:
        sender = service.sender()
        assert sender.send(message("a", "1"))[1:] == ["AA", "1"]
        fresh_cluster.kill(node)
        started = time.monotonic()
        refused = sender.send(message("a", "2"))
        seconds = time.monotonic() - started
        service.wait_for_status("/readyz", 503)
        assert service.get("/healthz")[0] == 200
        fresh_cluster.restart(node)
        service.wait_for_status("/readyz", 200)
        assert sender.send(message("a", "2"))[1:] == ["AA", "2"]
        assert service.stop() == 0

    ids = [control_id(m.value()) for each in stored(settings).values() for m in each]
    assert (
        refused[1:3],
        refused[3],
    ) == (["AE", "2"], "The message could not be stored and may be sent again")
    assert seconds < 60
    assert ids[0] == "1"
    assert set(ids) == {"1", "2"}


def test_a_message_too_large_for_the_topic_is_an_error(settings, tmp_path):
    resource = ConfigResource(
        ResourceType.TOPIC,
        HL7_RAW.name,
        incremental_configs=[
            ConfigEntry(
                "max.message.bytes",
                "50000",
                incremental_operation=AlterConfigOpType.SET,
            )
        ],
    )
    admin = admin_client(settings)
    [done] = admin.incremental_alter_configs([resource]).values()
    done.result(20)
    large = base64.b64encode(os.urandom(100_000)).decode()
    with listener(settings, tmp_path) as service:
        sender = service.sender()
        refused = sender.send(message("a", "1", large))
        accepted = sender.send(message("a", "2"))

    assert refused[1:] == ["AE", "1", "The message is larger than is accepted here"]
    assert accepted[1:] == ["AA", "2"]
    [[record]] = stored(settings).values()
    assert control_id(record.value()) == "2"


@pytest.mark.parametrize("seed", [1])
def test_kills_lose_nothing_that_was_acknowledged(settings, tmp_path, seed):
    rng, count, kills = random.Random(seed), 300, 6
    with listener(settings, tmp_path) as service:
        senders = [Resending(service, name, count) for name in "abc"]
        for each in senders:
            each.start()
        for number in range(kills):
            goal = 3 * count * (number + 1) // (kills + 2)
            while sum(len(each.acknowledged) for each in senders) < goal:
                time.sleep(0.002)
            time.sleep(rng.uniform(0, 0.01))
            service.kill()
            # What these senders were told is already true.
            told = [set(each.acknowledged) for each in senders]
            service.start(ready=False)
            assert set().union(*told) <= ids_of(settings)
        for each in senders:
            each.join(120)
            each.is_cancelled = True

    found = stored(settings)
    for each, name in zip(senders, "abc", strict=True):
        wanted = [f"{name}-{number}" for number in range(count)]
        copies = [
            control_id(record.value())
            for records in found.values()
            for record in records
            if control_id(record.value()).startswith(name)
        ]
        assert wanted == each.acknowledged
        # In order, but for copies of what was sent again.
        assert wanted == list(dict.fromkeys(copies))
        assert each.sent > count


def ids_of(settings):
    found = stored(settings).values()
    return {control_id(each.value()) for records in found for each in records}


def test_a_graceful_stop_under_load_loses_nothing(settings, tmp_path):
    with listener(settings, tmp_path) as service:
        senders = [Resending(service, name, 10_000) for name in "abc"]
        for each in senders:
            each.start()
        while sum(len(each.acknowledged) for each in senders) < 100:
            time.sleep(0.01)
        status = service.stop()
        for each in senders:
            each.is_cancelled = True
            each.join(60)

    acknowledged = {each for sender in senders for each in sender.acknowledged}
    log = service.log.read_text()
    assert status == 0
    assert acknowledged <= ids_of(settings)
    # At most the one that a sender was sending when it ended.
    assert len(ids_of(settings)) <= len(acknowledged) + len(senders)
    assert "has drained" in log


def test_log_and_metrics_show_no_value_whatever_is_sent(settings, tmp_path):
    debug = settings.model_copy(update={"log_level": "debug"})
    marked = message("ZZMARKER", "ZZMARKER")
    options = {"frame_seconds": 1, "max_bytes": 100_000, "senders": ["OTHER|ZZMARKER"]}
    with listener(debug, tmp_path, **options) as service:
        sender = service.sender()
        for value in (
            marked,
            marked.replace(b"MSH", b"XXX"),
            marked.replace(b"|^~\\&|", b"|ZZMARKER|"),
            marked.replace(b"FAC", b"\xffZZMARKER"),
            marked + marked,
            marked + START + marked,
            marked + b"x" * 200_000,
        ):
            assert sender.send(value)[1] in ("AR", "AE")
        good = marked.replace(b"APPZZMARKER|FAC", b"OTHER|ZZMARKER")
        assert sender.send(good)[1:] == ["AA", "ZZMARKER"]
        sender.write(b"ZZMARKER" + START + marked)
        with pytest.raises(ConnectionError):
            sender.answer()
        pages = [service.get(path)[1] for path in ("/metrics", "/status", "/readyz")]
        service.stop()

    log = service.log.read_text()
    assert "starting mllp" in log
    assert "ZZMARKER" not in log
    assert not any("ZZMARKER" in page for page in pages)


def test_the_metrics_of_the_catalogue_are_exported_and_true(settings, tmp_path):
    with listener(settings, tmp_path) as service:
        sender = service.sender()
        sender.send(message("a", "1"))
        sender.send(b"")
        _, text = service.get("/metrics")
        status = json.loads(service.get("/status")[1])
    samples = {
        (each.name, *each.labels.values()): each.value
        for family in text_string_to_metric_families(text)
        for each in family.samples
    }

    wanted = {name for metric in METRICS for name in metric.samples}
    assert (wanted - {name for name, *_ in samples}) == set()
    assert (
        samples["phistream_mllp_answers_total", "AA"],
        samples["phistream_mllp_answers_total", "AR"],
        samples["phistream_mllp_refused_total", "bad_msh"],
    ) == (1, 1, 1)
    assert (
        samples["phistream_mllp_connections",],
        samples["phistream_mllp_ready",],
    ) == (1, 1)
    assert (
        status["ready"],
        status["connections"],
        status["messages_answered"],
    ) == (True, 1, 2)


def test_mutual_tls_is_set_by_files(settings, tmp_path, certificates):
    options = {
        "tls_certificate": certificates / "own.pem",
        "tls_key": certificates / "own.key",
        "tls_client_ca": certificates / "own-ca.pem",
    }
    with listener(settings, tmp_path, **options) as service:
        known = service.sender(client_of(certificates, "own"))
        assert known.send(message("a", "1"))[1:] == ["AA", "1"]
        with pytest.raises(OSError):  # noqa: PT011  # of TLS or of the socket
            service.sender(client_of(certificates, "other")).send(message("a", "2"))
        assert known.send(message("a", "3"))[1:] == ["AA", "3"]

    assert ids_of(settings) == {"1", "3"}


def test_without_broker_or_topic_the_service_refuses_to_start(
    cluster, settings_of_nowhere, tmp_path
):
    nowhere = Listener(settings_of_nowhere, tmp_path / "nowhere.log")
    nowhere.start(ready=False)
    empty = Listener(settings_for(cluster, tmp_path), tmp_path / "empty.log")
    empty.start(ready=False)

    assert nowhere.process.wait(PATIENCE) == 69
    assert empty.process.wait(PATIENCE) == 78
    assert "hl7.raw" in empty.log.read_text()


@pytest.fixture
def settings_of_nowhere(cluster, tmp_path):
    changes = {"bootstrap": "127.0.0.1:1", "broker_wait_seconds": 1}
    return settings_for(cluster, tmp_path, **changes)
