"""The engine alone, against every way a call can fail."""

from __future__ import annotations

import random
from collections import Counter
from contextlib import suppress
from dataclasses import replace

import pytest

from streams.engine.claim import Claim, Life
from streams.engine.custody import ProcessedOffset
from streams.engine.deadline import Overrun
from streams.engine.errors import (
    ConfigError,
    CorruptState,
    FatalError,
    Fenced,
    GivenUp,
    InvalidRecord,
    RecordRefused,
    RetriableError,
    UnknownOutcome,
)
from streams.engine.reasons import ReasonCode
from streams.engine.records import CommittedOffset, Output, Partition, Record
from streams.engine.runner import Limits
from tests.streams.kafka import local_broker as local

NOTES = [b"a", b"b", b"bad", b"c", b"d", b"e", b"f"]


class Upper:
    """A processor that upper-cases, and remembers what it was told."""

    def __init__(self):
        self.told = []
        self.trouble = None
        self._ready = [0, 1]

    def ready(self):
        done, self._ready = self._ready, []
        return done

    def settled(self, claimed):
        return claimed

    def due(self, claimed):
        return {}

    def reread(self):
        self.told.append("reread")

    def rebuild(self):
        self.told.append("rebuilt")

    def process(self, records):
        if self.trouble is not None:
            trouble, self.trouble = self.trouble, None
            raise trouble
        return [self._outcome(record) for record in records]

    def dead_letter(self, record, error):
        return (Output("dead", record.key, record.value), Output("audit", None, b"1"))

    def committed(self, written):
        self.told.append("committed")

    def aborted(self):
        self.told.append("aborted")

    def drop_state(self):
        self.told.append("dropped")
        self._ready = [0, 1]
        return [0, 1]

    def _outcome(self, record):
        if record.value == b"bad":
            return InvalidRecord(ReasonCode.SCHEMA, "note: bad")
        upper = Output("scrubbed", record.key, record.value.upper())
        return (upper, Output("audit", None, b"1"))


@pytest.fixture
def broker():
    broker = local.LocalBroker()
    for number, note in enumerate(NOTES):
        broker.put(number % 2, note)
    return broker


def start(broker, processor=None, **options):
    return local.start(broker, processor or Upper(), **({"max_failures": 8} | options))


def run_to_the_end(broker, processor=None):
    runner = start(broker, processor)
    idle = 0
    while idle < 3:
        idle = 0 if runner.run_once() else idle + 1


def assert_exactly_once(broker):
    scrubbed = Counter(output.value for output in broker.committed["scrubbed"])
    assert {n.upper(): 1 for n in NOTES if n != b"bad"} == scrubbed
    assert [output.value for output in broker.committed["dead"]] == [b"bad"]
    assert len(NOTES) == len(broker.committed["audit"])


@pytest.mark.parametrize("operation", local.OPERATIONS)
@pytest.mark.parametrize("call", range(4))
def test_a_crash_before_any_operation_neither_loses_nor_doubles(
    broker, operation, call
):
    """A crash before every operation of the transaction, and a restart."""
    broker.plan(operation, call, local.Crash())
    for _ in range(2):
        with suppress(local.Crash):
            run_to_the_end(broker)

    assert_exactly_once(broker)


def test_the_crashes_really_happen(broker):
    """Of the planned crashes only those of operations that do not occur stay unmet."""
    for operation in local.OPERATIONS:
        broker.plan(operation, 0, local.Crash())
    for _ in range(len(local.OPERATIONS)):
        with suppress(local.Crash):
            run_to_the_end(broker)

    assert broker.unmet == {"abort"}  # a crash needs none
    assert broker.aborted > 0


FAULTS = [
    (operation, trouble)
    for operation in (
        "poll",
        "begin",
        "produce",
        "send_offsets",
        "commit",
        "after_commit",
    )
    for trouble in local.TROUBLES
    # A commit that has passed can't ask for an abort any more.
    if (operation, trouble) != ("after_commit", "retriable")
]


@pytest.mark.parametrize(("operation", "trouble"), FAULTS)
@pytest.mark.parametrize("call", range(3))
def test_an_error_of_any_operation_neither_loses_nor_doubles(
    broker, operation, call, trouble
):
    """Abort and rewind, or a new producer and a look at the committed offset."""
    broker.plan(operation, call, local.TROUBLES[trouble])

    run_to_the_end(broker)

    assert not broker.unmet
    assert_exactly_once(broker)


