"""Rules for names after a label, a relation, or before an age: "Name: Doe, Jane"."""

from __future__ import annotations

import re

from deid_core.detectors.rules.pattern import LazyPattern
from deid_core.detectors.rules.rule import Rule
from deid_core.labels import Label
from deid_core.language.fragments import MONTH, WEEKDAY, words
from deid_core.language.lexicons import forms_of, load_list
from deid_core.language.lexicons.word_classes import (
    WordClass,
    is_mere_word,
    word_classes,
)

from .shapes import FAMILY_FIRST, FULL_NAME, LOWER_CASE_NAME, NAME, NOT_IN_WORD, WORD

_SPACES = r"[ \t]{0,3}"
_KIN = sorted(load_list("kin_before_names"))
_ROLES = sorted(load_list("role_labels"))
_LABELS = sorted(load_list("name_labels"))

_NEXT_FIELD = r"""
    (?:[ \t]{1,4}(?:dob|d\.o\.b\.?|date[ ]of[ ]birth|birth[ ]?date|born|mrn|ssn|sex
      |gender|age|acct|account|chart|room|ward|unit)[ ]?(?:[:\#]|no\b|(?=[0-9])))
"""


# "CC: Halos" is a complaint, "Ordered: Cultures" a test, "Admitting: Sepsis" a disease.
_ROLES_OF_THINGS = frozenset(
    words("cc ordered ordering requesting admitting performing performed")
)


def _is_no_complaint(match: re.Match[str]) -> bool:
    """Return whether more than words follow a label that is not only a person's."""
    if match["role"].lower() not in _ROLES_OF_THINGS:
        return True
    return not all(map(is_mere_word, forms_of(match["phi"])))


def _is_no_diagnosis(match: re.Match[str]) -> bool:
    """Return whether kin is named: "aunt Sjogren" says which disease she has."""
    kinds = [word_classes(form) for form in forms_of(match["phi"])]
    given = WordClass.GIVEN | WordClass.WEAK_GIVEN
    return not all(each & WordClass.EPONYM and not each & given for each in kinds)


DOCTOR_AFTER_LABEL = Rule(
    name="name_after_role",
    label=Label.DOCTOR,
    pattern=LazyPattern(
        rf"""
        {NOT_IN_WORD}
        (?P<role>
          (?i:(?:{"|".join(_ROLES)})(?:[ ](?:physician|provider|surgeon|md|name))?))
        (?:{_SPACES}:{_SPACES}|[ ](?i:by)[ \t]{{0,2}}:?[ \t]{{1,2}})
        (?P<phi>{FAMILY_FIRST}|{FULL_NAME}
          |{WORD}(?=[ \t]{{0,3}}(?:\.?[ \t]{{0,3}}(?:\n|\Z)|[,;])))
        """,
        re.VERBOSE,
    ),
    score=0.88,
    is_valid=_is_no_complaint,
    found=(
        "dictated by: «Jane Roe»\nAttending: «John Q. Poe»",
        "cc: «Ann Doe», PCP: «Smith»\nSurgeon: «Doe, Jane»",
        "Electronically signed by «J. Roe» on; reviewed by «Mary Lee»",
        "ATTENDING PHYSICIAN: «JANE ROE»\nSeen by: «Rostova».",
        "Ordering: «HALVORSEN, INGRID» MD, Ordering provider: «Ana Rostova»",
    ),
    not_found=(
        "seen by Infectious Disease",
        "reviewed by Radiology\n",
        "cc: headache, CC: Halos, Glare",
        "Ordered: Cultures, Glucose\n",
        "Admitting: Pneumonia, Sepsis\n",
        "performed by the surgeon",
        "Physician: None\n",
        "Anesthesia: General\n",
        "Attending:\nJane Roe",
    ),
)

PATIENT_AFTER_LABEL = Rule(
    name="name_after_label",
    label=Label.PATIENT,
    pattern=LazyPattern(
        rf"""
        {NOT_IN_WORD}
        (?i:(?:{"|".join(_LABELS)})(?:'?s)?(?:[ ]name)?|(?<![a-z][ ])name
          |next[ ]of[ ]kin|emergency[ ]contact)
        {_SPACES}[:=]{_SPACES}
        (?P<phi>{FAMILY_FIRST}|{FULL_NAME}
          |{WORD}(?=[ \t]{{0,3}}(?:[\n,;(]|\Z)|(?i:{_NEXT_FIELD})))
        """,
        re.VERBOSE,
    ),
    score=0.88,
    found=(
        "Patient: «Jane Roe»\nName: «Doe, Jane»",
        "PATIENT NAME: «DOE, JANE A»",
        "Re: «John Q. Public», Next of kin: «Mary Doe»",
        "Name:«Łukasz Nowak»",
        "Name: «Roe»  DOB: 1/2/1990, Pt: «Xu» Age: 60, Name: «Roe»  D.O.B. 1/2",
        "Patient: «Jane Roe»  Ward: 3, Name: «Jane Roe» Location: ICU",
    ),
    not_found=(
        "Patient: Denies fever",
        "Name:\nJane Roe",
        "Patient: alert",
        "Name: Unknown\n",
        "medication name: aspirin",
        "Model Name: Sigma\n",
        "Patient: Comfortable. Age: 60",
    ),
)

