"""Rules for countries, which i2b2-2014 marks: "originally from Kenya".

Names are ISO 3166-1's (pycountry) and those in daily use.  The United States stay: in
notes written there, they identify nobody, and "US" is an ultrasound.
"""

from __future__ import annotations

import re

from deid_core.detectors.rules.pattern import LazyPattern
from deid_core.detectors.rules.rule import Rule
from deid_core.labels import Label
from deid_core.language.fragments import any_of, ends_with, to_ascii
from deid_core.language.lexicons.places import countries

_FLAGS = re.VERBOSE | re.IGNORECASE
# Persons, birds and states, too: a cue of living or travelling must precede.
_AMBIGUOUS = {"Jordan", "Chad", "Georgia", "Turkey", "Guinea", "Jersey", "Israel"}
_TRAVEL = re.compile(
    r"""
    (?<![a-z])(?:originally|native|born|lived?|lives|living|grew[ ]up|raised|trip|travel
      |travel(?:l)?ed|travel(?:l)?ing|flew|moved|immigrated|emigrated|visit(?:ed|ing|s)?
      |return(?:ed|ing)?|stationed|deployed|vacation(?:ed|ing)?|here|family|home|refugee)
    (?:[ ](?:recently|back|here))?[ ](?:from|in|to|of)[ ](?:the[ ])?\Z
    """,
    _FLAGS,
)


_COUNTRIES = tuple(sorted(map(to_ascii, countries())))


def _is_country(match: re.Match[str]) -> bool:
    """Return whether the name means the country: a cue precedes an ambiguous one."""
    if match["phi"].title() not in _AMBIGUOUS:
        return True
    return ends_with(_TRAVEL, match.string, match.start("phi"), within=40)


COUNTRY = Rule(
    name="country_after_cue",
    label=Label.COUNTRY,
    pattern=LazyPattern(
        rf"""
        (?<![A-Za-z])(?i:from|in|to|of|via|through|visit(?:ed|ing|s)?|leaving|left|toured)
        [ ](?:the[ ])?
        (?P<phi>(?:{any_of(_COUNTRIES)}
          |{any_of(tuple(map(str.upper, _COUNTRIES)))}))
        (?![A-Za-z'-])
        """,
        re.VERBOSE,
    ),
    # Above the rule for towns after "born in".
    score=0.85,
    is_valid=_is_country,
    found=(
        "She is originally from «Kenya», flew to «South Korea», born in «Georgia»",
        "immigrated from «Viet Nam», visited «Mexico» and lives in the «UK»",
        "RETURNED FROM «NEW ZEALAND»",
    ),
    not_found=(
        "Turkey sandwich in Georgia",
        "from kenya",
        "US of the abdomen",
        "to Jordan, her son",
        "in the United States",
    ),
)

RULES = (COUNTRY,)
