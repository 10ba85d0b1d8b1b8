"""`phistream scrub`, the form that outside scorers call: no Kafka."""

from __future__ import annotations

import json

import pytest

from tests import commands

PATIENT = {"names": [{"family": "Quellwright", "given": "Mabelle"}]}
NOTES = [
    {"id": "a", "text": "Ms. Quelwright seen 3/14/2024.", "patient": PATIENT},
    {"id": 7, "text": "Stabil: Größe 1,70 m, BP 120/80."},
    {"id": "c", "text": "Naïve 😀 call (312) 555-0147 today."},
]


def phistream(*arguments, stdin=b""):
    """Run it without the tagger, whose start takes long, unless a test asks for it."""
    return commands.phistream("scrub", "--preset=lexical", *arguments, stdin=stdin)


@pytest.fixture
def notes(tmp_path):
    file = tmp_path / "notes.jsonl"
    file.write_text("".join(json.dumps(note) + "\n" for note in NOTES))
    return file


def test_annotations_in_input_order_with_code_points_of_the_input(notes):
    done = phistream("--preset=hybrid", "--format", "jsonl", "--annotations", notes)

    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert [line["id"] for line in lines] == ["a", "7", "c"]
    assert all({"id", "text", "annotations"} == set(line) for line in lines)
    found = [
        (note["text"][a["start"] : a["end"]], a["label"])
        for note, line in zip(NOTES, lines, strict=True)
        for a in line["annotations"]
    ]
    assert found == [
        ("Quelwright", "NAME:PATIENT"),
        ("3/14/2024", "DATE"),
        ("(312) 555-0147", "CONTACT:PHONE"),
    ]
    assert set(lines[0]["annotations"][0]) == {
        "start",
        "end",
        "label",
        "score",
        "detector",
    }
    assert done.returncode == 0


def test_offsets_are_of_the_input_where_characters_are_invisible(tmp_path):
    text = "M\u200br. Quell\u00adwright\u2060 seen \uff13/14/2024 by \ufb01ve."
    note = {"id": "a", "text": text, "patient": PATIENT}
    file = tmp_path / "notes.jsonl"
    file.write_text(json.dumps(note))

    done = phistream("--annotations", file)

    line = json.loads(done.stdout)
    assert [(text[a["start"] : a["end"]], a["start"]) for a in line["annotations"]] == [
        ("Quell\u00adwright\u2060", 5),
        ("\uff13/14/2024", 24),
    ]
    assert line["text"] == "M\u200br. [NAME:PATIENT] seen [DATE] by \ufb01ve."


def test_without_annotations_the_text_alone(notes):
    done = phistream(notes)

    first = json.loads(done.stdout.splitlines()[0])
    assert first == {"id": "a", "text": "Ms. [NAME:PATIENT] seen [DATE]."}


def test_lists_of_terms_to_remove_and_to_keep(tmp_path):
    (tmp_path / "staff.txt").write_text("Tollemach\n")
    (tmp_path / "programmes.txt").write_text("Emily Sanders\n")
    lists = ("--remove=NAME:DOCTOR=staff.txt", "--keep=programmes.txt")
    note = b"Walks to Emily Sanders; call Tollemach."

    done = commands.phistream(
        "scrub", "--preset=lexical", *lists, "-", stdin=note, cwd=tmp_path
    )
    assert done.stdout == b"Walks to Emily Sanders; call [NAME:DOCTOR]."


@pytest.mark.parametrize(
    ("option", "says"),
    [
        ("--remove=staff.txt", "LABEL=FILE"),
        ("--remove=NAME:NURSE=staff.txt", "label NAME:NURSE is unknown; did you mean"),
        ("--remove=XX=staff.txt", "NAME:DOCTOR"),
        ("--keep=none.txt", "none.txt: cannot be read"),
    ],
)
def test_a_wrong_list_of_terms_ends_the_command(option, says):
    done = phistream(
        option,
        "-",
        stdin=b"Call.",
    )

    assert done.returncode != 0
    assert says in done.stderr.decode()
    assert done.stdout == b""


def test_standard_input_as_text():
    done = phistream("-", stdin=b"Seen 3/14/2024.\r\nNo change.\n")

    assert done.stdout == b"Seen [DATE].\r\nNo change.\n"


