"""Questions about a place in a note: what the words around a run of words say.

The one place where context decides whether a capitalised word is a person, a place, an
institution or part of a clinical term.  Three others have rules of their own, for a
reason: `detectors.patient_record.context` works on words of a note that were found in
the patient's record, `truecasing` on text without case, and `verify` shares no code
with detection.

Offsets are of a folded text (`fragments.to_ascii`).  Words are looked up one by one: a
pattern over every list would cost more than all the rest.
"""

from __future__ import annotations

import re
from enum import Enum
from typing import NamedTuple

from .fragments import MONTH_WORDS, MONTHS, STATE, WEEKDAYS, any_of, words
from .lexicons.lists import load_list

# The words before a place.

_MAX_WORDS_BEFORE = 56


class Before(NamedTuple):
    """The words before a place.

    Args:
        nearest: The last of them, in lower case: most questions end with it.
        gap: The characters between it and the place.
        line: The line up to the gap.
    """

    nearest: str
    gap: str
    line: str

    @property
    def words(self) -> tuple[str, ...]:
        """Up to five of them, the nearest first, in lower case."""
        return tuple(self.line.lower().rsplit(" ", 5)[:-6:-1])

    def word(self, at: int) -> str:
        """Return the word so far back, or nothing."""
        words = self.words
        return words[at] if at < len(words) else ""


_NOTHING = Before("", "", "")
_NO_WORD = frozenset({"", "\n"})


def before(text: str, start: int) -> Before:
    """Return the words before a place."""
    if text[max(0, start - 1) : start] in _NO_WORD:
        return _NOTHING
    left = text[max(0, start - _MAX_WORDS_BEFORE) : start]
    line = left[left.rfind("\n") + 1 :]
    bare = line.rstrip(" \"'(,:")
    return Before(bare[bare.rfind(" ") + 1 :].lower(), line[len(bare) :], bare)


# Sentences and lines.

_INSIDE_SENTENCE = re.compile(r"[a-z0-9),;\"'%][,;]?[ ]{1,2}[\"'(]?\Z")
_CLAUSE_BEGINS = (" that ", " because ", " while ", " when ", " if ", " since ")
# "Dr. Ng agrees. Ng to scope."
_DUTY = re.compile(r"[ ]to[ ][a-z]+(?:[.,;]|[ ](?:at|in|on|him|her|this|the|a)[ .])")
_ENDINGS = frozenset({". ", "; ", ".\n", ": "})
_VERB_AFTER = re.compile(rf"(?:'s)?[ ]{any_of(load_list('subject_verbs'))}[ ]")


def is_inside_sentence(text: str, start: int) -> bool:
    """Return whether the text before a place leaves it in the middle of a sentence."""
    return _INSIDE_SENTENCE.search(text, max(0, start - 6), start) is not None


def is_subject(text: str, start: int, end: int) -> bool:
    """Return whether a sentence or clause begins here and its verb follows."""
    before_it = text[:start].rstrip(" ")[-1:] if start < 2 else text[start - 2 : start]
    begins = (
        start == 0
        or before_it.strip() in {"", ".", "!", "?"}
        or "\n" in before_it
        or text.endswith(_CLAUSE_BEGINS, 0, start)
    )
    return begins and _VERB_AFTER.match(text, end) is not None


# People.

_NEAREST = r"('s?)?(,?)[ -]{1,2}(\(?)([A-Za-z0-9+'/-]+)"
_NEAREST_AFTER = re.compile(_NEAREST)
_AFTER = re.compile(
    rf"{_NEAREST}(?:[ ]([A-Za-z0-9+'-]+))?"
    r"(?:[ ]([A-Za-z0-9+'-]+))?(?:[ ]([A-Za-z0-9]+))?"
)
_AGE_AFTER = re.compile(r",[ ](?:an?[ ])?(?:aged?[ ])?[0-9]{1,3}[- ]?(?:y|year|month)")
_CAPITAL_AFTER = re.compile(r"[ -][A-Z]")
_AGED = re.compile(r"[0-9]+(?:y/?o|yo[mf]?|-years?-old)|yo|y/o|old")
_LINKS = frozenset(words("is was named called like for as"))
_FRIENDLY = frozenset(words("for with from"))
_ADDRESSED = frozenset(words("named called told asked thanks thank dear met"))
_FIELDS = frozenset({"DOB", "MRN", "ID"})
_ARTICLES = frozenset({"a", "an", "the"})
_OWN = frozenset(words("his her their my the"))
_KIN, _RELATIVES = load_list("kin"), load_list("relatives")
_PERSON_CUES = load_list("person_cues")
_PERSON_NOUNS, _PERSON_VERBS = load_list("person_nouns"), load_list("person_verbs")
_FIRST_OF_DESCRIPTIONS = _PERSON_VERBS | {"is", "was"}
_CONVERSATION_VERBS = load_list("conversation_verbs")


