import base64
import logging
import time
from itertools import product

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streams.engine.errors import InvalidRecord
from streams.formats.hl7.message import parse
from streams.formats.hl7.reader import WANTED
from streams.model.patients.demographics import Name, PatientId
from streams.pipeline.intake.route import route
from tests.sampling import examples
from tests.streams.formats.hl7.hl7_text import MSH, PID, assert_keeps_schemas, message

EVENT = {
    "note_id": "N1",
    "patient": {"assigning_authority": "WARD", "id": "4711"},
    "text": "Seen in clinic.",
}
NAMES = (
    "MSH",
    "EVN",
    "PID",
    "MRG",
    "NK1",
    "PV1",
    "OBR",
    "OBX",
    "NTE",
    "TXA",
    "ZZZ",
    "IN1",
)
FULL = message(
    "EVN|A08|20240301",
    PID
    + r"|Alias^E||1 Row^^Nowhere^ZZ^00000||555-0100~^^^e@example.org||||||000-00-0000",
    "MRG|0815^^^WARD^MR",
    "NK1|1|Example^Emil|SPO|1 Row|555-0101",
    "PV1|1||4W^12^A^General||||77^Healer^Hanna",
    "OBR|1|P1|F1|11506-3^Note|||20240228080000",
    r"OBX|1|FT|1^History||Seen\.br\in clinic~twice",
    "OBX|2|NM|2^Weight||70",
    "NTE|1||Comment",
)


def code_of(value, **keywords):
    with pytest.raises(InvalidRecord) as caught:
        route(value, **keywords)
    return caught.value.code


def result_of(value):
    """Return what a record says, or why it is refused; anything else is raised."""
    try:
        return route(value)
    except InvalidRecord as error:
        return error


def assert_is_routed_or_refused(result):
    if isinstance(result, InvalidRecord):
        assert result.reason
    else:
        assert_keeps_schemas(result)


def test_a_message_updates_its_patient_and_gives_its_notes():
    routed = route(message("OBX|1|TX|1^H||Seen.", "OBX|2|NM|||5"))

    (update,), (note,) = routed.updates, routed.notes
    assert PatientId("WARD", "4711") == update.patient == note.patient
    assert update.updated_at == "2024-03-01T09:30:00"
    assert update.current.names == (Name("Example", "Edith", "Q"),)
    assert update.current == note.demographics
    assert note.text == "H:\nSeen."
    assert routed.skipped == {"NM": 1}


def test_the_event_says_when_before_the_header_does():
    (update,) = route(message("EVN||20240229120000", PID)).updates

    assert update.updated_at == "2024-02-29T12:00:00"


@pytest.mark.parametrize(
    ("msh_4", "authority"),
    [("HOSP", "HOSP"), ("HOSP^1.2^ISO", "HOSP"), ("^1.2^ISO", "1.2"), ("", "")],
)
def test_the_facility_stands_for_an_authority_that_is_left_out(msh_4, authority):
    msh = MSH.replace("HOSP", msh_4)

    (update,) = route(message("PID|||7", msh=msh)).updates

    assert PatientId(authority, "7") == update.patient


def test_a_merge_updates_both_keys_and_each_names_the_other():
    updates = route(message(PID, "MRG|0815^^^WARD^MR", event="ADT^A40")).updates

    surviving, prior = PatientId("WARD", "4711"), PatientId("WARD", "0815")
    assert {each.patient: each.merged for each in updates} == {
        surviving: (prior,),
        prior: (surviving,),
    }
    assert updates[0].current == updates[1].current


def merged_of(*segments, event):
    """Return the other identifiers that the update under each key names."""
    updates = route(message(*segments, event=event)).updates
    return [(each.patient.id, [m.id for m in each.merged]) for each in updates]


@pytest.mark.parametrize("event", ["ADT^A34", "ADT^A40", "ADT^A47"])
def test_a_merge_names_all_numbers_of_the_patient_under_each(event):
    found = merged_of("PID|||1^^^A^MR~2^^^B^MR", "MRG|3^^^A^MR~2^^^B^MR", event=event)

    assert found == [("1", ["2", "3"]), ("2", ["1", "3"]), ("3", ["1", "2"])]


def test_every_group_of_a_merge_has_its_own_survivor():
    found = merged_of(
        "PID|||1", "PD1", "MRG|2", "PV1", "PID|||3", "MRG|4", event="ADT^A40"
    )

    assert found == [("1", ["2"]), ("2", ["1"]), ("3", ["4"]), ("4", ["3"])]


