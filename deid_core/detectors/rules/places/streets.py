"""Rules for addresses of other forms than number and street.

Blocks and units of Singapore, rural routes, military post, corners of streets, roads
with a number, and the flat alone on its line.
"""

from __future__ import annotations

import re

from deid_core.detectors.rules.pattern import LazyPattern
from deid_core.detectors.rules.rule import Rule
from deid_core.labels import Label

_FLAGS = re.VERBOSE | re.IGNORECASE
_NO_ADDRESS = re.compile(
    r"(?:unchanged|as[ ]|same|unknown|none|n/a|see|not|dr|md|seen|pgy|present|start"
    r"|[0-9]+[ ](?:steps|stairs|story|level|floors?|mg|pm|am|people|persons)"
    r"|[a-z]{3,14}[ ](?:[0-9.]+[ ]?(?:mg|mcg|ml|units|meq|%|x)|seen))",
    re.IGNORECASE,
)
_CAPITAL_WORD = r"(?:[A-Z](?:[A-Za-z]|['-](?=[A-Za-z])){1,24})"
_ROAD_SUFFIX = r"""
    (?:Street|St|Avenue|Ave|Road|Rd|Drive|Dr|Crescent|Cres|Close|Lane|Link|Loop|Walk|Way
      |Place|Pl|Rise|Grove|Gardens|Terrace|Ter|Central|View|Park|Green|Quay|Heights
      |Boulevard|Blvd|Circle|Hill|Mews|Court|Ct|Square|Sq|Parade|Esplanade)
"""
_STREET_NAME = rf"(?:{_CAPITAL_WORD}|[0-9]{{1,3}}(?:st|nd|rd|th))"
_NAMED_ROAD = rf"""
    (?:{_STREET_NAME}(?:[ ]{_CAPITAL_WORD}){{0,2}}(?:\.(?=[ ]?(?:and|&|,)))?)
"""
_NEAR = r"(?<![A-Za-z])(?:[Oo]n|[Oo]ff|[Aa]long|[Nn]ear|[Vv]ia|[Aa]t|[Dd]own|[Uu]p)[ ]"

BLOCK = Rule(
    name="street_block",
    label=Label.STREET,
    pattern=LazyPattern(
        rf"""
        (?<![A-Za-z])(?:Blk|BLK|Block|BLOCK)\.?[ ][0-9]{{1,4}}[A-Z]?,?
        (?:[ ]{_CAPITAL_WORD}){{0,4}}?[ ]{_ROAD_SUFFIX}(?![A-Za-z])\.?
        (?:[ ][0-9]{{1,3}}(?![0-9]))?(?:,?[ ]\#[0-9B]{{2,3}}-[0-9]{{2,4}}[A-Z]?)?
        """,
        re.VERBOSE,
    ),
    score=0.92,
    found=(
        "«Blk 123 Ang Mo Kio Ave 3 #04-567», Singapore",
        "at «Block 45 Bedok North Street 1».",
    ),
    not_found=("Block 2 cm Street", "nerve block 3 Park", "blk 12", "Block 5"),
)

UNIT_NUMBER = Rule(
    name="street_unit_number",
    label=Label.STREET,
    pattern=LazyPattern(
        r"(?<![\w#])(?<!on[ ])(?<!teeth[ ])(?<!tooth[ ])"
        r"#[0-9B](?![0-9]?/)[0-9]{1,2}-[0-9]{2,4}[A-Z]?(?![\w/-])"
    ),
    score=0.8,
    found=("Toa Payoh «#04-567», «#12-34A»",),
    not_found=("mobility on #24-25", "#4-0 silk", "#2-0", "##04-567", "#04-5"),
)

STREET_BY_PREFIX = Rule(
    name="street_by_prefix",
    label=Label.STREET,
    # Malay, Spanish, French and Portuguese put the word for street first.
    pattern=LazyPattern(
        rf"""
        (?<![\w.])(?:(?:No\.?[ ]?)?[0-9]{{1,4}}[A-Z]?,?[ ])?
        (?:Jalan|Jln|Jl|Lorong|Lor|Lrg|Taman|Tmn|Kampung|Calle|Avda|Avenida|Rue|Rua
          |Triq|Sqaq|Vjal)\.?
        [ ](?:(?:de|la|las|los|el|du|des|da|do)[ ]|i?[ltdnrsxz]-(?=[A-Z])){{0,2}}
        (?:{_CAPITAL_WORD}(?:[ ]{_CAPITAL_WORD}){{0,2}}|[0-9]{{1,3}}(?![0-9]))
        (?:,?[ ](?:No\.?[ ])?[0-9]{{1,4}}[A-Z]?(?![\w.]))?
        """,
        re.VERBOSE,
    ),
    score=0.85,
    found=(
        "lives at «12 Jalan Besar», «Lorong 4» and «Calle de Alcala 12»",
        "«8 Rue de la Paix»; «No 7 Lrg Kenari 3», «Tmn Desa Aman», «Triq il-Kbira»",
    ),
    not_found=(
        "Foley 14 Kg Weight",
        "rue the day",
        "Calle",
        "jalan besar",
        "will rue 12",
    ),
)

