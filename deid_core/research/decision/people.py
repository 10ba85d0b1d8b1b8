"""The people of a marked note, by names as a hospital's record has them.

A mark often holds a part of a name only: "Bill", "Mr. K", "dkh".  The record has the
whole name, so what is missing is invented: William Kessler.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from random import Random

from deid_core.document import PersonName
from deid_core.labels import Label
from deid_core.language.lexicons import load_list, normal
from deid_core.language.lexicons.nicknames import nicknames_of
from deid_core.language.lexicons.word_classes import WordClass, word_classes
from deid_core.research.corpora.corpus import GoldDocument, GoldSpan
from deid_core.research.synthetic_notes import Half
from deid_core.research.synthetic_notes.names import GENDERS, names_of
from deid_core.research.synthetic_notes.people import draw_person

_WORD = re.compile(r"[^\W\d_]+(?:['\u2019-][^\W\d_]+)*")
_LETTERS = re.compile(r"[^\W\d_]+")
_NICKNAME = re.compile(r"""[("\u201c]([^()"\u201c\u201d]+)[)"\u201d]""")
_MONOGRAM = re.compile(r"(?:[^\W\d_]\.? ?){2,3}")
_TITLE_BEFORE = re.compile(r"([^\W\d_]+)\.?\s$")
_GIVEN = WordClass.GIVEN | WordClass.WEAK_GIVEN
_FAMILY = WordClass.FAMILY | WordClass.WEAK_FAMILY
_ANY_NAME = _GIVEN | _FAMILY
_VOWEL = re.compile("[aeiouy]", re.IGNORECASE)
_SUFFIXES = frozenset({"jr", "sr", "ii", "iii"})
_PET_ENDINGS = ("y", "ie", "i", "o")
_LONGEST_MONOGRAM = 3
_HALF = Half.TRAINING

KIN_TAG = "KIN"
"""The tag of relatives in corpora that tell them from patients."""

_FORMAL = 0.8
_FORMAL_IN_FULL = 0.4
_SAME_FAMILY = 0.6
_ALIAS = 0.4


@dataclass(slots=True, repr=False)
class Person:
    """A person of a note.

    Args:
        name: The most complete name; a part may be an initial, or empty.
        marks: How often the note names the person.
        aliases: Given names that are not the one of `name`.
    """

    name: PersonName
    marks: int = 1
    aliases: list[str] = field(default_factory=list)

    @property
    def is_full(self) -> bool:
        """True if given name and surname are known."""
        return min(len(self.name.given), len(self.name.family)) > 1


@dataclass(frozen=True, slots=True, repr=False)
class People:
    """The names of one note, completed.

    Args:
        patients: The patient's, aliases included; empty if the note has no name.
    """

    patients: tuple[PersonName, ...]
    kin: tuple[PersonName, ...]
    providers: tuple[PersonName, ...]


def people_of(document: GoldDocument, chance: Random) -> People:
    """Return the people whom the marks of a note name, as a record has them.

    The patient is the first person with a full name, or else whoever is named most.
    """
    marks = [each for each in document.spans if each.label is Label.PATIENT]
    persons = _persons(document, [each for each in marks if each.tag != KIN_TAG])
    has_kin_tags = any(each.tag == KIN_TAG for each in marks)
    patient = _patient(persons)
    others = [each for each in persons if each is not patient]
    if patient is not None and not patient.is_full:
        others = _joined(patient, others)
    patients: list[PersonName] = []
    if patient is not None:
        if has_kin_tags:
            others = _without_aliases(patient, others, chance)
        patients = _names(patient, chance)
    family = patients[0].family if patients else ""
    kin = [
        *others,
        *_persons(document, [each for each in marks if each.tag == KIN_TAG]),
    ]
    doctors = [each for each in document.spans if each.label is Label.DOCTOR]
    return People(
        tuple(patients),
        tuple(_names(each, chance, family)[0] for each in kin),
        tuple(_names(each, chance)[0] for each in _persons(document, doctors)),
    )


def without_title(name: PersonName) -> PersonName:
    """Return a name without what records write before it: "Dr", "Ns."."""
    given = " ".join(_without_titles([*name.given.split(), ""])).strip()
    return replace(name, given=given)


def invented(chance: Random) -> PersonName:
    """Return the name of a new person."""
    person = draw_person(_HALF, chance, Label.PATIENT)
    middle = person.middle if chance.random() < 0.5 else ""
    return PersonName(person.family.text, person.given.text, middle)


