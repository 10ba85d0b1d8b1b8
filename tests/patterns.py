"""Find the regular expressions that CPython before 3.11.5 or 3.13.1 matches wrongly.

A possessive quantifier over a group, and an atomic group, give other matches there than
in later versions, raise SystemError where a group captures, or match the empty string
for ever.  Possessive quantifiers over one character are sound in all of them.

Source: cpython issues 100061, 101955 and 106052.

Run as a program, it imports every module of the packages named, builds the presets and
scrubs notes, and prints each such pattern that is compiled on the way.
"""

from __future__ import annotations

import importlib
import pkgutil
import sys
import traceback
from collections.abc import Iterable, Iterator
from pathlib import Path
from re import _constants as codes
from re import _parser as parser

ROOT = Path(__file__).resolve().parent.parent
_ONE_CHARACTER = {codes.LITERAL, codes.NOT_LITERAL, codes.IN, codes.ANY}
_REPEATS = {codes.MAX_REPEAT, codes.MIN_REPEAT, codes.POSSESSIVE_REPEAT}


def unsound(pattern: str, flags: int = 0) -> list[str]:
    """Return what an old engine gets wrong in a pattern, a phrase for each place."""
    return list(_unsound(_parse(pattern, flags)))


def _unsound(parsed: Iterable) -> Iterator[str]:
    for code, argument in parsed:
        if code is codes.ATOMIC_GROUP:
            yield "atomic group"
        if code is codes.POSSESSIVE_REPEAT and not _is_one_character(argument[2]):
            yield "possessive quantifier over a group"
        for inner in _inner(code, argument):
            yield from _unsound(inner)


def _is_one_character(parsed) -> bool:
    return len(parsed) == 1 and parsed[0][0] in _ONE_CHARACTER


def _inner(code, argument) -> Iterable:
    if code in _REPEATS:
        return [argument[2]]
    if code is codes.SUBPATTERN:
        return [argument[3]]
    if code is codes.BRANCH:
        return argument[1]
    if code in (codes.ASSERT, codes.ASSERT_NOT):
        return [argument[1]]
    if code is codes.GROUPREF_EXISTS:
        return [each for each in argument[1:] if each]
    if code is codes.ATOMIC_GROUP:
        return [argument]
    return []


_parse = parser.parse


class Watch:
    """Look at every pattern that is compiled by a file below the project's folder."""

    def __init__(self) -> None:
        self.seen = 0
        self.found: list[str] = []

    def __call__(self, pattern, flags=0, state=None):
        parsed = _parse(pattern, flags, state)
        if place := _place():
            self.seen += 1
            self.found += [f"{place}: {each}" for each in _unsound(parsed)]
        return parsed


def _place() -> str:
    """Return the line that asked for the pattern, "" if it is none of the project's."""
    for frame, line in traceback.walk_stack(None):
        path = Path(frame.f_code.co_filename)
        if path.parent.name == "re" or frame.f_code.co_filename == __file__:
            continue
        if ".venv" not in path.parts and path.is_relative_to(ROOT):
            return f"{path.relative_to(ROOT)}:{line}"
        return ""
    return ""


def import_all(packages: Iterable[str]) -> None:
    """Import every module of the packages but those that run when imported."""
    for name in packages:
        package = importlib.import_module(name)
        for module in pkgutil.walk_packages(package.__path__, f"{name}."):
            if not module.name.endswith("__main__"):
                importlib.import_module(module.name)


SYSTEMS = (
    ("hybrid", "safe-harbor"),
    ("hybrid", "surrogate"),
    ("nus", "safe-harbor"),
    ("meddocan", "surrogate"),
)


def use(systems: Iterable[tuple[str, str]]) -> None:
    """Scrub a note by each preset and policy: many patterns are made only then."""
    from datetime import date

    from deid_core import (
        Address,
        Deidentifier,
        Document,
        KnownId,
        KnownIdentifiers,
        Label,
        PersonName,
    )

    record = KnownIdentifiers(
        patient_names=(PersonName("O'Brien-Łukasz", "Mary Ann"),),
        provider_names=(PersonName("Reitman", "J.", prefix="Dr."),),
        birth_dates=(date(1931, 4, 2),),
        addresses=(Address("12 Oak St", "Apt 3", "Salem", "OR", "97301"),),
        phones=("503-555-0147",),
        emails=("mary@example.org",),
        ids=(KnownId("00482913", Label.MEDICALRECORD),),
        facilities=("Mercy General Hospital",),
        employers=("Acme Tool Works",),
    )
    text = (
        "Dr. J.R. Reitman saw Mary Ann O'Brien-Lukasz (MRN 00482913, DOB 4/2/1931) of "
        "12 Oak St, Salem, OR 97301 at Mercy General Hospital; 503-555-0147, "
        "mary@example.org.\nMARY OBRIEN works at Acme Tool Works.\n"
    )
    key = b"k" * 32
    for preset, policy in systems:
        system = Deidentifier.from_names(preset, policy, key)
        for each in (text, text.upper(), text.lower(), text + "né à Orléans"):
            system.deidentify_batch([Document("d", each, record)])


if __name__ == "__main__":
    watch = Watch()
    parser.parse = watch
    import_all(["deid_core", "streams", "schemas"])
    use(SYSTEMS)
    print("\n".join(watch.found))
    print(f"{watch.seen} patterns of the project")
    sys.exit(bool(watch.found) or not watch.seen)
