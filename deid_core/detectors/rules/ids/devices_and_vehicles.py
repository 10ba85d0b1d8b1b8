"""Rules for numbers of devices and vehicles: Safe Harbor (L) and (M)."""

from __future__ import annotations

import re

from deid_core.detectors.rules.pattern import LazyPattern
from deid_core.detectors.rules.rule import Rule
from deid_core.labels import Label
from deid_core.language.fragments import any_of, words
from deid_core.language.lexicons import load_list, normal
from deid_core.language.lexicons.word_classes import WordClass, word_classes

from .labelled_rule import SEPARATOR, has_digits, labelled_rule

_FLAGS = re.VERBOSE | re.IGNORECASE
_PLATE = r"""
    (?:[A-Z]{1,3}[- ]?[0-9]{3,4}[A-Z]?|[A-Z]{2}[0-9]{2}[ ]?[A-Z]{3}
      |[0-9][A-Z]{2,3}[- ]?[0-9]{2,3}|[A-Z][0-9]{2}[- ]?[A-Z]{3}|[0-9]{3}[- ]?[A-Z]{3}
      |[A-Z]{2}[ ][A-Z][ ][0-9]{3}[A-Z]|N[0-9]{2,4}[A-Z]{1,2}
      |[A-Z]{2}[ -]?[0-9]{1,2}[ -]?[A-Z]{1,2}[ -]?[0-9]{4})
"""


_VEHICLES = any_of(load_list("vehicles"))
# Readings are written as plates are: "RR 120".
_PLATE_IN_CAPITALS = rf"""
    (?-i:(?!(?:BP|SBP|DBP|HR|RR|GCS|BG|FSBG|BS|BGL|RBS|FBS|T|P|R|HGB|HB|WBC|PLT|EF|ETA
              |ETD|BMI|ESI|CTAS|ISS|GFR|O2|RA|NS|LR|MVA|MVC|MVI|RTA|ICD|CPT|ER|ED|OR|ICU
              |PT|AGE|DOB|DOS|EXT|PH|FAX|TEL|PGR|BED|RM|LOT|PAGE|AT|TO|IN|ON|OF|AND|FOR
              |BY|X|Q|JAN|FEB|MAR|APR|MAY|JUN|JUL|AUG|SEP|OCT|NOV|DEC|MON|TUE|WED|THU|FRI
              |SAT|SUN)[ ][0-9])
       (?:{_PLATE}|[A-Z]{{3}}[ -][0-9]{{2}}[A-Z]|[0-9]{{3}}[ -][A-Z]{{3}}
         |[A-Z]{{3}}[ -]?[0-9]{{3}}[A-Z]{{1,2}}|[0-9]{{2}}-[A-Z]{{1,2}}-[0-9]{{2,6}}))
"""


_PREFIXES = frozenset(("MFV",))


def _has_digit(match: re.Match[str]) -> bool:
    return any(map(str.isdigit, match["phi"]))


DEVICE = labelled_rule(
    "device_labelled",
    Label.DEVICE,
    bare=("serial", "serials", "s/n", "udi", "imei"),
    marked=("sn", "device", "device serial"),
    digits=3,
    score=0.92,
    found=(
        "serial number «PMK-77120A», S/N: «990-1123», device id «DX4410023»",
        "Device serial # «00712», Meter SN «90KX1183», serial «XN7 0048 2291»",
        "(s/n «PZQ 618840R»), pump serial «MM-770 4418B», SN «VFRS2-03381»",
    ),
    not_found=(
        "serial exams 3",
        "serial troponins 0.01",
        "the device 3 times",
        "studies 1234",
    ),
)

LOT_AND_MODEL = labelled_rule(
    "device_lot",
    Label.DEVICE,
    # A model's or catalogue's number is that of every piece: it identifies nobody.
    marked=(
        *words("lot batch implant generator lead pacemaker device monitor pump unit"),
        *words("stimulator neurostimulator prosthesis"),
        *words("defibrillator aicd ventilator cpap glucometer oximeter wheelchair"),
        *words("transmitter concentrator modem machine asset loaner mesh"),
        "hearing aid",
        "insulin pump",
        "infusion pump",
    ),
    digits=3,
    score=0.85,
    found=(
        "lot # «AB1234», Lot number: «1234A», batch no. «77120».",
        "implant id «DX-4410», generator #«PJN123456»",
        "Hearing aid no. «C86-5351», insulin pump #«88121», RV lead «BJH 110437»",
        "concentrator «0418-77Q», asset «RM-KKTM-014», batch «0558-2214a»",
    ),
    not_found=(
        "lot of 100",
        "a lot 1234",
        "unit: 300 mL",
        "lead no 2",
        "model no. 5086",
    ),
)