class Evidence(Enum):
    """The evidence that the context must show before a word counts as a name."""

    NOTHING = "nothing"
    """Nothing; a clinical term must not follow."""
    SENTENCE = "sentence"
    """A place inside a sentence, where a capital means a name; or a cue."""
    SUBJECT = "subject"
    """The subject of a sentence; or a cue."""
    CUE = "cue"
    """A verb, a title or a description of a person."""


def is_person(
    text: str, start: int, end: int, evidence: Evidence, *, by_capital: bool = True
) -> bool:
    """Return whether words that may be a name are one here.

    Args:
        text: Folded.
        start: Of the words.
        end: Of the words.
        evidence: What the context must show.
        by_capital: Whether its place inside a sentence is evidence for a single word.
    """
    if evidence is Evidence.NOTHING:
        return not is_before_clinical_term(text, end)
    # Evidence first: for most words there is none.
    if evidence is Evidence.SENTENCE:
        may_be_bare = by_capital or " " in text[start:end]
        is_shown = (
            (may_be_bare and is_inside_sentence(text, start))
            or is_subject(text, start, end)
            or has_person_around(text, start, end)
        )
    else:
        is_shown = (
            evidence is Evidence.SUBJECT and is_subject(text, start, end)
        ) or is_person_described(text, start, end)
    return is_shown and not is_clinical_term(text, start, end)


def is_person_again(text: str, start: int, end: int, *, is_word: bool) -> bool:
    """Return whether a word that is a name elsewhere in the note is one here.

    As in `is_person`, a name that is not also an English word needs no evidence.  Two
    differences stay, as either way round does worse on development notes: evidence of a
    person outweighs a clinical term here, since the note names somebody so; and another
    capital after a name that is also a word is evidence against it.

    Args:
        text: Folded.
        start: Of the word.
        end: Of the word.
        is_word: Whether it is also an English word: "asked Young to rest" and "Young
            has left" are names, "Young women" and "Back Pain" are not.
    """
    if is_word:
        if not _is_capitalised_as_name(text, start, end):
            return False
        is_term = is_clinical_term(text, start, end)
    else:
        is_term = is_before_clinical_term(text, end)
    return not is_term or has_person_around(text, start, end)


def _is_capitalised_as_name(text: str, start: int, end: int) -> bool:
    if is_person_described(text, start, end):
        return True
    if is_inside_sentence(text, start):
        return _CAPITAL_AFTER.match(text, end) is None
    return is_subject(text, start, end) or (
        _DUTY.match(text, end) is not None and text[start - 2 : start] in _ENDINGS
    )


def has_person_around(text: str, start: int, end: int) -> bool:
    """Return whether a verb, a relation or a description makes it a person."""
    if _is_person_after(text, end):
        return True
    left = before(text, start)
    if not left.gap or len(left.gap) > 4:
        return False
    nearest = left.nearest
    if nearest in _PERSON_CUES or nearest in _FRIENDLY or _AGED.fullmatch(nearest):
        return True
    return nearest in _LINKS and left.word(1) in _PERSON_CUES


def is_person_described(text: str, start: int, end: int) -> bool:
    """Return whether it can only be a person, even at the start of a sentence."""
    if _is_person_after(text, end):
        return True
    nearest, gap, _ = left = before(text, start)
    if nearest in _ADDRESSED:
        return gap == " "
    if nearest in _RELATIVES:
        return gap in {" ", ", "}
    return nearest in {"to", "with"} and left.word(1) in _CONVERSATION_VERBS


