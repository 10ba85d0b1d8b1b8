"""Rules for accounts on computers: user names, handles, spelled-out addresses.

Safe Harbor (F) and (R).
"""

from __future__ import annotations

import re

from deid_core.detectors.rules.ids.shapes import is_clinical_value
from deid_core.detectors.rules.pattern import LazyPattern
from deid_core.detectors.rules.rule import Rule
from deid_core.labels import Label
from deid_core.language.fragments import ends_with, words
from deid_core.language.lexicons import is_ordinary, is_vocabulary, normal
from deid_core.language.lexicons.word_classes import WordClass, word_classes

_FLAGS = re.VERBOSE | re.IGNORECASE
_NETWORKS = (
    r"(?:twitter|instagram|insta|facebook|tiktok|snapchat|linkedin|telegram|skype"
    r"|wechat|whatsapp|discord|reddit|youtube|mastodon|bluesky|tumblr|pinterest|twitch"
    r"|threads|signal|messenger|mychart|portal|zoom)"
)
_DOMAINS = "com|org|net|edu|gov|mil|info|io|health|uk|sg|ca|au|de|fr|es|in|co"
_AT = r"[ ]?(?:\(at\)|\[at\]|<at>|\{at\}|_at_)[ ]?"
_DOT = r"[ ]?(?:\(dot\)|\[dot\]|<dot>|\{dot\}|_dot_)[ ]?"
_USER_CUE = re.compile(
    r"\b(?:as|by|from|user|login|handle|to)[ :]{1,2}\Z", re.IGNORECASE
)
_NO_USERNAME = r"""
    (?!(?:and|or|is|was|are|field|for|to|with|not|in|of|on|the|password|passwords|provided
      |reset|unknown|name|names|required|error|failed|from|has|changed|given)\b)
"""
_NO_HANDLES = frozenset(
    words("none no unknown yes denied declined active inactive not n/a daily signed")
)

# What is right before nothing but a user name.
_SURE_CUE = r"""
    (?:typed|keyed|e-?sign(?:ed)?|scribed?|transcribed|usr|user|u/|u:|oper|opr|log[ ]?in
      |logout|encoder|author|drafted|draft|prelim|co-?sign(?:ed)?|sender|agent|edited
      |entered|routed|uploaded|pasted|printed|signed|verif(?:ied)?|closed|sent|filed
      |taken)
    (?:[ ](?:by|as|under|per|via|to|from))?
"""
_BY = re.compile(
    r"(?<![a-z])(?:by|via|from|per|under|cc|to|as|id|(?:rn|md|np|pa|lpn|ma)(?:[ ]/)?)"
    r"[ ]?[:=]?[ ]{0,2}\(?\Z",
    re.IGNORECASE,
)


_ROLES = frozenset(words("dr rn rt sw np md rph ot pt slp"))
_NAMES = WordClass.GIVEN | WordClass.FAMILY | WordClass.CITY | WordClass.EPONYM


def _is_initial_and_surname(word: str) -> bool:
    """Return whether a word is an initial or two, and a surname: "mkowalik"."""
    return any(
        word_classes(normal(word[at:])) & WordClass.FAMILY and len(word) - at > 3
        for at in (1, 2)
    )


def _is_user_name(match: re.Match[str]) -> bool:
    """Return whether what follows a cue is written as user names are."""
    value = match["phi"]
    if not (value.islower() or value.isupper()):
        return False
    parts = re.findall("[a-z]+", value.lower())
    if any(map(str.isdigit, value)) or "_" in value or "." in value:
        is_name = not all(is_vocabulary(normal(each)) for each in parts)
        return is_name or value.count(".") > 1
    [word] = parts
    return (
        not is_vocabulary(normal(word))
        and not word_classes(normal(word)) & _NAMES
        and _is_initial_and_surname(word)
    )


def _is_glued_name(match: re.Match[str]) -> bool:
    """Return whether a word before a number follows a cue or ends with a surname."""
    word = match["letters"]
    if not (word.islower() or word.isupper()) or is_vocabulary(normal(word)):
        return False
    if ends_with(_BY, match.string, match.start(), within=12):
        return True
    return word.islower() and _is_initial_and_surname(word)