@pytest.mark.parametrize("operation", ["abort", "committed", "init"])
def test_an_undo_that_fails_is_undone_by_a_new_producer(broker, operation):
    """The second failure falls into the recovery from the first."""
    runner = start(broker)
    broker.plan("commit", 1, RetriableError("planned"))
    broker.plan(operation, 0, RetriableError("planned"))
    for _ in range(20):
        runner.run_once()

    assert_exactly_once(broker)


def test_order_is_kept_within_a_partition_through_errors(broker):
    """A rewind repeats nothing that is visible and skips nothing."""
    broker.plan("commit", 1, RetriableError("planned"))

    run_to_the_end(broker)

    values = b"".join(o.value for o in broker.committed["scrubbed"])
    assert bytes(value for value in values if value in b"ADF") == b"ADF"
    assert bytes(value for value in values if value in b"BCE") == b"BCE"


def test_commits_nothing_when_idle():
    """An idle topic opens no transaction but its claim's, so none can time out."""
    broker = local.LocalBroker()
    broker.plan("begin", 1, local.Crash())

    run_to_the_end(broker)

    assert broker.unmet == {"begin"}


def test_a_damaged_table_is_dropped_and_its_notes_come_again(broker):
    """CorruptState: drop, wait until restored, go on."""
    processor = Upper()
    processor.trouble = CorruptState("planned")

    run_to_the_end(broker, processor)

    assert "dropped" in processor.told
    assert_exactly_once(broker)


def test_a_bug_of_the_processor_is_not_swallowed(broker):
    """What is no StreamError ends the process with the offset where it was."""
    processor = Upper()
    processor.trouble = ZeroDivisionError()

    with pytest.raises(ZeroDivisionError):
        run_to_the_end(broker, processor)

    assert {each.offset for each in broker.offsets.values()} == {0}


def test_gives_up_after_too_many_failures(broker):
    """An error that stays ends the process instead of turning for ever."""
    runner = start(broker, max_failures=3)

    def fail_for_ever():
        for _ in range(10):
            broker.plan("poll", 0, RetriableError("planned"))
            runner.run_once()

    with pytest.raises(FatalError, match="4 batches failed in a row"):
        fail_for_ever()


class Offline(local.LocalBroker):
    """Commits nothing that holds a certain output; says why by an error."""

    def __init__(self, error, **options):
        super().__init__(**options)
        self.error = error

    def meet(self, operation):
        super().meet(operation)
        outputs = self._open[0] if self._open else ()
        if operation == "commit" and any(o.value == b"N003" for o in outputs):
            raise self.error("planned")


def workers(broker, count):
    """Run worker after worker as `workers.worker` does; return those that gave up."""
    given_up = 0
    for _ in range(count):
        runner = start(broker, max_records=4, max_failures=3)
        try:
            for _ in range(20):
                runner.run_once()
        except GivenUp:
            given_up += 1
            runner.release()
        except FatalError:
            pass
    return given_up


@pytest.mark.parametrize("error", [UnknownOutcome, RetriableError])
def test_commits_that_fail_for_no_records_sake_make_no_record_poison(error):
    broker = Offline(error, partitions=1)
    for number in range(10):
        broker.put(0, b"n%03d" % number)

    assert workers(broker, 6) == 6
    assert broker.offsets[Partition("notes", 0)].metadata == "phistream/1 released"
    broker.error = None
    broker.meet = lambda _operation: None
    assert lives(broker, Upper) == 0
    assert_once(broker, 10)


def test_a_record_whose_output_the_broker_refuses_is_found():
    broker = Offline(RecordRefused, partitions=1)
    for number in range(10):
        broker.put(0, b"n%03d" % number)

    assert workers(broker, 6) == 0
    assert_once(broker, 10, dead=[b"n003"])


def test_a_failed_batch_comes_again_in_halves():
    """A batch that is too slow for the transaction's time gets smaller, then grows."""
    broker = local.LocalBroker(partitions=1)
    for number in range(40):
        broker.put(0, b"%d" % number)
    runner = start(broker, max_records=8)
    broker.plan("commit", 0, RetriableError("planned"))

    sizes = [runner.run_once() for _ in range(4)]

    assert sizes == [0, 4, 8, 8]


class Deadly(Upper):
    """Takes the process along at some notes, or takes too long over them."""

    def __init__(self, deadly=(), slow=()):
        super().__init__()
        self._deadly, self._slow = deadly, slow
        self.sizes = []

    def process(self, records):
        self.sizes.append(len(records))
        values = {record.value for record in records}
        if values & set(self._deadly):
            raise local.Crash
        if values & set(self._slow):
            raise Overrun
        return super().process(records)

    def dead_letter(self, record, error):
        self.told.append((record.value, error.code))
        return super().dead_letter(record, error)


