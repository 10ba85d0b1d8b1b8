"""What one record adds to the counts: names from `words`, numbers, and nothing else.

A count's name is ``dimension/word``, e.g. ``label/NAME:PATIENT`` or
``latency/scrub/57`` (the bucket of `sketch`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

import orjson

from streams.cluster.topics import DEAD_LETTERS, PHI_AUDIT
from streams.events.outputs import RECEIVED

from . import words
from .sketch import bucket_of

Counts = Counter[str]

UNREADABLE = Counter({"unreadable/record": 1})


def facts_of(
    topic: str, value: bytes | None, headers: Mapping[str, bytes], at_ms: int
) -> Counts:
    """Return the counts of a record.

    Args:
        topic: One of `READERS`.
        value: As it came; what can't be read counts as unreadable.
        headers: As they came; only `received` is looked at.
        at_ms: When the record was written.
    """
    try:
        body = orjson.loads(value or b"")
    except orjson.JSONDecodeError:
        return UNREADABLE
    if not isinstance(body, dict):
        return UNREADABLE
    return READERS[topic](body, _milliseconds(headers, at_ms))


def _audit(event: dict[str, Any], took: int | None) -> Counts:
    stage, outcome = words.stage(event.get("stage")), event.get("outcome")
    counts = Counter({f"audit/{stage}": 1})
    if outcome == "dead_letter":
        counts[f"refused/{stage}/{words.code(event.get('code'))}"] += 1
    elif outcome == "routed":
        counts += _routed(event.get("routed"))
        counts += _latency("intake", took)
    elif outcome == "scrubbed":
        counts += _scrubbed_event(event) + _latency("scrub", took)
    return counts


def _routed(routed: object) -> Counts:
    told = routed if isinstance(routed, dict) else {}
    kinds = ("patients", "notes")
    return Counter({f"routed/{kind}": _count(told.get(kind)) for kind in kinds})


def _scrubbed_event(event: dict[str, Any]) -> Counts:
    setup = (
        words.name(event.get("preset")),
        words.name(event.get("policy")),
        words.version(event.get("version")),
        words.key_id(event.get("key_id")),
    )
    counts = Counter(
        {
            "published/notes": 1,
            "setup/" + "/".join(setup): 1,
            f"join/{words.join(event.get('join'))}": 1,
            f"type/{words.note_type(event.get('note_type'))}": 1,
        }
    )
    for each in event.get("annotations") or ():
        counts[f"label/{words.label(each.get('label'))}"] += 1
        counts[f"detector/{words.detector(each.get('detector'))}"] += 1
    return counts


def _dead_letter(letter: dict[str, Any], _took: int | None) -> Counts:
    stage, code = words.stage(letter.get("stage")), words.code(letter.get("code"))
    return Counter({f"dead/{stage}/{code}": 1})


def _latency(stage: str, took: int | None) -> Counts:
    return (
        Counter()
        if took is None
        else Counter({f"latency/{stage}/{bucket_of(took)}": 1})
    )


def _milliseconds(headers: Mapping[str, bytes], at_ms: int) -> int | None:
    """Return how long after its message came to hl7.raw the record was written."""
    raw = headers.get(RECEIVED, b"")
    is_time = len(raw) == 13 and raw.isdigit() and int(raw) > 0
    return max(0, at_ms - int(raw)) if is_time else None


def _count(value: object) -> int:
    return value if isinstance(value, int) and value > 0 else 0


READERS: Mapping[str, Callable[[dict[str, Any], int | None], Counts]] = {
    PHI_AUDIT.name: _audit,
    DEAD_LETTERS.name: _dead_letter,
}
"""How each topic is counted."""
