"""The codes, roots and versions that are kept: those of code_systems.toml."""

from __future__ import annotations

import re

from deid_core.runtime.toml_files import table_of
from streams.formats.fhir.terminology import is_code as is_fhir_code
from streams.formats.fhir.terminology import is_display as is_fhir_display
from streams.formats.fhir.terminology import is_unit

__all__ = [
    "is_code",
    "is_code_system",
    "is_display",
    "is_language",
    "is_public_root",
    "is_template",
    "is_unit",
    "is_version",
    "type_of_root",
]

_TABLE = table_of(__package__, "code_systems")
_FHIR = _TABLE["fhir"]
_PATTERNS = {
    system: re.compile(pattern, re.ASCII)
    for system, pattern in _TABLE["patterns"].items()
}
_CODES = {system: frozenset(codes) for system, codes in _TABLE["codes"].items()}
_DISPLAYS = {name: frozenset(each) for name, each in _TABLE["displays"].items()}
_SYSTEMS = frozenset((*_FHIR, *_PATTERNS, *_CODES))
_ROOTS = _TABLE["roots"]
_TEMPLATE = re.compile(_TABLE["templates"]["form"], re.ASCII)
_VERSION = re.compile(_TABLE["templates"]["version"], re.ASCII)
_LANGUAGES = "urn:ietf:bcp:47"


def is_code(system: str, code: str) -> bool:
    """Return whether it is a code of a known system (an OID)."""
    if is_fhir_code(_FHIR.get(system), code) or code in _CODES.get(system, ()):
        return True
    pattern = _PATTERNS.get(system)
    return pattern is not None and bool(pattern.fullmatch(code))


def is_code_system(system: str) -> bool:
    """Return whether an OID is that of a public code system."""
    return system in _SYSTEMS


def is_display(system: str, text: str) -> bool:
    """Return whether a text is what a known system calls one of its codes."""
    return is_fhir_display(_FHIR.get(system), text) or text in _DISPLAYS.get(system, ())


def is_language(code: str) -> bool:
    """Return whether it is a language, in whatever letter case."""
    language, dash, region = code.partition("-")
    return is_fhir_code(_LANGUAGES, language.lower() + dash + region.upper())


def is_template(root: str) -> bool:
    """Return whether an OID is that of a published template or value set."""
    return bool(_TEMPLATE.fullmatch(root))


def is_version(text: str) -> bool:
    """Return whether it is a version of a template, a value set or a code system."""
    return bool(_VERSION.fullmatch(text))


def is_public_root(root: str) -> bool:
    """Return whether a root of identifiers is public: it names no institution."""
    return _entry(root) is not None or is_template(root)


def type_of_root(root: str) -> str:
    """Return the type (HL7 table 0203) of identifiers under a root, if it says so."""
    return _entry(root) or ""


def _entry(root: str) -> str | None:
    if root in _ROOTS:
        return str(_ROOTS[root])
    begins = root.rpartition(".")[0] + "."
    return str(_ROOTS[begins]) if begins in _ROOTS else None
