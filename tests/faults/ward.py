"""Patients whose names change, and notes that can be told apart and hold those names.

The surnames are invented words in lower case that only a patient record can reveal: a
note that holds one is published without it if the join saw an update that named it, and
with it otherwise.  Every note holds a marker word of its own as well.
"""

from __future__ import annotations

import random
import re
from collections import defaultdict
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import islice

from confluent_kafka import Consumer, TopicPartition

from deid_core import PersonName
from streams.demo import messages
from streams.demo.segments import Stamp
from streams.demo.ward import EPOCH, Ward
from streams.kafka.client import CONSUMER
from streams.kafka.topics import HL7_RAW, PATIENT_UPDATES
from streams.model.outputs import SOURCE
from streams.model.patients.demographics import PatientId
from streams.pipeline.files.feed import RawMessage

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
NARRATIVE = (
    "Slept through the night, no dyspnea.",
    "Blood pressure 122/78 mmHg, pulse 72/min.",
    "Creatinine 0.9 mg/dL, potassium 4.1 mmol/L.",
    "Metoprolol 25 mg twice daily, no hypotension.",
    "Wound dry, sutures intact, no erythema.",
    "Ambulating with physiotherapy, no dizziness.",
    "Abdomen nontender, bowel sounds normal.",
    "Afebrile since admission, antibiotics stopped.",
)
DOCUMENT = ("11506-3", "Progress note", "PN")
PLAIN_MESSAGES = 98
"""Between two merges, besides an admission: every hundredth message is a merge."""
MARKER = re.compile(rf"\b(?:[{CONSONANTS}][{VOWELS}]){{5}}x\b")
SYLLABLES = len(CONSONANTS) * len(VOWELS)
LINE = "Diet as tolerated, {} as before."


def marker_of(number: int) -> str:
    """Return an invented word in lower case that no detector takes for anything."""
    syllables = []
    for _ in range(5):
        number, place = divmod(number, SYLLABLES)
        consonant, vowel = divmod(place, len(VOWELS))
        syllables.append(CONSONANTS[consonant] + VOWELS[vowel])
    return "".join(syllables) + "x"


def number_of(marker: str) -> int:
    """Return the number that `marker_of` wrote as a word."""
    number = 0
    for at in range(8, -1, -2):
        place = CONSONANTS.index(marker[at]) * len(VOWELS)
        number = number * SYLLABLES + place + VOWELS.index(marker[at + 1])
    return number


def numbers_in(value: bytes | None) -> list[int]:
    """Return the numbers of the notes in a value."""
    return [number_of(each) for each in MARKER.findall(_text(value))]


def surnames_in(value: bytes | None) -> list[str]:
    """Return the surnames in a value that only a patient record can reveal."""
    return SURNAME.findall(_text(value))


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

    def knows(self, key):
        """Return whether the key is that of a patient with surnames."""
        return key in self._patients

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
            yield self._note(person)

    def _adt(self, person, mrn, event):
        renamed = self._renamed(person, mrn)
        stamp = self._stamp(is_late=self._rng.random() < 0.1)
        return _raw(messages.adt(renamed, mrn, event, stamp), person.index)

    def _note(self, person):
        rng = self._rng
        mrn = rng.choice(self._mrns[person.index])
        sent = self.surnames[self._key(person.index, mrn)]
        named = {*sent[-1:], *rng.sample(sent, min(len(sent), 1))}
        gives_name = rng.random() < 1 / 6
        sender = self._renamed(person, mrn) if gives_name else _nameless(person)
        if gives_name:
            named.add(sender.name.family)
        note = self._ward_note(sender, mrn, self._text(self._narrative(), named))
        is_hl7 = gives_name or rng.random() < 0.5
        send = rng.choice((messages.oru, messages.mdm)) if is_hl7 else _event
        return _raw(send(note, rng), person.index)

    def _narrative(self):
        """Return text without a word that could be a patient's name.

        The last look refuses notes of wards that hold such words (`residue`): here they
        would hide those that a fault makes it refuse.
        """
        return "\n".join(["Seen on rounds.", *self._rng.sample(NARRATIVE, 3)])

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


