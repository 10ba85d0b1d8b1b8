"""Whether fields and texts show the same surrogates, over a generated ward.

    python -m tests.benchmarks.consistency
    python -m tests.benchmarks.consistency --messages 2000 --seed 7

HL7 messages and note events of the same patients are scrubbed: with the records as they
are known at that moment, as scrub does, and again with all that the ward says of them.
A value is consistent if it has one surrogate in all fields and texts of its patient.
Exceptions are a surrogate that a real value of the record turns out to be later, and a
name in no record that notes show as given name here and as family name there.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import date
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from deid_core import Deidentifier, Document, Label, ScrubbedDocument
from deid_core.fiction.gender import Gender
from deid_core.fiction.name_pools import name_pools
from deid_core.fiction.places import states, town_of_zip, zip_codes_of
from streams.demo.ward import Ward
from streams.engine.errors import InvalidRecord
from streams.formats.hl7.framing import messages_of
from streams.formats.hl7.message import delimiters_of, unescape
from streams.formats.hl7.rebuilding import rows_of
from streams.formats.readers import HL7
from streams.model.notes import ClinicalNote
from streams.model.parts import Part
from streams.model.patients.demographics import PatientRecord
from streams.model.patients.known_identifiers import known_identifiers
from streams.model.patients.updates import PatientUpdate, fold
from streams.pipeline.intake.route import Routed, route
from streams.pipeline.publish import PatientValues, Pseudonyms

KEY = b"0" * 32
FIELDS: Mapping[tuple[str, int, int], str] = {
    ("PID", 3, 0): "MRN",
    ("PID", 5, 0): "family name",
    ("PID", 5, 1): "given name",
    ("PID", 11, 2): "town",
    ("PID", 11, 3): "state",
    ("PID", 11, 4): "ZIP",
    ("PID", 11, 5): "country",
    ("NK1", 2, 0): "family name",
    ("NK1", 2, 1): "given name",
    ("PV1", 7, 1): "family name",
    ("PV1", 7, 2): "given name",
}
LABELS: Mapping[Label, tuple[str, ...]] = {
    Label.PATIENT: ("family name", "given name"),
    Label.DOCTOR: ("family name", "given name"),
    Label.MEDICALRECORD: ("MRN",),
    Label.CITY: ("town",),
    Label.STATE: ("state",),
    Label.ZIP: ("ZIP",),
    Label.COUNTRY: ("country",),
}
KINDS = (*dict.fromkeys(FIELDS.values()), "days that dates move")
SHIFT = KINDS[-1]
_OTHER_SEX = {"F": Gender.MALE, "M": Gender.FEMALE}
_SEX, _GIVEN = ("PID", 8, 0), ("PID", 5, 1)
_BIRTH = ("PID", 7, 0)
_ADDRESS = tuple(("PID", 11, at) for at in (2, 3, 4, 5))
_PLACE = re.compile(r"(?P<town>.+?), (?P<state>[A-Z]{2}) (?P<zip>[0-9]{5})")
_NUMERIC = re.compile(r"(\d{1,2})/(\d{1,2})/(\d{4})")
_ISO = re.compile(r"(\d{4})-?(\d\d)-?(\d\d)")


@dataclass(slots=True)
class Seen:
    """The surrogates of one value of a patient, in compared form."""

    in_fields: set[str] = field(default_factory=set)
    in_texts: set[str] = field(default_factory=set)
    count: int = 0

    @property
    def is_in_both(self) -> bool:
        """Whether a field and a text show it."""
        return bool(self.in_fields and self.in_texts)

    @property
    def is_one(self) -> bool:
        """Whether it has a single surrogate."""
        return len(self.in_fields | self.in_texts) == 1


@dataclass(slots=True)
class Figures:
    """What was seen of a ward.

    Args:
        seen: By the patient's key, kind and value.
        addresses: Town, state, ZIP code and country of each rebuilt PID-11.
        given_names: Each PID-8, and the rebuilt PID-5.2 beside it.
        refused: Notes that were refused.
    """

    seen: dict[tuple[str, str, str], Seen] = field(
        default_factory=lambda: defaultdict(Seen)
    )
    addresses: list[tuple[str, str, str, str]] = field(default_factory=list)
    given_names: list[tuple[str, str]] = field(default_factory=list)
    refused: int = 0

    def of(self, kind: str) -> list[Seen]:
        """Return what was seen of a kind of value."""
        return [each for (_, of, _), each in self.seen.items() if of == kind]

    def differing(self, kind: str = "") -> int:
        """Return how many values of fields and texts have several surrogates."""
        return sum(
            each.is_in_both and not each.is_one
            for (_, of, _), each in self.seen.items()
            if of == kind or not kind
        )

    def misfits(self) -> int:
        """Return how many addresses have parts that do not belong together."""
        return sum(not fits(*each) for each in self.addresses)

    def of_other_sex(self) -> int:
        """Return how many given names are those of the other sex alone."""
        return sum(
            _OTHER_SEX.get(sex) is name_pools().gender(_compared(name))
            for sex, name in self.given_names
        )

    def add(self, patient: str, kind: str, value: str, shown: str, *, text: bool):
        """Take one surrogate of a value."""
        each = self.seen[patient, kind, _compared(value)]
        (each.in_texts if text else each.in_fields).add(_compared(shown))
        each.count += 1


class Records:
    """The records of all patients, folded as scrub folds them."""

    def __init__(self) -> None:
        self._rows: dict[bytes, PatientRecord] = {}

    def add(self, routed: Routed) -> None:
        """Fold the updates of a message."""
        for update in routed.updates:
            self._fold(PatientUpdate(update))

    def _fold(self, update: PatientUpdate) -> None:
        key = update.record.patient.key
        folded = fold(self._rows.get(key), update)
        self._rows[key] = folded.record
        for each in folded.forwards:
            self._fold(each)

    def document(self, note: ClinicalNote) -> Document:
        """Return a note with what is known of its patient."""
        key = note.patient.key
        known = known_identifiers(self._rows.get(key), note.demographics)
        return Document("", note.text, known, key.decode(), note.note_type)


def routed_of(ward: Ward, messages: int) -> Iterator[Routed]:
    """Yield what intake makes of a ward's messages, admissions first."""
    for message in (*ward.admissions(), *ward.messages(messages)):
        with suppress(InvalidRecord):
            yield route(message.value)