LOT_BARE = Rule(
    name="device_lot_bare",
    label=Label.DEVICE,
    pattern=LazyPattern(
        r"""
        (?<!\ba[ ])\b(?:lot|batch|lots|batches)[ ]
        (?P<phi>(?=[A-Z-]{0,6}[0-9])[A-Z0-9-]{4,20}
          (?:(?:,[ ]|[ ]?[/&+][ ]?|[ ]and[ ])(?=[A-Z]{1,3}[0-9]{3})[A-Z0-9-]{4,20}
             (?![\w%])){0,4})
        (?![\w%])(?![.,/][0-9])
        """,
        _FLAGS,
    ),
    score=0.8,
    is_valid=lambda match: has_digits(match, 3),
    found=(
        "vaccine lot «AB1234», lot «12345», LOT «H9K114», lot «B71K3».",
        "#4 lots «V0044B, W118A, AX207». No fever",
    ),
    not_found=("a lot 1234", "lot of 1000", "lot 12", "lot 2-3"),
)

MAC_ADDRESS = Rule(
    name="mac_address",
    label=Label.DEVICE,
    pattern=LazyPattern(
        r"[0-9A-Fa-f](?<![\w:].)[0-9A-Fa-f](?::[0-9A-Fa-f]{2}){5}(?![\w:])"
    ),
    score=0.9,
    found=("monitor «00:1A:2B:3C:4D:5E» on", "«AA:BB:CC:DD:EE:FF»"),
    not_found=("at 12:30:45", "00:1A:2B:3C:4D"),
)


def _is_named(match: re.Match[str]) -> bool:
    """Return whether a ship's name has a word that is none of English."""
    named = re.findall("[A-Za-z'-]{3,}", match["phi"])
    classes = [word_classes(normal(each)) for each in named if each not in _PREFIXES]
    return any(
        each & WordClass.UNKNOWN or not each & WordClass.WORD for each in classes
    )


VIN = Rule(
    name="vin_labelled",
    label=Label.VEHICLE,
    pattern=LazyPattern(
        rf"""
        (?<![a-z])(?:vin|vehicle[ ]id(?:entification)?)(?:[ ]plate)?(?:[ ]reads)?
        (?![a-z]){SEPARATOR}
        (?P<phi>[A-HJ-NPR-Z0-9]{{11,17}}(?![A-Z0-9]))
        """,
        _FLAGS,
    ),
    score=0.95,
    is_valid=_has_digit,
    found=(
        "VIN: «1HGCM82633A004352»",
        "vehicle identification number «1HGCM82633A004352»",
        "VIN PLATE READS «5KLVT07A9R4116602»",
    ),
    not_found=("having 12345678901", "VIN unknown", "vincristine 12345678901"),
)

PLATE = Rule(
    name="plate_labelled",
    label=Label.VEHICLE,
    pattern=LazyPattern(
        rf"""
        (?<![a-z])
        (?:(?:licen[cs]e|number|registration)[ ]plates?
          |(?:plate|tag)(?=[ ]?(?:no\b|num|\#))
          |(?:plates?|(?:car|truck|van|vehicle)[ ]tag|rego|tail|vehicle|index
             |car[ ]reg|van)(?=,?[ ](?-i:{_PLATE})(?!\w)),?
          |plates?(?:[ ][a-z]{{2,8}}){{1,6}}[ ](?=(?-i:{_PLATE})(?!\w)))
        {SEPARATOR}
        (?P<phi>(?-i:{_PLATE})(?!\w)|[A-Z0-9]{{1,4}}[- ]?[A-Z0-9]{{2,5}}(?![A-Z0-9]))
        """,
        _FLAGS,
    ),
    score=0.9,
    is_valid=_has_digit,
    found=(
        "license plate «ABC-1234», plate #«7XKR221», licence plate no. «AB12 CDE»",
        "car with plates «ABC 1234», vehicle tag «ABC1234»",
        "The plate of the other car was «ABC 1234», its plates «7XKR221»",
        "truck tag «A12 BCD», plate «1AB 234», plate «421-TZK», plate «HV 2207».",
        "white van, index «WX19 KZP», Vehicle «GK A 417Z», (TAIL «N736LH»)",
    ),
    not_found=("plate and screws", "plate 3.5 mm", "stage no 12", "license plate lost"),
)

