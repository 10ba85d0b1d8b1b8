"""An in-memory cluster with transactions, for unit tests of the engine alone."""

from __future__ import annotations

from collections import defaultdict

from streams.engine.checkpoint import Checkpoint
from streams.engine.custody import Custody
from streams.engine.deadline import without_limit
from streams.engine.errors import Fenced, RetriableError, StreamError, UnknownOutcome
from streams.engine.records import CommittedOffset, Output, Partition, Record
from streams.engine.runner import Limits, Runner

OPERATIONS = (
    "init", "poll", "begin", "produce", "send_offsets", "commit", "after_commit",
    "abort", "committed",
)  # fmt: skip


class Crash(BaseException):
    """Stands for the process dying at this point."""


class LocalBroker:
    """Topics of several partitions, one group's offsets, one open transaction an id."""

    def __init__(self, partitions=2):
        self.partitions = partitions
        self.logs = defaultdict(list)
        self.committed = defaultdict(list)
        self.offsets = {}
        self.aborted = 0
        self.epoch = 0
        self._open = None
        self._plan = {}

    def put(self, partition, value):
        log = self.logs[Partition("notes", partition)]
        log.append(Record(Partition("notes", partition), len(log), b"k", value))

    def plan(self, operation, call, trouble):
        """Raise ``trouble`` before the given call (0-based) of an operation."""
        self._plan[operation] = [call, trouble]

    def meet(self, operation):
        if operation not in self._plan:
            return
        self._plan[operation][0] -= 1
        if self._plan[operation][0] < 0:
            raise self._plan.pop(operation)[1]

    @property
    def unmet(self):
        return set(self._plan)

    def init(self):
        self.meet("init")
        if self._open is not None:
            self.aborted += 1
        self._open = None
        self.epoch += 1
        return self.epoch


class LocalProducer:
    """As KafkaProducer: init fences and aborts whatever the id had open."""

    def __init__(self, broker):
        self._broker = broker
        self._epoch = broker.init()

    def renew(self):
        self._epoch = self._broker.init()

    def begin(self):
        self._step("begin")
        assert self._broker._open is None, "a transaction is open already"
        self._broker._open = ([], {})

    def produce(self, output):
        self._step("produce")
        self._broker._open[0].append(output)

    def send_offsets(self, offsets, group):
        self._step("send_offsets")
        self._broker._open[1].update(offsets)

    def commit(self):
        self._step("commit")
        outputs, offsets = self._broker._open
        for output in outputs:
            self._broker.committed[output.topic].append(output)
        self._broker.offsets.update(offsets)
        self._broker._open = None
        written = {}
        for at, output in enumerate(outputs):
            if output.partition is not None:
                written[Partition(output.topic, output.partition)] = at + 1
        # The transaction is through, but its answer may be lost.
        self._step("after_commit")
        return written

    def abort(self):
        self._step("abort")
        assert self._broker._open is not None, "no transaction to abort"
        self._broker._open = None
        self._broker.aborted += 1

    def _step(self, operation):
        self._broker.meet(operation)
        if self._epoch != self._broker.epoch:
            raise Fenced(operation)


class LocalConsumer:
    """Reads all partitions of `notes` from the group's committed offsets."""

    def __init__(self, broker):
        self._broker = broker
        self._positions = {}
        self._flowing = set()
        self._go_back()

    def poll(self, max_records, seconds):
        self._broker.meet("poll")
        records = []
        for partition in sorted(self._positions):
            if partition.index not in self._flowing:
                continue
            log = self._broker.logs[partition]
            at = self._positions[partition]
            taken = log[at : at + max_records - len(records)]
            self._positions[partition] = at + len(taken)
            records += taken
        return records

    def committed(self, partitions, seconds=0):
        self._broker.meet("committed")
        offsets = self._broker.offsets
        return {p: offsets.get(p, CommittedOffset(0)) for p in partitions}

    def resume(self, partitions):
        self._flowing.update(partitions)

    def pause(self, partitions):
        self._flowing.difference_update(partitions)

    def rewind(self):
        numbers = range(self._broker.partitions)
        committed = self.committed([Partition("notes", p) for p in numbers])
        self._go_back()
        return committed

    def go_on(self, offsets):
        self._positions |= {p: at.offset for p, at in offsets.items()}

    def group_metadata(self):
        return "generation 1"

    def _go_back(self):
        for index in range(self._broker.partitions):
            partition = Partition("notes", index)
            stands = self._broker.offsets.get(partition, CommittedOffset(0))
            self._positions[partition] = stands.offset


def start(
    broker, processor, *, observer=None, limited=without_limit, seal=list, **limits
):
    """Return the runner of a worker that has just been assigned all partitions."""
    checkpoint = Checkpoint(LocalProducer(broker))
    consumer = LocalConsumer(broker)
    limits = Limits(**({"max_records": 2, "batch_seconds": 0} | limits))
    custody = Custody(["notes"], checkpoint, batch=limits.max_records)
    custody.follow(consumer)
    custody.assigned(range(broker.partitions))
    return Runner(
        consumer,
        processor,
        checkpoint,
        custody,
        limits,
        limited=limited,
        seal=seal,
        observer=observer,
    )


TROUBLES: dict[str, StreamError] = {
    "retriable": RetriableError("planned"),
    "unknown": UnknownOutcome("planned"),
    "fenced": Fenced("planned"),
}

__all__ = [
    "OPERATIONS", "TROUBLES", "Crash", "LocalBroker", "LocalConsumer",
    "LocalProducer", "Output", "start",
]  # fmt: skip
