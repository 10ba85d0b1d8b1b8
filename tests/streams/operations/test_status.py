"""What `phistream status` counts and draws; no broker here."""

from __future__ import annotations

import io
import re
from dataclasses import replace

import orjson
import pytest
from rich.console import Console

from streams.engine.records import Partition, Record
from streams.kafka.lag import LagState, PartitionLag
from streams.operations.counts.windows import HOUR, WINDOWS
from streams.operations.status.audit_counts import AuditCounts
from streams.operations.status.snapshot import (
    EDGES,
    DeadLetterCount,
    GroupView,
    Held,
    Latency,
    Member,
    Quarantine,
    Repeated,
    Snapshot,
    printable,
)
from streams.operations.status.view import ranges, render, short

NOW = 1_767_182_400.0
MARKER = "zzmarkerzz"  # stands for what must not be shown


def event(at, *, stage="scrub", outcome="scrubbed", took=None, **facts):
    value = {"stage": stage, "outcome": outcome, **facts}
    if outcome == "scrubbed":
        value |= {"join": "found", "annotations": []}
    headers = {}
    if took is not None:
        headers["received"] = b"%013d" % int(at * 1000 - took)
    place = Partition("phi.audit", 0)
    return Record(place, 0, None, orjson.dumps(value), headers, int(at * 1000))


def counts_of(*events, since=NOW - HOUR.seconds):
    counts = AuditCounts(since)
    counts.add(0, [replace(e, offset=n) for n, e in enumerate(events)], NOW)
    return counts


def test_audit_events_of_the_last_minute_give_the_rates_along_each_arrow():
    routed = {"patients": 1, "notes": 2, "skipped": {}}
    counts = counts_of(
        *(event(NOW - n, stage="intake", outcome="routed", routed=routed)
          for n in range(30)),
        event(NOW - 5, stage="intake", outcome="dead_letter", code="bad_msh"),
        *(event(NOW - n) for n in range(58)),
        event(NOW - 7, outcome="dead_letter", code="residue"),
        event(NOW - 90),
    )  # fmt: skip

    rates, seconds = counts.rates(NOW + 1.999)

    assert {*EDGES} == {*rates}
    assert round(seconds) == 60
    assert {edge: round(rate * 60) for edge, rate in rates.items()} == {
        ("hl7.raw", "intake"): 31,
        ("scrub", "hl7.scrubbed"): 0,
        ("intake", "notes"): 60,
        ("intake", "patient.updates"): 30,
        ("intake", "dead.letters"): 1,
        ("notes", "scrub"): 59,
        ("scrub", "notes.scrubbed"): 58,
        ("scrub", "dead.letters"): 1,
    }


def test_rates_are_over_what_was_read_when_that_is_less_than_a_minute():
    counts = counts_of(*(event(NOW - n) for n in range(10)), since=NOW - 20)

    rates, seconds = counts.rates(NOW)

    assert (seconds, rates["notes", "scrub"]) == (20, 0.5)


def test_dead_letters_of_the_last_hour_are_counted_by_stage_and_known_code():
    def refuse(ago, code):
        return event(NOW - ago, outcome="dead_letter", code=code)

    counts = counts_of(
        refuse(5, "residue"), refuse(3000, "residue"), refuse(9, MARKER),
        refuse(HOUR.seconds + 5, "schema"),
    )  # fmt: skip

    rows, seconds = counts.refused(NOW + 59.999)

    assert (HOUR.seconds, {("scrub", "residue", 2), ("scrub", "other", 1)}) == (
        round(seconds),
        {(each.stage, each.code, each.count) for each in rows},
    )


def test_repeated_messages_and_conflicts_of_the_last_hour_are_counted_and_shown():
    def intake(ago, **more):
        routed = {"patients": 0, "notes": 0, "skipped": {}, **more}
        return event(NOW - ago, stage="intake", outcome="routed", routed=routed)

    found = counts_of(
        intake(5, repeated=2), intake(3000, conflicts=1), intake(9),
        intake(HOUR.seconds + 5, repeated=7),
    ).repeated(NOW + 59.999)  # fmt: skip

    assert (found.messages, found.conflicts) == (2, 1)
    shown = drawn(snapshot(repeated=found))
    assert "repeated in 60 min      2, 1 others under a control id in use" in shown
    assert "repeated" not in drawn(snapshot(repeated=Repeated(0, 0)))


