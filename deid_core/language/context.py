"""What stands around a run and says whether it is a name here.

Looked up word by word: a pattern over every list would cost more than all the rest.
"""

from __future__ import annotations

import re
from functools import cache
from typing import NamedTuple

from .fragments import words
from .lexicons import load_list

_REACH = 56
_NEAREST = r"('s?)?(,?)[ -]{1,2}(\(?)([A-Za-z0-9+'/-]+)"
_NEAREST_AFTER = re.compile(_NEAREST)
_AFTER = re.compile(
    rf"{_NEAREST}(?:[ ]([A-Za-z0-9+'-]+))?"
    r"(?:[ ]([A-Za-z0-9+'-]+))?(?:[ ]([A-Za-z0-9]+))?"
)
_SCORE_AFTER = re.compile(r"[ ]?[0-9+=]|[-/][A-Za-z]")
_AGE_AFTER = re.compile(r",[ ](?:an?[ ])?(?:aged?[ ])?[0-9]{1,3}[- ]?(?:y|year|month)")
_INSIDE_SENTENCE = re.compile(r"[a-z0-9),;\"'%][,;]?[ ]{1,2}[\"'(]?\Z")

_NAMED = frozenset(
    words(
        """
        named called name patient patients pt pts client veteran resident infant like
        to by told asked saw met thank dear per
        """
    )
)
_LINKS = frozenset(words("is was named called like for as"))
_FRIENDLY = frozenset(words("for with from"))
_AGED = re.compile(r"[0-9]+(?:y/?o|yo[mf]?|-years?-old)|yo|y/o|old")
_TOLD = frozenset(words("named called told asked thanks thank dear met"))
_SPOKE = frozenset(
    words(
        """
        spoke talked speak talk discussed met visit explained lives living married came
        comes reviewed spoken moved engaged
        """
    )
)
_KIN_TOO = frozenset(words("children kids sons daughters brothers sisters parents"))
_VERB_AFTER = re.compile(
    r"""
    (?:'s)?[ ](?:is|was|has|had|will|would|can|could|did|does|needs|takes|took|gave|came
      |comes|went|feels|felt|wants|wanted|asked|noticed|died|says|thinks|helps|walks
      |walked|agrees|understands|knows|remains|continues|appears|looks|seems|saw|sees
      |called|prefers|tolerated|scrubbed|returns|returned|complains|plans|hopes|started
      |stopped|tried|uses|works|should|must|might|never|still|got|lost|fell|kept|moved
      |quit|ran|sat|slept|spent|stood|voided|weighed|woke|drove|ate|and)[ ]
    """,
    re.VERBOSE,
)
_NO_NAME = frozenset(
    words(
        """
        a an the using no french two three both these size small large curved straight
        blunt sharp modified positive negative standard traditional type grade stage
        score class performed applied via through placed per
        """
    )
)
# Behind these a new phrase begins: "Camila has the pump" is no Camila pump.
_NO_COMPOUND = frozenset(
    words(
        """
        a an the is was are were has had have will would can could did does do to of for
        in on at by with from as who that his her our their this after before because
        when if but then said says not no
        """
    )
)
_FIELDS = frozenset({"DOB", "MRN", "ID"})
_ARTICLES = frozenset({"a", "an", "the"})
_OWN = frozenset(words("his her their my the"))
_POSSESSIVES = frozenset(words("his her their my our your its"))


class Before(NamedTuple):
    """The words before a run.

    Args:
        nearest: The last of them, in small letters: most questions end with it.
        gap: What stands between it and the run.
        line: What stands on the line up to the gap.
    """

    nearest: str
    gap: str
    line: str

    @property
    def words(self) -> tuple[str, ...]:
        """Up to five of them, the nearest first, in small letters."""
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
    left = text[max(0, start - _REACH) : start]
    line = left[left.rfind("\n") + 1 :]
    bare = line.rstrip(" \"'(,:")
    return Before(bare[bare.rfind(" ") + 1 :].lower(), line[len(bare) :], bare)


