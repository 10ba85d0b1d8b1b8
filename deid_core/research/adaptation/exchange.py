"""Other values in place of a line's labelled ones, in the same form.

The tagger must learn what is around a value and how it is written, never the value: no
line is learned from with the values of a real patient.
"""

from __future__ import annotations

import re
import string
from dataclasses import dataclass, field
from functools import cache
from random import Random

from deid_core.labels import Label
from deid_core.language.fragments import words
from deid_core.language.lexicons import load_list
from deid_core.research.synthetic_notes import values
from deid_core.research.synthetic_notes.people import draw_person
from deid_core.research.synthetic_notes.splits import Half
from deid_core.research.training.encoding import Line
from deid_core.research.training.list_sources import frequent
from deid_core.tagger.codec import TagSpan

_RUN = re.compile(r"[^\W\d_]+|\d+")
_LONGEST_CODE = 3
_NAMES = frozenset({Label.PATIENT.value, Label.DOCTOR.value})
_KINDS = frozenset(
    words(
        "st street road rd ave avenue lane ln drive dr blvd court ct way place pl apt "
        "unit suite ste floor po box house lodge wing row ward the of and at for north "
        "south east west saint mount jr sr inc llc ltd"
    )
)
_MONTHS = words(
    "january february march april may june july august september october november "
    "december"
)
_DAYS = words("monday tuesday wednesday thursday friday saturday sunday")


@dataclass(slots=True)
class Exchange:
    """Values of one note or copy: the same word always becomes the same word.

    Args:
        chance: Decides everything.
    """

    chance: Random
    _words: dict[tuple[str, str], str] = field(default_factory=dict, repr=False)

    def line(self, line: Line) -> Line:
        """Return the line with other values."""
        text, spans, at = "", list[TagSpan](), 0
        for span in line.spans:
            text += line.text[at : span.start]
            start = len(text)
            text += self.value(line.text[span.start : span.end], span.tag)
            spans.append(TagSpan(start, len(text), span.tag))
            at = span.end
        return Line(text + line.text[at:], tuple(spans))

    def value(self, value: str, tag: str) -> str:
        """Return another value in the form of this one."""
        if tag == Label.DATE.value:
            return _RUN.sub(lambda run: self._of_date(run[0]), value)
        if tag.startswith(("ID:", "CONTACT:", Label.ZIP.value)):
            return "".join(map(self._sign, value))
        return _RUN.sub(lambda run: self._word(run[0], value, tag), value)

    def _of_date(self, run: str) -> str:
        lower = run.lower()
        for names in (_MONTHS, _DAYS):
            for name in names:
                # Also "sept" and "thurs".
                if len(lower) >= 2 and name.startswith(lower):
                    other = self.chance.choice(names)
                    return _cased(run, other if lower == name else other[: len(run)])
        if not run.isdigit():
            return run
        number = int(run[:4])
        for most in (12, 28, 31, 59):
            if number <= most and len(run) <= 2:
                drawn = self.chance.randint(1, most)
                return f"{drawn:02}" if len(run) == 2 and drawn < 10 else str(drawn)
        if len(run) == 4:
            return str(self.chance.randint(1925, 2029))
        return "".join(map(self._sign, run))

    def _word(self, word: str, value: str, tag: str) -> str:
        key = word.lower(), tag
        if word.isdigit() and tag != Label.STREET.value:
            return "".join(map(self._sign, word))
        if key[0] in _KINDS or key[0] in load_list("institution_words"):
            return word
        if word.isdigit() or (len(word) <= _LONGEST_CODE and _is_code(word, value)):
            return self._words.setdefault(key, "".join(map(self._sign, word)))
        if key not in self._words:
            self._words[key] = self._new(tag, is_last=value.endswith(word))
        return _cased(word, self._words[key])

    def _new(self, tag: str, *, is_last: bool) -> str:
        if tag in _NAMES or tag == Label.USERNAME.value:
            person = draw_person(Half.TRAINING, self.chance, Label.DOCTOR)
            drawn = person.family if is_last else person.given
            return _first_word(drawn.text)
        if tag == Label.CITY.value or self.chance.random() < 0.4:
            return _first_word(values.town(Half.TRAINING, self.chance))
        if self.chance.random() < 0.5:
            return self.chance.choice(_plain_words())
        person = draw_person(Half.TRAINING, self.chance, Label.DOCTOR)
        return _first_word(person.family.text)

    def _sign(self, sign: str) -> str:
        if sign.isdigit():
            return self.chance.choice(string.digits)
        if sign.isalpha():
            drawn = self.chance.choice(string.ascii_lowercase)
            return drawn.upper() if sign.isupper() else drawn
        return sign


def _is_code(word: str, value: str) -> bool:
    """Return whether letters are a code or initials: ``kst/04``, ``KS``."""
    alone = len(_RUN.findall(value)) == 1
    with_number = any(map(str.isdigit, value))
    return len(word) == 1 or with_number or word.isupper() or (alone and word.islower())


def _first_word(text: str) -> str:
    found = _RUN.search(text)
    return found[0] if found else text


def _cased(old: str, new: str) -> str:
    if len(old) > 1 and old.isupper():
        return new.upper()
    return new.lower() if old.islower() else new.capitalize()


@cache
def _plain_words() -> tuple[str, ...]:
    """Return words of English, which houses and units are called by, too."""
    drawn = frequent("en 2000-12000")
    return tuple(each for each in drawn if len(each) > _LONGEST_CODE and each.isalpha())
