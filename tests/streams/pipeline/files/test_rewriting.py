"""Files that are written back in their own form."""

from __future__ import annotations

import codecs
import functools
import re
from collections import Counter
from functools import partial
from types import SimpleNamespace

import orjson
import pytest
from typer.testing import CliRunner

from deid_core import Deidentifier
from schemas import Schema
from streams.cli.app import app
from streams.formats.hl7.framing import messages_of
from streams.formats.hl7.reader import Hl7Reader
from streams.model.parts import FreeText, Part, Rebuilt
from streams.pipeline.files import input_file, rewriting
from streams.pipeline.intake.route import route
from tests.streams.formats.documents.written import pdf, shown

NAMES = {"names": [{"family": "Quellwright", "given": "Mabelle"}]}
IDENTITY = {"assigning_authority": "ZZNORTH", "id": "ZZ48291"}
EVENT = {
    "note_id": "ZZ-1",
    "patient": IDENTITY,
    "note_type": "11506-3",
    "written_at": "2024-03-14T09:30:00",
    "text": "Mabele is better.",
    "demographics": NAMES,
}
PSEUDONYM = re.compile(r"[0-9a-f]{32}")


@functools.cache
def lexical(policy):
    return Deidentifier.from_names(preset="lexical", policy=policy)


class Cached:
    """The real one, without the tagger, made once for all these tests."""

    @staticmethod
    def from_names(policy, **_names):
        return lexical(policy)


class TextsOfMessages:
    """A reader of HL7 that keeps MSH-1, MSH-2 and OBX-5, which is a free text."""

    text = Hl7Reader.text

    def parts(self, value):
        routed = [
            (each, route(each.encode("utf-8-sig"))) for each in messages_of(value)
        ]
        return [Part("hl7", text, of.updates, of.notes) for text, of in routed]

    def read(self, content):
        found = [line for line in content.split("\r") if line.startswith("OBX")]
        texts = [FreeText(line.split("|")[5]) for line in found]
        return SimpleNamespace(texts=texts, rebuilt=partial(self._rebuilt, content))

    def _rebuilt(self, content, scrubbed, values):
        if "ZZBUG" in content:
            raise ValueError(content)
        lines = [content[:8], *(f"OBX|||||{each.text}" for each in scrubbed)]
        if "8859/1" in content or "UTF-16" in content:
            lines[0] = content.split("\r")[0].replace("ZZ", "")
        text = "".join(f"{line}\r" for line in lines)
        codec = "latin-1" if "8859/1" in text else "utf-8"
        codec = "utf-16" if "UTF-16" in text else codec
        return Rebuilt(text.encode(codec), {"PID-5": 1}, {"image/png": 2})


@pytest.fixture
def hl7(monkeypatch):
    monkeypatch.setattr(rewriting, "FILE_READERS", {"hl7": TextsOfMessages()})


@pytest.fixture
def scrub(tmp_path, monkeypatch):
    """Return a function that scrubs one file and returns the output, or None."""
    monkeypatch.setattr("deid_core.pipeline.Deidentifier", Cached)

    def scrub(name, content, *options):
        (tmp_path / "in").mkdir(exist_ok=True)
        (tmp_path / "in" / name).write_bytes(content)
        options = [*map(str, options), "--out", str(tmp_path / "out")]
        done = CliRunner().invoke(app, ["scrub", *options, str(tmp_path / "in")])
        assert "ZZ" not in done.output
        written = [*(tmp_path / "out").glob("*")]
        assert all(each.name in (name, f"{name}.txt") for each in written)
        scrub.stdout, scrub.stderr = done.stdout, done.stderr
        assert (done.exit_code == 0) == bool(written)
        return written[0].read_bytes() if written else None

    return scrub


