"""Public HL7 v2 messages, which are not part of the project: skipped without them."""

import json
import re
from collections import Counter
from pathlib import Path

import pytest

from streams.engine.errors import InvalidRecord
from streams.pipeline.intake.route import route
from tests.streams.formats.hl7.hl7_text import assert_keeps_schemas

FOLDER = Path(__file__).parents[5] / "shared/data/hl7"
REASON = f"no messages at {FOLDER.parent.name}/{FOLDER.name} beside the repository"

pytestmark = pytest.mark.skipif(not FOLDER.is_dir(), reason=REASON)

CODES = {"no_patient", "unknown_event", "bad_msh", "undecodable", "too_many"}
NAMES_SEGMENT_AND_FIELD = re.compile(r"[A-Z][A-Z0-9]{2}(-\d{1,2})?: \S")


def result_of(value):
    try:
        return route(value)
    except InvalidRecord as error:
        return error


def outcome_of(value):
    """Return "routed" or the code of the dead letter; look at what came out."""
    routed = result_of(value)
    if isinstance(routed, InvalidRecord):
        assert routed.code in CODES
        assert NAMES_SEGMENT_AND_FIELD.match(routed.reason)
        return routed.code
    assert routed.updates
    assert_keeps_schemas(routed)
    return "routed"


def test_every_message_is_routed_or_refused_with_a_reason():
    with (FOLDER / "messages.jsonl").open() as lines:
        values = [json.loads(line)["message"].encode() for line in lines]

    outcomes = Counter(map(outcome_of, values))

    assert len(values) == outcomes.total()
    assert outcomes["routed"] > 1000


def test_every_file_is_routed_or_refused_with_a_reason():
    files = [each for each in sorted((FOLDER / "raw").rglob("*")) if each.is_file()]

    outcomes = Counter(outcome_of(file.read_bytes()) for file in files)

    assert len(files) == outcomes.total()
    assert outcomes["routed"] > 250
