"""Whether the join saw what it had to: patients whose names change, and an audit.

The surnames are invented words in lower case that only a patient record can reveal: a
note that holds one is published without it if the join saw an update that named it, and
with it otherwise.  The audit knows topics, offsets and values, and no processing code.
"""

from __future__ import annotations

import random
import re
from collections import defaultdict
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

import orjson
from confluent_kafka import Consumer, Producer, TopicPartition

from deid_core import PersonName
from streams.cluster import topics
from streams.cluster.client import CONSUMER, PRODUCER
from streams.cluster.topics import HL7_RAW, NOTES, NOTES_SCRUBBED, PATIENTS
from streams.demo import messages
from streams.demo.flow import read_topic
from streams.demo.segments import Stamp
from streams.demo.ward import EPOCH, Ward
from streams.events.outputs import SOURCE
from streams.files.feed import RawMessage
from streams.patients.demographics import PatientId

# Before `patient.updates` intake wrote what it knew to `patients`.
UPDATES = getattr(topics, "PATIENT_UPDATES", PATIENTS)

CONSONANTS, VOWELS = "bdfgklmnprstvz", "aeiou"
SURNAME = re.compile(rf"\b(?:[{CONSONANTS}][{VOWELS}]){{4}}q\b")
LINES = (
    "Stable overnight, {} as before.",
    "Plan: continue {} and review in clinic.",
    "Tolerating diet; {} noted on rounds.",
    "Vitals fine, {} within limits.",
    "Exam: lungs clear, {} soft, no edema.",
)
"""Around a surname; no rule or tagger finds it here."""
DOCUMENT = ("11506-3", "Progress note", "PN")
PLAIN_MESSAGES = 98
"""Between two merges, besides an admission: every hundredth message is a merge."""
MAX_EXAMPLES = 10


