"""What a worker answers, in this process."""

from __future__ import annotations

import json
from functools import partial
from types import SimpleNamespace

import pytest

from deid_core import Deidentifier, Label
from deid_core.policy import load_policy
from streams.engine.errors import InvalidRecord
from streams.engine.reasons import ReasonCode
from streams.formats.fhir import FhirReader
from streams.model.notes import ClinicalNote
from streams.model.parts import FreeText, Part, Rebuilt
from streams.model.patients.demographics import (
    Demographics,
    Name,
    PatientId,
    PatientRecord,
)
from streams.pipeline.publish import Pseudonyms
from streams.products.gateway import models
from streams.products.gateway.scrubbing import MAX_DEPTH, Names, Scrubber, depth_of
from streams.products.gateway.tasks import ACCEPTED, FHIR, JSON, NDJSON, Kind, Task

KEY = b"0" * 32
NAMES = Names("hybrid", "safe-harbor")
NOTE = {
    "id": "N-ZZID",
    "text": "Ms. Zzquellwrigt was seen on 3/14/2024; call (312) 555-0147.",
    "patient_id": "ZZPATIENT",
    "patient": {"names": [{"family": "Zzquellwright", "given": "Mabelle"}]},
}
MODELS = {
    Kind.NOTE: models.Note,
    Kind.BATCH: models.Batch,
    Kind.FHIR: models.Messages,
    Kind.DOCUMENT: models.RebuiltDocument,
}


class TestReader:
    """Reads `{"resourceType": "Test", "patients": [...]}`, as FHIR would be."""

    __test__ = False
    text = FhirReader.text

    def __init__(self, leak=""):
        self.leak = leak

    def parts(self, value):
        given = json.loads(value)
        if "patients" not in given:
            raise InvalidRecord(ReasonCode.SCHEMA, "Test: lacks patients")
        return [self._part(each) for each in given["patients"]]

    def _part(self, each):
        patient = PatientId("A", each["id"])
        known = Demographics(names=(Name(family=each["family"]),))
        note = ClinicalNote("1", patient, "", "", each["text"])
        updates = (PatientRecord(patient, "", known),)
        return Part("fhir", json.dumps(each), updates, (note,))

    def read(self, content):
        given = json.loads(content)
        texts = [FreeText(given["text"])]
        return SimpleNamespace(texts=texts, rebuilt=partial(self._rebuilt, given))

    def _rebuilt(self, given, scrubbed, values):
        made = {
            "resourceType": "Test",
            "id": values.pseudonym("patient", given["id"]),
            "family": values.replaced(Label.PATIENT, given["family"]),
            "text": scrubbed[0].text,
            "leak": given["family"] if self.leak else "",
        }
        return Rebuilt(json.dumps(made).encode(), {"Test.photo": 1}, {"image": 2})


class Broken:
    name = "broken"
    reads_as_written = False

    def __call__(self, documents):
        raise ValueError("ZZVALUE")


def scrubber(deidentifier, **options):
    options = {"readers": {"fhir": TestReader()}} | options
    return Scrubber(deidentifier, Pseudonyms(KEY), NAMES, **options)


@pytest.fixture(scope="module")
def ours(hybrid):
    return scrubber(hybrid)


def ask(scrubber, kind, body, media_type="", **options):
    if not isinstance(body, bytes):
        body = json.dumps(body).encode()
    media_type = media_type or ACCEPTED[kind][0]
    return scrubber.answer(Task(kind, media_type, body, **options))


def value(answer):
    assert answer.status == 200, answer.body
    return json.loads(answer.body)


def refusal(answer):
    return answer.status, json.loads(answer.body)["error"]


def patients(*families):
    return {
        "resourceType": "Test",
        "patients": [
            {"id": f"P{n}", "family": each, "text": f"Mr. {each} is well."}
            for n, each in enumerate(families)
        ],
    }


def test_a_note_is_scrubbed_and_annotated_in_both_texts(ours):
    found = value(ask(ours, Kind.NOTE, NOTE))

    assert found["text"] == (
        "Ms. [NAME:PATIENT] was seen on [DATE]; call [CONTACT:PHONE]."
    )
    assert found["join"] == "found"
    shown = [
        (
            NOTE["text"][each["start"] : each["end"]],
            found["text"][each["scrubbed_start"] : each["scrubbed_end"]],
        )
        for each in found["annotations"]
    ]
    assert shown == [
        ("Zzquellwrigt", "[NAME:PATIENT]"),
        ("3/14/2024", "[DATE]"),
        ("(312) 555-0147", "[CONTACT:PHONE]"),
    ]


