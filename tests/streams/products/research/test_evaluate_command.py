"""`phistream evaluate`: tables, files, and what it refuses."""

from __future__ import annotations

import json
import re

import pytest

from tests import commands

TEXTS = [
    ("Seen on 3/14/2024 by Zorblat.", [(8, 17, "DATE"), (21, 28, "DOCTOR")]),
    ("No identifier at all here.", []),
    ("Call (312) 555-0147 today.", [(5, 19, "PHONE")]),
    ("Seen again on 4/15/2024.", [(14, 23, "DATE")]),
]


def phistream(*arguments):
    return commands.phistream("evaluate", *arguments, text=True)


@pytest.fixture(scope="module")
def preset(tmp_path_factory):
    """A preset of rules alone, so that no word list decides these tests."""
    file = tmp_path_factory.mktemp("presets") / "rules.toml"
    file.write_text('name = "rules"\ndetectors = ["rules"]\n')
    return file


@pytest.fixture
def corpus(tmp_path):
    return written(tmp_path / "own.jsonl")


def written(file, rows=1):
    file.parent.mkdir(parents=True, exist_ok=True)
    notes = [
        {
            "id": f"n{at}",
            "text": text,
            "spans": [{"start": s, "end": e, "label": label} for s, e, label in spans],
        }
        for at, (text, spans) in enumerate(TEXTS * rows)
    ]
    file.write_text("".join(json.dumps(note) + "\n" for note in notes))
    return file


def test_tables_json_and_markdown_tell_the_same_figures_and_no_text(
    tmp_path, corpus, preset
):
    out, page = tmp_path / "out.json", tmp_path / "out.md"

    done = phistream(
        "--corpus", corpus, "--preset", preset, "--json", out, "--markdown", page
    )

    assert done.returncode == 0, done.stderr
    assert "own all 1-4, 4 documents" in done.stdout
    assert re.search(r"recall +│ +0\.7500 │", done.stdout)
    [result] = json.loads(out.read_text())
    recall = result["scores"]["coverage"][0]
    assert (
        recall["measure"],
        recall["part"],
        recall["whole"],
        recall["value"],
    ) == ("recall", 3, 4, 0.75)
    assert recall["low"] <= 0.75 <= recall["high"]
    assert "| recall | 0.7500 |" in page.read_text()
    for told in (done.stdout, done.stderr, out.read_text(), page.read_text()):
        assert "Zorblat" not in told


def test_errors_are_printed_only_when_asked(corpus, preset):
    done = phistream("--corpus", corpus, "--preset", preset, "--errors", 5)

    assert re.search(r"missed DOCTOR +n0 \[21, 28\): .*«Zorblat»", done.stdout)


def test_errors_on_held_out_rows_are_refused(tmp_path, preset):
    file = written(tmp_path / "aci-bench" / "notes.jsonl", rows=11)
    file.write_text(file.read_text().replace("PHONE", "DATE"))

    done = phistream(
        "--corpus", file, "--preset", preset, "--rows", "43-44", "--errors", 1
    )

    assert done.returncode == 2
    assert "Zorblat" not in done.stdout + done.stderr


def test_the_part_and_the_case_are_in_the_title(corpus, preset):
    done = phistream(
        *("--corpus", corpus, "--preset", preset, "--part", "test", "--case", "upper")
    )

    assert "own test 3-4, upper case, 2 documents" in done.stdout


MARKED = """=== a1 | ward
# record: {"names": [{"family": "Zorblat", "given": "Ann"}]}
[[PATIENT|Zorblat]] seen on [[DATE|3/14/2024]].

=== a2 | ward
Slept well, no complaints.
"""


@pytest.fixture
def dense(tmp_path):
    file = tmp_path / "dense-notes" / "ward.txt"
    file.parent.mkdir()
    file.write_text(MARKED)
    return file


def test_brief_tables_have_a_row_for_each_corpus_and_case(
    tmp_path, corpus, dense, preset
):
    page = tmp_path / "out.md"

    done = phistream(
        *("--corpus", corpus, "--corpus", dense, "--preset", preset, "--case", "all"),
        *("--brief", "--markdown", page),
    )

    assert done.returncode == 0, done.stderr
    told = page.read_text()
    assert "| own all 1-4 | 4 | 0.7500 | 0.00 | 1.0000 of 1 |" in told
    assert (
        "| dense-notes/ward all 1-2, upper case | 2 | 0.5000 | 0.00 | 1.0000 of 1"
        in told
    )
    assert len(re.findall("(?m)^[|] .*all 1-[24].*[|] 0.[57]", told)) == 6
    # Tags, where they are finer than labels; labels elsewhere.
    assert re.search("(?m)^[|] PATIENT .*[|] - [|] 0.00 of 1", told)
    assert re.search("(?m)^[|] CONTACT:PHONE [|] 1.00 of 1", told)
    assert "spans and tokens" not in done.stdout


def test_the_record_beside_a_note_is_given_only_when_asked(tmp_path, dense):
    found = {}
    preset = tmp_path / "known.toml"
    preset.write_text('name = "known"\ndetectors = ["rules", "known"]\n')
    for options in ([], ["--records"]):
        out = tmp_path / "out.json"
        done = phistream("--corpus", dense, "--preset", preset, "--json", out, *options)
        assert done.returncode == 0, done.stderr
        [result] = json.loads(out.read_text())
        found[len(options)] = result["scores"]["coverage"][0]["part"]

    assert found == {0: 1, 1: 2}


def test_a_brief_comparison_is_refused(corpus, preset):
    done = phistream(
        "--corpus", corpus, "--preset", preset, "--against", preset, "--brief"
    )

    assert done.returncode == 2


def test_two_presets_are_compared_with_a_p_value(tmp_path, corpus, preset):
    out = tmp_path / "out.json"

    done = phistream(
        *("--corpus", corpus, "--preset", preset, "--against", preset, "--json", out)
    )

    assert done.returncode == 0, done.stderr
    assert "approximate randomisation" in done.stdout
    [result] = json.loads(out.read_text())
    assert {each["p"] for each in result["differences"]} == {1.0}


def test_predictions_are_written_for_other_scorers(tmp_path, corpus, preset):
    done = phistream(
        *("--corpus", corpus, "--preset", preset, "--write-brat", tmp_path / "out")
    )

    assert done.returncode == 0, done.stderr
    assert (tmp_path / "out/n0.ann").read_text() == "T1\tDATE 8 17\t3/14/2024\n"


@pytest.mark.parametrize(
    ("options", "status", "words"),
    [
        (("--rows", "3-2"), 78, "the last is before the first"),
        (("--tags-of", "nobody"), 78, "corpus 'nobody' is unknown"),
        (("--preset", "nothing"), 78, "'nothing' is unknown"),
        (("--part", "most"), 2, "most"),
    ],
)
def test_what_is_not_known_is_refused_and_named(corpus, options, status, words):
    done = phistream("--corpus", corpus, *options)

    assert status == done.returncode
    assert words in done.stderr


def test_a_corpus_that_is_not_there_is_named(tmp_path):
    done = phistream("--corpus", tmp_path / "none.jsonl")

    assert done.returncode == 66
    assert "none.jsonl" in done.stderr
