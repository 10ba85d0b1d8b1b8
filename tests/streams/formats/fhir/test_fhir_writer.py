"""What becomes of single elements."""

from __future__ import annotations

import re

import orjson
import pytest

from deid_core import Document
from streams.formats.fhir.rules import DATA_ABSENT
from streams.pipeline.publish import PatientValues, Pseudonyms
from tests.streams.formats.fhir.scrubbing import (
    READER,
    attached,
    deidentifier,
    encoded,
    parts,
    rebuilt,
    removed,
    sample,
    scrubbed,
    validate,
)

NOBODY = PatientValues(deidentifier(), Document("x", ""), Pseudonyms(b"0" * 32))
LOINC = "http://loinc.org"
UCUM = "http://unitsofmeasure.org"
MASKED = {"extension": [{"url": DATA_ABSENT, "valueCode": "masked"}]}
DAY = re.compile(r"\d{4}-\d\d-\d\d")


def observation(**more: object) -> dict:
    """Return an Observation, scrubbed by the policy `surrogate`."""
    return scrubbed(given(**more))


def given(**more: object) -> dict:
    code = {"coding": [{"system": LOINC, "code": "8302-2"}]}
    subject = {"reference": "Patient/1"}
    made = {"resourceType": "Observation", "status": "final", "code": code}
    return made | {"subject": subject} | more


def coded(system: str, code: str) -> dict | None:
    value = {"coding": [{"system": system, "code": code}]}
    return observation(valueCodeableConcept=value).get("valueCodeableConcept")


@pytest.mark.parametrize(
    ("system", "code"),
    [
        (LOINC, "11506-3"),
        (LOINC, "LA33-6"),
        ("http://snomed.info/sct", "38341003"),
        ("http://hl7.org/fhir/sid/icd-10-cm", "I10"),
        ("http://hl7.org/fhir/sid/icd-10-cm", "S72.001A"),
        ("http://www.nlm.nih.gov/research/umls/rxnorm", "314076"),
        ("http://terminology.hl7.org/CodeSystem/v3-RoleCode", "MTH"),
    ],
)
def test_codes_of_public_systems_are_kept(system, code):
    assert coded(system, code) == {"coding": [{"system": system, "code": code}]}


@pytest.mark.parametrize(
    ("system", "code"),
    [
        (LOINC, "11506-4"),  # its check digit is another one
        (LOINC, "Roe"),
        ("http://snomed.info/sct", "77881234"),
        ("http://hl7.org/fhir/sid/icd-10-cm", "ROE"),
        ("http://terminology.hl7.org/CodeSystem/v3-RoleCode", "ROE"),
        ("http://larkfield.example/codes", "I10"),
        ("", "I10"),
    ],
)
def test_other_codes_are_removed(system, code):
    assert coded(system, code) is None


@pytest.mark.parametrize(
    ("text", "stays"), [("gout", True), ("Rash", True), ("Kowalski", False)]
)
def test_a_single_word_without_a_code_stays_if_it_is_a_word(text, stays):
    written = observation(valueCodeableConcept={"text": text})["valueCodeableConcept"]

    assert (written["text"] == text) is stays


def test_a_system_that_is_no_text_is_none():
    value = {"coding": [{"system": ["x"], "display": "Kowalski"}], "text": "Kowalski"}

    assert b"Kowalski" not in orjson.dumps(observation(valueCodeableConcept=value))


def test_a_local_code_leaves_its_display():
    coding = {"system": "http://x.test", "code": "9", "display": "Potassium", "id": "x"}
    value = {"coding": [coding], "text": "Potassium"}

    written = observation(valueCodeableConcept=value)["valueCodeableConcept"]

    assert written == {"coding": [{"display": "Potassium"}], "text": "Potassium"}


@pytest.mark.parametrize(
    ("written", "kept"),
    [("2019-05-01", True), ("2019-05-01T10:11:12.123-05:00", True), ("2019-05", True),
     ("2019-02-30", False), ("May 1, 2019", False), ("2019-05-01 Roe", False),
     ("2019-05-01T10:11:12Z Roe", False), ("20190501", False)],
)  # fmt: skip
def test_dates_are_moved_and_what_is_none_is_removed(written, kept):
    value = observation(effectiveDateTime=written)
    shown = value.get("effectiveDateTime")

    assert (shown is not None) is kept
    if shown is not None:
        assert len(shown) == min(len(written), 10)
        assert shown != written[:10]


