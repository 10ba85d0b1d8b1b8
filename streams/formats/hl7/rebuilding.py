"""A message without identifiers: every value by its rule, all else as it was.

Delimiters, empty fields, repetitions and the order of the segments stay.  A value that
does not look like what its rule keeps (a code, a number, a date) is removed; so is a
code that is a word of the patient's record.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from streams.formats.documents import Unreadable
from streams.formats.enclosed_notes import OfMessage, Opener
from streams.formats.values import OTHER, Removals, Rule, Verb
from streams.model.parts import Part, Values

from .embedded import DOCUMENTS, POINTER, embedded_document, embedded_part
from .field_rules import TEXTS, FieldRule, Rules, Word
from .free_texts import WHOLE, FreeTexts, Place, Scrubbed
from .message import NULL, Delimiters, escape, unescape
from .narrative import NARRATIVE_TYPES
from .values import LETTERS, Checks, Value, ValueWriter

HEADERS = ("MSH", "BHS", "FHS")
"""Segments whose first field is the field separator."""
NO_FIELDS: Mapping[int, FieldRule] = {}

_OBSERVED = 5
_Z_SEGMENT = re.compile(r"Z[A-Z0-9]{2}")
_AGE = re.compile(r"\bage\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Row:
    """A segment of a message, with its fields as they are written.

    Args:
        line: Its number in the message.
        name: `PID`.
        fields: By number; that of a header's separator is empty.
    """

    line: int
    name: str
    fields: tuple[str, ...] = field(repr=False)


def rows_of(content: str, delimiters: Delimiters) -> Iterator[Row]:
    """Yield the segments of a message."""
    for line, text in enumerate(content.split("\r")):
        name, *fields = text.split(delimiters.field)
        before = ("", "") if name in HEADERS else ("",)
        yield Row(line, name, (*before, *fields))


@dataclass(frozen=True, slots=True)
class Frame:
    """The context that all fields of a message have in common.

    Args:
        rules: Of all fields.
        fields: Of its version (MSH-12).
        delimiters: Of the message.
        checks: What its values look like.
        opener: Of documents in it.
        whose: Returns its patient.
    """

    rules: Rules
    fields: Mapping[str, Mapping[int, FieldRule]]
    delimiters: Delimiters
    checks: Checks
    opener: Opener
    whose: OfMessage

    def observed_type(self, row: Row) -> str:
        """Return the type of an OBX's value (OBX-2)."""
        return _first(row.fields[2], self.delimiters) if len(row.fields) > 2 else ""

    def rule_of(self, row: Row, number: int) -> FieldRule | None:
        """Return the rule of a field, of OBX-5 that of its type, if it has one."""
        rule = self.fields.get(row.name, NO_FIELDS).get(number)
        if rule is None or rule.whole is None:
            return rule
        if rule.whole.verb is Word.OBSERVATION:
            kind = self.observed_type(row)
            return rule if kind in NARRATIVE_TYPES else self.rules.observation(kind)
        return rule

    def value(self, raw: str, leaf: Rule, siblings: Sequence[str], at: int) -> Value:
        """Return a value without escape sequences and surrounding space."""
        text = "" if raw == NULL else unescape(raw, self.delimiters).strip()
        return Value(text, leaf, siblings, at)


def add_texts(rows: Sequence[Row], frame: Frame, texts: FreeTexts) -> None:
    """Add the free texts of all fields but those of notes."""
    for row in rows:
        for number, raw in enumerate(row.fields):
            if not raw:
                continue
            rule = frame.rule_of(row, number)
            if rule is None:
                if (row.name, number) == ("OBX", 5):
                    _add_documents(
                        (row.line, number), raw, frame.observed_type(row), frame, texts
                    )
                continue
            if rule.has_texts or (rule.has_codes and LETTERS.search(raw)):
                _add_field((row.line, number), raw, rule, frame, texts)


def _add_documents(
    field: tuple[int, int], raw: str, kind: str, frame: Frame, texts: FreeTexts
) -> None:
    if kind != "ED":
        return
    marks = frame.delimiters
    for at, repetition in enumerate(raw.split(marks.repetition)):
        place = (*field, at, *WHOLE)
        try:
            if repetition:
                opened = embedded_document(repetition, marks, frame.opener, frame.whose)
                texts.add_document(place, opened)
        except Unreadable as error:
            texts.unreadable[place] = error.kind


