"""Values that were replaced once and occur elsewhere, and misspelt names of the record.

Only for `verify`.  Like `record_values`, it shares word lists with the detectors, but
none of their code, and demands less than they promise.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import repeat
from typing import NamedTuple

from rapidfuzz.distance import Levenshtein

from ..document import PATIENT_RECORD, Annotation
from ..labels import Label
from ..language.lexicons import is_vocabulary, load_list, normal
from ..language.lexicons.word_classes import WordClass, word_classes
from ..language.plain_text import plain
from ..language.text_cache import cached_by_text

_NAMES = frozenset({Label.PATIENT, Label.DOCTOR})
_PHONES = frozenset({Label.PHONE, Label.FAX})
_IDS = frozenset(label for label in Label if label.main == "ID")
_TRUSTED = 0.6
_SHORTEST_NAME = 4
_SHORTEST_MISSPELT = 5
_LONGEST_MISSPELT = 40
_SHORTEST_ID = 5
_PHONE_DIGITS = 10
_SLIPS = 1
_REACH = 60
_CUT = "\0"
_FEW = 32
"""So many values are searched one by one: faster in a note of ordinary length."""
_LONGEST_TAIL = 256
_WORD = re.compile(r"[^\W_]+")
_CACHE_SIZE = 65_536
# The capital first: the lookbehind is tried at few letters.
_TITLE_CASE = re.compile(r"[A-Z](?<![\w'\u2019-][A-Z])[a-z]+(?![\w-]|['\u2019](?!s\b))")
_REST = rf"{{{_SHORTEST_MISSPELT - 1},{_LONGEST_MISSPELT - 1}}}+"
_CAPITALISED = re.compile(rf"(?<![^\W_])[^\W\d_a-z][^\W\d_]{_REST}(?![^\W_])")
# Likewise, in ASCII, and not only whole words: that is checked for the few that match.
_ASCII_CAPITALISED = re.compile(rf"[A-Z][A-Za-z]{_REST}")
# It is no clinical term at the start of a line, and after these.
_BEFORE = re.compile(
    r"(?:\A|\n|\b(?:Mr|Mrs|Ms|Dr|with|by|to|and|from|told|asked|saw|named|patient)\.?)"
    r"[ ]?\Z"
)
_AFTER = re.compile(r"(?:'s)?[ ,;.!?)](?![0-9+=])|\n|\Z")


def misspelt_in(names: Iterable[str], kept: Iterable[str]) -> int:
    """Return how many different words of a note are a name of the record with one slip.

    A letter wrong, missing or added, in a capitalised word of five letters or more that
    is no English or clinical word: 0.2 of the NUS system's ratio, at the most.
    """
    tokens = {name for name in names if len(name) >= _SHORTEST_MISSPELT}
    text = " ".join(kept)
    words = filter(_may_be_misspelt, {*_capitalised(text)})
    forms = {word: normal(word) for word in words}
    near = {form for form in {*forms.values()} - tokens if _is_one_slip(tokens, form)}
    if not near:
        return 0
    # Only now whole words alone: in most notes none is left.
    whole = {*_CAPITALISED.findall(text)}
    return len({form for word, form in forms.items() if form in near and word in whole})


def _is_one_slip(tokens: Iterable[str], form: str) -> bool:
    # A pair at a time: there are few, and most differ by their lengths.
    size, distance = len(form), Levenshtein.distance
    return any(
        abs(len(token) - size) <= _SLIPS
        and distance(token, form, score_cutoff=_SLIPS) == _SLIPS
        for token in tokens
    )


def _capitalised(text: str) -> Iterator[str]:
    """Yield the capitalised words that are long enough for a slip, and some more."""
    if text.isascii():
        yield from _ASCII_CAPITALISED.findall(text)
        return
    for line in text.split("\n"):
        pattern = _ASCII_CAPITALISED if line.isascii() else _CAPITALISED
        yield from pattern.findall(line)


@cached_by_text(_CACHE_SIZE)
def _may_be_misspelt(word: str) -> bool:
    if word.isupper():
        return False
    form = normal(word)
    return not (is_vocabulary(form) or form in load_list("eponyms"))


def replaced_in(
    original: str, proposals: Iterable[Annotation], kept: Sequence[str]
) -> Iterator[str]:
    """Yield the kind of each replaced value that occurs in the output.

    Names that are no words, where nothing says that they are part of a clinical term,
    and whole ids, phone numbers and e-mail addresses.  The record's own values are
    those of `residue_in`.

    Args:
        original: The note.
        proposals: What was replaced in it, as it was proposed.
        kept: What was kept of it, in pieces.
    """
    values = set(_values(original, proposals))
    if not values:
        return
    # A piece does not begin a line, and what stood before it is not known any more.
    text = _CUT.join(kept)
    names = {value for kind, value in values if kind == "name"}
    if len(names) <= _FEW:
        names = {value for value in names if value in text}
    for word in _TITLE_CASE.finditer(text) if names else ():
        if word[0] in names and _is_name(text, *word.span()):
            yield "replaced name"
    for kind in _wholes_in([each for each in values if each[0] != "name"], text):
        yield f"replaced {kind}"


def _wholes_in(values: Sequence[tuple[str, str]], text: str) -> Iterator[str]:
    """Yield the kind of each value that occurs as whole words, as often as it does."""
    if len(values) <= _FEW:
        for kind, value in values:
            if value in text:
                yield from repeat(kind, len(re.findall(_whole(value), text)))
        return
    # A list of values must not cost a search of the note for each of them: each is
    # looked up at its first word, by what follows it.
    tails = _tails(values)
    for word in _WORD.finditer(text):
        start = word.start()
        for length, by_tail in tails.get(word[0], _NO_TAILS).items():
            for each in by_tail.get(text[start : start + length], ()):
                if each.occurs_at(text, start):
                    yield each.kind


class _Whole(NamedTuple):
    """A value that is searched as whole words.

    Args:
        kind: What it is.
        value: As it is written.
        lead: How many marks precede its first word.
    """

    kind: str
    value: str
    lead: int

    def __repr__(self) -> str:
        return f"_Whole({self.kind!r})"

    def occurs_at(self, text: str, start: int) -> bool:
        """Return whether it occurs where its first word begins."""
        first = start - self.lead
        end = first + len(self.value)
        if first < 0 or not text.startswith(self.value, first):
            return False
        is_free = first == 0 or not text[first - 1].isalnum()
        return is_free and not text[end : end + 1].isalnum()


_Tails = Mapping[int, Mapping[str, Sequence[_Whole]]]
_NO_TAILS: _Tails = {}


def _tails(values: Iterable[tuple[str, str]]) -> Mapping[str, _Tails]:
    """Return values by their first word, and from there on by length and text."""
    found: dict[str, dict[int, dict[str, list[_Whole]]]] = {}
    for kind, value in values:
        # Ids and phone numbers have digits, and addresses of e-mail letters.
        if (word := _WORD.search(value)) is not None:
            tail = value[word.start() :][:_LONGEST_TAIL]
            by_tail = found.setdefault(word[0], {}).setdefault(len(tail), {})
            by_tail.setdefault(tail, []).append(_Whole(kind, value, word.start()))
    return found


def _values(
    original: str, proposals: Iterable[Annotation]
) -> Iterator[tuple[str, str]]:
    # Several detectors propose most values: each is looked at once.
    replaced = {
        (each.label, plain(original[each.span.start : each.span.end]))
        for each in proposals
        if each.score >= _TRUSTED and each.detector != PATIENT_RECORD
    }
    for label, value in replaced:
        if label in _NAMES:
            for word in filter(_is_telling, _TITLE_CASE.findall(value)):
                yield "name", word
        elif _is_searched_whole(label, value):
            yield label.name.lower(), value


@cached_by_text(_CACHE_SIZE)
def _is_telling(word: str) -> bool:
    form = normal(word)
    if len(form) < _SHORTEST_NAME or is_vocabulary(form):
        return False
    if word_classes(form) & (WordClass.WORD | WordClass.DRUG):
        return False
    return form not in load_list("placeholders") and form not in load_list("eponyms")


def _is_searched_whole(label: Label, value: str) -> bool:
    if label in _IDS:
        has_digit = any(map(str.isdigit, value))
        return len(value) >= _SHORTEST_ID and has_digit and not value.islower()
    if label in _PHONES:
        digits = sum(map(str.isdigit, value))
        return digits >= _PHONE_DIGITS and not value.isdigit()
    return label is Label.EMAIL


def _is_name(text: str, start: int, end: int) -> bool:
    if not (
        _BEFORE.search(text, max(0, start - 12), start) and _AFTER.match(text, end)
    ):
        return False
    following = text[end : end + _REACH].split("\n")[0].lower()
    words = (*re.findall(r"[a-z]+", following)[:5], *following.split(" ")[:5])
    return load_list("clinical_terms").isdisjoint(words)


def _whole(value: str) -> str:
    return rf"(?<![^\W_]){re.escape(value)}(?![^\W_])"
