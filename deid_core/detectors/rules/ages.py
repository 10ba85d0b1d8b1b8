"""Rules for ages over 89: 45 CFR 164.514(b)(2)(i)(C).  Younger ages stay.

Only the number is annotated, so that "[AGE]-year-old" still reads.  An age is shown by
its unit ("92 y/o"), by a cue ("aged 92") or by the person ("his mother, 97,").
"""

from __future__ import annotations

import re

from deid_core.labels import Label
from deid_core.language.fragments import (
    MONTH_NAME,
    MONTH_WORDS,
    UNIT,
    any_of,
    ends_with,
    words,
)
from deid_core.language.lexicons import is_ordinary, load_list, normal
from deid_core.language.lexicons.word_classes import WordClass, word_classes

from .pattern import LazyPattern
from .rule import Rule

_FLAGS = re.VERBOSE | re.IGNORECASE
_OVER_89 = r"(?:9[0-9]|1[0-2][0-9])"
# The two ways a number over 89 can begin, one character first: scanning stays cheap.
_OVER_89_FIRST = (
    r"[19](?<![0-9][19])(?<![0-9][./,][19])(?:(?<=9)[0-9]|(?<=1)[0-2][0-9])"
)
_WRITTEN = r"""
    (?:ninety(?:[- ](?:one|two|three|four|five|six|seven|eight|nine))?
      |(?:one|a)[- ]hundred
        (?:[- ](?:and[- ])?(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven
          |twelve|thirteen|fourteen|fifteen|sixteen|seventeen|eighteen|nineteen|twenty)
          (?![a-z]))?
      |hundred)
"""
_ANY_WRITTEN = rf"(?:{_WRITTEN}(?![a-z])(?![- ](?:degrees|percent|per|mg|mcg)))"
_YEARS_OLD = r"""
    (?:\+?[- ]{0,2}(?:years?|yrs?)\.?[- ]{0,2}(?:old|of[- ]age|young)
      |[- ]{0,2}(?:years?|yrs?)\.?[ ]?(?=(?:male|female|m|f|man|woman)\b)
      |[- ]{0,2}y(?:[./ -]{0,2}o)?\.?(?![a-z])
      |[ ]?y(?=[mf](?![a-z]))
      |[- ]{0,2}yr\.?[ ]?o(?![a-z]))
"""
_PATIENT_CUE = re.compile(
    r"(?:^|\n|\b(?:an?|is|was|pt|patient|this|old|elderly|hpi|:))[ :]{0,3}\Z",
    re.IGNORECASE,
)
_STORY_WORDS = (
    r"(?:with|who|w/|s/p|h/o|hx|c/o|p/w|presents?|presenting|admitted"
    r"|brought|here|seen|from|in|found|status)"
)
_STORY = re.compile(rf"[ ,]{{0,2}}{_STORY_WORDS}\b", re.IGNORECASE)
_STORY_OF_ONE = re.compile(
    r",[ ](?:was|is|may|has|had|came|lives|died|fell|retired|widow|ex-"
    r"|(?:rm|room|bed)\b|with|who|from|in|on|seen)",
    re.IGNORECASE,
)
_NO_READING = re.compile(r"9[0-4]F|9[0-9]M")
_DESCRIBED = re.compile(rf"[ ]?[,;]|[ ](?:on|{_STORY_WORDS})\b", re.IGNORECASE)
_SUBJECT = re.compile(r"(?:^|\n|[A-Za-z][,;:]?[ ])\Z")
_SEX_LABEL = re.compile(
    r"(?:sex|age|\bpt|patient|\ba)[ ]?[:=]?[ ]{0,2}\Z", re.IGNORECASE
)
_UNIT = re.compile(UNIT, _FLAGS)
_TWO_NAMES = re.compile(
    r"(?P<first>[A-Z][A-Za-z'.-]{0,24}),?[ ]{1,2}(?P<last>[A-Z][A-Za-z'.-]{0,24})"
    r",?[ ]{1,3}\Z"
)
_NAME_BEFORE = re.compile(
    r"(?<![A-Za-z])(?P<first>[A-Za-z][A-Za-z'-]{2,24})"
    r"(?P<comma>,)?(?:[ ][A-Za-z]\.?|[ ][\"(]{1,2}[A-Za-z]{2,16}[\")]{1,2})?[ ]{1,2}"
    r"(?P<last>[A-Za-z][A-Za-z'-]{2,24})(?:,?[ ]{1,12}|[ ]?\(|[ ]/[ ])\Z"
)
_SURNAME_BEFORE = re.compile(r"(?<![A-Za-z])(?P<last>[A-Z][A-Za-z'-]{2,24}),?[ ]\Z")
_GIVEN = WordClass.GIVEN | WordClass.WEAK_GIVEN
_FAMILY = WordClass.FAMILY | WordClass.WEAK_FAMILY
_BIRTH = re.compile(r"\b(?:d\.?o\.?b|born)\b[^\n(]{4,24}\(\Z", re.IGNORECASE)
_READINGS = frozenset(
    words("t temp temperature tmax tm fever oral rectal max heart rate")
)
_AFTER_AGE = re.compile(
    r"[ ]{0,2}[|,;.)\n]|[ ]{2}|\Z|[ ](?:NHS|MRN|DOB|UR|Rm|[Bb]ed)\b"
)
_PERSONS = any_of(load_list("aged_persons"))
_EVENTS = any_of(load_list("aged_events"))
_EVENT = re.compile(
    rf"(?<![a-z/'])(?:{_EVENTS}|[a-z]{{2,14}}(?:oma|emia|osis|itis|ectomy))"
    r"(?:[ ]was)?\Z",
    re.IGNORECASE,
)
_NAME_WORD = r"[A-Z][A-Za-z'-]{1,24}"


