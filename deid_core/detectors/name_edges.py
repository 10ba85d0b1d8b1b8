"""Trim proposed names; recognise drugs, units and results, which are no names."""

from __future__ import annotations

import re

from deid_core.language.fragments import MONTHS, any_of
from deid_core.language.lexicons import is_frequent, load_list
from deid_core.language.lexicons.word_classes import (
    WordClass,
    is_mere_word,
    word_classes,
)

from .rules.names.shapes import BEHIND_A_NAME

_LEAD = re.compile(r"([A-Za-z]+)[.:]?[ ]{1,3}(?=[A-Za-z])")
_MOST = 3
_LONGEST_FIELD = 48
# Not "by" alone: "seen by Graham Steell".
_SIGN_BEFORE = re.compile(r"\b(?:no|APD(?:[ ]O[DSU])?[ ]by)[ ]\Z")
_SIGN_BEHIND = re.compile(
    r"[ ](?:pupils?|jaw|phenomenon|sign|murmur|syndrome|proteins?|proteinuria|test"
    r"|position)\b",
    re.IGNORECASE,
)
_DEVICES = frozenset({"ted hose", "ted stockings"})
"""Whatever is around them: hardly anybody bears the name."""
_FIELD = re.compile(
    r"(?:\A|[\n;,.|(]|[ ]{2}|(?<=[ ]))([A-Za-z][\w /-]{1,40}):[ \t]{0,8}\Z"
)
_END_OF_VALUE = re.compile(r"[ \t]*(?:[\n\r,;.|)]|\Z)")
_PHRASE = re.compile(
    rf"{any_of(load_list('phrases_of_names'))}(?![A-Za-z])", re.IGNORECASE
)
_UNIT = re.compile("[a-z]{1,6}(?:_[a-z]{1,3})?")
_ION_AND_VALUE = re.compile(
    r"(?:(?:Na|K|Ca|Mg|Li|Fe)[\u00b2\u00b323]?[+\u207a]|Cl[-\u207b])[ ]?[0-9]"
)
_VALUE_BEFORE = re.compile(r"[0-9][^\s/\[]*[ ]?[/\[]\Z")
_ALLERGY_BEFORE = re.compile(r"\ballerg(?:y|ies|ic)[ ]to[ ]\Z", re.IGNORECASE)
_NAMES = (
    WordClass.GIVEN | WordClass.WEAK_GIVEN | WordClass.FAMILY | WordClass.WEAK_FAMILY
)
_MONTHS = frozenset(month[:3] for month in MONTHS)
_NAME_BEFORE_DATE = re.compile(
    r"(?:[A-Z][A-Za-z'-]+ )*(?P<last>[A-Z][A-Za-z'-]+),? (?=[0-9]|[A-Z][a-z]+\.? [0-9])"
)
_TERM_BEHIND = re.compile(rf"(?<=[A-Za-z.])[ ]{{1,2}}{BEHIND_A_NAME}", re.VERBOSE)


def after_address(text: str, start: int, end: int) -> int:
    """Return where a name begins, after the forms of address.

    "Alhaji Sani Danladi" is Sani Danladi.  A single word stays as it is, and so does
    what is a name, too: "Nana Osei", "Ma Wei".

    Args:
        text: The note, folded (`fragments.to_ascii`).
        start: Of the name.
        end: Of the name.
    """
    for _ in range(_MOST):
        found = _LEAD.match(text, start, end)
        if found is None or not _is_address(found[1].lower()):
            break
        start = found.end()
    return start


def before_terms(text: str, start: int, end: int) -> int:
    """Return where a name ends, before a test or a diagnosis: "Roe HGB".

    Args:
        text: The note, folded (`fragments.to_ascii`).
        start: Of the name.
        end: Of the name.
    """
    found = _TERM_BEHIND.search(text, start, end)
    return end if found is None else found.start()


