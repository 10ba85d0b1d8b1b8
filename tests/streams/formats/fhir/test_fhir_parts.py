"""How a message is split into those of its patients, and what it says of them."""

from __future__ import annotations

import time

import orjson
import pytest

from deid_core.document import Address
from streams.engine.errors import InvalidRecord
from streams.engine.reasons import ReasonCode
from streams.formats.fhir import FhirReader
from streams.model.patients.demographics import Identifier, Kin, Name, PatientId
from tests.streams.formats.fhir.scrubbing import (
    encoded,
    parts,
    rebuilt,
    resources,
    sample,
)

MR = {
    "coding": [
        {"system": "http://terminology.hl7.org/CodeSystem/v2-0203", "code": "MR"}
    ]
}


def bundle(*entries: dict, **more: object) -> dict:
    made = [each if "resource" in each else {"resource": each} for each in entries]
    return {"resourceType": "Bundle", "type": "collection", "entry": made, **more}


def patient(id_: str, family: str, **more: object) -> dict:
    return {"resourceType": "Patient", "id": id_, "name": [{"family": family}], **more}


def observation(subject: object, text: str = "Alert.", **more: object) -> dict:
    return {
        "resourceType": "Observation",
        "status": "final",
        "code": {"text": "Impression"},
        "subject": subject,
        "valueString": text,
        **more,
    }


def keys(message: dict) -> list[list[bytes]]:
    return [[each.patient.key for each in part.updates] for part in parts(message)]


def refused(message: object) -> InvalidRecord:
    with pytest.raises(InvalidRecord) as error:
        parts(message)
    return error.value


def test_each_patient_has_a_part_with_the_entries_of_that_patient():
    both = parts(
        bundle(
            patient("1", "Quellwright"),
            patient("2", "Abernathy"),
            observation({"reference": "Patient/2"}, "second"),
            observation({"reference": "Patient/1"}, "first"),
        )
    )

    contents = [orjson.loads(each.content)["entry"] for each in both]
    assert [
        [each["resource"].get("valueString") for each in one] for one in contents
    ] == [
        [None, "first"],
        [None, "second"],
    ]
    assert "Abernathy" not in both[0].content
    assert [[note.text for note in each.notes] for each in both] == [
        ["first"],
        ["second"],
    ]


def test_shared_resources_go_to_those_who_refer_to_them_by_any_way():
    doctor = {"resourceType": "Practitioner", "id": "d", "name": [{"family": "Kowal"}]}
    role = {
        "resourceType": "PractitionerRole",
        "id": "r",
        "practitioner": {"reference": "Practitioner/d"},
    }
    unused = {"resourceType": "Location", "id": "l", "name": "Ward"}
    first, second = parts(
        bundle(
            patient("1", "Quellwright"),
            patient("2", "Abernathy"),
            observation(
                {"reference": "Patient/2"},
                performer=[{"reference": "PractitionerRole/r"}],
            ),
            role,
            doctor,
            unused,
        )
    )

    assert "Kowal" not in first.content
    assert "Kowal" in second.content
    assert second.updates[0].current.providers == (Name("Kowal"),)
    assert first.skipped == {"Location": 1}


def test_of_one_patient_all_shared_resources_are_kept_if_used_and_counted_if_not():
    [part] = parts(
        bundle(
            patient("1", "Roe"), {"resourceType": "Organization", "name": "Larkfield"}
        )
    )

    assert part.skipped == {}
    assert "Larkfield" in part.content
    assert part.updates[0].current.facilities == ("Larkfield",)


@pytest.mark.parametrize(
    "subject",
    [
        {"reference": "Group/7"},
        {"display": "somebody"},
        {"reference": "no reference at all"},
    ],
)
def test_an_entry_of_nobody_is_removed_and_counted(subject):
    [part] = parts(bundle(patient("1", "Roe"), observation(subject, "secret")))

    assert part.skipped == {"Observation": 1}
    assert "secret" not in part.content


def test_an_entry_without_a_subject_is_that_of_the_only_patient():
    lone = {"resourceType": "Observation", "status": "final", "valueString": "x"}
    assert len(parts(bundle(patient("1", "Roe"), lone))[0].notes) == 1

    first, second = parts(bundle(patient("1", "Roe"), patient("2", "Doe"), lone))
    assert (first.notes, second.notes) == ((), ())
    assert first.skipped == {"Observation": 1}