def is_person(match: re.Match[str]) -> bool:
    """Return whether ``93 F`` is a woman and not a temperature."""
    if len(match["sex"]) > 2:
        return True
    text, end = match.string, match.end()
    if _is_after_name(match) and _AFTER_AGE.match(text, end):
        return True
    if _is_after_surname(match):
        return True
    # No body is as cold as 94 F, and a length has its blank: "100 M".
    if _NO_READING.fullmatch(match[0]) and _DESCRIBED.match(text, end):
        return ends_with(_SUBJECT, text, match.start(), within=3)
    return ends_with(_PATIENT_CUE, match.string, match.start(), within=12) and bool(
        _STORY.match(match.string, match.end())
    )


def _is_after_name(match: re.Match[str]) -> bool:
    """Return whether two words before an age are a name, not a reading's."""
    start = match.start()
    found = _TWO_NAMES.search(match.string, max(0, start - 48), start)
    if found is None or found["last"].lower() in _READINGS:
        return False
    return not (
        is_ordinary(normal(found["first"])) and is_ordinary(normal(found["last"]))
    )


def _is_after_surname(match: re.Match[str]) -> bool:
    """Return whether a surname alone is before "95M" or "91F"."""
    if " " in match[0]:
        return False
    start = match.start()
    found = _SURNAME_BEFORE.search(match.string, max(0, start - 28), start)
    if found is None or found["last"].lower() in _READINGS:
        return False
    return word_classes(normal(found["last"])) & WordClass.FAMILY != 0


def _is_after_full_name(match: re.Match[str]) -> bool:
    """Return whether a given name and a surname, or a day of birth, are before."""
    text, start, end = match.string, *match.span("phi")
    if _UNIT.match(text, end):
        return False
    if text[start - 1 : start] == "(" and ends_with(_BIRTH, text, start):
        return True
    found = _NAME_BEFORE.search(text, max(0, start - 64), start)
    if found is None or not _READINGS.isdisjoint(
        {found["first"].lower(), found["last"].lower()}
    ):
        return False
    names = normal(found["first"]), normal(found["last"])
    if not {*MONTH_WORDS}.isdisjoint(names) or all(map(is_ordinary, names)):
        return False
    if found[0][0].islower() and any(map(is_ordinary, names)):
        return False
    given, family = reversed(names) if found["comma"] else names
    return bool(word_classes(given) & _GIVEN and word_classes(family) & _FAMILY)


def _is_age_of_name(match: re.Match[str]) -> bool:
    """Return whether the name before an age is no word; a single one has a story."""
    text, end = match.string, match.end("phi")
    if is_ordinary(normal(match["last"])) or _UNIT.match(text, end):
        return False
    return match["first"] is not None or _STORY_OF_ONE.match(text, end) is not None


