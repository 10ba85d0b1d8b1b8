"""Messages inside of messages are scrubbed with the patient's record, and put back."""

from __future__ import annotations

import base64
import re

import orjson
import pytest
from lxml import etree

from deid_core import Document, KnownIdentifiers, PersonName
from streams.formats.readers import READERS
from streams.model.patients.known_identifiers import known_identifiers
from streams.pipeline.publish import PatientValues, Pseudonyms
from streams.pipeline.scrub.documents import part_documents_of
from streams.pipeline.scrub.scrubbing import Texts, rebuilt
from tests.streams.formats.ccda.bodies import unstructured
from tests.streams.formats.ccda.markers import Markers
from tests.streams.formats.ccda.scrubbing import (
    deidentifier,
    encoded,
    found,
    sample,
    text_of,
)
from tests.streams.formats.fhir.scrubbing import sample as fhir_sample

HEADER = "MSH|^~\\&|LAB|HARROWGATE|||20240312||MDM^T02|1|P|2.5.1"
PID = "PID|1||MRN4471836^^^HG^MR||Quellwright^Winifred||19570316|F"
CCD = sample("ccd")
VERSION = b'<versionNumber value="1"/>'
OF_OTHERS = (b"MRN4471836", b"Quellwright", b"Winifred", b"19570316", b"561-83-2947")


def other_patient(value: bytes) -> bytes:
    """Return a document of somebody else."""
    given = (b"MRN9", b"Zz", b"Zzz", b"19610102", b"111-22-3333")
    for old, new in zip(OF_OTHERS, given, strict=True):
        value = value.replace(old, new)
    return value


def message(document: bytes, names: str = "TEXT^XML", *more: str) -> bytes:
    """Return an HL7 message with a document in OBX-5."""
    obx = f"OBX|1|ED|1^Report^L||^{names}^Base64^{encoded(document)}||||||F|||20240312"
    return "".join(f"{each}\r" for each in (HEADER, PID, *more, obx)).encode()


def reference(document: bytes, media_type: str = "application/xml") -> bytes:
    """Return a DocumentReference with a document in an attachment."""
    attachment = {"contentType": media_type, "data": encoded(document)}
    subject = {"reference": "Patient/77", "display": "Winifred Quellwright"}
    return orjson.dumps(
        {
            "resourceType": "DocumentReference",
            "status": "current",
            "subject": subject,
            "content": [{"attachment": attachment}],
        }
    )


def rebuild(format, value, known=None):
    """Return the only part of a message as the product rebuilds it."""
    reader = READERS[format]
    [part] = reader.parts(value)
    known = known or known_identifiers(*part.updates)
    note = part.as_note("1")
    documents = part_documents_of(note, known, reader)
    system = deidentifier()
    texts = Texts(system)
    texts.add(documents.texts)
    texts.scrub()
    values = PatientValues(system, documents.document, Pseudonyms(b"0" * 32))
    return rebuilt(values, documents, texts.of(documents.texts))


def observed(done):
    """Return the components of OBX-5."""
    [obx] = re.findall(r"^OBX\|.*$", done.value.decode().replace("\r", "\n"), re.M)
    return obx.split("|")[5].split("^")


def in_obx(done):
    return base64.b64decode(observed(done)[4])


def in_attachment(done):
    [content] = orjson.loads(done.value)["content"]
    return base64.b64decode(content["attachment"]["data"])


def in_body(document: bytes):
    [body] = found(etree.fromstring(document), "//v:nonXMLBody/v:text")
    return base64.b64decode(body.text)


def test_a_clinical_document_in_obx_is_scrubbed_and_put_back_in_its_form():
    done = rebuild("hl7", message(CCD))

    _, *names, encoding, _ = observed(done)
    document = etree.fromstring(in_obx(done))
    assert (names, encoding) == (["TEXT", "XML"], "Base64")
    assert done.unreadable == {"image": 1}
    assert "Quellwright" not in etree.tostring(document, encoding="unicode")
    assert "4471836" not in etree.tostring(document, encoding="unicode")
    assert len(found(document, "//v:section")) == len(
        found(etree.fromstring(CCD), "//v:section")
    )


def test_a_patient_has_the_same_name_and_days_in_both_messages():
    done = rebuild("hl7", message(CCD))

    text = done.value.decode()
    [pid] = re.findall(r"PID\|[^\r]*", text)
    family, given = pid.split("|")[5].split("^")[:2]
    document = etree.fromstring(in_obx(done))
    name = "//v:recordTarget//v:patient/v:name"
    assert family == found(document, f"{name}/v:family")[0].text
    assert given == found(document, f"{name}/v:given")[0].text
    assert family in text_of(document, "/v:ClinicalDocument/v:title")
    [obx] = re.findall(r"OBX\|[^\r]*", text)
    [made] = found(document, "/v:ClinicalDocument/v:effectiveTime/@value")
    assert made == obx.split("|")[14]
    [born] = found(document, "//v:patient/v:birthTime/@value")
    assert born == pid.split("|")[7]


