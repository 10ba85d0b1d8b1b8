"""Rules for addresses: streets, post boxes, ZIP codes, cities and states.

Cities and states need a ZIP code, a label or a cue ("lives in"); the lexicons find the
others, and hospitals.
"""

from __future__ import annotations

import re

from deid_core.detectors.rules.pattern import LazyPattern
from deid_core.detectors.rules.rule import Rule
from deid_core.labels import Label
from deid_core.language.fragments import STATE, ZIP, ends_with

_FLAGS = re.VERBOSE | re.IGNORECASE
_BEFORE_ZIP = re.compile(
    rf"(?<![A-Za-z])(?!(?<!,[ ])ID\b){STATE}(?:[.]|,)?[ \t]{{1,3}}\Z", re.VERBOSE
)
# Those that are no short word in capitals: IN, OR, ME, HI, OK, and ID.
_CODE_OF_STATE = (
    "(?:A[KLRZ]|C[AOT]|D[CE]|FL|GA|IA|IL|K[SY]|LA|M[ADINOST]|N[CDEHJMVY]|OH|PA|RI|S[CD]"
    "|T[NX]|UT|V[AT]|W[AIVY])"
)
_ZIP_AHEAD = rf"[.,]?[ \t]{{1,3}}{ZIP}"
_BLANK_AND_ZIP = re.compile(rf"[ \t]{ZIP}")
_CAPITAL_WORD = r"""
    (?:(?:[A-Z]|(?:Ft|St|Mt|Pt)\.[ ]?[A-Z])
       (?:[A-Za-z]|['-](?=[A-Za-z])){1,24})
"""
_SUFFIX = r"""
    (?:Street|Avenue|Road|Boulevard|Lane|Drive|Court|Circle|Place|Terrace|Parkway|Highway
      |Square|Trail|Alley|Plaza|Turnpike|Crescent|Expressway|Way|Row|Loop|Pike|Broadway
      |Close|Gardens|Grove|Mews|Esplanade|Ridge|Hollow|Crossing|Quay|Rise|Track|Parade
      |STREET|AVENUE|ROAD|BOULEVARD|LANE|DRIVE|COURT|CIRCLE|PLACE|TERRACE|PARKWAY|HIGHWAY
      |SQUARE|TRAIL|PLAZA
      |street|avenue|road|boulevard|lane|drive|court|parkway|highway
      |(?:Ave|AVE|Rd|RD|Blvd|BLVD|Ln|LN|Ct|Cir|Pl|Ter|Pkwy|PKWY|Hwy|HWY|Sq|Tpke|Cres|Crt|Pde|Tce)
       (?![A-Za-z])\.?
      |(?:St|ST)(?![A-Za-z])\.?+
       (?![ ](?:John|Joseph|Jude|Mary|Luke|Paul|Louis|Francis|Vincent|Anthony))
      |(?:Dr|DR)(?![A-Za-z])\.?+(?![ ][A-Z]))
    (?![A-Za-z])
"""
_UNIT_NUMBER = r"""
    (?:,?[ ]{1,2}(?:(?:[Aa]pt|[Aa]partment|APT|[Uu]nit|UNIT|[Ss]uite|[Ss]te|STE|[Ff]loor
      |[Rr]oom|[Bb]ldg|[Ll]ot|[Ff]lat)\.?[ ]{0,2}\#?[ ]?|\#[ ]?)[A-Za-z0-9-]{1,6}
    (?![A-Za-z0-9])|[ ][0-9]{1,3}[A-Z](?![A-Za-z0-9]))?
"""
_STREET_WORD = rf"""
    (?:{_CAPITAL_WORD}|[0-9]{{1,3}}(?:st|nd|rd|th)|[NSEW]\.?|[NS][EW]|of|de|la|del|the)
"""
# "City:" begins a field: no other word of a sentence precedes it.
_LABEL_BEFORE = r"(?:(?<![^\n])|(?<=[.;|(>*-])|(?<=[.;|,(>*-][ ])|(?<=[ ][ ])|(?<=\t))"
_HOME_CUES = (
    *("lives in", "living in", "lived in", "resides in", "residing in", "resident of"),
    *("born in", "grew up in", "raised in", "moved to", "moved from"),
    *("moved here from", "native of", "originally from", "visiting from", "travel to"),
    *("traveled to", "travelled to", "traveling to", "trip to", "flew to"),
    *("hometown of", "house in", "home in"),
)