NAME_IN_LOWER_CASE_AFTER_LABEL = Rule(
    name="name_in_lower_case_after_label",
    label=Label.PATIENT,
    pattern=LazyPattern(
        rf"""
        {NOT_IN_WORD}(?:patient[ ]|pt[ ])?name[ ]?:[ ]{{0,2}}
        (?P<phi>{LOWER_CASE_NAME}(?:,[ ]?|[ ]){LOWER_CASE_NAME})
        (?=[ \t]{{0,3}}(?:[\n,;(]|\Z|dob\b|mrn\b|age\b|sex\b))
        """,
        re.VERBOSE,
    ),
    score=0.8,
    found=("name: «jane roe»\n", "patient name: «doe, jane»; dob"),
    not_found=("name: not known\n", "drug name: one tablet twice"),
)

KIN = Rule(
    name="name_after_kin",
    label=Label.PATIENT,
    pattern=LazyPattern(
        rf"""
        {NOT_IN_WORD}(?:{"|".join(_KIN)})
        (?:,?[ ](?:is[ ])?(?:named[ ]|called[ ])?|[ ]\()
        (?P<phi>{WORD}(?:[ ]{WORD})?(?<=[a-z]))(?![A-Za-z'-])
        """,
        re.VERBOSE,
    ),
    score=0.75,
    is_valid=_is_no_diagnosis,
    found=(
        "his wife «Mary» and daughter, «Ann Lee», son («John»)",
        "her brother named «Michael»",
    ),
    not_found=(
        "mother Alive",
        "uncle Parkinson, aunt Sjogren",
        "father with CAD",
        "reason Mary",
        "sister\nMary",
        "Mother Deceased",
    ),
)


def _is_no_word(match: re.Match[str]) -> bool:
    """Return whether kin is somebody's: "Today's mother" says whose turn it is."""
    return not all(map(is_mere_word, forms_of(match["phi"])))


WHOSE_KIN = Rule(
    name="name_before_kin",
    label=Label.PATIENT,
    pattern=LazyPattern(
        rf"""
        {NOT_IN_WORD}(?P<phi>{WORD}(?:[ ]{WORD})?)'s?[ ](?:{"|".join(_KIN)})
        (?![A-Za-z'-])
        """,
        re.VERBOSE,
    ),
    score=0.75,
    is_valid=_is_no_word,
    must_contain=re.compile(rf"'s?[ ](?:{'|'.join(_KIN)})"),
    found=("«Jon»'s mother called; «Ann Lee»'s daughter, «Boris»' wife",),
    not_found=(
        "Baby's father",
        "Today's partner",
        "Patient's mother",
        "the girl's uncle",
        "Tom's motherboard",
    ),
)

SUBJECT_OF_AGE = Rule(
    name="name_before_age",
    label=Label.PATIENT,
    pattern=LazyPattern(
        rf"""
        {NOT_IN_WORD}(?P<phi>{NAME})
        (?i:(?:,?[ ]{{1,2}}(?:is|was)|,)[ ]{{1,2}}an?[ ]{{1,2}}
        (?:[a-z-]{{2,20}}[ ]){{0,3}}
        [0-9]{{1,3}}[- ]?(?:years?|yrs?|yo|y/o|y\.o|months?|weeks?|days?))
        """,
        re.VERBOSE,
    ),
    score=0.9,
    lookbehind=100,
    window=20,
    must_contain=re.compile(r"[ ][Aa][Nn]?[ ]{1,2}(?:[A-Za-z-]{2,20}[ ]){0,3}[0-9]"),
    found=(
        "«JANE ROE» IS A 94 YEAR OLD",
        "«Martha Roe» is a 50-year-old female",
        "«Joe» is a pleasant 62 y/o man; «Ana de Souza», an 8-month-old",
    ),
    not_found=(
        "The patient is a 60-year-old",
        "This is a 23-year-old",
        "THE PATIENT IS A 60 YEAR OLD",
        "Patient is a 60 yo",
        "Pain is a 10-day",
        "pt is a 45 yo",
    ),
)

BEFORE_BIRTH = Rule(
    name="name_before_birth",
    label=Label.PATIENT,
    pattern=LazyPattern(
        rf"""
        {NOT_IN_WORD}(?P<phi>{FAMILY_FIRST}|{FULL_NAME})
        (?:[ ]?[,;(/-][ ]{{0,3}}|[ ]{{1,3}})
        (?i:d\.?o\.?b\.?|date[ ]of[ ]birth|birth[ ]?date|born(?:[ ]on)?)
        [ ]?[:=]?[ ]{{0,2}}(?:[0-9]|(?i:{MONTH}|{WEEKDAY}))
        """,
        re.VERBOSE,
    ),
    score=0.88,
    lookbehind=100,
    window=32,
    found=(
        "Call about «Alvin Young», DOB 22-Dec-1960, «JANE ROE» / born Fri 10/2/1950",
        "«Roe, Jane», date of birth: 2/3/1960; «Jane Q. Roe» (born on March 3, 1960)",
    ),
    not_found=(
        "Baby Boy, born 3/4/2020",
        "Full name and DOB 1/2/1950",
        "Healthy Infant, born 1/2/2000",
        "Jane Roe, born in Ohio",
    ),
)

RULES = (
    DOCTOR_AFTER_LABEL,
    PATIENT_AFTER_LABEL,
    NAME_IN_LOWER_CASE_AFTER_LABEL,
    KIN,
    WHOSE_KIN,
    SUBJECT_OF_AGE,
    BEFORE_BIRTH,
)
