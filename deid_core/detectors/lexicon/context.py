"""What stands around a run and says whether it is a name here."""

from __future__ import annotations

import re

from ...lexicons import load_list

_REACH = 48


def _words_of(name: str) -> str:
    return "|".join(sorted(map(re.escape, load_list(name)), key=len, reverse=True))


_VERBS, _PERSONS, _KIN = map(_words_of, ("person_verbs", "person_nouns", "kin"))
_PERSON_AFTER = re.compile(
    rf"""
    (?:'s)?,?[ ]{{1,2}}(?:{_VERBS})(?![a-z])
    | ,?[ ](?:is|was)[ ](?:an?|the)[ ](?:[a-z-]+[ ]){{0,3}}(?:[0-9]|{_PERSONS})
    | ,[ ](?:an?[ ])?(?:aged?[ ])?[0-9]{{1,3}}[- ]?(?:y|year|month)
    | ,[ ](?:his|her|their|my|the[ ]patient's)[ ](?:{_KIN})(?![a-z])
    | [ ]\([^()\n]{{0,20}}(?:{_KIN}|DOB|MRN|ID)
    """,
    re.VERBOSE,
)
_PERSON_BEFORE = re.compile(
    rf"""
    (?<![A-Za-z])
    (?:(?i:named|called|name[ ]is|name|patients?|pts?|client|veteran|resident|infant
          |like|similar[ ]to|{_KIN}|{_PERSONS}|by|told|asked|saw|met|thank|dear|per
          |and[ ]i)
       (?:[ ](?:is|was|name[ ]is|named|called|like|for|identified[ ]as))?
      |[0-9](?:[ ]?y/?o|[ ]?yo[mf]?|[- ]years?[- ]old)
      |[Ff]or|[Ww]ith|[Ff]rom
    )[,:]?[ ]{{1,2}}["'(]?\Z
    """,
    re.VERBOSE,
)
_SPOKEN_TO = re.compile(
    r"""
    (?<![A-Za-z])(?:(?:spoke|talked|speak|talk|discussed|met|called|visit)[ ](?:to|with)
      |named|called|told|asked|thanks?|dear|met)[ ]\Z
    """,
    re.VERBOSE | re.IGNORECASE,
)
_INSIDE_SENTENCE = re.compile(r"[a-z0-9),;\"'%][,;]?[ ]{1,2}[\"'(]?\Z|[a-z],[ ]\Z")
_NO_NAME_BEFORE = re.compile(
    r"""
    (?:(?<![A-Za-z])
       (?:an?|the|using|\#|no|French|two|three|both|these|with[ ]an?|size|small|large
         |curved|straight|blunt|sharp|modified|positive|negative|standard|traditional
         |type|grade|stage|score|class|performed|applied|via|through|placed|per)[ ]{1,2}
      |[0-9][ ]?|\#[0-9/]+[ ]|-)\Z
    """,
    re.VERBOSE | re.IGNORECASE,
)
_THINGS = f"{_words_of('eponym_nouns')}|{_words_of('thing_nouns')}"
_THING_AFTER = re.compile(
    rf"""
    (?:'s?)?[ -]{{1,2}}(?:[A-Za-z0-9+-]{{1,20}}[ ]){{0,2}}?
    (?:{_THINGS})(?![a-z])
    | [ ]?[0-9+=]
    | (?:[-/])[A-Za-z]
    """,
    re.VERBOSE | re.IGNORECASE,
)


def has_person_around(text: str, start: int, end: int) -> bool:
    """Return whether a verb, a relation or a description makes it a person."""
    return bool(
        _PERSON_AFTER.match(text, end)
        or _PERSON_BEFORE.search(text, max(0, start - _REACH), start)
    )


def is_person_described(text: str, start: int, end: int) -> bool:
    """Return whether it can only be a person, even at a sentence's start."""
    return bool(
        _PERSON_AFTER.match(text, end)
        or _SPOKEN_TO.search(text, max(0, start - _REACH), start)
    )


def is_inside_sentence(text: str, start: int) -> bool:
    """Return whether what stands before leaves it in the middle of a sentence."""
    return bool(_INSIDE_SENTENCE.search(text, max(0, start - 6), start))


def is_thing(text: str, start: int, end: int) -> bool:
    """Return whether a device or disease follows, or an article stands before."""
    return bool(
        _THING_AFTER.match(text, end)
        or _NO_NAME_BEFORE.search(text, max(0, start - 16), start)
    )


def is_before_thing(text: str, end: int) -> bool:
    """Return whether a device, disease or score follows."""
    return bool(_THING_AFTER.match(text, end))
