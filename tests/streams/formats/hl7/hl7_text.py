"""Invented HL7 v2 messages for the tests of intake's decoding, and what they share."""

import orjson

from streams.engine.records import Partition, Record
from streams.kafka.topics import NOTES, PATIENT_UPDATES
from streams.model.outputs import encoded
from streams.model.patients.updates import PatientUpdate

MSH = "MSH|^~\\&|APP|HOSP|||20240301093000||{event}|C1|P|2.5.1"
PID = "PID|1||4711^^^WARD^MR||Example^Edith^Q||19480229|F"


def message(*segments, event="ORU^R01", msh=MSH):
    """Return a message's bytes; PID is the usual one unless a segment is a PID."""
    named = any(each.startswith("PID") for each in segments)
    rest = segments if named else (PID, *segments)
    return "\r".join((msh.format(event=event), *rest)).encode()


def assert_keeps_schemas(routed):
    """Check the values that intake writes, which it leaves to its reader."""
    source = Record(Partition("hl7.raw", 0), 1, None, b"")
    updates = [(PATIENT_UPDATES, PatientUpdate(each)) for each in routed.updates]
    notes = [(NOTES, each) for each in routed.notes]
    for topic, each in updates + notes:
        output = encoded(topic, b"k", each.to_json(), source)
        topic.schema.check_strictly(orjson.loads(output.value))
    ids = [note.note_id for note in routed.notes]
    assert len(ids) == len(set(ids))
