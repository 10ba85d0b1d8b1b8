"""The scenarios of ``make faults``, small: some of them in every run of the tests."""

from __future__ import annotations

import pytest

from tests.faults.playing import Stage
from tests.faults.scenarios import load_scenarios

SHORT = ("end-txn-lost", "offsets-expired", "worker-kill")
NOTES = 200

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(900)]


@pytest.fixture(scope="module")
def stage(tmp_path_factory):
    with Stage(brokers=1, folder=tmp_path_factory.mktemp("faults")) as stage:
        yield stage


@pytest.fixture(scope="module")
def stage_of_three(tmp_path_factory):
    with Stage(brokers=3, folder=tmp_path_factory.mktemp("faults3")) as stage:
        yield stage


def check(report):
    if report.skipped:
        pytest.skip(report.skipped)
    assert report.is_sound, (report.audit, report.wrong)


@pytest.mark.parametrize("name", SHORT)
def test_a_fault_loses_doubles_reorders_and_leaks_nothing(stage, name):
    check(stage.play(load_scenarios()[name], notes=NOTES, seed=1))


@pytest.mark.long
@pytest.mark.parametrize("name", sorted({*load_scenarios()} - {*SHORT}))
def test_a_fault_of_three_brokers_loses_doubles_reorders_and_leaks_nothing(
    stage_of_three, name
):
    check(stage_of_three.play(load_scenarios()[name], notes=NOTES, seed=1))