def name_before_date(text: str, start: int, end: int) -> int:
    """Return where the name ends that a date was taken with: "Roe 12 May 2024".

    It is ``start`` where no name is before the date.

    Args:
        text: The note, folded (`fragments.to_ascii`).
        start: Of name and date.
        end: Of the date.
    """
    found = _NAME_BEFORE_DATE.match(text, start, end)
    if found is None:
        return start
    kinds = word_classes(found["last"].lower())
    is_date = found["last"][:3].lower() in _MONTHS or kinds & WordClass.WORD
    return start if is_date else found.end("last")


def is_drug(word: str) -> bool:
    """Return whether a word, folded, is a drug or salt and nobody's name: "Potassium".

    Alone on its line, as the name of a result, nothing else tells it from a name.
    """
    lower = word.lower()
    return lower in load_list("drugs") and is_mere_word(lower)


def begins_phrase(text: str, start: int) -> bool:
    """Return whether a clinical phrase begins there: "Rod and cone dystrophy".

    Args:
        text: The note, folded (`fragments.to_ascii`).
        start: Of what may be a name.
    """
    return _PHRASE.match(text, start) is not None


def is_unit(text: str, start: int, end: int) -> bool:
    """Return whether words are a unit: "5.2 10^3/ul", "160 [lb_av]".

    Args:
        text: The note, folded (`fragments.to_ascii`).
        start: Of the words.
        end: Of the words.
    """
    before = text[max(0, start - _LONGEST_FIELD) : start]
    return bool(_UNIT.fullmatch(text, start, end) and _VALUE_BEFORE.search(before))


def is_label_of_narrative(text: str, start: int, end: int) -> bool:
    """Return whether a word is one that FHIR's generated narratives label codes with.

    "Generated Narrative with Details", "Active (Details : {SNOMED CT code ...})".

    Args:
        text: The note, folded (`fragments.to_ascii`).
        start: Of the word.
        end: Of the word.
    """
    before = text[max(0, start - _LONGEST_FIELD) : start]
    return text[start:end] == "Details" and (
        text.startswith(" : {", end) or before.endswith("Generated Narrative with ")
    )


def is_small_word(text: str, start: int, end: int) -> bool:
    """Return whether a word in small letters is very frequent, and nobody's name.

    Args:
        text: The note, folded (`fragments.to_ascii`), in mixed case.
        start: Of the word.
        end: Of the word.
    """
    word = text[start:end]
    return word.islower() and is_frequent(word) and is_mere_word(word)


def is_sign_or_device(text: str, start: int, end: int) -> bool:
    """Return whether a sign or a device is called so: "no Marcus Gunn", "TED hose".

    Args:
        text: The note, folded (`fragments.to_ascii`).
        start: Of the words.
        end: Of the words.
    """
    words = text[start:end].lower()
    if words not in load_list("eponyms_of_two"):
        return words in _DEVICES
    before = text[max(0, start - _LONGEST_FIELD) : start]
    return bool(_SIGN_BEFORE.search(before) or _SIGN_BEHIND.match(text, end))


def is_ion(text: str, start: int, end: int) -> bool:
    """Return whether letters are an ion before its value: "K⁺ 4.1", "Ca2+ 1.1".

    Args:
        text: The note, folded (`fragments.to_ascii`).
        start: Of the letters.
        end: Of the letters.
    """
    found = _ION_AND_VALUE.match(text, start)
    return found is not None and end <= found.end()


def is_allergen(text: str, start: int) -> bool:
    """Return whether "allergic to" or the like is before what begins there."""
    before = text[max(0, start - _LONGEST_FIELD) : start]
    return _ALLERGY_BEFORE.search(before) is not None


def is_result(text: str, start: int, end: int) -> bool:
    """Return whether words are the value of a result's field: "Color: Straw".

    Args:
        text: The note, folded (`fragments.to_ascii`).
        start: Of the words.
        end: Of the words.
    """
    if not _END_OF_VALUE.match(text, end):
        return False
    field = _FIELD.search(text, max(0, start - _LONGEST_FIELD), start)
    if field is None:
        return False
    words = field[1].lower().split()
    return any(
        " ".join(words[-count:]) in load_list("result_fields") for count in (1, 2, 3)
    )


def _is_address(word: str) -> bool:
    if word not in load_list("courtesies"):
        return False
    return not word_classes(word) & _NAMES
