"""The local broker keeps what it has, however it ended."""

from __future__ import annotations

import socket
import threading

import pytest

from streams.demo.ward import Ward
from streams.engine.errors import RetriableError
from streams.kafka.client import admin_client
from streams.kafka.local_broker import BrokerError, Cluster
from streams.kafka.offsets import end_offsets
from streams.kafka.topic_admin import partition_counts
from streams.kafka.topics import PHI_AUDIT
from streams.operations.reconcile import Auditor
from streams.pipeline.files.feed import feed
from tests.brokers import CACHE, START_SECONDS, wait_until
from tests.conftest import settings_for, with_topics
from tests.harness import drain, raw, running

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(900)]

MESSAGES = 400


@pytest.mark.long
@pytest.mark.parametrize("brokers", [1, 3])
def test_nodes_killed_under_load_and_started_again_lose_and_double_nothing(
    tmp_path, brokers
):
    cluster = Cluster(tmp_path / "kafka", cache=CACHE)
    cluster.up(brokers=brokers, seconds=START_SECONDS)
    try:
        settings = with_topics(
            settings_for(
                cluster,
                tmp_path,
                preset="lexical",
                replication=brokers,
                batch_records=20,
                # A busy host must not look like a hang.
                watchdog_seconds=120,
                broker_wait_seconds=300,
            )
        )
        messages = [raw(message) for message in Ward(seed=3).messages(MESSAGES)]
        with running(settings, "intake", "scrub") as services:
            feeding = threading.Thread(target=feed, args=(settings, messages))
            feeding.start()
            for share in (0.2, 0.5):
                wait_until(lambda least=share: progress(settings) > least)
                for node in cluster.nodes:
                    cluster.kill(node.id)
                # As another process would, which knows the folder alone.
                cluster = Cluster(tmp_path / "kafka", cache=CACHE)
                cluster.up(seconds=START_SECONDS)
            feeding.join()
            drain(settings, services)
        verdicts = Auditor(settings).verdicts()
    finally:
        cluster.down()

    assert verdicts[0].inputs >= MESSAGES
    assert [verdict.is_sound for verdict in verdicts] == ([True] * len(verdicts))
    assert sum(verdict.waiting for verdict in verdicts) == 0


def progress(settings):
    try:
        counts = partition_counts(admin_client(settings))
        ends = end_offsets(
            admin_client(settings), PHI_AUDIT.name, range(counts[PHI_AUDIT.name])
        )
    except RetriableError:
        # Leaders are being elected; it is asked again.
        return 0.0
    return sum(ends.values()) / (2 * MESSAGES)


def test_data_without_the_file_that_says_whose_is_left_alone(tmp_path):
    mark = tmp_path / "node-1" / "data" / "meta.properties"
    mark.parent.mkdir(parents=True)
    mark.write_text("cluster.id=other")

    with pytest.raises(BrokerError, match=r"no cluster\.json"):
        Cluster(tmp_path, cache=CACHE).up()
    assert mark.read_text() == "cluster.id=other"


def test_files_of_others_in_the_folder_outlive_the_cluster(tmp_path):
    (tmp_path / "thesis.txt").write_text("mine")
    cluster = Cluster(tmp_path, cache=CACHE)
    cluster.up(seconds=START_SECONDS)
    try:
        [node] = cluster.nodes
        cluster.kill(node.id)
        with (
            socket.create_server(("127.0.0.1", node.port)),
            pytest.raises(BrokerError, match=f"port {node.port} .* another program"),
        ):
            cluster.up()
    finally:
        cluster.down()

    cluster.delete()

    assert [path.name for path in tmp_path.iterdir()] == ["thesis.txt"]
