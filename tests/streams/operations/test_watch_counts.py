"""Watch's pure parts: what a record counts as, windows, quantiles, the figures."""

from __future__ import annotations

import asyncio
from collections import Counter
from types import SimpleNamespace

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deid_core.labels import Label
from streams.engine.reasons import REASONS
from streams.kafka.topics import DEAD_LETTERS, PHI_AUDIT
from streams.operations.counts import allowed_values as allowed
from streams.operations.counts import figures
from streams.operations.counts.counters import UNREADABLE, counts_of
from streams.operations.counts.quantile_sketch import (
    ACCURACY,
    bucket_of,
    quantiles,
    value_of,
)
from streams.operations.counts.windows import (
    DAY,
    HOUR,
    MINUTE,
    WINDOWS,
    Bucket,
    RecordCounts,
    roll_up,
    window_counts,
)
from streams.operations.watch.topic_counter import (
    MAX_REMEMBERED,
    CountedOffsets,
    TopicCounter,
)

NOW = 1_790_000_000.0
RECEIVED = {"received": b"%013d" % ((NOW - 0.25) * 1000)}
ZZ = "Zzquist"


def facts(topic, value, headers=RECEIVED):
    return counts_of(topic.name, orjson.dumps(value), headers, int(NOW * 1000))


# --- what a record counts as


def test_a_scrubbed_event_counts_what_was_published_how_and_how_long_it_took():
    annotations = [
        {"label": "DATE", "detector": "rules/iso_date"},
        {"label": "NAME:PATIENT", "detector": "known/family~"},
        {"label": "NAME:PATIENT", "detector": "tagger/english"},
    ]
    event = {
        "stage": "scrub", "outcome": "scrubbed", "join": "found", "preset": "hybrid",
        "policy": "safe-harbor", "version": "0.1.0", "key_id": "0123abcd",
        "note_type": "11506-3", "annotations": annotations,
    }  # fmt: skip

    assert facts(PHI_AUDIT, event) == {
        "audit/scrub": 1,
        "taken/notes": 1,
        "published/notes": 1,
        "type/11506-3": 1,
        f"latency/scrub/{bucket_of(250)}": 1,
        "setup/hybrid/safe-harbor/0.1.0/0123abcd": 1,
        "join/found": 1,
        "label/DATE": 1,
        "label/NAME:PATIENT": 2,
        "detector/rules": 1,
        "detector/known~": 1,
        "detector/tagger": 1,
    }


def test_a_routed_event_counts_what_it_gave_and_how_long_it_took():
    event = {
        "stage": "intake", "outcome": "routed",
        "routed": {"patients": 2, "notes": 1, "skipped": {ZZ: 3}},
    }  # fmt: skip

    took = f"latency/intake/{bucket_of(250)}"
    assert facts(PHI_AUDIT, event) == {
        "audit/intake": 1,
        "routed/patients": 2,
        "routed/notes": 1,
        took: 1,
    }


def test_a_repeated_message_was_taken_and_gave_nothing():
    event = {
        "stage": "intake", "outcome": "repeated",
        "routed": {"patients": 0, "notes": 0, "skipped": {}, "repeated": 2},
    }  # fmt: skip

    took = f"latency/intake/{bucket_of(250)}"
    assert facts(PHI_AUDIT, event) == {
        "audit/intake": 1,
        "repeated/messages": 2,
        took: 1,
    }


def test_a_note_that_is_held_then_discarded_was_taken_once():
    events = [{"stage": "scrub", "outcome": each} for each in ("held", "discarded")]

    assert [facts(PHI_AUDIT, each)["taken/notes"] for each in events] == [1, 0]


def test_a_rebuilt_message_is_no_published_note():
    event = {"stage": "scrub", "outcome": "scrubbed", "format": "fhir", "join": "found"}

    counts = facts(PHI_AUDIT, event)

    assert (counts["rebuilt/messages"], counts["published/notes"]) == (1, 0)
    edges = figures.flow(seen(counts), None)["edges"]
    assert [each["hour"] for each in edges if each["to"] == "hl7.scrubbed"] == [1]
    assert not [name for name in counts if name.startswith(("join", "type", "label"))]


@pytest.mark.parametrize(("topic", "notes"), [("notes", 1), ("patient.updates", 0)])
def test_a_refused_update_is_no_note_that_scrub_took(topic, notes):
    event = {
        "stage": "scrub", "outcome": "dead_letter", "code": "schema",
        "source": {"topic": topic, "partition": 0, "offset": 7},
    }  # fmt: skip

    counts = facts(PHI_AUDIT, event)

    assert (counts["audit/scrub"], counts["refused/scrub/schema"]) == (1, 1)
    assert notes == counts["taken/notes"]


