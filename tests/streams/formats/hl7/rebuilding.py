"""Rebuilt messages for tests: with invented values, and with a real deidentifier."""

from dataclasses import dataclass
from functools import cache

from deid_core import Deidentifier, Document, OffsetMap, ScrubbedDocument
from deid_core.document import Row
from streams.formats.readers import HL7
from streams.model.patients.known_identifiers import known_identifiers
from streams.pipeline.publish import PatientValues, Pseudonyms

KEY = b"0" * 32


@dataclass(frozen=True)
class Invented:
    """Values that show what was asked for, and nothing of the original."""

    written: str = "new"

    def replaced(self, label, value):
        return self.written

    def day(self, day):
        return "2001-02-03"

    def pseudonym(self, kind, value):
        return f"({kind})"

    def is_leak(self, written):
        return False


@dataclass(frozen=True)
class Same:
    """Values as they are."""

    def replaced(self, label, value):
        return value

    def day(self, day):
        return day

    def pseudonym(self, kind, value):
        return value

    def is_leak(self, written):
        return False


def kept(text):
    """Return a text in which nothing was found."""
    return ScrubbedDocument("", text, (), OffsetMap())


def covered(text, written="[X]"):
    """Return a text that was replaced as a whole."""
    rows = (Row(0, len(text), 0, len(written)),) if text else ()
    return ScrubbedDocument("", written if text else "", (), OffsetMap(rows))


def rebuilt(value, values=None, scrub=kept, reader=HL7):
    """Return what the only part of a message becomes."""
    [part] = reader.parts(value)
    opened = reader.read(part.content)
    scrubbed = [scrub(each.text) for each in opened.texts]
    return opened.rebuilt(scrubbed, values or Invented())


def lines(done):
    """Return the segments of a rebuilt message, by name."""
    text = done.value.decode()
    assert text.endswith("\r")
    return {each[:3]: each for each in text.removesuffix("\r").split("\r")}


def fields(done, name):
    """Return the fields of a segment, by number."""
    found = lines(done)[name].split("|")
    return ["", *found] if name == "MSH" else found


@cache
def deidentifier(policy):
    return Deidentifier.from_names("hybrid", policy, key=KEY)


def deidentified(value, policy="surrogate"):
    """Return every part of a message as the product rebuilds it, with its texts."""
    system = deidentifier(policy)
    found = []
    for part in HL7.parts(value):
        known = known_identifiers(part.updates[0])
        key = part.updates[0].patient.key.decode()
        opened = HL7.read(part.content)
        scrubbed = [
            system.deidentify(Document("", each.text, known, key, each.note_type))
            for each in opened.texts
        ]
        document = Document("", "", known, key)
        values = PatientValues(system, document, Pseudonyms(KEY))
        found.append((opened.rebuilt(scrubbed, values), scrubbed))
    return found