def figures(
    deidentifier: Deidentifier, ward: Ward, messages: int, *, all_known: bool = False
) -> Figures:
    """Return what a ward's messages show.

    Args:
        deidentifier: Scrubs them.
        ward: Sends them.
        messages: Their number, besides the admissions.
        all_known: Whether the records hold from the start what later messages say.
    """
    found, records = Figures(), Records()
    every = [*routed_of(ward, messages)]
    if all_known:
        for routed in every:
            records.add(routed)
    for routed in every:
        records.add(routed)
        for part in routed.parts:
            _rebuild(deidentifier, records, part, found)
        for note in () if routed.parts else routed.notes:
            _scrub(deidentifier, records.document(note), found)
    return found


def fits(town: str, state: str, code: str, country: str) -> bool:
    """Return whether an address of the United States could be one."""
    return (
        state in {each.code for each in states().values()}
        and country in ("USA", "US")
        and code[:5] in zip_codes_of(state, town)
        and (town_of_zip(code[:5]) or ("", ""))[1] == f"US-{state}"
    )


def _rebuild(
    deidentifier: Deidentifier, records: Records, part: Part, found: Figures
) -> None:
    document = replace(records.document(part.as_note("")), text="")
    opened = HL7.read(part.content)
    scrubbed = [
        _scrub(
            deidentifier,
            replace(document, text=each.text, note_type=each.note_type),
            found,
        )
        for each in opened.texts
    ]
    if None in scrubbed:
        return
    values = PatientValues(deidentifier, document, Pseudonyms(KEY))
    rebuilt = opened.rebuilt([each for each in scrubbed if each], values)
    [again] = messages_of(rebuilt.value)
    before, after = _components(part.content), _components(again)
    for place, kind in FIELDS.items():
        for segment, now in zip(before[place[0]], after[place[0]], strict=True):
            value, shown = _at(segment, place), _at(now, place)
            pairs = _pairs(value, shown) if "name" in kind else [(value, shown)]
            for one, other in pairs if value and shown else ():
                found.add(document.patient, kind, one, other, text=False)
    _patient(before["PID"][0], after["PID"][0], document.patient, found)


def _patient(
    before: list[list[str]], after: list[list[str]], patient: str, found: Figures
) -> None:
    """Take a PID segment's address, given name, and how far the birth date moved."""
    if sex := _at(before, _SEX):
        name = re.findall(r"[^\W\d_]+", _at(after, _GIVEN))
        found.given_names += [(sex, each) for each in name[:1]]
    if _at(before, _ADDRESS[2]):
        town, state, code, country = (_at(after, each) for each in _ADDRESS)
        found.addresses.append((town, state, code, country))
    days = _days(_at(before, _BIRTH), _at(after, _BIRTH))
    if days is not None:
        found.add(patient, SHIFT, "", str(days), text=False)


