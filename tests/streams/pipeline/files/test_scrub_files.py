"""`phistream scrub` on several files and folders: what is written where."""

from __future__ import annotations

import functools
import json
import os
import threading
from types import SimpleNamespace

import pytest
from typer.testing import CliRunner

from deid_core import Deidentifier
from streams.cli import scrub as command
from streams.cli.app import app
from streams.engine.errors import InputError
from streams.formats import readers
from streams.pipeline.files import rewriting

HL7 = (
    b"MSH|^~\\&|A|NORTH|B|C|20250101||ORU^R01|2|P|2.5\r"
    b"PID|1||123456^^^NORTH^MR||Quellwright^Mabelle\r"
    b"OBR|1|||X\rOBX|1|TX|||Mabele is better.\r"
)
NOTES = b'{"id": "a", "text": "Seen 3/14/2024."}\n'


@pytest.fixture(autouse=True)
def _one_deidentifier(monkeypatch):
    monkeypatch.setattr("deid_core.pipeline.Deidentifier", _Cached)
    monkeypatch.setattr(readers, "READERS", {})
    monkeypatch.setattr(rewriting, "FILE_READERS", {})


class _Cached:
    """The real one, without the tagger, made once for all these tests."""

    @staticmethod
    def from_names(**_names):
        return _lexical()


@functools.cache
def _lexical():
    return Deidentifier.from_names(preset="lexical")


@pytest.fixture
def ward(tmp_path):
    """A folder of several formats, with one file that can't be read as any."""
    folder = tmp_path / "ward"
    (folder / "sub").mkdir(parents=True)
    (folder / "a.txt").write_bytes(b"Seen 3/14/2024.\r\n")
    (folder / "b.pdf").write_bytes(b"\xff\xfe\xfa")
    (folder / "c.dat").write_bytes(HL7)
    (folder / "d.jsonl").write_bytes(NOTES)
    (folder / "e.json").write_bytes(b"[" + NOTES + b"]")
    (folder / "sub" / "a.txt").write_bytes(b"No change.\n")
    return folder


def scrub(*arguments):
    return CliRunner().invoke(app, ["scrub", *map(str, arguments)])


def usage_error(done):
    """Return what a box of wrapped lines says."""
    assert done.exit_code == 2
    return " ".join(done.stderr.replace("│", " ").split())


def below(folder):
    files = (path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


def test_a_folder_is_mirrored_and_a_file_that_is_refused_ends_nothing(ward, tmp_path):
    before = below(ward)

    done = scrub(ward, "--out", tmp_path / "out")

    assert done.exit_code == 1
    assert f"{ward}/b.pdf: not UTF-8; name its character set (--charset)" in done.stderr
    assert f"{ward}/c.dat: HL7 can't be written back in this version" in done.stderr
    assert "6 files read" in done.stderr
    assert "2 files were refused" in done.stderr
    line = b'{"id":"a","text":"Seen [DATE]."}'
    assert below(tmp_path / "out") == {
        "a.txt": b"Seen [DATE].\r\n",
        "d.jsonl": line + b"\n",
        "e.json": b"[" + line + b"]\n",
        "sub/a.txt": b"No change.\n",
    }
    assert before == below(ward)
    rows = [line.split() for line in done.stdout.splitlines() if line[:1].isalpha()]
    assert rows == [
        [
            *("Format", "Files", "Written", "Refused", "Texts"),
            *("Identifiers", "Fields", "dropped", "Unreadable"),
        ],
        ["hl7", "1", "0", "1", "0", "0", "0", "0"],
        ["json", "2", "2", "0", "2", "2", "0", "0"],
        ["text", "3", "2", "1", "2", "1", "0", "0"],
    ]


OTHERS = {
    "FHIR JSON": b'{"resourceType": "Patient", "name": [{"family": "Quellwright"}]}',
    "C-CDA": b'<ClinicalDocument xmlns="urn:hl7-org:v3"><given>Mabelle</given>'
    b"</ClinicalDocument>",
    "RTF": b"{\\rtf1 Mrs. Quell{\\b wright}}",
}


@pytest.mark.parametrize("suffix", ["", ".txt", ".xml", ".rtf"])
@pytest.mark.parametrize("explicit", [[], ["--format", "text"]])
@pytest.mark.parametrize("name", OTHERS)
def test_other_formats_are_never_passed_as_text(name, explicit, suffix, tmp_path):
    file = tmp_path / f"note{suffix}"
    file.write_bytes(OTHERS[name])

    done = scrub(*explicit, file)

    assert (done.exit_code, done.stdout) == (1, "")
    assert f"{file}: {name}, not text; scrub it with --out" in done.stderr


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"<p>Mrs. Quell<b>wright</b>", "HTML, not text"),
        (b"%PDF-1.7", "PDF, not text"),
        (b"\x89PNG\r\n\x1a\n", "the value is an image"),
        (b"<n>Quellwright</n>", "the value is XML, but no C-CDA"),
    ],
)
def test_what_is_not_text_is_refused_by_name_whatever_the_suffix(
    content, says, tmp_path
):
    file = tmp_path / "note.txt"
    file.write_bytes(content)

    done = scrub(file)

    assert (done.exit_code, done.stdout) == (1, "")
    assert f"{file}: {says}" in done.stderr