def _is_speaker(match: re.Match[str]) -> bool:
    """Return whether a line's first word with a dot or underscore is no heading."""
    parts = [normal(each) for each in re.findall("[a-z]+", match["phi"])]
    return (
        "_" in match["phi"]
        or parts[0] in _ROLES
        or any(
            not is_vocabulary(each)
            or (word_classes(each) & _NAMES and not is_ordinary(each))
            for each in parts
        )
    )


USERNAME = Rule(
    name="username_labelled",
    label=Label.USERNAME,
    pattern=LazyPattern(
        r"""
        (?<![a-z])(?:user(?:[ ]?(?:name|id))?|login|logon|screen[ ]name)
        [ \t]{0,3}(?:[:=]|is\b)[ \t]{0,3}(?P<phi>[a-z0-9][\w.-]{1,39})(?<![.])
        """,
        _FLAGS,
    ),
    score=0.9,
    found=("username: «jroe12», User ID = «jane.roe».", "login: «drsmith»"),
    not_found=("user of tobacco", "login failed", "users: 3"),
)

USERNAME_BARE = Rule(
    name="username_bare",
    label=Label.USERNAME,
    pattern=LazyPattern(
        rf"""
        (?<![a-z])
        (?:(?:username|user[ ]name|userid|user[ ]id)[ ]{_NO_USERNAME}
          |(?:user|logged[ ]in[ ]as|login|logon)[ ]
             (?=[a-z._-]{{1,20}}[0-9]{{1,6}}(?![\w@])|[a-z]{{2,20}}_[a-z]))
        (?P<phi>[a-z][\w.-]{{1,38}}\w)(?![\w@])
        """,
        _FLAGS,
    ),
    score=0.85,
    found=(
        "username «jroe», User ID «jane.roe», logged in as «jroe12», user «jroe12»",
        "login «declan_roe» though",
    ),
    not_found=("username and password", "user of tobacco", "login failed", "user 12"),
)

USERNAME_OF_ACTION = Rule(
    name="username_of_action",
    label=Label.USERNAME,
    # Only a user name has a digit or a dot in it.
    pattern=LazyPattern(
        r"""
        (?<![a-z])
        (?:entered|filed|signed|typed|opened|viewed|edited|printed|accessed|modified|read
          |created|closed|locked|released|saved|verified|updated|recorded|scanned|sent
          |transcribed|reviewed|ordered|completed|documented|uploaded|charted|amended)
        (?:[ ](?:electronically|online|remotely))?[ ](?:by|as|under|per)[ ]
        (?P<phi>[a-z]{3,20}(?:\.[a-z]{1,20}[0-9]{0,4}|[0-9]{1,5}))(?![\w@])
        """,
        _FLAGS,
    ),
    score=0.8,
    found=(
        "Note filed by «jroe12», opened electronically by «jane.roe».",
        "Report uploaded by «jane.r». Chart closed by «jroe04» 3/2",
    ),
    not_found=(
        "reviewed by the surgeon. She",
        "read by radiology.Normal",
        "signed by jane@example.com",
        "closed by day 3",
    ),
    is_valid=lambda match: "." not in match["phi"] or match["phi"].islower(),
)

HANDLE = Rule(
    name="username_handle",
    label=Label.USERNAME,
    pattern=LazyPattern(
        rf"""
        (?<![a-z]){_NETWORKS}
        (?:[ ](?:handle|account|user(?:[ ]?name)?|id|profile|name|page)){{0,2}}
        (?:[ ]?[:=][ ]?|[ ]is[ ]|[ ]as[ ]|[ ]\(?)
        (?P<phi>@[\w.]{{2,40}}\w
          |(?<=[:=])[a-z][\w.:-]{{1,40}}\w|(?<=[:=][ ])[a-z][\w.:-]{{1,40}}\w
          |(?=[a-z._-]{{2,24}}[0-9_])[\w.-]{{3,40}})(?![\w@])
        """,
        _FLAGS,
    ),
    score=0.85,
    found=(
        "Instagram: «@jane.roe», Twitter handle «@janeroe», Skype: «live:jane»",
        "on Snapchat as «jane_99», (Facebook: «jane.roe»)",
    ),
    not_found=(
        "uses Facebook daily",
        "signal intensity",
        "portal vein 12",
        "MyChart message",
        "portal: none@x",
        "zoom at 3",
    ),
    is_valid=lambda match: match["phi"].lower() not in _NO_HANDLES,
)