def _persons(document: GoldDocument, marks: Sequence[GoldSpan]) -> list[Person]:
    """Return the persons whom marks name, in the order of their first mark."""
    written = [_read(document, each) for each in marks]
    places = sorted(range(len(marks)), key=lambda at: (-_weight(written[at][0]), at))
    persons: list[tuple[int, Person]] = []
    for at in places:
        name, alias = written[at]
        if not (name.given or name.family):
            continue
        known = next((each for _, each in persons if _is_of(name, each.name)), None)
        if known is None:
            known = Person(name, 0)
            persons.append((at, known))
        known.marks += 1
        is_other = normal(name.given) != normal(known.name.given)
        if is_other and len(name.given) > 1:
            alias = alias or name.given
        if alias and alias not in known.aliases:
            known.aliases.append(alias)
    return [person for _, person in sorted(persons, key=lambda each: each[0])]


def _weight(name: PersonName) -> int:
    """Return how complete a name is: whole words count before initials."""
    parts = (name.given, name.middle, name.family)
    return sum(len(part) > 1 for part in parts) * (len(parts) + 1) + sum(
        map(bool, parts)
    )


def _is_of(name: PersonName, other: PersonName) -> bool:
    """Return whether a name may be a shorter form of the other."""
    given, family = normal(name.given), normal(name.family)
    if len(given) == len(family) == 1:
        return bool(other.given and other.family) and (
            given + family == normal(other.given[0] + other.family[0])
        )
    if max(len(given), len(family)) < 2:
        initial = given or family
        return initial in {normal(part[:1]) for part in (other.given, other.family)}
    forms = {normal(other.given), normal(other.middle), normal(other.family)}
    pets = nicknames_of(normal(other.given)) if other.given else frozenset()
    is_family = not family or family in forms or _is_initial_of(family, other.family)
    is_given = not given or given in forms | pets or _is_initial_of(given, other.given)
    return is_family and is_given


def _is_initial_of(form: str, word: str) -> bool:
    return len(form) == 1 and normal(word).startswith(form)


def _patient(persons: Sequence[Person]) -> Person | None:
    full = next((each for each in persons if each.is_full), None)
    return full or max(persons, key=lambda each: each.marks, default=None)


def _joined(patient: Person, others: list[Person]) -> list[Person]:
    """Complete a given name by the surname of another mark, or the other way round."""
    has_family = len(patient.name.family) > 1
    for other in others:
        is_family = len(other.name.family) > 1
        if is_family == has_family or other.is_full:
            continue
        family, given = (patient, other) if has_family else (other, patient)
        patient.name = replace(family.name, given=given.name.given)
        return [each for each in others if each is not other]
    return others


def _without_aliases(
    patient: Person, others: list[Person], chance: Random
) -> list[Person]:
    """Take some of the other names without a surname for the patient's own."""
    left = []
    for other in others:
        is_alias = not other.name.family and len(other.name.given) > 1
        if is_alias and chance.random() < _ALIAS:
            patient.aliases.append(other.name.given)
        else:
            left.append(other)
    return left


def _names(person: Person, chance: Random, family: str = "") -> list[PersonName]:
    """Return a person's name, completed, then aliases that the record has."""
    name = _completed(person.name, chance, family)
    aliases = [
        replace(name, given=alias, middle="")
        for alias in person.aliases
        if chance.random() < _ALIAS
    ]
    return [name, *aliases]


def _completed(name: PersonName, chance: Random, family: str = "") -> PersonName:
    """Return a name in full: initials become names that begin so."""
    is_full = min(len(name.given), len(name.family)) > 1
    given = name.given
    if len(given) < 2:
        given = _beginning_with(given, _given_names(), chance)
    elif chance.random() < (_FORMAL_IN_FULL if is_full else _FORMAL):
        given = _formal(given, chance)
    own = name.family
    if not own and family and chance.random() < _SAME_FAMILY:
        own = family
    elif len(own) < 2:
        own = _beginning_with(own, _family_names(), chance)
    return replace(name, family=own, given=given)


def _formal(given: str, chance: Random) -> str:
    """Return the name of which a given name is short, if it is of any."""
    formal = sorted(
        other
        for other in nicknames_of(normal(given))
        if len(other) > len(given)
        and not other.endswith(_PET_ENDINGS)
        and word_classes(other) & WordClass.GIVEN
    )
    return chance.choice(formal).capitalize() if formal else given


@cache
def _given_names() -> tuple[str, ...]:
    common = names_of(_HALF).common
    return tuple(name for each in GENDERS for name in common.given[each].values)


@cache
def _family_names() -> tuple[str, ...]:
    return names_of(_HALF).common.family.values


def _beginning_with(letter: str, names: Sequence[str], chance: Random) -> str:
    wanted = normal(letter)
    own = [name for name in names if normal(name[:1]) == wanted] if wanted else names
    return chance.choice(own) if own else letter


