"""Rules for holidays that date an event: "after Thanksgiving", "since Diwali"."""

from __future__ import annotations

import re

from deid_core.labels import Label
from deid_core.language.fragments import YEAR

from ..rule import Rule

_OF_YEAR = rf"(?:,?[ ](?:of[ ])?(?:{YEAR}|'[0-9]{{2}}(?![0-9])))?"
# Nouns after which the name of a holiday is no date.
_NO_DATE = r"""
    (?![ -](?:trees?|disease|factor|seals?|carols?|cards?|cactus|lights|lily|lilies
      |eggs?|bunny|island|candy|costumes?|cookies?)(?![a-z]))
"""

HOLIDAY = Rule(
    name="date_holiday",
    label=Label.DATE,
    pattern=re.compile(
        rf"""
        (?<![a-z])
        (?:(?:Christmas|Xmas
            |(?:Chinese[ ]|Lunar[ ]|(?<!chinese[ ])(?<!lunar[ ]))New[ ]Year'?s?)
           (?:[ ](?:Day|Eve))?
          |Thanksgiving(?:[ ]Day)?
          |Easter(?:[ ](?:Sunday|Monday))?|Good[ ]Friday|Halloween|Boxing[ ]Day
          |(?:Valentine'?s|St\.?[ ]Patrick'?s|Mother'?s|Father'?s|Labou?r|Memorial
            |Independence|Veterans'?|Columbus|Presidents?'?|MLK|Groundhog|Canada
            |Australia|Anzac|Bastille|National|Patriots?'?|Flag|Indigenous[ ]Peoples?'?
            |St\.?[ ](?:Stephen|Andrew|David|George)'?s|All[ ]S(?:ain|oul)ts?'?s?
            |Remembrance|Republic|Vesak|Wesak|Women'?s|Children'?s)[ ]Day
          |Martin[ ]Luther[ ]King(?:,?[ ]Jr\.?)?[ ]Day
          |Fourth[ ]of[ ]July|Hanukkah|Chanukah|Yom[ ]Kippur|Passover|Purim|Sukkot
          |Shavuot|Rosh[ ]Hashanah|Ramadan|Ramadhan
          |Eid(?:[ -](?:al|ul)[ -](?:Fitr|Adha))?|Hari[ ]Raya(?:[ ](?:Puasa|Haji))?
          |Diwali|Deepavali|Thaipusam|Navratri|Vesak|Wesak|Songkran|Nowruz
          |Cinco[ ]de[ ]Mayo|Dia[ ]de[ ]los[ ]Muertos|Day[ ]of[ ]the[ ]Dead
          |Mardi[ ]Gras|Ash[ ]Wednesday|Palm[ ]Sunday|Maundy[ ]Thursday|Pentecost
          |Juneteenth|Black[ ]Friday|Cyber[ ]Monday|Super[ ]Bowl(?:[ ]Sunday)?
          |Kwanzaa|Hogmanay|Bonfire[ ]Night|Guy[ ]Fawkes(?:[ ]Night)?)
        (?![a-z]){_NO_DATE}{_OF_YEAR}
        """,
        re.VERBOSE | re.IGNORECASE,
    ),
    score=0.8,
    is_valid=lambda match: match[0][0].isupper(),
    found=(
        "the day after «Thanksgiving», before «Christmas Day 2023»",
        "on the «Fourth of July»",
        "since «New Year's Eve»",
        "near «Memorial Day»",
        "fasting in «Ramadan», well since «Eid al-Fitr 2023», «Hari Raya Puasa»",
        "after «Chinese New Year», at «Deepavali», on «Vesak Day»",
        "«Martin Luther King Jr. Day», «Passover '22»",
    ),
    not_found=(
        "a Christmas tree pattern rash",
        "Christmas disease",
        "northeastern, eastern",
        "Easter Seals",
        "every day",
        "may day, a new year, all day",
        "National Guard, Flag sign, Super",
    ),
)

RULES = (HOLIDAY,)
