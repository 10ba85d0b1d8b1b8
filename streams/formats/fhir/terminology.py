"""The codes and units that are kept: those of code_systems.toml."""

from __future__ import annotations

import re

from stdnum import luhn, verhoeff

from deid_core.runtime.toml_files import table_of

UCUM = "http://unitsofmeasure.org"
MEDIA_TYPES = "urn:ietf:bcp:13"

_TABLE = table_of(__package__, "code_systems")
_CHECKS = {"luhn": luhn.is_valid, "verhoeff": verhoeff.is_valid}
_CHECK_DIGITS = _TABLE["check_digits"]
_PATTERNS = {
    system: re.compile(pattern, re.ASCII)
    for system, pattern in _TABLE["patterns"].items()
}
_CODES = {system: frozenset(codes) for system, codes in _TABLE["codes"].items()}
_DISPLAYS = {name: frozenset(each) for name, each in _TABLE["displays"].items()}
_NAMESPACES = frozenset((*_TABLE["identifiers"], *_PATTERNS, *_CODES))
_WORDS = frozenset(_TABLE["ucum"]["words"])


def _any_of(words: list[str]) -> str:
    return "|".join(map(re.escape, sorted(words, key=len, reverse=True)))


def _units() -> re.Pattern[str]:
    """Return a pattern of UCUM units: atoms in products and quotients."""
    ucum = _TABLE["ucum"]
    atom = f"(?:{_any_of(ucum['prefixes'])})?(?:{_any_of(ucum['atoms'])})(?:-?\\d)?"
    annotation = _any_of(ucum["annotations"])
    one = f"(?:\\d{{1,3}}|{atom}(?:{annotation})?|{annotation})"
    return re.compile(f"/?{one}(?:[./]{one}){{0,4}}", re.ASCII)


_UNITS = _units()


def is_code(system: object, code: object) -> bool:
    """Return whether it is a code of a known system."""
    if not isinstance(system, str) or not isinstance(code, str):
        return False
    if system == UCUM:
        return is_unit(code)
    if system in _CODES:
        return code in _CODES[system]
    pattern = _PATTERNS.get(system)
    if pattern is None or not pattern.fullmatch(code):
        return False
    check = _CHECK_DIGITS.get(system)
    digits = code.replace("-", "")
    return not check or not digits.isdecimal() or bool(_CHECKS[check](digits))


def is_code_system(system: object) -> bool:
    """Return whether a system is one whose codes are kept."""
    return isinstance(system, str) and (system in _CODES or system in _PATTERNS)


def is_display(system: object, text: str) -> bool:
    """Return whether a text is what a known system calls one of its codes."""
    return isinstance(system, str) and text in _DISPLAYS.get(system, ())


def is_unit(text: str) -> bool:
    """Return whether it is a unit of UCUM, or how one is commonly written."""
    return len(text) < 40 and (text in _WORDS or bool(_UNITS.fullmatch(text)))


def is_namespace(system: str) -> bool:
    """Return whether a system is public: it names no institution."""
    return system in _NAMESPACES
