"""Rules for places by coordinates: degrees, grids, three words, plus codes.

They point to a building or a bed of flowers.  Results of laboratories have fewer
decimals, and no pair of them is north and west.
"""

from __future__ import annotations

import re

from deid_core.detectors.rules.pattern import LazyPattern
from deid_core.detectors.rules.rule import Rule
from deid_core.labels import Label

_DEGREES = r"-?[0-9]{1,3}\.[0-9]{4,10}"
_MOST_NORTH, _MOST_EAST = 90, 180
_MARK = "[\u00b0\u00ba]"


def _is_on_earth(match: re.Match[str]) -> bool:
    """Return whether two numbers are a latitude and a longitude."""
    north, east = float(match["north"]), float(match["east"])
    return abs(north) <= _MOST_NORTH and abs(east) <= _MOST_EAST


DECIMAL = Rule(
    name="coordinates_decimal",
    label=Label.LOCATION_OTHER,
    pattern=LazyPattern(
        rf"""
        (?<![\w.,/-])(?P<phi>(?P<north>{_DEGREES}){_MARK}?[ ]?[NS]?(?:,[ ]?|[ ;/][ ]?)
          (?P<east>{_DEGREES}){_MARK}?(?:[ ]?[EW](?![A-Za-z]))?)(?![0-9])(?!\.[0-9])
        """,
        re.VERBOSE,
    ),
    score=0.9,
    is_valid=_is_on_earth,
    found=(
        "found at «33.7490, -84.3880» by EMS",
        "GPS: «51.5074,-0.1278»; pick-up «40.446195 N, 79.982195 W».",
    ),
    not_found=(
        "pH 7.32, -2.1; 1.23, 4.56",
        "33.74901 mg, 84",
        "120.7490, 84.3880",
        "1.2345, 2.3456.7",
    ),
)

LABELLED = Rule(
    name="coordinates_labelled",
    label=Label.LOCATION_OTHER,
    pattern=LazyPattern(
        r"""
        (?<![a-z])(?:lat(?:itude)?|lon(?:g(?:itude)?)?|gps|coordinates?)
        [ ]?[:=]?[ ]{0,2}(?P<phi>-?[0-9]{1,3}\.[0-9]{2,10})(?![0-9])(?!\.[0-9])
        (?![ ]?(?:cm|mm|m|kg|mg|%)(?![a-z]))
        """,
        re.VERBOSE | re.IGNORECASE,
    ),
    score=0.8,
    found=("Lat «34.0522» Long «-118.2437», longitude: «84.39»",),
    not_found=("lat 12", "lat 3.25 cm, plat 1.25, long 2.51 mm, GPS 1.2"),
)

DEGREES_AND_MINUTES = Rule(
    name="coordinates_in_degrees",
    label=Label.LOCATION_OTHER,
    pattern=LazyPattern(
        rf"""
        (?<![\w.])[0-9]{{1,3}}[ ]?{_MARK}[ ]?[0-9]{{1,2}}(?:\.[0-9]{{1,6}})?[ ]?'
        (?:[ ]?[0-9]{{1,2}}(?:\.[0-9]{{1,6}})?[ ]?(?:"|''|\u2033|\u201d))?[ ]?[NSEW]
        (?![A-Za-z])
        """,
        re.VERBOSE,
    ),
    score=0.9,
    found=(
        "at «40\u00b026'46\"N» «79\u00b058'56\"W» by hikers",
        "zone «33\u00b0 44.94' N», «84\u00b0 23.28' W».",
    ),
    not_found=("flexion 40\u00b0, 5' W", "40\u00b0 26 N", "angle 12\u00b0 30' left"),
)

THREE_WORDS = Rule(
    name="coordinates_three_words",
    label=Label.LOCATION_OTHER,
    pattern=LazyPattern(
        r"""
        (?:(?<![/:\w])(?=///)|what3words(?:[ ]address)?[ ]?:?[ ]{0,2}(?!/))
        (?P<phi>(?:///)?[a-z]{2,20}\.[a-z]{2,20}\.[a-z]{2,20})(?![\w./-])
        """,
        re.VERBOSE | re.IGNORECASE,
    ),
    score=0.9,
    found=(
        "what3words «///filled.count.soap» given",
        "at «///index.home.raft», what3words: «daring.lion.race»",
    ),
    not_found=("www.index.home", "file:///a.b.c", "///index.home"),
)

# The digits of open location codes.
_CODE = "[23456789CFGHJMPQRVWX]"
PLUS_CODE = Rule(
    name="coordinates_plus_code",
    label=Label.LOCATION_OTHER,
    pattern=LazyPattern(
        rf"(?<![\w+]){_CODE}{{8}}\+{_CODE}{{2,4}}(?![\w+])"
        rf"|(?<![\w+])(?=[0-9A-Z]{{0,3}}[0-9])(?=[0-9]{{0,3}}[A-Z]){_CODE}{{4}}"
        rf"\+{_CODE}{{2,3}}(?=,?[ ][A-Z])"
    ),
    score=0.85,
    found=("code «865QPJX6+9C» near, «PJX6+9C» Atlanta",),
    not_found=("CD4+CD8", "3456+12", "K+ 4.1, 2+ edema", "HCG 2345 +22"),
)

RULES = (DECIMAL, LABELLED, DEGREES_AND_MINUTES, THREE_WORDS, PLUS_CODE)