def test_all_dates_of_a_patient_are_moved_by_as_many_days():
    one = observation(effectiveDateTime="2019-05-01", issued="2019-05-11T23:59:59Z")
    first, second = (
        orjson.loads(f'"{each[:10]}"')
        for each in (one["effectiveDateTime"], one["issued"])
    )

    assert DAY.fullmatch(first)
    assert one["issued"].endswith("T00:00:00Z")
    assert first[:8] != second[:8] or int(second[8:]) - int(first[8:]) == 10


@pytest.mark.parametrize(
    ("policy", "instant"),
    [("i2b2", None), ("limited-data-set", "2019-05-01T00:00:00Z")],
)
def test_an_instant_never_shows_its_time(policy, instant):
    value = scrubbed(given(issued="2019-05-01T07:45:12.123-05:00"), policy)

    assert value.get("issued") == instant
    validate(value)


def test_ages_over_89_are_not_shown():
    def quantity(value: float, code: str = "a") -> dict:
        written = {"value": value, "unit": "years", "system": UCUM, "code": code}
        return observation(valueQuantity=written)["valueQuantity"]

    assert quantity(45)["value"] == 45
    assert (quantity(93)["value"], quantity(93)["comparator"]) == (90, ">=")


@pytest.mark.parametrize(("age", "shown"), [(45, 45), (93, None)])
def test_a_number_that_is_an_age_is_shown_as_ages_are(age, shown):
    code = {"coding": [{"system": LOINC, "code": "30525-0"}]}
    value = observation(code=code, valueInteger=age)

    assert value.get("valueInteger") == shown
    validate(value)


@pytest.mark.parametrize(("unit", "is_kept"), [("mg/dL", True), ("{Roe}", False)])
def test_units_are_kept_if_they_are_units(unit, is_kept):
    written = {"value": 1, "unit": unit, "system": UCUM, "code": unit}
    value = observation(valueQuantity=written)["valueQuantity"]

    assert ("code" in value) is is_kept
    assert ("system" in value) is is_kept


def test_a_number_that_identifies_the_patient_is_removed():
    one = {**sample("Patient")}
    bundle = {
        "resourceType": "Bundle",
        "type": "collection",
        "entry": [
            {"resource": one},
            {
                "resource": given(
                    valueInteger=77881234, subject={"reference": "Patient/p-4711"}
                )
            },
        ],
    }

    assert removed(bundle)["Observation.valueInteger"] == 1


def test_a_mandatory_element_says_that_it_is_masked():
    one = given(status="Roe", code={"coding": [{"system": "x", "code": "Roe"}]})
    value = scrubbed(one)

    assert value["_status"] == MASKED
    assert value["code"] == MASKED
    validate(value)


def test_what_was_absent_says_nothing():
    one = given()
    del one["status"]

    assert not {"status", "_status"} & scrubbed(one).keys()


def test_values_and_their_extensions_stay_in_line():
    absent = {"extension": [{"url": DATA_ABSENT, "valueCode": "unknown"}]}
    other = {"id": "x", "extension": [{"url": "http://x.test", "valueString": "Roe"}]}
    name = {
        "given": ["Mabel", None, "Anne", "Ida"],
        "_given": [None, absent, other, absent],
    }
    message = {"resourceType": "Patient", "id": "1", "name": [name]}
    written = scrubbed(message)["name"][0]

    assert [each is None for each in written["given"]] == [False, True, False, False]
    assert written["_given"] == [None, absent, None, absent]
    assert removed(message) == {"Element.id": 1, "Element.extension": 1}


def test_extensions_are_kept_by_url_with_their_own_rules():
    message = sample("Patient")
    value = scrubbed(message)
    urls = [each["url"].rpartition("/")[2] for each in value["extension"]]

    assert urls == ["us-core-race", "us-core-birthsex", "patient-mothersMaidenName"]
    assert value["extension"][0] == message["extension"][0]
    assert value["extension"][2]["valueString"] != "Ida Ostrander"
    assert removed(message)["Patient.extension"] == 1


