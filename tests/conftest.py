"""Fixtures shared by all tests: real brokers, kept for the session, and settings."""

from __future__ import annotations

import os
import secrets

import pytest

from deid_core import Deidentifier
from streams.engine.errors import RetriableError
from streams.engine.keys.files import write_private
from streams.engine.keys.office import make_pair, public_file
from streams.kafka.client import admin_client, wait_for_broker
from streams.kafka.local_broker import Cluster
from streams.kafka.offsets import end_offsets
from streams.kafka.topic_admin import create_topics, partition_counts
from streams.kafka.topics import ALL_TOPICS
from streams.operations.settings import Settings
from tests import sampling
from tests.brokers import CACHE, START_SECONDS, Brokers, wait_until

pytest_plugins = ("tests.interrupts",)

STARTS_A_BROKER = {"apicurio", "brokers", "fresh_cluster"}
"""Fixtures whose tests need Kafka, or a schema registry, and thus Java."""

TAKES_LONG = {"browser", "site", "spark"}
"""Fixtures whose tests are long: a browser, the built documentation, Spark."""

LONGEST = "test_faults.py"
MOST_PROCESSES = 8


def pytest_configure(config):
    sampling.configure(config.option.markexpr)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers():
    """Run one process more than there are cores: tests with Kafka mostly wait."""
    return min(MOST_PROCESSES, (os.cpu_count() or 1) + 1)


def pytest_collection_modifyitems(items):
    """Mark the tests that need Kafka, and run them first: the others fill the gaps.

    They are long, but for those that show the promise.  The file of all faults is the
    longest: begun last, it would run on alone.
    """
    for item in items:
        fixtures = set(getattr(item, "fixturenames", ()))
        if STARTS_A_BROKER & fixtures:
            item.add_marker(pytest.mark.kafka)
        needs_kafka = item.get_closest_marker("kafka")
        if TAKES_LONG & fixtures or (
            needs_kafka and not item.get_closest_marker("promise")
        ):
            item.add_marker(pytest.mark.long)
    items.sort(
        key=lambda item: (
            item.get_closest_marker("kafka") is None,
            item.path.name != LONGEST,
        )
    )


@pytest.fixture(scope="session")
def hybrid():
    """The system of the default preset and policy, whose model takes long to load."""
    return Deidentifier.from_names()


@pytest.fixture(scope="session")
def brokers(tmp_path_factory):
    """The brokers of this process, started by the code of `phistream broker up`."""
    brokers = Brokers(tmp_path_factory.mktemp("brokers"))
    yield brokers
    brokers.down()


@pytest.fixture
def cluster(brokers):
    """A broker without topics, the test's own until it ends; leave it running."""
    with brokers.borrow() as cluster:
        yield cluster


@pytest.fixture(scope="module")
def module_cluster(brokers):
    """Likewise, for a fixture that the tests of a module share."""
    with brokers.borrow() as cluster:
        yield cluster


@pytest.fixture
def fresh_cluster(tmp_path):
    """A broker that the test may kill and restart."""
    cluster = Cluster(tmp_path / "kafka", cache=CACHE)
    cluster.up(seconds=START_SECONDS)
    yield cluster
    cluster.down()


def settings_for(cluster, folder, **changes):
    key = folder / "pseudonym.key"
    office = folder / "office" / "office.key"
    if not key.exists():
        write_private(key, secrets.token_hex(32).encode())
        office.parent.mkdir()
        make_pair(office)
        # The private key is on no host of the workers.
        public_file(office).rename(folder / "office.pub")
    settings = Settings(
        bootstrap=cluster.bootstrap,
        state_dir=folder / "state",
        broker_dir=folder / "none",
        pseudonym_key_file=key,
        dead_letter_key_file=folder / "office.pub",
        group=f"test-{secrets.token_hex(4)}",
        partitions=4,
        broker_wait_seconds=80,
    )
    return settings.model_copy(update=changes)


@pytest.fixture
def settings(cluster, tmp_path):
    """Settings for a cluster that has all topics and nothing in them."""
    return with_topics(settings_for(cluster, tmp_path))


def with_topics(settings):
    """Create the topics, and wait until each partition has a leader that answers."""
    wait_for_broker(settings)
    create_topics(settings)
    admin = admin_client(settings)
    for topic in ALL_TOPICS:
        wait_until(lambda name=topic.name: has_leaders(admin, name))
    return settings


def has_leaders(admin, topic):
    """Return whether a topic that was just created can be used.

    The controller has answered; the broker learns it a moment later.
    """
    try:
        partitions = partition_counts(admin).get(topic, 0)
        return bool(end_offsets(admin, topic, range(partitions)))
    except RetriableError:
        return False