def enclosed_in(
    rows: Iterator[Row], delimiters: Delimiters, opener: Opener, of: OfMessage
) -> Iterator[Part]:
    """Yield the messages in OBX-5."""
    for row in rows:
        is_document = row.name == "OBX" and len(row.fields) > _OBSERVED
        if not is_document or _first(row.fields[2], delimiters) != "ED":
            continue
        for each in row.fields[_OBSERVED].split(delimiters.repetition):
            if found := embedded_part(each, delimiters, opener, of):
                yield found


def _add_field(
    field: tuple[int, int], raw: str, rule: FieldRule, frame: Frame, texts: FreeTexts
) -> None:
    lines: list[tuple[Place, str]] = []
    for place, value, part in _values(field, raw, rule, frame):
        text = "" if part == NULL else unescape(part, frame.delimiters)
        if value.rule.verb is Verb.SCRUB:
            lines.append((place, text))
        elif frame.checks.is_text(value, part):
            is_vocabulary = frame.checks.is_vocabulary(value)
            texts.add_term(place, text, is_vocabulary=is_vocabulary)
    texts.add_lines(lines)


def _values(
    field: tuple[int, int], raw: str, rule: FieldRule, frame: Frame
) -> Iterator[tuple[Place, Value, str]]:
    """Yield what may be free text in a field: place, value, what is written there."""
    marks = frame.delimiters
    for at, repetition in enumerate(raw.split(marks.repetition)):
        if rule.whole is not None:
            value = frame.value(repetition, rule.whole, (), 0)
            yield (*field, at, *WHOLE), value, repetition
            continue
        components = repetition.split(marks.component)
        for n, (leaves, component) in enumerate(
            zip(rule.components, components, strict=False)
        ):
            parts = component.split(marks.subcomponent)
            for m, (leaf, part) in enumerate(zip(leaves, parts, strict=False)):
                if leaf.verb not in TEXTS and not LETTERS.search(part):
                    continue
                siblings = (components, n) if len(leaves) == 1 else (parts, m)
                yield (*field, at, n, m), frame.value(part, leaf, *siblings), part