WITH_UNDERSCORE = Rule(
    name="username_with_underscore",
    label=Label.USERNAME,
    # No word has one; a template's blank is longer than its letters.
    pattern=LazyPattern(
        r"""
        (?<![\w.@/\\-])(?P<phi>@?[a-z][a-z0-9]{1,20}(?:_[a-z0-9]{1,20}){1,3})(?![\w@/-])
        """,
        _FLAGS,
    ),
    score=0.7,
    is_valid=lambda match: (
        (
            any(map(str.isdigit, match["phi"]))
            and not is_clinical_value(match.string, *match.span("phi"))
        )
        or match["phi"][0] == "@"
        or ends_with(_USER_CUE, match.string, match.start())
    ),
    found=("she is «roe_2013», uploaded as «gi_pa_team2», message from «jane_roe»",),
    not_found=(
        "c.68_69del, post_op, 12_13, name_____, file_name",
        "p_value",
        "NM_000492.4, NP_009225",
    ),
)

USERNAME_AFTER_CUE = Rule(
    name="username_after_cue",
    label=Label.USERNAME,
    pattern=LazyPattern(
        rf"""
        (?<![a-z]){_SURE_CUE}[ ]?[:=]?(?:[ ]{{1,2}}|(?<=[/:=]))\(?
        (?P<phi>[a-z][a-z]{{1,15}}(?:[._][a-z]{{1,12}}){{0,2}}[0-9]{{0,4}})
        (?![\w@/'-])(?!\.[a-z])
        """,
        _FLAGS,
    ),
    score=0.75,
    is_valid=_is_user_name,
    found=(
        "typed «mkowalik», e-sign «bsalgado» 1040, closed by «kbrandt2».",
        "scribe «pdunbar_ma», u:«mdesroches», (user «tpell2»)",
        "Taken by: «pvasquez», RN",
        "uploaded by «winters.o.civ», 22 SEP",
        "SIGNED «OFLUND7», entered «shiv.roe»; login: «mthorsen»",
    ),
    not_found=(
        "typed by transcriptionist, signed electronically, sent from triage, by mouth",
        "from t.i.d. to b.i.d., by S. Kowalik, entered by Smith, to grade3",
        "from pt.had, via Smith, by jones@example.com, to kowalik",
    ),
)

INITIAL_AND_SURNAME = Rule(
    name="username_initial_and_surname",
    label=Label.USERNAME,
    pattern=LazyPattern(
        r"(?<![\w.@/\\-])(?P<phi>(?P<letters>[A-Za-z]{4,13}[A-Za-z])[0-9]{1,4})(?![\w@%-])"
        r"(?![.,/][0-9])"
    ),
    score=0.75,
    is_valid=_is_glued_name,
    found=(
        "4/29 11:02 «kbrandt2» src 10.118.4.61; portal proxy («hchavis98»)",
        "D. Nakamura, RN  «dnaka7» 2331, MD / «AGRIG77» / E-SIGNED, via «lzimmer2»",
    ),
    not_found=("covid19, by day3, per CAPP2, grade3, vitamin12, stage4, bundle2",),
)

SPEAKER = Rule(
    name="username_of_speaker",
    label=Label.USERNAME,
    # In a thread of messages: who writes begins the line.
    pattern=LazyPattern(
        r"""
        (?:\A|\n)[ ]{0,2}(?:\[?[0-9]{1,2}:[0-9]{2}\]?[ ])?
        (?P<phi>[a-z]{2,14}(?:[._][a-z]{2,14}){1,2}[0-9]{0,3}|[a-z]{1,3}_[a-z]{3,14})
        (?=:[ ]|[ ]->)
        """,
        re.VERBOSE,
    ),
    score=0.8,
    is_valid=_is_speaker,
    found=("thread\n«nkowal_rn»: rm 21\n[09:16] «tess.okoro»: on it\n«dr.sekhon»: go",),
    not_found=("abd.soft: no, heart.lungs: clear\nresp.rate: 16\np.r.n: none",),
)