@pytest.mark.parametrize("suffix", [".txt", ".json", ".hl7", ""])
@pytest.mark.parametrize("codec", ["utf-8", "utf-8-sig", "utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_a_text_keeps_its_character_set_mark_and_line_ends(scrub, codec, end, suffix):
    mark = "\ufeff" if codec.startswith("utf-16") else ""
    text = f"{mark}Größe: 1,70 m.{end}Seen 3/14/2024.{end}"

    written = scrub(f"a{suffix}", text.encode(codec), "--format=text")

    assert text.replace("3/14/2024", "[DATE]").encode(codec) == written


def test_a_note_event_stays_one_without_what_identifies_the_patient(scrub):
    written = orjson.loads(scrub("a.json", orjson.dumps(EVENT)))

    Schema("note_event", 1).check(written)
    assert written["text"] == "[NAME:PATIENT] is better."
    assert set(written) == {"note_id", "patient", "note_type", "text"}
    assert PSEUDONYM.fullmatch(written["note_id"])
    assert PSEUDONYM.fullmatch(written["patient"]["id"])
    assert written["patient"]["assigning_authority"] == ""
    assert written["note_type"] == "11506-3"


def test_a_note_event_has_its_day_as_the_policy_writes_dates(scrub, tmp_path):
    policy = tmp_path / "own.toml"
    policy.write_text('name = "own"\ndefault = "tag"\ndates = "year"\n')

    written = orjson.loads(scrub("a.json", orjson.dumps(EVENT), "--policy", policy))

    assert written["written_at"] == "2024"


def test_pseudonyms_are_those_of_the_stream_with_its_key_and_else_of_one_run(
    scrub, tmp_path
):
    key = tmp_path / "key"
    key.write_bytes(b"0" * 32)
    key.chmod(0o600)

    with_key = [scrub("a.json", orjson.dumps(EVENT), "--key-file", key) for _ in "12"]
    without = [scrub("a.json", orjson.dumps(EVENT)) for _ in "12"]

    assert with_key[0] == with_key[1]
    assert without[0] != without[1]
    expected = rewriting.Pseudonyms(b"0" * 32).patient(b"ZZNORTH|ZZ48291")
    assert expected == orjson.loads(with_key[0])["patient"]["id"]


MARKED = EVENT | {
    "text": "Seen by Zzquell. MRN ZZ48291-7. Mail zz8@example.org.",
    "demographics": {
        "names": [
            {"family": "ZZ1", "given": "ZZ2", "middle": "ZZ3", "suffix": "ZZ4"},
            {"family": "Zzquell"},
        ],
        "addresses": [{"street": "2 Zz5 Road", "city": "Zz6"}],
        "ids": [{"value": "ZZ48291-7", "assigning_authority": "ZZ7"}],
        "emails": ["zz8@example.org"],
        "facilities": ["ZZ9"],
        "sex": "ZZ10",
    },
}


def test_nothing_of_a_note_event_s_patient_is_in_the_output(scrub):
    written = scrub("a.json", orjson.dumps(MARKED | {"note_type": "18842-5"}))

    assert b"zz" not in written.lower()


def test_a_note_whose_type_holds_a_value_of_the_record_is_refused(scrub):
    good, bad = (MARKED | {"note_type": each} for each in ("18842-5", "Zzquell"))

    assert scrub("a.jsonl", b"\n".join(map(orjson.dumps, (good, bad)))) is None
    assert "a.jsonl:2: notes: note_type holds a value of the" in scrub.stderr


@pytest.mark.parametrize("name", ["a.jsonl", "a.json", "a.txt"])
def test_json_keeps_its_form(scrub, name):
    one = {"id": "a", "text": "Seen 3/14/2024.", "spans": ["ZZ"], "patient_id": "ZZ"}
    two = {"id": 2, "text": ""}
    lines = [*map(orjson.dumps, (one, two))]
    expected = [b'{"id":"a","text":"Seen [DATE]."}', b'{"id":"2","text":""}']

    assert b"\n".join(expected) + b"\n" == scrub(name, b"\n\r\n".join(lines))
    assert scrub(name, codecs.BOM_UTF8 + b"[" + b", ".join(lines) + b"]") == (
        b"[" + b",\n".join(expected) + b"]\n"
    )
    assert expected[0] + b"\n" == scrub(name, lines[0])


def test_annotations_are_added_to_json(scrub):
    content = b'{"id": "a", "text": "Seen 3/14/2024."}'

    written = orjson.loads(scrub("a.json", content, "--annotations"))

    assert [each["label"] for each in written["annotations"]] == ["DATE"]


def test_events_of_another_form_are_written_as_note_events(scrub, tmp_path):
    file = tmp_path / "map.toml"
    file.write_text('note_id = "no"\ntext = "body"\n[patient]\nid = "mrn"\n')
    event = {"no": "ZZ1", "body": "Seen 3/14/2024.", "mrn": "ZZ2"}

    written = orjson.loads(scrub("a", orjson.dumps(event), "--map", file))

    Schema("note_event", 1).check(written)
    assert written["text"] == "Seen [DATE]."


@pytest.mark.parametrize(
    "bad",
    [
        orjson.dumps(EVENT | {"ZZfield": 1}),
        orjson.dumps(EVENT | {"text": None}),
        orjson.dumps(EVENT | {"note_type": 3}),
        orjson.dumps(EVENT | {"text": "", "patient": {"ZZ": 1}}),
        b"ZZ",
        b"[1]",
    ],
)
def test_a_file_with_a_refused_record_is_not_written_and_each_is_named(scrub, bad):
    good = orjson.dumps(EVENT)

    assert scrub("a.jsonl", b"\n".join([good, bad, good, bad])) is None
    assert re.search(r"a\.jsonl:2: ", scrub.stderr)
    assert re.search(r"a\.jsonl:4: ", scrub.stderr)
    assert "1 file was refused and not written" in scrub.stderr


def test_rtf_and_html_are_written_as_such_and_a_pdf_as_text(scrub, tmp_path):
    rtf = scrub("a.rtf", rb"{\rtf1\ansi Seen {\b 3/14/2024}.\par}")
    assert rtf.startswith(b"{\\rtf1")
    assert b"[DATE]" in rtf
    assert b"2024" not in rtf
    (tmp_path / "in/a.rtf").unlink()
    (tmp_path / "out/a.rtf").unlink()
    html = scrub("a.txt", b"<html><body><p>Seen 3/14/<b>2024</b>.</p></body></html>")
    assert b"<p>" in html
    assert b"2024" not in html
    (tmp_path / "in/a.txt").unlink()
    (tmp_path / "out/a.txt").unlink()
    assert b"Seen [DATE]." in scrub("a.pdf", pdf(shown("Seen 3/14/2024.")))
    assert (tmp_path / "out/a.pdf.txt").exists()


def test_a_document_that_can_not_be_opened_is_refused_by_its_kind(scrub):
    assert scrub("a.pdf", b"%PDF-1.7\n%%EOF") is None
    assert "PDF that can't be opened (" in scrub.stderr


MESSAGE = (
    "MSH|^~\\&|ZZ|ZZ|ZZ|ZZ|20250101||ORU^R01|ZZ{0}|P|2.5\n"
    "PID|1||123456^^^NORTH^MR||Quellwright^Mabelle\n"
    "OBR|1|||X\nOBX|1|TX|||Mabele is better."
)
REBUILT = "MSH|^~\\&\nOBX|||||[NAME:PATIENT] is better.\n"


@pytest.mark.parametrize("end", ["\r", "\n", "\r\n"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
@pytest.mark.usefixtures("hl7")
def test_a_batch_keeps_its_envelope_without_its_identifying_fields(scrub, end, mark):
    lines = [
        "FHS|^~\\&|ZZ|ZZ|||20250101||ZZ",
        "BHS|^~\\&|ZZ|ZZ",
        MESSAGE.format(1),
        MESSAGE.format(2),
        "BTS|2|ZZ|ZZ",
        "BHS|^~\\&#|ZZ",
        MESSAGE.format(3),
        "BTS",
        "FTS|9|ZZ",
    ]
    content = "\n".join(lines).replace("\n", end)

    written = scrub("a.hl7", (mark + content).encode())

    expected = (
        f"FHS|^~\\&\nBHS|^~\\&\n{REBUILT}{REBUILT}BTS|2\n"
        f"BHS|^~\\&#\n{REBUILT}BTS|1\nFTS|2\n"
    )
    assert expected.replace("\n", end).encode() == written
    assert "hl7" in scrub.stdout
    assert scrub.stdout.split()[-7:] == ["1", "1", "0", "3", "3", "3", "6"]


@pytest.mark.usefixtures("hl7")
def test_messages_keep_their_frames(scrub):
    content = f"\x0b{MESSAGE.format(1)}\n\x1c\r\x0b{MESSAGE.format(2)}\x1c"

    written = scrub("a.dat", content.encode())

    assert f"\x0b{REBUILT}\x1c\r\x0b{REBUILT}\x1c\r".encode() == written


@pytest.mark.parametrize("delimiters", ["ZZZ", "^~\\&ZZ", "", "^~\\&" * 9])
@pytest.mark.usefixtures("hl7")
def test_an_envelope_keeps_nothing_but_delimiters(scrub, delimiters):
    content = f"FHS|{delimiters}|ZZ\n{MESSAGE.format(1)}\nFTS|ZZ"

    written = scrub("a.hl7", content.encode())

    assert f"FHS|^~\\&\n{REBUILT}FTS|0\n".encode() == written


@pytest.mark.usefixtures("hl7")
def test_a_message_that_json_wraps_is_wrapped_again(scrub):
    message = MESSAGE.format(1)
    written = orjson.loads(
        scrub("a.jsonl", orjson.dumps({"message": message, "x": "ZZ"}))
    )
    assert written == {"message": REBUILT.replace("\n", "\r")}

    named = message.replace("|2.5", "|2.5||||||8859/1").replace("Mabele", "Größe")
    written = orjson.loads(scrub("a.jsonl", orjson.dumps({"message": named})))
    assert "Größe is better." in written["message"]


@pytest.mark.parametrize(
    ("named", "codec", "written_in"),
    [
        ("8859/1", "latin-1", "latin-1"),
        ("8859/1", "utf-8-sig", "latin-1"),
        ("UNICODE UTF-16", "utf-16", "utf-8-sig"),
    ],
)
@pytest.mark.usefixtures("hl7")
def test_a_message_is_in_its_character_set(scrub, named, codec, written_in):
    message = MESSAGE.format(1).replace("|2.5", f"|2.5||||||{named}")
    content = message.replace("Mabele is better", "Größe: 1,70 m")

    written = scrub("a.hl7", content.encode(codec)).decode(written_in)

    assert f"||||||{named}\nOBX|||||Größe: 1,70 m.\n" in written


@pytest.mark.usefixtures("hl7")
def test_a_leak_in_any_character_set_refuses_the_file(scrub):
    header = "MSH|^~\\&|Mörike||||||ORU^R01||P|2.5||||||8859/1"
    lines = [header, "PID|1||123456^^^NORTH^MR||Mörike^Mabelle", "OBX|1|TX|||Well."]

    assert scrub("a.hl7", "\n".join(lines).encode("latin-1")) is None
    assert "holds a value of the patient's record" in scrub.stderr


def test_a_file_that_is_too_large_is_refused_and_the_others_go_on(
    scrub, monkeypatch, tmp_path
):
    monkeypatch.setattr(input_file, "MAX_RECORD_BYTES", 100)
    (tmp_path / "in").mkdir()
    (tmp_path / "in/big.jsonl").write_bytes(b'{"id": "' + b"x" * 100)

    done = CliRunner().invoke(
        app, ["scrub", "--out", str(tmp_path / "out"), str(tmp_path / "in")]
    )

    assert done.exit_code == 1
    assert "a record of more than 100 bytes" in done.stderr


@pytest.mark.parametrize(
    ("bad", "says"),
    [
        ("MSH|^~\\&|ZZ\nPID|ZZ", "message 2: "),
        (MESSAGE.format("BUG"), "message 2: notes: ValueError in "),
    ],
)
@pytest.mark.usefixtures("hl7")
def test_a_batch_with_a_refused_message_is_not_written(scrub, bad, says):
    content = f"FHS|^~\\&\n{MESSAGE.format(1)}\n{bad}\n{MESSAGE.format(3)}\nFTS|1"

    assert scrub("a.hl7", content.encode()) is None
    assert f"a.hl7 {says}" in scrub.stderr


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("a.hl7", MESSAGE.encode(), "HL7 can't be written back in this version"),
        ("a.json", b'{"resourceType": "Patient"}', "FHIR JSON can't be written back"),
        ("a", b'<ClinicalDocument xmlns="urn:hl7-org:v3"/>', "C-CDA can't be written"),
        ("a", b'{"message": "MSH|^~"}', "HL7 can't be written back in this version"),
    ],
)
def test_a_format_without_a_reader_is_refused_by_name(
    scrub, monkeypatch, name, content, says
):
    monkeypatch.setattr(rewriting, "FILE_READERS", {})

    assert scrub(name, content) is None
    assert says in scrub.stderr


def test_a_bundle_of_several_patients_stays_one_and_what_they_share_is_in_it_once(
    scrub,
):
    patients = [{"resourceType": "Patient", "id": each} for each in "ab"]
    shared = {"resourceType": "Organization", "id": "o", "name": "Larkfield Clinic"}
    visits = [
        {
            "resourceType": "Encounter",
            "id": f"e{each}",
            "status": "finished",
            "class": {"code": "AMB"},
            "subject": {"reference": f"Patient/{each}"},
            "serviceProvider": {"reference": "Organization/o"},
        }
        for each in "ab"
    ]
    unused = {"resourceType": "Organization", "id": "u", "name": "Brindle Clinic"}
    entries = [{"resource": each} for each in (*patients, shared, *visits, unused)]
    bundle = {"resourceType": "Bundle", "type": "collection", "entry": entries}

    written = orjson.loads(scrub("two.json", orjson.dumps(bundle)))

    types = Counter(each["resource"]["resourceType"] for each in written["entry"])
    assert types == {"Patient": 2, "Organization": 1, "Encounter": 2}
    ids = {
        each["resource"]["id"]
        for each in written["entry"]
        if each["resource"]["resourceType"] == "Patient"
    }
    subjects = {
        each["resource"]["subject"]["reference"].removeprefix("Patient/")
        for each in written["entry"]
        if "subject" in each["resource"]
    }
    assert ids == subjects


def test_what_patients_share_holds_the_name_of_neither(scrub):
    """Whichever is first in the Bundle; what reads the same for both stays."""
    names = {"a": "Wilhelmina", "b": "Larkfield"}
    patients = [
        {"resourceType": "Patient", "id": each, "name": [{"family": name}]}
        for each, name in names.items()
    ]
    shared = {
        "resourceType": "Medication",
        "id": "m",
        "code": {"text": "Larkfield drops"},
        "form": {"text": "eye drops"},
    }
    orders = [
        {
            "resourceType": "MedicationRequest",
            "id": f"r{each}",
            "status": "active",
            "intent": "order",
            "subject": {"reference": f"Patient/{each}"},
            "medicationReference": {"reference": "Medication/m"},
        }
        for each in names
    ]
    for order in (patients, patients[::-1]):
        entries = [{"resource": each} for each in (*order, shared, *orders)]
        bundle = {"resourceType": "Bundle", "type": "collection", "entry": entries}

        written = scrub("two.json", orjson.dumps(bundle))

        assert b"Larkfield" not in written
        assert b"eye drops" in written
