"""Values that were replaced at one place of a note and are left at another."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import repeat
from typing import NamedTuple

from deid_core.document import PATIENT_RECORD, Annotation
from deid_core.labels import Label
from deid_core.language.lexicons import is_vocabulary, load_list, normal
from deid_core.language.lexicons.word_classes import WordClass, is_listed, word_classes
from deid_core.language.plain_text import plain
from deid_core.runtime.text_cache import cached_by_text

_NAMES = frozenset({Label.PATIENT, Label.DOCTOR})
_PHONES = frozenset({Label.PHONE, Label.FAX})
_IDS = frozenset(label for label in Label if label.main == "ID")
_TRUSTED = 0.6
_SHORTEST_NAME = 4
_SHORTEST_ID = 5
_PHONE_DIGITS = 10
_REACH = 60
_CUT = "\0"
_FEW = 32
"""Up to so many values are searched one by one: faster in notes of ordinary length."""
_LONGEST_TAIL = 256
_WORD = re.compile(r"[^\W_]+")
_CACHE_SIZE = 65_536
# The capital first: the lookbehind then runs at few letters.
_TITLE_CASE = re.compile(r"[A-Z](?<![\w'\u2019-][A-Z])[a-z]+(?![\w-]|['\u2019](?!s\b))")
# Where it can't be a device or disease: at the start of a line, and behind these.
_BEFORE = re.compile(
    r"(?:\A|\n|\b(?:Mr|Mrs|Ms|Dr|with|by|to|and|from|told|asked|saw|named|patient)\.?)"
    r"[ ]?\Z"
)
_AFTER = re.compile(r"(?:'s)?[ ,;.!?)](?![0-9+=])|\n|\Z")


def replaced_in(
    original: str, proposals: Iterable[Annotation], kept: Sequence[str]
) -> Iterator[str]:
    """Yield the kind of each replaced value that is left in what is to be published.

    Names that are no words, where nothing says that they name something else, and whole
    ids, phone numbers and e-mail addresses.  Values of the record are left out:
    `record_values` covers them.

    Args:
        original: The note.
        proposals: What was replaced in it, as it was proposed.
        kept: What was kept of it, in pieces.
    """
    values = set(_values(original, proposals))
    if not values:
        return
    # A piece does not begin a line, and what was before it is not known any more.
    text = _CUT.join(kept)
    names = {value for kind, value in values if kind == "name"}
    if len(names) <= _FEW:
        names = {value for value in names if value in text}
    for word in _TITLE_CASE.finditer(text) if names else ():
        if word[0] in names and _is_name(text, *word.span()):
            yield "replaced name"
    for kind in _wholes_in([each for each in values if each[0] != "name"], text):
        yield f"replaced {kind}"


def _values(
    original: str, proposals: Iterable[Annotation]
) -> Iterator[tuple[str, str]]:
    """Yield kind and value of what was replaced."""
    # Several detectors propose most values: each is looked at once.
    replaced = {
        (each.label, plain(original[each.span.start : each.span.end]))
        for each in proposals
        if each.score >= _TRUSTED and each.detector != PATIENT_RECORD
    }
    for label, value in replaced:
        if label in _NAMES:
            for word in filter(_is_name_alone, _TITLE_CASE.findall(value)):
                yield "name", word
        elif _is_unique(label, value):
            yield label.name.lower(), value


@cached_by_text(_CACHE_SIZE, keeps=is_listed)
def _is_name_alone(word: str) -> bool:
    form = normal(word)
    if len(form) < _SHORTEST_NAME or is_vocabulary(form):
        return False
    if word_classes(form) & (WordClass.WORD | WordClass.DRUG):
        return False
    return form not in load_list("placeholders") and form not in load_list("eponyms")


def _is_unique(label: Label, value: str) -> bool:
    """Return whether a value identifies somebody wherever it is."""
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


class _Whole(NamedTuple):
    """A value that is searched as whole words.

    Args:
        kind: What it is.
        value: As it is written.
        lead: How many characters are before its first word.
    """

    kind: str
    value: str
    lead: int

    def __repr__(self) -> str:
        return f"_Whole({self.kind!r})"

    def is_at(self, text: str, start: int) -> bool:
        """Return whether the value is where its first word begins at ``start``."""
        first = start - self.lead
        return first >= 0 and _is_whole_at(text, self.value, first)


_Tails = Mapping[int, Mapping[str, Sequence[_Whole]]]
_NO_TAILS: _Tails = {}


def _wholes_in(values: Sequence[tuple[str, str]], text: str) -> Iterator[str]:
    """Yield the kind of each value that is there as whole words, as often as it is."""
    if len(values) <= _FEW:
        for kind, value in values:
            yield from repeat(kind, _count(text, value))
        return
    # Many values must not cost a search of the note for each of them: each is looked up
    # where its first word is, by what follows it.
    tails = _tails(values)
    for word in _WORD.finditer(text):
        start = word.start()
        for length, by_tail in tails.get(word[0], _NO_TAILS).items():
            for each in by_tail.get(text[start : start + length], ()):
                if each.is_at(text, start):
                    yield each.kind


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


def _count(text: str, value: str) -> int:
    count, start = 0, text.find(value)
    while start >= 0:
        is_whole = _is_whole_at(text, value, start)
        count += is_whole
        start = text.find(value, start + (len(value) if is_whole else 1))
    return count


def _is_whole_at(text: str, value: str, start: int) -> bool:
    """Return whether a value begins there, and no letter or digit touches it."""
    end = start + len(value)
    return (
        text.startswith(value, start)
        and not (start and text[start - 1].isalnum())
        and not text[end : end + 1].isalnum()
    )
