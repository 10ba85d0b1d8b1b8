"""The codes, roots and versions that are kept: those of code_systems.toml."""

from __future__ import annotations

import re

from deid_core.runtime.toml_files import table_of
from streams.formats import terminology
from streams.formats.terminology import CodeSystems

_TABLE = table_of(__package__, "code_systems")
_URLS = _TABLE["fhir"]
_SYSTEMS = CodeSystems(_TABLE)
_ROOTS = _TABLE["roots"]
_TEMPLATE = re.compile(_TABLE["templates"]["form"], re.ASCII)
_VERSION = re.compile(_TABLE["templates"]["version"], re.ASCII)
_LANGUAGES = "urn:ietf:bcp:47"


def is_code(system: str, code: str) -> bool:
    """Return whether it is a code of a known system (an OID)."""
    return terminology.is_code(_URLS.get(system), code) or _SYSTEMS.is_code(
        system, code
    )


def is_code_system(system: str) -> bool:
    """Return whether an OID is that of a public code system."""
    return system in _URLS or system in _SYSTEMS


def is_display(system: str, text: str) -> bool:
    """Return whether a text is what a known system calls one of its codes."""
    return terminology.is_display(_URLS.get(system), text) or _SYSTEMS.is_display(
        system, text
    )


def is_language(code: str) -> bool:
    """Return whether it is a language, in whatever letter case."""
    language, dash, region = code.partition("-")
    return terminology.is_code(_LANGUAGES, language.lower() + dash + region.upper())


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
