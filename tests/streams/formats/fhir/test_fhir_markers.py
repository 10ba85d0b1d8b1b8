"""No marker of any element of any resource is in any output."""

from __future__ import annotations

import base64

import orjson
import pytest

from deid_core import KnownIdentifiers, PersonName
from streams.formats.fhir.rules import SUBJECTS, SUPPORTED
from tests.sampling import sampled
from tests.streams.formats.fhir.markers import Markers, variants_of
from tests.streams.formats.fhir.scrubbing import attached, parts, rebuilt, validate

ALONE = sorted(each for each in SUPPORTED if each in SUBJECTS or each == "Patient")
SHARED = sorted(SUPPORTED - {*ALONE, "Bundle"})
PATIENT = {"resourceType": "Patient", "id": "p1", "name": [{"family": "Quellwright"}]}


def message(type_: str, markers: Markers) -> dict:
    made = markers.resource(type_)
    if type_ in ALONE:
        return made
    entries = [{"resource": PATIENT}, {"fullUrl": "urn:uuid:1", "resource": made}]
    return {"resourceType": "Bundle", "type": "collection", "entry": entries}


def leaked(message: dict, markers: Markers, policy: str) -> list[str]:
    """Return the paths of the markers that are in the output."""
    names = tuple(PersonName(family=each) for each in markers.by_path.values())
    known = KnownIdentifiers(kin_names=names)
    [part] = parts(message)
    written = rebuilt(part, policy, known)
    value = orjson.loads(written.value)
    validate(value)
    shown = [written.value.decode(), *attached(value)]
    shown += [repr(written.removed), repr(written.unreadable), repr(part.skipped)]
    text = "\n".join(shown).lower()
    assert "11:22" not in text
    return [
        path
        for path, each in markers.by_path.items()
        if each.lower() in text
        or base64.b64encode(each.encode()).decode().strip("=")[:-2].lower() in text
    ]


@pytest.mark.parametrize("type_", [*ALONE, *SHARED])
def test_no_marker_of_a_resource_is_written(type_):
    for variant in sampled(range(variants_of(type_))):
        markers = Markers(variant)

        assert leaked(message(type_, markers), markers, "surrogate") == []
        assert len(markers.by_path) > 50


@pytest.mark.parametrize("type_", [*ALONE, *SHARED])
def test_no_marker_is_written_where_the_policy_writes_tags(type_):
    markers = Markers()

    assert leaked(message(type_, markers), markers, "i2b2") == []


def test_no_marker_of_a_bundle_is_written():
    markers = Markers()
    bundle = markers.resource("Bundle") | {"type": "transaction"}
    patient = markers.resource("Patient")
    bundle["entry"] = [each | {"resource": patient} for each in bundle["entry"]]

    assert leaked(bundle, markers, "surrogate") == []
    assert any("entry.request.url" in path for path in markers.by_path)
