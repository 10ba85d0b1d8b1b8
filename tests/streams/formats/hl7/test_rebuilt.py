"""The message that `hl7.scrubbed` carries: every value by its rule."""

import base64
import time
from contextlib import suppress

import pytest

from deid_core import Label, OffsetMap, ScrubbedDocument
from deid_core.document import Row
from streams.engine.errors import InvalidRecord
from streams.formats.hl7.field_rules import Rules
from streams.formats.hl7.framing import messages_of
from streams.formats.hl7.free_texts import WHOLE, FreeTexts, Scrubbed
from streams.formats.hl7.message import delimiters_of, escape
from streams.formats.hl7.reader import Hl7Reader
from streams.formats.readers import HL7
from tests.streams.formats.hl7.rebuilding import (
    Invented,
    covered,
    fields,
    kept,
    lines,
    rebuilt,
)

MSH = "MSH|^~\\&|APP|HOSP|LAB|FAC|20240301093000||ORU^R01|C1|P|2.5.1"
PID = "PID|1||4711^^^WARD^MR||Example^Edith^Q||19480229|F"


def message(*segments, msh=MSH, pid=PID):
    return "\r".join((msh, pid, *segments)).encode()


# Structure


def test_codes_numbers_and_names_of_codes_are_kept_byte_for_byte():
    kept_lines = (
        "PV1|1|I||||||||MED||||7|||||||||||||||||01",
        "OBX|2|NM|2345-7^Glucose^LN^GLU^Glucose^L||105.5|mg/dL^milligram^UCUM|"
        "70-105|H~A|||F",
        "OBX|3|CWE|5778-6^Colour^LN||167520001^Urine blood^SCT||||||F",
        "OBX|4|SN|1554-5^Glucose^LN||>^1.5||||||F",
        "AL1|1|DA^Drug allergy^HL70127|1191^Aspirin^RXNORM|MO^Moderate^HL70128",
        "DG1|1||E11.9^Type 2 diabetes^I10||",
    )

    found = lines(rebuilt(message(*kept_lines)))

    assert found["PV1"] == kept_lines[0]
    assert found["OBX"] == kept_lines[3]
    assert kept_lines[4:] == (found["AL1"], found["DG1"])


def test_delimiters_version_and_empty_fields_stay():
    msh = "MSH|^~\\&|||||||ORU^R01^ORU_R01|C1|P|2.3.1|||AL|NE||UNICODE UTF-8|||"

    found = lines(rebuilt(message("PV1|||", msh=msh)))

    assert found["MSH"] == msh.replace("C1", "(message)")
    assert found["PV1"] == "PV1|||"


@pytest.mark.parametrize("marks", ["#*!?%", "|^~\\&", "$@~!*", "|^~\\&#", "&^~\\$"])
def test_any_delimiters_are_read_and_written(marks):
    text = message(
        "OBX|1|TX|||a~b", "NK1|1|Sample^Emil~Sample^E|SPO|1 Row^^Town"
    ).decode()
    changes = dict(zip("|^~\\&", marks, strict=False))
    value = "".join(changes.get(each, each) for each in text)
    value = value.replace("".join(marks[:5]), marks, 1)

    found = rebuilt(value.encode(), Invented("x&|y"))

    delimiters = delimiters_of(value)
    written = escape("x&|y", delimiters)
    [_, _, nk1] = (
        each
        for each in found.value.decode().split("\r")
        if each[:3] in ("MSH", "NK1", "PID")
    )
    name = f"{written}{delimiters.component}{written}"
    expected = (
        "NK1", "1", f"{name}{delimiters.repetition}{name}", "SPO",
        delimiters.component.join((written, "", written)),
    )  # fmt: skip
    assert nk1 == delimiters.field.join(expected)
    assert delimiters_of(found.value.decode()) == delimiters


def test_what_is_written_cannot_break_the_message():
    found = rebuilt(message(), Invented("a|b^c~d\\e&f\rPID|g\n"))

    [_, pid] = found.value.decode().removesuffix("\r").split("\r")
    name = r"a\F\b\S\c\R\d\E\e\T\f PID\F\g "
    assert pid.split("|")[5] == "^".join((name,) * 3)


