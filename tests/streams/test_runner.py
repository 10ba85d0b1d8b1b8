"""The engine alone, against every way a call can fail."""

from __future__ import annotations

from collections import Counter
from contextlib import suppress

import pytest

from streams.checkpoint import Checkpoint
from streams.errors import CorruptState, FatalError, InvalidRecord, RetriableError
from streams.records import Output
from streams.runner import Runner
from tests.streams import local_broker as local

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

    def process(self, records):
        if self.trouble is not None:
            trouble, self.trouble = self.trouble, None
            raise trouble
        return [self._outcome(record) for record in records]

    def dead_letter(self, record, error):
        return (Output("dead", record.key, record.value), Output("audit", None, b"1"))

    def committed(self):
        self.told.append("committed")

    def aborted(self):
        self.told.append("aborted")

    def drop_state(self):
        self.told.append("dropped")
        self._ready = [0, 1]
        return [0, 1]

    def _outcome(self, record):
        if record.value == b"bad":
            return InvalidRecord("bad", "note: bad")
        upper = Output("scrubbed", record.key, record.value.upper())
        return (upper, Output("audit", None, b"1"))


@pytest.fixture
def broker():
    broker = local.LocalBroker()
    for number, note in enumerate(NOTES):
        broker.put(number % 2, note)
    return broker


def start(broker, processor=None, **options):
    checkpoint = Checkpoint(local.LocalProducer(broker))
    consumer = local.LocalConsumer(broker)
    options = {"most": 2, "seconds": 0, "patience": 8} | options
    return Runner(consumer, processor or Upper(), checkpoint, **options)


def run_to_the_end(broker, processor=None):
    runner = start(broker, processor)
    idle = 0
    while idle < 3:
        idle = 0 if runner.run_once() else idle + 1


def assert_exactly_once(broker):
    scrubbed = Counter(output.value for output in broker.committed["scrubbed"])
    assert {n.upper(): 1 for n in NOTES if n != b"bad"} == scrubbed
    assert [b"bad"] == [output.value for output in broker.committed["dead"]]
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

    assert {"abort", "committed"} == broker.unmet  # a crash needs neither
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
    assert b"ADF" == bytes(value for value in values if value in b"ADF")
    assert b"BCE" == bytes(value for value in values if value in b"BCE")


def test_commits_nothing_when_idle():
    """An idle topic opens no transaction, so none can time out."""
    broker = local.LocalBroker()
    broker.plan("begin", 0, local.Crash())

    run_to_the_end(broker)

    assert {"begin"} == broker.unmet


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

    assert {} == broker.offsets


def test_gives_up_after_its_patience(broker):
    """An error that stays ends the process instead of turning for ever."""
    runner = start(broker, patience=3)

    def fail_for_ever():
        for _ in range(10):
            broker.plan("poll", 0, RetriableError("planned"))
            runner.run_once()

    with pytest.raises(FatalError, match="4 batches failed in a row"):
        fail_for_ever()


def test_a_failed_batch_comes_again_in_halves():
    """A batch that is too slow for the transaction's time gets smaller, then grows."""
    broker = local.LocalBroker(partitions=1)
    for number in range(40):
        broker.put(0, b"%d" % number)
    runner = start(broker, most=8)
    broker.plan("commit", 0, RetriableError("planned"))

    sizes = [runner.run_once() for _ in range(4)]

    assert [0, 4, 8, 8] == sizes
