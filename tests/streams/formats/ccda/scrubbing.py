"""Scrubs clinical documents as the service does, with a real Deidentifier."""

from __future__ import annotations

import base64
from dataclasses import replace
from functools import cache
from pathlib import Path

from lxml import etree

from deid_core import Deidentifier, Document, KnownIdentifiers
from deid_core.config import OtherLanguages, load_preset
from deid_core.policy import load_policy
from streams.formats.ccda import CcdaReader
from streams.model.parts import Part, Rebuilt
from streams.model.patients.known_identifiers import known_identifiers
from streams.pipeline.publish import PatientValues, Pseudonyms

READER = CcdaReader()
KEY = b"0" * 32
SAMPLES = Path(__file__).parent / "samples"
NAMESPACES = {"v": "urn:hl7-org:v3", "sdtc": "urn:hl7-org:sdtc"}


@cache
def deidentifier(policy: str = "surrogate") -> Deidentifier:
    """Return a system that scrubs markers, too, which are no English."""
    preset = replace(load_preset("hybrid"), other_languages=OtherLanguages.MARK)
    return Deidentifier.from_config(preset, load_policy(policy), KEY)


def sample(name: str) -> bytes:
    return (SAMPLES / f"{name}.xml").read_bytes()


def part(value: bytes) -> Part:
    [only] = READER.parts(value)
    return only


def rebuilt(
    of: Part, policy: str = "surrogate", known: KnownIdentifiers | None = None
) -> Rebuilt:
    """Return a part without identifiers, scrubbed with the record that it gives."""
    system = deidentifier(policy)
    record = of.updates[0]
    known = known or known_identifiers(record)
    patient = record.patient.key.decode()
    opened = READER.read(of.content)
    documents = [
        Document(str(number), each.text, known, patient, each.note_type)
        for number, each in enumerate(opened.texts)
    ]
    document = Document("values", "", known, patient)
    values = PatientValues(system, document, Pseudonyms(KEY))
    scrubbed = system.deidentify_batch(documents)
    for each in scrubbed:
        if isinstance(each, Exception):
            raise each
    return opened.rebuilt(scrubbed, values)


def scrubbed(value: bytes, policy: str = "surrogate") -> etree._Element:
    """Return the document without identifiers."""
    return etree.fromstring(rebuilt(part(value), policy).value)


def found(document: etree._Element, path: str) -> list:
    """Return what a path finds; `v:` is the namespace of CDA."""
    return document.xpath(path, namespaces=NAMESPACES)


def text_of(document: etree._Element, path: str) -> str:
    """Return the text of the elements that a path finds, a line for each."""
    texts = (
        " ".join("".join(each.itertext()).split()) for each in found(document, path)
    )
    return "\n".join(texts)


def encoded(data: bytes) -> str:
    return base64.b64encode(data).decode()