def _follows_a_state(match: re.Match[str]) -> bool:
    return ends_with(_BEFORE_ZIP, match.string, match.start())


ZIP_AFTER_STATE = Rule(
    name="zip_after_state",
    label=Label.ZIP,
    pattern=LazyPattern(r"[0-9](?<![^ \t][0-9])[0-9]{4}(?:-[0-9]{4})?(?![0-9-])"),
    score=0.95,
    is_valid=_follows_a_state,
    found=(
        "Boston, MA «02115» and Springfield, IL  «62704-1234».",
        "Portland, Oregon «97201»",
    ),
    not_found=("WBC 12000", "IN 120005", "Boston MA02115", "CAL 92115", "MA 021155"),
)

LABELLED_ZIP = Rule(
    name="zip_labelled",
    label=Label.ZIP,
    pattern=LazyPattern(
        rf"""
        (?<![a-z])(?:zip(?:[ -]?code)?|postal[ ]code|post[ ]?code)
        (?:[ \t]{{0,3}}(?:is\b|of\b|[:=\#.])){{0,2}}[ \t]{{0,3}}
        (?P<phi>{ZIP}|[A-Z][0-9][A-Z][ ]?[0-9][A-Z][0-9]
           |[A-Z]{{1,2}}[0-9][A-Z0-9]?[ ]?[0-9][A-Z]{{2}}|[0-9]{{4,6}})(?![A-Z0-9])
        """,
        _FLAGS,
    ),
    score=0.95,
    found=(
        "zip: «02115», ZIP code «62704-1234», Zip Code is «10001»",
        "postcode «SW1A 1AA», postal code: «560001»",
    ),
    not_found=("zipper 12345", "zip line", "ZIP 12"),
)

STATE_BEFORE_ZIP = Rule(
    name="state_before_zip",
    label=Label.STATE,
    # "Patient ID 12345" is in no state: Idaho's code needs its comma.
    pattern=LazyPattern(
        rf"(?<![A-Za-z])(?!(?<!,[ ])ID\b)(?P<phi>{STATE})(?={_ZIP_AHEAD})", re.VERBOSE
    ),
    score=0.9,
    must_contain=_BLANK_AND_ZIP,
    found=("Boston, «MA» 02115", "Reno, «Nevada» 89501", "NY, «New York» 10001-0001"),
    not_found=("MA 1234", "in 12000", "WBC IN, 12 000", "CMA 02115", "Pt ID 12345"),
)

CITY_BEFORE_ZIP = Rule(
    name="city_before_zip",
    label=Label.CITY,
    pattern=LazyPattern(
        rf"""
        (?<![A-Za-z'-])
        (?P<phi>{_CAPITAL_WORD}(?:[ ]{_CAPITAL_WORD}){{0,2}}),?[ ]{{1,2}}
        (?={STATE}{_ZIP_AHEAD})
        """,
        re.VERBOSE,
    ),
    score=0.85,
    lookbehind=89,
    window=13,
    must_contain=_BLANK_AND_ZIP,
    found=(
        "12 Oak St, «Boston», MA 02115",
        "«St. Paul», MN 55101; «Salt Lake City» UT 84101",
        "«FALL RIVER», MA 02720",
    ),
    not_found=("boston, ma 02115", "Boston, MA", "Hgb, 12000"),
)

CITY_AFTER_ZIP = Rule(
    name="city_after_zip",
    label=Label.CITY,
    pattern=LazyPattern(
        rf"""
        (?<![\w.-])[0-9]{{5}},?[ ]
        (?P<phi>{_CAPITAL_WORD}(?:[ ]{_CAPITAL_WORD}){{0,2}}),?
        [ ]{_CODE_OF_STATE}(?![A-Za-z])
        """,
        re.VERBOSE,
    ),
    score=0.85,
    found=("Mail: 05602, «Montpelier» VT; 87501 «Santa Fe» NM, 30030 «Decatur», GA",),
    not_found=("Lipase 22015 Total IN", "05602 Montpelier ABC", "12 Montpelier VT"),
)

