"""The proof of a version: each published note has its outcome in it, once.

The counts and seals are those of `phistream reconcile`, over the version's topics.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from confluent_kafka import Message
from confluent_kafka.admin import AdminClient

from streams.engine.errors import ConfigError
from streams.kafka.bounded import committed_records
from streams.kafka.client import admin_client, record_of
from streams.kafka.offsets import GroupOffsets, first_offsets, high_watermarks
from streams.kafka.topic_admin import partition_counts
from streams.kafka.topics import DEAD_LETTERS, NOTES, Topic
from streams.model.outputs import INTO, OUTCOME
from streams.model.seals import audit_key
from streams.operations.reconcile import Conclusion, TopicVerdict
from streams.operations.reconcile.inputs import Inputs
from streams.operations.reconcile.marks import Mark, Marks, Untrusted
from streams.operations.reconcile.verdict import Fault
from streams.operations.settings import Settings
from streams.service.lost_offsets import wait_until_stable

from .plan import BEGUN, Plan, Planner
from .published import PublishedNotes, read_published
from .request import checked_version, topics_of


def version_proof(
    settings: Settings,
    version: str,
    keys: Sequence[bytes] = (),
    *,
    is_drained: bool = False,
) -> Conclusion:
    """Return what became of the notes of a version.

    Args:
        settings: Connection settings, and the keys of the seals.
        version: That `phistream rescrub` has begun.
        keys: Audit keys; by default those of the pseudonym keys.
        is_drained: Whether notes that wait count as missing.

    Raises:
        ConfigError: It is no version, or was not begun.
        RetriableError: The cluster does not answer, or a transaction stays open.
    """
    plan = Planner(settings, checked_version(version)).find()
    if plan is None:
        raise ConfigError(f"--version {version}: was not begun; see phistream rescrub")
    admin = admin_client(settings)
    # First: the outputs of what is committed now are there.
    done = _committed(settings, plan)
    published = read_published(settings, admin, plan.ranges)
    own = [audit_key(each.value) for each in settings.key_ring()]
    proof = _Proof(settings, admin, plan, Marks(keys or own))
    verdict = proof.verdict(published, done)
    counts = partition_counts(admin)
    read = (NOTES, *topics_of(version), DEAD_LETTERS)
    unread = [topic.name for topic in read if topic.name not in counts]
    return Conclusion([verdict], unread, is_drained=is_drained)


class _Proof:
    def __init__(
        self, settings: Settings, admin: AdminClient, plan: Plan, marks: Marks
    ) -> None:
        self._settings = settings
        self._admin = admin
        self._plan = plan
        self._marks = marks
        self._verdict = TopicVerdict(f"{NOTES.name} {plan.version}")
        self._order: dict[tuple[str, int, bytes], int] = {}
        self._inputs = {
            p: Inputs(first, max(first, end), with_updates=False)
            for p, (first, end) in plan.ranges.items()
        }

    def verdict(
        self, published: PublishedNotes, done: Mapping[int, int]
    ) -> TopicVerdict:
        notes, messages, audit = topics_of(self._plan.version)
        for topic in (audit, notes, messages, DEAD_LETTERS):
            for message in self._messages(topic):
                self._add(message, topic, is_audit=topic is audit)
        for partition, inputs in self._inputs.items():
            self._judge(partition, inputs, published.flags(partition), done[partition])
        return self._verdict

    def _judge(
        self,
        partition: int,
        inputs: Inputs,
        published: np.ndarray[tuple[int, ...], np.dtype[np.bool_]],
        done: int,
    ) -> None:
        verdict = self._verdict
        is_due = published & (inputs.offsets < done)
        lost = is_due & ((inputs.audits == 0) | (inputs.outputs < inputs.promised))
        over = (inputs.audits > 1) | (inputs.outputs > inputs.promised)
        has_note = inputs.outputs > inputs.dead
        verdict.inputs += int(published.sum())
        verdict.pending += int((published & ~is_due).sum())
        verdict.scrubbed += int((is_due & has_note).sum())
        verdict.dead_letters += int((is_due & (inputs.dead > 0)).sum())
        verdict.no_note += int(
            (is_due & (inputs.audits > 0) & (inputs.promised == 0)).sum()
        )
        verdict.missing += int(lost.sum())
        verdict.doubled += int(over.sum())
        for offset in inputs.offsets[lost][:10]:
            verdict.examples.append(f"{NOTES.name}[{partition}]@{offset} missing")
        for offset in inputs.offsets[over][:10]:
            verdict.examples.append(f"{NOTES.name}[{partition}]@{offset} doubled")
        self._fault(
            Fault.ALTERED, partition, inputs.offsets[is_due & inputs.is_altered]
        )
        ghosts = ~published & ((inputs.audits > 0) | (inputs.outputs > 0))
        self._fault(Fault.NO_INPUT, partition, inputs.offsets[ghosts])

    def _fault(
        self,
        fault: Fault,
        partition: int,
        offsets: np.ndarray[tuple[int, ...], np.dtype[np.int64]],
    ) -> None:
        for offset in offsets:
            where = f"{NOTES.name}[{partition}]@{offset}"
            self._verdict.add(fault, where, "not a note that the live feed published")

    def _add(self, message: Message, topic: Topic, *, is_audit: bool) -> None:
        record = record_of(message)
        if topic is DEAD_LETTERS and (
            record.value is None
            or record.headers.get(INTO) != self._plan.version.encode()
        ):
            return
        if is_audit and record.headers.get(OUTCOME) == BEGUN:
            return
        where = f"{record.partition}@{record.offset}"
        try:
            mark = self._marks.read(message)
        except Untrusted as error:
            self._verdict.add(error.fault, where, error.says)
            return
        if not mark.is_sealed:
            fault = Fault.UNSEALED if mark.seal is None else Fault.UNKNOWN_KEY
            self._verdict.add(fault, where, "no seal of a key that was given")
            return
        self._count(mark, topic, record.key or b"", where)

    def _count(self, mark: Mark, topic: Topic, key: bytes, where: str) -> None:
        inputs = self._inputs.get(mark.source.partition)
        row = None if inputs is None else inputs.row(mark.source.offset)
        if mark.source.topic != NOTES.name or inputs is None or row is None:
            self._verdict.add(Fault.NO_INPUT, where, "is of no note of the plan")
        elif mark.event is not None:
            inputs.add_audit(row, mark.event, mark)
        else:
            inputs.add_output(row, topic.name, mark)
            place = (topic.name, mark.source.partition, key)
            offset = mark.source.offset
            self._verdict.out_of_order += offset < self._order.get(place, -1)
            self._order[place] = offset

    def _messages(self, topic: Topic) -> Iterator[Message]:
        numbers = range(partition_counts(self._admin).get(topic.name, 0))
        first = first_offsets(self._admin, topic.name, numbers)
        high = high_watermarks(self._admin, topic.name, numbers)
        wait_until_stable(self._settings, self._admin, topic, high)
        ranges = {p: (first[p], high[p]) for p in numbers}
        group = f"{self._settings.group}-reconcile"
        for message in committed_records(self._settings, topic.name, ranges, group):
            if message is not None:
                yield message


def _committed(settings: Settings, plan: Plan) -> dict[int, int]:
    reader = GroupOffsets(settings, plan.group(settings), NOTES.name)
    try:
        return reader.read(plan.ranges)
    finally:
        reader.close()