def test_a_link_names_the_numbers_of_the_other_pid_and_keeps_the_records_apart():
    value = message(
        "PID|||1^^^A^MR~2^^^B^MR||Example^Edith",
        "PV1",
        "PID|||3^^^A^MR||Sample^Edith",
        "PV1",
        event="ADT^A24",
    )

    updates = route(value).updates

    assert [(each.patient.id, [m.id for m in each.merged]) for each in updates] == [
        ("1", ["2", "3"]),
        ("2", ["1", "3"]),
        ("3", ["1", "2"]),
    ]
    assert [each.current.names[0].family for each in updates] == [
        "Example",
        "Example",
        "Sample",
    ]


def test_a_link_of_two_visits_of_one_patient_names_nobody_else():
    found = merged_of("PID|||1", "PV1", "PID|||1", "PV1", event="ADT^A24")

    assert found == [("1", []), ("1", [])]


@pytest.mark.parametrize("event", ["ADT^A37", "ADT^A17", "ADT^A01"])
def test_two_patients_of_a_message_that_does_not_link_them_stay_apart(event):
    assert merged_of("PID|||1", "PID|||2", event=event) == [("1", []), ("2", [])]


@pytest.mark.parametrize("event", ["ADT^A43", "ADT^A44", "ADT^A45"])
def test_a_move_from_another_person_updates_its_target_alone(event):
    found = merged_of("PID|||1|||||||||||||||V1", "MRG|2||V1", event=event)

    assert found == [("1", [])]


def test_every_medical_record_number_has_its_update():
    updates = route(message("PID|||1^^^A^MR~2^^^B^MR")).updates

    assert [u.patient for u in updates] == [PatientId("A", "1"), PatientId("B", "2")]
    assert [u.merged for u in updates] == [(), ()]


def test_every_patient_of_a_message_has_notes_of_his_own():
    routed = route(
        message(
            "PID|||1", "OBX|1|TX|||one", "PID|||2", "OBX|1|TX|||two", event="ADT^A01"
        )
    )

    assert [(n.patient.id, n.text) for n in routed.notes] == [
        ("1", "one"),
        ("2", "two"),
    ]


def test_note_ids_are_unique_within_a_record():
    one = message("PID|||1", "OBX|1|TX|||a")
    three = message(*["PID|||1", "OBX|1|TX|||a", "OBR|1", "OBX|1|TX|||a"] * 3)

    routed = route(b"\r".join([one, three, one, three]))

    assert 14 == len({note.note_id for note in routed.notes}) == len(routed.notes)


def test_one_bad_message_refuses_its_whole_batch():
    assert code_of(b"\r".join([message("PID|||1"), message("PID|")])) == "no_patient"


def test_a_message_of_another_character_set_is_read():
    msh = MSH + "||||||8859/1"

    (update,) = route(
        message("PID|||7||Müller^Zoë", msh=msh).decode().encode("latin-1")
    ).updates

    assert update.current.names == (Name("Müller", "Zoë"),)


@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf", b" \n"])
def test_a_note_event_gives_a_note(mark):
    routed = route(mark + orjson.dumps(EVENT))

    assert (routed.updates, routed.notes[0].text) == ((), "Seen in clinic.")


def test_a_note_event_with_demographics_updates_the_patient():
    said = {
        "written_at": "2024-03-01",
        "demographics": {"names": [{"family": "Example"}]},
    }

    (update,) = route(orjson.dumps(EVENT | said)).updates

    assert update.current.names == (Name("Example"),)
    assert update.updated_at == "2024-03-01"


@pytest.mark.parametrize("date", ["1949-02-29", "0000-00-00", "1948-02-29\n"])
def test_refuses_a_birth_date_that_is_no_date(date):
    event = EVENT | {"demographics": {"birth_dates": [date]}}

    with pytest.raises(InvalidRecord, match=r"schema: note.event: demographics"):
        route(orjson.dumps(event))