ZIP_BEFORE_CITY = Rule(
    name="zip_before_city",
    label=Label.ZIP,
    pattern=LazyPattern(
        rf"""
        (?<![\w.-])(?P<phi>[0-9]{{5}}(?:-[0-9]{{4}})?),?
        [ ]{_CAPITAL_WORD}(?:[ ]{_CAPITAL_WORD}){{0,2}},?
        [ ]{_CODE_OF_STATE}(?![A-Za-z])
        """,
        re.VERBOSE,
    ),
    score=0.85,
    found=("Mail: «05602», Montpelier VT; «87501» Santa Fe NM",),
    not_found=("Lipase 22015 Total IN", "05602 Montpelier ABC"),
)

CITY_AFTER_BOX = Rule(
    name="city_after_box",
    label=Label.CITY,
    pattern=LazyPattern(
        rf"""
        (?:Box|BOX)[ ]\#?[0-9]{{1,5}}[A-Z]?,[ ]
        (?P<phi>{_CAPITAL_WORD}(?:[ ]{_CAPITAL_WORD}){{0,2}}),?
        [ ]{_CODE_OF_STATE}(?![A-Za-z])
        """,
        re.VERBOSE,
    ),
    score=0.85,
    found=("HC 61 Box 240, «Cody» WY; PO Box 9, «Santa Fe», NM",),
    not_found=("Box 240, Cody", "Box 3, Tissue OF"),
)

STREET_BEFORE_ZIP = Rule(
    name="street_before_zip",
    label=Label.STREET,
    # Any name between a number and a town, state and code is a street's.
    pattern=LazyPattern(
        rf"""
        (?<![\w.,/-])
        (?P<phi>[0-9]{{1,6}}[A-Z]?(?:[ ]{_CAPITAL_WORD}){{2,4}}\.?
          (?:,?[ ](?:(?:Suite|Unit|Fl|Floor|Lot|Room)[ ]|\#[ ]?)[0-9A-Z-]{{1,6}}
            |[ ][0-9]{{1,5}})?)
        (?=,[ ]{_CAPITAL_WORD}(?:[ ]{_CAPITAL_WORD}){{0,2}},[ ]{{1,2}}
           {STATE}{_ZIP_AHEAD})
        """,
        re.VERBOSE,
    ),
    score=0.9,
    lookbehind=109,
    window=13,
    must_contain=_BLANK_AND_ZIP,
    found=(
        "«3461 Eric Lights Apt. 649», Ann, OH 29238",
        "«4428 Bruce Tunnel», West Ely, DE 35104; «12B Old Plain #4», Reno, NV 89501",
    ),
    not_found=("Room 12, Boston, MA 02115", "on 5 March, Reno, NV 89501"),
)

STREET = Rule(
    name="street_address",
    label=Label.STREET,
    pattern=LazyPattern(
        rf"""
        [0-9](?<![0-9][0-9])(?<![0-9][-/.,:][0-9])(?<![A-Za-z\#][0-9])
        [0-9]{{0,5}}(?:[-/][0-9]{{1,4}})?[A-Za-z]?(?:[ ]1/2)?[ ]{{1,2}}
        (?!(?:AM|PM|MD|RN|Dr|DR
             |(?i:mm|cm|mg|ml|and|or|from|to|for|with|at|in|on|by|is|was|as|then))\b)
        {_STREET_WORD}(?:[ ]{_STREET_WORD}){{0,3}}?[ ]{_SUFFIX}
        (?:[ ](?:[NSEW]|[NS][EW])\b)?
        {_UNIT_NUMBER}
        """,
        re.VERBOSE,
    ),
    score=0.92,
    found=(
        "lives at «123 Main St», and «4500 N. Lake Shore Drive, Apt 4B».",
        "«221 5th Avenue», «12 Martin Luther King Blvd #3»",
        "«100 W 34th St, Suite 200», «7 OLD MILL ROAD»",
        "«9 Elm Dr., Unit 7», «10 Acacia Close», «3/29 Kauri Place»",
        "«611 Mill Pike 1R», «77 Elm St apt 3B», «3990 Satellite Ridge #1212»",
    ),
    not_found=(
        "seen at 2 PM Dr. Smith",
        "2 Head CT scans",
        "3 Tabs St. John's Wort",
        "10 mg drive",
        "2 Way stopcock",
        "walked 4 blocks down the street",
        "1.5 Main St, 2 Mm St elevation",
        "Grade 2 Dr. Roe",
        "11 February 2024 And Ct of the chest",
        "of May 2, 2023 From Oak Street Health",
    ),
)

