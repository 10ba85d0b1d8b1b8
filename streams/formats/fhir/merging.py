"""One Bundle of what was written of its patients apart."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from .json_text import dumps, loads
from .writer import dicts


def merged(parts: Sequence[bytes]) -> tuple[bytes, int]:
    """Return the Bundle of all entries; what patients share is in it once.

    A resource that they share bears what is left of it whoever's it is: a word that is
    one patient's name goes, and so does a date that was moved as one patient's.

    Args:
        parts: Bundles that were written without identifiers, one for each patient of
            the same Bundle.

    Returns:
        The Bundle, and how many values were left out since they differed.
    """
    bundles = [loads(part) for part in parts]
    lost: list[object] = []
    entries = _distinct(
        (entry for each in bundles for entry in dicts(each.get("entry"))), lost
    )
    return dumps({**bundles[0], "entry": entries}), len(lost)


def entries_in(bundle: bytes) -> int:
    """Return the number of a Bundle's entries; 1 for any other resource."""
    message = loads(bundle)
    is_bundle = message.get("resourceType") == "Bundle"
    return sum(1 for _ in dicts(message.get("entry"))) if is_bundle else 1


def _distinct(entries: Iterable[dict[str, Any]], lost: list[object]) -> list[object]:
    """Return each resource once; ids have the same pseudonym in all entries."""
    found: dict[object, object] = {}
    for entry in entries:
        resource = entry.get("resource")
        named = resource if isinstance(resource, dict) else {}
        name: object = (named.get("resourceType"), named.get("id"))
        if None in (named.get("resourceType"), named.get("id")):
            name = dumps(entry)
        found[name] = _common(found[name], entry, lost) if name in found else entry
    return list(found.values())


def _common(one: object, other: object, lost: list[object]) -> object:
    """Return what is the same in two values; what differs goes to ``lost``."""
    if isinstance(one, dict) and isinstance(other, dict):
        lost += one.keys() ^ other.keys()
        both = {key: _common(one[key], other[key], lost) for key in one if key in other}
        return {key: value for key, value in both.items() if value is not None} or None
    if isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        pairs = (_common(*each, lost) for each in zip(one, other, strict=True))
        return [value for value in pairs if value is not None] or None
    if one == other:
        return one
    lost.append(one)
    return None
