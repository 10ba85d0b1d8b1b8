"""The scenarios of ``make faults``, small: some of them in every run of the tests."""

from __future__ import annotations

import os
import signal

import pytest

from tests.faults.playing import Stage
from tests.faults.scenarios import Scenario, load_scenarios
from tests.faults.verdict import NOTHING_HIT
from tests.harness import start_service

SHORT = ("end-txn-lost", "offsets-expired", "worker-kill")
NOTES = 200

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(900)]


@pytest.fixture(scope="module")
def stage(tmp_path_factory):
    folder = tmp_path_factory.mktemp("faults")
    with Stage(brokers=1, folder=folder, starter=start_service) as stage:
        yield stage


@pytest.fixture(scope="module")
def stage_of_three(tmp_path_factory):
    folder = tmp_path_factory.mktemp("faults3")
    with Stage(brokers=3, folder=folder, starter=start_service) as stage:
        yield stage


def play_until_hit(stage, name):
    """Play a scenario with other seeds while no transaction was in its way."""
    for seed in (1, 2, 3):
        report = stage.play(load_scenarios()[name], notes=NOTES, seed=seed)
        if report.wrong != (NOTHING_HIT,):
            break
    return report


def check(report):
    if report.skipped:
        pytest.skip(report.skipped)
    assert report.audit.faults == (0, 0, 0, 0), report.audit
    if report.wrong == (NOTHING_HIT,):
        pytest.skip(f"{report.name}: under no seed was a transaction in its way")
    assert report.is_sound, "\n".join(report.wrong)


@pytest.mark.parametrize("name", SHORT)
def test_a_fault_loses_doubles_reorders_and_leaks_nothing(stage, name):
    check(play_until_hit(stage, name))


def test_a_service_that_refuses_to_run_ends_the_run_at_once(stage):
    def play(run):
        run.start()
        run.wait_for_progress()

    refused = Scenario("refused", play, settings={"preset": "no-such-preset"})
    report = stage.play(refused, notes=NOTES, seed=1)

    assert not report.is_sound
    assert [each for each in report.wrong if "refuses to run" in each]
    assert 78 in report.restarts


def test_a_service_that_ends_by_itself_is_started_again_and_is_wrong(stage):
    def play(run):
        run.start()
        for _ in run.moments(1):
            os.kill(run.service("scrub").process.pid, signal.SIGKILL)
            run.fault("supervisor killed by nobody")
        run.seen.must_abort = False

    report = stage.play(Scenario("crash", play), notes=NOTES, seed=1)

    assert report.audit.faults == (0, 0, 0, 0), report.audit
    assert report.restarts == {-signal.SIGKILL: 1}
    assert len(report.wrong) == 1, report.wrong
    assert "no fault explains" in report.wrong[0]


@pytest.mark.long
@pytest.mark.parametrize("name", sorted({*load_scenarios()} - {*SHORT}))
def test_a_fault_of_three_brokers_loses_doubles_reorders_and_leaks_nothing(
    stage_of_three, name
):
    check(play_until_hit(stage_of_three, name))