PLATE_OF_VEHICLE = Rule(
    name="plate_after_vehicle",
    label=Label.VEHICLE,
    pattern=LazyPattern(
        rf"""
        (?<![\w-]){_VEHICLES}(?![\w-])
        (?:[ ](?:no|number|nr|lic|licen[cs]e|plates?|tag|reg|is|was|with|from|in))?
        [ ]?[.:,(\#"]?[ ]?(?:(?-i:[A-Z][A-Za-z]{{2,12}}|[A-Z]{{2}})[ ](?=[A-Z0-9]))?
        (?P<phi>{_PLATE_IN_CAPITALS})(?![\w%-])(?![ ]?[/.:][0-9])
        """,
        _FLAGS,
    ),
    score=0.85,
    is_valid=_has_digit,
    found=(
        "family car «CN12 ZRE» seen, drives a minicab «LR71 KQP» - can",
        "in the Tiida «PCE 4471», the Ram, «CCR 48A», a blue Cutlass, tag «478 RDV»",
        "Ohio plate «FKW 2281», truck (plate «PN-0447»), aircraft «N72SH»",
        "BODA «UEP 447T» hit",
        "van «19-DL-2207», car («JT-7712»), Flight «N72SH» eta",
    ),
    not_found=(
        "car BP 120/80, truck HR 112, bus RR 24, van 12, ambulance GCS 14",
        "tag on the arm, car seat 3, plate 3.5 mm, reg insulin 10, auto 500",
        "truck ETA 1430, BMI 31, index LAD 70%, ambulance at 1402, ram 4GB",
    ),
)

_SHIP = r"(?:[A-Z][A-Za-z'-]{2,20}(?:[ ][A-Z][A-Za-z'-]{0,20}){0,2})"

SHIP = Rule(
    name="vehicle_ship",
    label=Label.VEHICLE,
    pattern=LazyPattern(
        rf"""
        (?<![A-Za-z])
        (?:(?i:boat|vessel|trawler|ferry|yacht|aboard|shrimper|dinghy|sloop)
             (?:[ ]the|:|,)?[ ]"?
          |(?=(?:MV|M/V|MFV|F/V|S/Y)[ ]))
        (?P<phi>(?:(?:MV|M/V|MFV|F/V|S/Y|MT)[ ])?{_SHIP}
          (?:,?[ ][A-Z]{{1,2}}[ ][0-9]{{2,4}})?)
        (?![\w-])
        """,
        re.VERBOSE,
    ),
    score=0.75,
    triggers=words(
        """
        boat vessel trawler ferry yacht aboard shrimper dinghy sloop mv m/v mfv f/v s/y
        """
    ),
    lookbehind=0,
    window=96,
    is_valid=_is_named,
    found=(
        "fell from the hold of the «MV Forum Pasefika».",
        'boat "«Miss Paulette»" out; Vessel: «MFV Naomh Gobnait, D 417», 62 nm',
        "lives aboard the «Mary Okafor», sick",
    ),
    not_found=(
        "MV Repair, MV Annulus, boat: The, boat Trip, aboard the Ferry",
        "the boat sank, told Steven Kowalczyk",
    ),
)

CALL_SIGN = Rule(
    name="vehicle_call_sign",
    label=Label.VEHICLE,
    pattern=LazyPattern(
        r"""
        (?<![\w/-])
        (?P<phi>(?:Medic|MEDIC|Engine|ENGINE|Squad|SQUAD|Helimed|HELIMED
            |Air[Ll]ift|AIRLIFT|Life[Ff]light|LIFEFLIGHT|Air[ ]Evac|AIR[ ]EVAC
            |Med[Ff]light|MEDFLIGHT|Life[ ]?[Ss]tar|Mercy[ ]Flight|Ambulance|AMBULANCE)
          [ ]\#?[0-9]{1,4})
        (?![\w%-])(?![.,/:][0-9])(?![ ](?:mg|x|hours|min|days|weeks|with)\b)
        """,
        re.VERBOSE,
    ),
    score=0.75,
    found=("EMS «Engine 2» + WLFD, by «Medic 14», «Helimed 91»",),
    not_found=("Medic at 14, engine 2, Squad 4/5, ambulance 20 min",),
)

MAC_IN_OTHER_FORM = Rule(
    name="mac_address_dashes",
    label=Label.DEVICE,
    # IEEE 802: pairs with dashes; Cisco: fours with dots.
    pattern=LazyPattern(
        r"""
        (?<![a-z])mac(?:[ ]?(?:address|addr|id)\b)?[ ]?[:=\#]?[ ]{0,2}
        (?P<phi>[0-9A-F]{2}(?:-[0-9A-F]{2}){5}|[0-9A-F]{4}\.[0-9A-F]{4}\.[0-9A-F]{4}
          |[0-9A-F]{12})
        (?![\w-])(?!\.\w)
        """,
        _FLAGS,
    ),
    score=0.9,
    found=("MAC «00-1A-2B-3C-4D-5E», mac address: «001A.2B3C.4D5E».",),
    not_found=("10-12-14-16-18-20", "MAC 0-1A-2B-3C-4D-5E", "mac 12", "Mac 1.2.3"),
)

RULES = (
    DEVICE,
    LOT_AND_MODEL,
    LOT_BARE,
    MAC_ADDRESS,
    MAC_IN_OTHER_FORM,
    VIN,
    PLATE,
    PLATE_OF_VEHICLE,
    SHIP,
    CALL_SIGN,
)