def test_a_dead_letter_counts_only_by_stage_and_code():
    letter = {"stage": "intake", "code": "bad_msh", "reason": ZZ, "sealed": {}}

    assert facts(DEAD_LETTERS, letter) == {"dead/intake/bad_msh": 1}


@pytest.mark.parametrize(
    "headers", [{}, {"received": b"0" * 13}, {"received": b"soon"}, {"received": b"1"}]
)
def test_without_a_credible_time_there_is_no_latency(headers):
    event = {"stage": "scrub", "outcome": "scrubbed", "note_type": ""}
    counts = facts(PHI_AUDIT, event, headers)

    assert (counts["published/notes"], counts["type/none"]) == (1, 1)
    assert [name for name in counts if name.startswith("latency")] == []


def test_the_time_for_which_a_note_was_held_is_no_latency():
    event = {"stage": "scrub", "outcome": "scrubbed", "held": "operator"}
    counts = facts(PHI_AUDIT, event)

    assert counts["published/notes"] == 1
    assert [name for name in counts if name.startswith("latency")] == []


def test_a_held_note_is_taken_once_and_not_published():
    held = {"stage": "scrub", "outcome": "held"}

    assert facts(PHI_AUDIT, held) == {"audit/scrub": 1, "taken/notes": 1}
    assert facts(PHI_AUDIT, held | {"outcome": "discarded"}) == {"audit/scrub": 1}


@pytest.mark.parametrize("value", [b"", b"{", b"[]", b"7"])
@pytest.mark.parametrize("topic", [PHI_AUDIT, DEAD_LETTERS], ids=str)
def test_what_is_not_an_object_counts_as_unreadable(topic, value):
    assert counts_of(topic.name, value, {}, 0) == UNREADABLE


def test_a_null_value_erases_a_letter_or_says_so_and_is_unreadable_elsewhere():
    assert not counts_of(DEAD_LETTERS.name, None, {}, 0)
    assert counts_of(PHI_AUDIT.name, None, {}, 0) == UNREADABLE
    assert not counts_of(PHI_AUDIT.name, None, {"outcome": b"erased"}, 0)


@pytest.mark.parametrize("topic", [PHI_AUDIT, DEAD_LETTERS], ids=str)
def test_no_value_of_a_record_passes_unless_it_is_a_known_word(topic):
    """Every field that a record may have holds a name; none comes through."""
    record = {
        "stage": ZZ, "outcome": "scrubbed", "join": ZZ, "preset": ZZ, "policy": ZZ,
        "version": ZZ, "key_id": ZZ, "note_type": ZZ, "code": ZZ, "text": ZZ,
        "annotations": [{"label": ZZ, "detector": f"{ZZ}/x"}, {"label": [ZZ]}],
        "routed": {"patients": ZZ, "notes": ZZ},
    }  # fmt: skip

    for outcome in ("scrubbed", "routed", "dead_letter", ZZ):
        counts = facts(topic, record | {"outcome": outcome}, {"received": ZZ.encode()})
        assert ZZ not in str(counts)


def test_every_label_of_the_library_is_known():
    assert {allowed.label(label.value) for label in Label} == allowed.LABELS
    assert allowed.OTHER not in allowed.LABELS


def test_a_code_is_counted_under_its_name_only_when_it_is_one():
    assert [allowed.code(each) for each in REASONS] == [*REASONS]
    assert allowed.OTHER == allowed.code(ZZ) == allowed.code(["residue"])


def test_detectors_are_counted_by_name_without_their_rules():
    sources = ["rules/ssn", "known/patient~", "terms/remove", "nus/date", f"{ZZ}/a", 3]
    assert [allowed.detector(each) for each in sources] == [
        "rules",
        "known~",
        "terms",
        "nus",
        allowed.OTHER,
        allowed.OTHER,
    ]


# --- quantiles


@given(st.lists(st.floats(1, 1e8), min_size=1, max_size=200))
def test_a_quantile_is_off_by_no_more_than_the_accuracy(durations):
    counts = Counter(map(bucket_of, durations))
    ordered = sorted(durations)

    for q in (0.0, 0.5, 0.9, 1.0):
        exact = ordered[int(q * (len(ordered) - 1))]
        [found] = quantiles(counts, [q])
        assert abs(found - exact) <= ACCURACY * exact * 1.001


def test_sketches_merge_by_adding():
    low, high = Counter({bucket_of(10): 5}), Counter({bucket_of(1000): 5})

    assert quantiles(low + high, [0.4, 0.9]) == [
        value_of(bucket_of(10)),
        value_of(bucket_of(1000)),
    ]


