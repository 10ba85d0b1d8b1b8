"""Scrub is scaled under load, as the StatefulSet of deploy/kubernetes does it."""

from __future__ import annotations

import pytest

from tests.benchmarks.scaling import PARTITIONS, scale

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(900)]


def check(numbers, **options):
    steps, report = scale(numbers, **options)

    assert (report.audit.faults, report.wrong) == ((0, 0, 0, 0), ()), report.audit
    assert report.audit.notes == report.audit.published > 0
    assert numbers == [each.workers for each in steps]
    for each in steps:
        # Slots from 0 on, each with its share.
        assert sum(each.shares) == PARTITIONS
        assert max(each.shares) - min(each.shares) <= 1


def test_scaling_loses_doubles_and_reorders_nothing():
    check([1, 3, 2], notes=1600, rate=6, session=6.0)


@pytest.mark.long
def test_scaling_to_a_worker_for_each_partition_and_back_loses_nothing():
    check([1, 8, 3], notes=2000, rate=8, session=6.0)
