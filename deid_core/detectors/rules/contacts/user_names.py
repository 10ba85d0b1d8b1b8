"""Rules for accounts on computers: user names, handles, spelled-out addresses.

Safe Harbor (F) and (R).
"""

from __future__ import annotations

import re

from deid_core.labels import Label
from deid_core.language.fragments import ends_with, words

from ..rule import Rule

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

USERNAME = Rule(
    name="username_labelled",
    label=Label.USERNAME,
    pattern=re.compile(
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
    pattern=re.compile(
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
    pattern=re.compile(
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
    pattern=re.compile(
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
    pattern=re.compile(
        r"""
        (?<![\w.@/\\-])(?P<phi>@?[a-z][a-z0-9]{1,20}(?:_[a-z0-9]{1,20}){1,3})(?![\w@/-])
        """,
        _FLAGS,
    ),
    score=0.7,
    is_valid=lambda match: (
        any(map(str.isdigit, match["phi"]))
        or match["phi"][0] == "@"
        or ends_with(_USER_CUE, match.string, match.start())
    ),
    found=("she is «roe_2013», uploaded as «gi_pa_team2», message from «jane_roe»",),
    not_found=("c.68_69del, post_op, 12_13, name_____, file_name", "p_value"),
)

AT_LOGIN = Rule(
    name="username_before_login",
    label=Label.USERNAME,
    pattern=re.compile(
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
    pattern=re.compile(
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
    pattern=re.compile(
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
    pattern=re.compile(
        rf"""
        (?<![\w.+-])[\w.+-]{{2,64}}
        (?:{_AT}[\w-]{{1,40}}(?:(?:{_DOT}|[ ]dot[ ]|\.)[\w-]{{1,40}}){{0,3}}?
             (?:{_DOT}|[ ]dot[ ]|\.)(?:{_DOMAINS})
          |[ ]at[ ][\w-]{{1,40}}(?:[ ]dot[ ][\w-]{{1,40}}){{0,2}}?
             [ ]dot[ ](?:{_DOMAINS}))
        (?![\w-])
        """,
        _FLAGS,
    ),
    score=0.93,
    found=(
        "write «jane.roe [at] example [dot] com», «jane(at)example.com» or",
        "that is «janeroe at example dot com»",
    ),
    not_found=("seen at clinic dot", "red dot on the chest", "look at dot 3"),
)

RULES = (
    USERNAME,
    USERNAME_BARE,
    USERNAME_OF_ACTION,
    HANDLE,
    WITH_UNDERSCORE,
    AT_LOGIN,
    HANDLE_ALONE,
    HANDLE_FIRST,
    SPELLED_EMAIL,
)