RURAL_BOX = Rule(
    name="street_rural_box",
    label=Label.STREET,
    # USPS Publication 28, sections 24, 25 and 38: rural and highway routes, military.
    pattern=LazyPattern(
        r"""
        (?<![A-Za-z])
        (?:(?:R\.?R\.?|Rural[ ]Route|Rt|Route|HC|Highway[ ]Contract|Star[ ]Route
            |PSC|CMR|Unit|UNIT)
          [ ]\#?[0-9]{1,5}(?:,?[ ](?:Box|BOX)|,[ ]box)[ ]\#?[0-9]{1,5}[A-Z]?
         |(?i:star|rural)[ ](?i:route)[ ]\#?[0-9]{1,3}
         |(?:Box|BOX)[ ][0-9]{1,5}(?=,[ ][A-Z][A-Za-z]{2}))
        (?![A-Za-z0-9])
        """,
        re.VERBOSE,
    ),
    score=0.95,
    found=(
        "«RR 2 Box 45», «Rural Route 2, Box 45», «RR 1, box 40», «HC 66 Box 12A»",
        "«PSC 3294, Box 9168», «Star Route 1», Arnett; «Box 118», Moose Siding",
    ),
    not_found=("RR 16 box", "unit 2 box", "Box 45", "RR 2 in a Box 45"),
)

MILITARY_POST = Rule(
    name="zip_military",
    label=Label.ZIP,
    pattern=LazyPattern(
        r"(?<![A-Za-z])[AFD]PO,?[ ](?:A[AEP])[ ][0-9]{5}(?:-[0-9]{4})?(?![0-9-])"
    ),
    score=0.95,
    found=("mail to «APO AE 09345», «FPO AP 96349-1234»",),
    not_found=("NPO AE 09345", "APO A-I 12345", "APO AE 0934"),
)

CORNER = Rule(
    name="street_corner",
    label=Label.STREET,
    pattern=LazyPattern(
        rf"""
        (?<![a-z])(?i:corner|intersection)[ ]of[ ]
        (?P<phi>{_NAMED_ROAD}[ ](?:and|&|at)[ ]{_NAMED_ROAD})
        """,
        re.VERBOSE,
    ),
    score=0.85,
    found=(
        "the corner of «5th and Main».",
        "the intersection of «Oak St and Elm Ave»",
    ),
    not_found=(
        "corner of the mouth",
        "intersection of the SVC and RA",
        "corner of Oak",
    ),
)

NUMBERED_ROAD = Rule(
    name="street_numbered_road",
    label=Label.LOCATION_OTHER,
    # Three digits after "I-" are iodine.
    pattern=LazyPattern(
        rf"""
        {_NEAR}(?:the[ ])?
        (?P<phi>(?:Highway|Hwy|Interstate|Route|Rte|State[ ]Road|County[ ]Road|Freeway)
            [ ][0-9]{{1,4}}[A-Z]?
          |I-[1-9][0-9]?|US[- ](?:Highway[ ])?[0-9]{{1,3}})
        (?![\w%-])(?![.,][0-9])
        """,
        re.VERBOSE,
    ),
    score=0.8,
    found=("crash on «Highway 101», off «I-95», near «Route 66»",),
    not_found=(
        "on I-131",
        "Route 2",
        "the oral route 3",
        "on US 12.5 cm",
        "at highway 2",
    ),
)

FLAT = Rule(
    name="street_flat",
    label=Label.STREET,
    pattern=LazyPattern(
        r"""
        (?<![A-Za-z])(?:[Aa]partment|APARTMENT|[Aa]pt|APT|Suite|SUITE|Ste|STE
          |Flat(?=[ ][0-9]{1,4}[A-Z]?,))
        \.?[ ](?:[Nn]o\.?[ ])?\#?[ ]?
        (?:[0-9]{1,5}[A-Z]|(?<!apt[ ])[0-9]{1,5}
          |[A-Z]-?[0-9]{1,4})(?![\w%])(?![.,/:-][0-9])
        """,
        re.VERBOSE,
    ),
    score=0.8,
    found=(
        "«Suite 400», «Apt. 4B», «Apt #12», «Flat 3», 10 High Road",
        "old place, «apt 3B», second floor",
    ),
    not_found=(
        "next apt 3 pm, apt 3/12",
        "suite 12",
        "Flat 3 mm",
        "Apt to 3",
        "Suite A",
    ),
)

# "Flat 7, Gulmohar CHS, behind Maruti Mandir", "KM 4, Ede Road, opp. Filling Station".
_LANDMARK = r"(?i:opp(?:osite)?\.?|behind|beside|nr\.?|near|off|next[ ]to|after|past)"
_PART = rf"""
    (?:(?:,?[ ]{_LANDMARK}(?:[ ]the)?|,?)
       (?:[ ](?:{_CAPITAL_WORD}(?:'s)?|[A-Z]{{1,3}}|[0-9]{{1,4}}[A-Z]?)){{1,4}}
       (?:(?:[ ][a-z]{{3,8}})?[ ](?:shop|store|school|church|mosque|temple|gate))?)
"""

