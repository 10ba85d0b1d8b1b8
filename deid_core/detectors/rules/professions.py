"""Rules for what somebody does for a living: i2b2-2014's PROFESSION, Safe Harbor (R).

A cue is always needed, and mostly a noun of the list ``occupations``.  Who treats the
patient stays: "a retired nurse" is an identifier, "seen by the nurse" is none.
"""

from __future__ import annotations

import re

from deid_core.labels import Label
from deid_core.language.fragments import any_of, ends_with, words
from deid_core.language.lexicons import load_list

from .pattern import LazyPattern
from .rule import Rule

_FLAGS = re.VERBOSE | re.IGNORECASE
_NO_PART = load_list("no_part_of_titles")
_STOP = rf"(?!{any_of(_NO_PART)}(?![A-Za-z-]))"
_WORD = rf"(?:{_STOP}[A-Za-z][A-Za-z'&/-]{{1,20}}+)"
# Of compounds that no list holds whole: "schoolteacher", "candlemaker", "milkman".
_LAST_PARTS = words(
    """
    teacher worker maker keeper builder driver master mistress writer seller dealer
    fighter trainer player dresser binder cutter smith wright herd monger man woman
    person
    """
)
_NO_COMPOUNDS = words(
    """
    pacemaker homemaker troublemaker coworker co-worker screwdriver typewriter
    gentleman gentlewoman woman human german roman norman layman laywoman layperson
    """
)
_COMPOUND = rf"""
    (?:(?!{any_of(_NO_COMPOUNDS)}(?![A-Za-z]))[A-Za-z]{{2,10}}?{any_of(_LAST_PARTS)})
"""
_NOUN = rf"(?:{any_of(tuple(load_list('occupations')))}|{_COMPOUND})"
_TITLE = rf"(?P<phi>(?:{_WORD}[ ]){{0,3}}{_NOUN}s?)(?![A-Za-z'-])"
_ARTICLE = r"(?:(?:an?|the|our|their)[ ])?"
_TREATING = load_list("treating_jobs")
_NO_AGENTS = load_list("no_agents")
_SUBJECT = re.compile(
    r"""
    (?<![a-z])(?:he|she|patient|pt|who|husband|wife|father|mother|spouse|son|daughter
      |brother|sister|partner)[ ]?\Z
    """,
    _FLAGS,
)
_BEFORE_TITLE = words(
    """
    retired former semi-retired unemployed self-employed laid-off freelance professional
    """
)
_NO_TITLES = load_list("no_occupations")


def _treats_nobody(match: re.Match[str]) -> bool:
    last = re.split("[^a-z]", match["phi"].lower())[-1]
    return last.removesuffix("s") not in _TREATING


def _is_said_of_a_person(match: re.Match[str]) -> bool:
    """Return whether the subject before "is a" is a person, and the title no name."""
    return (
        ends_with(_SUBJECT, match.string, match.start(), within=12)
        and _is_no_name(match)
        and _treats_nobody(match)
    )


def _is_no_name(match: re.Match[str]) -> bool:
    """Return whether a title is written as a noun: "male, John Baker" is a man."""
    return not match["phi"].split()[-1][0].isupper() or match[0].isupper()


def _is_patients_own(match: re.Match[str]) -> bool:
    """Return whether a title after "retired" or "former" is the patient's."""
    return match["before"].lower().endswith("retired") or _treats_nobody(match)


def _is_agent(match: re.Match[str]) -> bool:
    """Return whether it is no word of time, kin or habit, and is used as a noun."""
    return match["phi"].lower() not in _NO_AGENTS and (
        match["phi"].islower() or match[0].isupper()
    )


WORKS_AS = Rule(
    name="profession_works_as",
    label=Label.PROFESSION,
    pattern=LazyPattern(
        rf"""
        (?<![a-z])(?:work(?:s|ed|ing)?|employed|employment|job|career|position
          |serve[ds]?|serving|retired|living)
        [ ](?:[a-z-]{{2,12}}[ ]){{0,2}}?as[ ]{_ARTICLE}{_TITLE}
        """,
        _FLAGS,
    ),
    score=0.85,
    found=(
        "She works as a «plumber» and he is employed as an «office manager».",
        "worked part time as a «school bus driver» for 30 years",
        "has a job as a «cashier», works as a «nurse», retired as «teacher»",
    ),
    not_found=(
        "works as expected",
        "worked up as an outpatient",
        "employed as a treatment",
        "serves as a control",
    ),
)

LABELLED_OCCUPATION = Rule(
    name="profession_labelled",
    label=Label.PROFESSION,
    pattern=LazyPattern(
        rf"""
        (?<![a-z])(?:occupation(?:al[ ]history)?|profession|job(?:[ ]title)?|vocation
          |employment(?:[ ]history)?|career)
        (?:[ ]?[:=-][ ]{{0,2}}|[ ]is[ ](?:that[ ]of[ ])?|[ ]was[ ])
        (?:(?:retired|former)[ ])?{_ARTICLE}{_TITLE}
        """,
        _FLAGS,
    ),
    score=0.9,
    found=(
        "Occupation: «electrician», Profession: Retired «school teacher»",
        "Job title: «forklift operator»; her occupation is «accountant».",
    ),
    not_found=("Occupation: none", "occupation: retired", "job: 3 days"),
)

