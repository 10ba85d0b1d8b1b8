"""The last look at the output: refuse a scrubbed text in which a value leaked.

A leaked value is a value of the patient's record, or one that was replaced elsewhere in
the same note.  `Verifier` looks for whole values and for misspelt names of the record
(edit distance 1) in what was kept of the note, and for values of the record in what was
written instead.  Text is compared without invisible characters, compatibility forms,
case and diacritics; where an invisible character may separate two words, it is read
with and without a blank there (`plain_text`), and once more without the line ends that
may cut a word or a number.  Names are also looked for where only the
letter case parts them from what is before and after ("seenSmithJones").

Independent on purpose: it shares no code with the detectors, only the lexicons.  It can
only refuse, so it asks for no more than detection promises.  No leaked
values are therefore: a name that is also a common word ("young", "May") unless given
name and surname are together; a misspelt name that is written small, is a word itself
or has fewer than five letters; names of two letters; an eponym before its noun ("Foley
catheter"); a name that is the month of a date ("12-Jan-2025"); an institution whose
words are all common; a town like Reading, a state and a country; ids under six
characters; the last seven digits of a phone number; a replaced name where it may name
something else.  Tags and pseudonyms in brackets are left out, so that a patient named
"Date" does no harm.

Five answers of `language` and the detectors are given a second time here on purpose,
so that one mistake cannot both miss a value and pass it: `replaced_values` decides
itself which words are names (`propagation`) and which are part of a clinical term
(`language.context`), `_is_eponym` repeats the record's eponyms
(`detectors.patient_record.context`), `record_values` writes out dates with months of
its own, and `language.plain_text` reads odd characters by Unicode's categories
(`language.reading`).  Shared are word lists, the compared form of a word (`normal`) and
what the lexicons say of it (`is_ordinary`, `is_vocabulary`, `word_classes`): a wrong
entry there can both miss a value and pass it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import repeat

from deid_core.document import Annotation, KnownIdentifiers, OffsetMap
from deid_core.errors import ResidueFound
from deid_core.labels import Label
from deid_core.language.lexicons import load_list, normal, words_of
from deid_core.language.plain_text import views_of, without_cuts

from .glued_words import glued_words, parted
from .record_values import MONTHS, Value, Values, ValuesReader, misspelt_in
from .replaced_values import replaced_in

_DATE = re.compile(
    r"(?=(?<!\d)(?<![a-z])(\d{1,4}|[a-z]{3,9})(?:st|nd|rd|th)?[\s,./-]{1,3}"
    r"(\d{1,2}|[a-z]{3,9})(?:st|nd|rd|th)?[\s,./-]{1,3}(\d{4}|\d{1,2})(?!\d))"
)
_SEPARATORS = b" -./()"
_EPONYM_REACH = 40
_DATE_REACH = 48
_DAY_REACH = 8
_MAX_RECORDS = 256
# Blank lines between pieces: no value continues across two line ends.
_BETWEEN_PIECES = "\n\n\n\n"
_TAG = re.compile(r"\[[A-Z]+(?::[A-Z]+)?(?:-[0-9a-f]{8})?\]")
# Letters that have no lower case, and the one each is taken for where case is ignored.
_LIKE_ASCII = str.maketrans({"\u0131": "i", "\u017f": "s"})


class Verifier:
    """Find leaked values.  Thread-safe.

    It keeps the records that it prepared last; they go with it.
    """

    def __init__(self) -> None:
        self._values_of = lru_cache(maxsize=_MAX_RECORDS)(ValuesReader().values_of)

    def verify(
        self,
        original: str,
        known: KnownIdentifiers,
        scrubbed_text: str,
        offset_map: OffsetMap,
        annotations: Sequence[Annotation] = (),
        proposals: Sequence[Annotation] = (),
    ) -> None:
        """Refuse a scrubbed text that holds a leaked value.

        Args:
            original: The note.
            known: The patient's record, without what a reader may see.
            scrubbed_text: What is to be published.
            offset_map: From the note to the scrubbed text.
            annotations: What was replaced.
            proposals: What they were merged from, each with its own score.

        Raises:
            ResidueFound: The message names the kinds and counts, never a value.
        """
        kept = offset_map.kept(scrubbed_text)
        values = self._values_of(known) if known else None
        written = _invented(scrubbed_text, offset_map, annotations) if values else ()
        leaked: Counter[str] = Counter()
        for view in _views([*kept, *written]):
            read = view[: len(kept)]
            found = list(replaced_in(original, proposals, read))
            if values:
                found += _leaked(values, view)
                found += ["misspelt name"] * misspelt_in(values.names, read)
            leaked |= Counter(found)
        if leaked:
            kinds = ", ".join(f"{kind} ({n})" for kind, n in sorted(leaked.items()))
            raise ResidueFound(
                f"survived in the scrubbed text: {kinds}; do not publish it"
            )

    def leaked_in(self, known: KnownIdentifiers, texts: Iterable[str]) -> Counter[str]:
        """Return how many values of a record, by kind, leak in texts.

        Args:
            known: The patient's record.
            texts: Pieces that do not continue one another.
        """
        leaked: Counter[str] = Counter()
        for view in _views([*texts]) if known else ():
            leaked |= Counter(_leaked(self._values_of(known), view))
        return leaked


def _views(pieces: Sequence[str]) -> Iterator[Sequence[str]]:
    """Yield the pieces in each way in which they may be read."""
    for view in views_of(pieces):
        yield view
        joined = without_cuts(view)
        if joined is not view:
            yield joined


def _leaked(values: Values, texts: Iterable[str]) -> Iterator[str]:
    """Yield the kind of each leaked value, as often as it is there."""
    original = _BETWEEN_PIECES.join(texts)
    text = _normal(original)
    words = [each for each in values.words if each.needle in text]
    for value in words:
        if not value.is_name:
            yield from repeat(value.kind, _count(value, text))
    names = [each for each in words if each.is_name]
    pairs = [each for each in values.full_names if each.needle in text]
    if names or pairs:
        yield from _names(names, pairs, original, text)
    yield from _numbers(values, text)
    yield from repeat("birth date", _count_birth_dates(values, text))


def _names(
    names: Sequence[Value], pairs: Sequence[Value], original: str, text: str
) -> Iterator[str]:
    """Yield the kind of each name that leaks, be it glued to other words."""
    originals: tuple[str, ...] = (original,)
    glued = _normal(" ".join(glued_words(original)))
    if any(each.needle in glued for each in (*names, *pairs)):
        originals += parted(original)
    texts = (text, *map(_normal, originals[1:]))
    for value in names:
        yield from repeat(value.kind, max(_count_names(value, each) for each in texts))
    for value in pairs:
        counts = (_count_full_names(value, each) for each in originals)
        yield from repeat(value.kind, max(counts))


def _invented(
    scrubbed_text: str, offset_map: OffsetMap, annotations: Sequence[Annotation]
) -> set[str]:
    """Return the surrogates in which a reader may find a value of the record.

    Dates are left out: one shifted from 4 July may read 7/4, and is no birth date.
    """
    dates = {each.span.start for each in annotations if each.label is Label.DATE}
    written = (
        scrubbed_text[row.scrubbed_start : row.scrubbed_end]
        for row in offset_map.rows
        if row.start not in dates
    )
    return {each for each in written if not _TAG.fullmatch(each)}


def _normal(text: str) -> str:
    """Return the text in compared form; of most lines only the case changes."""
    if text.isascii():
        return text.lower()
    return "\n".join(map(_normal_line, text.split("\n")))


def _normal_line(line: str) -> str:
    if line.isascii():
        return line.lower()
    return " ".join(map(normal, line.split(" ")))


def _count(value: Value, text: str) -> int:
    return sum(1 for _ in value.spans_in(text))


def _count_names(value: Value, text: str) -> int:
    return sum(
        not (_is_eponym(text, *each) or _is_month(text, *each))
        for each in value.spans_in(text)
    )


def _count_full_names(value: Value, original: str) -> int:
    first, last = map(len, value.parts)
    return sum(
        not (
            original[start : start + first].islower()
            or original[end - last : end].islower()
            or _is_eponym(original, start, end)
        )
        for start, end in value.spans_in(_same_length_lower(original))
    )


def _same_length_lower(text: str) -> str:
    lowered = text.lower()
    if len(lowered) != len(text):
        lowered = "".join(c.lower() if len(c.lower()) == 1 else c for c in text)
    return lowered.translate(_LIKE_ASCII)


def _numbers(values: Values, text: str) -> Iterator[str]:
    if not values.numbers:
        return
    # UTF-8 writes nothing else with the bytes of ASCII.
    encoded = text.encode("utf-8", "surrogatepass").translate(None, _SEPARATORS)
    without_separators = encoded.decode("utf-8", "surrogatepass")
    for value in values.numbers:
        if value.needle in without_separators:
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
    """Yield the ranges that can hold a birth date: those near its year."""
    if sum(map(text.count, values.years)) * _DATE_REACH > len(text):
        yield 0, len(text)
        return
    for year in values.years:
        start = text.find(year)
        while start >= 0:
            yield max(0, start - _DATE_REACH), min(len(text), start + _DATE_REACH)
            start = text.find(year, start + 1)


def _is_month(text: str, start: int, end: int) -> bool:
    """Return whether a name is the month of a date with day and year ("Jan")."""
    if text[start:end] not in MONTHS:
        return False
    near = max(0, start - _DAY_REACH), min(len(text), end + _DATE_REACH)
    return any(
        (start, end) in (date.span(1), date.span(2))
        and any(each.isdigit() and 1 <= int(each) <= 31 for each in date.group(1, 2))
        for date in _DATE.finditer(text, *near)
    )


def _is_eponym(text: str, start: int, end: int) -> bool:
    eponyms, nouns = load_list("eponyms"), load_list("eponym_nouns")
    if eponyms.isdisjoint(normal(word) for word in words_of(text[start:end])):
        return False
    following = words_of(text[end : end + _EPONYM_REACH])
    if following[:1] == ["s"]:
        following.pop(0)
    return bool(following) and normal(following[0]) in nouns