class RenamedWard:
    """Notes of a ward whose patients change their names, and notes that hold them.

    About every sixth note follows an update (A08) that gives its patient a new surname,
    and every sixth gives a new surname itself; a tenth of the updates are older than
    what they follow.  A note holds surnames that were sent before under its identifier.
    Notes say nothing about their patients unless they give a new surname.

    Args:
        seed: Decides everything.
        merges: Make every hundredth message a merge (A40) of a patient's identifier
            with another, which was or will be admitted under a surname of its own.
        ward: Options of `Ward`.
    """

    def __init__(self, *, seed: int, merges: bool = False, **ward):
        self._ward = Ward(seed=seed, **ward)
        self._rng = random.Random(f"{seed}/renamed")
        self._merges = merges
        self._number = 0
        self._mrns = {p.index: [p.mrn] for p in self._ward.people if not p.is_stranger}
        self._second = (0, "")
        self._drawn: set[str] = set()
        self._patients: dict[bytes, tuple[int, str]] = {}
        self.surnames: defaultdict[bytes, list[str]] = defaultdict(list)
        """The surnames sent so far, by the patient's key."""

    def admissions(self):
        """Yield the admission of every announced patient."""
        for message in self._ward.admissions():
            yield _raw(message.value, message.patient)

    def messages(self, notes):
        """Yield so many notes, with updates and merges between them."""
        for number, message in enumerate(self._notes_and_updates(notes), start=1):
            yield message
            if self._merges and number % PLAIN_MESSAGES == PLAIN_MESSAGES // 2:
                yield from self._admitted_twice()
            elif self._merges and number % PLAIN_MESSAGES == 0:
                yield from self._merged()

    def probe(self, key, surnames):
        """Return a note of a patient that holds surnames and gives none."""
        index, mrn = self._patients[key]
        text = self._text("Seen on rounds.", surnames)
        note = self._ward_note(self._ward.people[index], mrn, text)
        return _raw(_event(note, self._rng), index)

    def renamed(self, key):
        """Return an update that gives the patient of the key a new surname."""
        index, mrn = self._patients[key]
        return self._adt(self._ward.people[index], mrn, "A08")

    def knows(self, key):
        """Return whether the key is that of a patient with surnames."""
        return key in self._patients

    def merged(self):
        """Yield the keys and surnames of each patient with several identifiers."""
        for index, mrns in self._mrns.items():
            if len(mrns) > 1:
                keys = [self._key(index, mrn) for mrn in mrns]
                yield keys, [each for key in keys for each in self.surnames[key]]

    def _admitted_twice(self):
        """Choose a patient's second identifier; admit it, or let the merge be first."""
        index = self._rng.choice(sorted(self._mrns))
        mrn = f"{self._rng.randrange(10, 99)}{900_000 + self._number:07}"
        self._second = (index, mrn)
        if self._rng.random() < 0.75:
            yield self._adt(self._ward.people[index], mrn, "A01")

    def _merged(self):
        index, mrn = self._second
        person, mrns = self._ward.people[index], self._mrns[index]
        surviving, retired = self._rng.sample((mrns[-1], mrn), 2)
        merging = replace(person, mrn=surviving, second_mrn=retired)
        yield _raw(messages.merge(merging, self._stamp()), index)
        if not self.surnames[self._key(index, mrn)]:
            yield self._adt(person, mrn, "A01")
        # The last one is merged with the next identifier: merges form chains.
        mrns[:] = [*(each for each in (*mrns, mrn) if each != surviving), surviving]

    def _notes_and_updates(self, notes):
        for note in self._ward.notes(notes):
            person = self._ward.people[note.patient]
            if person.is_stranger:
                yield _raw(note.value, note.patient)
                continue
            if self._rng.random() < 1 / 6:
                mrn = self._rng.choice(self._mrns[person.index])
                yield self._adt(person, mrn, "A08")
            yield self._note(person, note.text)

    def _adt(self, person, mrn, event):
        renamed = self._renamed(person, mrn)
        stamp = self._stamp(is_late=self._rng.random() < 0.1)
        return _raw(messages.adt(renamed, mrn, event, stamp), person.index)

    def _note(self, person, text):
        rng = self._rng
        mrn = rng.choice(self._mrns[person.index])
        sent = self.surnames[self._key(person.index, mrn)]
        named = {*sent[-1:], *rng.sample(sent, min(len(sent), 1))}
        gives_name = rng.random() < 1 / 6
        sender = self._renamed(person, mrn) if gives_name else _nameless(person)
        if gives_name:
            named.add(sender.name.family)
        note = self._ward_note(sender, mrn, self._text(text, named))
        is_hl7 = gives_name or rng.random() < 0.5
        send = rng.choice((messages.oru, messages.mdm)) if is_hl7 else _event
        return _raw(send(note, rng), person.index)

    def _text(self, text, surnames):
        lines = [self._rng.choice(LINES).format(each) for each in sorted(surnames)]
        return "\n".join((text, *lines))

    def _ward_note(self, person, mrn, text):
        return messages.WardNote(person, mrn, DOCUMENT, text, self._stamp())

    def _renamed(self, person, mrn):
        surname = self._surname()
        self.surnames[self._key(person.index, mrn)].append(surname)
        name = replace(person.name, family=surname)
        return replace(person, name=name, former_names=())

    def _surname(self):
        surname = ""
        while not surname or surname in self._drawn:
            letters = map(self._rng.choice, (CONSONANTS, VOWELS) * 4)
            surname = "".join(letters) + "q"
        self._drawn.add(surname)
        return surname

    def _key(self, index, mrn):
        authority = self._ward.people[index].site.authority
        key = PatientId(authority, mrn).key
        self._patients[key] = (index, mrn)
        return key

    def _stamp(self, *, is_late=False):
        self._number += 1
        at = datetime.combine(EPOCH, datetime.min.time())
        at += timedelta(minutes=self._number, days=-30 if is_late else 0)
        return Stamp(f"J{self._number:07}", at)


class Observer:
    """Sends notes about updates once a `read_committed` reader has seen them.

    What it saw the join has to see as well, whatever way the update took: this covers
    what is forwarded between the identifiers of merged patients.

    Args:
        settings: Address of the cluster.
        ward: Made the messages.
        notes: How many notes to send at most.
        share: Of the updates from messages that a note follows; one follows each that
            was forwarded, as long as there are notes left.
    """

    def __init__(self, settings, ward, *, notes, share=0.02):
        self._ward = ward
        self._left = notes
        self._share = share
        self._rng = random.Random(notes)
        self._visible: defaultdict[bytes, dict[str, None]] = defaultdict(dict)
        self._producer = Producer(settings.client(**PRODUCER))
        self._consumer = Consumer(
            settings.client(**CONSUMER, **{"group.id": "join-observer"})
        )
        self._consumer.assign(
            [TopicPartition(UPDATES.name, p, 0) for p in range(settings.partitions)]
        )
        self.promised: dict[bytes, frozenset[str]] = {}
        """Surnames that the join has to see, by the position of a note in `hl7.raw`."""

    def turn(self):
        """Read what has become visible, and send notes about it."""
        for message in self._consumer.consume(1000, timeout=0.01):
            assert message.error() is None, message.error()
            self._see(message)
        assert self._producer.flush(30) == 0

    def send(self, key, surnames):
        """Send a note under the key; the join has to see all of its surnames."""

        def delivered(error, message):
            assert error is None, error
            self.promised[_position(message)] = frozenset(surnames)

        # Without a key any intake worker may get it, not only that of the updates.
        note = self._ward.probe(key, surnames)
        self._producer.produce(HL7_RAW.name, value=note.value, on_delivery=delivered)

    def close(self):
        self._consumer.close()

    def _see(self, message):
        key, known = message.key(), self._visible[message.key()]
        found = SURNAME.findall((message.value() or b"").decode())
        new = [each for each in dict.fromkeys(found) if each not in known]
        known.update(dict.fromkeys(new))
        if not new or not self._left or not self._ward.knows(key):
            return
        is_from_a_message = _source(message).startswith(HL7_RAW.name.encode())
        if not is_from_a_message or self._rng.random() < self._share:
            self._left -= 1
            others = [each for each in known if each not in new]
            self.send(key, {*new[-2:], *others[-1:]})


