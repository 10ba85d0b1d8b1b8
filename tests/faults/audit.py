"""The audit of a run: it knows topics, offsets and marker words, and nothing else."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field

import orjson

from streams.demo.flow import read_topic
from streams.kafka.topics import (
    DEAD_LETTERS,
    HL7_RAW,
    HL7_SCRUBBED,
    NOTES,
    NOTES_SCRUBBED,
    PATIENT_UPDATES,
    PATIENTS,
    PHI_AUDIT,
)
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
        out_of_order: Notes of a key before an earlier one of the same partition, and
            rebuilt messages likewise.
        leaked: Surnames that the join had to see, in what subscribers get.
        aborted: Records that only `read_uncommitted` sees.
        repeated: Further records on `hl7.raw` of notes that the sender wrote more than
            once, as it may when brokers die: each is a note like any other.
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
    repeated: int = 0
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
    result.repeated = sum(len(places) - 1 for places in inputs.sent.values())
    outcomes, rebuilt = _published(settings, fed, result)
    for message in read_topic(settings, DEAD_LETTERS.name):
        letter = orjson.loads(message.value())
        result.letters[letter["stage"], letter["code"]] += 1
        source = letter["source"]
        place = source["topic"], source["partition"], source["offset"]
        outcomes.update(inputs.notes.get(place, ()))
        rebuilt.update(inputs.parts.get(place, ()))
    _judge(result, fed, inputs, outcomes, "outcomes")
    if settings.rebuild_messages:
        owing = {number: fed[number] for number in inputs.messages & fed.keys()}
        _judge(result, owing, inputs, rebuilt, "rebuilt messages")
    for topic in TRANSACTIONAL:
        seen, committed = (
            count_records(settings, topic.name, f"read_{level}")
            for level in ("uncommitted", "committed")
        )
        result.aborted += seen - committed
    return result


class _Outcomes(Counter):
    """Numbers of outputs by note; it also knows where they are."""

    def __init__(self):
        super().__init__()
        self.places = defaultdict(list)

    def add(self, numbers, message):
        """Count the notes in a message."""
        self.update(numbers)
        source = dict(message.headers() or []).get("source", b"?").decode()
        for number in numbers:
            self.places[number].append(f"{_place(message)} of {source}")


@dataclass(slots=True)
class _Inputs:
    """What a dead letter of each place was to give.

    Args:
        notes: Numbers of notes by place.
        parts: Numbers of messages that were to be rebuilt, likewise.
        messages: The numbers in HL7 messages.
        sent: Places on `hl7.raw` by number.
    """

    notes: dict = field(default_factory=dict)
    parts: dict = field(default_factory=dict)
    messages: set = field(default_factory=set)
    sent: dict = field(default_factory=lambda: defaultdict(list))

    def wanted(self, number):
        """Return how many outcomes the note has to have."""
        return max(1, len(self.sent.get(number, ())))


def _inputs(settings, fed):
    found = _Inputs()
    for message in read_topic(settings, HL7_RAW.name):
        place, numbers = _numbered(message)
        found.notes[place] = numbers
        for number in numbers:
            found.sent[number].append(place)
        if (message.value() or b"").startswith(b"MSH"):
            found.messages |= numbers
            found.parts[place] = numbers
    for message in read_topic(settings, NOTES.name):
        place, numbers = _numbered(message)
        is_part = b'"format":"' in message.value()
        (found.parts if is_part else found.notes)[place] = numbers
    for number, place in fed.items():
        found.notes[HL7_RAW.name, *place] = {number}
    return found


def _numbered(message):
    place = message.topic(), message.partition(), message.offset()
    return place, set(numbers_in(message.value()))


def _published(settings, fed, result):
    """Count names and order; return the numbers of outputs and of parts by note."""
    outcomes, rebuilt = _Outcomes(), _Outcomes()
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
                outcomes.add(numbers, message)
                if len(numbers) != 1:
                    _example(result, f"{len(numbers)} markers", message)
                _check_order(result, fed, last, numbers, message)
            elif topic is HL7_SCRUBBED:
                result.rebuilt += 1
                rebuilt.add(set(numbers), message)
                _check_order(result, fed, last, numbers, message)
    return outcomes, rebuilt


def _check_order(result, fed, last, numbers, message):
    for number in numbers:
        partition, offset = fed.get(number, (-1, -1))
        key = message.topic(), message.key(), partition
        if offset < last[key]:
            result.out_of_order += 1
            _example(result, "out of order", message)
        last[key] = max(offset, last[key])


def _judge(result, fed, inputs, outcomes, what):
    for number, (partition, offset) in fed.items():
        found, wanted = outcomes[number], inputs.wanted(number)
        if found != wanted:
            result.missing += max(0, wanted - found)
            result.doubled += max(0, found - wanted)
            if len(result.examples) < 20:
                where = f"{HL7_RAW.name}[{partition}]@{offset}"
                sent = f", sent {wanted} times" if wanted > 1 else ""
                result.examples.append(f"{where}: {found} {what}{sent}")
                result.examples += outcomes.places[number]
    # What nobody fed must not be there either.
    result.doubled += sum(n for each, n in outcomes.items() if each not in fed)


def _example(result, what, message):
    if len(result.examples) < 20:
        result.examples.append(f"{_place(message)}: {what}")


def _place(message):
    return f"{message.topic()}[{message.partition()}]@{message.offset()}"
