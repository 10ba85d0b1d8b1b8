"""Score the notes of a ward: planted, found and falsely replaced identifiers."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from deid_core import Annotation, KnownIdentifiers
from streams.demo.draft import HOWS, Planted
from streams.demo.ward import WardMessage

_WORD = re.compile(r"[^\W_]+")
_CORE = re.compile(r"(?:(?:Dr|Mr|Ms|Mrs)\. )?((\d*).*?)(?:, MD)?")

KINDS = {
    **dict.fromkeys(("exact", "misspelt", "former", "caps"), "patient"),
    **dict.fromkeys(("possessive", "comma", "titled", "first"), "patient"),
    "kin": "kin",
    "provider": "provider",
    "titled_provider": "provider",
    "mrn": "MRN",
    "birth_date": "birth date",
    "phone": "phone",
    "address": "address",
    "former_address": "address",
    "email": "e-mail",
    "ssn": "SSN",
    "account": "account",
    "facility": "facility",
    "titled_stranger": "titled stranger",
    "date": "date",
    "age": "age over 89",
}
"""The row of the table, by how an identifier was planted."""

MISSPELT, UNKNOWN = "  misspelt", "provider in no record"
ROWS = (
    *dict.fromkeys(("patient", MISSPELT, *(KINDS[how] for how in HOWS))),
    UNKNOWN,
)


@dataclass
class Tally:
    """Counts over the notes of one run."""

    notes: int = 0
    refused: int = 0
    leaking: int = 0
    planted: Counter[str] = field(default_factory=Counter)
    found: Counter[str] = field(default_factory=Counter)
    words: int = 0
    false: int = 0
    decoys: int = 0
    touched: int = 0
    name_words: int = 0
    true_name_words: int = 0
    misses: Counter[tuple[str, str]] = field(default_factory=Counter)
    falsely: Counter[tuple[str, str]] = field(default_factory=Counter)
    seen: dict[tuple[str, str], str] = field(default_factory=dict)

    def recall(self, row: str) -> str:
        """Return the recall of a row's identifiers."""
        count = self.planted[row]
        return f"{self.found[row] / count:.4f}" if count else ""


def tally(
    notes: Iterable[tuple[WardMessage, KnownIdentifiers]],
    texts: Iterable[str],
    results: Iterable[Sequence[Annotation] | None],
) -> Tally:
    """Return the counts over notes and their annotations."""
    total = Tally()
    for note, text, found in zip(notes, texts, results, strict=True):
        message, known = note
        total.notes += 1
        total.refused += found is None
        covered = _mask(text, found or ())
        missed = 0
        for planted in message.planted:
            rows = _rows(planted, known)
            is_found = _count_planted(total, planted, rows, text, covered)
            missed += not is_found
        total.leaking += bool(missed)
        _count_false(total, message, text, covered)
        _count_names(total, message, text, found or ())
    return total


def _mask(text: str, annotations: Iterable[Annotation]) -> list[Annotation | None]:
    mask: list[Annotation | None] = [None] * len(text)
    for each in annotations:
        width = each.span.end - each.span.start
        mask[each.span.start : each.span.end] = [each] * width
    return mask


def _rows(planted: Planted, known: KnownIdentifiers) -> tuple[str, ...]:
    """Return the rows in which an identifier counts.

    A provider whom no message has named yet is in no record.
    """
    row = KINDS[planted.how]
    if row == "provider":
        named = {f"{n.given} {n.family}" for n in known.provider_names}
        start, end = (at - planted.start for at in _core(planted))
        words = set(planted.value[start:end].split())
        is_known = any(words.issubset(name.split()) for name in named)
        return (row if is_known else UNKNOWN,)
    return (row, MISSPELT) if planted.how == "misspelt" else (row,)


def _count_planted(
    total: Tally,
    planted: Planted,
    rows: tuple[str, ...],
    text: str,
    covered: list[Annotation | None],
) -> bool:
    start, end = _core(planted)
    is_found = all(covered[at] for at in range(start, end) if text[at].isalnum())
    total.planted.update(rows)
    if is_found:
        total.found.update(rows)
    else:
        key = rows[-1], text[start:end]
        total.misses[key] += 1
        total.seen.setdefault(key, _around(text, start, end))
    return is_found


def _core(planted: Planted) -> tuple[int, int]:
    """Return the offsets of the identifier, without a title or "years old"."""
    core = _CORE.fullmatch(planted.value)
    if core is None or planted.label.main not in ("NAME", "AGE"):
        return planted.start, planted.start + len(planted.value)
    start, end = core.span(1 if planted.label.main == "NAME" else 2)
    return planted.start + start, planted.start + end


def _around(text: str, start: int, end: int) -> str:
    return text[max(0, start - 25) : end + 15].replace("\n", "|")


def _planted_places(message: WardMessage) -> set[int]:
    return {
        place
        for each in message.planted
        for place in range(each.start, each.start + len(each.value))
    }


def _count_false(
    total: Tally, message: WardMessage, text: str, covered: list[Annotation | None]
) -> None:
    planted = _planted_places(message)
    for word in _WORD.finditer(text):
        if planted.intersection(range(*word.span())):
            continue
        total.words += 1
        by = next(filter(None, covered[word.start() : word.end()]), None)
        if by and not is_part(word, planted):
            total.false += 1
            key = by.source, word[0]
            total.falsely[key] += 1
            total.seen.setdefault(key, _around(text, *word.span()))
    for decoy in message.kept:
        total.decoys += 1
        start = message.text.find(decoy)
        total.touched += any(covered[start : start + len(decoy)])


def is_part(word: re.Match[str], planted: set[int]) -> bool:
    """Return whether an unplanted word belongs to an adjacent planted identifier.

    That is a state between town and ZIP, or a middle initial after a name.
    """
    if len(word[0]) == 1:
        return bool(planted.intersection((word.start() - 1, word.start() - 2)))
    is_between = word.start() - 3 in planted and word.end() + 1 in planted
    return len(word[0]) == 2 and is_between


def _count_names(
    total: Tally, message: WardMessage, text: str, annotations: Iterable[Annotation]
) -> None:
    planted = _planted_places(message)
    for each in annotations:
        if each.label.main != "NAME":
            continue
        for word in _WORD.finditer(text, each.span.start, each.span.end):
            total.name_words += 1
            is_planted = bool(planted.intersection(range(*word.span())))
            total.true_name_words += is_planted or is_part(word, planted)