def test_what_a_document_says_of_the_patient_is_found_in_the_notes_around_it():
    value = message(CCD, "TEXT^XML", "NTE|1||Her guardian Barnaby Ostrander called.")

    done = rebuild("hl7", value)

    assert b"Barnaby" not in done.value
    assert b"Ostrander" not in done.value


def test_a_bundle_in_obx_is_scrubbed_and_put_back():
    patient = fhir_sample("Patient")
    bundle = {
        "resourceType": "Bundle",
        "type": "collection",
        "entry": [{"resource": patient}, {"resource": fhir_sample("Observation")}],
    }
    pid = "PID|1||77881234^^^L^MR||Quellwright^Mabel"

    value = message(orjson.dumps(bundle), "application^JSON")
    done = rebuild("hl7", value.replace(PID.encode(), pid.encode()))

    written = orjson.loads(in_obx(done))
    assert {each["resource"]["resourceType"] for each in written["entry"]} == {
        "Patient",
        "Observation",
    }
    assert b"Quellwright" not in in_obx(done)
    [own] = re.findall(rb"PID\|[^\r]*", done.value)
    family = own.split(b"|")[5].split(b"^")[0].decode()
    assert family == written["entry"][0]["resource"]["name"][0]["family"]


def test_a_clinical_document_in_an_attachment_is_the_note_and_is_put_back():
    value = reference(CCD)
    [part] = READERS["fhir"].parts(value)

    done = rebuild("fhir", value)

    [note] = part.notes
    assert "Her daughter Odette called" in note.text
    document = etree.fromstring(in_attachment(done))
    assert "Quellwright" not in etree.tostring(document, encoding="unicode")
    assert "Odette" not in etree.tostring(document, encoding="unicode")
    [attachment] = orjson.loads(done.value)["content"]
    assert attachment["attachment"]["contentType"] == "application/xml"


def test_a_clinical_document_in_a_binary_is_put_back():
    document = orjson.loads(reference(b""))
    document["content"] = [{"attachment": {"url": "Binary/b-1"}}]
    binary = {
        "resourceType": "Binary",
        "id": "b-1",
        "contentType": "application/cda+xml",
        "data": encoded(CCD),
    }
    entries = [{"resource": document}, {"resource": binary}]
    bundle = {"resourceType": "Bundle", "type": "collection", "entry": entries}

    done = rebuild("fhir", orjson.dumps(bundle))

    [_, written] = orjson.loads(done.value)["entry"]
    data = base64.b64decode(written["resource"]["data"])
    assert "ClinicalDocument" in etree.fromstring(data).tag
    assert b"Quellwright" not in data


@pytest.mark.parametrize("representation", ["B64", "TXT"])
def test_a_resource_in_a_body_is_put_back(representation):
    resource = orjson.loads(reference(b"Mrs. Quellwright is well.", "text/plain"))
    data = orjson.dumps(resource)
    is_encoded = representation == "B64"
    text = encoded(data) if is_encoded else data.decode()
    value = unstructured("application/fhir+json", text, representation)

    done = rebuild("ccda", value)

    [body] = found(etree.fromstring(done.value), "//v:nonXMLBody/v:text")
    written = base64.b64decode(body.text) if is_encoded else body.text
    assert orjson.loads(written)["resourceType"] == "DocumentReference"
    assert b"Quellwright" not in done.value
    [content] = orjson.loads(written)["content"]
    inner = base64.b64decode(content["attachment"]["data"])
    assert inner.endswith(b"is well.")
    assert b"Quellwright" not in inner


def test_a_clinical_document_in_a_body_is_put_back():
    value = unstructured("application/xml", encoded(CCD))

    done = rebuild("ccda", value)

    assert b"Quellwright" not in in_body(done.value)
    assert "ClinicalDocument" in etree.fromstring(in_body(done.value)).tag


def test_messages_are_opened_two_levels_deep_and_no_deeper():
    inner = reference(b"Mrs. Quellwright is well.", "text/plain")
    two = unstructured("application/fhir+json", encoded(inner))
    three = unstructured("application/fhir+json", encoded(reference(CCD)))

    opened, refused = rebuild("hl7", message(two)), rebuild("hl7", message(three))

    assert b"DocumentReference" in in_body(in_obx(opened))
    assert refused.unreadable == {"unknown": 1}
    [content] = orjson.loads(in_body(in_obx(refused)))["content"]
    assert "data" not in content["attachment"]