def _is_person_after(text: str, end: int) -> bool:
    # Most words are followed by neither a mark nor a word that says anything.
    nearest = _NEAREST_AFTER.match(text, end)
    if nearest is None or not (
        nearest[2] or nearest[3] or nearest[4] in _FIRST_OF_DESCRIPTIONS
    ):
        return False
    found = _AFTER.match(text, end)
    if found is None:
        return False
    _, comma, bracket, first, second, third, _ = found.groups("")
    if bracket:
        return first in _FIELDS or _is_relation(first) or _is_relation(second)
    if comma and _is_apposition(first, second, third):
        return True
    # "Appears stated age."
    if (first, second) == ("stated", "age"):
        return False
    if first in {"is", "was"} and second in _ARTICLES:
        return _is_person_noun(third) or _is_person_soon(text, end)
    # "Epifix denied by the plan"; but "Camila seen by surgery".
    if (first, second) == ("denied", "by"):
        return False
    return first in _PERSON_VERBS or (
        comma != "" and _AGE_AFTER.match(text, end) is not None
    )


def _is_apposition(first: str, second: str, third: str) -> bool:
    """Return whether "his wife" or "the patient's wife" follows a comma."""
    if first == "the" and second == "patient's":
        return _is_relation(third)
    return first in _OWN and _is_relation(second)


def _is_person_soon(text: str, end: int) -> bool:
    """Return whether "is a pleasant, right-handed 60-year-old" follows."""
    described = text[end : end + 64].split(".")[0].split("\n")[0].split(" ")
    return any(_is_person_noun(word) for word in described[3:8])


def _is_person_noun(word: str) -> bool:
    return word[:1].isdigit() or word.strip(",") in _PERSON_NOUNS


def _is_relation(word: str) -> bool:
    return word in _KIN


# Clinical terms: devices, diseases, scores, materials.

_SCORE_AFTER = re.compile(r"[ ]?[0-9+=]|[-/][A-Za-z]")
_CLINICAL_TERMS = load_list("clinical_terms")
_WORDS_BEFORE_TERMS = load_list("words_before_terms")
_PHRASE_STARTS = load_list("phrase_starts")


def is_clinical_term(text: str, start: int, end: int) -> bool:
    """Return whether a device or disease follows, or an article precedes."""
    if is_before_clinical_term(text, end):
        return True
    previous = text[start - 1 : start]
    if previous in "-#" and previous:
        return True
    nearest, gap, _ = before(text, start)
    return gap.isspace() and (
        nearest in _WORDS_BEFORE_TERMS
        or nearest[-1:].isdigit()
        or nearest.startswith("#")
    )


def is_before_clinical_term(text: str, end: int) -> bool:
    """Return whether a device, disease or score follows."""
    if _SCORE_AFTER.match(text, end):
        return True
    found = _AFTER.match(text, end)
    if found is None or found[2] or found[3]:
        return False
    for word in found.group(4, 5, 6):
        if word is None or word in _PHRASE_STARTS:
            return False
        if word.lower().strip("-'") in _CLINICAL_TERMS:
            return True
    return False


# Places.