@pytest.mark.parametrize(
    ("charset", "codec"),
    [
        ("", "utf-8"), ("UNICODE UTF-8", "utf-8"), ("8859/1", "iso8859-1"),
        ("8859/15", "iso8859-15"), ("GB 18030-2000", "gb18030"),
        ("UNICODE UTF-16", "utf-16"),
    ],
)  # fmt: skip
def test_a_message_stays_in_its_character_set(charset, codec):
    msh = f"{MSH}||||||{charset}"
    value = message("OBX|1|TX|||café", msh=msh).decode().encode(codec)

    found = rebuilt(value, Invented("Zoë"))

    text = found.value.decode(codec)
    assert "|café" in text
    assert "Zoë^Zoë" in text
    assert messages_of(found.value)[0].split("\r")[1].startswith("PID|1||Zoë")


def test_a_surrogate_that_the_character_set_lacks_shows_question_marks():
    msh = f"{MSH}||||||8859/1"

    found = rebuilt(message(msh=msh), Invented("Ł"))

    assert b"|?^?^?|" in found.value


def test_a_message_with_a_byte_order_mark_keeps_it():
    value = b"\xef\xbb\xbf" + message("OBX|1|TX|||Łódź", msh=f"{MSH}||||||8859/1")

    found = rebuilt(value)

    assert found.value.startswith(b"\xef\xbb\xbfMSH")
    assert "|Łódź\r".encode() in found.value


def test_a_null_stays_a_null():
    found = rebuilt(message('PV1|1|""|""^""||||""'))

    assert lines(found)["PV1"] == 'PV1|1|""|""^""||||""'


# What is removed, and its counts


def test_unknown_segments_and_fields_are_removed_and_counted():
    found = rebuilt(
        message(
            "ZPD|secret", "PRB|AD|1", "QQQ|secret", f"{'PV1' + '|' * 90}secret", "ZPD|2"
        )
    )

    assert b"secret" not in found.value
    assert found.removed == {"ZPD": 2, "PRB": 1, "other": 2}
    assert set(lines(found)) == {"MSH", "PID", "PV1"}


def test_a_field_is_counted_once_by_its_place():
    found = rebuilt(message("PV1|1|I|4W^12^A~5W^13^B|||||||not a code at all"))

    assert found.removed == {"PV1-3": 1, "PV1-10": 1}


def test_components_beyond_the_data_type_are_removed():
    found = rebuilt(message("PV1|1^secret^secret&secret|I&secret"))

    assert lines(found)["PV1"] == "PV1|1^^|I&"
    assert found.removed == {"PV1-1": 1, "PV1-2": 1}


def test_a_code_with_name_and_system_is_kept_where_it_should_stand_alone():
    found = rebuilt(message("OBX|1|NM|||5|||A^Abnormal^HL70078~H^Edith"), scrub=covered)

    assert fields(found, "OBX")[8] == "A^Abnormal^HL70078~H^[X]"


@pytest.mark.parametrize(
    "code",
    ["4711471", "John Smith", "a@b.test", "x" * 21, "MRN:1234567", "Ünal", "EDITH"],
)
def test_what_does_not_look_like_a_code_is_removed(code):
    assert fields(rebuilt(message(f"PV1|1|{code}")), "PV1")[2] == ""


def test_a_code_of_letters_that_the_scrubber_takes_for_a_name_is_removed():
    value = message("PV1|1|I||||||||SMITH")

    assert fields(rebuilt(value), "PV1")[10] == "SMITH"
    assert fields(rebuilt(value, scrub=covered), "PV1")[10] == ""