def test_the_full_form_gives_the_same_as_the_short_one(ours):
    full = {
        "note_id": NOTE["id"],
        "text": NOTE["text"],
        "patient": {"assigning_authority": "", "id": NOTE["patient_id"]},
        "demographics": NOTE["patient"],
    }

    assert ask(ours, Kind.NOTE, full).body == ask(ours, Kind.NOTE, NOTE).body


def test_ids_are_those_of_the_stream_unless_the_caller_asks(ours):
    found = value(ask(ours, Kind.NOTE, NOTE))
    key = PatientId("", "ZZPATIENT").key

    assert found["note_id"] == Pseudonyms(KEY).note(key, "N-ZZID")
    assert found["patient"] == Pseudonyms(KEY).patient(key)
    assert found["key_id"] == Pseudonyms(KEY).key_id
    sent = value(ask(ours, Kind.NOTE, NOTE, keeps_note_id=True))
    assert sent == found | {"note_id": "N-ZZID"}


def test_a_note_without_a_patient_joins_nothing(ours):
    found = value(ask(ours, Kind.NOTE, {"id": "1", "text": "Seen today, well."}))

    assert found["join"] == "missing"
    assert "patient" not in found
    assert found["text"] == "Seen today, well."


@pytest.mark.parametrize("media_type", [JSON, NDJSON])
def test_a_batch_has_a_result_or_an_error_for_each_note_in_order(ours, media_type):
    notes = [
        NOTE,
        {"id": "ZZNOTEXT"},
        {"id": "2", "text": "Ms. Zzquellwright again.", "patient_id": "ZZPATIENT"},
    ]
    lines = b"\n".join(json.dumps(each).encode() for each in notes)
    answer = ask(ours, Kind.BATCH, notes if media_type == JSON else lines, media_type)

    if media_type == JSON:
        results = value(answer)["results"]
    else:
        results = [json.loads(line) for line in answer.body.splitlines()]
    assert [each.get("join") for each in results] == ["found", None, "found"]
    assert results[1]["error"]["code"] == "schema"
    assert b"ZZ" not in answer.body
    assert (answer.counts.scrubbed, answer.counts.refused) == (2, {"schema": 1})


def test_a_note_of_a_batch_that_gives_a_name_twice_is_refused_alone(ours):
    body = b'[{"id":"1","text":"a"},{"id":"2","text":"ZZ","text":"b"}]'

    found = json.loads(ask(ours, Kind.BATCH, body, JSON).body)["results"]

    assert ["error" in each for each in found] == [False, True]
    assert "gives a name twice" in found[1]["error"]["reason"]


def test_a_batch_of_too_many_notes_is_refused(hybrid):
    answer = ask(scrubber(hybrid, max_batch=1), Kind.BATCH, [NOTE, NOTE])

    assert (answer.status, refusal(answer)[1]["code"]) == (413, "too_large")


def test_a_note_of_a_batch_that_is_too_large_is_refused_alone(hybrid):
    small = {"id": "1", "text": "Well."}
    answer = ask(scrubber(hybrid, max_note_bytes=100), Kind.BATCH, [NOTE, small])

    codes = [each.get("error", {}).get("code") for each in value(answer)["results"]]
    assert codes == ["too_large", None]