PLOT = Rule(
    name="street_plot",
    label=Label.STREET,
    pattern=LazyPattern(
        rf"""
        (?<![A-Za-z])
        (?:(?:Flat|Stand|Plot|Erf|Villa|Hse|House|Door|KM|Km|Lot|LOT)\.?
             [ ](?:[Nn]o\.?[ ]?)?(?:[A-Z]-?)?[0-9]{{1,5}}(?:/[0-9]{{1,4}})?[A-Z]?
             (?=,?[ ](?:[A-Z]|opp|behind|near|nr))(?:{_PART}){{1,3}}
          |(?:House|Hse|Plot|Stand|Erf)[ ](?:[Nn]o\.?[ ]?)?[0-9]{{2,5}}[A-Z]?
          |Bl(?:oc)?k[ ][A-Z]-?[0-9]{{1,3}},[ ](?:no\.?|house|flat)[ ][0-9]{{1,4}})
        (?![\w%])(?![.,/:][0-9])
        """,
        re.VERBOSE,
    ),
    score=0.8,
    found=(
        "«Flat 7, Gulmohar CHS, behind Maruti Mandir, Sangli»\n",
        "Add: «Stand 1174 Ext 3, opp. Zama's tuck shop», or «House 214», -38 out",
        "«Flat 1904, Block C, Hing Lok Court»; «Block H-12, no. 88»",
        "«KM 4, Ede Road, opp. Filling Station»; «Plot 12B»",
    ),
    not_found=(
        "Flat 3 mm, stand 5 min, lot 12, sit to stand 12, Km 4 run",
        "House 3, house 214, Block A1, nerve Block 5",
    ),
)

NAME_BEFORE_STREET = Rule(
    name="street_after_name",
    label=Label.STREET,
    # India, Germany: the word for street follows the name, also joined to it.
    pattern=LazyPattern(
        rf"""
        (?<![A-Za-z])(?:[0-9]{{1,4}}[A-Z]?(?:/[0-9]{{1,4}})?,?[ ])?
        (?:(?:{_CAPITAL_WORD}[ ]){{1,3}}
             (?:Marg|Nagar|Chowk|Vihar|Enclave|Mohalla|CHS|Gali|Peth|Estate)
          |[A-Z][a-z]{{2,20}}(?:strasse|str\.|stra.e|gasse|allee|ring)
             [ ][0-9]{{1,4}}[a-z]?)
        (?![A-Za-z0-9])
        """,
        re.VERBOSE,
    ),
    score=0.8,
    found=(
        "«14, Mahatma Gandhi Marg», «Laxmi Nagar», «Lindenstrasse 12a», «Hauptstr. 4»",
    ),
    not_found=("Nagar", "in the Marg", "Spring 12", "Lindenstrasse"),
)

ADDRESS_FIELD = Rule(
    name="street_labelled",
    label=Label.STREET,
    # What an address's field says up to its end, if there is a number or a landmark.
    pattern=LazyPattern(
        rf"""
        (?<![a-z0-9])(?:(?:home|residential|postal|mailing|street|permanent|local)[ ])?
        (?:address?|addres|addr|add|residence|resident|accommodation|house|pata)
        [ ]?:[ ]{{0,6}}
        (?P<phi>(?=[^\n;|]{{0,60}}(?:[0-9]|\b{_LANDMARK}[ ]))
          [a-z0-9](?:[^\n;|@ ]|[ ](?![ ])){{4,110}}?)
        (?=[ ]?(?:[;|\n]|\Z|[ ]{{2}}|[.][ ][A-Z]|\.?\n
          |,?[ ](?:ph(?:one)?|tel|cell|mob)\b))
        """,
        _FLAGS,
    ),
    score=0.8,
    is_valid=lambda match: not _NO_ADDRESS.match(match["phi"]),
    found=(
        "Address: «Flat 7, Gulmohar CHS, behind Maruti Mandir, Sangli»\nDOA",
        "Addres : «Mohalla Qazian nr Shahi Masjid , Charsadda»\n",
        "Resident: «Hintere Gass 4, 79238 Ely»\nHome address: «5 The Row»; tel",
        "ACCOMMODATION: «LABOUR CAMP 9, RM 214»\nHEIGHT 166",
    ),
    not_found=(
        "Address: unchanged\nAddress: as above 12\n",
        "Resident: seen 12 patients",
        "add: lasix 40 mg, House: 3 steps to enter\n",
    ),
)

RULES = (
    PLOT,
    NAME_BEFORE_STREET,
    ADDRESS_FIELD,
    BLOCK,
    UNIT_NUMBER,
    STREET_BY_PREFIX,
    RURAL_BOX,
    MILITARY_POST,
    CORNER,
    NUMBERED_ROAD,
    FLAT,
)
