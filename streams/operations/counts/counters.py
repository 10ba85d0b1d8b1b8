"""The counters that one record increments: allowed values, numbers, nothing else.

A counter's name is ``dimension/value``, for example ``label/NAME:PATIENT`` or
``latency/scrub/57`` (a bucket of `quantile_sketch`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

import orjson

from streams.kafka.topics import DEAD_LETTERS, PATIENT_UPDATES, PHI_AUDIT, Stage
from streams.kafka.wire_format import without_header
from streams.model.outputs import ERASED, OUTCOME, RECEIVED

from . import allowed_values as allowed
from .quantile_sketch import bucket_of

Counts = Counter[str]

UNREADABLE = Counter({"unreadable/record": 1})


def counts_of(
    topic: str, value: bytes | None, headers: Mapping[str, bytes], at_ms: int
) -> Counts:
    """Return the counts of a record; `UNREADABLE` when it is no JSON object.

    Args:
        topic: A key of `READERS`.
        value: As received.
        headers: As received; only `received` and `outcome` are used.
        at_ms: The record's timestamp.
    """
    if value is None:
        erases = topic == DEAD_LETTERS.name or headers.get(OUTCOME) == ERASED
        return Counter() if erases else UNREADABLE
    try:
        body = orjson.loads(without_header(topic, value) or b"")
    except orjson.JSONDecodeError:
        return UNREADABLE
    if not isinstance(body, dict):
        return UNREADABLE
    return READERS[topic](body, _latency_ms(headers, at_ms))


def _audit(event: dict[str, Any], latency_ms: int | None) -> Counts:
    stage, outcome = allowed.stage(event.get("stage")), event.get("outcome")
    if outcome in ("replayed", "revealed", "erased"):
        # Somebody's doing, not the outcome of a record.
        return Counter()
    counts = Counter({f"audit/{stage}": 1})
    if stage == Stage.SCRUB and _is_of_a_note(event):
        counts["taken/notes"] += 1
    if outcome == "dead_letter":
        counts[f"refused/{stage}/{allowed.code(event.get('code'))}"] += 1
    elif outcome in ("routed", "repeated"):
        counts += _routed(event.get("routed"))
        counts += _latency("intake", latency_ms)
    elif outcome == "scrubbed":
        # How long a note was held is no latency.
        counts += _scrubbed(event)
        counts += _latency("scrub", None if "held" in event else latency_ms)
    return counts


def _is_of_a_note(event: dict[str, Any]) -> bool:
    """Return whether scrub has read a note; a discarded one it had read before."""
    source = event.get("source")
    is_update = isinstance(source, dict) and source.get("topic") == PATIENT_UPDATES.name
    return not is_update and event.get("outcome") != "discarded"


def _routed(value: object) -> Counts:
    routed = value if isinstance(value, dict) else {}
    counters = {
        "routed/patients": "patients",
        "routed/notes": "notes",
        "repeated/messages": "repeated",
        "repeated/conflicts": "conflicts",
    }
    return Counter({n: _natural(routed.get(kind)) for n, kind in counters.items()})


def _scrubbed(event: dict[str, Any]) -> Counts:
    setup = (
        allowed.name(event.get("preset")),
        allowed.name(event.get("policy")),
        allowed.version(event.get("version")),
        allowed.key_id(event.get("key_id")),
    )
    if event.get("format"):
        # What a rebuilt message holds is counted with its notes.
        return Counter({"rebuilt/messages": 1, "setup/" + "/".join(setup): 1})
    counts = Counter(
        {
            "published/notes": 1,
            "setup/" + "/".join(setup): 1,
            f"join/{allowed.join(event.get('join'))}": 1,
            f"type/{allowed.note_type(event.get('note_type'))}": 1,
        }
    )
    for each in event.get("annotations") or ():
        counts[f"label/{allowed.label(each.get('label'))}"] += 1
        counts[f"detector/{allowed.detector(each.get('detector'))}"] += 1
    return counts


def _dead_letter(letter: dict[str, Any], _latency_ms: int | None) -> Counts:
    stage, code = allowed.stage(letter.get("stage")), allowed.code(letter.get("code"))
    return Counter({f"dead/{stage}/{code}": 1})


def _latency(stage: str, latency_ms: int | None) -> Counts:
    if latency_ms is None:
        return Counter()
    return Counter({f"latency/{stage}/{bucket_of(latency_ms)}": 1})


def _latency_ms(headers: Mapping[str, bytes], at_ms: int) -> int | None:
    """Return the time from the message's arrival in hl7.raw to this record."""
    raw = headers.get(RECEIVED, b"")
    is_time = len(raw) == 13 and raw.isdigit() and int(raw) > 0
    return max(0, at_ms - int(raw)) if is_time else None


def _natural(value: object) -> int:
    return value if isinstance(value, int) and value > 0 else 0


READERS: Mapping[str, Callable[[dict[str, Any], int | None], Counts]] = {
    PHI_AUDIT.name: _audit,
    DEAD_LETTERS.name: _dead_letter,
}
"""The function that counts a record, by topic."""