@pytest.mark.parametrize(
    ("coded", "written"),
    [
        ("11506-3^Note^LN", "11506-3^Note^LN"),
        ("167520001^Blood^SCT", "167520001^Blood^SCT"),
        ("167520001^Blood^LN", "(code)^Blood^LN"),
        ("4711471^Blood^L", "(code)^Blood^L"),
        ("Edith^Blood^L", "(code)^Blood^L"),
        ("/min^per minute", "/min^per minute"),
        ("ABC^Blood^99HOSP", "ABC^Blood^L"),
        ("A^Blood^2.16.840.1.113883.12.136", "A^Blood^2.16.840.1.113883.12.136"),
        ("A^Blood^2.16.840.1.113883.12.136Edith", "A^Blood^L"),
        ("A^Blood^2.16.840.1.113883.6.1 Edith", "A^Blood^L"),
        ("39049^Franklin^FIPS6_4", "^^FIPS6_4"),
        ("M^Male^HL70001^^^^2.5.1", "M^Male^HL70001^^^^2.5.1"),
        ("A^B^L^C^D^L^1^2^E", "A^B^L^C^D^L^1^2^E"),
    ],
)
def test_a_code_is_kept_by_the_form_of_its_coding_system(coded, written):
    assert written == fields(rebuilt(message(f"OBX|1|CWE|1||{coded}")), "OBX")[5]


def test_a_local_code_that_the_scrubber_takes_for_a_name_becomes_a_pseudonym():
    value = message("OBX|1|CWE|1||SMITH^^L~POSITIVE^^L~POSITIVE^^LN")

    found = fields(rebuilt(value, scrub=covered), "OBX")[5]

    assert found == "(code)^^L~POSITIVE^^L~POSITIVE^^LN"


def encoded(text):
    return base64.b64encode(text.encode()).decode()


RTF = r"{\rtf1\ansi Seen by Edith.\par On Monday.}"


@pytest.mark.parametrize(
    ("shown_as", "written"),
    [
        (f"APP^TEXT^PLAIN^Base64^{encoded('Seen by Edith')}", "^TEXT^PLAIN^Base64^"),
        (f"APP^application^rtf^Base64^{encoded(RTF)}", "^application^rtf^Base64^"),
        (f"^TEXT^HTML^BASE64^{encoded('<p>Edith</p>')}", "^TEXT^HTML^Base64^"),
        (f"^Edith^Edith^Base64^{encoded('Edith')}", "^text^plain^Base64^"),
        (f"^TEXT^^Hex^{b'Edith'.hex()}", "^TEXT^^Hex^"),
        ("^TEXT^^A^Edith", "^TEXT^^A^"),
    ],
)
def test_a_document_is_scrubbed_and_put_back(shown_as, written):
    value = message(f"OBX|1|ED|1||{shown_as}")

    for scrub, is_shown in ((kept, True), (covered, False)):
        found = rebuilt(value, scrub=scrub)
        shown = fields(found, "OBX")[5]
        assert shown.startswith(written)
        assert is_shown is ("Edith" in decoded(*shown.split("^")[3:]))
        assert found.unreadable == {}


@pytest.mark.parametrize(
    "document",
    [
        '{"resourceType": "Patient", "name": [{"text": "Edith"}]}',
        '<ClinicalDocument xmlns="urn:hl7-org:v3"><title>E</title></ClinicalDocument>',
    ],
)
def test_a_message_in_a_document_is_removed_and_counted(document):
    found = rebuilt(message(f"OBX|1|ED|1||^AP^^Base64^{encoded(document)}"))

    assert fields(found, "OBX")[5] == ""
    assert found.unreadable == {"unknown": 1}


RTF_LINES = RTF.replace("\\", "\\E\\").replace("On Mon", "~On M")


@pytest.mark.parametrize(
    ("segments", "written"),
    [
        (("OBX|1|TX|1||E<b>dit</b>h~&lt;5",), ("OBX|1|TX|1||Edith~<5",)),
        (
            ("OBX|1|FT|1||<html>E<b>di", "OBX|2|FT|1||</b>t~h</html>", "NTE|1||E&amp;"),
            ("OBX|1|FT|1||Edi t h", "OBX|2|FT|1||", "NTE|1||E\\T\\"),
        ),
        (("NTE|1||E<b", "NTE|2||a=1>x</b>"), ("NTE|1||Ex", "NTE|2||")),
        (("NTE|1||a <5", "NTE|2||{b}"), ("NTE|1||a <5", "NTE|2||{b}")),
        (
            (f"OBX|1|TX|1||Report:~{RTF_LINES}", "OBX|2|TX|2||E<i>d</i>"),
            ("OBX|1|TX|1||Report:~Seen by Edith.~On Mday.", "OBX|2|TX|2||Ed"),
        ),
    ],
)
def test_texts_of_html_and_rtf_are_written_as_plain_text(segments, written):
    found = rebuilt(message(*segments))

    assert list(written) == found.value.decode().rstrip("\r").split("\r")[2:]