_MAX_CUE = 64
_PLACE_CUE = re.compile(
    r"""
    (?<![A-Za-z])
    (?:(?:in|from|to|near|of|outside|around|downtown|visiting|toward|leaving|via)
       (?:[ ](?:the|our|downtown|nearby|greater|north|south|east|west))?
      |(?:our|the|at|at[ ]our|at[ ]the))[ ]\Z
    """,
    re.VERBOSE | re.IGNORECASE,
)
_ELEMENTS = frozenset({"Al", "Ca", "Cu", "Fe", "Li", "Mg", "Na", "Pb", "Se", "Zn"})
_LEVEL = re.compile(r"[ ]levels?[ ](?:is[ ]|was[ ]|of[ ])?[<>]?[0-9]")
_HOME_CUE = re.compile(
    r"""
    (?<![A-Za-z])
    (?:(?:live[sd]?|living|resid(?:es|ed|ing)|resident|born|raised|grew[ ]up|moved
        |travell?(?:s|ed|ing)?|trip|visit(?:ing|ed)?|flew|native|originally
        |works?|working|worked|drove|came|comes|located|vacation(?:ing)?|based|home
        |practice|hospital|clinic|center|school|arrived|returned|transferred|stationed
        |family|house|job)
       [ ](?:[a-z]+[ ]){0,2}(?:in|from|to|near|outside|around|at)
     |(?:resident|native|hometown|outside|north|south|east|west|city|town)[ ]of)
    (?:[ ]the)?[ ]\Z
    """,
    re.VERBOSE,
)
_HOME_ENDS = tuple(
    f" {word} " for word in words("in from to near outside around at of the")
)
_IN_TOWN = re.compile(
    r"(?<=[a-z)])[ ](?:in|from|near|to)[ ](?:the[ ](?:[a-z]+[ ])?)?\Z"
)
_NO_PLACE_AFTER = re.compile(
    r"""
    [ -](?:[Hh]eart|[Cc]lassification|[Cc]riteria|score|scale|virus|fever|grade|brace
      |encephalitis|bag|disease|equine|valve|sign|syndrome|terrier|protocol|system
      |[Ss]cientific|[Cc]oma|Outcome|[Ss]ling|needle|knot|forceps|Conference
      |[Cc]onsensus|study|trial|variant|Marathon|[Aa]ngle|River)(?![a-z])
    """,
    re.VERBOSE,
)
_NO_PLACE_BEFORE = re.compile(
    r"(?:(?<![A-Za-z])(?:Dr|Mr|Mrs|Ms|by|with|a|an|[Rr]evised)\.?[ ]"
    r"|-|[0-9][ ]?ga?[ ])\Z"
)
# Only where no cue makes it a town: "Paris IIa", but "in London N1", "Boston group".
_GRADE_AFTER = re.compile(
    r"""
    [ ](?:(?:tables?|biops(?:y|ies)|group|staging|stage|index|questionnaire|stirrups
          |bridge)(?![a-z])
      |(?:[0-9]{1,2}|[IVX]{1,4}[A-Ca-c]?|[A-Z][0-9](?:[ ][A-Z][0-9])+)(?=[.,;:)\n]|\Z))
    """,
    re.VERBOSE,
)
_PLACE_TAIL = re.compile(
    rf"""
    (?:,[ ](?P<state>{STATE})(?![A-Za-z])
      |(?:[ ](?:downtown|uptown|area|main|north|south|east|west|satellite|metro))?
       [ ](?:clinic|office|hospital|campus|branch|location|facility)(?![a-z]))
    """,
    re.VERBOSE,
)


def is_after_place_cue(text: str, start: int) -> bool:
    """Return whether "in", "from", "near" or the like precedes."""
    return bool(_PLACE_CUE.search(text, max(0, start - _MAX_CUE), start))


def is_measured(text: str, start: int, end: int) -> bool:
    """Return whether a word is an element whose level follows: "Li level 0.8".

    Args:
        text: The note.
        start: Of the word.
        end: Of the word.
    """
    return text[start:end] in _ELEMENTS and _LEVEL.match(text, end) is not None


def is_after_home_cue(text: str, start: int) -> bool:
    """Return whether somebody lives in, moved to or works near what follows."""
    # Most towns follow another word.
    return text.endswith(_HOME_ENDS, 0, start) and bool(
        _HOME_CUE.search(text, max(0, start - _MAX_CUE), start)
    )


def is_in_town(text: str, start: int) -> bool:
    """Return whether "in" or "from" precedes, in the middle of a sentence."""
    return bool(_IN_TOWN.search(text, max(0, start - 24), start))


def is_before_place(text: str, end: int) -> bool:
    """Return whether a state follows, or an institution that has a town's name."""
    return bool(_PLACE_TAIL.match(text, end))


def is_no_place(text: str, start: int, end: int) -> bool:
    """Return whether a town's name belongs to a score, a virus, a device, a person."""
    return bool(
        _NO_PLACE_AFTER.match(text, end)
        or _NO_PLACE_BEFORE.search(text, max(0, start - 8), start)
    )


def is_graded(text: str, end: int) -> bool:
    """Return whether a number, a class or "tables" follows a town's name."""
    return bool(_GRADE_AFTER.match(text, end))


def end_of_place(text: str, end: int) -> tuple[int, tuple[int, int] | None]:
    """Return where a place ends with the institution it names, and its state."""
    tail = _PLACE_TAIL.match(text, end)
    if tail is None:
        return end, None
    return (end, tail.span("state")) if tail["state"] else (tail.end(), None)


# Institutions.