class Rebuilder(Removals):
    """Writes the rows of one part.

    Args:
        frame: Of the message.
        scrubbed: Its free texts.
        values: Of the patient.
    """

    def __init__(self, frame: Frame, scrubbed: Scrubbed, values: Values) -> None:
        super().__init__()
        self._frame = frame
        self._rules = frame.rules
        self._fields = frame.fields
        self._delimiters = frame.delimiters
        self._scrubbed = scrubbed
        self._of_patient = values
        self._values = ValueWriter(frame.checks, values)
        self._is_removed = False

    def line(self, row: Row) -> str | None:
        """Return a segment, or None if it is removed."""
        if row.name not in self._fields:
            self.removed[self._segment(row.name)] += 1
            return None
        self._values.is_age = row.name == "OBX" and self._shows_age(row)
        fields = [
            self._field(row, number, raw) if raw else ""
            for number, raw in enumerate(row.fields)
        ]
        kept = fields[2:] if row.name in HEADERS else fields[1:]
        return self._delimiters.field.join((row.name, *kept))

    def _segment(self, name: str) -> str:
        is_name = self._rules.is_known(name) or _Z_SEGMENT.fullmatch(name)
        return name if is_name else OTHER

    def _shows_age(self, row: Row) -> bool:
        names = "".join(row.fields[3:4]).split(self._delimiters.component)
        ages = self._rules.codes.ages
        return any(each in ages or _AGE.search(each) for each in names)

    def _field(self, row: Row, number: int, raw: str) -> str:
        if raw == NULL:
            return raw
        known = self._fields[row.name].get(number)
        rule = self._frame.rule_of(row, number)
        self._is_removed = False
        written = ""
        if rule is not None:
            written = self._by_rule(row.line, number, raw, rule)
        elif known is not None and self._frame.observed_type(row) in DOCUMENTS:
            written = self._document((row.line, number), raw)
        else:
            self._is_removed = True
        if self._is_removed:
            self.removed[known.place if known else OTHER] += 1
        return written

    def _by_rule(self, line: int, number: int, raw: str, rule: FieldRule) -> str:
        mark = self._delimiters.repetition
        whole = rule.whole
        if whole is not None and whole.verb is Word.DELIMITERS:
            # Those of the message were checked; another header's may be anything.
            self._is_removed = line > 0
            return "" if line else raw
        return mark.join(
            self._whole((line, number, at, *WHOLE), each, whole)
            if whole is not None
            else self._repetition((line, number, at), each, rule)
            for at, each in enumerate(raw.split(mark))
        )

    def _repetition(self, at: tuple[int, int, int], raw: str, rule: FieldRule) -> str:
        mark = self._delimiters.component
        components = raw.split(mark)
        rules = rule.components
        if rule.is_list:
            rules += rules[-1:] * (len(components) - len(rules))
        written = []
        for n, component in enumerate(components):
            if not component:
                written.append("")
            elif n < len(rules):
                written.append(self._component((*at, n), components, rules[n]))
            else:
                self._is_removed = True
                written.append("")
        return mark.join(written)

    def _component(
        self,
        at: tuple[int, int, int, int],
        components: list[str],
        rules: Sequence[Rule],
    ) -> str:
        mark = self._delimiters.subcomponent
        raw = components[at[-1]]
        parts = raw.split(mark)
        is_single = len(rules) == 1
        written = []
        for m, part in enumerate(parts):
            if not part:
                written.append("")
            elif m < len(rules):
                # A code's text and system are found among its siblings.
                siblings, n = (components, at[-1]) if is_single else (parts, m)
                made = self._leaf((*at, m), part, rules[m], siblings, n)
                written.append(self._unless_leak(made))
            else:
                self._is_removed = True
                written.append("")
        return mark.join(written)

    def _leaf(
        self, place: Place, raw: str, leaf: Rule, siblings: list[str], at: int
    ) -> str:
        if raw == NULL:
            return raw
        given = self._frame.value(raw, leaf, siblings, at)
        if self._frame.checks.is_identifying(given):
            self._is_removed = True
            return ""
        if leaf.verb in TEXTS:
            return self._text(place, raw, given)
        value = given.text
        if not value:
            return ""
        is_text = self._frame.checks.is_text(given, raw)
        if is_text and not self._scrubbed.is_unchanged(place):
            is_local = leaf.verb is Verb.CODE
            written = self._values.local(given) if is_local else None
        else:
            written = self._values.write(given)
        if written is None:
            self._is_removed = True
            return ""
        # A coding system of the site's own is not named.
        self._is_removed |= leaf.verb is Verb.SYSTEM and written != value
        if written == value and raw.strip(" ") == value:
            return raw
        return escape(written.replace("\r", " ").replace("\n", " "), self._delimiters)

    def _unless_leak(self, written: str) -> str:
        if written and self._of_patient.is_leak(written):
            self._is_removed = True
            return ""
        return written

    def _whole(self, place: Place, raw: str, leaf: Rule) -> str:
        if raw == NULL:
            return raw
        return self._text(place, raw, self._frame.value(raw, leaf, (), 0))

    def _text(self, place: Place, raw: str, given: Value) -> str:
        is_text = self._frame.checks.is_text(given, raw)
        if given.rule.verb in TEXTS and not is_text:
            return raw
        written = self._scrubbed.written(place, raw)
        if written is None:
            self._is_removed = True
            return ""
        return written

    def _document(self, field: tuple[int, int], raw: str) -> str:
        """Return OBX-5 with the documents in it scrubbed (ED), or without them."""
        mark = self._delimiters.repetition
        return mark.join(
            self._embedded((*field, at, *WHOLE)) if each else ""
            for at, each in enumerate(raw.split(mark))
        )

    def _embedded(self, place: Place) -> str:
        try:
            rebuilt = self._scrubbed.embedded(place, self._of_patient)
        except Unreadable as error:
            self.unreadable[error.kind.value] += 1
            return ""
        if rebuilt is None:
            self.unreadable[POINTER] += 1
            return ""
        self.add(rebuilt.document)
        return rebuilt.written


def _first(raw: str, delimiters: Delimiters) -> str:
    repetition = raw.split(delimiters.repetition)[0]
    part = repetition.split(delimiters.component)[0].split(delimiters.subcomponent)[0]
    return "" if part == NULL else unescape(part, delimiters).strip()
