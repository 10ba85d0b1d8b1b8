"""Rules for biometric identifiers: Safe Harbor (P)."""

from __future__ import annotations

import re

from deid_core.detectors.rules.pattern import LazyPattern
from deid_core.detectors.rules.rule import Rule
from deid_core.labels import Label
from deid_core.language.fragments import UNIT

from .labelled_rule import SEPARATOR

_FLAGS = re.VERBOSE | re.IGNORECASE
_UNIT = re.compile(UNIT, _FLAGS)
_BODY = r"""
    (?:(?:finger|thumb|palm|foot|voice|face|hand)[ -]?prints?
      |(?:palm|finger)[ ]veins?|retina(?:l)?|iris|voice|face|facial|speaker|gait
      |biometrics?|dna[ ]profile|hand[ ]geometry)
"""
_RECORD = r"""
    (?:[ ](?:scan|template|id|identifier|code|hash|record|data|file|sample|reference|ref
       |recognition|profile|enrol?lment|match|print|image|signature|key|token|number|no
       |\#)\b\.?)
"""
_NOUN_ALONE = re.compile(r"(?:print|vein|biometric|geometry|dna)", re.IGNORECASE)


def is_biometric_number(match: re.Match[str]) -> bool:
    """Return whether the number identifies a biometric record and is no finding."""
    value = match["phi"]
    if sum(map(str.isdigit, value)) < 3 or _UNIT.match(match.string, match.end()):
        return False
    if re.fullmatch("(?:19|20)[0-9]{2}", value):
        return False
    # "Iris 12345" is a name and a number; "iris scan 12345" is an identifier.
    return bool(match["record"]) or _NOUN_ALONE.search(match["body"]) is not None


BIOMETRIC = Rule(
    name="biometric_labelled",
    label=Label.BIOID,
    pattern=LazyPattern(
        rf"""
        (?<![a-z])(?P<body>{_BODY})(?P<record>{_RECORD}{{0,3}}){SEPARATOR}
        (?P<phi>[A-Z0-9](?:[A-Z0-9]|[-_:.](?=[A-Z0-9])){{2,63}})(?![\w%])(?![/,][0-9])
        """,
        _FLAGS,
    ),
    score=0.97,
    is_valid=is_biometric_number,
    found=(
        "Fingerprint ID: «FP-123456», fingerprint template «FP-99812»",
        "retina scan ID «RS-1234», voiceprint «VP-1234», iris scan «88123»",
        "Biometric ID: «BIO-12345», face ID «12345», voice ID: «V-99812»",
    ),
    not_found=(
        "retinal scan in 2024, retinal scan 2024",
        "Iris 12345",
        "finger 3",
        "voice 120 Hz",
        "retina: 20/40",
        "facial nerve 7",
        "iris scan 3 mm",
    ),
)

RULES = (BIOMETRIC,)
