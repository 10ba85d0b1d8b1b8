"""What was replaced once and stands elsewhere, and misspelt names of the record.

Only for `verify`.  Like `residue`, it shares the word lists with the detectors, but
none of their code, and asks for less than they promise.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import cache, lru_cache

from rapidfuzz.distance import Levenshtein

from .document import Annotation
from .labels import Label
from .lexicons import is_vocabulary, load_list, normal
from .lexicons.kinds import Kind, kinds_of

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
_CACHE_SIZE = 65_536
# The capital first: what stands before it is asked of few letters.
_TITLE_CASE = re.compile(r"[A-Z](?<![\w'\u2019-][A-Z])[a-z]+(?![\w-]|['\u2019](?!s\b))")
_CAPITALISED = re.compile(r"(?<![^\W_])[^\W\d_a-z][^\W\d_]+(?![^\W_])")
# Where it can't be a thing: at the start of a line, and behind these.
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
    forms = _strange_names(set(" ".join(kept).split()))
    return sum(_is_one_slip(tokens, form) for form in forms - tokens)


def _is_one_slip(tokens: Iterable[str], form: str) -> bool:
    # A pair at a time: there are few, and most are told apart by their lengths.
    size, distance = len(form), Levenshtein.distance
    return any(
        abs(len(token) - size) <= _SLIPS
        and distance(token, form, score_cutoff=_SLIPS) == _SLIPS
        for token in tokens
    )


# Chunks seen before that hold nothing: nearly all are, and a set is taken off at once.
_PLAIN: set[str] = set()


def _strange_names(chunks: set[str]) -> set[str]:
    """Return the words of chunks that may be a misspelt name, normalised."""
    found: set[str] = set()
    for chunk in chunks - _PLAIN:
        words = [*filter(_may_be_misspelt, _CAPITALISED.findall(chunk))]
        found.update(map(normal, words))
        if not words:
            _remember_plain(chunk)
    return found


def _remember_plain(chunk: str) -> None:
    if len(_PLAIN) >= _CACHE_SIZE:
        _PLAIN.clear()
    _PLAIN.add(chunk)


@lru_cache(maxsize=_CACHE_SIZE)
def _may_be_misspelt(word: str) -> bool:
    if not _SHORTEST_MISSPELT <= len(word) <= _LONGEST_MISSPELT or word.isupper():
        return False
    form = normal(word)
    return not (is_vocabulary(form) or form in load_list("eponyms"))


def replaced_in(
    original: str, proposals: Iterable[Annotation], kept: Sequence[str]
) -> Counter[str]:
    """Return how many replaced values of each kind stand in what is to be published.

    Names that are no words, where nothing says that they name a thing, and whole ids,
    phone numbers and e-mail addresses.  The record's own are `residue_in`'s.

    Args:
        original: The note.
        proposals: What was replaced in it, as it was proposed.
        kept: What was kept of it, in pieces.
    """
    found = Counter[str]()
    values = set(_values(original, proposals))
    if not values:
        return found
    # A piece does not begin a line, and what stood before it is not known any more.
    text = _CUT.join(kept)
    names = {value for kind, value in values if kind == "name" and value in text}
    for word in _TITLE_CASE.finditer(text) if names else ():
        if word[0] in names and _is_name(text, *word.span()):
            found["replaced name"] += 1
    for kind, value in values:
        if kind != "name" and value in text:
            found[f"replaced {kind}"] += len(re.findall(_whole(value), text))
    return +found


def _values(
    original: str, proposals: Iterable[Annotation]
) -> Iterator[tuple[str, str]]:
    for each in proposals:
        if each.score < _TRUSTED or each.detector.startswith("known/"):
            continue
        value = original[each.span.start : each.span.end]
        if each.label in _NAMES:
            for word in _TITLE_CASE.findall(value):
                if _is_telling(word):
                    yield "name", word
        elif _is_sought_whole(each.label, value):
            yield each.label.name.lower(), value


@lru_cache(maxsize=_CACHE_SIZE)
def _is_telling(word: str) -> bool:
    form = normal(word)
    if len(form) < _SHORTEST_NAME or is_vocabulary(form):
        return False
    if kinds_of(form) & (Kind.WORD | Kind.DRUG):
        return False
    return form not in load_list("placeholders") and form not in load_list("eponyms")


def _is_sought_whole(label: Label, value: str) -> bool:
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
    return _things().isdisjoint(words)


@cache
def _things() -> frozenset[str]:
    return load_list("eponym_nouns") | load_list("thing_nouns")


def _whole(value: str) -> str:
    return rf"(?<![^\W_]){re.escape(value)}(?![^\W_])"