AGE_OLD = Rule(
    name="age_years_old",
    label=Label.AGE,
    pattern=LazyPattern(rf"(?P<phi>{_OVER_89_FIRST}){_YEARS_OLD}", _FLAGS),
    score=0.95,
    found=(
        "a «92»-year-old woman",
        "«95» y/o, «94»yo, «101» yr old, «90» years of age, «97» y.o.",
        "«93»Y female, «91»yM, a «90»+ year old",
        "«99»-year-old",
    ),
    not_found=(
        "an 89-year-old",
        "90 days old",
        "192-year-old",
        "a 45 y/o",
        "for 90 years",
        "9-year-old, 1.92 yo",
    ),
)

AGE_AFTER_CUE = Rule(
    name="age_after_cue",
    label=Label.AGE,
    pattern=LazyPattern(
        rf"""
        (?<![a-z])
        (?:(?:aged?|ages)[ ]?(?:[:=]|is|was|of)?[ ]{{0,2}}
          |(?:died|dies|passed[ ]away|deceased)[ ](?:of|from|in|after)[ ]
           (?:[a-z]{{1,14}}[ ]){{1,4}}at[ ]
          |(?:died|dies|passed[ ]away|passed|deceased|alive|living|lived|lives|well
             |healthy|retired|widowed|active|driving|working|independent)[ ]
           (?:at|to|until|till)[ ](?:be[ ]|about[ ]|almost[ ]|nearly[ ])?
          |turn(?:ed|ing|s)[ ]|reach(?:ed|ing|es)[ ])
        (?P<phi>{_OVER_89}(?![0-9])(?![./:][0-9])(?!(?:st|nd|rd|th)\b)|{_ANY_WRITTEN})
        """,
        _FLAGS,
    ),
    score=0.9,
    is_valid=lambda match: (
        not _UNIT.match(match.string, match.end())
        or re.match("[ -]?y", match.string[match.end() :][:2]) is not None
    ),
    found=(
        "aged «90», Age: «101», at the age of «92»",
        "mother died at «93», father lived to be «97»",
        "turned «90» in spring",
        "age «95» years",
        "aged «ninety five», died at the age of «ninety-six»",
        "an aunt alive and well at «96», an uncle who reached «99»",
        "died of a stroke at «91», passed away in his sleep at «102».",
    ),
    not_found=(
        "aged 89",
        "dosage 90",
        "age 9",
        "page 95",
        "turned 90 degrees, turned ninety degrees",
        "died at 90%",
        "aged 920",
        "reached 95 degrees",
        "doing well at 100 mg",
        "died of sepsis in 1995",
    ),
)

AGE_AT_EVENT = Rule(
    name="age_at_event",
    label=Label.AGE,
    pattern=LazyPattern(
        rf"""
        [ ]at[ ](?:age[ ])?
        (?P<phi>{_OVER_89}(?![0-9%])(?![./:][0-9])(?!(?:st|nd|rd|th)\b)|{_ANY_WRITTEN})
        """,
        _FLAGS,
    ),
    score=0.8,
    is_valid=lambda match: (
        ends_with(_EVENT, match.string, match.start(), within=20)
        and not _UNIT.match(match.string, match.end())
    ),
    found=(
        "breast ca at «93». Dx at «91», diagnosed at «97», MI at «94»",
        "lymphoma at «92»",
        "fell at «92», widowed at «90», quit smoking at «ninety», driving at age «91»",
    ),
    not_found=(
        "sats at 91, HR at 95, glucose at 94, satting at 93, paced at 90",
        "onset at 1400",
        "MI at 52, dx at 9, fell at 0930, fell at 93%, Dx at 95 mg, stroke at 92.5",
    ),
)

AGE_BEHIND_DISEASE = Rule(
    name="age_behind_disease",
    label=Label.AGE,
    pattern=LazyPattern(
        rf"""
        (?:\((?:ovarian|breast|colon|prostate|lung|[a-z]{{2,10}}[ ](?:ca|cancer))
              (?:[ ](?:ca|cancer))?,[ ](?:dx[ ])?
          |narian\)?[ ]\(
          |age[ ]at[ ](?:dx|onset|diagnosis|death|presentation)[ :]{{1,2}}(?:was[ ])?)
        (?P<phi>{_OVER_89})(?![0-9%])(?![./:][0-9])
        """,
        _FLAGS,
    ),
    score=0.8,
    is_valid=lambda match: not _UNIT.match(match.string, match.end()),
    found=(
        "an aunt (breast, dx «92»), a (ovarian cancer, «96»), a centenarian («103»)",
        "age at dx «94», age at death: «91»",
    ),
    not_found=("(breast, dx 62), a veterinarian (54), age at dx 24, (breast, 95 mm)",),
)

