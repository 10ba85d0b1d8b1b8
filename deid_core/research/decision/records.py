"""Records that a hospital may have beside a marked note, right and wrong.

A learner of decisions about proposals of the patient-record detector needs both: values
that identify somebody in the note, and values that stand in it as words.
"""

from __future__ import annotations

import re
import string
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import fields, replace
from datetime import date, timedelta
from enum import StrEnum
from random import Random
from typing import Any

from deid_core.document import (
    Address,
    KnownId,
    KnownIdentifiers,
    PersonName,
    with_changed_parts,
)
from deid_core.fiction.dates import MONTHS
from deid_core.labels import Label
from deid_core.language.lexicons import load_list, normal
from deid_core.language.lexicons.word_classes import WordClass, word_classes
from deid_core.research.corpora.corpus import GoldDocument, GoldSpan
from deid_core.research.synthetic_notes import Half, values

from .people import invented, people_of, without_title


class RecordKind(StrEnum):
    """How a record is related to its note."""

    RIGHT = "right"
    """The patient's, complete."""
    INCOMPLETE = "incomplete"
    """The patient's, about half of the values left out."""
    STALE = "stale"
    """The patient's of earlier: moved, renamed, with another employer since."""
    MISSPELT = "misspelt"
    """The patient's, with errors of typing and of reading."""
    OTHER_PATIENT = "other_patient"
    """Somebody else's."""
    ORDINARY_WORDS = "ordinary_words"
    """The patient's, all names exchanged for words of the note that are no names."""


_HALF = Half.TRAINING
_KEPT = 0.5
_INVENTED = 0.8
_CHANGED = 0.6
_WRONG = 0.4
_READ_WRONG = 0.3
_BORN = re.compile(
    r"(?:\bd\.?o\.?b\b\.?|\bborn|\bbirth ?(?:date|day)?|\bb\.d\.|\bbdate)"
    r"[\s:.,(=-]*(?:(?:on|is|of)\s)?[\s\"']*$",
    re.IGNORECASE,
)
_REACH = 24
_FIRST_BIRTH, _BIRTHS = date(1928, 1, 1), 33_000
_NUMERIC = re.compile(r"(\d{1,4})[-/. ](\d{1,2})[-/. ](\d{1,4})")
_DAY_FIRST = re.compile(r"(\d{1,2})[\s.-]*([A-Za-z]{3,9})[\s.,-]*(\d{4}|\d{2})")
_MONTH_FIRST = re.compile(r"([A-Za-z]{3,9})[\s.-]*(\d{1,2})[\s.,-]+(\d{4}|\d{2})")
_MONTHS = [each[:3].lower() for each in MONTHS]
_LAST_SHORT_YEAR = 26
_ADDRESS_PARTS = {
    Label.STREET: "street",
    Label.CITY: "city",
    Label.STATE: "state",
    Label.ZIP: "zip",
    Label.COUNTRY: "country",
}
_LONGEST_GAP = 12
_MOST_TOWNS = 3
_READ_AS = {"0": "O", "O": "0", "1": "l", "5": "S", "8": "B"}
_SHORTEST_ID = 4
_KINDS = ("Hospital", "Medical Center", "Clinic")
_WITH_KIND = 0.4
_WORD = re.compile(r"[^\W\d_]+")
_SHORTEST_WORD = 3
_ANY_WORD = re.compile(r"[a-z]{4,9}")


def records_of(
    document: GoldDocument, chance: Random, other: GoldDocument | None = None
) -> dict[RecordKind, KnownIdentifiers]:
    """Return a record of each kind beside a note.

    Args:
        document: Marked completely.
        chance: Decides everything; each kind has its own from it, so that one more
            draw for a kind changes no other.
        other: Another patient's note; without it there is no `OTHER_PATIENT`.
    """
    chances = {
        kind: Random(chance.getrandbits(64))  # noqa: S311
        for kind in RecordKind
    }
    right = right_record(document, chances[RecordKind.RIGHT])
    records = {
        RecordKind.RIGHT: right,
        RecordKind.INCOMPLETE: incomplete(right, chances[RecordKind.INCOMPLETE]),
        RecordKind.STALE: stale(right, chances[RecordKind.STALE]),
        RecordKind.MISSPELT: misspelt(right, chances[RecordKind.MISSPELT]),
        RecordKind.ORDINARY_WORDS: of_ordinary_words(
            right, document, chances[RecordKind.ORDINARY_WORDS]
        ),
    }
    if other is not None:
        own = chances[RecordKind.OTHER_PATIENT]
        records[RecordKind.OTHER_PATIENT] = right_record(other, own)
    return records