STREET_NAME = Rule(
    name="street_name",
    label=Label.STREET,
    pattern=LazyPattern(
        rf"""
        (?<![A-Za-z])(?:[Oo]n|[Aa]t|[Nn]ear|[Oo]ff|[Aa]long|of|and)[ ]
        (?P<phi>(?:{_CAPITAL_WORD}|[0-9]{{1,3}}(?:st|nd|rd|th))
          (?:[ ]{_CAPITAL_WORD}){{0,2}}?[ ]
          (?:Street|Avenue|Road|Boulevard|Lane|Drive|Parkway|Highway
            |Ave|Rd|Blvd|Pkwy))(?![A-Za-z])
        """,
        re.VERBOSE,
    ),
    score=0.8,
    found=(
        "lives on «Maple Street», near «Old Post Road», off «5th Avenue»",
        "lives on «Oak Ave».  Farm lane off «Peach Mill Rd», Ely",
    ),
    not_found=("on the street", "at work drive-through", "sex drive", "Street"),
)

PO_BOX = Rule(
    name="po_box",
    label=Label.STREET,
    pattern=LazyPattern(
        r"""
        (?<![a-z])(?:mailing[ ](?=box))?
        (?P<phi>(?:(?:g\.?)?p\.?[ ]?o\.?[ ]?box|post[ ]office[ ]?box|private[ ]bag
            |(?<=mailing[ ])box)[ ]{0,2}\#?[ ]?
          (?-i:[A-Z]{1,3}[ -]?)?[0-9]{1,7}(?!\w))
        """,
        _FLAGS,
    ),
    score=0.95,
    found=(
        "send to «P.O. Box 1234», «PO Box 77» or «post office box 9»",
        "«P.O. Box KS 4417», Kumasi; «Private Bag X12», mailing «Box 118»",
    ),
    not_found=("box 12", "po boxed 3", "1 box po", "private bag of 3"),
)

_HOME_CUE = rf"""
    (?<![a-z])(?i:{"|".join(_HOME_CUES).replace(" ", "[ ]")})[ ]
"""
_HOME_TOWN = rf"""
    (?:(?!(?:January|February|March|April|May|June|July|August|September|October
        |November|December|Assisted|Independent|The|A|An|Skilled|Nursing|Senior
        |Group|Apartment|AM|PM)\b)
      {_CAPITAL_WORD}(?:[ ]{_CAPITAL_WORD}){{0,2}})
"""

HOME_TOWN = Rule(
    name="city_after_cue",
    label=Label.CITY,
    pattern=LazyPattern(
        rf"""
        {_HOME_CUE}
        (?P<phi>{_HOME_TOWN}(?:,[ ](?!{STATE}(?![A-Za-z])){_CAPITAL_WORD})?)
        """,
        re.VERBOSE,
    ),
    score=0.75,
    found=(
        "She lives in «Springfield», Illinois.",
        "born in «Lagos, Nigeria»",
        "born in «Lagos», moved to «Fort Worth» in 2019",
        "trip to «Costa Rica»",
    ),
    not_found=(
        "lives in a house",
        "born in March",
        "told home in AM likely",
        "lives in Assisted Living",
        "moved to the ICU",
    ),
)

HOME_STATE = Rule(
    name="state_after_home_town",
    label=Label.STATE,
    pattern=LazyPattern(
        rf"{_HOME_CUE}{_HOME_TOWN},[ ](?P<phi>{STATE})(?![A-Za-z-])", re.VERBOSE
    ),
    score=0.75,
    found=("She lives in Springfield, «Illinois», moved to Fort Worth, «TX».",),
    not_found=("lives in Springfield", "born in Lagos, Nigeria", "in Reno, Nevada"),
)

