"""One Bundle of what was written of its patients apart."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from .json_text import dumps, loads
from .writer import dicts


def merged(parts: Sequence[bytes]) -> bytes:
    """Return the Bundle of all entries; what patients share is in it once.

    Args:
        parts: Bundles that were written without identifiers, one for each patient of
            the same Bundle.
    """
    bundles = [loads(part) for part in parts]
    entries = _distinct(entry for each in bundles for entry in dicts(each.get("entry")))
    return dumps({**bundles[0], "entry": entries})


def entries_in(bundle: bytes) -> int:
    """Return the number of a Bundle's entries; 1 for any other resource."""
    message = loads(bundle)
    is_bundle = message.get("resourceType") == "Bundle"
    return sum(1 for _ in dicts(message.get("entry"))) if is_bundle else 1


def _distinct(entries: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the first entry of each resource; ids have the same pseudonym in all."""
    found: dict[object, dict[str, Any]] = {}
    for entry in entries:
        resource = entry.get("resource")
        named = resource if isinstance(resource, dict) else {}
        name = (named.get("resourceType"), named.get("id"))
        found.setdefault(name if None not in name else dumps(entry), entry)
    return list(found.values())
