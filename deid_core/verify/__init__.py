"""The last look at the output: no value of the record and none that was replaced.

Independent of the detectors: its own, simple scan of what was kept of the note, after
normalisation (invisible characters, compatibility forms, case, diacritics), for whole
values of the record, for names of the record with one slip, and for what was replaced
elsewhere in the same note; and of what was written instead, for values of the record.
It can only refuse.  Where an invisible character may separate two words, the text is
looked at with and without a blank there (`plain_text`).

Five answers of `language` and the detectors are given a second time here on purpose,
so that one mistake cannot both miss a value and pass it: `leaked_values` decides itself
which words are telling names (`propagation`) and which are part of a clinical term
(`language.context`), `_is_eponym` repeats the record's eponyms
(`detectors.patient_record.context`), `record_values` writes out dates with months of
its own, and `language.plain_text` reads odd characters by Unicode's categories
(`language.reading`).  Word lists are shared: they are data, not decisions.

What it calls residue is what detection promises to find, not more, or the guards would
turn into dead letters.  These are therefore no residue: a name that is also a common
word ("young", "May") unless given name and surname stand together; a misspelt one that
is written small, is a word itself or has fewer than five letters; names of two letters;
an eponym before its noun ("Foley catheter"); an institution whose words are all common;
a town like Reading, a state and a country; ids under six characters; the last seven
digits of a phone number; a replaced name where it may name a thing.  Tags and
pseudonyms in brackets are not looked at, so a patient named "Date" does no harm.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import repeat

from ..document import Annotation, Document, KnownIdentifiers, OffsetMap
from ..errors import ResidueFound
from ..labels import Label
from ..language.lexicons import load_list, normal, words_of
from ..language.plain_text import views_of
from ..language.text_cache import cached_by_text
from .leaked_values import misspelt_in, replaced_in
from .record_values import Value, Values, values_of

_DATE = re.compile(
    r"(?=(?<!\d)(?<![a-z])(\d{1,4}|[a-z]{3,9})(?:st|nd|rd|th)?[\s,./-]{1,3}"
    r"(\d{1,2}|[a-z]{3,9})(?:st|nd|rd|th)?[\s,./-]{1,3}(\d{4}|\d{1,2})(?!\d))"
)
_SEPARATORS = b" -./()"
_EPONYM_REACH = 40
_DATE_REACH = 48
_CHUNKS = 65_536
# Blank lines between pieces: no pattern reaches across two line ends.
_PARTED = "\n\n\n\n"
_TAG = re.compile(r"\[[A-Z]+(?::[A-Z]+)?(?:-[0-9a-f]{8})?\]")


def verify(
    document: Document,
    scrubbed_text: str,
    offset_map: OffsetMap,
    annotations: Sequence[Annotation] = (),
    proposals: Sequence[Annotation] = (),
) -> None:
    """Refuse a scrubbed text in which what must not be published survived.

    Args:
        document: The note, and the record without what a reader may see.
        scrubbed_text: What is to be published.
        offset_map: The way between the two.
        annotations: What was replaced.
        proposals: What they were merged from, each with its own score.

    Raises:
        ResidueFound: The message names the kinds and counts, never a value.
    """
    kept = offset_map.kept(scrubbed_text)
    values = values_of(document.known) if document.known else None
    written = _invented(scrubbed_text, offset_map, annotations) if values else ()
    residue: Counter[str] = Counter()
    for view in views_of([*kept, *written]):
        read = view[: len(kept)]
        found = list(replaced_in(document.text, proposals, read))
        if values:
            found += _residue(values, view)
            found += ["misspelt name"] * misspelt_in(values.names, read)
        residue |= Counter(found)
    if residue:
        kinds = ", ".join(f"{kind} ({n})" for kind, n in sorted(residue.items()))
        raise ResidueFound(f"survived in the scrubbed text: {kinds}; do not publish it")


def residue_in(known: KnownIdentifiers, texts: Iterable[str]) -> Counter[str]:
    """Return how many values of each kind survive in texts that are to be published.

    Args:
        known: The patient's record.
        texts: Pieces that do not continue one another.
    """
    residue: Counter[str] = Counter()
    for view in views_of([*texts]) if known else ():
        residue |= Counter(_residue(values_of(known), view))
    return residue


def _residue(values: Values, texts: Iterable[str]) -> Iterator[str]:
    """Yield the kind of each value that survives, as often as it does."""
    original = _PARTED.join(texts)
    text = _normal(original)
    for value in values.words:
        if value.needle in text:
            yield from repeat(value.kind, _count(value, text))
    for value in values.full_names:
        if value.needle in text:
            yield from repeat(value.kind, _count_full_names(value, original))
    yield from _numbers(values, text)
    yield from repeat("birth date", _count_birth_dates(values, text))


def _invented(
    scrubbed_text: str, offset_map: OffsetMap, annotations: Sequence[Annotation]
) -> set[str]:
    """Return what was written that a reader may take for a value.

    Not dates: one shifted from 4 July may well read 7/4, and is not the birth date.
    """
    dates = {each.span.start for each in annotations if each.label is Label.DATE}
    written = (
        scrubbed_text[row.scrubbed_start : row.scrubbed_end]
        for row in offset_map.rows
        if row.start not in dates
    )
    return {each for each in written if not _TAG.fullmatch(each)}


def _normal(text: str) -> str:
    """Return the normalised text; most words of a note are not worth the work twice."""
    if text.isascii():
        return text.lower()
    return "\n".join(map(_normal_line, text.split("\n")))


def _normal_line(line: str) -> str:
    if line.isascii():
        return line.lower()
    return " ".join(map(_normal_chunk, line.split(" ")))


@cached_by_text(_CHUNKS)
def _normal_chunk(text: str) -> str:
    return normal(text)


def _count(value: Value, text: str) -> int:
    places = re.finditer(value.pattern(value.words), text)
    if not value.kind.endswith(" name"):
        return sum(1 for _ in places)
    return sum(not _is_eponym(each, text) for each in places)


def _count_full_names(value: Value, original: str) -> int:
    places = re.finditer(value.pattern(value.words), original, re.IGNORECASE)
    return sum(
        not (each[1].islower() or each[2].islower() or _is_eponym(each, original))
        for each in places
    )


def _numbers(values: Values, text: str) -> Iterator[str]:
    if not values.numbers:
        return
    # Of UTF-8, bytes that are ASCII stand for nothing else.
    encoded = text.encode("utf-8", "surrogatepass").translate(None, _SEPARATORS)
    squeezed = encoded.decode("utf-8", "surrogatepass")
    for value in values.numbers:
        if value.needle in squeezed:
            yield from repeat(value.kind, _count(value, text))


def _count_birth_dates(values: Values, text: str) -> int:
    places: set[int] = set()
    for start, end in _around_years(values, text):
        for each in _DATE.finditer(text, start, end):
            is_cut = each.end(3) == end < len(text)
            if each.groups() in values.birth_dates and not is_cut:
                places.add(each.start())
    return len(places)


def _around_years(values: Values, text: str) -> Iterator[tuple[int, int]]:
    """Yield the ranges in which a birth date can stand: most of a note is none."""
    if sum(map(text.count, values.years)) * _DATE_REACH > len(text):
        yield 0, len(text)
        return
    for year in values.years:
        start = text.find(year)
        while start >= 0:
            yield max(0, start - _DATE_REACH), min(len(text), start + _DATE_REACH)
            start = text.find(year, start + 1)


def _is_eponym(place: re.Match[str], text: str) -> bool:
    eponyms, nouns = load_list("eponyms"), load_list("eponym_nouns")
    if eponyms.isdisjoint(normal(word) for word in words_of(place[0])):
        return False
    following = words_of(text[place.end() : place.end() + _EPONYM_REACH])
    if following[:1] == ["s"]:
        following.pop(0)
    return bool(following) and normal(following[0]) in nouns