@pytest.mark.parametrize(
    ("value", "code"),
    [
        (None, "null_value"),
        (b"", "bad_msh"),
        (b"\x00", "bad_msh"),
        (b"\xff\xfe\xff", "undecodable"),
        (b"{", "bad_json"),
        (b'{"a": NaN}', "bad_json"),
        (b"{}", "schema"),
        (b"[{}]", "bad_msh"),
        (orjson.dumps(EVENT | {"more": 1}), "schema"),
        (orjson.dumps(EVENT | {"text": ""}), "schema"),
        (orjson.dumps(EVENT)[:-1] + b',"text":"another"}', "schema"),
        (orjson.dumps(EVENT)[:-1] + b', "te\\u0078t" : "another"}', "schema"),
        (b'{"resourceType": "Bundle", "resourceType": "Patient"}', "schema"),
        (b"{" * 100_000, "bad_json"),
        (b'{"a":' * 5000, "bad_json"),
        (message("PID|||7", event="ACK"), "unknown_event"),
        (message("PID|||7", event="ADT^A99"), "unknown_event"),
        (message("PID|1"), "no_patient"),
        (message("PID|||7", msh="MSH|^^^^|A"), "bad_msh"),
        (message("PID|||7||Zoë").decode().encode("latin-1"), "undecodable"),
        (FULL.decode().encode("utf-16-le"), "bad_msh"),
    ],
)
def test_refuses_what_it_cannot_process(value, code):
    assert code == code_of(value)


ENCODED = (
    "The report: " + base64.b64encode(b"Mabelle Quellwright was seen. " * 4).decode(),
    "<Note><Name>Mabelle</Name></Note>",
    r'{"text": "\u004dabelle"}',
    r"Copy of {\rtf1 Mab{\b elle}}",
)
SHOWN = {
    r"{\rtf1\ansi Seen {\b Mab}elle.}": "Seen Mabelle.",
    "<html><body><p>Seen <b>Mab</b>elle.</p></html>": "Seen Mabelle.",
    "Seen <b>Mab</b>el&#108;e.": "Seen Mabelle.",
}


@pytest.mark.parametrize("document", ENCODED)
@pytest.mark.parametrize("kind", ["TX", "FT", "ST"])
def test_refuses_a_text_that_holds_an_encoded_document(document, kind):
    escaped = document.replace("\\", "\\E\\")

    assert code_of(message(f"OBX|1|{kind}|||{escaped}")) == "unsupported"
    assert code_of(message(f"NTE|1||{escaped}")) == "unsupported"
    assert code_of(orjson.dumps(EVENT | {"text": document})) == "unsupported"


@pytest.mark.parametrize("document", SHOWN)
@pytest.mark.parametrize("kind", ["TX", "FT", "ST"])
def test_reads_what_a_text_of_html_or_rtf_shows(document, kind):
    escaped = document.replace("\\", "\\E\\")

    for value in (
        message(f"OBX|1|{kind}|||{escaped}"),
        message(f"NTE|1||{escaped}"),
        orjson.dumps(EVENT | {"text": document}),
    ):
        assert [each.text.strip() for each in route(value).notes] == [SHOWN[document]]


def test_refuses_a_note_event_that_shows_nothing():
    assert code_of(orjson.dumps(EVENT | {"text": "<p></p>"})) == "schema"


def test_refuses_what_is_too_large():
    value = message("OBX|1|TX|||" + "a" * 1000)

    assert code_of(value, max_bytes=1000) == "too_large"
    assert route(value, max_bytes=len(value)).notes


def test_a_large_message_is_done_in_time():
    line = "OBX|1|TX|1^H||" + r"a \b &^~ \.br\ " * 20
    value = message(*[line] * 5000)
    assert len(value) > 1_000_000

    began = time.process_time()
    route(value)

    assert time.process_time() - began < 10


@given(
    st.binary(max_size=300) | st.binary(max_size=100).map(lambda b: b"MSH|^~\\&|" + b)
)
def test_random_bytes_are_routed_or_refused(value):
    assert_is_routed_or_refused(result_of(value))


@st.composite
def mutated(draw):
    value = bytearray(FULL)
    for _ in range(draw(st.integers(1, 8))):
        at = draw(st.integers(0, len(value) - 1))
        end = at + draw(st.integers(0, 12))
        value[at:end] = draw(
            st.binary(max_size=3)
            | st.sampled_from([b"|", b"^", b"&", b"~", b"\\", b"\r", b"MSH"])
        )
        value = value or bytearray(b"M")
    return bytes(value)


@given(mutated())
def test_mutated_messages_are_routed_or_refused(value):
    assert_is_routed_or_refused(result_of(value))


soup = st.lists(
    st.tuples(
        st.sampled_from(NAMES),
        st.lists(
            st.sampled_from(
                ["", "1", "TX", "a^b&c~d", r"\.br\ ", '""', "20240230", " "]
            )
        ),
    ).map(lambda row: "|".join((row[0], *row[1]))),
    max_size=12,
)


