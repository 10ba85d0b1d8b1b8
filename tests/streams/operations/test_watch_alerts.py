"""Which alerts the page shows, by counts, lag and workers, and since when."""

from __future__ import annotations

from collections import Counter

import pytest

from streams.kafka.lag import LagState, PartitionLag
from streams.operations.counts.figures import WindowCounts
from streams.operations.counts.quantile_sketch import bucket_of
from streams.operations.counts.windows import HOUR, Bucket
from streams.operations.metrics.alerts import ALERTS
from streams.operations.watch.alerts import Alerts, Observation

NOW = HOUR.start_of(1_790_000_000.0) + 30.0
MINUTE = 60


def lag(state=LagState.OK, *, seconds=0.0, group="g-scrub", topic="notes"):
    return PartitionLag(group, topic, 3, 10, 20, 10, seconds, state)


def worker(stage="scrub", *, reachable=True, ready=True, partitions=4, setup="a"):
    return {
        "worker": f"{stage} at h:1", "stage": stage, "reachable": reachable,
        "ready": ready, "partitions": partitions, "setup": setup,
    }  # fmt: skip


WORKERS = (worker(),)


def sight(counts=(), *, lags=(), workers=WORKERS, now=NOW, minutes_ago=0):
    start = HOUR.start_of(NOW - minutes_ago * MINUTE)
    hour = WindowCounts.of(HOUR, now, [Bucket(start, 1, Counter(dict(counts)))])
    return Observation(hour, lags, workers)


def judged(*sights):
    alerts = Alerts()
    return [alerts.judge(each)["rows"] for each in sights][-1]


def found(rows):
    return {row["name"]: row["state"] for row in rows}


def test_a_healthy_stream_has_no_alerts():
    counts = {"audit/intake": 900, "audit/scrub": 900, "refused/intake/bad_msh": 18,
              "join/found": 8, "join/missing": 2,
              f"latency/scrub/{bucket_of(28_000)}": 9}  # fmt: skip

    assert judged(sight(counts, lags=[lag(seconds=600)])) == []


CASES = {
    "PhistreamLagStop": {"lags": [lag(LagState.STOP)]},
    "PhistreamLagStall": {"lags": [lag(LagState.STALL)]},
    "PhistreamLagGrows": {"lags": [lag(LagState.WARN)]},
    "PhistreamLagOld": {"lags": [lag(seconds=601)]},
    "PhistreamLatencyHigh": {"counts": {f"latency/scrub/{bucket_of(40_000)}": 1}},
    "PhistreamResidueRefused": {
        "counts": {"refused/scrub/residue": 1, "audit/scrub": 99}
    },
    "PhistreamDeadLetters": {
        "counts": {"refused/intake/bad_msh": 22, "audit/intake": 877}
    },
    "PhistreamOwnBug": {"counts": {"refused/scrub/other": 1, "audit/scrub": 99}},
    "PhistreamPoison": {"counts": {"refused/scrub/poison": 1, "audit/scrub": 99}},
    "PhistreamForeignProducer": {
        "counts": {"refused/scrub/wrong_key": 1, "audit/scrub": 99}
    },
    "PhistreamJoinMisses": {"counts": {"join/found": 7, "join/missing": 3}},
    "PhistreamWorkerDown": {"workers": [worker(), worker("other", reachable=False)]},
    "PhistreamWorkerNotReady": {"workers": [worker(ready=False)]},
    "PhistreamStageIdle": {"workers": [worker("intake"), worker(partitions=0)]},
    "PhistreamVersionsDiffer": {"workers": [worker(), worker(setup="b")]},
}


@pytest.mark.parametrize("name", ALERTS)
def test_an_alert_is_pending_until_its_condition_has_held(name):
    alert, changes = ALERTS[name], CASES[name]

    alerts = Alerts()
    [first] = alerts.judge(sight(**changes))["rows"]
    late = {**changes, "now": NOW + alert.hold}
    # What is counted must not have left the window meanwhile.
    [second] = alerts.judge(sight(**late, minutes_ago=-alert.hold // MINUTE))["rows"]

    assert (name, "pending" if alert.hold else "firing") == (
        first["name"],
        first["state"],
    )
    assert (name, "firing", alert.severity) == (
        second["name"],
        second["state"],
        second["severity"],
    )
    assert second["subjects"][0]["since"] == NOW


def test_a_condition_that_stops_for_a_moment_starts_its_wait_again():
    bad, well = {"lags": [lag(LagState.STOP)]}, {"lags": [lag()]}

    [row] = judged(
        sight(**bad), sight(**well, now=NOW + 50), sight(**bad, now=NOW + 70)
    )

    assert (row["state"], row["subjects"][0]["since"]) == ("pending", NOW + 70)


def test_a_share_is_shown_with_its_stage():
    [row] = judged(sight({"refused/intake/bad_msh": 22, "audit/intake": 877}))

    [subject] = row["subjects"]
    assert (subject["subject"], subject["value"]) == ("intake", 0.0251)


def test_what_is_older_than_an_alerts_window_is_left_out():
    counts = {"refused/scrub/residue": 1, "audit/scrub": 99}

    assert found(judged(sight(counts, minutes_ago=13))) == {
        "PhistreamResidueRefused": "firing"
    }
    assert judged(sight(counts, minutes_ago=16)) == []


def test_firing_comes_before_pending_and_pages_before_tickets():
    rows = judged(
        sight(
            {
                "refused/scrub/wrong_key": 1,
                "refused/scrub/residue": 1,
                "audit/scrub": 9,
            },
            lags=[lag(LagState.STOP)],
        )
    )

    assert [(row["name"], row["state"]) for row in rows] == [
        ("PhistreamForeignProducer", "firing"),
        ("PhistreamResidueRefused", "firing"),
        ("PhistreamLagStop", "pending"),
        ("PhistreamDeadLetters", "pending"),
    ]


def test_without_workers_addresses_the_page_names_the_alerts_it_can_not_evaluate():
    told = Alerts().judge(sight(workers=()))

    assert "PhistreamWorkerDown" in told["not_judged"]
    assert told["rows"] == []
    assert {*told["judged"]}.isdisjoint(told["not_judged"])