def lives(broker, make, **limits):
    """Run worker after worker until nothing is left; return how many have died."""
    for deaths in range(40):
        try:
            runner = start(broker, make(), **limits)
            idle = 0
            while idle < 3:
                idle = 0 if runner.run_once() else idle + 1
        except local.Crash:
            continue
        return deaths
    raise AssertionError("the stream stands")


def many(count, partitions=2):
    broker = local.LocalBroker(partitions)
    for number in range(count):
        broker.put(number % partitions, b"n%03d" % number)
    return broker


def assert_once(broker, count, dead=()):
    values = [output.value for output in broker.committed["scrubbed"]]
    wanted = {b"N%03d" % n for n in range(count)} - {value.upper() for value in dead}
    assert sorted(wanted) == sorted(values)
    assert sorted(dead) == sorted(o.value for o in broker.committed["dead"])
    for partition in range(broker.partitions):
        own = [v for v in values if int(v[1:]) % broker.partitions == partition]
        assert sorted(own) == own


@pytest.mark.parametrize("place", [0, 1, 20, 58, 59])
@pytest.mark.parametrize("most", [1, 7, 100])
def test_a_record_that_ends_its_worker_costs_three_workers_and_is_a_dead_letter(
    place, most
):
    broker, poison = many(60), b"n%03d" % place

    deaths = lives(broker, lambda: Deadly([poison]), max_records=most + 3)

    assert deaths == 3
    assert_once(broker, 60, [poison])


def test_records_that_end_their_worker_on_all_partitions_harm_no_other():
    broker, poison = many(60), [b"n010", b"n011", b"n033"]

    deaths = lives(broker, lambda: Deadly(poison), max_records=30)

    assert deaths <= 9
    assert_once(broker, 60, poison)


def test_what_has_killed_is_not_processed_again_and_normal_batches_resume():
    broker = many(60, partitions=1)
    workers = []

    def make():
        workers.append(Deadly([b"n005"]))
        return workers[-1]

    lives(broker, make, max_records=10)
    last = workers[-1]

    assert (b"n005", "poison") in last.told
    assert max(last.sizes) == 10


@pytest.mark.parametrize("seed", range(20))
def test_workers_killed_at_random_moments_make_no_poison(seed):
    """Each life ends before some operation of some transaction."""
    broker, rng = many(300), random.Random(seed)

    def make():
        if rng.random() < 0.9:
            operation = rng.choice(local.OPERATIONS)
            broker.plan(operation, rng.randrange(60), local.Crash())
        return Upper()

    lives(broker, make, max_records=20)

    assert_once(broker, 300)


def test_deaths_with_progress_in_between_do_not_add_up():
    """Every life ends in the middle of the suspects that the one before left."""
    broker = many(40, partitions=1)
    for _ in range(12):
        runner = start(broker, Upper(), max_records=20)
        runner.run_once()  # and then it is killed: nothing is released

    lives(broker, Upper)

    assert_once(broker, 40)


def test_a_micro_batch_that_takes_too_long_is_taken_apart():
    broker, slow = many(60), b"n020"
    processor = Deadly(slow=[slow])

    deaths = lives(broker, lambda: processor, max_records=30)

    assert deaths == 0
    assert_once(broker, 60, [slow])
    assert (slow, "deadline") in processor.told
    assert "rebuilt" in processor.told


def test_what_was_interrupted_is_replaced_although_the_abort_fails(broker):
    processor = Upper()
    calls, process = [], processor.process

    def overrun_in_the_second_micro_batch(records):
        calls.append(len(records))
        if len(calls) == 2:
            raise Overrun
        assert len(calls) < 2 or "rebuilt" in processor.told
        return process(records)

    processor.process = overrun_in_the_second_micro_batch
    runner = start(broker, processor, micro_batch_bytes=1)
    broker.plan("abort", 0, RetriableError("planned"))
    for _ in range(20):
        runner.run_once()

    assert not broker.unmet
    assert_exactly_once(broker)


@pytest.mark.parametrize(("seconds", "micro_batches"), [(1.0, 3), (3.0, 1)])
def test_a_batch_that_takes_long_commits_what_it_has(seconds, micro_batches):
    broker = many(60, partitions=1)
    processor, now = Deadly(), [0.0]
    process = processor.process

    def slow(records):
        now[0] += seconds
        return process(records)

    processor.process = slow
    # The next micro-batch may take longer than half of the batch's time.
    runner = start(
        broker, processor, max_records=40, micro_batch_bytes=50, commit_seconds=5.0
    )
    runner._clock = lambda: now[0]

    size = runner.run_once()

    assert micro_batches == len(processor.sizes)
    assert sum(processor.sizes) == size < 40
    lives(broker, Upper)
    assert_once(broker, 60)


