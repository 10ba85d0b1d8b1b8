"""References between resources (FHIR R4, 2.3.0): what they point to, and what is shown.

The id of a resource has the same pseudonym wherever it occurs: as `id`, in `fullUrl`
and in references, relative (`Patient/123`), absolute, or `urn:uuid:`.  A server's
address is never shown.
"""

from __future__ import annotations

import re
import uuid
from dataclasses import dataclass, field

from streams.model.parts import Values

from .rules import RESOURCE_TYPES

BASE = "https://fhir.invalid"
"""Stands for every server; RFC 2606 reserves the name."""

_TYPE_AND_ID = re.compile(
    r"(?:(?P<base>https?://[^\s?#]{1,500})/)?(?P<type>[A-Z][A-Za-z]{1,40})"
    r"/(?P<id>[A-Za-z0-9.\-]{1,64})(?:/_history/[A-Za-z0-9.\-]{1,64})?"
)
_URN = re.compile(r"urn:(?:uuid|oid):(?P<id>[A-Za-z0-9.\-]{1,64})", re.IGNORECASE)
_CONTAINED = re.compile(r"#(?P<id>[A-Za-z0-9.\-]{1,64})")
_SEARCH = re.compile(
    r"(?P<type>[A-Z][A-Za-z]{1,40})\?identifier=(?:(?P<system>[^|&\s]*)\|)?"
    r"(?P<value>[^|&\s]{1,200})"
)
_UUID = re.compile(r"[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}")


@dataclass(frozen=True, slots=True)
class Target:
    """The target of a reference.

    Args:
        form: How it is written: `id`, `urn`, `contained` or `search`.
        type: The resource type, where the reference names it.
        id: Of the resource; the identifier's value in a search.
        system: Of the identifier in a search.
    """

    form: str
    type: str = ""
    id: str = field(default="", repr=False)
    system: str = field(default="", repr=False)


def target_of(reference: object) -> Target | None:
    """Return what a reference points to, or None if it can't be read."""
    if not isinstance(reference, str):
        return None
    if found := _TYPE_AND_ID.fullmatch(reference):
        return _known(Target("id", found["type"], canonical(found["id"])))
    if found := _URN.fullmatch(reference):
        return Target("urn", id=canonical(found["id"]))
    if found := _CONTAINED.fullmatch(reference):
        return Target("contained", id=canonical(found["id"]))
    if found := _SEARCH.fullmatch(reference):
        system = found["system"] or ""
        return _known(Target("search", found["type"], found["value"], system))
    return None


def canonical(id_: str) -> str:
    """Return an id; the letter case of a UUID means nothing (RFC 4122)."""
    return id_.lower() if _UUID.fullmatch(id_) else id_


def pseudonym(id_: str, values: Values) -> str:
    """Return the pseudonym of a resource's id, itself an id and a UUID."""
    return str(uuid.UUID(hex=values.pseudonym("resource", canonical(id_))))


def namespace(system: str, values: Values) -> str:
    """Return the pseudonym of an identifier's system."""
    return f"urn:uuid:{uuid.UUID(hex=values.pseudonym('system', system))}"


def _known(target: Target) -> Target | None:
    return target if target.type in RESOURCE_TYPES else None