def test_markup_outside_of_notes_is_removed_and_counted():
    found = rebuilt(message("OBX|1|CE|1||A^E<b>d</b>ith^L"))

    assert fields(found, "OBX")[5] == "A^^L"
    assert found.removed == {"OBX-5": 1}


def decoded(encoding, data):
    if encoding == "A":
        return data
    return (bytes.fromhex if encoding == "Hex" else base64.b64decode)(data).decode()


def test_documents_are_free_texts_before_the_terms():
    value = message(f"OBX|1|ED|1^Report^L||^TEXT^^Base64^{encoded('one')}~^TEXT^^A^two")
    [part] = HL7.parts(value)

    texts = HL7.read(part.content).texts

    assert [each.text for each in texts] == ["one", "two", "Report"]


@pytest.mark.parametrize(
    ("document", "kind"),
    [
        ("^IM^PNG^Base64^iVBORw0KGgoAAAANSUhEUg==", "image"),
        ("^application^pdf^Base64^JVBERi0x", "broken"),
        ("^application^pdf^Base64^Edith!", "broken"),
        ("^TEXT^^Base64^", "broken"),
        ("^TEXT^^Hex^Edith", "broken"),
        ("Edith", "broken"),
    ],
)
def test_a_document_that_cannot_be_opened_is_removed_and_counted(document, kind):
    found = rebuilt(message(f"OBX|1|ED|1||{document}||||||F"))

    assert fields(found, "OBX")[5] == ""
    assert found.unreadable == {kind: 1}
    assert found.removed == {}


def test_a_pointer_to_a_document_is_removed_and_counted():
    found = rebuilt(message("OBX|1|RP|1||\\\\host\\Edith.pdf^APP^application^pdf"))

    assert fields(found, "OBX")[5] == ""
    assert found.unreadable == {"pointer": 1}


@pytest.mark.parametrize("kind", ["", "ZZ", "TM", "VR", "CD", "TX "])
def test_an_observation_of_a_type_without_a_rule_is_removed(kind):
    found = rebuilt(message(f"OBX|1|{kind}|1||Edith"), scrub=covered)

    assert b"Edith" not in found.value


@pytest.mark.parametrize(
    "number", ["4711471147", "555-0100", "12 Oak Street", "1e9999", "१२३"]
)
def test_what_is_no_number_is_removed(number):
    assert fields(rebuilt(message(f"OBX|1|NM|1||{number}")), "OBX")[5] == ""


@pytest.mark.parametrize(
    ("kind", "value", "written"),
    [
        ("NM", "48291.0", ""),
        ("NM", "5550147", ""),
        ("SN", "=^5550147", "=^"),
        ("NA", "312^5550147", "312^"),
        ("NM", "5550148", "5550148"),
    ],
)
def test_a_number_of_the_patient_is_no_measured_value(kind, value, written):
    pid = "PID|1||048291^^^WARD^MR||Example^Edith||19480229|F|||||(312)555-0147"
    found = rebuilt(message(f"OBX|1|{kind}|1||{value}", pid=pid))

    assert written == fields(found, "OBX")[5]


def test_a_telephone_number_is_no_reference_range():
    pid = "PID|1||4711^^^WARD^MR||Example^Edith||19480229|F|||||(312)555-0147"
    found = rebuilt(message("OBX|1|NM|1||5||555-0147", pid=pid), scrub=covered)

    assert b"0147" not in found.value


# Values


