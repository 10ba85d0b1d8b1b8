"""Scrub rebuilds parts of messages, with the texts that their notes have."""

from __future__ import annotations

from types import SimpleNamespace

import orjson
import pytest

from deid_core import Deidentifier
from streams.engine.errors import InvalidRecord
from streams.engine.records import Partition, Record
from streams.formats.hl7.reader import Hl7Reader
from streams.formats.readers import CONTENT_TYPES, READERS
from streams.kafka.partitioner import partition_of
from streams.kafka.topics import HL7_SCRUBBED, NOTES, PHI_AUDIT
from streams.model.parts import Rebuilt
from streams.pipeline.intake.processor import Intake
from streams.pipeline.intake.route import route
from streams.pipeline.publish import Pseudonyms
from tests.office import OFFICE
from tests.streams.pipeline.scrub.test_scrub import scrub_with
from tests.tables import MemoryTable

KEY = b"k" * 32
MESSAGE = (
    b"MSH|^~\\&|LAB|NORTH|PHI|X|20240314101500||ORU^R01|C1|P|2.5.1\r"
    b"PID|1||4711-77^^^NORTH^MR||Quellwright^Mabel^^^Ms||19520314|F\r"
    b"ZPD|1|Quellwright\r"
    b"OBR|1||R1|11506-3^Progress note^LN|||20240313\r"
    b"OBX|1|TX|11506-3^Progress note^LN||Ms. Quellwright was seen on 3/14/2024~"
    b"by Dr. Ida Zzprovider.||||||F|||20240314\r"
)
RESOURCE = orjson.dumps(
    {
        "resourceType": "Patient",
        "id": "p1",
        "identifier": [
            {
                "type": {
                    "coding": [
                        {
                            "system": "http://terminology.hl7.org/CodeSystem/v2-0203",
                            "code": "MR",
                        }
                    ]
                },
                "system": "urn:oid:1.2.3",
                "value": "4711-77",
            }
        ],
        "name": [{"family": "Quellwright", "given": ["Mabel"]}],
        "birthDate": "1952-03-14",
    }
)


class Counting:
    """A system that counts the documents it is given."""

    def __init__(self, system):
        self._system = system
        self.seen = 0

    def deidentify_batch(self, documents):
        self.seen += len(documents)
        return self._system.deidentify_batch(documents)

    def with_key(self, key):
        assert self._system.with_key(key) is self._system
        return self

    def __getattr__(self, name):
        return getattr(self._system, name)


@pytest.fixture(scope="module")
def surrogates():
    return Deidentifier.from_names("hybrid", "surrogate", KEY)


@pytest.fixture
def system(surrogates):
    return Counting(surrogates)


@pytest.fixture
def scrub(system):
    made = scrub_with(system, MemoryTable(), Pseudonyms(KEY))
    made.settled(range(4))
    return made


def routed(value):
    """Return what intake writes to `notes` for a message: notes, and its parts."""
    intake = Intake(max_bytes=1 << 20, office=OFFICE, rebuilds=True)
    [outcome] = intake.process([Record(Partition("hl7.raw", 0), 7, None, value)])
    if isinstance(outcome, InvalidRecord):
        raise outcome
    return [
        Record(
            Partition(NOTES.name, partition_of(each.key, 4)), n, each.key, each.value
        )
        for n, each in enumerate(outcome)
        if each.topic == NOTES.name
    ]


def test_a_message_is_rebuilt_with_the_text_of_its_note(scrub, system):
    note, part = scrub.process(routed(MESSAGE))

    text = orjson.loads(note[0].value)["text"]
    message, audit = part
    rebuilt = message.value.decode()
    fields = {row[:3]: row.split("|") for row in rebuilt.split("\r")}
    family, given = fields["PID"][5].split("^")[:2]
    assert "Quellwright" not in rebuilt
    assert "ZPD" not in fields
    assert family in text
    assert given
    first, second = fields["OBX"][5].split("~")
    assert f"{first}\n{second}" in text
    month, day, year = first.split()[-1].split("/")
    assert fields["OBX"][14] == f"{year}{int(month):02}{int(day):02}"
    assert fields["MSH"][6] == fields["OBX"][14]
    assert (HL7_SCRUBBED.name, PHI_AUDIT.name) == (message.topic, audit.topic)
    headers = {"source", "format", "content-type", "key_id"}
    assert headers == message.headers.keys()
    assert message.timeless
    said = orjson.loads(audit.value)
    assert (said["format"], said["outputs"], said["removed"]["ZPD"]) == ("hl7", 1, 1)
    assert said["found"]["NAME:PATIENT"] >= 1


@pytest.mark.parametrize(
    ("name", "codec"),
    [("8859/1", "latin-1"), ("UNICODE UTF-16", "utf-16"), ("GB 18030-2000", "gb18030")],
)
def test_a_message_is_rebuilt_in_its_character_set(scrub, name, codec):
    header = b"|P|2.5.1||||||" + name.encode()
    text = MESSAGE.replace(b"|P|2.5.1", header).decode().replace("was", "führte")

    _note, (message, _audit) = scrub.process(routed(text.encode(codec)))

    rebuilt = message.value.decode(codec)
    assert "führte" in rebuilt
    assert "Quellwright" not in rebuilt


def test_a_text_is_scrubbed_once_for_its_note_and_its_message(scrub, system):
    scrub.process(routed(MESSAGE))

    once = system.seen
    texts = READERS["hl7"].read(route(MESSAGE).parts[0].content).texts
    assert once == len({each.text for each in texts})


def test_a_resource_without_a_note_is_rebuilt(scrub):
    [[message, audit]] = scrub.process(routed(RESOURCE))

    patient = orjson.loads(message.value)
    assert patient["resourceType"] == "Patient"
    assert b"Quellwright" not in message.value
    assert b"4711-77" not in message.value
    assert CONTENT_TYPES["fhir"] == message.headers["content-type"]
    assert orjson.loads(audit.value)["format"] == "fhir"


def test_a_format_that_is_not_known_is_refused(scrub):
    [note] = routed(RESOURCE)
    value = orjson.loads(note.value)
    value["text"] = "{"

    [refused] = scrub.process(
        [Record(note.partition, 0, note.key, orjson.dumps(value))]
    )

    assert isinstance(refused, InvalidRecord)
    assert "4711" not in str(refused)


def test_a_value_that_a_reader_lets_through_is_no_output(scrub, monkeypatch):
    class Careless(Hl7Reader):
        def read(self, content):
            texts = super().read(content).texts
            written = Rebuilt(content.encode())
            return SimpleNamespace(texts=texts, rebuilt=lambda *_: written)

    monkeypatch.setitem(READERS._made, "hl7", Careless())

    _note, refused = scrub.process(routed(MESSAGE))

    assert refused.code == "residue"
    assert "Quellwright" not in str(refused)


@pytest.mark.parametrize(
    ("value", "says"),
    [
        (b"<html><body>Ms. Quellwright</body></html>", "html"),
        (b"<note>Quellwright</note>", "XML"),
        (b'{"resourceType": "Quellwright"}', "resource"),
    ],
)
def test_what_is_no_message_is_refused_by_its_name(value, says):
    with pytest.raises(InvalidRecord, match=f"(?i){says}") as caught:
        routed(value)

    assert "Quellwright" not in str(caught.value)