@pytest.mark.parametrize(
    ("subject", "full_url"),
    [
        ({"reference": "Patient/1"}, None),
        ({"reference": "Patient/1/_history/4"}, None),
        ({"reference": "https://ehr.test/fhir/Patient/1"}, None),
        ({"reference": "urn:uuid:0C3151BD-1cbf-4d64-b04d-cd9187a4c6e0"},
         "urn:uuid:0c3151bd-1cbf-4d64-b04d-cd9187a4c6e0"),
        ({"identifier": {"system": "http://x.test/mrn", "value": "77"}}, None),
        ({"reference": "Patient?identifier=http://x.test/mrn|77"}, None),
    ],
)  # fmt: skip
def test_a_subject_is_found_however_it_is_referred_to(subject, full_url):
    one = patient(
        "1",
        "Roe",
        identifier=[{"type": MR, "system": "http://x.test/mrn", "value": "77"}],
    )
    entry = {"resource": one, **({"fullUrl": full_url} if full_url else {})}

    [part] = parts(bundle(entry, observation(subject), patient("2", "Doe")))[:1]

    assert [each.patient for each in part.notes] == [
        PatientId("http://x.test/mrn", "77")
    ]


def test_a_contained_patient_is_known_by_identifier():
    one = patient("c", "Roe", identifier=[{"value": "77", "system": "urn:oid:2.999.3"}])
    alone = observation({"reference": "#c"}, contained=[one])

    [part] = parts(alone)

    assert [each.patient for each in part.updates] == [PatientId("2.999.3", "77")]
    assert part.updates[0].current.names == (Name("Roe"),)


def test_a_bundle_in_a_bundle_may_be_of_anybody_and_is_removed():
    inner = bundle(patient("2", "Secret"))
    [part] = parts(bundle(patient("1", "Roe"), inner))
    contained = parts(observation({"reference": "Patient/1"}, contained=[inner]))

    assert part.skipped == {"Bundle": 1}
    assert "Secret" not in part.content
    assert rebuilt(contained[0]).removed == {"Bundle": 1}


def test_who_is_not_in_the_message_is_known_by_logical_id_of_the_authority():
    [part] = FhirReader("EHR").parts(
        orjson.dumps(observation({"reference": "Patient/abc-1"}))
    )

    assert [each.patient for each in part.updates] == [PatientId("EHR", "abc-1")]
    assert part.notes[0].patient == PatientId("EHR", "abc-1")


def test_medical_record_numbers_and_the_logical_id_key_a_patient_together():
    one = patient(
        "p1",
        "Roe",
        identifier=[
            {"system": "http://hl7.org/fhir/sid/us-ssn", "value": "219-09-9876"},
            {"system": "http://a.test", "value": "5"},
            {"type": MR, "system": "urn:oid:2.999.1", "value": "77"},
            {"type": MR, "value": "88", "assigner": {"display": "Larkfield"}},
        ],
    )  # fmt: skip

    [part] = parts(one)

    assert [each.patient.key for each in part.updates] == [
        b"2.999.1|77",
        b"Larkfield|88",
        b"FHIR|p1",
    ]
    assert part.updates[0].merged == (
        PatientId("Larkfield", "88"),
        PatientId("FHIR", "p1"),
    )


def test_a_patient_says_all_of_the_demographics():
    [part] = parts(sample("Patient"))
    record = part.updates[0]
    current, former = record.current, record.former

    assert record.patient == PatientId("2.999.1.2", "77881234")
    assert record.updated_at == "2019-05-02T08:15:00.000-05:00"
    assert current.names == (
        Name("Quellwright", "Mabel", "Anne", prefix="Mrs.", use="L"),
        Name("Okonjo", "Mabel", use="M"),
    )
    assert former.names == (Name("Tennison", "Mabel", use="B"),)
    assert current.birth_dates == ("1952-03-14",)
    assert current.sex == "F"
    assert current.addresses == (
        Address("12 Oak Street", "Apt 4", "Springfield", "IL", "62704", "US"),
    )
    assert current.phones == ("(217) 555-0123", "217-555-0188")
    assert current.emails == ("mabel.quellwright@mail.example",)
    assert [(each.type, each.value) for each in current.ids] == [
        ("MR", "77881234"),
        ("SS", "219-09-9876"),
        ("DL", "Q400-5521-8833"),
    ]
    assert current.kin == (
        Kin(Name("Quellwright", "Otto"), "N"),
        Kin(Name("Ostrander", "Ida", use="M"), "MTH"),
    )
    assert current.providers == (Name("Kowalczyk", "Steven"),)
    assert current.facilities == ("Larkfield General Hospital",)
    assert current.employers == ("Brindle & Sons Tannery",)


