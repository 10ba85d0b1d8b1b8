"""The audit event of a scrubbed note, whose annotations are encoded on their own."""

from types import SimpleNamespace

import orjson
import pytest

from deid_core import Annotation, Document, Label, ScrubbedDocument, Span
from deid_core.document import OffsetMap, Row
from streams.engine.errors import FatalError
from streams.engine.keys.ring import PseudonymKeys
from streams.engine.records import Partition, Record
from streams.kafka.topics import NOTES, PHI_AUDIT
from streams.model.notes import ClinicalNote
from streams.model.patients.demographics import PatientId
from streams.pipeline.publish import PatientValues, annotations_json
from streams.pipeline.scrub.documents import NoteDocuments
from streams.pipeline.scrub.join import Joined
from streams.pipeline.scrub.outputs import ScrubOutputs

ANNOTATIONS = [
    Annotation(Span(0, 3), Label.PATIENT, 1.0, "known", "name"),
    Annotation(Span(7, 11), Label.DATE, 0.123456, "rules", "iso"),
    Annotation(Span(12, 20), Label.PATIENT, 1.0, "known", "name"),
    Annotation(Span(30, 31), Label.AGE, 0.0, "tagger"),
]


def outputs_of(annotations):
    note = ClinicalNote("n1", PatientId("", "7"), "", "", "x" * 40)
    record = Record(Partition(NOTES.name, 0), 5, b"|7", b"")
    document = Document("n1", note.text, patient="|7")
    joined = Joined(record, note, NoteDocuments(document, (document,)), is_known=True)
    offsets = OffsetMap((Row(0, 3, 0, 5), Row(7, 11, 9, 10)))
    scrubbed = ScrubbedDocument("n1", "y" * 40, tuple(annotations), offsets)
    outputs = ScrubOutputs(
        PseudonymKeys.of(b"k" * 32), preset="p", policy="safe-harbor"
    )
    blind = SimpleNamespace(leaked_in=lambda *_: ())
    values = PatientValues(blind, document, outputs.pseudonyms(record))
    note, audit = outputs.of(joined, scrubbed, values, 1)
    return orjson.loads(note.value), orjson.loads(audit.value), scrubbed


@pytest.mark.parametrize("count", range(len(ANNOTATIONS) + 1))
def test_the_annotations_of_an_audit_event_are_those_of_the_document(count):
    note, audit, scrubbed = outputs_of(ANNOTATIONS[:count])

    assert annotations_json(scrubbed) == audit["annotations"]
    assert note["offsets"] == [[0, 3, 0, 5], [7, 11, 9, 10]]
    PHI_AUDIT.schema.check_strictly(audit)


def test_an_annotation_that_breaks_the_schema_stops_the_worker_each_time():
    wrong = Annotation(Span(0, 3), Label.PATIENT, 1.0, "Known!")

    for _ in range(2):
        with pytest.raises(FatalError, match=r"phi\.audit: annotations"):
            outputs_of([*ANNOTATIONS, wrong])