def _scrub(
    deidentifier: Deidentifier, document: Document, found: Figures
) -> ScrubbedDocument | None:
    [scrubbed] = deidentifier.deidentify_batch([document])
    if not isinstance(scrubbed, ScrubbedDocument):
        found.refused += 1
        return None
    for each, row in zip(scrubbed.annotations, scrubbed.offset_map.rows, strict=True):
        value = document.text[row.start : row.end]
        shown = scrubbed.text[row.scrubbed_start : row.scrubbed_end]
        if each.label is Label.DATE:
            days = _days(value, shown)
            if days is not None:
                found.add(document.patient, SHIFT, "", str(days), text=True)
            continue
        for kind, one, other in _read(each.label, value, shown):
            found.add(document.patient, kind, one, other, text=True)
    return scrubbed


def _read(label: Label, value: str, shown: str) -> Iterator[tuple[str, str, str]]:
    """Yield kind, value and surrogate of what an annotation holds."""
    whole, other = _PLACE.search(value), _PLACE.search(shown)
    if whole and other:
        for name, kind in (("town", "town"), ("state", "state"), ("zip", "ZIP")):
            yield kind, whole[name], other[name]
        return
    for kind in LABELS.get(label, ()):
        if "name" in kind:
            for one, written in _pairs(value, shown):
                yield kind, one, written
        elif not shown.startswith("["):
            yield kind, value, shown


def _pairs(value: str, shown: str) -> Iterable[tuple[str, str]]:
    """Return the words of a name with their surrogates."""
    words, others = re.findall(r"[^\W\d_]+", value), re.findall(r"[^\W\d_]+", shown)
    if shown.startswith("[") or len(words) != len(others):
        return ()
    pairs = zip(words, others, strict=True)
    return [each for each in pairs if len(each[0]) > 2 and each[0] != each[1]]


def _days(value: str, shown: str) -> int | None:
    before, after = _day(value), _day(shown)
    return (after - before).days if before and after else None


def _day(text: str) -> date | None:
    american, iso = _NUMERIC.fullmatch(text.strip()), _ISO.match(text.strip())
    try:
        if american:
            month, day, year = map(int, american.groups())
            return date(year, month, day)
        return date(*map(int, iso.groups())) if iso else None
    except ValueError:
        return None


def _components(content: str) -> Mapping[str, list[list[list[str]]]]:
    """Return the components of each first repetition, by segment and field."""
    marks = delimiters_of(content)
    found: defaultdict[str, list[list[list[str]]]] = defaultdict(list)
    for row in rows_of(content, marks):
        first = (each.split(marks.repetition)[0] for each in row.fields)
        found[row.name].append(
            [
                [unescape(each, marks).strip() for each in field.split(marks.component)]
                for field in first
            ]
        )
    return found


def _at(segment: list[list[str]], place: tuple[str, int, int]) -> str:
    _, number, at = place
    if len(segment) <= number or len(segment[number]) <= at:
        return ""
    return segment[number][at].split("&")[0]


def _compared(text: str) -> str:
    return re.sub(r"[\W_]+", " ", text.casefold()).strip().lstrip("0")


def main(
    messages: Annotated[int, typer.Option(help="Besides the admissions.")] = 1500,
    patients: Annotated[int, typer.Option(help="Of the ward.")] = 100,
    seed: Annotated[int, typer.Option(help="Of the ward.")] = 18,
) -> None:
    """Print how many values have one surrogate everywhere; fail if one has several."""
    deidentifier = Deidentifier.from_names("hybrid", "surrogate", key=KEY)
    ward = Ward(seed=seed, patients=patients)
    growing = figures(deidentifier, ward, messages)
    whole = figures(deidentifier, ward, messages, all_known=True)
    console = Console(width=100)
    console.print(table_of(growing, whole))
    console.print(
        f"addresses whose parts fit: {len(whole.addresses) - whole.misfits()}"
        f" of {len(whole.addresses)}; texts refused: {whole.refused}\n"
        f"given names of the other sex: {whole.of_other_sex()}"
        f" of {len(whole.given_names)}"
    )
    failures = whole.differing() + whole.misfits() + whole.of_other_sex()
    raise typer.Exit(bool(failures))


def table_of(growing: Figures, whole: Figures) -> Table:
    """Return a row for each kind of value."""
    table = Table(title="Surrogates of a ward's values, in fields and texts")
    table.add_column("value")
    for name in (
        *("in fields or texts", "one surrogate", "in both", "in both, one surrogate"),
        "as records grow",
    ):
        table.add_column(name, justify="right")
    for kind in KINDS:
        seen = whole.of(kind)
        one, both = sum(each.is_one for each in seen), _in_both(whole, kind)
        before = _in_both(growing, kind)
        table.add_row(
            kind,
            str(len(seen)),
            f"{one / max(len(seen), 1):.2%}",
            str(both),
            f"{1 - whole.differing(kind) / max(both, 1):.2%}",
            f"{1 - growing.differing(kind) / max(before, 1):.2%}",
        )
    return table


def _in_both(found: Figures, kind: str) -> int:
    return sum(each.is_in_both for each in found.of(kind))


if __name__ == "__main__":
    typer.run(main)