AGE_AND_SEX = Rule(
    name="age_and_sex",
    label=Label.AGE,
    pattern=LazyPattern(
        rf"""
        (?P<phi>{_OVER_89_FIRST})[ -]?
        (?P<sex>female|male|woman|man|gentleman|lady|(?-i:[WBHA]?[FM]))(?![a-z])
        """,
        _FLAGS,
    ),
    score=0.8,
    is_valid=is_person,
    found=(
        "«93»F with dementia",
        "This is a «93» F who",
        "Pt is a «91» WM s/p fall",
        "«95» female, lives alone",
        "Jane Roe, «92»F, 41 kg: «91»F on apixaban; ask for «94»M, frail",
        "Concepta Mulqueen, «94» F. HD6\nBlenkinsop, Dorothea  «101»F  NHS",
        "511 | Okafor, Edna «96»F | UTI",
        "4 Kowalski «95»M CHF, KOWALSKI «91»F - fx",
    ),
    not_found=(
        "Temp 98 F with chills",
        "98.6F with fever",
        "98F, chills",
        "Oral Temp 98 F. Afebrile, Temp 98F, max Temp Today, 99 F.",
        "at 92F water",
        "T 101 F",
        "fever of 101 F with cough",
        "Tmax 101F today, Temp 95F rectal, Water 91F",
        "45F with asthma",
        "a 120 m walk",
        "190 man",
    ),
)

AGE_DECADE = Rule(
    name="age_decade",
    label=Label.AGE,
    pattern=LazyPattern(
        r"""
        (?:(?<![a-z])(?:in|into)[ ](?:his|her|their|the)[ ]
             (?:(?:early|mid|middle|late)[- ])?(?P<phi>90'?s|nineties|100'?s))(?![a-z])
        """,
        _FLAGS,
    ),
    score=0.9,
    is_valid=lambda match: "the " not in match[0].lower(),
    found=("in her «nineties», in his late «90s»", "well into their «90's»"),
    not_found=("in the 90s", "in her eighties", "in the 1990s", "HR in the 100s"),
)

AGE_IN_WORDS = Rule(
    name="age_in_words",
    label=Label.AGE,
    pattern=LazyPattern(
        rf"""
        (?<![a-z])
        (?P<phi>{_WRITTEN}(?=[- ]{{1,2}}years?[- ](?:old|of[- ]age))
          |nonagenarians?|(?:super)?centenarians?|ninetieth(?=[ ]birthday)
          |(?:tenth|10th|eleventh|11th)(?=[ ]decade)
          |(?:9[0-9]|10[0-9])(?:st|nd|rd|th)
           (?=[ ](?:birthday|year(?![- ]old))))(?![a-z])
        """,
        _FLAGS,
    ),
    score=0.95,
    found=(
        "a «ninety-two» year old man",
        "«one hundred and two»-year-old",
        "this «centenarian»",
        "her «90th» birthday, in her «tenth» decade",
        "before his «93rd» birthday; in her «101st» year",
    ),
    not_found=(
        "ninety degrees",
        "a hundred milligrams",
        "eighty-nine year old",
        "the 95th percentile",
        "89th birthday",
    ),
)

AGE_OVER_SEX = Rule(
    name="age_over_sex",
    label=Label.AGE,
    pattern=LazyPattern(
        rf"(?P<phi>{_OVER_89_FIRST})[ ]?/[ ]?(?P<sex>[MF])(?![\w/])", _FLAGS
    ),
    score=0.85,
    # "98/m" is a rate a minute: a man needs his label.
    is_valid=lambda match: (
        match["sex"] == "F" or ends_with(_SEX_LABEL, match.string, match.start())
    ),
    found=("«91»/F with fall", "Age/Sex: «104» / M", "AGE: «93»/M"),
    not_found=("HR 98/m", "45/F", "191/F", "1.91/F", "91/FiO2"),
)