_MONTH = rf"(?:{any_of(map(str.capitalize, MONTH_WORDS))})(?![a-z])"
_INSTITUTION_TAIL = re.compile(
    rf"""
    (?P<head>(?:'s)?(?:[ ](?:hospital|clinic|office|campus|hosp)(?![a-z]))?)
    (?:,?[ ](?:(?:in|of|at)[ ])?(?:the[ ])?
       (?P<city>[A-Z][A-Za-z]+(?:[ ][A-Z][a-z]+){{0,2}})
       ,[ ](?P<state>{STATE})(?![A-Za-z])
      |,?[ ]in[ ](?!{_MONTH})(?P<town>[A-Z][a-z]+(?:[ ][A-Z][a-z]+){{0,2}}))?
    """,
    re.VERBOSE,
)
_INSTITUTION_CUE = re.compile(
    r"""
    (?<![A-Za-z])(?:at|from|to|in|by|with|through|of|via|our|the)(?:[ ]the|[ ]our)?[ ]\Z
    """,
    re.VERBOSE | re.IGNORECASE,
)
_NO_INSTITUTION = re.compile(
    rf"""
    (?:[A-Z]{{1,3}}|[A-Z][0-9].*
      |(?:The|Her|His|Bedtime|Home|Night|Noon|Baseline|Least|Most|First|This|That
         |Emergency|Urgent|Operating|Recovery|Bedside|Dinner|Lunch|Breakfast
         |{any_of(map(str.capitalize, (*WEEKDAYS, *MONTHS)))}
         |Christmas|Thanksgiving|Easter|Dr|Mr|Mrs|Ms|Stage|Grade|Level|Room)
       (?![a-z]).*)
    """,
    re.VERBOSE,
)
_CARE_CUES, _EMPLOYMENT_CUES = load_list("care_cues"), load_list("employment_cues")
_DETERMINERS = frozenset({"the", "our"})
_EMPLOYED_BY = frozenset(words("from by with at of for"))
_EMPLOYED_ENDS = (*(f" {word} " for word in sorted(_EMPLOYED_BY)), " the ")
_CARE_ENDS = (" at ", " the ", " our ")
_INSTITUTION_ENDS = (*_EMPLOYED_ENDS, *_CARE_ENDS)


class Tail(NamedTuple):
    """The text after the name of an institution: "'s hospital in Rochester, MN".

    Args:
        end: Where the institution itself ends.
        city: The range of its town, if one follows.
        state: The range of its state, if one follows.
    """

    end: int
    city: tuple[int, int] | None = None
    state: tuple[int, int] | None = None


def is_after_institution_cue(text: str, start: int) -> bool:
    """Return whether "at", "from", "by" or the like precedes."""
    return bool(_INSTITUTION_CUE.search(text, max(0, start - _MAX_CUE), start))


def may_follow_institution_cue(text: str, start: int) -> bool:
    """Return whether `is_after_care` or `is_employer` may be true."""
    return text.endswith(_INSTITUTION_ENDS, 0, start)


def is_after_care(text: str, start: int) -> bool:
    """Return whether somebody is seen, treated or employed "at" what follows."""
    if not text.endswith(_CARE_ENDS, 0, start):
        return False
    left = _without_determiner(before(text, start).words)
    return left[:1] == ("at",) and not _CARE_CUES.isdisjoint(left[1:])


def is_employer(text: str, start: int) -> bool:
    """Return whether somebody works for or is retired from what follows."""
    if not text.endswith(_EMPLOYED_ENDS, 0, start):
        return False
    left = _without_determiner(before(text, start).words)
    if left[0] not in _EMPLOYED_BY:
        return False
    return left[:3] == ("from", "off", "laid") or not _EMPLOYMENT_CUES.isdisjoint(
        left[1:2]
    )


def _without_determiner(words: tuple[str, ...]) -> tuple[str, ...]:
    return words[1:] if words[1:] and words[0] in _DETERMINERS else words


def may_be_institution(text: str, start: int, end: int) -> bool:
    """Return whether what somebody is treated at is not a time, a level or a room."""
    return (
        not _NO_INSTITUTION.fullmatch(text, start, end)
        and not text[end : end + 1].isdigit()
    )


def end_of_institution(text: str, end: int) -> Tail:
    """Return where an institution ends, and the town and state that follow."""
    tail = _INSTITUTION_TAIL.match(text, end)
    if tail is None:
        return Tail(end)
    if tail["state"]:
        return Tail(tail.end("head"), tail.span("city"), tail.span("state"))
    return Tail(tail.end("head"), tail.span("town") if tail["town"] else None)