def test_a_second_run_replaces_and_does_not_scrub_what_it_wrote(ward):
    (ward / "b.pdf").unlink()
    (ward / "c.dat").unlink()
    scrub(ward, "--out", ward / "out")
    first = below(ward / "out")

    done = scrub(ward, "--out", ward / "out")

    assert (0, first) == (done.exit_code, below(ward / "out"))


def test_several_files_come_out_as_json_lines_that_name_them(ward):
    done = scrub(ward / "a.txt", ward / "d.jsonl")

    assert [json.loads(line) for line in done.stdout.splitlines()] == [
        {"file": f"{ward}/a.txt", "id": f"{ward}/a.txt", "text": "Seen [DATE].\r\n"},
        {"file": f"{ward}/d.jsonl", "id": "a", "text": "Seen [DATE]."},
    ]


def test_a_folder_without_out_names_its_files_even_if_it_holds_one(tmp_path):
    (tmp_path / "a.txt").write_bytes(b"No change.\n")

    done = scrub(tmp_path)

    assert json.loads(done.stdout)["file"] == (f"{tmp_path}/a.txt")


@pytest.mark.parametrize("out", [".", "../ward", "sub/.."])
def test_an_input_is_never_overwritten(ward, out):
    before = below(ward)

    done = scrub(ward, "--out", ward / out)

    assert "is an input; choose another folder" in usage_error(done)
    assert before == below(ward)


def test_an_input_is_not_overwritten_by_way_of_a_link_either(ward, tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "a.txt").hardlink_to(ward / "a.txt")

    assert scrub(ward / "a.txt", "--out", tmp_path / "out").exit_code == 2
    assert (ward / "a.txt").read_bytes() == b"Seen 3/14/2024.\r\n"


def test_two_inputs_are_not_written_to_one_file(ward, tmp_path):
    done = scrub(ward / "a.txt", ward / "sub/a.txt", "--out", tmp_path / "out")

    assert "would both be" in usage_error(done)
    assert not (tmp_path / "out").exists()


def test_a_file_is_whole_or_not_there(ward, tmp_path, monkeypatch):
    def breaks(*_arguments):
        raise KeyboardInterrupt

    (ward / "b.pdf").unlink()
    scrub(ward, "--out", tmp_path / "out")
    before = below(tmp_path / "out")
    monkeypatch.setattr(rewriting.Rewriter, "rewritten", breaks)

    scrub(ward, "--out", tmp_path / "out")

    assert before == below(tmp_path / "out")


def test_a_missing_file_is_told_before_any_is_scrubbed(ward):
    done = scrub(ward / "a.txt", ward / "none.txt")

    assert isinstance(done.exception, InputError)
    assert f"{ward}/none.txt: no such file" in str(done.exception)
    assert done.stdout == ""


def test_an_empty_folder_is_told(tmp_path):
    done = scrub(tmp_path)

    assert isinstance(done.exception, InputError)
    assert "no files there" in str(done.exception)


def test_a_folder_that_can_not_be_made_is_named(ward, tmp_path):
    (tmp_path / "file").write_bytes(b"")

    done = scrub(ward / "a.txt", "--out", tmp_path / "file" / "out")

    assert done.exit_code != 0
    assert "file/out" in str(done.exception) + done.stderr


@pytest.mark.parametrize(
    ("is_kept", "size", "is_compiled"),
    [(True, 10, True), (False, 10, False), (False, command.LITTLE + 1, True)],
)
def test_a_little_text_does_not_wait_for_the_compiler(
    tmp_path, monkeypatch, is_kept, size, is_compiled
):
    chosen = []
    monkeypatch.setattr(command, "is_machine_code_kept", lambda: is_kept)
    monkeypatch.setattr(command, "run_uncompiled", lambda: chosen.append("plain"))
    note = tmp_path / "note.txt"
    note.write_text("x\n" * size)

    assert scrub(note).exit_code == 0

    assert is_compiled is (chosen == [])