def test_names_identifiers_addresses_and_numbers_are_replaced():
    found = rebuilt(
        message(
            "NK1|1|Sample&van&Own^Emil^^Jr^Mr|SPO|1 Row^Flat 2^Town^IL^62704^USA^"
            "H^^Shire"
            "|^PRN^PH^emil@example.test^1^217^5550100",
        ),
        Invented("new"),
    )

    assert lines(found)["NK1"] == (
        "NK1|1|new&&new^new^^Jr^Mr|SPO|new^new^new^new^new^new^H^^|^PRN^PH^new^^^"
    )
    assert found.removed == {"NK1-2": 1, "NK1-4": 1, "NK1-5": 1}


def test_parts_of_a_telephone_number_are_replaced_as_one_number():
    found = rebuilt(message("NK1|1|||||^^^^1^217^5550100"), Invented("1 999 5550199"))

    assert fields(found, "NK1")[6] == "^^^^1^999^5550199"


def test_dates_are_moved_and_show_no_time_of_day():
    found = rebuilt(message("OBR|1||||||20240228080000-0500|2024~202402"))

    assert fields(found, "MSH")[7] == "20010203"
    assert fields(found, "PID")[7] == "20010203"
    assert fields(found, "OBR")[7:9] == ["20010203", "2001~200102"]


@pytest.mark.parametrize(
    ("shown", "day", "written"),
    [
        ("20240228", "2024-02-28", "20240228"),
        ("2024-02-28T10:15:00Z", "2024-02-28", "20240228"),
        ("202402", "2024-02-15", "202402"),
        ("2024", "2024-07-01", "2024"),
        ("20240228101500.1234+0100", "2024-02-28", "20240228"),
        ("20240230", None, ""),
        ("00000000", None, ""),
        ("yesterday", None, ""),
        ("240228", None, ""),
    ],
)
def test_a_date_keeps_its_precision(shown, day, written):
    asked = []

    class Values(Invented):
        def day(self, day):
            asked.append(day)
            return day

    msh = "MSH|^~\\&|||||||ORU^R01|C1|P|2.5.1"
    found = rebuilt(
        message(f"OBX|1|DT|1||{shown}", msh=msh, pid="PID|||4711"), Values()
    )

    assert ([] if day is None else [day]) == asked
    assert written == fields(found, "OBX")[5]


@pytest.mark.parametrize(
    ("day", "written"), [("2024", "2024"), ("", ""), ("[DATE]", "")]
)
def test_a_date_is_a_year_or_empty_where_the_policy_says_so(day, written):
    class Values(Invented):
        def day(self, _):
            return day

    assert written == fields(rebuilt(message(), Values()), "PID")[7]


def test_an_identifier_is_a_pseudonym_where_the_policy_writes_tags():
    class Tags(Invented):
        def replaced(self, label, value):
            return f"[{label.value}]"

    found = rebuilt(
        message("PV1|1|I|4W^^^HOSP||||77^Healer^Hanna|||||||||||V1"), Tags()
    )

    assert fields(found, "PID")[3] == "(medicalrecord)^^^(authority)^MR"
    assert fields(found, "PID")[5] == "[NAME:PATIENT]^[NAME:PATIENT]^[NAME:PATIENT]"
    assert fields(found, "PV1")[3] == "(unit)^^^(authority)"
    assert fields(found, "PV1")[7] == "(provider)^[NAME:DOCTOR]^[NAME:DOCTOR]"


def test_an_identifier_has_the_label_of_its_type():
    asked = []

    class Values(Invented):
        def replaced(self, label, value):
            asked.append((label, value))
            return "x"

    rebuilt(message(pid="PID|1||1^^^A^MR~2^^^A^SS~3^^^A^DL~4^^^A"), Values())

    assert asked[-4:] == [
        (Label.MEDICALRECORD, "1"), (Label.SSN, "2"), (Label.LICENSE, "3"),
        (Label.MEDICALRECORD, "4"),
    ]  # fmt: skip


@pytest.mark.parametrize("obx_3", ["30525-0^Age^LN", "A^Patient age^L"])
def test_an_observed_age_is_written_as_the_policy_writes_ages(obx_3):
    value = message(f"OBX|1|NM|{obx_3}||93")

    assert fields(rebuilt(value, Invented("90+")), "OBX")[5] == ""
    assert fields(rebuilt(value, Invented("45")), "OBX")[5] == "45"