AGE_AFTER_PERSON = Rule(
    name="age_after_person",
    label=Label.AGE,
    pattern=LazyPattern(
        rf"""
        (?<![a-z])(?:he|she|who|patient|pt|mother|father|wife|husband|grandmother
          |grandfather|sister|brother)
        (?:[ ]is[ ](?:(?:now|currently|almost|nearly|about|pushing|going[ ]on)[ ])?
          |[ ]will[ ]be[ ]|'s[ ](?:now[ ])?|[ ]was[ ](?=[0-9]{{2,3}}[ ]when))
        (?P<phi>ninety(?:[- ](?:one|two|three|four|five|six|seven|eight|nine))?(?![a-z])
            (?![- ](?:degrees|percent|per|mg|mcg|minutes|days))
          |{_OVER_89}
        (?=[ ]{{0,2}}(?:[.;)\n]|,[ ]|and[ ](?!on\b)|but|with|when|who|living|alive
          |years|(?:in|next|this)[ ](?:month|spring|summer|fall|winter|{MONTH_NAME})
          |\Z))(?!\.[0-9]))
        """,
        _FLAGS,
    ),
    score=0.8,
    found=(
        "She is «95» and lives alone",
        "the patient is «92», widowed; her mother is now «101».",
        "he was «93» when he fell; she is almost «91» and well. He will be «95», ",
        "she is pushing «93».",
        "he is «ninety-two» not 82; he's «92», she is the driver",
    ),
    not_found=(
        "patient is 95% on air",
        "she is 89",
        "pt is 95 kg",
        "who is 92.5",
        "she was 98 and flushed",
        "he is 900",
        "he is ninety percent better",
    ),
)

