"""The seeded ward: messages for the demo, the tests and the benchmarks.

The same seed and options give the same bytes, in every process and on every day.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import date, datetime, time, timedelta

from . import messages
from .broken import BROKEN_KINDS, COMMON, broken_record
from .draft import Narrative, Planted
from .narrative import write_note
from .people import Registry, Split, Staff, WardPatient
from .pools import NoteKind, load_pools, lower_words
from .segments import Stamp
from .slots import SLOTS, Scene, ambiguous_words

__all__ = ["BROKEN_KINDS", "Planted", "Ward", "WardMessage", "broken_record"]

EPOCH = date(2025, 1, 6)
MINUTES_APART = 3
SPARES = 64
ADMISSION_EVENTS = ("A01", "A04")
UPDATE_EVENTS = ("A08", "A31")
HEADERS: Mapping[str, bytes] = {"origin": b"ward"}


@dataclass(frozen=True, slots=True)
class WardMessage:
    """A record for ``hl7.raw``, and its contents.

    Args:
        kind: ``adt``, ``merge``, ``oru``, ``mdm``, ``json`` or ``broken``.
        value: The record's value; None is a null value.
        headers: The record's headers.
        patient: The patient's index in the ward; None when the record is broken.
        planted: The identifiers in the narrative.
        text: The narrative, lines separated by line feeds; empty without one.
        kept: Clinical words of the narrative that must survive.
        code: Of the expected dead letter; empty without one.
    """

    kind: str
    value: bytes | None = field(repr=False)
    headers: Mapping[str, bytes]
    patient: int | None
    planted: tuple[Planted, ...] = field(default=(), repr=False)
    text: str = field(default="", repr=False)
    kept: tuple[str, ...] = ()
    code: str = ""


SENDERS: dict[str, Callable[[messages.WardNote, random.Random], bytes]] = {
    "oru": messages.oru,
    "mdm": messages.mdm,
    "json": messages.note_event,
}


class Ward:
    """An invented hospital.

    ``admissions``, ``messages`` and ``notes`` each begin anew at every call and do not
    depend on one another; the last two take the admissions as sent before.  One patient
    in twenty is never announced: the notes come as JSON events and hold only what rules
    can find.

    Args:
        seed: Decides everything.
        patients: How many people there are, at least 1.
        note_words: The approximate length of a note.
        split: Of templates, names and sites; ``dev`` and ``test`` share none.
        epoch: The day of the first message.

    Raises:
        ValueError: There are no patients, or a note would have no words.
    """

    def __init__(
        self,
        *,
        seed: int,
        patients: int = 200,
        note_words: int = 150,
        split: Split = "dev",
        epoch: date = EPOCH,
    ) -> None:
        if patients < 1 or note_words < 1:
            raise ValueError("a ward needs at least 1 patient and 1 word in a note")
        self._seed = f"{seed}/{split}"
        self._words = note_words
        self._epoch = datetime.combine(epoch, time(6, 0))
        self._pools = load_pools(split, slots=SLOTS)
        registry = Registry(seed=seed, split=split, pools=self._pools, epoch=epoch)
        staff: tuple[Staff, ...] = registry.staff(40)
        self.people = tuple(registry.person(n, staff) for n in range(patients))
        self._ambiguous_words: dict[tuple[int, str], frozenset[str]] = {}
        self._families = tuple(registry.family() for _ in range(SPARES))
        self._strangers = self._surnames_of_strangers(registry)
        self._addresses = tuple(registry.address() for _ in range(SPARES))
        self._phones = tuple(registry.phone() for _ in range(SPARES))

    def admissions(self) -> Iterator[WardMessage]:
        """Yield the ADT of every announced patient, one for each record number."""
        rng = self._rng("admissions")
        for person in self.people:
            if person.is_stranger:
                continue
            for part, mrn in enumerate(filter(None, (person.mrn, person.second_mrn))):
                stamp = self._stamp("A", 2 * person.index + part, minutes=0)
                value = messages.adt(person, mrn, rng.choice(ADMISSION_EVENTS), stamp)
                yield WardMessage("adt", value, HEADERS, person.index)

    def messages(self, count: int) -> Iterator[WardMessage]:
        """Yield a mixed ward: notes, updates, merges, and broken records (2%)."""
        rng = self._rng("messages")
        people = list(self.people)
        unmerged = [p.index for p in people if p.second_mrn and not p.is_stranger]
        merged: set[int] = set()
        broken = 0
        for number in range(count):
            stamp = self._stamp("M", number, minutes=number * MINUTES_APART)
            chance = rng.random()
            index = rng.randrange(len(people))
            if chance < 0.02:
                yield _broken(COMMON[broken % len(COMMON)])
                broken += 1
            elif chance < 0.03 and unmerged:
                index = unmerged.pop(rng.randrange(len(unmerged)))
                merged.add(index)
                value = messages.merge(people[index], stamp)
                yield WardMessage("merge", value, HEADERS, index)
            elif chance < 0.13 and not people[index].is_stranger:
                # Later changes are sent under the surviving number only.
                merged.discard(index)
                people[index] = self._changed(people[index], rng)
                event = rng.choice(UPDATE_EVENTS)
                value = messages.adt(people[index], people[index].mrn, event, stamp)
                yield WardMessage("adt", value, HEADERS, index)
            else:
                yield self._note(people[index], stamp, rng, merged=index in merged)

    def notes(self, count: int) -> Iterator[WardMessage]:
        """Yield notes only: all patients in turn, in an order new in every round."""
        rng = self._rng("notes")
        order: list[WardPatient] = []
        for number in range(count):
            if not order:
                order = rng.sample(self.people, len(self.people))
            stamp = self._stamp("N", number, minutes=number * MINUTES_APART)
            yield self._note(order.pop(), stamp, rng, merged=False)

    def _rng(self, use: str) -> random.Random:
        return random.Random(f"{self._seed}/{use}")  # noqa: S311 - no secrets

    def _stamp(self, series: str, number: int, *, minutes: int) -> Stamp:
        return Stamp(f"{series}{number:07}", self._epoch + timedelta(minutes=minutes))

    def _note(
        self, person: WardPatient, stamp: Stamp, rng: random.Random, *, merged: bool
    ) -> WardMessage:
        use_second = merged and rng.random() < 0.5
        mrn = person.second_mrn if use_second else person.mrn
        note_kind = rng.choice(self._pools.kinds)
        narrative = self._narrative(person, mrn, note_kind, stamp, rng)
        kind = "json" if person.is_stranger else rng.choice(SENDER_DRAWS)
        note = messages.WardNote(person, mrn, note_kind.document, narrative.text, stamp)
        value = SENDERS[kind](note, rng)
        return WardMessage(
            kind,
            value,
            HEADERS,
            person.index,
            planted=narrative.planted,
            text=narrative.text,
            kept=narrative.kept,
        )

    def _narrative(
        self,
        person: WardPatient,
        mrn: str,
        kind: NoteKind,
        stamp: Stamp,
        rng: random.Random,
    ) -> Narrative:
        scene = Scene(
            person=person,
            mrn=mrn,
            kin=rng.choice(person.kin),
            day=stamp.at.date(),
            pools=self._pools,
            ambiguous=self._ambiguous(person),
            strangers=self._strangers,
            rng=rng,
        )
        return write_note(kind, scene, words=self._words)

    def _surnames_of_strangers(self, registry: Registry) -> tuple[str, ...]:
        taken = {family.lower() for family in self._families}
        taken.update(word for person in self.people for word in person.name_words)
        taken.update(self._pools.clinical_words)
        drawn = [registry.family() for _ in range(4 * SPARES)]
        free = [name for name in drawn if taken.isdisjoint(lower_words(name))]
        return tuple(free[:SPARES])

    def _ambiguous(self, person: WardPatient) -> frozenset[str]:
        key = (person.index, person.name.family)
        if key not in self._ambiguous_words:
            self._ambiguous_words[key] = ambiguous_words(person, self._pools)
        return self._ambiguous_words[key]

    def _changed(self, person: WardPatient, rng: random.Random) -> WardPatient:
        change = rng.randrange(3)
        if change == 0:
            name = replace(person.name, family=rng.choice(self._families))
            former = (*person.former_names, person.name)
            return replace(person, name=name, former_names=former)
        if change == 1:
            former_addresses = (*person.former_addresses, person.address)
            address = rng.choice(self._addresses)
            return replace(person, address=address, former_addresses=former_addresses)
        return replace(person, phone=rng.choice(self._phones))


SENDER_DRAWS = ("oru", "oru", "oru", "oru", "mdm", "mdm", "mdm", "json", "json", "json")


def _broken(kind: str) -> WardMessage:
    code = BROKEN_KINDS[kind].code
    return WardMessage("broken", broken_record(kind), HEADERS, None, code=code)