# Free texts


def test_a_note_over_several_segments_is_scrubbed_as_one_and_split_again():
    value = message(
        "OBR|1||F1|11506-3^Note^LN",
        "OBX|1|FT|1^History||Seen by\\.br\\Healer~\\H\\twice\\N\\ \\T\\ more",
        "NTE|1||for Edith~Example",
        "OBX|2|ST|2^Plan||rest",
    )
    [part] = HL7.parts(value)
    [note] = part.notes
    texts = HL7.read(part.content).texts

    assert (note.text, note.note_type) == (texts[0].text, texts[0].note_type)
    assert note.text == (
        "History:\nSeen by\nHealer\ntwice & more\nfor Edith\nExample\nPlan: rest"
    )

    # "by\nHealer" is written where it begins; so is "Edith\nExample".
    start, name = note.text.index("by\n"), note.text.index("Edith\n")
    done = replaced(note.text, [(start, start + 9, "A"), (name, name + 13, "B\nC")])
    rest = [kept(each.text) for each in texts[1:]]
    found = HL7.read(part.content).rebuilt([done, *rest], Invented()).value.decode()

    assert "||Seen A~\\H\\twice\\N\\ \\T\\ more\r" in found
    assert "NTE|1||for B C~\r" in found
    assert "OBX|2|ST|2^Plan||rest\r" in found


def test_a_replacement_that_begins_in_a_heading_is_written_in_the_value():
    value = message("OBX|1|ST|1^Seen by||Healer here")
    [part] = HL7.parts(value)
    text = part.notes[0].text
    done = replaced(text, [(5, len(text) - 5, "X")])
    others = [kept(each.text) for each in HL7.read(part.content).texts[1:]]

    found = HL7.read(part.content).rebuilt([done, *others], Invented())

    assert lines(found)["OBX"].split("|")[5] == "X here"


def test_other_texts_are_free_texts_of_their_own_and_terms_are_one():
    [part] = HL7.parts(
        message(
            "OBR|1|||CBC^Blood count^L|||||||||Edith fainted",
            "AL1|1||X^Nuts^L||hives~rash",
            "OBX|1|CWE|A^Blood count^L||B^Edith^L",
        )
    )

    assert [each.text for each in HL7.read(part.content).texts] == [
        "Edith fainted",
        "hives\nrash",
        "Blood count\nNuts\nEdith",
    ]


def test_equal_terms_are_replaced_wherever_they_are():
    value = message("OBX|1|CWE|A^Edith^L||B^Edith^L")

    found = rebuilt(value, scrub=covered)

    assert [fields(found, "OBX")[n] for n in (3, 5)] == ["A^[X]^L", "B^[X]^L"]


@pytest.mark.parametrize("term", ["White", "ENGLISH", "Not Hispanic or Latino"])
def test_the_name_of_a_race_or_language_is_no_text_unless_it_is_in_the_record(term):
    value = message(f"OBX|1|CWE|1||A^{term}^L")
    named = message(
        f"OBX|1|CWE|1||A^{term}^L", pid=PID.replace("Example", term.split()[-1])
    )

    assert fields(rebuilt(value, scrub=covered), "OBX")[5] == (f"A^{term}^L")
    assert fields(rebuilt(named, scrub=covered), "OBX")[5] == "A^[X]^L"


def test_sequences_that_hold_bytes_but_no_text_are_removed():
    value = message(r"OBX|1|FT|1||a\C2842\b\M2541AB\c\H\d\.in+4\e\X41\f")

    assert fields(rebuilt(value), "OBX")[5] == r"abc\H\d\.in+4\e\X41\f"