def test_a_process_that_was_away_for_long_accuses_the_records_it_had(broker):
    now, accused = [0.0], []
    processor = Upper()
    process = processor.process

    def slow(records):
        now[0] += 21.0
        return process(records)

    processor.process = slow
    runner = start(broker, processor, micro_batch_seconds=20.0, commit_seconds=1e3)
    runner._clock = lambda: now[0]
    runner._custody._accused = accused.append

    runner.run_once()

    # Its commit shows that the group has not missed it.
    assert accused == [True, False]


@pytest.mark.parametrize(
    ("batch", "size", "latest"),
    [
        (10.0, 1000, 5.0),
        # A transaction of 10 s, and one of 2 s.
        (5.0, 1000, 2.5),
        (1.0, 1000, -3.1),
        # A record that may take longer than the rest of its transaction goes first.
        (10.0, 1_500_000, -1.0),
    ],
)
def test_a_batch_leaves_to_the_next_what_may_outlast_its_transaction(
    batch, size, latest
):
    record = Record(Partition("notes", 0), 0, b"", b"x" * size)
    limits = Limits(
        max_records=1, batch_seconds=0, commit_seconds=batch, micro_batch_seconds=20.0
    )

    assert latest == pytest.approx(limits.seconds_before([record]), abs=0.05)


def test_a_batch_of_quick_notes_is_whole_next_to_a_short_transaction_timeout():
    """All but the first micro-batch were read again: a batch had 64 notes at most."""
    broker = many(60, partitions=1)
    runner = start(
        broker, Upper(), max_records=40, micro_batch_bytes=50, commit_seconds=5.0
    )

    assert runner.run_once() == 40


def test_a_micro_batch_is_bounded_by_bytes():
    broker = local.LocalBroker(partitions=1)
    for size in (10, 10, 300, 10, 10):
        broker.put(0, b"x" * size)
    processor = Deadly()
    runner = start(
        broker, processor, max_records=10, micro_batch_bytes=100, commit_seconds=1e3
    )

    runner.run_once()

    assert processor.sizes == [2, 1, 2]


def test_an_owner_that_leaves_in_order_casts_no_suspicion():
    broker = many(40)
    runner = start(broker, Upper(), max_records=10)
    runner.run_once()
    runner._custody.release()
    processor = Deadly()

    lives(broker, lambda: processor, max_records=10)

    assert max(processor.sizes) == 10


def test_an_offset_that_somebody_else_has_set_is_claimed_again():
    broker = many(10, partitions=1)
    runner = start(broker, Upper(), max_records=4)
    runner.run_once()
    place = Partition("notes", 0)
    broker.offsets[place] = CommittedOffset(8, "set by hand")
    broker.plan("commit", 0, RetriableError("planned"))
    for _ in range(6):
        runner.run_once()

    assert CommittedOffset(10, "phistream/1 held") == broker.offsets[place]


@pytest.mark.parametrize("operation", ["commit", "send_offsets"])
def test_nothing_is_published_twice_when_committed_offsets_go_back(operation):
    """As those of a coordinator do that has read only a part of its log."""
    broker = many(12, partitions=1)
    runner = start(broker, Upper(), max_records=4)
    runner._custody._identities = {"notes": "id"}
    runner.run_once()
    runner.run_once()
    of_before = Claim(is_held=True, of="id")
    broker.offsets[Partition("notes", 0)] = CommittedOffset(1, str(of_before))
    broker.plan(operation, 0, RetriableError("planned"))
    for _ in range(8):
        runner.run_once()

    published = [output.value for output in broker.committed["scrubbed"]]
    assert 12 == len({*published}) == len(published)
    assert broker.offsets[Partition("notes", 0)].offset == 12


@pytest.mark.parametrize("trouble", [UnknownOutcome, Fenced])
def test_after_an_unknown_outcome_partitions_are_claimed_anew_and_go_on(trouble):
    broker = many(24)
    runner = start(broker, Upper(), max_records=4)
    asked = []

    def processed(committed):
        asked.append({each.index for each in committed})
        return {p: ProcessedOffset(each.offset) for p, each in committed.items()}

    runner._custody._processed = processed
    runner._custody._life = Life("a", frozenset({"a"}))
    runner.run_once()
    broker.plan("commit", 0, trouble("planned"))
    for _ in range(4):
        runner.run_once()
    assert asked == ([{0, 1}] * 2)
    assert runner._custody.quarantined == 0

    broker.plan("commit", 0, trouble("planned"))
    runner.run_once()
    runner.release()
    claims = [Claim.read(each.metadata) for each in broker.offsets.values()]
    assert [each.is_held for each in claims] == [False, False]
    runner = start(broker, Upper())
    for _ in range(20):
        runner.run_once()
    published = [output.value for output in broker.committed["scrubbed"]]
    assert 24 == len({*published}) == len(published)