OCCUPATION_IN_FREE_WORDS = Rule(
    name="profession_in_free_words",
    label=Label.PROFESSION,
    # After its label a title need not be in the list, if it ends where its line does.
    pattern=LazyPattern(
        rf"""
        (?<![a-z])(?:occupation|profession|job[ ]title)[ ]?:[ ]{{0,2}}
        (?:(?:retired|former)[ ])?{_ARTICLE}
        (?P<phi>{_WORD}(?:[ ]{_WORD}){{0,3}})(?=[ ]{{0,2}}(?:[.,;\n]|\Z))
        """,
        _FLAGS,
    ),
    score=0.75,
    is_valid=lambda match: (
        not _NO_TITLES.intersection(re.split("[ -]", match["phi"].lower()))
    ),
    found=("Occupation: «zoo keeper».", "OCCUPATION: retired «wheelwright»\n"),
    not_found=("Occupation: unemployed.", "occupation: works at home", "Job title:"),
)

RETIRED = Rule(
    name="profession_retired",
    label=Label.PROFESSION,
    pattern=LazyPattern(
        rf"(?<![a-z-])(?P<before>{'|'.join(_BEFORE_TITLE)})[ ]{_TITLE}", _FLAGS
    ),
    score=0.85,
    is_valid=_is_patients_own,
    found=(
        "a retired «teacher», former «firefighter», self-employed «carpenter»",
        "a retired «nurse», semi-retired «truck driver»",
        "a retired «schoolteacher», a former «milkman», a retired «football player»",
    ),
    not_found=(
        "former smoker",
        "her former physician",
        "retired in 2010",
        "professional counselor",
    ),
)

RETIRED_AGENT = Rule(
    name="profession_retired_agent",
    label=Label.PROFESSION,
    # Behind "retired" a title need not be in the list.
    pattern=LazyPattern(
        r"""
        (?<![a-z-])(?:semi-?)?retired[ ]
        (?P<phi>[a-z]{2,14}(?:er|or|ist|ian|man|woman|ess|eer|ant))
        (?=[ ]?(?:[.,;:()\n]|\Z)
          |[ ](?:and|but|who|whose|from|with|w/|at|in|of|on|by|for|living|lives|has|is
             |was|now)(?![a-z]))
        """,
        _FLAGS,
    ),
    score=0.75,
    is_valid=_is_agent,
    found=(
        "a retired «thatcher», retired «luthier» and",
        "RETIRED «WHITTLER».",
        "a semi-retired «falconer»",
    ),
    not_found=(
        "retired after 30 years, retired earlier, retired over a year ago",
        "retired Sumner, a retired smoker, a retired liquor store owner",
        "unretired hatter",
    ),
)

IS_A = Rule(
    name="profession_is_a",
    label=Label.PROFESSION,
    pattern=LazyPattern(
        rf"""
        (?:is|was|'s)[ ](?:(?:currently|also|now)[ ])?an?[ ](?:(?:retired|former)[ ])?
        {_TITLE}
        """,
        _FLAGS,
    ),
    score=0.8,
    is_valid=_is_said_of_a_person,
    found=(
        "He is a «lawyer», and her husband was a «truck driver».",
        "She is a «schoolteacher»; he was a «horse breeder», her son is a «cardplayer»",
        "She is a retired «school teacher»; she's now an «accountant»",
    ),
    not_found=(
        "he is a good candidate",
        "patient is a poor historian",
        "who is a nurse practitioner",
        "it is a teacher",
        "he is a Smith Baker",
        "he is a homemaker, a gentleman; she is a coworker",
    ),
)

BY_TRADE = Rule(
    name="profession_by_trade",
    label=Label.PROFESSION,
    pattern=LazyPattern(
        rf"(?<![a-z]){_TITLE}[ ]by[ ](?:trade|profession|occupation|training|vocation)",
        _FLAGS,
    ),
    score=0.9,
    found=("a «plumber» by trade, «electrical engineer» by training",),
    not_found=("surprised by trade", "by profession", "a good man by trade"),
)

AFTER_AGE = Rule(
    name="profession_after_age",
    label=Label.PROFESSION,
    pattern=LazyPattern(
        rf"[- ]old[ ](?:[a-z-]{{2,16}}+[ ]){{0,3}}?{_TITLE}",
        _FLAGS,
    ),
    score=0.8,
    is_valid=lambda match: _is_no_name(match) and _treats_nobody(match),
    found=("a 45-year-old «truck driver», a 60 year old white female «teacher» who",),
    not_found=(
        "a 3-month-old boy",
        "old age",
        "45-year-old nurse practitioner",
        "a 60-year-old male Ken Baker, a 60-year-old male, the baker",
    ),
)

INDUSTRY = Rule(
    name="profession_industry",
    label=Label.PROFESSION,
    pattern=LazyPattern(
        r"""
        (?<![a-z])(?:work(?:s|ed|ing)?|employed|job|career|retired)[ ](?:in|from)[ ]
        (?:the[ ])?(?P<phi>construction|finance|banking|real[ ]estate|retail
          |law[ ]enforcement|agriculture|farming|manufacturing|accounting|marketing
          |advertising|publishing|journalism|landscaping|plumbing|carpentry|roofing
          |trucking|mining|forestry|military|army|navy|air[ ]force|marines|coast[ ]guard
          |(?:oil|film|restaurant)[ ](?:business|industry)|post[ ]office)
        (?![a-z])
        """,
        _FLAGS,
    ),
    score=0.8,
    found=("He works in «construction», retired from the «Navy»",),
    not_found=("works in the garden", "retired in 2010", "work in progress"),
)

RULES = (
    WORKS_AS,
    LABELLED_OCCUPATION,
    OCCUPATION_IN_FREE_WORDS,
    RETIRED,
    RETIRED_AGENT,
    IS_A,
    BY_TRADE,
    AFTER_AGE,
    INDUSTRY,
)