def test_what_is_left_of_a_sequence_is_written_anew():
    value = message(r"OBX|1|FT|1||see \X4564697468\ and\.sp3\x")
    [part] = HL7.parts(value)
    text = part.notes[0].text
    assert text == "1:\nsee Edith and\n\n\nx"
    start = text.index("it")
    done = replaced(text, [(start, start + 3, "&"), (start + 7, start + 9, "|")])

    found = HL7.read(part.content).rebuilt([done], Invented())

    assert r"see Ed\T\ and\F\\.br\x" in lines(found)["OBX"]


def test_texts_of_another_message_are_refused():
    [part] = HL7.parts(message("OBX|1|TX|||one"))

    for wrong in ([], [kept("another")], [kept("one"), kept("two")]):
        with pytest.raises(ValueError, match="text"):
            HL7.read(part.content).rebuilt(wrong, Invented())


def test_many_texts_take_no_long_time():
    texts = FreeTexts()
    for line in range(16_000):
        texts.add_lines([((line, 5, 0, *WHOLE), "itch")])
    scrubbed = [
        ScrubbedDocument("", each.text, (), OffsetMap()) for each in texts.texts
    ]
    start = time.process_time()
    Scrubbed(texts, scrubbed, delimiters_of(MSH))

    assert time.process_time() - start < 4


# Parts


def test_a_message_of_two_patients_has_a_part_for_each():
    value = "\r".join(
        (
            MSH.replace("ORU^R01", "ADT^A24"),
            "EVN|A24|20240301",
            "NTE|1||first ",
            "PID|1||1^^^W^MR||Example",
            "PV1|1|I",
            "PID|2||2^^^W^MR||Sample",
            "NTE|1||second ",
        )
    ).encode()

    first, second = HL7.parts(value)

    assert names(first.content) == ["MSH", "EVN", "NTE", "PID", "PV1"]
    assert names(second.content) == ["MSH", "EVN", "PID", "NTE"]
    for part in (first, second):
        assert [note.text for note in part.notes] == [
            each.text for each in HL7.read(part.content).texts
        ]
    assert first.format == "hl7"
    assert [len(part.updates[0].merged) + 1 for part in (first, second)] == [2, 2]


def test_every_part_has_one_event_segment():
    first, second = HL7.parts(
        message("PV1|1|I", "PID|2||2", pid="EVN|A01\rEVN|A08\rPID|1||1")
    )

    assert names(first.content) == ["MSH", "EVN", "EVN", "PID", "PV1"]
    assert names(second.content) == ["MSH", "EVN", "PID"]


@pytest.mark.parametrize(
    "header", [f"{MSH}|{'x' * 100_000}", "\r".join((MSH, *["EVN|A01"] * 10_000))]
)
def test_headers_are_not_copied_for_any_number_of_patients(header):
    start = time.process_time()
    with suppress(InvalidRecord):
        HL7.parts(message(*["PID|1||1"] * 5_000, msh=header))

    assert time.process_time() - start < 10


def test_a_batch_has_the_parts_of_all_its_messages():
    one = message("OBX|1|TX|||one").decode()
    parts = HL7.parts(f"BHS|^~\\&\r{one}\r{one}\rBTS|2".encode())

    assert [each.content for each in parts] == [one, one]
    assert len({note.note_id for each in parts for note in each.notes}) == 2


def test_a_segment_of_the_site_is_written_by_its_rules():
    rules = Rules(
        {"ZPD": {"1": ["type", "ID"], "2": ["scrub", "FT"], "3": ["name PATIENT"]}}
    )

    found = rebuilt(
        message("ZPD|A1|Edith|Edith|secret"), scrub=covered, reader=Hl7Reader(rules)
    )

    assert lines(found)["ZPD"] == "ZPD|A1|[X]|new|"
    assert found.removed == {"other": 1}


def names(content):
    return [each[:3] for each in content.split("\r")]


def replaced(text, changes):
    """Return a text with changes: start, end, what is written."""
    pieces, rows, end, at = [], [], 0, 0
    for start, stop, written in changes:
        pieces += text[end:start], written
        begin = at + start - end
        at = begin + len(written)
        rows.append(Row(start, stop, begin, at))
        end = stop
    return ScrubbedDocument(
        "", "".join((*pieces, text[end:])), (), OffsetMap(tuple(rows))
    )