@pytest.mark.parametrize(
    ("kind", "body", "media_type", "status", "code"),
    [
        (Kind.NOTE, NOTE, "text/plain", 415, "unsupported"),
        (Kind.NOTE, NOTE, " ", 415, "unsupported"),
        (Kind.NOTE, b'{"ZZ": ', JSON, 422, "bad_json"),
        (Kind.NOTE, b"\xff\xfe{", JSON, 422, "bad_json"),
        (Kind.NOTE, b"", JSON, 422, "bad_json"),
        (Kind.NOTE, {"id": "ZZ"}, JSON, 422, "schema"),
        (Kind.NOTE, [NOTE], JSON, 422, "schema"),
        (Kind.NOTE, b'{"id":"1","text":"ZZ","text":"a"}', JSON, 422, "schema"),
        (Kind.NOTE, {"id": None, "text": "ZZ"}, JSON, 422, "schema"),
        (Kind.NOTE, {"id": "1", "text": "a", "patient": 3}, JSON, 422, "schema"),
        (Kind.NOTE, patients("ZZ"), JSON, 415, "unsupported"),
        (Kind.NOTE, b"MSH|^~\\&|ZZ|", JSON, 415, "unsupported"),
        (Kind.NOTE, b"{\\rtf1 ZZ}", JSON, 415, "unsupported"),
        (Kind.BATCH, NOTE, JSON, 422, "schema"),
        (Kind.HL7, b"MSH|^~\\&|ZZ|", "text/plain", 415, "unsupported"),
        (Kind.HL7, b"ZZ is well.", "text/plain", 415, "unsupported"),
        (Kind.HL7, b"%PDF-1.4 ZZ", "text/plain", 415, "unsupported"),
        (Kind.HL7, b"\x89PNG\r\n\x1a\nZZ", "text/plain", 415, "unsupported"),
        (Kind.FHIR, NOTE, FHIR, 415, "unsupported"),
        (Kind.FHIR, b'{"resourceType": "ZZ"', FHIR, 422, "bad_json"),
        (Kind.FHIR, {"resourceType": "ZZ"}, FHIR, 422, "schema"),
        (Kind.FHIR, patients(), FHIR, 422, "no_patient"),
        (Kind.CCDA, b"<html>ZZ</html>", "application/xml", 415, "unsupported"),
        (Kind.CCDA, b"<ZZ>ZZ</ZZ>", "application/xml", 415, "unsupported"),
        (Kind.DOCUMENT, b"{\\rtf1 ZZ}", "text/plain", 415, "unsupported"),
        (Kind.DOCUMENT, b"Well, ZZ.", "application/pdf", 415, "unsupported"),
        (Kind.DOCUMENT, b"MSH|^~\\&|ZZ|", "text/plain", 415, "unsupported"),
        (Kind.DOCUMENT, b"GIF89aZZ", "text/plain", 415, "unsupported"),
        (Kind.DOCUMENT, b"ZZ \xe9", "text/plain", 422, "undecodable"),
        (Kind.DOCUMENT, b"%PDF-1.4\nZZ\n%%EOF", "application/pdf", 422, "unreadable"),
    ],
)
def test_a_refusal_says_why_and_never_what(
    ours, caplog, kind, body, media_type, status, code
):
    answer = ask(ours, kind, body, media_type)
    found, error = refusal(answer)

    assert (status, code) == (found, error["code"])
    assert error["reason"]
    assert answer.counts.refused == {code: 1}
    assert b"ZZ" not in answer.body
    assert "ZZ" not in caplog.text


def test_json_may_not_be_nested_deeper_than_a_limit(ours):
    deep = b'{"id": "1", "text": ' + b"[" * 500 + b"]" * 500 + b"}"
    deeper = deep.replace(b"[" * 500, b"[" * 100_000).replace(
        b"]" * 500, b"]" * 100_000
    )

    for body in (deep, deeper):
        assert (
            ask(ours, Kind.NOTE, body).status,
            refusal(ask(ours, Kind.NOTE, body))[1]["code"],
        ) == (422, "bad_json")


@pytest.mark.parametrize(
    ("text", "depth"),
    [
        (b"1", 0),
        (b"[]", 1),
        (b'[{"a": ["[[[", "\\"[["]}, []]', 3),
        (b"[" * (MAX_DEPTH + 9) + b"]" * (MAX_DEPTH + 9), MAX_DEPTH + 1),
    ],
)
def test_depth_is_that_of_brackets_outside_of_strings(text, depth):
    assert depth == depth_of(text)


def test_a_message_comes_back_for_each_patient_with_its_notes(ours):
    answer = ask(ours, Kind.FHIR, patients("Zzquellwright", "Zzbrandt"))
    found = value(answer)

    assert 2 == len(found["messages"]) == len(found["notes"])
    one = found["messages"][0]
    assert json.loads(one["content"])["text"] == "Mr. [NAME:PATIENT] is well."
    assert (one["removed"], one["unreadable"]) == ({"Test.photo": 1}, {"image": 2})
    assert found["notes"][0]["text"] == "Mr. [NAME:PATIENT] is well."
    assert found["messages"][1]["patient"] == found["notes"][1]["patient"]
    assert b"zz" not in answer.body.lower()


