"""Fixtures shared by all tests: a real broker, started once, and settings for it."""

from __future__ import annotations

import itertools
import secrets
from pathlib import Path

import pytest

from streams.broker import Cluster
from streams.settings import Settings
from streams.topics import create_topics
from streams.worker import wait_for_broker

CACHE = Path("~/.cache/phistream/maven").expanduser()
_numbers = itertools.count()


@pytest.fixture(scope="session")
def cluster(tmp_path_factory):
    """One Kafka broker for the whole session, by the code of `phistream broker up`."""
    cluster = Cluster(tmp_path_factory.mktemp("kafka") / "home", cache=CACHE)
    cluster.up()
    yield cluster
    cluster.down()


@pytest.fixture
def fresh_cluster(tmp_path):
    """A broker of the test's own, for topics that no other test has touched."""
    cluster = Cluster(tmp_path / "kafka", cache=CACHE)
    cluster.up()
    yield cluster
    cluster.down()


def settings_for(cluster, folder, **changes):
    key = folder / "pseudonym.key"
    if not key.exists():
        key.write_text(secrets.token_hex(32))
    settings = Settings(
        bootstrap=cluster.bootstrap,
        state_dir=folder / "state",
        broker_dir=folder / "none",
        pseudonym_key_file=key,
        group=f"test-{next(_numbers)}",
        partitions=4,
        broker_wait_seconds=20,
    )
    return settings.model_copy(update=changes)


@pytest.fixture
def settings(fresh_cluster, tmp_path):
    """Settings for a cluster that has all topics and nothing in them."""
    return with_topics(settings_for(fresh_cluster, tmp_path))


def with_topics(settings):
    wait_for_broker(settings)
    create_topics(settings)
    return settings