@dataclass(slots=True)
class JoinVerdict:
    """What the audit found.

    Args:
        notes: Notes that hold a surname which the join had to see.
        due: Surnames in notes that the join had to see.
        by_order: Of these, from an earlier message of the same partition of `hl7.raw`.
        by_own_message: Of these, from the note's own message.
        by_sight: Of these, from an update that was visible before the note was sent.
        not_due: Surnames in notes that the join need not have seen.
        refused: Notes with a due surname that were not published.
        misses: Due surnames that were published.
        examples: Positions of notes with misses.
    """

    notes: int = 0
    due: int = 0
    by_order: int = 0
    by_own_message: int = 0
    by_sight: int = 0
    not_due: int = 0
    refused: int = 0
    misses: int = 0
    examples: list[str] = field(default_factory=list)


def audit_join(settings, promised=None):
    """Return the verdict on all notes; every stage must have drained.

    The join has to see the updates under a note's key that came from its own message or
    from an earlier message of the same partition of `hl7.raw`, because intake commits
    in that order.

    Args:
        settings: Address of the cluster.
        promised: Further surnames that are due, by the position of a note's message.
    """
    updates = defaultdict(list)
    for message in read_topic(settings, UPDATES.name):
        source = _source(message)
        if source.startswith(HL7_RAW.name.encode()):
            for surname in SURNAME.findall((message.value() or b"").decode()):
                updates[message.key(), surname].append(_place(source))
    published = {
        _source(message): SURNAME.findall(orjson.loads(message.value())["text"])
        for message in read_topic(settings, NOTES_SCRUBBED.name)
    }
    verdict = JoinVerdict()
    for message in read_topic(settings, NOTES.name):
        reasons = _due(message, updates, (promised or {}).get(_source(message), ()))
        _judge(verdict, _position(message), reasons, published)
    return verdict


def _due(message, updates, promised):
    """Return why each surname in a note is due: a field of the verdict."""
    partition, offset = _place(_source(message))
    reasons = {}
    for surname in SURNAME.findall(orjson.loads(message.value())["text"]):
        offsets = [
            at for where, at in updates[message.key(), surname] if where == partition
        ]
        if offset in offsets and min(offsets) == offset:
            reasons[surname] = "by_own_message"
        elif offsets and min(offsets) < offset:
            reasons[surname] = "by_order"
        else:
            reasons[surname] = "by_sight" if surname in promised else "not_due"
    return reasons


def _judge(verdict, position, reasons, published):
    for reason in reasons.values():
        setattr(verdict, reason, getattr(verdict, reason) + 1)
    due = {surname for surname, reason in reasons.items() if reason != "not_due"}
    verdict.notes += bool(due)
    verdict.due += len(due)
    if position not in published:
        verdict.refused += bool(due)
        return
    missed = due.intersection(published[position])
    verdict.misses += len(missed)
    if missed and len(verdict.examples) < MAX_EXAMPLES:
        verdict.examples.append(position.decode())


def _raw(value, patient):
    return RawMessage(value, b"%d" % patient)


def _event(note, rng):
    """Return a note event without demographics."""
    stranger = replace(note.person, is_stranger=True)
    return messages.note_event(replace(note, person=stranger), rng)


def _nameless(person):
    return replace(person, name=PersonName(), former_names=())


def _source(message):
    return dict(message.headers() or []).get(SOURCE, b"")


def _position(message):
    return f"{message.topic()}/{message.partition()}/{message.offset()}".encode()


def _place(position):
    """Return the partition and the offset of a position."""
    _topic, partition, offset = position.rsplit(b"/", 2)
    return int(partition), int(offset)