def test_a_bare_message_is_given_to_whom_accepts_only_that(ours):
    one, two = patients("Zzquellwright"), patients("Zzquellwright", "Zzbrandt")
    answer = ask(ours, Kind.FHIR, one, accept=f"{FHIR}; q=0.9, text/*")

    assert (answer.status, answer.media_type) == (200, FHIR)
    assert json.loads(answer.body)["resourceType"] == "Test"
    both = ask(ours, Kind.FHIR, one, accept=f"{FHIR}, {JSON}")
    assert "messages" in value(both)
    assert (
        ask(ours, Kind.FHIR, two, accept=FHIR).status,
        refusal(ask(ours, Kind.FHIR, two, accept=FHIR))[1]["code"],
    ) == (406, "not_acceptable")


def test_a_value_that_leaks_into_a_message_is_residue(hybrid):
    leaky = scrubber(hybrid, readers={"fhir": TestReader(leak="family")})
    answer = ask(leaky, Kind.FHIR, patients("Zzquellwright"))

    assert (answer.status, refusal(answer)[1]["code"]) == (422, "residue")
    assert b"zz" not in answer.body.lower()


def test_a_detector_that_fails_is_500_with_its_code_alone():
    broken = Deidentifier([Broken()], load_policy("safe-harbor"))
    answer = ask(scrubber(broken), Kind.NOTE, NOTE)

    assert refusal(answer) == (500, {"code": "detector_failed"})


def test_a_bug_is_500_with_a_code_alone_and_shows_no_value_in_the_log(ours, caplog):
    class Bug(TestReader):
        def parts(self, value):
            raise RuntimeError(value)

    answer = ask(
        scrubber(ours._deidentifier, readers={"fhir": Bug()}),
        Kind.FHIR,
        patients("ZZQ"),
    )

    assert refusal(answer) == (500, {"code": "decoder_failed"})
    assert all("ZZQ" not in record.getMessage() for record in caplog.records)


def test_a_document_comes_back_in_its_form(ours):
    text = "Mr. John Zzquellwright, MRN 4471923, was seen."
    plain = ask(ours, Kind.DOCUMENT, text.encode(), "text/plain", accept="text/plain")
    rich = ask(ours, Kind.DOCUMENT, b"{\\rtf1 %s}" % text.encode(), "application/rtf")
    page = ask(ours, Kind.DOCUMENT, b"<p>%s</p>" % text.encode(), "text/html")

    assert plain.media_type.startswith("text/plain")
    assert plain.body.startswith(b"Mr. [NAME:PATIENT], MRN [")
    assert value(rich)["content"].startswith("{\\rtf1")
    assert value(rich)["media_type"] == "application/rtf"
    assert "[NAME:PATIENT]" in value(page)["content"]
    for each in (plain, rich, page):
        assert b"zzq" not in each.body.lower()
        assert b"4471923" not in each.body


def test_the_charset_of_a_text_is_that_of_its_header(ours):
    body = "Herr Müller wurde gesehen: Mr. Müller is well.".encode("latin-1")
    answer = ask(ours, Kind.DOCUMENT, body, "text/plain; charset=iso-8859-1")

    assert answer.status in (200, 422)  # it may be refused for its language
    assert "undecodable" not in answer.body.decode()


@pytest.mark.parametrize(
    ("kind", "body", "media_type"),
    [
        (Kind.NOTE, NOTE, JSON),
        (Kind.BATCH, [NOTE, {"id": "1"}], JSON),
        (Kind.FHIR, patients("Zzquellwright", "Zzbrandt"), FHIR),
        (Kind.DOCUMENT, b"Mr. John Smith was seen.", "text/plain"),
    ],
)
def test_answers_are_as_the_description_says(ours, kind, body, media_type):
    found = ask(ours, kind, body, media_type)

    assert found.status == 200
    MODELS[kind].model_validate_json(found.body)


def test_tasks_and_answers_survive_the_way_to_a_worker_and_back(ours):
    task = Task(Kind.BATCH, NDJSON, b"\x00body", "a/b", keeps_note_id=True)
    answer = ask(ours, Kind.NOTE, NOTE)

    for each in (task, answer):
        sizes, rest = each.encoded()[:8], each.encoded()[8:]
        size = int.from_bytes(sizes[:4], "big")
        assert each == type(each).decoded(rest[:size], rest[size:])


def test_nothing_shows_a_body_in_its_repr():
    assert "ZZ" not in repr(Task(Kind.NOTE, "ZZ", b"ZZ", "ZZ"))
