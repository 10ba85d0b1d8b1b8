"""The job: the engine of the service over a bounded part of `notes`.  Read this first.

The notes are those that the live feed has published, from `--from` to where it had read
when the version was begun.  Each is joined with the table of patients as it is now,
scrubbed, and written with its audit event and the group's offset in one transaction.
"""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from streams.engine.checkpoint import Checkpoint
from streams.engine.custody import Custody
from streams.engine.deadline import Deadline
from streams.engine.errors import ConfigError, StateLocked, StateUnusable
from streams.engine.observer import CompositeListener, Observer
from streams.engine.records import CommittedOffset, Output, Partition, Record
from streams.engine.runner import Runner
from streams.kafka.bounded import committed_records
from streams.kafka.client import CALL_SECONDS, admin_client
from streams.kafka.consumer import KafkaConsumer
from streams.kafka.identities import Identities, topic_ids
from streams.kafka.offsets import GroupOffsets
from streams.kafka.producer import KafkaProducer
from streams.kafka.tables.rocksdb import drop_store
from streams.kafka.tables.table import ChangelogTable
from streams.kafka.topics import DEAD_LETTERS, NOTES, PATIENTS, RESCRUB
from streams.model.outputs import OUTCOME
from streams.model.seals import Seals, audit_key
from streams.operations.settings import Settings
from streams.pipeline.scrub.outputs import ScrubOutputs
from streams.pipeline.scrub.scrubbing import NoteScrubber
from streams.service.assemble import back_off, limits_of
from streams.service.scrub import deidentifier_of

from .erasures import read_erasures, require_updates
from .plan import Plan, Planner, version_ids
from .processor import LEFT_OUT, Bounds, Rescrub
from .published import read_published
from .request import From, Means, checked_version, destination

log = logging.getLogger(__name__)

LOOK_SECONDS = 1.0
"""How often the committed offsets of all processes of a version are read."""


@dataclass(slots=True)
class Report:
    """The report of what a run has done.

    Args:
        plan: Of its version.
        counts: What this process has written: `scrubbed`, `dead_letters`, `left_out`.
        is_complete: Whether all notes of the plan are processed, by any process.
    """

    plan: Plan
    counts: Counter[str] = field(default_factory=Counter)
    is_complete: bool = False


def open_plan(settings: Settings, into: str, begins: str | None) -> Plan:
    """Return the plan of a version, made now if there is none.

    Args:
        settings: Of the service, with preset and policy of the version.
        into: The version.
        begins: The first notes to read; needed for a new version.

    Raises:
        ConfigError: The version is wrong, or was begun with something else.
        RetriableError: The cluster does not answer.
    """
    version = checked_version(into)
    wanted = None if begins is None else From.read(begins)
    means = Means.of(settings)
    planner = Planner(settings, version)
    plan = planner.find()
    if plan is None:
        if wanted is None:
            raise ConfigError(
                f"--into {version}: was not begun yet; say with --from which notes are "
                "the first"
            )
        plan = planner.begin(wanted, means)
    if wanted is not None and wanted.given != plan.begins_from:
        raise ConfigError(
            f"--from: {version} was begun with --from {plan.begins_from}; leave it out "
            "to go on, or name another version"
        )
    if plan.means != means:
        raise ConfigError(
            f"--into {version}: was begun with {plan.means}, and this is {means}; go "
            "on with the same, or name another version"
        )
    return plan