def test_contained_resources_have_the_rules_of_any_other():
    value = scrubbed(sample("MedicationRequest"))
    [medication] = value["contained"]

    assert value["medicationReference"]["reference"] == f"#{medication['id']}"
    assert medication["batch"]["lotNumber"] != "LOT-77A"


def test_the_narrative_keeps_its_structure_and_nothing_else():
    div = (
        '<div xmlns="http://www.w3.org/1999/xhtml" onclick="Roe()"><!-- Roe --><p '
        'title="Roe" id="Roe">Seen &lt; 5 &amp; well<br/>again</p><script>Roe'
        '</script><table><tr><td colspan="2">1</td></tr></table><form>x</form></div>'
    )
    value = observation(text={"status": "generated", "div": div})

    assert value["text"]["div"] == (
        '<div xmlns="http://www.w3.org/1999/xhtml"><p>Seen &lt; 5 &amp; well<br/>again'
        '</p><table><tr><td colspan="2">1</td></tr></table>x<br/></div>'
    )
    validate(value)


@pytest.mark.parametrize("div", ["", "<div/>", "<div><!-- Roe --></div>", "<p> </p>"])
def test_a_narrative_without_text_is_removed(div):
    assert "text" not in observation(text={"status": "generated", "div": div})


@pytest.mark.parametrize(
    ("media_type", "text"),
    [
        ("text/plain", "Seen by Dr. Steven Kowalczyk."),
        ("text/html", "<p>Seen by Dr. <b>Steven Kowalczyk</b>.</p>"),
        ("application/rtf", r"{\rtf1\ansi Seen by Dr. Steven Kowalczyk.}"),
    ],
)
def test_attachments_are_scrubbed_in_their_format(media_type, text):
    document = sample("DocumentReference")
    attachment = {"contentType": media_type, "data": encoded(text), "size": len(text)}
    document["content"] = [{"attachment": attachment}]
    value = scrubbed(document)
    written = value["content"][0]["attachment"]
    [shown] = attached(value)

    assert written.keys() == {"contentType", "data"}
    assert written["contentType"].startswith(media_type)
    assert "Seen by Dr." in shown
    assert "Kowalczyk" not in shown
    validate(value)


@pytest.mark.parametrize(
    "data",
    [
        "\x00\x01\x02",
        '<ClinicalDocument xmlns="urn:hl7-org:v3"><title>T</title></ClinicalDocument>',
        '{"resourceType": "Patient", "name": [{"text": "Steven Kowalczyk"}]}',
    ],
)
def test_an_attachment_that_cannot_be_opened_leaves_a_valid_document(data):
    document = sample("DocumentReference")
    document["content"] = [{"attachment": {"data": encoded(data), "url": "x:y"}}]
    [part] = parts(document)
    written = rebuilt(part)
    value = orjson.loads(written.value)

    assert value["content"] == [{"attachment": MASKED}]
    assert written.unreadable
    assert written.removed["Attachment.url"] == 1
    validate(value)


@pytest.mark.parametrize(
    "text",
    [
        "Seen by Dr. Ste<b>ven</b> Kow&#97;lczyk.",
        r"{\rtf1 Seen by Dr. Ste{\b ven} Kow{\b al}czyk.}",
        "<html><p>Seen by Dr. Steven Kow<i>al</i>czyk.</p>",
    ],
)
def test_texts_of_html_and_rtf_are_written_as_plain_text(text):
    made = given(valueString=text, note=[{"text": f"Later:\n{text}"}])
    [part] = parts(made)

    assert part.notes[0].text.startswith("Seen by Dr. Steven Kowalczyk.")
    written = orjson.loads(rebuilt(part).value)
    shown = r"Seen by Dr\. [A-Z][a-z]+ [A-Z][a-z]+\."
    assert re.fullmatch(shown, written["valueString"].strip())
    assert "Kowalczyk" not in written["note"][0]["text"]