def right_record(document: GoldDocument, chance: Random) -> KnownIdentifiers:
    """Return the record of a note's patient, by the note's marks.

    Where the corpus has a record of its own, its values count, and the marks for what
    it lacks.  A hospital knows more than a note says: a name, a birth date, an address
    and numbers that the note does not hold are invented.
    """
    people = people_of(document, chance)
    marked = KnownIdentifiers(
        people.patients or (invented(chance),),
        people.kin,
        people.providers,
        birth_dates=_distinct(_birth_dates(document)),
        addresses=_distinct(_addresses(document)),
        phones=_texts(document, Label.PHONE, Label.FAX),
        emails=_texts(document, Label.EMAIL),
        ids=_distinct(_ids(document)),
        facilities=tuple(
            _in_full(each, chance) for each in _whole(_texts(document, Label.HOSPITAL))
        ),
        employers=_whole(_texts(document, Label.ORGANIZATION)),
    )
    written = document.known
    own: dict[str, Any] = {
        each.name: value
        for each in fields(written)
        if (value := getattr(written, each.name))
    }
    record = replace(marked, **own)
    providers = tuple(map(without_title, record.provider_names))
    return _with_invented(replace(record, provider_names=providers), chance)


def incomplete(record: KnownIdentifiers, chance: Random) -> KnownIdentifiers:
    """Return a record without about half of its values; one name always stays."""

    def kept(values: Sequence[Any]) -> tuple[Any, ...]:
        return tuple(each for each in values if chance.random() < _KEPT)

    part = _mapped(record, kept)
    addresses = tuple(_fewer_parts(each, chance) for each in part.addresses)
    names = part.patient_names or record.patient_names[:1]
    return replace(part, patient_names=names, addresses=addresses)


def stale(record: KnownIdentifiers, chance: Random) -> KnownIdentifiers:
    """Return a record of earlier: some kinds of values are other ones, at least one.

    These are the patient's surname, address and phones, the employers and facilities.
    """
    changes: dict[str, Callable[[Any], Any]] = {
        "patient_names": _renamed(chance),
        "addresses": lambda _: _address(chance),
        "phones": lambda _: values.number("phone", chance),
        "employers": lambda _: values.organization(_HALF, chance),
        "facilities": lambda _: values.institution("cued", _HALF, chance),
    }
    present = [key for key in changes if getattr(record, key)]
    if not present:
        return record
    chosen = [key for key in present if chance.random() < _CHANGED]
    changed: dict[str, Any] = {
        key: tuple(map(changes[key], getattr(record, key)))
        for key in chosen or [chance.choice(present)]
    }
    return replace(record, **changed)


def misspelt(record: KnownIdentifiers, chance: Random) -> KnownIdentifiers:
    """Return a record with errors: at least one in the patient's name.

    A name has one edit; a number has a wrong digit, or one that was read as a letter; a
    birth date is some days or years off.
    """
    first, *rest = record.patient_names or (PersonName(),)

    def name(value: PersonName) -> PersonName:
        return _with_edit(value, chance) if chance.random() < _WRONG else value

    def number(value: str) -> str:
        return _with_wrong_digit(value, chance) if chance.random() < _WRONG else value

    return replace(
        record,
        patient_names=(_with_edit(first, chance), *map(name, rest)),
        kin_names=tuple(map(name, record.kin_names)),
        provider_names=tuple(map(name, record.provider_names)),
        birth_dates=tuple(_wrong_day(each, chance) for each in record.birth_dates),
        addresses=tuple(
            replace(each, street=number(each.street), zip=number(each.zip))
            for each in record.addresses
        ),
        phones=tuple(map(number, record.phones)),
        ids=tuple(KnownId(number(each.value), each.label) for each in record.ids),
    )


