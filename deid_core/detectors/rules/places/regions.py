"""Rules for counties, parishes and the like: Safe Harbor (B)."""

from __future__ import annotations

import re

from deid_core.detectors.rules.pattern import LazyPattern
from deid_core.detectors.rules.rule import Rule
from deid_core.labels import Label
from deid_core.language.lexicons import is_vocabulary, load_list, normal

_WORD = (
    r"(?:(?:St\.?[ ])?[A-Z](?:[a-z]|['-](?=[A-Z])|(?<=Mc)[A-Z]|(?<=[a-z]')[A-Z]){2,24})"
)
_NO_NAME = r"""
    (?!(?:The|This|That|Our|Your|Her|His|Their|My|In|From|To|Of|For|At|Local|Public|Rural
      |County|State|Each|Any|Every|Both|Two|Other|Same|Social|Mental|Health|City|Open)\b)
"""
_NAME = rf"(?:{_NO_NAME}{_WORD}(?:[ -]{_NO_NAME}{_WORD}){{0,2}})"

_NO_COUNTY = load_list("no_counties")


def _is_no_nurse(match: re.Match[str]) -> bool:
    """Return whether no word of a name is an office or a part of the body."""
    return _NO_COUNTY.isdisjoint(match["phi"].lower().split())


def _is_name_of_county(match: re.Match[str]) -> bool:
    """Return whether a name in capitals is none of a company or an output."""
    *names, _ = match["phi"].lower().split()
    return _is_no_nurse(match) and not all(
        is_vocabulary(normal(each)) for each in names
    )


COUNTY = Rule(
    name="region_county",
    label=Label.LOCATION_OTHER,
    pattern=LazyPattern(
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
    pattern=LazyPattern(
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
    pattern=LazyPattern(
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

_CAPITALS = r"(?:(?:ST\.?[ ])?[A-Z][A-Z'-]{2,20}(?:[ ][A-Z][A-Z'-]{2,20}){0,2})"
_NO_CAPITALS = r"(?!(?:THE|THIS|OUR|OF|IN|FROM|TO|AT|BY|AND|FOR|HIS|HER|PER|A|AN)[ ])"

COUNTY_IN_CAPITALS = Rule(
    name="region_county_capitals",
    label=Label.LOCATION_OTHER,
    pattern=LazyPattern(
        rf"(?<![\w'-]){_NO_CAPITALS}(?P<phi>{_CAPITALS}[ ](?:COUNTY|CO\.?))(?![\w'-])"
        r"(?![ ]?(?:[0-9]|INDEX|OX))",
    ),
    score=0.75,
    must_contain=re.compile("[ ]CO(?:UNTY)?"),
    is_valid=_is_name_of_county,
    found=("BY THE «BLOUNT COUNTY» JAIL, «HARNETT CO», «ST. FRANCOIS COUNTY»",),
    not_found=("IN THE COUNTY JAIL, STEEL CO, HIGH CO, LOW CO 2.1, COUNTY NURSE",),
)

COUNTY_BY_CUE = Rule(
    name="region_by_cue",
    label=Label.LOCATION_OTHER,
    # Ireland, South Asia, Africa, the Caribbean: the kind of region comes first.
    pattern=LazyPattern(
        rf"""
        (?<![A-Za-z])
        (?:(?i:county|dist(?:t|rict)?\.?|tehsil|taluka|upazila|lga|parish|chiefdom)
             [ ]?:[ ]{{1,2}}(?=[A-Z])
          |(?:county|[Dd]istt?\.?|[Tt]eh\.?|[Tt]ehsil|[Tt]aluka?|[Uu]pazila|TA|T/A)
             [ ](?=[A-Z][a-z]))
        (?P<phi>{_NAME}|{_CAPITALS})(?![\w-])
        """,
        re.VERBOSE,
    ),
    score=0.75,
    is_valid=_is_no_nurse,
    found=(
        "vill Sukhri, dist. «Sakti», distt «Sri Muktsar», teh «Malout»",
        "county «Blount»; PARISH: «ST PHILIP», District: «Marley Vale», TA «Ndamera»",
    ),
    not_found=(
        "County Nurse, district hospital, dist. pulses, Dist radius, District Nurse",
        "PARISH NURSE, county Hospital, DIST PULSES, county Jail",
    ),
)

REGION_AFTER_NAME = Rule(
    name="region_lga_or_district",
    label=Label.LOCATION_OTHER,
    pattern=LazyPattern(
        rf"""
        (?<![\w'-])(?P<phi>{_NAME}[ ]
          (?:LGA|L\.G\.A\.?|district|District(?=,)|[Dd]ist(?:\.|(?=,))|[Cc]hiefdom|[Uu]pazila
            |[Tt]aluka?|[Tt]ehsil|[Ss]ub-?county|[Cc]ounty|[Tt]ownship))(?![\w-])
        (?![ ](?:[Hh]osp|[Nn]urs|[Hh]ealth|[Cc]ourt|[Aa]ttorney|[Mm]anager|[Gg]eneral))
        """,
        re.VERBOSE,
    ),
    score=0.8,
    must_contain=re.compile(
        "LGA|L.G.A|istrict|[Dd]ist[.,]|hiefdom|pazila|aluk|ehsil|ounty|ownship"
    ),
    found=("from «Dambatta LGA», «Sayedabad district», «Bombali Shebora chiefdom».",),
    not_found=("the district nurse, in District, Mills District Hospital",),
)

IRISH_COUNTY = Rule(
    name="region_irish_county",
    label=Label.LOCATION_OTHER,
    pattern=LazyPattern(
        rf"(?<=,[ ])(?P<phi>Co\.?[ ](?:na[ ])?{_NAME})(?![\w-])", re.VERBOSE
    ),
    score=0.85,
    found=("Ballybay, «Co. Monaghan», Inverbeg, «Co. na Gaillimhe»",),
    not_found=("seen, Co. of ten, in Co. Cork", "Smith & Co. Ltd, HR 80, CO Poisoning"),
)

RULES = (
    COUNTY,
    COUNTY_OF,
    PARISH,
    COUNTY_IN_CAPITALS,
    COUNTY_BY_CUE,
    REGION_AFTER_NAME,
    IRISH_COUNTY,
)
