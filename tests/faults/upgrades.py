"""Versions of Kafka's brokers that change under load."""

from __future__ import annotations

import tomllib
from pathlib import Path

from streams.kafka.local_broker.runtime import Jar
from tests.faults.scenarios import scenario

EARLIER_KAFKA = Path(__file__).with_name("earlier_kafka.toml")


def jars_of(table):
    found = tomllib.loads(EARLIER_KAFKA.read_text("utf-8"))[table]
    keys = ("groupId", "artifactId", "version", "sha256")
    return [Jar(*(each[key] for key in keys)) for each in found]


def earlier_kafka(cluster):
    cluster.jars = jars_of("dependencies")


@scenario(fresh=True, prepare=earlier_kafka, effects={"metadata.version changed": ""})
def brokers_upgraded(run):
    """Brokers of Kafka 4.2 go on with 4.3, one by one; then the metadata's version."""
    run.start()
    run.seen.must_abort = False
    for _ in run.moments(1, until=0.4):
        run.cluster.jars = ()
        for node in run.cluster.nodes:
            run.cluster.stop(node.id)
            run.fault("broker upgraded")
            run.cluster.start(node.id)
            run.cluster.wait()
            run.wait_for_progress()
    for _ in run.moments(1):
        done = run.cluster.run_tool(
            jars_of("tools"),
            "org.apache.kafka.tools.FeatureCommand",
            *("--bootstrap-server", run.cluster.bootstrap),
            *("upgrade", "--release-version", "4.3"),
        )
        run.fault("metadata.version raised")
        lines = [line for line in done.stdout.splitlines() if "metadata" in line]
        run.effect("metadata.version changed", len(lines))
        run.remarks += lines
