"""What a document says of its patient, and its note."""

from __future__ import annotations

from lxml import etree

from deid_core.document import Address
from streams.model.patients.demographics import Kin, Name, PatientId
from tests.streams.formats.ccda.bodies import PDF, RTF, unstructured
from tests.streams.formats.ccda.scrubbing import encoded, part, sample

CCD = part(sample("ccd"))
CURRENT = CCD.updates[0].current


def test_the_record_target_gives_the_patient_record():
    [record] = CCD.updates

    assert record.patient == PatientId("1.2.840.114350.1.13.99998", "MRN4471836")
    assert record.updated_at == "2024-03-12T14:30:05-05:00"
    assert CURRENT.names == (
        Name("Quellwright", "Winifred", "Adele", "Mrs.", use="L"),
        Name("Ostrander", "Winifred", "Adele", use="M"),
    )
    assert CURRENT.birth_dates == ("1957-03-16",)
    assert CURRENT.sex == "F"
    assert CURRENT.addresses[0] == Address(
        "4127 Thistledown Crescent", "Apt 9", "Brackenford", "OR", "97062", "US"
    )
    assert CURRENT.phones == ("+1(503)771-4182", "503-555-0147", "503-555-0163")
    assert CURRENT.emails == ("winnie.quellwright@mailbox.example",)


def test_roots_say_what_identifiers_are():
    assert [(each.value, each.type) for each in CURRENT.ids] == [
        ("MRN4471836", "MR"),
        ("561-83-2947", "SS"),
        ("V7719024", "VN"),
    ]


def test_relatives_providers_and_facilities_of_all_parts_are_known():
    assert CURRENT.kin == (
        Kin(Name("Ostrander", "Barnaby"), "GUARD"),
        Kin(Name("Quellwright", "Rufus"), "SPS"),
        Kin(Name("Quellwright", "Odette"), "DAU"),
    )
    assert {each.family for each in CURRENT.providers} == {"Vandermeer"}
    assert CURRENT.facilities == (
        "Harrowgate Family Clinic",
        "Harrowgate Health Trust",
        "Harrowgate West Pavilion",
    )


def test_several_identifiers_of_a_patient_give_an_update_each():
    value = sample("ccd").replace(
        b"<addr use=", b'<id root="1.2.3" extension="77"/><addr use=', 1
    )

    first, second = part(value).updates

    assert second.patient == PatientId("1.2.3", "77")
    assert first.merged == (second.patient,)
    assert second.merged == (first.patient,)


def test_a_national_number_keys_a_patient_who_has_no_other():
    value = sample("ccd").replace(b'root="1.2.840.114350.1.13.99998"', b"", 1)
    value = value.replace(b'extension="MRN4471836"', b'nullFlavor="UNK"', 1)

    [record] = part(value).updates

    assert record.patient == PatientId("2.16.840.1.113883.4.1", "561-83-2947")


def test_a_name_without_parts_is_parted():
    [name] = part(sample("discharge")).updates[0].current.names

    assert (name.given, name.middle, name.family) == ("Thaddeus", "B.", "Marchetti")


def test_an_identifier_may_be_its_root():
    patient = part(sample("referral")).updates[0].patient

    assert patient == PatientId("C-CDA", "8f2b7a44-0a52-4a37-9f0e-6b1b6d2f1a10")


def test_a_document_is_one_note_of_its_type():
    [note] = CCD.notes

    assert note.note_id == "1.2.840.114350.1.13.6289^CCD884213"
    assert note.note_type == "34133-9"
    assert note.written_at == "2024-03-12T14:30:05-05:00"
    assert note.demographics == CURRENT
    lines = note.text.splitlines()
    assert lines[:2] == ["Problems:", "Problem\tNoted"]
    assert "Medications:" in lines
    assert "Hemoglobin 13.2 g/dL on 03/12/2024." in lines


def test_inline_elements_part_nothing_and_blocks_part_lines():
    text = CCD.notes[0].text

    assert "Dr. Leopold Vandermeer for Mrs. Quellwright\tMarch 12, 2024\n" in text
    assert "called from 503-555-0163.\nMRN MRN4471836." in text


def test_nested_sections_are_in_the_note():
    text = part(sample("discharge")).notes[0].text

    assert "Follow-up of Mr. Marchetti:\nSee Dr. Sandoval-Reyes" in text


def test_the_body_of_an_unstructured_document_is_its_note():
    for media_type, data in (("application/rtf", RTF), ("application/pdf", PDF)):
        [note] = part(unstructured(media_type, encoded(data))).notes
        assert "Winifred Quellwright" in note.text


def test_a_body_that_cannot_be_opened_is_counted():
    of = part(unstructured("image/png", encoded(b"\x89PNG\r\n\x1a\n")))

    assert of.notes == ()
    assert of.skipped == {"image": 1}


def test_content_is_the_document_without_comments():
    assert "<!--" not in CCD.content
    assert "xml-stylesheet" not in CCD.content
    assert etree.fromstring(CCD.content).tag == "{urn:hl7-org:v3}ClinicalDocument"


def test_no_repr_shows_a_name():
    assert "Quellwright" not in repr(CCD)