def of_ordinary_words(
    record: KnownIdentifiers, document: GoldDocument, chance: Random
) -> KnownIdentifiers:
    """Return a record whose people are called as unmarked words of the note.

    Surnames that are words (Hill, Low, Price), and some given names (Will, Rose), are
    chosen; where the note has none, any words.  The same name becomes the same word.
    """
    words = _unmarked_words(document)
    chance.shuffle(words)
    families = _of_kind(words, WordClass.WEAK_FAMILY)
    given_names = _of_kind(words, WordClass.WEAK_GIVEN)
    anything = [each for each in words if _may_be_any_name(each)]
    chosen: dict[str, str] = {}

    def word(name: str, own: list[str]) -> str:
        """Return the next word for a name; with none left, the name."""
        if name not in chosen:
            pool = own or anything
            chosen[name] = pool[-1].capitalize() if name and pool else name
            for each in (families, given_names, anything):
                each[:] = [other for other in each if other != normal(chosen[name])]
        return chosen[name]

    def renamed(name: PersonName) -> PersonName:
        family = word(name.family, families)
        is_kept = not name.given or chance.random() < _KEPT
        given = name.given if is_kept else word(name.given, given_names)
        return replace(name, family=family, given=given)

    return replace(
        record,
        patient_names=tuple(map(renamed, record.patient_names)),
        kin_names=tuple(map(renamed, record.kin_names)),
        provider_names=tuple(map(renamed, record.provider_names)),
    )


def _distinct(found: Iterable[Any]) -> tuple[Any, ...]:
    return tuple(dict.fromkeys(found))


def _mapped(
    record: KnownIdentifiers, change: Callable[[Sequence[Any]], tuple[Any, ...]]
) -> KnownIdentifiers:
    """Return the record with every list of values changed."""
    lists = {each.name: getattr(record, each.name) for each in fields(record)}
    changed: dict[str, Any] = {
        name: change(own) for name, own in lists.items() if isinstance(own, tuple)
    }
    return replace(record, **changed)


def _text(document: GoldDocument, mark: GoldSpan) -> str:
    text = document.text[mark.span.start : mark.span.end]
    return " ".join(text.split())


def _texts(document: GoldDocument, *labels: Label) -> tuple[str, ...]:
    """Return the different values that are marked so, whatever their letter case."""
    found = (_text(document, each) for each in document.spans if each.label in labels)
    return tuple({normal(text): text for text in found}.values())


def _whole(texts: Sequence[str]) -> tuple[str, ...]:
    """Return the texts whose words are not all in a longer one."""
    forms = [frozenset(normal(text).split()) for text in texts]
    return tuple(
        text
        for text, own in zip(texts, forms, strict=True)
        if not any(own < other for other in forms)
    )


def _in_full(facility: str, chance: Random) -> str:
    """Return some of the facilities of one word with what they are: "Knapp Clinic"."""
    is_short = " " not in facility and chance.random() < _WITH_KIND
    return f"{facility} {chance.choice(_KINDS)}" if is_short else facility


def _ids(document: GoldDocument) -> Iterator[KnownId]:
    for mark in document.spans:
        if mark.label is None or mark.label.main != "ID":
            continue
        text = _text(document, mark)
        if sum(map(str.isalnum, text)) >= _SHORTEST_ID:
            yield KnownId(text, mark.label)


def _birth_dates(document: GoldDocument) -> Iterator[date]:
    for mark in document.spans:
        start = mark.span.start
        before = document.text[max(0, start - _REACH) : start]
        is_birth = mark.label is Label.DATE and _BORN.search(before)
        if is_birth and (day := _day_of(_text(document, mark))):
            yield day


def _day_of(text: str) -> date | None:
    """Return the day that a date in figures or with its month's name means."""
    if found := _NUMERIC.search(text):
        first, second, third = map(int, found.groups())
        if len(found[1]) == len("1999"):
            return _valid(first, second, third)
        year = _year(third)
        return _valid(year, first, second) or _valid(year, second, first)
    if found := _DAY_FIRST.search(text):
        return _valid(_year(int(found[3])), _month(found[2]), int(found[1]))
    if found := _MONTH_FIRST.search(text):
        return _valid(_year(int(found[3])), _month(found[1]), int(found[2]))
    return None


def _month(name: str) -> int:
    form = name[:3].lower()
    return _MONTHS.index(form) + 1 if form in _MONTHS else 0


def _year(number: int) -> int:
    if number > 99:
        return number
    return number + (2000 if number <= _LAST_SHORT_YEAR else 1900)


def _valid(year: int, month: int, day: int) -> date | None:
    try:
        return date(year, month, day)
    except ValueError:
        return None


def _addresses(document: GoldDocument) -> Iterator[Address]:
    """Yield those with a street, then a few towns; marks of one address are close."""
    found: list[Address] = []
    parts: dict[str, str] = {}
    end = 0
    for mark in document.spans:
        key = _ADDRESS_PARTS.get(mark.label) if mark.label else None
        if key is None:
            continue
        if key in parts or mark.span.start - end > _LONGEST_GAP:
            found += [Address(**parts)] if parts else []
            parts = {}
        parts[key] = _text(document, mark)
        end = mark.span.end
    found += [Address(**parts)] if parts else []
    yield from (each for each in found if each.street)
    towns = dict.fromkeys(each for each in found if each.city and not each.street)
    yield from list(towns)[:_MOST_TOWNS]


