"""Rules for ages over 89 that stand without a unit: "She is 95", "his mother, 97,".

As in `ages`, only the number is annotated.
"""

from __future__ import annotations

import re

from deid_core.labels import Label
from deid_core.language.fragments import MONTH_NAME, any_of, words

from .ages import OVER_89, STORY_WORDS
from .rule import Rule

_FLAGS = re.VERBOSE | re.IGNORECASE
_PERSONS = words(
    """
    mother father wife husband grandmother grandfather great-grandmother
    great-grandfather sister brother aunt uncle cousin mom dad spouse partner friend
    neighbor neighbour mother-in-law father-in-law sister-in-law brother-in-law
    caregiver roommate fiance fiancee stepmother stepfather son daughter patient mr mrs
    ms miss
    """
)
_NAME_WORD = r"[A-Z][A-Za-z'-]{1,24}"
_BEFORE_AGE = ("is", "now", "currently", "almost", "nearly", "about", "will be")

AGE_AFTER_PERSON = Rule(
    name="age_after_person",
    label=Label.AGE,
    pattern=re.compile(
        rf"""
        (?<![a-z])(?:he|she|who|patient|pt|mother|father|wife|husband|grandmother
          |grandfather|sister|brother)
        (?:[ ]is[ ](?:(?:now|currently|almost|nearly|about)[ ])?|[ ]will[ ]be[ ]
          |'s[ ]now[ ]|[ ]was[ ](?=[0-9]{{2,3}}[ ]when))
        (?P<phi>{OVER_89})
        (?=[ ]{{0,2}}(?:[.;)\n]|,[ ]|and[ ](?!on\b)|but|with|when|who|living|alive
          |years|(?:in|next|this)[ ](?:month|spring|summer|fall|winter|{MONTH_NAME})
          |\Z))(?!\.[0-9])
        """,
        _FLAGS,
    ),
    score=0.8,
    found=(
        "She is «95» and lives alone",
        "the patient is «92», widowed; her mother is now «101».",
        "he was «93» when he fell; she is almost «91» and well. He will be «95», ",
    ),
    not_found=(
        "patient is 95% on air",
        "she is 89",
        "pt is 95 kg",
        "who is 92.5",
        "she was 98 and flushed",
        "he is 900",
    ),
)

AGE_OF_KIN = Rule(
    name="age_of_kin",
    label=Label.AGE,
    pattern=re.compile(
        rf"""
        (?<![a-z])(?:mother|father|wife|husband|(?:great[- ]?)?grandmother
          |(?:great[- ]?)?grandfather|sister|brother|aunt|uncle|mom|dad|spouse|patient)
        (?:,[ ]|[ ]\(|[ ]at[ ]|[ ])(?P<phi>{OVER_89})(?=[,)]|[ ]?(?:and|is|has|was)\b)
        """,
        _FLAGS,
    ),
    score=0.75,
    found=(
        "his mother, «97», is well; grandfather («101») and aunt, «95», too",
        "great-grandmother at «99» and well",
    ),
    not_found=(
        "mother, 89, is well",
        "patient at 95% and stable",
        "the patient, 950,",
        "father 90 pounds",
    ),
)

AGE_OF_NAMED_PERSON = Rule(
    name="age_of_named_person",
    label=Label.AGE,
    pattern=re.compile(
        rf"""
        (?<![A-Za-z])(?i:{any_of(_PERSONS)})[.,]?(?:[ ]{_NAME_WORD}){{1,3}}
        (?:[ ]\((?:age[d]?[ ])?|,[ ](?={OVER_89},))
        (?P<phi>{OVER_89})(?=[),;]|[ ]?(?:yo?|and)\b)
        """,
        re.VERBOSE,
    ),
    score=0.75,
    found=(
        "Her husband Emeka («94») died; his sister, Ada Okafor («101»), is well",
        "her mother-in-law Rose (aged «97») and Mrs. Ada Okafor, «92», were there",
        "his great-grandmother ANA («103») WAS",
    ),
    not_found=(
        "Her husband Emeka (84) died",
        "her husband Emeka (94 kg), wife Ann (94%), Mr. Roe, 95 mg",
        "husband called Ext (940)",
        "creatinine (94)",
    ),
)

AGE_AT_START = Rule(
    name="age_at_start",
    label=Label.AGE,
    pattern=re.compile(
        rf"(?:\A|\n|[.!?][ ]{{1,2}})At[ ](?P<phi>{OVER_89}),?[ ](?=(?:he|she|they)\b)",
    ),
    score=0.75,
    found=("At «94» she still drives. At «101», he is frail.",),
    not_found=("At 89 she fell.", "At 90 minutes she woke.", "Heart rate at 94, she"),
)

AGE_BETWEEN_COMMAS = Rule(
    name="age_between_commas",
    label=Label.AGE,
    pattern=re.compile(
        rf"[a-z],[ ](?P<phi>{OVER_89}),[ ]{{0,2}}(?={STORY_WORDS}\b)", _FLAGS
    ),
    score=0.75,
    found=("This patient, «95», presents with",),
    not_found=("HR 88, 95, with", "sodium, 95, 96", "patient, 85, presents"),
)

RULES = (
    AGE_AFTER_PERSON,
    AGE_OF_KIN,
    AGE_OF_NAMED_PERSON,
    AGE_AT_START,
    AGE_BETWEEN_COMMAS,
)
