"""The audit of a run: it knows topics, offsets and marker words, and nothing else."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field

import orjson

from streams.cluster.topics import (
    DEAD_LETTERS,
    HL7_RAW,
    HL7_SCRUBBED,
    NOTES,
    NOTES_SCRUBBED,
    PATIENT_UPDATES,
    PATIENTS,
    PHI_AUDIT,
)
from streams.demo.flow import read_topic
from tests.faults.ward import numbers_in, surnames_in
from tests.harness import count_records

PUBLISHED = (NOTES_SCRUBBED, HL7_SCRUBBED, PHI_AUDIT)
TRANSACTIONAL = (NOTES, PATIENT_UPDATES, PATIENTS, NOTES_SCRUBBED, PHI_AUDIT)


@dataclass(slots=True)
class Audit:
    """What became of the notes that were fed.

    Args:
        notes: Fed and confirmed by the brokers.
        published: On `notes.scrubbed`.
        letters: Dead letters by stage and code.
        missing: Notes that are neither published nor dead letters.
        doubled: Further outputs of notes that have one.
        out_of_order: Notes of a key before an earlier one of the same partition.
        leaked: Surnames that the join had to see, in what subscribers get.
        aborted: Records that only `read_uncommitted` sees.
        examples: The places of what is wrong.
    """

    notes: int = 0
    published: int = 0
    letters: Counter = field(default_factory=Counter)
    missing: int = 0
    doubled: int = 0
    out_of_order: int = 0
    leaked: int = 0
    aborted: int = 0
    examples: list[str] = field(default_factory=list)

    @property
    def faults(self):
        return self.missing, self.doubled, self.out_of_order, self.leaked


def audit(settings, fed):
    """Compare what was fed with what subscribers get.

    Args:
        settings: Of a cluster that is whole, with services that have drained.
        fed: The partition and offset in `hl7.raw` of each confirmed note, by number.
    """
    result = Audit(notes=len(fed))
    places = {place: number for number, place in fed.items()}
    of_source = {}
    for topic in (HL7_RAW, NOTES):
        for message in read_topic(settings, topic.name):
            for number in numbers_in(message.value()):
                place = message.partition(), message.offset()
                of_source[topic.name, *place] = number
    of_source |= {(HL7_RAW.name, *place): number for place, number in places.items()}
    outcomes = _published(settings, fed, result)
    for message in read_topic(settings, DEAD_LETTERS.name):
        letter = orjson.loads(message.value())
        result.letters[letter["stage"], letter["code"]] += 1
        source = letter["source"]
        place = source["topic"], source["partition"], source["offset"]
        if place in of_source:
            outcomes[of_source[place]] += 1
    _judge(result, fed, outcomes)
    for topic in TRANSACTIONAL:
        seen, committed = (
            count_records(settings, topic.name, f"read_{level}")
            for level in ("uncommitted", "committed")
        )
        result.aborted += seen - committed
    return result


def _published(settings, fed, result):
    """Count names and order; return the number of outputs by note."""
    outcomes = Counter()
    last = defaultdict(lambda: -1)
    for topic in PUBLISHED:
        for message in read_topic(settings, topic.name):
            numbers = numbers_in(message.value())
            names = surnames_in(message.value())
            result.leaked += len(names)
            if names:
                _example(result, "leaked", message)
            if topic is NOTES_SCRUBBED:
                result.published += 1
                outcomes.update(numbers)
                _check_order(result, fed, last, numbers, message)
    return outcomes


def _check_order(result, fed, last, numbers, message):
    if len(numbers) != 1:
        _example(result, f"{len(numbers)} markers", message)
    for number in numbers:
        partition, offset = fed.get(number, (-1, -1))
        key = message.key(), partition
        if offset < last[key]:
            result.out_of_order += 1
            _example(result, "out of order", message)
        last[key] = max(offset, last[key])


def _judge(result, fed, outcomes):
    for number, (partition, offset) in fed.items():
        if outcomes[number] != 1:
            result.missing += not outcomes[number]
            result.doubled += max(0, outcomes[number] - 1)
            if len(result.examples) < 20:
                where = f"{HL7_RAW.name}[{partition}]@{offset}"
                result.examples.append(f"{where}: {outcomes[number]} outcomes")
    # What nobody fed must not be there either.
    result.doubled += sum(n for each, n in outcomes.items() if each not in fed)


def _example(result, what, message):
    if len(result.examples) < 20:
        where = f"{message.topic()}[{message.partition()}]@{message.offset()}"
        result.examples.append(f"{where}: {what}")