def test_a_related_person_is_kin_of_the_patient_referred_to():
    [part] = parts(sample("RelatedPerson"))
    [update] = part.updates

    assert update.patient == PatientId("FHIR", "p-4711")
    assert update.current.kin == (Kin(Name("Quellwright", "Otto"), "HUSB"),)
    assert update.current.names == (Name("Quellwright", "Mabel", "Anne"),)
    assert update.current.phones == ("217-555-0188",)


def test_replaced_patients_are_merged():
    [part] = parts(sample("Patient"))

    assert PatientId("FHIR", "p-12") in part.updates[0].merged
    assert part.updates[-1].patient == PatientId("FHIR", "p-12")


def test_more_identifiers_than_are_kept_are_refused():
    many = [{"type": MR, "value": f"{number}"} for number in range(129)]
    links = [
        {"type": "seealso", "other": {"reference": f"Patient/{number}"}}
        for number in range(129)
    ]

    for more in ({"identifier": many}, {"link": links}):
        assert refused(patient("1", "Roe", **more)).code is ReasonCode.TOO_MANY


def test_an_ended_name_is_former_at_the_time_of_the_message():
    names = [
        {"family": "Ended", "period": {"end": "2019-01-01"}},
        {"family": "Ending", "period": {"end": "2030-01-01"}},
    ]
    [part] = parts(
        bundle(patient("1", "Roe") | {"name": names}, timestamp="2019-05-01T00:00:00Z")
    )

    assert part.updates[0].former.names == (Name("Ended"),)
    assert part.updates[0].current.names == (Name("Ending"),)


def test_encounter_numbers_are_ids_of_the_patient():
    [part] = parts(sample("Encounter"))

    assert part.updates[0].current.ids == (
        Identifier("V-2019-00512", "VN", "http://larkfield.example/visit"),
    )


@pytest.mark.parametrize(
    ("name", "note_id", "note_type", "written_at", "start"),
    [
        ("DocumentReference", "DocumentReference/d-1", "34117-2",
         "2019-05-01T14:02:09.000-05:00", "Mabel Quellwright (MRN"),
        ("DiagnosticReport", "DiagnosticReport/dr-1", "36643-5",
         "2019-05-01T13:30:00.000-05:00", "Mabel Quellwright, seen"),
        ("Composition", "Composition/co-1", "18842-5", "2019-05-02T09:00:00-05:00",
         "Hospital course:\nMrs. Quellwright was admitted"),
        ("Observation", "Observation/ob-1", "2160-0", "2019-05-01T07:45:12.123-05:00",
         "Dr. Kowalczyk was called"),
    ],
)  # fmt: skip
def test_documents_reports_compositions_and_observations_are_notes(
    name, note_id, note_type, written_at, start
):
    [note] = parts(sample(name))[0].notes

    assert (note.note_id, note.note_type) == (note_id, note_type)
    assert note.written_at == written_at
    assert note.text.startswith(start)
    assert note.demographics is not None


def test_the_text_of_a_referenced_binary_is_the_note():
    document = sample("DocumentReference")
    document["content"] = [{"attachment": {"url": "Binary/b-1"}}]
    [part] = parts(bundle(sample("Patient"), document, sample("Binary")))

    assert [note.text[:16] for note in part.notes] == ["Mabel Quellwrigh"]
    assert part.notes[0].note_id == "DocumentReference/d-1"


def test_a_binary_is_opened_once_however_many_attachments_refer_to_it():
    document = sample("DocumentReference")
    document["content"] = [{"attachment": {"url": "Binary/b-1"}}] * 1000
    binary = sample("Binary")
    binary |= {"contentType": "text/html", "data": encoded("<p>a</p>" * 20_000)}
    start = time.process_time()
    [part] = parts(bundle(sample("Patient"), document, binary))

    assert len(part.notes) == 1000
    assert time.process_time() - start < 5


def test_documents_are_not_copied_beyond_a_limit():
    document = sample("DocumentReference")
    document["content"] = [{"attachment": {"url": "Binary/b-1"}}] * 1000
    binary = sample("Binary")
    binary |= {"contentType": "text/plain", "data": encoded("a b\n" * 20_000)}

    error = refused(bundle(sample("Patient"), document, binary))

    assert error.code is ReasonCode.TOO_LARGE