def test_no_marker_of_a_document_inside_is_written():
    markers = Markers()
    document = markers.fill(
        etree.fromstring(CCD),
        but=frozenset(
            {"code", "codeSystem", "unit", "root", "type", "mediaType", "tail", "text"}
        ),
    )
    names = tuple(PersonName(family=each) for each in markers.by_path.values())
    value = message(document).replace(PID.encode(), b"PID|1||7^^^HG^MR")

    done = rebuild("hl7", value, KnownIdentifiers(kin_names=names))

    shown = (in_obx(done) + done.value).decode().lower() + repr(done.removed).lower()
    assert "clinicaldocument" in shown
    assert [path for path, it in markers.by_path.items() if it.lower() in shown] == []
    assert len(markers.by_path) > 60


@pytest.mark.parametrize(
    ("document", "names", "kind"),
    [
        (other_patient(CCD), "TEXT^XML", "other_patient"),
        (CCD[: len(CCD) // 2], "TEXT^XML", "broken"),
        (CCD, "application^PDF", "broken"),
        (CCD.replace(b"<patientRole>", b"<patientRole/><patientRole>"), "^", "unknown"),
        (CCD.replace(b"?>", b"?><!DOCTYPE a [<!ENTITY a 'b'>]>", 1), "^", "unknown"),
        (b"<a>Quellwright</a>", "TEXT^XML", "unknown"),
        (b'<Patient xmlns="http://hl7.org/fhir"/>', "TEXT^XML", "unknown"),
        (b'{"resourceType": "Patient", "id": ', "application^JSON", "broken"),
        (b'{"resourceType": "Basic", "id": "7"}', "application^JSON", "unknown"),
        (b'{"note": "Quellwright"}', "application^JSON", "unknown"),
        (
            orjson.dumps(
                {
                    "resourceType": "Bundle",
                    "type": "collection",
                    "entry": [
                        {"resource": {"resourceType": "Patient", "id": each}}
                        for each in "ab"
                    ],
                }
            ),
            "application^JSON",
            "other_patient",
        ),
        (b"[" * 100_000, "application^JSON", "unknown"),
    ],
)
def test_what_cannot_be_opened_is_removed_and_counted(document, names, kind):
    done = rebuild("hl7", message(document, names))

    assert observed(done) == [""]
    assert done.unreadable == {kind: 1}
    assert b"Quellwright" not in done.value


def test_a_document_of_another_patient_tells_nothing_of_this_one():
    [own] = READERS["hl7"].parts(message(b"-"))
    [part] = READERS["hl7"].parts(message(other_patient(CCD)))

    assert own.updates == part.updates


def test_a_value_of_the_record_in_a_document_inside_is_removed_alone():
    value = CCD.replace(VERSION, VERSION.replace(b"1", b"97062"))

    done = rebuild("hl7", message(value))

    document = etree.fromstring(in_obx(done))
    assert found(document, "/v:ClinicalDocument/v:versionNumber/@value") == []
    assert done.removed["INT.value"] == 1


def test_documents_inside_are_looked_at_as_those_around_them(monkeypatch):
    reader = READERS["hl7"]
    [part] = reader.parts(message(CCD))
    opened = reader.read(part.content)
    system = deidentifier()
    given = [Document("1", each.text) for each in opened.texts]
    nobody = system.deidentify_batch(given)
    document = Document("1", "", known_identifiers(*part.updates), "p")
    values = PatientValues(system, document, Pseudonyms(b"0" * 32))

    done = opened.rebuilt(nobody, values)

    assert [format for format, _ in done.enclosed] == ["ccda"]
    [(_, inner)] = done.enclosed
    assert in_obx(done) == inner.value


@pytest.mark.parametrize(
    ("format", "value", "place"),
    [
        (
            "hl7",
            f"{HEADER}\r{PID}|||12 Elm St^^Salem^MA^01970\rOBX|1|NM|2345-7^Glucose^LN"
            "||1970||||||F\rOBX|2|NM|2345-7^Glucose^LN||01970||||||F\r".encode(),
            "OBX-5",
        ),
        (
            "fhir",
            orjson.dumps(
                {
                    "resourceType": "Bundle",
                    "type": "collection",
                    "entry": [
                        {"resource": fhir_sample("Patient")},
                        {
                            "resource": {
                                **fhir_sample("Observation"),
                                "valueQuantity": {"value": 62704},
                            }
                        },
                    ],
                }
            ),
            "Quantity.value",
        ),
        (
            "ccda",
            CCD.replace(VERSION, VERSION.replace(b"1", b"97062")),
            "INT.value",
        ),
    ],
)
def test_a_measured_value_that_is_the_zip_code_does_not_cost_the_message(
    format, value, place
):
    done = rebuild(format, value)

    assert done.removed[place] >= 1
