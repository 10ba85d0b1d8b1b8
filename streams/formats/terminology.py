"""The codes and units that are kept: those of code_systems.toml."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from stdnum import luhn, verhoeff

from deid_core.runtime.toml_files import table_of

UCUM = "http://unitsofmeasure.org"
MEDIA_TYPES = "urn:ietf:bcp:13"

_CHECKS = {"luhn": luhn.is_valid, "verhoeff": verhoeff.is_valid}


class CodeSystems:
    """Code systems by their names: URLs, or object identifiers.

    Args:
        table: `patterns`: the form of a system's codes; `check_digits`: how they end;
            `codes`: all of them, or the name of one of `lists`; `displays`: what a
            system calls them.
    """

    def __init__(self, table: Mapping[str, Any]) -> None:
        self._patterns = {
            system: re.compile(pattern, re.ASCII)
            for system, pattern in table["patterns"].items()
        }
        self._codes = {
            system: frozenset(
                table["lists"][codes] if isinstance(codes, str) else codes
            )
            for system, codes in table["codes"].items()
        }
        self._displays = {name: frozenset(of) for name, of in table["displays"].items()}
        self._check_digits = table.get("check_digits", {})

    def __contains__(self, system: object) -> bool:
        """Return whether a system is one whose codes are kept."""
        return system in self._codes or system in self._patterns

    def is_code(self, system: object, code: str) -> bool:
        """Return whether it is a code of a known system."""
        if system in self._codes:
            return code in self._codes[system]
        pattern = self._patterns.get(system)
        if pattern is None or not pattern.fullmatch(code):
            return False
        check = self._check_digits.get(system)
        digits = code.replace("-", "")
        return not check or not digits.isdecimal() or bool(_CHECKS[check](digits))

    def is_display(self, system: object, text: str) -> bool:
        """Return whether a text is what a known system calls one of its codes."""
        return text in self._displays.get(system, ())


_TABLE = table_of(__package__, "code_systems")
_SYSTEMS = CodeSystems(_TABLE)
_IDENTIFIERS = frozenset(_TABLE["identifiers"])
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
    return is_unit(code) if system == UCUM else _SYSTEMS.is_code(system, code)


def is_code_system(system: object) -> bool:
    """Return whether a system is one whose codes are kept."""
    return isinstance(system, str) and system in _SYSTEMS


def is_display(system: object, text: str) -> bool:
    """Return whether a text is what a known system calls one of its codes."""
    return isinstance(system, str) and _SYSTEMS.is_display(system, text)


def is_unit(text: str) -> bool:
    """Return whether it is a unit of UCUM, or how one is commonly written."""
    return len(text) < 40 and (text in _WORDS or bool(_UNITS.fullmatch(text)))


def is_namespace(system: str) -> bool:
    """Return whether a system is public: it names no institution."""
    return system in _IDENTIFIERS or system in _SYSTEMS