def run(
    settings: Settings,
    plan: Plan,
    *,
    slot: int = 0,
    stop: Callable[[], bool] = lambda: False,
    progress: Callable[[int, int], None] = lambda _done, _of: None,
) -> Report:
    """Process the notes of a plan, or go on where an earlier run ended.

    Several processes, each with a slot of its own, share the partitions.

    Args:
        settings: Of the service, with preset and policy of the version.
        plan: Of `open_plan`.
        slot: Of this process among those of the version.
        stop: Whether to end; the batch in progress is still committed.
        progress: Called with the offsets that are done, and all of the plan.

    Raises:
        FatalError: The process can't go on.
        RetriableError: The cluster does not answer.
    """
    group = plan.group(settings)
    admin = admin_client(settings)
    # First: what changes from here on is noticed.
    ids = topic_ids(admin, (NOTES.name, PATIENTS.name))
    report = Report(plan)
    with _Offsets(settings, plan) as offsets:
        offsets.require()
        if offsets.are_done():
            report.is_complete = True
            # Of processes that were killed before they could.
            _delete_tables(settings, f"{RESCRUB}-{plan.version}-*")
            return report
        require_updates(settings, admin, offsets.committed)
        erasures = read_erasures(settings, admin, len(plan.ranges))
        published = read_published(settings, admin, plan.ranges)
        log.info("%s: %d notes were published", plan.version, len(published))
        keys = settings.key_ring()
        to = destination(plan.version, plan.means)
        outputs = ScrubOutputs(
            keys, preset=plan.means.preset, policy=plan.means.policy, to=to
        )
        name = f"{group}-{slot}"
        processor = Rescrub(
            NoteScrubber(lambda: deidentifier_of(settings, keys), outputs),
            ChangelogTable(
                settings,
                PATIENTS,
                _owner(plan, slot),
                len(plan.ranges),
                deleted=erasures.add,
            ),
            erasures,
            published,
            to,
            plan.version,
            len(plan.ranges),
            office=settings.office_key(),
            bounds=Bounds(settings.max_note_bytes, 2 * settings.max_message_bytes),
        )
        checkpoint = Checkpoint(
            KafkaProducer(settings, name, version_ids(settings, plan.version))
        )
        custody = Custody(
            [NOTES.name],
            checkpoint,
            batch=settings.batch_records,
            identities={NOTES.name: ids[NOTES.name]},
        )
        consumer = KafkaConsumer(
            settings,
            NOTES.name,
            group=group,
            member=name,
            listener=CompositeListener(custody, processor),
            release=custody.release,
        )
        custody.follow(consumer)
        bounded = Bounded(consumer, {p: end for p, (_, end) in plan.ranges.items()})
        counting = Counting(report.counts, to.audit.name)
        runner = Runner(
            bounded,
            processor,
            checkpoint,
            custody,
            limits_of(settings),
            limited=Deadline(),
            back_off=back_off,
            seal=Seals(audit_key(settings.pseudonym_key())).sealed,
            observer=counting,
        )
        identities = Identities(admin, ids)
        try:
            while not stop():
                identities.check()
                if not runner.run_once() and offsets.are_done(idle=True):
                    report.is_complete = True
                    break
                offsets.show(progress)
            runner.release()
        finally:
            # A claim that is not released by now shows that its owner died.
            custody.abandon()
            consumer.close()
            processor.close()
            _delete_tables(settings, _owner(plan, slot))
        offsets.show(progress, at_once=True)
    return report


def _owner(plan: Plan, slot: int) -> str:
    return f"{RESCRUB}-{plan.version}-{slot}"


def _delete_tables(settings: Settings, owners: str) -> None:
    """Delete the files of owners' tables, which hold PHI; another run restores them."""
    folder = Path(settings.state_dir) / settings.group
    for each in folder.glob(f"{owners}/{PATIENTS.name}-*"):
        try:
            drop_store(each)
        except (StateLocked, StateUnusable) as error:
            log.warning("%s; not deleted", error)


class Bounded:
    """A consumer that delivers no record behind the end of its partition.

    Args:
        consumer: Reads on; partitions that are through are paused.
        ends: The offset after the last of each partition.
    """

    def __init__(self, consumer: KafkaConsumer, ends: Mapping[int, int]) -> None:
        self._consumer = consumer
        self._ends = ends
        self._through: set[int] = set()
        self._held: set[int] = set()

    def poll(self, max_records: int, seconds: float) -> Sequence[Record]:
        """Return records before the ends."""
        records = self._consumer.poll(max_records, seconds)
        found = [r for r in records if r.offset < self._ends[r.partition.index]]
        if len(found) < len(records):
            behind = {
                r.partition.index
                for r in records
                if r.offset >= self._ends[r.partition.index]
            }
            self._through |= behind
            self._consumer.pause(behind)
        return found

    def resume(self, partitions: Iterable[int]) -> None:
        """Deliver the records of these partitions from now on."""
        wanted = list(partitions)
        self._held.difference_update(wanted)
        self._through.difference_update(wanted)
        self._consumer.resume(wanted)

    def pause(self, partitions: Iterable[int]) -> None:
        """Hold back the records of these partitions until they are resumed."""
        wanted = list(partitions)
        self._held.update(wanted)
        self._consumer.pause(wanted)

    def rewind(self) -> Mapping[Partition, CommittedOffset]:
        """Go back to the committed offsets, also where the end was seen already."""
        committed = self._consumer.rewind()
        self._consumer.resume(self._through - self._held)
        self._through.clear()
        return committed

    def group_metadata(self) -> object:
        """Return what the producer needs to commit offsets for the group."""
        return self._consumer.group_metadata()