def test_a_partition_whose_offset_is_in_doubt_is_held_back_and_no_other():
    broker = many(24)
    runner = start(broker, Upper(), max_records=4)
    doubtful = Partition("notes", 0)
    runner._custody._identities = {"notes": "id"}
    runner._custody._processed = lambda committed: {
        p: ProcessedOffset(each.offset, has_gaps=p == doubtful)
        for p, each in committed.items()
        if each.metadata
    }
    runner.run_once()
    assert broker.offsets[doubtful].offset > 0
    broker.offsets[doubtful] = CommittedOffset(0, str(Claim(is_held=True, of="id")))
    broker.plan("commit", 0, RetriableError("planned"))
    for _ in range(12):
        runner.run_once()

    assert runner._consumer._flowing == {1}
    assert broker.offsets[doubtful].offset == 0
    other = Partition("notes", 1)
    assert len(broker.logs[other]) == broker.offsets[other].offset


def test_a_record_that_is_delivered_once_more_is_not_published_once_more():
    broker = many(8, partitions=1)
    runner = start(broker, Upper(), max_records=4)
    runner.run_once()
    # As the client does where the topic ends before the committed offset.
    runner._consumer._positions[Partition("notes", 0)] = 2

    # A batch is smaller after a failure.
    assert [runner.run_once() for _ in range(3)] == [0, 2, 2]
    published = [output.value for output in broker.committed["scrubbed"]]
    assert 8 == len({*published}) == len(published)


def test_a_topic_that_ends_before_the_committed_offset_stops_the_worker():
    broker = many(4, partitions=1)
    runner = start(broker, Upper(), max_records=4)
    runner.run_once()
    place = Partition("notes", 0)
    broker.offsets[place] = replace(broker.offsets[place], offset=400)
    runner._consumer.rewind = lambda: _from_the_start(runner._consumer, broker)
    runner._to_undo = RetriableError("planned")

    def turn_for_ever():
        for _ in range(20):
            runner.run_once()

    with pytest.raises(GivenUp, match="Lost offsets in the runbook"):
        turn_for_ever()

    assert len(broker.committed["scrubbed"]) == 4
    assert broker.offsets[place].offset == 400


def _from_the_start(consumer, broker):
    consumer._positions[Partition("notes", 0)] = 0
    return dict(broker.offsets)


def test_a_table_that_is_damaged_after_an_unknown_outcome_is_dropped(broker):
    """Reading it on fails: without dropping it the batch would never be undone."""
    processor = Upper()
    damage = [CorruptState("planned")]

    def reread():
        if damage:
            raise damage.pop()

    processor.reread = reread
    broker.plan("commit", 1, local.TROUBLES["unknown"])

    run_to_the_end(broker, processor)

    assert "dropped" in processor.told
    assert_exactly_once(broker)


def test_all_that_is_written_is_sealed_record_by_record(broker):
    calls = []

    def seal(outputs):
        calls.append([each.topic for each in outputs])
        return [replace(each, headers={"seal": b"s"}) for each in outputs]

    class Due(Upper):
        left = 1

        def due(self, claimed):
            left, self.left = self.left, 0
            return {0: [Output("notes", b"k", b"again")]} if left else {}

    runner = start(broker, Due(), seal=seal)
    for _ in range(8):
        runner.run_once()

    assert Counter(map(tuple, calls)) == Counter(
        {("scrubbed", "audit"): 6, ("dead", "audit"): 1, ("notes",): 1}
    )
    written = [each for topic in broker.committed.values() for each in topic]
    assert {each.headers["seal"] for each in written} == {b"s"}


class Refusing(Upper):
    """Can't go on when it comes to a note, through no fault of the note."""

    def process(self, records):
        if any(record.value == b"n070" for record in records):
            raise ConfigError("a later version")
        return super().process(records)


def test_a_worker_that_stops_in_the_midst_of_a_batch_leaves_in_order(caplog):
    broker = many(100, partitions=1)
    runner = start(broker, Refusing(), max_records=100)
    with pytest.raises(ConfigError):
        runner.run_once()

    runner.release()

    place = Partition("notes", 0)
    assert CommittedOffset(0, "phistream/1 released") == broker.offsets[place]
    assert not caplog.records
    assert lives(broker, Upper) == 0
    assert_once(broker, 100)