def test_a_pipe_is_read_whole(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    threading.Thread(target=pipe.write_bytes, args=(b"Seen 3/14/2024.\n",)).start()

    assert scrub(pipe).stdout == "Seen [DATE].\n"


@pytest.mark.parametrize("name", ["notes.csv", "NOTES.TSV"])
def test_a_table_is_no_text_unless_the_user_says_so(name, tmp_path):
    file = tmp_path / name
    file.write_bytes(b"id,patient,note\n1,Quellwright,Seen 3/14/2024.\n")

    refused, done = scrub(file), scrub(file, "--format", "text")

    assert (refused.exit_code, done.exit_code) == (1, 0)
    assert (
        f"{file}: a table, not text; say with --map what its columns are"
        in refused.stderr
    )
    assert "Quellwright" not in refused.stdout + refused.stderr
    assert "Seen [DATE]." in done.stdout


def test_markup_in_a_text_is_read_as_it_is_shown_and_other_formats_are_refused(
    tmp_path,
):
    (tmp_path / "a.txt").write_bytes(b"WBC <5\r\nCall 617-<b>555</b>-&#48;142 now.\n")
    (tmp_path / "b.txt").write_bytes(b"Note: <Phone>617-555-0142</Phone>")

    done = scrub(tmp_path / "a.txt", tmp_path / "b.txt")

    assert done.exit_code == 1
    assert json.loads(done.stdout)["text"] == "WBC <5\r\nCall [CONTACT:PHONE] now.\n"
    assert "b.txt: text with HTML or XML in it; send the document" in done.stderr


def test_annotations_are_never_of_another_text_than_the_note(tmp_path):
    (tmp_path / "a.jsonl").write_bytes(b'{"id": "a", "text": "Seen <b>3</b>/14/2024."}')

    done = scrub(tmp_path / "a.jsonl", "--annotations")
    plain = scrub(tmp_path / "a.jsonl")

    assert done.exit_code == 1
    assert "in which annotations have no place" in done.stderr
    assert json.loads(plain.stdout)["text"] == "Seen [DATE]."


GERMAN = "Der Patient klagt seit gestern \u00fcber Schmerzen im linken Knie und Husten."
ENCAPSULATED = b"OBX|2|ED|||^TEXT^PLAIN^Base64^TWFiZWxsZSBpcyBiZXR0ZXIu\r"


@pytest.mark.parametrize(
    ("content", "lines"),
    [(HL7 + ENCAPSULATED, 1), (HL7.partition(b"OBX")[0] + ENCAPSULATED, 0)],
)
@pytest.mark.parametrize("option", [[], ["--format", "hl7"]])
def test_a_document_in_a_message_is_named_where_only_its_notes_are_printed(
    content, lines, option, tmp_path
):
    file = tmp_path / "ed.hl7"
    file.write_bytes(content)

    done = scrub(*option, file)

    assert done.exit_code == 1
    assert lines == len(done.stdout.splitlines())
    assert (
        f"refused: unsupported: {file} message 1: 1 OBX-5 of type ED left out, whose "
        "documents are no notes; scrub the file with --out FOLDER\n"
    ) in done.stderr
    assert "Mabelle" not in done.output


@pytest.mark.parametrize(
    ("explained", "code"), [([], "other_language"), (["--explain"], "deid_error")]
)
def test_a_refusal_by_the_library_names_the_file(
    explained, code, tmp_path, monkeypatch
):
    monkeypatch.setattr(
        "deid_core.pipeline.Deidentifier",
        SimpleNamespace(from_names=lambda **_: reads_english()),
    )
    file = tmp_path / "de.txt"
    file.write_text(GERMAN)

    done = scrub(*explained, file)

    assert done.exit_code == 1
    assert f"refused: {code}: {file}: " in done.stderr
    assert "the note is in German, the preset reads English" in done.stderr


@functools.cache
def reads_english():
    return Deidentifier.from_names(preset="lexical")


def test_a_page_of_explanations_is_said_to_hold_phi(ward, tmp_path):
    page = tmp_path / "page.html"

    done = scrub("--explain-html", page, ward / "a.txt")

    assert f"written: {page}, which holds PHI" in done.stderr
    assert page.exists()