class Counting(Observer):
    """Counts what is committed.

    Args:
        counts: Are increased.
        audit: The topic of audit events.
    """

    def __init__(self, counts: Counter[str], audit: str) -> None:
        self._counts = counts
        self._audit = audit
        self._staged: Counter[str] = Counter()

    def staged(self, records: Sequence[Record], outputs: Sequence[Output]) -> None:
        """Count outputs that are not visible yet."""
        for each in outputs:
            if each.topic == DEAD_LETTERS.name:
                self._staged["dead_letters"] += 1
            elif each.topic != self._audit:
                self._staged["scrubbed"] += 1
            elif each.headers.get(OUTCOME) == LEFT_OUT.encode():
                self._staged[LEFT_OUT] += 1

    def committed(self) -> None:
        """Add them: they are visible."""
        self._counts.update(self._staged)
        self._staged.clear()

    def undone(self, error: Exception) -> None:
        """Forget them: they are read again."""
        self._staged.clear()

    def overran(self, records: Sequence[Record]) -> None:
        """Forget what was staged: the records are read again."""
        self._staged.clear()


class _Offsets:
    """The progress of all processes of a version."""

    def __init__(self, settings: Settings, plan: Plan) -> None:
        self._settings = settings
        self._ranges = plan.ranges
        self._group = plan.group(settings)
        self._reader = GroupOffsets(settings, self._group, NOTES.name)
        # A process that was killed may have left its transaction open.
        self._patience = settings.transaction_seconds + CALL_SECONDS
        self._not_before = 0.0
        self._committed = {p: first for p, (first, _end) in plan.ranges.items()}

    def __enter__(self) -> _Offsets:
        return self

    def __exit__(self, *_: object) -> None:
        self._reader.close()

    def require(self) -> None:
        """Check that the group has its offsets.

        Raises:
            ConfigError: Kafka has deleted them: the version can't be resumed.
        """
        known = self._reader.read_known(self._ranges, self._patience)
        if any(offset is None for offset in known.values()):
            raise ConfigError(
                f"group {self._group}: has no committed offsets (any more), so it is "
                "not known which notes are in the version already; delete its topics "
                "and begin another version"
            )
        self._committed = {p: offset or 0 for p, offset in known.items()}

    @property
    def committed(self) -> Mapping[int, int]:
        """The offsets that were read last, by partition."""
        return self._committed

    def are_done(self, *, idle: bool = False) -> bool:
        """Return whether all notes of the plan are processed.

        Args:
            idle: The last poll gave nothing: look whether there is anything left,
                since what retention or compaction has deleted is never committed.
        """
        if idle and not self._is_time():
            return False
        self._read()
        left = {
            p: (self._committed[p], end)
            for p, (_first, end) in self._ranges.items()
            if self._committed[p] < end
        }
        if not left or not idle:
            return not left
        records = committed_records(
            self._settings, NOTES.name, left, f"{self._settings.group}-rescrub"
        )
        return all(each is None for each in records)

    def show(
        self, progress: Callable[[int, int], None], *, at_once: bool = False
    ) -> None:
        """Call back with what is done, now and then."""
        if at_once or self._is_time():
            self._read()
            done = sum(
                min(self._committed[p], end) - first
                for p, (first, end) in self._ranges.items()
            )
            progress(done, sum(end - first for first, end in self._ranges.values()))

    def _is_time(self) -> bool:
        now = time.monotonic()
        if now < self._not_before:
            return False
        self._not_before = now + LOOK_SECONDS
        return True

    def _read(self) -> None:
        self._committed = self._reader.read(self._ranges)