def _read(document: GoldDocument, mark: GoldSpan) -> tuple[PersonName, str]:
    """Return a marked name in its parts, and the nickname that it holds."""
    text = document.text[mark.span.start : mark.span.end]
    is_doctor = mark.label is Label.DOCTOR
    before = _TITLE_BEFORE.search(document.text, 0, mark.span.start)
    titles = load_list("honorifics")
    is_titled = before is not None and normal(before[1]) in titles
    nickname = ""
    if inner := _NICKNAME.search(text):
        nickname = _cased(" ".join(_WORD.findall(inner[1])[:1]))
        text = text[: inner.start()] + text[inner.end() :]
    if monogram := _monogram(text, is_doctor=is_doctor):
        return monogram, nickname
    family, comma, rest = text.partition(",")
    given = _without_degrees(_WORD.findall(rest)) if comma else []
    words = _without_titles(_without_degrees(_WORD.findall(family)))
    if given:
        return _name(given, " ".join(words)), nickname
    if not words:
        return PersonName(), nickname
    if len(words) == 1:
        return _of_one_word(
            words[0], is_family=is_titled, is_doctor=is_doctor
        ), nickname
    at = _family_at(words)
    return _name(
        [*words[: at[0]], *words[at[1] :]], " ".join(words[slice(*at)])
    ), nickname


def _monogram(text: str, *, is_doctor: bool) -> PersonName | None:
    """Return initials as a name of them: "KS", "K.S.", a doctor's "dkh"."""
    letters = "".join(_LETTERS.findall(text))
    if not 2 <= len(letters) <= _LONGEST_MONOGRAM or not _MONOGRAM.fullmatch(text):
        return None
    is_dotted = len(letters) < len(text)
    is_name = _VOWEL.search(letters) and word_classes(normal(letters)) & _ANY_NAME
    is_written_so = letters.isupper() or (is_doctor and letters.islower())
    if not is_dotted and (is_name or not is_written_so):
        return None
    first, *middle, last = list(letters.upper())
    return PersonName(last, first, "".join(middle))


def _of_one_word(word: str, *, is_family: bool, is_doctor: bool) -> PersonName:
    kinds = word_classes(normal(word))
    is_given = bool(kinds & WordClass.GIVEN) or (
        bool(kinds & _GIVEN) and not kinds & WordClass.FAMILY
    )
    is_surname = is_family or (not is_given and (is_doctor or bool(kinds & _FAMILY)))
    word = _cased(word)
    return PersonName(word) if is_surname else PersonName("", word)


def _family_at(words: Sequence[str]) -> tuple[int, int]:
    """Return where the surname begins and ends.

    It is the one word in capitals, what a particle begins, what is before a last
    initial ("quintanar r") or a given name ("Lindqvist Marta"), or the last word.
    """
    count = len(words)
    capitals = [at for at, word in enumerate(words) if len(word) > 2 and word.isupper()]
    if len(capitals) == 1 and any(map(str.istitle, words)):
        return capitals[0], capitals[0] + 1
    particles = load_list("name_particles")
    joint = next(
        (at for at in range(1, count - 1) if normal(words[at]) in particles), 0
    )
    if joint:
        return joint, count
    is_last_initial = count == 2 and len(words[1]) == 1
    if is_last_initial and not word_classes(normal(words[0])) & _GIVEN:
        return 0, 1
    is_family_first = (
        count == len(("family", "given"))
        and _is_mostly(words[0], WordClass.FAMILY)
        and _is_mostly(words[1], WordClass.GIVEN)
    )
    return (0, 1) if is_family_first else (count - 1, count)


def _is_mostly(word: str, kind: int) -> bool:
    return word_classes(normal(word)) & _ANY_NAME == kind


def _name(given: Sequence[str], family: str) -> PersonName:
    first, *middle = [*map(_cased, given), ""]
    return PersonName(_cased(family), first, " ".join(filter(None, middle)))


def _without_titles(words: list[str]) -> list[str]:
    titles = load_list("courtesies") | load_list("honorifics")
    kept = list(words)
    while len(kept) > 1 and normal(kept[0]).strip(".") in titles:
        kept.pop(0)
    return kept


def _without_degrees(words: Iterable[str]) -> list[str]:
    degrees = load_list("degrees")
    kept = list(words)
    while kept and (kept[-1] in degrees or normal(kept[-1]) in _SUFFIXES):
        kept.pop()
    return kept


def _cased(name: str) -> str:
    """Return a name as records write it: capitalised, if it has no case of its own."""
    if len(name) > 1 and not (name.isupper() or name.islower()):
        return name
    return _LETTERS.sub(lambda found: found[0].capitalize(), name)