def has_person_around(text: str, start: int, end: int) -> bool:
    """Return whether a verb, a relation or a description makes it a person."""
    if _is_person_after(text, end):
        return True
    left = before(text, start)
    if not left.gap or len(left.gap) > 4:
        return False
    nearest = left.nearest
    if nearest in _names_cues() or nearest in _FRIENDLY or _AGED.fullmatch(nearest):
        return True
    return nearest in _LINKS and left.word(1) in _names_cues()


def is_person_described(text: str, start: int, end: int) -> bool:
    """Return whether it can only be a person, even at a sentence's start."""
    if _is_person_after(text, end):
        return True
    nearest, gap, _ = left = before(text, start)
    if nearest in _TOLD:
        return gap == " "
    if nearest in _every_kin():
        return gap in {" ", ", "}
    return nearest in {"to", "with"} and left.word(1) in _SPOKE


def is_subject(text: str, start: int, end: int) -> bool:
    """Return whether a sentence begins here, and what it does follows."""
    before_it = text[:start].rstrip(" ")[-1:] if start < 2 else text[start - 2 : start]
    begins = start == 0 or before_it.strip() in {"", ".", "!", "?"} or "\n" in before_it
    return begins and _VERB_AFTER.match(text, end) is not None


def is_inside_sentence(text: str, start: int) -> bool:
    """Return whether what stands before leaves it in the middle of a sentence."""
    return _INSIDE_SENTENCE.search(text, max(0, start - 6), start) is not None


def is_clinical_term(text: str, start: int, end: int) -> bool:
    """Return whether a device or disease follows, or an article stands before."""
    if is_before_clinical_term(text, end):
        return True
    previous = text[start - 1 : start]
    if previous in "-#" and previous:
        return True
    nearest, gap, _ = before(text, start)
    return gap.isspace() and (
        nearest in _NO_NAME or nearest[-1:].isdigit() or nearest.startswith("#")
    )


def is_owned(text: str, start: int) -> bool:
    """Return whether "his" or "our" stands before, as before no name: "his walker"."""
    left = before(text, start)
    return left.gap == " " and left.nearest in _POSSESSIVES


def is_before_clinical_term(text: str, end: int) -> bool:
    """Return whether a device, disease or score follows."""
    if _SCORE_AFTER.match(text, end):
        return True
    found = _AFTER.match(text, end)
    if found is None or found[2] or found[3]:
        return False
    nouns = clinical_terms()
    for word in found.group(4, 5, 6):
        if word is None or word in _NO_COMPOUND:
            return False
        if _bare(word) in nouns:
            return True
    return False


@cache
def clinical_terms() -> frozenset[str]:
    """Return the nouns before which a name is the name of a thing."""
    return load_list("clinical_terms")


def _bare(word: str) -> str:
    return word.lower().strip("-'")


def _is_person_after(text: str, end: int) -> bool:
    # Behind most words stands neither a mark nor a word that tells anything.
    nearest = _NEAREST_AFTER.match(text, end)
    if nearest is None or not (
        nearest[2] or nearest[3] or nearest[4] in _telling_words()
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
        return _is_person(third) or _is_person_soon(text, end)
    # "Epifix denied by the plan"; but "Camila seen by surgery".
    if (first, second) == ("denied", "by"):
        return False
    return first in load_list("person_verbs") or (
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
    return any(_is_person(word) for word in described[3:8])


def _is_person(word: str) -> bool:
    return word[:1].isdigit() or word.strip(",") in load_list("person_nouns")


def _is_relation(word: str) -> bool:
    return word in load_list("kin")


@cache
def _telling_words() -> frozenset[str]:
    """Return what may say of the word before it that it names a person."""
    return load_list("person_verbs") | {"is", "was"}


@cache
def _every_kin() -> frozenset[str]:
    return load_list("kin") | _KIN_TOO


@cache
def _names_cues() -> frozenset[str]:
    return _NAMED | load_list("kin") | load_list("person_nouns")