AT_LOGIN = Rule(
    name="username_before_login",
    label=Label.USERNAME,
    pattern=LazyPattern(
        r"""
        (?<![\w.@-])(?P<phi>[a-z]{2,20}\.[a-z]{1,20}[0-9]{0,4})[ ]
        (?:logged|signed)[ ](?:in|on|off|out)(?![a-z])
        """,
        _FLAGS,
    ),
    score=0.85,
    is_valid=lambda match: match["phi"].islower(),
    found=("by video («mroe.wn» logged in, cart 10)",),
    not_found=("in the portal.Signed in", "she logged in"),
)

HANDLE_ALONE = Rule(
    name="username_handle_alone",
    label=Label.USERNAME,
    pattern=LazyPattern(
        r"""
        @(?<![\w.@/-]@)(?=[a-z_.]{3,24}[0-9]{1,6}(?!\w)|[a-z]{2,20}[._][a-z])
        [a-z][\w.]{2,38}\w(?![@\w])
        """,
        _FLAGS,
    ),
    score=0.75,
    found=("posts as «@jane.roe», tagged «@janeroe77».",),
    not_found=("seen @bedside, @L4, @T10, @home, @rest.Then", "@ 3 pm", "a@b.com"),
    is_valid=lambda match: match[0].islower(),
)

HANDLE_FIRST = Rule(
    name="username_at_sign",
    label=Label.USERNAME,
    pattern=LazyPattern(
        rf"""
        @(?<![\w.@/-]@)[a-z_][\w.]{{1,40}}\w(?!@)
        (?=[ ]?[,(]?[ ]?(?:on|at|via|in)?[ ]?(?:his|her|their|the)?[ ]?
           {_NETWORKS}(?![a-z]))
        """,
        _FLAGS,
    ),
    score=0.85,
    found=("posts as «@janeroe» on Twitter, «@j.roe» (Instagram)",),
    not_found=("jane@example.com on Twitter", "@home with her", "@ 3 pm via portal"),
)

SPELLED_EMAIL = Rule(
    name="email_spelled",
    label=Label.EMAIL,
    pattern=LazyPattern(
        rf"""
        (?<![\w.+-])(?:[\w+-]{{1,40}}(?:{_DOT}|[ ]dot[ ])){{0,2}}[\w.+-]{{2,64}}
        (?:{_AT}[\w-]{{1,40}}(?:(?:{_DOT}|[ ]dot[ ]|\.)[\w-]{{1,40}}){{0,3}}?
             (?:{_DOT}[a-z]{{2,24}}|(?:[ ]dot[ ]|\.)(?:{_DOMAINS}|example))
          |[ ]at[ ][\w-]{{1,40}}(?:[ ]dot[ ][\w-]{{1,40}}){{0,2}}?
             [ ]dot[ ](?:{_DOMAINS}))
        (?![\w-])
        """,
        _FLAGS,
    ),
    score=0.93,
    found=(
        "write «jane.roe [at] example [dot] com», «jane(at)example.com» or",
        "that is «janeroe at example dot com», «osric(at)home(dot)example»",
        "write to «jane dot roe at example dot com», «j(dot)roe(at)example(dot)org»",
    ),
    not_found=(
        "seen at clinic dot",
        "red dot on the chest",
        "look at dot 3",
        "80 (at) rest",
    ),
)

RULES = (
    USERNAME,
    USERNAME_BARE,
    USERNAME_OF_ACTION,
    HANDLE,
    WITH_UNDERSCORE,
    USERNAME_AFTER_CUE,
    INITIAL_AND_SURNAME,
    SPEAKER,
    AT_LOGIN,
    HANDLE_ALONE,
    HANDLE_FIRST,
    SPELLED_EMAIL,
)
