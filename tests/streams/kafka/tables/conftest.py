"""Fixtures of the tests of tables: a changelog on a broker, workers, an owner."""

from __future__ import annotations

import pytest

from streams.kafka.tables.table import ChangelogTable
from tests.conftest import settings_for
from tests.streams.kafka.tables.changelog import CHANGELOG, PARTITIONS, Owner, create


@pytest.fixture
def settings(cluster, tmp_path):
    settings = settings_for(cluster, tmp_path, partitions=PARTITIONS)
    create(settings)
    return settings


@pytest.fixture
def opened(settings):
    """Return tables of workers; closed in the end."""
    made = []

    def opened(owner="scrub-0"):
        made.append(ChangelogTable(settings, CHANGELOG, owner, PARTITIONS))
        return made[-1]

    yield opened
    for table in made:
        table.close()


@pytest.fixture
def owner(settings):
    return Owner(settings)
