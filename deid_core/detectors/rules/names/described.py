"""Rules for names next to a job, or an age and sex: "aide Fatoumata", "Tran 61M"."""

from __future__ import annotations

import re

from deid_core.detectors.rules.pattern import LazyPattern
from deid_core.detectors.rules.rule import Rule
from deid_core.labels import Label
from deid_core.language.context import is_before_clinical_term
from deid_core.language.fragments import ends_with, words
from deid_core.language.lexicons import forms_of, load_list
from deid_core.language.lexicons.word_classes import WordClass, word_classes

from .shapes import NAME, NOT_IN_WORD, WORD

_JOBS = sorted(load_list("jobs_before_names"))
_BORNE = WordClass.GIVEN | WordClass.FAMILY | WordClass.UNKNOWN


def _is_borne(match: re.Match[str]) -> bool:
    """Return whether a word may be a name, and none is an eponym or a drug."""
    kinds = [word_classes(form) for form in forms_of(match["phi"]) if len(form) > 1]
    if any(each & (WordClass.EPONYM | WordClass.DRUG) for each in kinds):
        return False
    # Two rare words side by side are a name, one is a word.
    borne = _BORNE | WordClass.RARE if len(kinds) > 1 else _BORNE
    return any(each & borne for each in kinds)


def _is_no_catheter(match: re.Match[str]) -> bool:
    """Return whether ``16F`` is a girl of 16, not the width of a catheter."""
    return _is_borne(match) and not is_before_clinical_term(match.string, match.end())


AFTER_JOB = Rule(
    name="name_after_job",
    label=Label.DOCTOR,
    pattern=LazyPattern(
        rf"""
        {NOT_IN_WORD}(?i:{"|".join(_JOBS)})(?:,?[ ]|[ ]\()
        (?P<phi>{WORD}(?:[ ]{WORD})?(?<=[a-z]))(?![A-Za-z'-])
        """,
        re.VERBOSE,
    ),
    score=0.75,
    is_valid=_is_borne,
    found=(
        "the private aide «Fatoumata» and her coach, «Whitaker»",
        "Optometrist «Wei-Ling» saw it; interpreter («Marta Roe») at hand",
    ),
    not_found=(
        "the coordinator Today",
        "aide Present",
        "a teacher Parkinson taught",
        "coach\nWhitaker",
    ),
)

BEFORE_AGE_AND_SEX = Rule(
    name="name_before_age_and_sex",
    label=Label.PATIENT,
    pattern=LazyPattern(
        rf"""
        {NOT_IN_WORD}(?P<phi>{NAME}),?[ ]{{1,2}}
        (?:[0-9]{{1,3}}[ ]?(?:y/?o?[ ]?)?[MF]|[0-9]{{1,3}}[ ]?(?:yo|y/o))(?![\w%/-])
        """,
        re.VERBOSE,
    ),
    score=0.8,
    is_valid=_is_no_catheter,
    lookbehind=80,
    window=4,
    must_contain=re.compile(r"[A-Za-z],?[ ]{1,2}[0-9]{1,3}[ ]?(?:y|M|F)"),
    found=(
        "«Zubair Lodhi»  43M severe ARDS; pt «Ngozi» 29F, «Roe» 61 yo",
        "«Farah» 16F, LMP in May",
    ),
    not_found=(
        "Temp 98F, Foley 16F, Shiley 8F",
        "a Cook 10F sheath",
        "Walk 10M",
        "In 2019 45M",
        "Patient 61M",
    ),
)

_CHILDREN = words(
    """
    kids children sons daughters twins siblings brothers sisters grandkids grandchildren
    grandsons granddaughters nieces nephews stepchildren boys girls
    """
)
_ITEM = r"[A-Z][a-z'-]{1,20}(?:[ ]\([0-9]{1,2}\)|,?[ ][0-9]{1,2})"
_AMONG_CHILDREN = re.compile(
    rf"(?<![A-Za-z])(?:{'|'.join(_CHILDREN)})(?:[ ](?:are|named))?[ ]?[,:(]?[ ]"
    rf"(?:{_ITEM}(?:,[ ]|;[ ]|,?[ ](?:and|&)[ ])){{0,8}}\Z",
    re.IGNORECASE,
)

CHILD_WITH_AGE = Rule(
    name="name_of_child_with_age",
    label=Label.PATIENT,
    pattern=LazyPattern(
        rf"""
        {NOT_IN_WORD}(?P<phi>{WORD}(?<=[a-z]))(?:[ ]\(|,?[ ])[0-9]{{1,2}}
        (?=[),.;\n]|[ ](?:and|&)|\Z)(?!\.[0-9])
        """,
        re.VERBOSE,
    ),
    score=0.8,
    is_valid=lambda match: ends_with(
        _AMONG_CHILDREN, match.string, match.start(), within=120
    ),
    found=(
        "kids «Ava» 7, «Noah» 4. Children: «Lennox» 9, «Tilda» 6 and «Rufus» 2.",
        "two sons, «Silas» 11 and «Ezra» 8; Kids: «Mabel» (12), «Arlo» (5)",
    ),
    not_found=(
        "Apgars 8, 9; Growth 50, Sodium 135, kids: none. Tilda 6",
        "Children under Ten 9, the Score 6",
    ),
)

RULES = (AFTER_JOB, BEFORE_AGE_AND_SEX, CHILD_WITH_AGE)
