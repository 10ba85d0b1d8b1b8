"""Rules for counties, parishes and the like: Safe Harbor (B)."""

from __future__ import annotations

import re

from deid_core.labels import Label

from ..rule import Rule

_WORD = (
    r"(?:(?:St\.?[ ])?[A-Z](?:[a-z]|['-](?=[A-Z])|(?<=Mc)[A-Z]|(?<=[a-z]')[A-Z]){2,24})"
)
_NO_NAME = r"""
    (?!(?:The|This|That|Our|Your|Her|His|Their|My|In|From|To|Of|For|At|Local|Public|Rural
      |County|State|Each|Any|Every|Both|Two|Other|Same|Social|Mental|Health|City|Open)\b)
"""
_NAME = rf"(?:{_NO_NAME}{_WORD}(?:[ -]{_NO_NAME}{_WORD}){{0,2}})"

COUNTY = Rule(
    name="region_county",
    label=Label.LOCATION_OTHER,
    pattern=re.compile(
        rf"(?<![\w'-]){_NAME}[ ](?:County|Co\.(?=,)|Borough|Township|Twp)(?![\w-])",
        re.VERBOSE,
    ),
    score=0.85,
    must_contain=re.compile("[ ](?:County|Co[.],|Borough|Township|Twp)"),
    found=("in «Cook County», «Los Angeles County» and «McLean Township»",),
    not_found=("the County jail", "In County custody", "Our County", "county fair"),
)

COUNTY_OF = Rule(
    name="region_county_of",
    label=Label.LOCATION_OTHER,
    pattern=re.compile(
        rf"""
        (?<![A-Za-z])(?:[Cc]ounty|[Bb]orough|[Tt]ownship|[Pp]arish|[Dd]istrict|[Pp]rovince
          |[Vv]illage)[ ]of[ ](?P<phi>{_NAME})(?![\w-])
        """,
        re.VERBOSE,
    ),
    score=0.8,
    found=("the County of «Kent», borough of «Camden», village of «Fox Hollow»",),
    not_found=("parish of the saints", "District of care"),
)

PARISH = Rule(
    name="region_parish",
    label=Label.LOCATION_OTHER,
    pattern=re.compile(
        rf"""
        (?<![A-Za-z])(?:[Ii]n|[Oo]f|[Ff]rom|[Nn]ear)[ ]
        (?P<phi>{_NAME}[ ](?:Parish|Village|Province|Prefecture|Shire))(?![\w-])
        """,
        re.VERBOSE,
    ),
    score=0.8,
    found=("lives in «Orleans Parish», from «Hunan Province»",),
    not_found=("her Parish", "in the Village", "from a village"),
)

RULES = (COUNTY, COUNTY_OF, PARISH)
