"""Scrubs FHIR messages as the service does, with a real Deidentifier."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import orjson
from fhir.resources.R4B import get_fhir_model_class

from deid_core import Deidentifier, Document, KnownIdentifiers
from deid_core.config import OtherLanguages, load_preset
from deid_core.policy import load_policy
from streams.formats.fhir import FhirReader
from streams.model.parts import Part, Rebuilt
from streams.model.patients.known_identifiers import known_identifiers
from streams.pipeline.publish import PatientValues, Pseudonyms

READER = FhirReader()
KEY = b"0" * 32
SAMPLES = Path(__file__).parent / "samples"
POLICIES = ("surrogate", "safe-harbor", "i2b2", "limited-data-set", "internal-qa")


@cache
def deidentifier(policy: str = "surrogate") -> Deidentifier:
    """Return a system that scrubs markers, too, which are no English."""
    preset = replace(load_preset("hybrid"), other_languages=OtherLanguages.MARK)
    return Deidentifier.from_config(preset, load_policy(policy), KEY)


def sample(name: str) -> dict[str, Any]:
    return orjson.loads((SAMPLES / f"{name}.json").read_bytes())


def sample_bundle(type_: str) -> dict[str, Any]:
    """Return a Bundle of all samples, as a server sends it."""
    first = {"message": "MessageHeader"}.get(type_, "")
    found = [sample(each.stem) for each in sorted(SAMPLES.glob("*.json"))]
    found.sort(key=lambda each: each["resourceType"] != first)
    entries = [
        {
            "fullUrl": f"https://ehr.test/fhir/{each['resourceType']}/{each['id']}",
            "resource": each,
            "search": {"mode": "match", "score": 0.5},
        }
        for each in found
        if each["resourceType"] != "Bundle"
    ]
    return {"resourceType": "Bundle", "type": type_, "total": 24, "entry": entries}


def parts(message: Any) -> list[Part]:
    return READER.parts(orjson.dumps(message))


def rebuilt(
    part: Part, policy: str = "surrogate", known: KnownIdentifiers | None = None
) -> Rebuilt:
    """Return a part without identifiers, scrubbed with the record that it gives."""
    system = deidentifier(policy)
    record = part.updates[0]
    known = known or known_identifiers(record)
    patient = record.patient.key.decode()
    opened = READER.read(part.content)
    documents = [
        Document(
            str(number),
            each.text,
            known,
            patient,
            each.note_type,
            is_vocabulary=each.is_vocabulary,
        )
        for number, each in enumerate(opened.texts)
    ]
    document = Document("values", "", known, patient)
    values = PatientValues(system, document, Pseudonyms(KEY))
    scrubbed = system.deidentify_batch(documents)
    for each in scrubbed:
        if isinstance(each, Exception):
            raise each
    return opened.rebuilt(scrubbed, values)


def scrubbed(message: Any, policy: str = "surrogate") -> dict[str, Any]:
    """Return the only part of a message, without identifiers."""
    [part] = parts(message)
    return orjson.loads(rebuilt(part, policy).value)


def removed(message: Any, policy: str = "surrogate") -> dict[str, int]:
    [part] = parts(message)
    return dict(rebuilt(part, policy).removed)


def resources(bundle: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the resources of a Bundle by type; the last one of each."""
    found = (each["resource"] for each in bundle["entry"])
    return {each["resourceType"]: each for each in found}


def validate(resource: dict[str, Any]) -> None:
    """Raise a ValidationError if a resource breaks FHIR R4B."""
    get_fhir_model_class(resource["resourceType"]).model_validate(resource)


def attached(value: Any) -> Iterator[str]:
    """Yield the texts of all attachments."""
    if isinstance(value, list):
        for each in value:
            yield from attached(each)
    elif isinstance(value, dict):
        if isinstance(value.get("data"), str):
            yield base64.b64decode(value["data"]).decode()
        for each in value.values():
            yield from attached(each)


def encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()