_END_OF_FIELD = r"(?=[ \t]{0,3}(?:[.;|)]?[ \t]{0,3}(?:\r?\n|\Z)|[.;|][ \t]|[ \t]{2}))"

LABELLED_STATE = Rule(
    name="state_labelled",
    label=Label.STATE,
    # The field holds nothing else: "State: Virginia Miller" is a name.
    pattern=LazyPattern(
        rf"""
        {_LABEL_BEFORE}(?i:(?:birth|home)[ ]state|state(?:[ ]of[ ](?:residence|birth))?)
        [ \t]{{0,2}}[:=-][ \t]{{0,3}}
        (?P<phi>{STATE})(?![A-Za-z-]){_END_OF_FIELD}
        """,
        re.VERBOSE,
    ),
    score=0.9,
    found=(
        "State: «Vermont».\nState of residence: «Maine»",
        "City: Barre  State: «VT»  Zip: 05641",
        "Birth state: «New Mexico»; home state: «OH»\nState of birth - «Georgia»",
    ),
    not_found=(
        "State: Virginia Miller",
        "State: Vermont, John",
        "State: alert",
        "mental state: OR\n",
        "Mrs. State: Vermont is her name",
    ),
)

LABELLED_CITY = Rule(
    name="city_labelled",
    label=Label.CITY,
    pattern=LazyPattern(
        rf"""
        {_LABEL_BEFORE}(?i:(?:home[ ])?(?:city|town)(?:/town)?(?:[ ]of[ ](?:residence
          |birth))?|place[ ]of[ ](?:birth|residence)|birth[ -]?place|hometown)
        [ \t]{{0,2}}[:=][ \t]{{0,3}}
        (?P<phi>(?!(?i:unknown|none|same|other|not|n/a|see|state)\b)
          {_CAPITAL_WORD}(?:[ ]{_CAPITAL_WORD}){{0,2}})
        (?:{_END_OF_FIELD}|(?=,?[ ]{{1,2}}{STATE}(?![A-Za-z])))
        """,
        re.VERBOSE,
    ),
    score=0.95,
    found=(
        "City: «Barre»  State: VT, Place of birth: «Fall River», MA",
        "Home town: «Ely»\nBirthplace: «Lagos».",
    ),
    not_found=(
        "City: Unknown\n",
        "the city: crowded",
        "City: Denver Health clinic notes",
        "capacity: Full\n",
    ),
)

LABELLED_COUNTY = Rule(
    name="county_labelled",
    label=Label.LOCATION_OTHER,
    pattern=LazyPattern(
        rf"""
        {_LABEL_BEFORE}(?i:(?:home[ ])?county(?:[ ]of[ ]residence)?)
        [ \t]{{0,2}}[:=][ \t]{{0,3}}
        (?P<phi>(?!(?i:unknown|none|same|other|not|n/a|see)\b)
          {_CAPITAL_WORD}(?:[ ]{_CAPITAL_WORD}){{0,2}}){_END_OF_FIELD}
        """,
        re.VERBOSE,
    ),
    score=0.95,
    must_contain=re.compile(r"[ye][ \t]{0,2}[:=][ \t]{0,3}[A-Z]", re.IGNORECASE),
    found=("County: «Washington».\nCounty of residence: «Fall River»",),
    not_found=("County: Unknown\n", "the county: Rural"),
)

RULES = (
    ZIP_AFTER_STATE,
    LABELLED_ZIP,
    STATE_BEFORE_ZIP,
    CITY_BEFORE_ZIP,
    CITY_AFTER_ZIP,
    ZIP_BEFORE_CITY,
    CITY_AFTER_BOX,
    STREET_BEFORE_ZIP,
    STREET,
    STREET_NAME,
    PO_BOX,
    HOME_TOWN,
    HOME_STATE,
    LABELLED_STATE,
    LABELLED_CITY,
    LABELLED_COUNTY,
)
