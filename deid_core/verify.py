"""The last look at the output: no value of the patient's record survives in it.

Independent of the detectors: its own, simple scan of what was kept of the note, after
normalisation (case, diacritics), for whole values.  It can only refuse.

What it calls residue is what detection promises to find, not more, or the guards would
turn into dead letters.  These are therefore no residue: misspelt values; a name that is
also a common word ("young", "May") unless given name and surname stand together; names
of two letters; an eponym before its noun ("Foley catheter"); an institution whose words
are all common; a town like Reading, a state and a country; ids under six characters;
the last seven digits of a phone number.  Tags are not looked at, so a patient named
"Date" does no harm.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

from .document import Document, KnownIdentifiers
from .errors import ResidueFound
from .lexicons import load_list, normal, words_of
from .replace import OffsetMap
from .residue import Value, Values, values_of

_DATE = re.compile(
    r"(?=(?<!\d)(?<![a-z])(\d{1,4}|[a-z]{3,9})(?:st|nd|rd|th)?[\s,./-]{1,3}"
    r"(\d{1,2}|[a-z]{3,9})(?:st|nd|rd|th)?[\s,./-]{1,3}(\d{4}|\d{1,2})(?!\d))"
)
_SEPARATORS = " -./()"
_EPONYM_REACH = 40


def verify(document: Document, scrubbed_text: str, offset_map: OffsetMap) -> None:
    """Refuse a scrubbed text in which a value of the patient's record survived.

    Raises:
        ResidueFound: The message names the kinds and counts, never a value.
    """
    residue = residue_in(document.known, offset_map.kept(scrubbed_text))
    if residue:
        kinds = ", ".join(f"{kind} ({n})" for kind, n in sorted(residue.items()))
        raise ResidueFound(f"survived in the scrubbed text: {kinds}; do not publish it")


def residue_in(known: KnownIdentifiers, texts: Iterable[str]) -> Counter[str]:
    """Return how many values of each kind survive in texts that are to be published.

    Args:
        known: The patient's record.
        texts: Pieces that do not continue one another.
    """
    if not known:
        return Counter()
    # Blank lines between pieces: no pattern reaches across two line ends.
    original = "\n\n\n\n".join(texts)
    text = normal(original)
    values = values_of(known)
    found = Counter[str]()
    for value in values.words:
        if value.needle in text:
            found[value.kind] += _count(value, text)
    for value in values.full_names:
        if value.needle in text:
            found[value.kind] += _count_full_names(value, original)
    _count_numbers(values, text, found)
    found["birth date"] += _count_birth_dates(values, text)
    return +found


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


def _count_numbers(values: Values, text: str, found: Counter[str]) -> None:
    if not values.numbers:
        return
    squeezed = text
    for separator in _SEPARATORS:
        squeezed = squeezed.replace(separator, "")
    for value in values.numbers:
        if value.needle in squeezed:
            found[value.kind] += _count(value, text)


def _count_birth_dates(values: Values, text: str) -> int:
    if not any(year in text for year in values.years):
        return 0
    return sum(parts in values.birth_dates for parts in _DATE.findall(text))


def _is_eponym(place: re.Match[str], text: str) -> bool:
    eponyms, nouns = load_list("eponyms"), load_list("eponym_nouns")
    if eponyms.isdisjoint(normal(word) for word in words_of(place[0])):
        return False
    following = words_of(text[place.end() : place.end() + _EPONYM_REACH])
    if following[:1] == ["s"]:
        following.pop(0)
    return bool(following) and normal(following[0]) in nouns
