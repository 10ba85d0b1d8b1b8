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
        rebuilt: On `hl7.scrubbed`.
        letters: Dead letters by stage and code.
        missing: Notes that are neither published nor dead letters, and messages that
            are not rebuilt.
        doubled: Further outputs of notes that have one.
        out_of_order: Notes of a key before an earlier one of the same partition.
        leaked: Surnames that the join had to see, in what subscribers get.
        aborted: Records that only `read_uncommitted` sees.
        examples: The places of what is wrong.
    """

    notes: int = 0
    published: int = 0
    rebuilt: int = 0
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

    Where messages are rebuilt, each HL7 message with a note has a part on
    `hl7.scrubbed`, which is judged as the note is.

    Args:
        settings: Of a cluster that is whole, with services that have drained.
        fed: The partition and offset in `hl7.raw` of each confirmed note, by number.
    """
    result = Audit(notes=len(fed))
    inputs = _inputs(settings, fed)
    outcomes, rebuilt = _published(settings, fed, result)
    for message in read_topic(settings, DEAD_LETTERS.name):
        letter = orjson.loads(message.value())
        result.letters[letter["stage"], letter["code"]] += 1
        source = letter["source"]
        place = source["topic"], source["partition"], source["offset"]
        outcomes.update(inputs.notes.get(place, ()))
        rebuilt.update(inputs.parts.get(place, ()))
    _judge(result, fed, outcomes, "outcomes")
    if settings.rebuild_messages:
        owing = {number: fed[number] for number in inputs.messages & fed.keys()}
        _judge(result, owing, rebuilt, "rebuilt messages")
    for topic in TRANSACTIONAL:
        seen, committed = (
            count_records(settings, topic.name, f"read_{level}")
            for level in ("uncommitted", "committed")
        )
        result.aborted += seen - committed
    return result


@dataclass(slots=True)
class _Inputs:
    """What a dead letter of each place was to give.

    Args:
        notes: Numbers of notes by place.
        parts: Numbers of messages that were to be rebuilt, likewise.
        messages: The numbers in HL7 messages.
    """

    notes: dict = field(default_factory=dict)
    parts: dict = field(default_factory=dict)
    messages: set = field(default_factory=set)


def _inputs(settings, fed):
    found = _Inputs()
    for topic in (HL7_RAW, NOTES):
        for message in read_topic(settings, topic.name):
            value, numbers = message.value(), set(numbers_in(message.value()))
            place = topic.name, message.partition(), message.offset()
            is_message = topic is HL7_RAW and value.startswith(b"MSH")
            is_part = topic is NOTES and b'"format":"' in value
            if is_message:
                found.messages |= numbers
            if is_message or is_part:
                found.parts[place] = numbers
            if not is_part:
                found.notes[place] = numbers
    for number, place in fed.items():
        found.notes[HL7_RAW.name, *place] = {number}
    return found


def _published(settings, fed, result):
    """Count names and order; return the numbers of outputs and of parts by note."""
    outcomes, rebuilt = Counter(), Counter()
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
            elif topic is HL7_SCRUBBED:
                result.rebuilt += 1
                rebuilt.update(set(numbers))
    return outcomes, rebuilt


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


def _judge(result, fed, outcomes, what):
    for number, (partition, offset) in fed.items():
        if outcomes[number] != 1:
            result.missing += not outcomes[number]
            result.doubled += max(0, outcomes[number] - 1)
            if len(result.examples) < 20:
                where = f"{HL7_RAW.name}[{partition}]@{offset}"
                result.examples.append(f"{where}: {outcomes[number]} {what}")
    # What nobody fed must not be there either.
    result.doubled += sum(n for each, n in outcomes.items() if each not in fed)


def _example(result, what, message):
    if len(result.examples) < 20:
        where = f"{message.topic()}[{message.partition()}]@{message.offset()}"
        result.examples.append(f"{where}: {what}")