@settings(max_examples=examples(200))
@given(soup)
def test_segment_soup_is_routed_or_refused(lines):
    assert_is_routed_or_refused(result_of(message(PID, *lines, event="ADT^A01")))


def marked(name, fields):
    return "|".join(
        (name, *(f"ZZMARKER{n}^ZZMARKER&ZZMARKER" for n in range(1, fields)))
    )


MARKED = [
    marked("PID", 40),
    marked("NK1", 38),
    marked("MRG", 8),
    marked("OBR", 40),
    "OBX|1|TX|ZZMARKER^ZZMARKER||ZZMARKER \\ZZMARKER\\ \\XZZMARKER\\ \\.ZZMARKER\\",
    marked("OBX", 26),
    marked("NTE", 5),
    marked("TXA", 24),
    marked("PV1", 53),
]
HEADERS = [
    "MSH|^~\\&|ZZMARKER|ZZMARKER|ZZMARKER|ZZMARKER|ZZMARKER|ZZMARKER|{event}|ZZMARKER|P",
    "MSH|^~\\&|" + "ZZMARKER|" * 18,
    "MSH|^^\\&|ZZMARKER|{event}",
    "MSH|ZZMARKER|{event}",
    "MSHZZMARKER{event}",
    "ZZMARKER|{event}",
    "MSH|^~\\&|ZZMARKER||||||{event}|ZZMARKER||||||||ZZMARKER",
    "MSH#*!?%#ZZMARKER#ZZMARKER#####{event}#ZZMARKER",
]  # fmt: skip
EVENTS = [
    "ORU^R01",
    "ZZMARKER",
    "ADT^ZZMARKER",
    "ORU^R01^ZZMARKER",
    "ZZMARKER^R01",
    "ADT",
]
MARKED_EVENT = {
    "note_id": "ZZMARKER",
    "patient": {"assigning_authority": "ZZMARKER", "id": "ZZMARKER"},
    "note_type": "ZZMARKER",
    "written_at": "ZZMARKER",
    "text": "ZZMARKER",
    "demographics": {"names": [{"family": "ZZMARKER"}], "sex": "ZZMARKER"},
}
BREAKS = [
    lambda value: value,
    lambda value: value.replace(b"\r", b"\n"),
    lambda value: value.replace(b"PID|", b"PID^"),
    lambda value: value.replace(b"PID|", b"PIDZZMARKER|"),
    lambda value: value.replace(b"OBX|", b"OBX ZZMARKER|"),
    lambda value: value.replace(b"ZZMARKER3", b""),
    lambda value: value[: len(value) // 2],
    lambda value: value + b"\xffZZMARKER",
    lambda value: b"\xff\xfe" + value,
    lambda value: b'{"ZZMARKER": ' + value,
    lambda _: orjson.dumps(EVENT | {"ZZMARKER": "ZZMARKER"}),
    lambda _: orjson.dumps(EVENT | {"text": {"ZZMARKER": 1}, "note_id": "ZZMARKER"}),
    lambda _: orjson.dumps(MARKED_EVENT),
]  # fmt: skip


def shown(value):
    """Return all that a traceback or a log line could show of a record."""
    routed = result_of(value)
    if isinstance(routed, InvalidRecord):
        assert routed.__context__ is None or routed.__suppress_context__
        return f"{routed} {routed!r} {routed.__cause__}"
    values = [*routed.updates, *routed.notes, *(u.current for u in routed.updates)]
    parts = [
        each
        for update in routed.updates
        for name in update.current.__slots__
        for each in getattr(update.current, name)
        if not isinstance(each, str)
    ]
    return repr(routed) + "".join(map(repr, [*values, *parts]))


def test_no_marker_is_shown_or_logged(caplog):
    caplog.set_level(logging.DEBUG)

    for header, event, break_ in product(HEADERS, EVENTS, BREAKS):
        value = break_(message(*MARKED, msh=header, event=event))
        assert "ZZMARKER" not in shown(value)

    assert caplog.records == []


def test_the_markers_do_reach_records_and_notes():
    """The test above would pass as well if nothing came through."""
    routed = route(message(*MARKED, msh=HEADERS[0]))

    assert all(
        "ZZMARKER" in str(each.to_json()) for each in (*routed.updates, *routed.notes)
    )
    assert routed.updates
    assert routed.notes


def test_no_segment_shows_a_marker():
    segments = parse("\r".join((MSH, *MARKED)), WANTED)

    assert "ZZMARKER" not in repr(segments)