def test_nothing_has_no_quantile():
    assert quantiles({}, [0.5, 0.99]) == [None, None]


# --- windows


class Ring:
    """A table as `roll_up` sees it."""

    def __init__(self):
        self.buckets = {}

    def take(self, *facts, partition=0, now=NOW):
        self.buckets |= roll_up(self.buckets.get, partition, facts, now)

    def window(self, window):
        return [b for key, b in self.buckets.items() if f"/{window.name}/" in key]

    def total(self, window):
        return sum(bucket.counts["x"] for bucket in self.window(window))


def fact(offset, at=NOW, n=1):
    return RecordCounts(offset, at, {"x": n})


@pytest.mark.parametrize("window", WINDOWS, ids=lambda window: window.name)
def test_a_record_counts_in_every_window(window):
    ring = Ring()
    ring.take(fact(0), fact(1, n=4))

    assert ring.total(window) == 5


@given(st.data())
def test_records_that_come_again_count_once(data):
    """However a crash cuts and repeats the stream, each record counts once."""
    count = data.draw(st.integers(1, 30))
    ahead = data.draw(st.sampled_from([0.0, 0.7, 3600.0]))
    stream = [fact(n, NOW - 100 + 4 * n + ahead * (n % 2)) for n in range(count)]
    ring = Ring()
    begin = 0
    while begin < count:
        end = data.draw(st.integers(begin + 1, count))
        ring.take(*stream[begin:end], now=NOW)
        begin = max(0, end - data.draw(st.integers(0, 5))) if end < count else end
        # The next turn may begin again with what is counted.
    ring.take(*stream, now=NOW + 1)

    assert count == ring.total(DAY) == ring.total(HOUR)


class Stored(dict):
    """A table of Faust's, as a tally uses it."""

    def __init__(self):
        super().__init__()
        self.unconfirmed = []

    @property
    def data(self):
        return self

    async def confirmed(self):
        """All of it is here."""


class Delivered:
    """One delivery of a record; remembers whether it was acknowledged."""

    def __init__(self, offset):
        value = orjson.dumps({"stage": "intake", "code": "bad_msh"})
        self.message = SimpleNamespace(
            offset=offset, timestamp=NOW, partition=0, headers=[], value=value
        )
        self.is_acknowledged = False

    def ack(self):
        self.is_acknowledged = True


class Deliveries:
    """A stream of Faust's that ends."""

    def __init__(self, offsets):
        self.sent = [Delivered(offset) for offset in offsets]

    def noack(self):
        return self

    async def events(self):
        for event in self.sent:
            yield event


def tallied(table, *batches, is_restored=lambda: True):
    """Deliver batches of offsets, each flushed, within one life; return the count."""

    async def live():
        tally = TopicCounter(DEAD_LETTERS.name, table, is_restored, lambda: NOW)
        for offsets in batches:
            stream = Deliveries(offsets)
            await tally.gather(stream)
            await tally.flush()
        total = Counter()
        for key, bucket in tally.buckets():
            if "/day/" in key:
                total.update(bucket.counts)
        return total["dead/intake/bad_msh"], stream

    return asyncio.run(live())


@pytest.mark.parametrize(
    "batches",
    [
        ([0, 1, 2], [3]),
        ([0, 1, 0, 1, 2, 3],),
        ([2, 3], [0, 1, 2, 3]),  # the first were let through too early
        ([3, 0, 1, 2, 3],),
        ([3], [1], [0, 1, 2, 3], [3]),
    ],
)
def test_whatever_the_order_of_deliveries_each_record_counts_once(batches):
    table = Stored()

    assert tallied(table, *batches)[0] == 4
    # The next life gets them all again, and one more.
    assert tallied(table, [0, 1, 2, 3, 4])[0] == 5


def test_records_are_acknowledged_once_they_are_counted():
    _, stream = tallied(Stored(), [0, 1])

    assert [event.is_acknowledged for event in stream.sent] == [True, True]


def test_nothing_is_counted_or_acknowledged_before_the_table_is_restored():
    table = Stored()
    count, stream = tallied(table, [0, 1], is_restored=lambda: False)

    assert (count, dict(table)) == (0, {})
    assert [event.is_acknowledged for event in stream.sent] == [False, False]


def test_what_is_remembered_is_bounded():
    memory = CountedOffsets(5)
    memory.add(range(5, 3 * MAX_REMEMBERED))

    assert memory.missed([4, 5, 3 * MAX_REMEMBERED]) == {3 * MAX_REMEMBERED}


