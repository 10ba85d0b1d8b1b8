"""Samples changed at random: no crash, no hang, no text passes through."""

from __future__ import annotations

import copy
import json
from typing import Any

import orjson
from hypothesis import given, settings
from hypothesis import strategies as st

from deid_core import Label, ScrubbedDocument
from deid_core.document import OffsetMap, Row
from schemas.decoding import check_encoded
from streams.engine.errors import InvalidRecord
from streams.kafka.topics import NOTES, PATIENT_UPDATES, Topic
from streams.model.patients.updates import PatientUpdate
from tests.sampling import examples
from tests.streams.formats.fhir.scrubbing import READER, SAMPLES

MARKER = "Zyxquellux"
RAW = {each.stem: each.read_bytes() for each in sorted(SAMPLES.glob("*.json"))}
DEEP = orjson.loads(b"[" * 30 + b"]" * 30)
STRANGE = [MARKER, f" {MARKER}\n", [MARKER], [[MARKER]], {"x": MARKER}, {MARKER: 1}]
STRANGE += [{"reference": f"Patient/{MARKER}"}, {"value": MARKER, "system": MARKER}]
STRANGE += [None, True, 0, -1.5, "", [], {}, "\x00", "\ud7ff", 10**30, DEEP]


class Hidden:
    """Values of a patient that are never shown."""

    def replaced(self, label: Label, value: str) -> str:
        return f"[{label}]"

    def day(self, day: str) -> str:
        return "2000-01-01"

    def pseudonym(self, kind: str, value: str) -> str:
        return "0" * 32

    def is_leak(self, written: str) -> bool:
        return False


def hidden(text: str) -> ScrubbedDocument:
    """Return a text of which nothing is shown."""
    rows = (Row(0, len(text), 0, 1),) if text else ()
    return ScrubbedDocument("x", "-" if text else "", (), OffsetMap(rows))


def paths(value: Any, path: tuple = ()) -> list[tuple]:
    items = value.items() if isinstance(value, dict) else enumerate(value)
    found = []
    for key, each in items:
        found.append((*path, key))
        if isinstance(each, dict | list):
            found += paths(each, (*path, key))
    return found


def keeps_schema(topic: Topic, value: dict) -> None:
    schema = topic.schema
    check_encoded(schema, orjson.dumps(schema.versioned(value)))


def written(value: bytes) -> str:
    """Return all that comes of a message, or the reason of its refusal."""
    try:
        parts = READER.parts(value)
        shown = []
        for part in parts:
            for update in part.updates:
                keeps_schema(PATIENT_UPDATES, PatientUpdate(update).to_json())
            for note in (*part.notes, part.as_note("part")):
                keeps_schema(NOTES, note.to_json())
            opened = READER.read(part.content)
            scrubbed = [hidden(each.text) for each in opened.texts]
            rebuilt = opened.rebuilt(scrubbed, Hidden())
            assert orjson.loads(rebuilt.value)["resourceType"]
            shown += [rebuilt.value.decode(), repr(rebuilt), repr(part)]
            shown += [*rebuilt.removed, *rebuilt.unreadable, *part.skipped]
        return "\n".join(shown)
    except InvalidRecord as error:
        return str(error)


@settings(max_examples=examples(400))
@given(st.data())
def test_no_changed_element_passes_through(data):
    message = copy.deepcopy(orjson.loads(data.draw(st.sampled_from([*RAW.values()]))))
    for _ in range(data.draw(st.integers(1, 6))):
        places = paths(message)
        *above, last = data.draw(st.sampled_from(places)) if places else (0,)
        holder = message
        for each in above:
            holder = holder[each]
        strange = copy.deepcopy(data.draw(st.sampled_from(STRANGE)))
        change = data.draw(st.sampled_from(["put", "add", "extend", "drop"]))
        if change == "put" or not isinstance(holder, dict):
            holder[last] = strange
        elif change == "drop":
            del holder[last]
        else:
            holder[MARKER if change == "add" else f"_{last}"] = strange

    assert MARKER.lower() not in written(json.dumps(message).encode()).lower()


@settings(max_examples=examples(400))
@given(st.data())
def test_changed_bytes_are_read_or_refused(data):
    raw = bytearray(data.draw(st.sampled_from([*RAW.values()])))
    for _ in range(data.draw(st.integers(1, 8))):
        at = data.draw(st.integers(0, len(raw) - 1))
        piece = data.draw(st.binary(max_size=3) | st.sampled_from([b'"', b"\\", b"}"]))
        raw[at : at + data.draw(st.integers(0, 3))] = piece

    written(bytes(raw))