def test_hl7_joins_the_notes_with_the_files_own_patients(tmp_path):
    file = tmp_path / "ward.hl7"
    file.write_bytes(
        b"MSH|^~\\&|A|NORTH|B|C|20250101||ADT^A01|1|P|2.5\r"
        b"PID|1||123456^^^NORTH^MR||Quellwright^Mabelle\r"
        b"MSH|^~\\&|A|NORTH|B|C|20250101||ORU^R01|2|P|2.5\r"
        b"PID|1||123456^^^NORTH^MR\rOBR|1|||X\rOBX|1|TX|||Mabele is better.\r"
    )

    done = phistream(file)

    [line] = [json.loads(line) for line in done.stdout.splitlines()]
    assert line["text"] == "[NAME:PATIENT] is better."


@pytest.mark.parametrize(
    "bad",
    [
        "not json",
        '{"id": "x"}',
        '{"text": "ZZMARKER"}',
        '{"id": "x", "text": "t", "patient": {"names": "ZZMARKER"}}',
        '{"id": "x", "text": "t", "patient": {"nams": []}}',
    ],
)
def test_a_bad_line_is_refused_with_its_place_and_the_others_go_on(notes, bad):
    with notes.open("a") as out:
        out.write(bad + "\n" + json.dumps(NOTES[1]) + "\n")

    done = phistream(notes)

    assert done.returncode == 1
    assert len(done.stdout.splitlines()) == 4
    assert f"{notes.name}:4".encode() in done.stderr.replace(b"\n", b"")
    assert b"ZZMARKER" not in done.stderr


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--preset", "hybird"), "hybrid"),
        (("--policy", "safe"), "safe-harbor"),
    ],
)
def test_an_unknown_name_refuses_and_lists_the_known(notes, arguments, says):
    done = phistream(*arguments, notes)

    assert done.returncode == 78
    assert says in done.stderr.decode()
    assert done.stdout == b""


@pytest.fixture
def key_file(tmp_path):
    file = tmp_path / "key"
    file.write_text("k" * 32 + "\n")
    file.chmod(0o600)
    return file


def test_a_patient_has_one_surrogate_in_all_lines_of_a_patient_id(tmp_path, key_file):
    text = "Ms. Quellwright seen 3/14/2024."
    file = tmp_path / "notes.jsonl"
    lines = [
        {"id": n, "text": text, "patient": PATIENT, "patient_id": patient}
        for n, patient in enumerate("aab")
    ]
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))

    done = phistream("--policy", "surrogate", "--key-file", key_file, file)

    first, second, other = (
        json.loads(line)["text"] for line in done.stdout.splitlines()
    )
    assert first == second != other
    assert not {"Quellwright", "3/14/2024", "[NAME:PATIENT]"} & set(first.split())


def test_a_note_type_chooses_styles(tmp_path):
    policy = tmp_path / "own.toml"
    policy.write_text('name="a"\ndefault="tag"\n[note_type.x.labels]\nDATE="mask"\n')
    file = tmp_path / "notes.jsonl"
    lines = [{"id": t, "text": "On 3/14/2024.", "note_type": t} for t in "xy"]
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))

    done = phistream("--policy", policy, file)

    texts = [json.loads(line)["text"] for line in done.stdout.splitlines()]
    assert texts == ["On */**/****.", "On [DATE]."]


@pytest.mark.parametrize(
    ("key", "says"),
    [
        (None, "policy 'surrogate': needs a key"),
        ("short", "--key-file: holds less than 32 bytes"),
        ("", "--key-file: can't be read"),
    ],
)
def test_a_policy_without_its_key_refuses_to_start(notes, tmp_path, key, says):
    file = tmp_path / "its.key"
    if key:
        file.write_text(key)
        file.chmod(0o600)
    option = () if key is None else ("--key-file", file)

    done = phistream("--policy", "surrogate", *option, notes)

    assert done.returncode == 78
    assert says in done.stderr.decode().replace("\n", " ")
    assert done.stdout == b""


def test_json_on_standard_input_is_not_taken_for_text(notes):
    done = phistream("-", stdin=notes.read_bytes())

    assert (0, phistream(notes).stdout) == (done.returncode, done.stdout)
    assert len(done.stdout.splitlines()) == 3


def test_a_missing_file_is_one_line(tmp_path):
    done = phistream(tmp_path / "none.txt")

    assert done.returncode == 66
    assert b"check the path" in done.stderr
    assert b"Traceback" not in done.stderr