def test_what_patients_share_is_not_copied_beyond_a_limit():
    chain = [
        {
            "resourceType": "Organization",
            "id": f"o{number}",
            "partOf": {"reference": f"Organization/o{number + 1}"},
        }
        for number in range(1000)
    ]
    first = {"generalPractitioner": [{"reference": "Organization/o0"}]}
    patients = [patient(str(number), "Roe", **first) for number in range(100)]

    error = refused(bundle(*patients, *chain))

    assert error.code is ReasonCode.TOO_LARGE
    assert len(parts(bundle(*patients, *chain[:10]))) == 100


def test_what_is_of_the_whole_bundle_is_not_copied_beyond_a_limit():
    patients = [patient(str(number), "Roe") for number in range(100)]

    error = refused(bundle(*patients, identifier={"value": "x" * 1_000_000}))

    assert error.code is ReasonCode.TOO_LARGE


def test_what_cannot_be_opened_is_counted():
    document = sample("DocumentReference")
    document["content"] = [
        {"attachment": {"contentType": "image/png", "data": encoded("\x89PNG\r\n")}},
        {"attachment": {"contentType": "text/plain", "data": "?not base64?"}},
    ]
    [part] = parts(document)
    written = rebuilt(part)

    assert sum(part.skipped.values()) == 2
    assert sum(written.unreadable.values()) == 2
    assert b'"data"' not in written.value
    assert not part.notes


def test_a_type_without_rules_is_refused_by_name_alone_and_removed_in_a_bundle():
    claim = {"resourceType": "Claim", "patient": {"display": "Roe"}, "id": "secret"}
    error = refused(claim)
    [part] = parts(bundle(patient("1", "Roe"), claim, {"resourceType": "Secret"}))
    written = rebuilt(part)

    assert error.code is ReasonCode.UNSUPPORTED
    assert "Claim is not supported" in error.reason
    assert "secret" not in part.content.lower()
    assert written.removed == {"Claim": 1, "other": 1}
    assert len(orjson.loads(written.value)["entry"]) == 1


@pytest.mark.parametrize("type_", ["history", "batch-response", "Roe", ["document"]])
def test_other_bundles_are_refused(type_):
    assert (
        refused(bundle(patient("1", "Roe"), type=type_)).code is ReasonCode.UNSUPPORTED
    )


@pytest.mark.parametrize(
    "message",
    [
        sample("Practitioner"),
        bundle(),
        bundle(sample("Organization")),
        {"resourceType": "Patient"},
        observation({"display": "Roe"}),
        {"resourceType": "Bundle", "type": "batch", "entry": "x"},
        bundle(bundle(sample("Patient"))),
    ],
)
def test_a_message_without_a_patient_is_refused(message):
    assert refused(message).code is ReasonCode.NO_PATIENT


def test_two_patients_of_one_id_are_refused():
    one, other = patient("1", "Roe"), patient("1", "Doe")
    one["identifier"] = [{"type": MR, "value": "1"}]
    other["identifier"] = [{"type": MR, "value": "2"}]

    assert refused(bundle(one, other)).code is ReasonCode.SCHEMA


def test_ids_are_the_same_pseudonym_wherever_they_occur():
    uuid = "0c3151bd-1cbf-4d64-b04d-cd9187a4c6e0"
    one = patient(uuid, "Roe")
    refers = [
        observation({"reference": f"urn:uuid:{uuid}"}),
        {**observation({"reference": f"Patient/{uuid.upper()}"}), "id": "o"},
        {"resourceType": "Encounter", "status": "finished",
         "subject": {"reference": f"http://x.test/fhir/Patient/{uuid}"}},
    ]  # fmt: skip
    entries = [{"fullUrl": f"urn:uuid:{uuid}", "resource": one}]
    entries += [{"resource": each} for each in refers]
    entries[1]["request"] = {"method": "PUT", "url": f"Patient/{uuid}"}

    [part] = parts(bundle(*entries, type="transaction"))
    written = orjson.loads(rebuilt(part).value)["entry"]

    shown = written[0]["resource"]["id"]
    assert shown != uuid
    assert written[0]["fullUrl"] == f"urn:uuid:{shown}"
    assert written[1]["resource"]["subject"]["reference"] == f"urn:uuid:{shown}"
    assert written[1]["request"]["url"] == f"Patient/{shown}"
    for each in written[2:]:
        assert each["resource"]["subject"]["reference"] == f"Patient/{shown}"
    assert resources({"entry": written})["Observation"]["id"] != "o"