AGE_OF_KIN = Rule(
    name="age_of_kin",
    label=Label.AGE,
    pattern=LazyPattern(
        rf"""
        (?<![a-z])(?:mother|father|wife|husband|(?:great[- ]?)?grandmother
          |(?:great[- ]?)?grandfather|sister|brother|aunt|uncle|mom|dad|spouse|patient
          |(?:mother|father|sister|brother)-in-law|cousin|mum|nan|gran|granny|grandma
          |grandpa|auntie|partner|neighbou?r|friend|son|daughter|mam|mama|papa|papi|oma
          |opa|granddad|nana|abuel[ao]|(?:father|mother)[ ]in[ ]law)
        (?:,[ ]|[ ]\(|[ ]at[ ]|[ ](?:of|now|d\.|died|aged?)(?:[ ]at)?[ ]|[ ])
        (?P<phi>{_OVER_89})
        (?=[,)]|[ ]?(?:and|is|has|was)\b|(?:[;!?]|\.(?![0-9]))(?![0-9])|\n)
        """,
        _FLAGS,
    ),
    score=0.75,
    found=(
        "his mother, «97», is well; grandfather («101») and aunt, «95», too",
        "great-grandmother at «99» and well; lives with kin (sister, «93»)",
        "FH: mom d. at «98», dad «91». Mam now «93» and",
        "a father of «93», wife («90»!)",
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
    pattern=LazyPattern(
        rf"""
        (?<![A-Za-z])(?i:{_PERSONS})[.,]?(?:[ ](?:{_NAME_WORD}|[A-Z]\.)){{1,3}}
        (?:[ ]\((?:age[d]?[ ])?|(?:,|(?<=[a-z]))[ ](?={_OVER_89}[,)]))
        (?P<phi>{_OVER_89})(?=[),;!]|[ ]?(?:yo?|and)\b)
        """,
        re.VERBOSE,
    ),
    score=0.75,
    found=(
        "Her husband Emeka («94») died; his sister, Ada Okafor («101»), is well",
        "her mother-in-law Rose (aged «97») and Mrs. Ada Okafor, «92», were there",
        "his great-grandmother ANA («103») WAS",
        "Mrs P. Gooch («91»), edoxaban; wife Solveig «90», can't; wife Frida («90»!)",
    ),
    not_found=(
        "Her husband Emeka (84) died",
        "her husband Emeka (94 kg), wife Ann (94%), Mr. Roe, 95 mg",
        "husband called Ext (940)",
        "creatinine (94)",
    ),
)

AGE_AFTER_NAME = Rule(
    name="age_after_name",
    label=Label.AGE,
    pattern=LazyPattern(
        rf"""
        (?<![A-Za-z])(?:(?P<first>[A-Z][a-z'-]{{1,24}})(?:[ ]a/[pl])?[ ])?
        (?P<last>[A-Z][A-Za-z'-]{{2,24}})
        (?:,[ ]|[ ]\()(?P<phi>{_OVER_89})
        (?:(?=\))|(?=[,:;][ ]?[A-Za-z])|(?=\.[ ][A-Z]))
        """,
        re.VERBOSE,
    ),
    score=0.75,
    is_valid=_is_age_of_name,
    found=(
        "Florence Okonedo, «92», retired. Lolo Isko, «93»: Losartan. Ada Okafor («95»)",
        "Muthulakshmi a/p Perumal, «90», IC; Bina, «98», was; Ada Okafor, «102». Dx",
    ),
    not_found=(
        "Heart Rate, 92, regular. Pulse Ox, 97, room air. Oxygen Saturation (95)",
        "Florence Okonedo, 29, retired; Ada Okafor, 95 kg. Sodium, 98, was low",
    ),
)

AGE_AFTER_FULL_NAME = Rule(
    name="age_after_full_name",
    label=Label.AGE,
    pattern=LazyPattern(
        rf"(?P<phi>{_OVER_89_FIRST})(?=\)|[ ]{{2}}|[,:;/|\n]|[.][ \n]|[ ][-/(]|\Z)"
    ),
    score=0.8,
    is_valid=_is_after_full_name,
    found=(
        "Hattie Stone, «93», rm 6; Winnie Askew  «98»   skin tear; ADA OKAFOR, «91»\n",
        "edna okonkwo, «95», nhi. Frye, Roland  «90»  GIB. Szymanski, Halina / «97» /",
        'Wilhelmina "Minnie" Castellano, «96», MRN; DOB 02/08/1928 («91»)',
    ),
    not_found=(
        "Heart Rate 92, Pulse Ox, 97, Max Temp 99, Mary Kelly 89, Rose May 95 mg",
        "Mary Kelly 95%, Mary Kelly 1990, Sodium Chloride (95), lab (91)",
        "April June 92, then",
    ),
)

AGE_IN_YEARS = Rule(
    name="age_in_years",
    label=Label.AGE,
    pattern=LazyPattern(
        rf"""
        (?:[,(|:][ ]?|(?<![a-z])(?:abt|approx\.?)[ ])
        (?P<phi>{_OVER_89})
        (?:[ ]?(?:yrs?|years|y)(?![a-z])(?![ ](?:ago|of|and)(?![a-z]))
          |(?:(?<=t[ ][0-9]{{2}})|(?<=t[ ][0-9]{{3}}))(?=[ ]{{0,3}}\|))
        """,
        _FLAGS,
    ),
    score=0.75,
    found=("Rao («94» yrs), 61 kg; Devi, «92»y, fell | abt «95» | same",),
    not_found=("for 94 yrs, (92 years ago), abt 95 mg | 95 |",),
)

AGE_AFTER_SEX = Rule(
    name="age_after_sex",
    label=Label.AGE,
    pattern=LazyPattern(
        rf"(?<![A-Za-z0-9/])[MF][ ]?/[ ]?(?P<phi>{_OVER_89})(?![0-9/%])(?!\.[0-9])"
    ),
    score=0.8,
    found=("seen F/«94», M / «101» with",),
    not_found=("P/F 94, P/F/94, M/49, F/94/50, F/94%",),
)

AGE_AT_START = Rule(
    name="age_at_start",
    label=Label.AGE,
    pattern=LazyPattern(
        rf"(?:\A|\n|[.!?][ ]{{1,2}})At[ ](?P<phi>{_OVER_89}),?[ ](?=(?:he|she|they)\b)",
    ),
    score=0.75,
    found=("At «94» she still drives. At «101», he is frail.",),
    not_found=("At 89 she fell.", "At 90 minutes she woke.", "Heart rate at 94, she"),
)

AGE_BETWEEN_COMMAS = Rule(
    name="age_between_commas",
    label=Label.AGE,
    pattern=LazyPattern(
        rf"[a-z],[ ](?P<phi>{_OVER_89}),[ ]{{0,2}}(?={_STORY_WORDS}\b)", _FLAGS
    ),
    score=0.75,
    found=("This patient, «95», presents with",),
    not_found=("HR 88, 95, with", "sodium, 95, 96", "patient, 85, presents"),
)

RULES = (
    AGE_OLD,
    AGE_AFTER_CUE,
    AGE_AT_EVENT,
    AGE_BEHIND_DISEASE,
    AGE_AND_SEX,
    AGE_OVER_SEX,
    AGE_DECADE,
    AGE_IN_WORDS,
    AGE_AFTER_PERSON,
    AGE_OF_KIN,
    AGE_OF_NAMED_PERSON,
    AGE_AFTER_NAME,
    AGE_AFTER_FULL_NAME,
    AGE_IN_YEARS,
    AGE_AFTER_SEX,
    AGE_AT_START,
    AGE_BETWEEN_COMMAS,
)
