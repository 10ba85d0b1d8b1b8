"""Records that intake must refuse, one of each kind."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

HUGE_BYTES = 10 << 20

_HEADER = b"MSH|^~\\&|WARD|NORTH|PHISTREAM|X|20250106080000||"
_TAIL = b"|BROKEN1|P|2.5||||||UNICODE UTF-8\r"
_PATIENT = b"PID|1||99000001^^^WARD^MR||Nemo^Niels\r"
_REPORT = b"OBR|1|||11506-3^Progress note^LN\rOBX|1|TX|11506-3^Progress note^LN||"


@dataclass(frozen=True, slots=True)
class BrokenKind:
    """A kind of broken record.

    Args:
        code: Of the expected dead letter.
        make: Returns the record's value.
        is_common: Whether the ward sends it by default.
    """

    code: str
    make: Callable[[], bytes | None]
    is_common: bool = True


def _report(*, kind: bytes = b"ORU^R01^ORU_R01", patient: bytes = _PATIENT) -> bytes:
    return _HEADER + kind + _TAIL + patient + _REPORT + b"Stable today.\r"


def _huge() -> bytes:
    line = b"No acute distress. "
    text = line * (HUGE_BYTES // len(line) + 1)
    return _HEADER + b"ORU^R01^ORU_R01" + _TAIL + _PATIENT + _REPORT + text + b"\r"


BROKEN_KINDS: dict[str, BrokenKind] = {
    "null": BrokenKind("null_value", lambda: None),
    "huge": BrokenKind("too_large", _huge, is_common=False),
    "undecodable": BrokenKind(
        "undecodable", lambda: _report() + b"OBX|2|TX|||caf\xe9 \xff\xfe\r"
    ),
    "bad_msh": BrokenKind("bad_msh", lambda: b"MSX" + _report()[3:]),
    "no_delimiters": BrokenKind("bad_msh", lambda: b"MSH\r" + _PATIENT),
    "truncated": BrokenKind("bad_msh", lambda: _HEADER[: len(_HEADER) // 2]),
    "unknown_event": BrokenKind("unknown_event", lambda: _report(kind=b"ZZZ^Z99")),
    "no_patient": BrokenKind("no_patient", lambda: _report(patient=b"PID|1||||^\r")),
    "no_pid": BrokenKind("no_patient", lambda: _report(patient=b"")),
    "bad_json": BrokenKind("bad_json", lambda: b'{"note_id": "b-1", "patient": {'),
    "schema": BrokenKind("schema", lambda: b'{"note_id": "b-2", "text": "Stable."}'),
    "schema_patient": BrokenKind(
        "schema",
        lambda: (
            b'{"note_id": "b-3", "patient": {"assigning_authority": "WARD", "id": ""},'
            b' "text": "Stable."}'
        ),
    ),
}

COMMON = tuple(kind for kind, broken in BROKEN_KINDS.items() if broken.is_common)


def broken_record(kind: str) -> bytes | None:
    """Return the value of a broken record.

    Raises:
        ValueError: The kind is not one of ``BROKEN_KINDS``.
    """
    if kind not in BROKEN_KINDS:
        known = ", ".join(BROKEN_KINDS)
        raise ValueError(f"unknown kind of broken record {kind!r}; known: {known}")
    return BROKEN_KINDS[kind].make()