def test_latency_is_from_the_message_to_its_scrubbed_note():
    counts = counts_of(*(event(NOW - 1, took=100 * n) for n in range(1, 101)))

    found = counts.latency(NOW)

    assert found.p50 == pytest.approx(5000, rel=0.06)
    assert found.p99 == pytest.approx(9900, rel=0.06)
    assert counts_of(event(NOW - 1)).latency(NOW) is None


def test_an_event_dated_ahead_counts_as_of_now_and_an_unreadable_one_nowhere():
    broken = Record(Partition("phi.audit", 0), 1, None, b"{", {}, int(NOW * 1000))
    counts = counts_of(event(NOW + 3000), broken)

    assert round(counts.rates(NOW)[0]["notes", "scrub"] * 60) == 1


def test_counts_of_any_length_of_time_take_bounded_memory():
    counts = AuditCounts(0)
    for second in range(9000):
        counts.add(0, [replace(event(NOW + second), offset=second)], NOW + second)

    assert len(counts._buckets) <= sum(window.slots for window in WINDOWS)
    assert round(counts.rates(NOW + 9000)[0]["notes", "scrub"] * 60) == 60


# --- what is drawn


def lag(partition, records=0, state=LagState.OK, *, group="phistream-scrub", seconds=0):
    return PartitionLag(group, "notes", partition, 0, records, records, seconds, state)


def snapshot(**changes):
    whole = {
        "at": NOW,
        "source": "127.0.0.1:9092",
        "rates": dict.fromkeys(EDGES, 12.34),
        "arriving": 1234.5,
        "lags": tuple(lag(p) for p in range(4)),
        "is_judged": True,
        "groups": (
            GroupView(
                "phistream-scrub",
                "stable",
                (
                    Member(
                        "phistream-scrub-0",
                        "10.0.0.1",
                        {"notes": (0, 1, 2, 5), "patient.updates": (0, 3)},
                    ),
                ),
            ),
        ),
        "refused": (DeadLetterCount("scrub", "residue", 3),),
        "latency": Latency(120, 300, 1250),
    }
    return Snapshot(**(whole | changes))


def drawn(*arguments, width=80, **options):
    console = Console(file=io.StringIO(), width=width, force_terminal=False)
    console.print(render(*arguments, **options))
    return console.file.getvalue()


def test_held_notes_are_counted_with_the_age_of_the_oldest():
    shown = drawn(snapshot(held=Held(1200, NOW - 90)))

    assert "held for demographics   1,200, the oldest for 90.0 s" in shown
    assert "held for" not in drawn(snapshot(held=Held(0, None)))


def test_a_partition_in_quarantine_is_shown_with_its_suspect():
    held = (Quarantine("p-scrub", "notes", 3, 412, 90_071, 1),
            Quarantine("p-intake", "hl7.raw", 0, 7, None, 0))  # fmt: skip
    text = drawn(snapshot(quarantine=held))

    assert "quarantine" in text
    assert "412 suspects" in text
    assert "notes[3]" in text
    assert "at offset 90071, which has ended 1 workers" in text
    assert max(map(len, text.splitlines())) <= 80
    assert "quarantine" not in drawn(snapshot())
    told = snapshot(quarantine=held).as_json()["quarantine"]
    assert (told[0]["suspects"], told[0]["record"]) == (412, 90_071)


def test_a_whole_snapshot_fits_80_columns():
    text = drawn(snapshot(rates=dict.fromkeys(EDGES, 123456.0)))

    assert max(map(len, text.splitlines())) <= 80
    for expected in (
        "─123k─▶ notes.scrubbed", "dead.letters", "▶ patients",
        "1234 arrive in hl7.raw",
        "phistream-scrub-0", "notes 0-2 5, p", "p99 1,250 ms",
        "     3  scrub  residue",
    ):  # fmt: skip
        assert expected in text, text
    assert "\x1b" not in text


def test_the_branches_start_below_their_stages():
    lines = drawn(snapshot()).splitlines()

    main = next(line for line in lines if line.startswith("hl7.raw"))
    both = next(line for line in lines if line.count("dead.letters") == 2)
    updates = next(line for line in lines if "patient.updates ─" in line)
    stages = [main.index("intake"), main.index("scrub ")]
    for signs, line in (("└", both), ("├", updates)):
        assert stages == [n for n, sign in enumerate(line) if sign in signs]
    assert updates.endswith("▶ ├─▶ patients")


