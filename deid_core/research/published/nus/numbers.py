"""Section 3.2: identification and contact numbers by their generic formats.

The paper prints no patterns.  Here an id has one of the shapes in the preset, without a
letter or digit next to it; a Singapore NRIC or FIN is a letter, seven digits and a
letter.  A contact number has 7 digits (an old local number) to 15 (ITU E.164), in
groups separated by one space or dash: at most three groups of three digits or more, the
last of four or more, after an optional country code.  Shorter groups are dates and
readings: "2024-03-14" and "120 80 72" do not match.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from deid_core.document import Annotation, Span
from deid_core.errors import ConfigError
from deid_core.labels import Label

SCORE = 0.56
_LEAST_DIGITS, _MOST_DIGITS = 7, 15
_BEFORE, _AFTER = r"(?<![^\W_])", r"(?![^\W_])"
_CONTACT = re.compile(
    rf"{_BEFORE}(?:\+?[0-9]{{1,3}}[ -])?"
    rf"(?:[0-9]{{3,4}}[ -]){{0,2}}[0-9]{{4,15}}{_AFTER}"
)


def id_pattern(shapes: Iterable[str]) -> re.Pattern[str]:
    """Return the pattern of ids of these shapes, in either case.

    Raises:
        ConfigError: A shape has no digit.
    """
    parts = []
    for shape in shapes:
        if not any(map(str.isdecimal, shape)):
            raise ConfigError("nus.id_shapes: a shape must hold a digit")
        parts.append("".join(map(_class_of, shape)))
    parts.sort(key=len, reverse=True)
    return re.compile(rf"{_BEFORE}(?:{'|'.join(parts)}){_AFTER}")


def numbers(text: str, ids: re.Pattern[str]) -> Iterator[Annotation]:
    """Yield the ids and the contact numbers of a note."""
    for found in ids.finditer(text):
        yield Annotation(Span(*found.span()), Label.IDNUM, SCORE, "nus", "id")
    for found in _CONTACT.finditer(text):
        digits = sum(map(str.isdecimal, found[0]))
        if _LEAST_DIGITS <= digits <= _MOST_DIGITS:
            yield Annotation(Span(*found.span()), Label.PHONE, SCORE, "nus", "contact")


def _class_of(character: str) -> str:
    if character.isalpha():
        return "[A-Za-z]"
    return "[0-9]" if character.isdecimal() else re.escape(character)