def test_partitions_do_not_disturb_each_other():
    ring = Ring()
    ring.take(fact(7), partition=0)
    ring.take(fact(3), partition=1)

    assert ring.total(MINUTE) == 2


def test_a_bucket_makes_room_for_a_later_one_in_its_place():
    ring = Ring()
    later = NOW + MINUTE.slots * MINUTE.width
    ring.take(fact(0, n=9))
    ring.take(fact(1, later), now=later)

    assert [(b.start, b.counts["x"]) for b in ring.window(MINUTE)] == [
        (MINUTE.start_of(later), 1)
    ]
    assert ring.total(DAY) == 10


def test_the_keys_are_bounded():
    ring = Ring()
    for n in range(3 * DAY.slots):
        at = NOW + n * DAY.width
        ring.take(fact(n, at), now=at)

    assert len(ring.window(DAY)) == DAY.slots
    assert len(ring.buckets) <= sum(window.slots for window in WINDOWS)


def test_a_record_of_last_week_counts_nowhere():
    ring = Ring()
    ring.take(fact(0, NOW - 7 * 86_400))

    assert ring.buckets == {}


def test_a_record_of_an_hour_ahead_counts_as_of_now():
    ring = Ring()
    ring.take(fact(0, NOW + 3600))

    assert [b.start for b in ring.window(MINUTE)] == [MINUTE.start_of(NOW)]


def test_a_bucket_is_what_its_json_says():
    bucket = Bucket(60, 8, Counter({"label/DATE": 2}))

    assert bucket == Bucket.from_json(orjson.loads(orjson.dumps(bucket.to_json())))


def test_a_negative_bucket_is_none():
    with pytest.raises(ValueError, match="not negative"):
        Bucket(-1, 0)


# --- the page's numbers


def seen(counts, ago=0.0):
    """All windows with one bucket of these counts, so long ago."""
    buckets = {
        f"0/{window.name}/0": Bucket(window.start_of(NOW - ago), 1, Counter(counts))
        for window in WINDOWS
    }
    return window_counts(buckets.items(), NOW)


def edge(flow, source, target):
    [found] = [e for e in flow["edges"] if (e["from"], e["to"]) == (source, target)]
    return found


def test_a_live_rate_is_that_of_the_last_ten_complete_seconds():
    flow = figures.flow(seen({"published/notes": 50}, ago=8), 7.0)

    assert (
        edge(flow, "scrub", "notes.scrubbed")["rate"],
        edge(flow, "scrub", "notes.scrubbed")["minute"],
        edge(flow, "scrub", "notes.scrubbed")["day"],
    ) == (5.0, 50, 50)
    assert figures.flow(seen({"published/notes": 5}), 7.0)["edges"][6]["rate"] == 0.0


def test_latency_is_given_by_stage_and_over_time():
    found = figures.latency(seen({f"latency/scrub/{bucket_of(400)}": 3}))["hour"]

    assert (found["scrub"]["count"], found["intake"]["count"]) == (3, 0)
    assert pytest.approx(found["scrub"]["p99"], rel=ACCURACY) == 400
    assert found["intake"]["p50"] is None
    assert [each["count"] for each in found["scrub"]["series"]] == [0] * 59 + [3]


def test_phi_is_given_by_label_and_by_kind_over_time():
    counts = {"label/NAME:PATIENT": 4, "label/DATE": 1, "label/ID:SSN": 2}
    found = figures.phi(seen(counts))["minute"]

    assert found["labels"] == {"NAME:PATIENT": 4, "ID:SSN": 2, "DATE": 1}
    assert (
        found["total"],
        *(found["series"][kind][-1] for kind in ("NAME", "DATE", "ID")),
    ) == (7, 4, 1, 2)


def test_dead_letters_are_given_by_stage_and_code():
    found = figures.dead_letters(seen({"dead/scrub/residue": 2, "dead/intake/x": 1}))

    assert found["day"]["rows"] == [
        {"stage": "scrub", "code": "residue", "count": 2},
        {"stage": "intake", "code": "x", "count": 1},
    ]


def test_a_setup_is_given_with_the_time_of_its_last_use():
    [row] = figures.versions(seen({"setup/hybrid/safe-harbor/0.1.0/0a": 3})["day"])

    assert row == {"preset": "hybrid", "policy": "safe-harbor", "version": "0.1.0",
            "key_id": "0a", "notes": 3, "last": DAY.start_of(NOW)}  # fmt: skip


def test_what_is_older_than_a_window_is_not_in_it():
    windows = seen({"published/notes": 5}, ago=MINUTE.seconds + 5)

    assert (
        windows["minute"].total()["published/notes"],
        windows["hour"].total()["published/notes"],
    ) == (0, 5)