def _with_invented(record: KnownIdentifiers, chance: Random) -> KnownIdentifiers:
    """Fill most of what every record has and this one lacks."""
    day = _FIRST_BIRTH + timedelta(chance.randrange(_BIRTHS))
    number = values.number("mrn", chance)
    made: dict[str, Any] = {
        "provider_names": (invented(chance),),
        "birth_dates": (day,),
        "addresses": (_address(chance),),
        "phones": (values.number("phone", chance),),
        "ids": (KnownId(number, Label.MEDICALRECORD),),
        "facilities": (values.institution("cued", _HALF, chance),),
    }
    missing = [key for key in made if not getattr(record, key)]
    added = {key: made[key] for key in missing if chance.random() < _INVENTED}
    return replace(record, **added)


def _address(chance: Random) -> Address:
    return Address(
        values.street(chance),
        "",
        values.town(_HALF, chance),
        values.state(chance),
        values.number("zip", chance),
    )


def _fewer_parts(address: Address, chance: Random) -> Address:
    return with_changed_parts(
        address, lambda part: part if chance.random() < _KEPT else ""
    )


def _renamed(chance: Random) -> Callable[[PersonName], PersonName]:
    """Return a change of surname, the same for all who have the same one."""
    surnames: dict[str, str] = {}

    def renamed(name: PersonName) -> PersonName:
        if name.family not in surnames:
            surnames[name.family] = invented(chance).family
        return replace(name, family=surnames[name.family])

    return renamed


def _with_edit(name: PersonName, chance: Random) -> PersonName:
    long = [key for key in ("family", "given") if len(getattr(name, key)) > 2]
    if not long:
        return name
    key = chance.choice(long)
    return replace(name, **{key: _one_edit(getattr(name, key), chance)})


def _one_edit(word: str, chance: Random) -> str:
    """Swap, drop, double or exchange a letter, not the first."""
    places = [at for at in range(1, len(word)) if word[at].isalpha()]
    at = chance.choice(places or [0])
    head, letter, tail = word[:at], word[at], word[at + 1 :]
    other = chance.choice(string.ascii_lowercase)
    edits = (
        head + tail[:1] + letter + tail[1:] if tail[:1].isalpha() else word,
        head + tail,
        head + letter + letter + tail,
        head + other + tail,
    )
    return chance.choice([each for each in edits if each != word])


def _with_wrong_digit(text: str, chance: Random) -> str:
    """Exchange a digit for another one, or for a letter that looks alike."""
    places = [at for at, each in enumerate(text) if each.isdigit() or each in _READ_AS]
    if not places:
        return text
    at = chance.choice(places)
    is_read_wrong = not text[at].isdigit() or chance.random() < _READ_WRONG
    other = _READ_AS.get(text[at], "") if is_read_wrong else ""
    if not other:
        other = chance.choice(string.digits.replace(text[at], ""))
    return text[:at] + other + text[at + 1 :]


def _wrong_day(day: date, chance: Random) -> date:
    if chance.random() > _WRONG:
        return day
    days = chance.choice((-9, -1, 1, 10, 365, -3653))
    return day + timedelta(days)


def _unmarked_words(document: GoldDocument) -> list[str]:
    """Return the words, in compared form, that the note has outside of marks alone."""
    marks = [*(each.span for each in document.spans), *document.decoys]
    covered = {at for each in marks for at in range(each.start, each.end)}
    inside: set[str] = set()
    outside: dict[str, None] = {}
    for found in _WORD.finditer(document.text):
        form = normal(found[0])
        if not covered.isdisjoint(range(*found.span())):
            inside.add(form)
        elif len(form) >= _SHORTEST_WORD:
            outside[form] = None
    left_out = (load_list("function_words") - {"will"}) | load_list("honorifics")
    left_out |= inside
    return [form for form in outside if form not in left_out]


def _of_kind(words: Iterable[str], kinds: int) -> list[str]:
    return [word for word in words if word_classes(word) & kinds]


def _may_be_any_name(word: str) -> bool:
    is_word = bool(word_classes(word) & WordClass.WORD)
    return is_word and _ANY_WORD.fullmatch(word) is not None
