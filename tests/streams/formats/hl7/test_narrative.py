import pytest

from streams.formats.hl7.demographics import patient_groups
from streams.formats.hl7.message import parse
from streams.formats.hl7.message_types import Event
from streams.formats.hl7.narrative import narrative_of
from streams.formats.hl7.reader import WANTED

MSH = "MSH|^~\\&|APP|HOSP|||20240301093000||ORU^R01|C1|P|2.5.1"


def narrative(*lines):
    _, *segments = parse("\r".join((MSH, "PID|||4711", *lines)), WANTED)
    (group,) = patient_groups(segments, "HOSP", "HOSP")
    return narrative_of(group, Event("ORU", "R01"), "C1", "2024-03-01T09:30:00", "0.0")


def texts(*lines):
    return [note.text for note in narrative(*lines).notes]


@pytest.mark.parametrize("kind", ["TX", "FT"])
def test_a_text_stands_under_its_heading(kind):
    assert texts(f"OBX|1|{kind}|1^History||Seen in clinic.") == [
        "History:\nSeen in clinic."
    ]


def test_a_short_string_stands_beside_its_heading():
    assert texts("OBX|1|ST|1^Colour||blue", "OBX|2|ST|||nameless") == [
        "Colour: blue\nnameless"
    ]


def test_repetitions_and_escaped_breaks_are_lines():
    assert texts(r"OBX|1|FT|1^H||one~two\.br\three") == ["H:\none\ntwo\nthree"]


def test_a_run_of_the_same_heading_says_it_once():
    assert texts("OBX|1|TX|1^H||one", "OBX|2|TX|1^H||two", "OBX|3|TX|2^G||three") == [
        "H:\none\ntwo\nG:\nthree"
    ]


@pytest.mark.parametrize(
    ("obx_3", "heading"), [("1^H^L^2^G", "H"), ("1^^L^2^G", "G"), ("H", "H")]
)
def test_the_heading_is_the_name_of_the_observation(obx_3, heading):
    assert texts(f"OBX|1|TX|{obx_3}||one") == [f"{heading}:\none"]


def test_separators_that_were_not_escaped_are_text():
    assert texts("OBX|1|TX|||5^5 & 6 ^ 7") == ["5^5 & 6 ^ 7"]


def test_comments_stand_where_they_were_said():
    assert texts("NTE|1||before", "OBX|1|TX|1^H||one", "NTE|1||after~twice") == [
        "before\nH:\none\nafter\ntwice"
    ]


def test_a_comment_before_the_patient_is_kept():
    _, *segments = parse("\r".join((MSH, "NTE|1||early", "PID|||4711")), WANTED)
    (group,) = patient_groups(segments, "HOSP", "HOSP")

    (note,) = narrative_of(group, Event("ORU", "R01"), "C1", "", "0.0").notes

    assert note.text == "early"


def test_every_report_is_a_note_of_its_own():
    first, second = narrative(
        "OBR|1|P1|F1|11506-3^Note|||20240228080000",
        "OBX|1|TX|||one",
        "OBR|2|P2||2^x y||||||||||||||||||20240229",
        "OBX|1|TX|||two",
    ).notes

    assert (
        first.note_id,
        first.note_type,
        first.written_at,
        first.text,
    ) == ("F1/C1.0.0.1", "11506-3", "2024-02-28T08:00:00", "one")
    assert (
        second.note_id,
        second.note_type,
        second.written_at,
        second.text,
    ) == ("P2/C1.0.0.2", "2", "2024-02-29T00:00:00", "two")


def test_a_document_is_named_by_txa():
    (note,) = narrative(
        "TXA|1|DS|TX|20240227||20240228101500||||||D7^APP", "OBX|1|TX|||Discharged."
    ).notes

    assert (
        note.note_id,
        note.note_type,
        note.written_at,
    ) == ("D7/C1.0.0.1", "DS", "2024-02-28T10:15:00")


def test_without_a_header_the_message_names_time_and_type():
    (note,) = narrative("OBX|1|TX|||one").notes

    assert (
        note.note_id,
        note.note_type,
        note.written_at,
    ) == ("C1.0.0.0", "ORU_R01", "2024-03-01T09:30:00")


def test_a_type_of_free_text_is_left_aside():
    (note,) = narrative("OBR|1|||letter about Edith", "OBX|1|TX|||one").notes

    assert note.note_type == "ORU_R01"


def test_a_time_that_cannot_be_is_left_aside():
    (note,) = narrative("OBR|1||||||00000000", "OBX|1|TX|||one").notes

    assert note.written_at == "2024-03-01T09:30:00"


def test_orders_of_one_number_give_notes_of_different_ids():
    notes = narrative(*["OBR|1||F1", "OBX|1|TX|||same"] * 3).notes

    assert len({note.note_id for note in notes}) == 3


def test_counts_what_is_no_narrative():
    found = narrative(
        "OBX|1|NM|||5",
        "OBX|2|NM|||6",
        "OBX|3|CE|||a^b",
        "OBX|4||||",
        "OBX|5|ZZMARKER|||x",
    )

    assert (found.notes, dict(found.skipped)) == ((), {"NM": 2, "CE": 1, "?": 1})


@pytest.mark.parametrize("blank", ["", " ", "~~", r"\.br\ ", '""'])
def test_blank_text_is_no_note(blank):
    assert texts("OBR|1||F1|H", f"OBX|1|TX|1^H||{blank}", f"NTE|1||{blank}") == []
