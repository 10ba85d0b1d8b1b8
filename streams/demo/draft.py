"""The text of a note while it is written, with the positions of its identifiers."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from deid_core.labels import Label

SHORTEST_NAME_PART = 4


@dataclass(frozen=True, slots=True)
class Planted:
    """An identifier in a note's narrative that must not survive.

    The value occurs nowhere else in that note, so that ``value in scrubbed`` means
    that it was missed.

    Args:
        value: The text as written.
        label: Its label.
        how: The way of planting, one of ``HOWS``.
        start: Its offset in the narrative, in code points.
    """

    value: str = field(repr=False)
    label: Label
    how: str
    start: int


HOWS = {
    "exact": "a name of the patient as the record has it",
    "misspelt": "a part of the patient's name, one letter wrong",
    "former": "a name that the patient bore before",
    "caps": "the patient's name in capitals",
    "possessive": "the patient's name before 's",
    "comma": "the patient's name as Surname, Given",
    "titled": "the patient's surname after Mr. or Ms.",
    "first": "the patient's given name alone",
    "kin": "a name of next of kin",
    "provider": "a provider of the message or record, without title",
    "titled_provider": "a provider of the message or record after Dr. or before MD",
    "titled_stranger": "a titled name of no record",
    "date": "a date near the visit",
    "birth_date": "the patient's birth date",
    "age": "an age over 89",
    "mrn": "the medical record number, labelled",
    "ssn": "the social security number",
    "account": "the account number, labelled",
    "phone": "the patient's or kin's phone, in any usual form",
    "email": "the patient's e-mail address",
    "address": "street, city or ZIP of the patient's address",
    "former_address": "street of an address that the patient has left",
    "facility": "the sending hospital's name",
}


@dataclass(frozen=True, slots=True)
class _Plant:
    start: int
    end: int
    phrase: tuple[int, int]
    label: Label
    how: str


@dataclass(frozen=True, slots=True)
class Narrative:
    """A finished text.

    Args:
        text: Lines separated by line feeds.
        planted: The identifiers in it, in order.
        kept: Clinical words in it that look like identifiers and must survive.
    """

    text: str = field(repr=False)
    planted: tuple[Planted, ...] = field(repr=False)
    kept: tuple[str, ...]


class Draft:
    """Collects text, planted identifiers and decoys, left to right."""

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._length = 0
        self._plants: list[_Plant] = []
        self._kept: list[str] = []
        self.words = 0

    def say(self, text: str) -> None:
        """Append text without identifiers."""
        self._parts.append(text)
        self._length += len(text)
        self.words += text.count(" ")

    def end_line(self) -> None:
        """Append a line feed."""
        self._parts.append("\n")
        self._length += 1
        self.words += 1

    def keep(self, text: str) -> None:
        """Append a clinical decoy, which must survive."""
        self._kept.append(text)
        self.say(text)

    def plant(self, value: str, label: Label, how: str) -> None:
        """Append an identifier."""
        start = self._length
        self.say(value)
        span = (start, self._length)
        self._plants.append(_Plant(*span, span, label, how))

    def phrase(self, *pieces: tuple[str, str], label: Label) -> None:
        """Append the pieces of one name: ``(text, how)``, plain text with how ``""``.

        Each piece is planted by itself if it is long and unique in the note, else as
        the whole phrase.
        """
        first = self._length
        last = first + sum(len(text) for text, _ in pieces)
        for text, how in pieces:
            start = self._length
            self.say(text)
            if how:
                end = self._length
                self._plants.append(_Plant(start, end, (first, last), label, how))

    def finish(self) -> Narrative | None:
        """Return the narrative, or None if an identifier occurs twice by chance.

        The note is then written again.
        """
        text = "".join(self._parts)
        rest = self._without_plants(text)
        plants = [_settled(plant, text, rest) for plant in self._plants]
        planted = tuple(
            Planted(text[p.start : p.end], p.label, p.how, p.start) for p in plants
        )
        if any(each.value in rest for each in planted):
            return None
        return Narrative(text, planted, tuple(dict.fromkeys(self._kept)))

    def _without_plants(self, text: str) -> str:
        kept, position = [], 0
        for plant in self._plants:
            kept.append(text[position : plant.start])
            position = plant.end
        kept.append(text[position:])
        return "\0".join(kept)


def _settled(plant: _Plant, text: str, rest: str) -> _Plant:
    """Return the plant, widened to its phrase where its own text is ambiguous."""
    start, end = plant.phrase
    if (start, end) == (plant.start, plant.end):
        return plant
    value = text[plant.start : plant.end]
    if len(value) >= SHORTEST_NAME_PART and value not in rest:
        return plant
    return replace(plant, start=start, end=end)