class MarkedWard(RenamedWard):
    """A `RenamedWard` of which every note holds a marker word of its own.

    Each surname in a note was sent earlier under the note's identifier and in the same
    partition of `hl7.raw`.  So no output for subscribers may hold any of them.
    """

    def __init__(self, **options):
        self._noted = 0
        super().__init__(**options)

    def notes(self, count):
        """Yield so many notes, each with the updates and merges before it."""
        fed = 0
        while True:
            # Never fewer: the first few notes may all be of strangers.
            for message in self.messages(max(count, PLAIN_MESSAGES)):
                if fed == count:
                    return
                fed += bool(numbers_in(message.value))
                yield message

    def keys(self):
        """Return the keys of all patients that have surnames."""
        return [key for key, surnames in self.surnames.items() if surnames]

    def note_of(self, key):
        """Return a note of a patient; it holds the latest surnames."""
        return self.probe(key, self.surnames[key][-2:])

    def _ward_note(self, person, mrn, text):
        line = LINE.format(marker_of(self._noted))
        self._noted += 1
        text = f"{text}\n{line}"
        return messages.WardNote(person, mrn, DOCUMENT, text, self._stamp())

    def _notes_and_updates(self, notes):
        """Leave out strangers: their notes hold no marker."""
        for message in super()._notes_and_updates(notes):
            if not _is_note(message.value) or numbers_in(message.value):
                yield message


def take(messages, count):
    """Return the next messages, as many as there are."""
    return list(islice(messages, count))


def _is_note(value):
    if value is None:
        return False
    return not value.startswith(b"MSH") or b"|ADT^" not in value.split(b"\r", 1)[0]


def _text(value):
    return (value or b"").decode("utf-8", "replace")


def _raw(value, patient):
    return RawMessage(value, b"%d" % patient)


def _event(note, rng):
    """Return a note event without demographics."""
    stranger = replace(note.person, is_stranger=True)
    return messages.note_event(replace(note, person=stranger), rng)


def _nameless(person):
    return replace(person, name=PersonName(), former_names=())


class Observer:
    """Sends notes about updates once a `read_committed` reader has seen them.

    What it saw the join has to see as well, whatever way the update took: this covers
    what is forwarded between the identifiers of merged patients.

    Args:
        settings: Address of the cluster.
        ward: Made the messages.
        send: Publishes a message on `hl7.raw`.
        notes: How many notes to send at most.
        share: Of the updates from messages that a note follows; one follows each that
            was forwarded, as long as there are notes left.
    """

    def __init__(self, settings, ward, send, *, notes, share=0.05):
        self._ward = ward
        self._send = send
        self._left = notes
        self._share = share
        self._rng = random.Random(notes)
        self._visible: defaultdict[bytes, dict[str, None]] = defaultdict(dict)
        self._consumer = Consumer(
            settings.client(**CONSUMER, **{"group.id": "observer", "log_level": 0})
        )
        partitions = range(settings.partitions)
        self._consumer.assign(
            [TopicPartition(PATIENT_UPDATES.name, p, 0) for p in partitions]
        )

    def turn(self):
        """Read what has become visible, and send notes about it."""
        for message in self._consumer.consume(1000, timeout=0.01):
            if message.error() is None:
                self._see(message)

    def _see(self, message):
        key, known = message.key(), self._visible[message.key()]
        new = [s for s in dict.fromkeys(surnames_in(message.value())) if s not in known]
        known.update(dict.fromkeys(new))
        if not new or not self._left or not self._ward.knows(key):
            return
        source = dict(message.headers() or []).get(SOURCE, b"")
        is_forwarded = not source.startswith(HL7_RAW.name.encode())
        if is_forwarded or self._rng.random() < self._share:
            self._left -= 1
            others = [each for each in known if each not in new]
            note = self._ward.probe(key, {*new[-2:], *others[-1:]})
            # Without a key any intake worker may get it, not only that of the updates.
            self._send(replace(note, key=None))