def test_persons_and_institutions_in_references_are_replaced():
    value = scrubbed(sample("Encounter"))

    assert "Kowalczyk" not in value["participant"][0]["individual"]["display"]
    assert value["participant"][0]["individual"]["display"].startswith("Dr. ")
    assert value["serviceProvider"]["display"] != "Larkfield General Hospital"


@pytest.mark.parametrize(
    ("reference", "shown"),
    [
        ("Practitioner?identifier=http://hl7.org/fhir/sid/us-npi|9941339108",
         r"Practitioner\?identifier=http://hl7\.org/fhir/sid/us-npi\|\d{10}"),
        ("Practitioner?identifier=http://x.test/a|12345",
         r"Practitioner\?identifier=urn:uuid:[0-9a-f-]{36}\|\d{5}"),
        ("https://x.test/fhir/Practitioner/9", r"Practitioner/[0-9a-f-]{36}"),
        ("Practitioner?name=Roe", None),
        ("https://x.test/Roe", None),
        ("Roe/1", None),
    ],
)  # fmt: skip
def test_references_show_neither_servers_nor_identifiers(reference, shown):
    [written] = observation(performer=[{"reference": reference, "display": "Roe"}])[
        "performer"
    ]

    if shown is None:
        assert "reference" not in written
    else:
        assert re.fullmatch(shown, written["reference"])
        assert "12345" not in written["reference"]
        assert "9941339108" not in written["reference"]


def test_identifiers_are_those_of_the_notes_or_pseudonyms_where_notes_show_tags():
    def value(policy: str) -> str:
        return scrubbed(sample("Patient"), policy)["identifier"][0]["value"]

    assert re.fullmatch(r"\d{8}", value("surrogate"))
    assert re.fullmatch(r"[0-9a-f]{32}", value("i2b2"))
    assert value("i2b2") == value("safe-harbor")


def test_removed_values_are_counted_by_place_and_never_named():
    message = sample("Patient") | {"Quellwright": "x", "_Roe": {"id": "x"}}

    assert removed(message) == {
        "Meta.versionId": 1,
        "Meta.profile": 1,
        "Meta.source": 1,
        "Patient.extension": 1,
        "Element.extension": 1,
        "Address.text": 1,
        "Patient.multipleBirthInteger": 1,
        "Patient.photo": 1,
        "other": 2,
    }


def test_terms_are_scrubbed_together_and_once():
    texts = [
        each.text
        for each in parts_texts(sample("Condition"))
        if "Hypertension" in each.text
    ]

    assert len(texts) == 1
    assert texts[0].split("\n").count("Hypertension") == 1
    assert "Active" in texts[0]


def parts_texts(message: dict) -> list:
    [part] = parts(message)
    return READER.read(part.content).texts


@pytest.mark.parametrize("numbers", [0, 1, 9])
def test_other_texts_than_those_of_the_part_are_refused(numbers):
    [part] = parts(sample("Condition"))
    done = deidentifier().deidentify(Document("x", "of another part"))

    with pytest.raises(ValueError, match=r"zip|another text"):
        READER.read(part.content).rebuilt([done] * numbers, NOBODY)


@pytest.mark.parametrize(
    "number", ["48291", "48291.0", "4.8291E4", "5550147", "19560102"]
)
def test_a_number_of_the_patient_is_no_measured_value(number):
    patient = {
        "resourceType": "Patient",
        "id": "1",
        "identifier": [{"system": "urn:x", "value": "0048291"}],
        "telecom": [{"system": "phone", "value": "(312) 555-0147"}],
        "birthDate": "1956-01-02",
    }
    quantity = {"value": 987654321, "unit": "mg"}
    entries = [{"resource": patient}, {"resource": given(valueQuantity=quantity)}]
    bundle = {"resourceType": "Bundle", "type": "collection", "entry": entries}
    value = orjson.dumps(bundle).replace(b"987654321", number.encode())
    [part] = READER.parts(value)

    assert number.encode() not in rebuilt(part).value
    [kept] = READER.parts(value.replace(number.encode(), b"4.8292E4"))
    assert b"4.8292E4" in rebuilt(kept).value