@pytest.mark.parametrize("state", LagState)
def test_the_state_of_each_partition_is_shown(state):
    lags = (lag(0), lag(3, 1500, state, seconds=95.0))
    text = drawn(snapshot(lags=lags), by_partition=True)

    row = next(line for line in text.splitlines() if "1,500" in line)

    assert row.split() == ["phistream-scrub", "notes", "3", "1,500", "95.0", state]


def test_partitions_that_are_well_are_a_row_of_their_topic():
    lags = (lag(0, 3, seconds=2), lag(1, 7, LagState.STALL), lag(2, 4, seconds=9))

    rows = [row.split() for row in drawn(snapshot(lags=lags)).splitlines()]

    assert ["phistream-scrub", "notes", "0", "2", "7", "9.0", "OK"] in rows
    assert ["phistream-scrub", "notes", "1", "7", "0", "STALL"] in rows


def test_a_group_without_workers_is_judged_at_once():
    groups = (GroupView("phistream-scrub", "empty", ()),)
    lags = (lag(0, 34, seconds=89),)

    text = drawn(snapshot(groups=groups, lags=lags, is_judged=False))

    [row] = [row for row in text.splitlines() if " 34 " in row]
    assert row.rstrip().endswith("no worker")


def test_before_a_whole_window_ok_is_not_shown():
    text = drawn(snapshot(is_judged=False))

    assert "OK" not in text
    assert "judged after one minute" in text


def test_a_lag_whose_age_is_unknown_says_so():
    assert " ? " in drawn(snapshot(lags=(lag(0, 5, seconds=None),)))


def test_of_many_partitions_the_worst_are_shown_and_the_others_counted():
    lags = [lag(p, p, LagState.WARN) for p in range(40)]
    lags[1] = lag(1, 1, LagState.STOP)

    text = drawn(snapshot(lags=tuple(lags)))

    assert "and 24 more partitions, none of them worse" in text
    numbers = re.findall(r"notes +(\d+) .*(?:STOP|WARN)", text)
    assert numbers == ["1", *map(str, range(25, 40))]


@pytest.mark.parametrize("height", [24, 30, 50])
def test_a_live_snapshot_is_no_higher_than_its_terminal(height):
    lags = tuple(lag(p, p, LagState.WARN) for p in range(40))

    text = drawn(snapshot(lags=lags), height=height)

    assert len(text.splitlines()) <= height


def test_a_group_without_workers_says_so():
    groups = (GroupView("phistream-intake", "empty", ()),)

    assert "no worker" in drawn(snapshot(groups=groups))


def test_foreign_names_do_not_control_the_terminal():
    assert printable("\x1b[31mred\r\n\x07") == "[31mred"
    member = Member("[bold]me[/bold]", "[/]", {"notes": (0,)})

    text = drawn(snapshot(groups=(GroupView("g", "stable", (member,)),)))

    assert "[bold]me[/bold]" in text


def test_an_empty_snapshot_is_shown_without_error():
    text = drawn(Snapshot(at=NOW, source="x"), "not of now: list offsets: TIMED_OUT")

    assert "no flow yet" in text
    assert "not of now: list offsets: TIMED_OUT" in text


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (0, "0"), (0.04, "0.04"), (3.21, "3.2"), (99.94, "99.9"), (99.96, "100"),
        (1234.4, "1234"), (12_345, "12k"), (1_234_567, "1.2M"), (1e12, "many"),
    ],
)  # fmt: skip
def test_numbers_are_shown_in_four_characters(value, expected):
    assert expected == short(value)
    assert len(short(value)) <= 4


def test_runs_of_partitions_are_shown_in_short():
    assert ranges((9, 0, 1, 2, 3, 7, 10)) == "0-3 7 9-10"
    assert ranges(()) == ""


def test_json_has_everything():
    told = orjson.loads(orjson.dumps(snapshot().as_json()))

    assert {"from": "hl7.raw", "to": "intake", "per_second": 12.34} in told["rates"]
    assert told["lags"][0]["state"] == "OK"
    [member] = told["groups"][0]["members"]
    assert member["partitions"] == {"notes": [0, 1, 2, 5], "patient.updates": [0, 3]}
