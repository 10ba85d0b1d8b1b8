"""Adversarial texts of any length: one hostile part repeated, or endless values.

Each text has a name; its builder returns it with exactly so many characters.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import count
from pathlib import Path
from types import MappingProxyType

from deid_core.research.corpora.readers import read_corpus

_NOTES = Path(__file__).parent.parent / "written_notes" / "train"
_ONSETS = ("B", "D", "Fr", "G", "H", "K", "L", "M", "N", "P", "R", "S", "T", "V", "W")
_NUCLEI = ("a", "e", "i", "o", "u", "ai", "ou")
_CODAS = ("b", "ck", "ld", "m", "nd", "rn", "ss", "tz", "v", "wick", "x")

PARTS: Mapping[str, str] = MappingProxyType(
    {
        "letters": "a",
        "capitals": "A",
        "digits": "1",
        "nines": "9",
        "zeros alone": "0",
        "spaces": " ",
        "tabs": "\t",
        "lines": "\n",
        "carriage returns": "\r",
        "empty lines": " \n",
        "commas": ",",
        "dots": ".",
        "colons": ":",
        "stars": "*",
        "underscores": "_",
        "quotes": '"',
        "apostrophes alone": "'",
        "ampersands": "&",
        "number signs": "#",
        "at signs": "@",
        "percents": "%",
        "parentheses": "(",
        "nested": "([{",
        "closing": ")]}",
        "dashes": "-",
        "en dashes": "\u2013",
        "slashes": "/",
        "control": "\x01",
        "non-breaking spaces": "\xa0",
        "lone surrogates": "\ud800",
        "apostrophes": "O'",
        "combining": "e\u0301",
        "marks alone": "\u0301",
        "accents": "\u00e9",
        "sharp s": "\u00df",
        "dotted capital i": "\u0130",
        "chinese": "\u738b",
        "mixed scripts": "\u738b\u0416a\u0301\u05d0\u0662",
        "mixed words": "Ren\u00e9e M\u00fcller \u738b\u5c0f \u0418\u0432\u0430. ",
        "emoji": "\U0001f600",
        "soft hyphens": "Aa\u00adb",
        "hyphenated lines": "aa\u00ad\n",
        "zero width": "Aa\u200b",
        "tag characters": "\U000e0041",
        "control characters": "a\x00",
        "fullwidth": "\uff33\uff4d ",
        "ligatures": "\ufb03",
        "raised digits": "\u00b2",
        "line through": "S\u0336",
        "letter and space": "a ",
        "capital and space": "A ",
        "digit and space": "1 ",
        "dot and space": ". ",
        "camel": "Aa",
        "mixed digits": "a1",
        "capital digits": "A1-",
        "hyphenated": "a-",
        "hyphenated names": "Ana-",
        "dotted": "a.",
        "dotted capitals": "A.",
        "dotted numbers": "1.",
        "capital words": "AA BB ",
        "title words": "Aa Bb ",
        "one name": "Ana ",
        "one name a line": "Ana\n",
        "small words": "aa bb ",
        "initials": "A. B. ",
        "mr initials": "Mr. A. A. A. ",
        "doctors": "Dr. Dr. Dr. ",
        "doctor names": "Dr. Ana Rostova ",
        "credentials": "M.D. ",
        "credentials behind commas": ", MD, RN",
        "dates": "1/1/",
        "dates written": "1/2/2024 ",
        "dates joined": "1/2/2024-",
        "zeros": "00-00-00",
        "months": "May ",
        "months and days": "May 5-",
        "days of months": "5 May ",
        "weekdays": "Mon ",
        "years": "2024 ",
        "times": "10:30 ",
        "ages": "91 year ",
        "emails": "a@a@a@",
        "emails written": "a@b.co ",
        "dotted emails": "a.a.a.a@",
        "dot words": "john at example dot ",
        "links": "www.",
        "protocols": "http://",
        "paths": "/a/b?c=d&",
        "hosts": "a.com.",
        "ip": "1.1.1.1.",
        "ipv6": "fe80:",
        "mac": "0a:",
        "phones": "212-555-0142",
        "phones apart": "212-555-0142 ",
        "national phones": "020 7946 0018 ",
        "plus": "+1 ",
        "extensions": "x1234 ",
        "labels": "MRN MRN: ",
        "label words": "patient id no. ",
        "label and value": "MRN: 7788 ",
        "names labelled": "Name: Ana ",
        "cards": "4111 1111 ",
        "ibans": "GB29 NWBK ",
        "nric": "S1234567",
        "streets": "12 Main ",
        "street suffixes": "12 Oak St ",
        "blocks": "Blk 1 Ang ",
        "post codes": "SW1A 1AA ",
        "zips": "Boston, MA 02115, ",
        "counties": "Fox Hollow County ",
        "boxes": "RR 2 Box ",
        "jobs": "is a senior ",
        "works as": "works as a ",
        "handles": "@aa_",
        "typists": "\nJS/mt",
        "closings": "Sincerely,\n",
        "quarters": "Q1 2024",
        "possessives": "Rostova's ",
        "lower names": "mr ana ",
        "commas and names": "Rostova, Ana, ",
        "names and": "Ana and Luis and ",
        "links of names": "Ana de la ",
        "known names": "Marguerite Oyelaran ",
        "known names joined": "MargueriteOyelaran",
        "known names dashed": "Oyelaran-",
        "known parts": "oyelaran oyelaren ",
        "known initials": "M. O. ",
        "known digits": "7788 ",
        "known id": "77889911 ",
        "known id spread": "7-7-8-8-9-9-1-1-",
        "known id in zeros": "0077889911",
        "known phone": "216-555-0177 ",
        "known date": "4/5/1961 ",
        "known year": "1961 ",
        "known born": "born 4 ",
        "known street": "77 Larkspur ",
        "known town": "Ashbury, ",
        "known e-mail": "m.oyelaran@example.org ",
        "known tail": "ending 9911 ",
        "known tail behind a mask": "****-9911 ",
        "hospitals": "Cedar Crest General ",
        "hospital words": "Hospital ",
        "at hospitals": "at the Hospital of ",
        "tags": "[NAME:PATIENT]",
        "mg": "5 mg ",
        "sentence without end": "she was seen and ",
    }
)


def _name(number: int) -> str:
    """Return a distinct name for a number that no list has."""
    name = ""
    while True:
        number, onset = divmod(number, len(_ONSETS))
        number, nucleus = divmod(number, len(_NUCLEI))
        name += _ONSETS[onset] + _NUCLEI[nucleus]
        if not number:
            return (name + _CODAS[len(name) % len(_CODAS)]).capitalize()
        number, coda = divmod(number - 1, len(_CODAS))
        name += _CODAS[coda]


def _dated(number: int) -> str:
    return f"{1 + number % 12}/{1 + number % 28}/{1900 + number % 120}"


VALUES: Mapping[str, Callable[[int], str]] = MappingProxyType(
    {
        "names": lambda n: f"Dr. {_name(n)} {_name(n + 7_919)} saw the patient.",
        "names alone": lambda n: f"{_name(n)}",
        "names in capitals": lambda n: f"DR. {_name(n).upper()} SAW THE PATIENT.",
        "names in a list": lambda n: f"{_name(n)}, {_name(n + 7_919)} MD;",
        "names with accents": lambda n: f"Mr. {_name(n)}\u00e9 was seen.",
        "names of patients": lambda n: f"Patient: {_name(n)} {_name(n + 7_919)}",
        "misspelt names": lambda n: f"Oyel{_name(n).lower()[:2]}ran was seen.",
        "hospitals by name": lambda n: f"Seen at {_name(n)} General Hospital.",
        "towns": lambda n: f"Lives in {_name(n)}ville, OH 4{n % 10_000:04}.",
        "streets by name": lambda n: f"Lives at {n} {_name(n)} Street.",
        "numbers": lambda n: f"{n * 7_919}",
        "record numbers": lambda n: f"MRN: {10_000_000 + n}",
        "social security": lambda n: (
            f"SSN {200 + n % 500}-{n % 90 + 10}-{n % 9000 + 1000}"
        ),
        "account letters": lambda n: f"Account AB{n:07}",
        "phone numbers": lambda n: f"Phone 216-{n % 800 + 200}-{n % 9000 + 1000}",
        "mails": lambda n: f"E-mail {_name(n).lower()}@example.org",
        "hosts by name": lambda n: f"See www.{_name(n).lower()}.com/{n}",
        "user names": lambda n: f"Login: {_name(n).lower()}{n}",
        "days": _dated,
        "days of birth": lambda n: f"DOB: {_dated(n)}",
        "ages by number": lambda n: f"{n % 120}-year-old with {n} complaints.",
        "words": lambda n: f"{_name(n).lower()}",
        "words with numbers": lambda n: f"{_name(n).lower()}{n}",
        "professions": lambda n: f"works as a {_name(n).lower()} engineer.",
    }
)
"""Values that follow one another, each time a different one."""

RECORD_DIGITS = "77889911"
RUNS: Mapping[str, str] = MappingProxyType(
    {
        "a long word": "a",
        "long capitals": "A",
        "long digits": "1",
        "long zeros": "0",
        "long blanks": " ",
        "long blank lines": "\n",
        "long dashes": "-",
        "long stars": "*",
        "long dots": ".",
        "long accents": "\u00e9",
    }
)
"""What is between two identifiers, as long as all other text."""


def _written_notes() -> str:
    return "\n\n".join(each.text for each in read_corpus(_NOTES).documents)


def _repeated(part: str) -> Callable[[int], str]:
    return lambda size: (part * (size // len(part) + 1))[:size]


def _behind(prose: str, part: str) -> Callable[[int], str]:
    def text(size: int) -> str:
        return _repeated(prose)(size // 4) + _repeated(part)(size - size // 4)

    return text


def _listed(value: Callable[[int], str], gap: str) -> Callable[[int], str]:
    def text(size: int) -> str:
        return gap.join(_until(size, map(value, count()), len(gap)))[:size]

    return text


def _until(size: int, values: Iterator[str], gap: int) -> Iterator[str]:
    length = 0
    while length < size + gap:
        value = next(values)
        length += len(value) + gap
        yield value


def _between(filler: str) -> Callable[[int], str]:
    def text(size: int) -> str:
        head = "Mr. Oyelaran, 77 Larkspur Crossing, ending "
        tail = f" 9911, MRN {RECORD_DIGITS}, born 4/5/1961, call Dr. Rostova."
        return (head + filler * (size - len(head) - len(tail)) + tail)[:size]

    return text


def _all_texts() -> Iterator[tuple[str, Callable[[int], str]]]:
    prose = _written_notes()
    line = prose.replace("\n", " ")
    yield "prose", _repeated(prose)
    yield "prose in one line", _repeated(line)
    yield "prose in capitals", _repeated(prose.upper())
    yield "prose in small letters", _repeated(prose.lower())
    yield "prose in one line of small letters", _repeated(line.lower())
    for name, value in VALUES.items():
        yield name, _listed(value, "\n")
        yield f"{name} in one line", _listed(value, " ")
    for name, filler in RUNS.items():
        yield name, _between(filler)
    for name, part in PARTS.items():
        yield name, _repeated(part)
        if part.isupper() or part.islower():
            # Alone it is a note in one letter case, which is read in another.
            yield f"{name} behind prose", _behind(prose, part)
    everything = " ".join(part.strip() or part for part in PARTS.values())
    yield "all of them", _repeated(everything)


TEXTS: Mapping[str, Callable[[int], str]] = MappingProxyType(dict(_all_texts()))
"""Every text by name: a function of its length in characters."""
