"""Corpora in other formats: i2b2's XML, PhysioNet's files, CoNLL columns."""

import json
from pathlib import Path

import pytest

from deid_core import ConfigError, Label
from deid_core.research.corpora.conventions import conventions_for
from deid_core.research.corpora.readers import read_corpus
from deid_core.research.scoring.evaluation import evaluate
from deid_core.research.scoring.tables import tables_of
from tests.deid_core.research.evaluation_cases import (
    PATIENT,
    PLAIN,
    corpus_of,
    gold,
    perfect,
    say,
)

NEW = ["i2b2-2006", "i2b2-2014", "physionet", "wikigold", "BTC", "WNUT17"]

OF_2006 = """<?xml version="1.0" encoding="UTF-8"?>
<ROOT>
<RECORD ID="1">
<TEXT>
<PHI TYPE="ID">0042</PHI> Seen by <PHI TYPE="DOCTOR">Wren &amp; Vole</PHI>,
on <PHI TYPE="DATE">3/4</PHI>.
</TEXT>
</RECORD>
<RECORD ID="2"><TEXT>Nothing.<PHI TYPE="AGE"/></TEXT></RECORD>
</ROOT>
"""
OF_2014 = """<?xml version="1.0" encoding="UTF-8" ?>
<deIdi2b2>
<TEXT><![CDATA[

Record date: 2067-05-03
Ada
Wren & co]]></TEXT>
<TAGS>
<DATE id="P0" start="15" end="25" text="2067-05-03" TYPE="DATE" comment="" />
<NAME id="P1" start="26" end="34" text="Ada Wren" TYPE="PATIENT" comment="" />
</TAGS>
</deIdi2b2>
"""
NOTES = (
    "\nSTART_OF_RECORD=7||||1||||\nPt Wren up.\nDr.  Ada Vole in.\n||||END_OF_RECORD\n"
    "\nSTART_OF_RECORD=7||||2||||\nQuiet.\n||||END_OF_RECORD\n"
    "\nSTART_OF_RECORD=8||||1||||\nUnread.\n||||END_OF_RECORD\n"
)
PHRASES = "7 1 3 7 PTName Wren\n7 1 17 25 HCPName Ada Vole\n"
READ = "Patient 7\tNote 1\n3\t3\t7\n17\t17\t25\nPatient 7\tNote 2\n"


def told(corpus):
    """Return, for each document, its id and its spans' texts and labels."""
    return [
        (
            each.id,
            [(each.text[s.span.start : s.span.end], s.label) for s in each.spans],
        )
        for each in corpus.documents
    ]


def test_the_inline_marks_of_2006_become_spans(tmp_path):
    (tmp_path / "deid.xml").write_text(OF_2006)

    corpus = read_corpus(tmp_path / "deid.xml", conventions="i2b2-2006")

    assert told(corpus) == [
        (
            "1",
            [
                ("0042", Label.IDNUM),
                ("Wren & Vole", Label.DOCTOR),
                ("3/4", Label.DATE),
            ],
        ),
        ("2", []),
    ]
    assert "\n0042 Seen by Wren & Vole,\non 3/4.\n" == corpus.documents[0].text


def test_the_stand_off_marks_of_2014_are_checked_against_the_text(tmp_path):
    (tmp_path / "220-01.xml").write_text(OF_2014)

    corpus = read_corpus(tmp_path, conventions="i2b2-2014")

    assert told(corpus) == [
        ("220-01", [("2067-05-03", Label.DATE), ("Ada\nWren", PATIENT)])
    ]


@pytest.mark.parametrize(
    ("found", "instead", "told"),
    [
        ('start="26"', 'start="27"', "tag P1: its text is not"),
        ('start="26"', 'start="x"', "tag P1: no start"),
        ("</TAGS>", "", "not XML"),
        ("TAGS>", "TIGS>", "without TEXT or TAGS"),
        ("PATIENT", "WHO", "tag 'WHO' is unknown"),
    ],
)
def test_a_broken_file_of_2014_is_named_and_not_quoted(tmp_path, found, instead, told):
    (tmp_path / "220-01.xml").write_text(OF_2014.replace(found, instead))

    with pytest.raises(ConfigError, match=told) as error:
        read_corpus(tmp_path, conventions="i2b2-2014")
    assert "Wren" not in str(error.value)


def test_physionet_offsets_count_from_after_the_notes_first_line(tmp_path):
    (tmp_path / "id.text").write_text(NOTES)
    (tmp_path / "id-phi.phrase").write_text(PHRASES)

    corpus = read_corpus(tmp_path, conventions="physionet")

    assert told(corpus) == [
        ("7-1", [("Wren", PATIENT), ("Ada Vole", Label.DOCTOR)]),
        ("7-2", []),
        ("8-1", []),
    ]


def test_physionet_notes_that_nobody_read_are_left_out(tmp_path):
    (tmp_path / "id.text").write_text(NOTES)
    (tmp_path / "id-phi.phrase").write_text(PHRASES)
    (tmp_path / "id.deid").write_text(READ)

    corpus = read_corpus(tmp_path, conventions="physionet")

    assert ["7-1", "7-2"] == [each.id for each in corpus.documents]


@pytest.mark.parametrize(
    ("phrases", "told"),
    [
        ("7 1 4 8 PTName Wren", "phrase:1: its phrase"),
        ("7 1 PTName", "phrase:1: not PATIENT"),
        ("7 9 3 7 PTName Wren", "phrase:1: names no note"),
        ("7 1 3 7 Who Wren", "tag 'Who' is unknown"),
    ],
)
def test_a_wrong_phrase_is_named_by_its_line_and_not_quoted(tmp_path, phrases, told):
    (tmp_path / "id.text").write_text(NOTES)
    (tmp_path / "id-phi.phrase").write_text(phrases)

    with pytest.raises(ConfigError, match=told) as error:
        read_corpus(tmp_path, conventions="physionet")
    assert "Wren" not in str(error.value)


@pytest.mark.parametrize(
    ("rows", "spans"),
    [
        ("Ada I-PER\nWren I-PER\nsat O\n", ["Ada Wren"]),
        ("Ada I-PER\nWren B-PER\nsat O\n", ["Ada", "Wren"]),
        ("Ada B-PER\nWren I-PER\n", ["Ada Wren"]),
        ("Ada B-PER\nWren I-LOC\n", ["Ada", "Wren"]),
        ("Ada B-PER\nde I-PER\nWren E-PER\nVole S-PER\n", ["Ada de Wren", "Vole"]),
        ("Ada NNP x B-PER\nsat\tVB\ty\tO\n", ["Ada"]),
        ("Ada B-PER\n\nWren I-PER\n", ["Ada", "Wren"]),
        ("\tO\n \tO\nAda\tB-PER\n", ["Ada"]),
        ("", []),
    ],
)
def test_columns_begin_and_continue_spans(tmp_path, rows, spans):
    (tmp_path / "a.conll").write_text(f"-DOCSTART- O\n\n{rows}\nend O\n")

    [document] = read_corpus(tmp_path / "a.conll", conventions="BTC").documents

    found = [document.text[s.span.start : s.span.end] for s in document.spans]
    assert spans == found


def test_documents_begin_at_their_sign_or_with_each_sentence(tmp_path):
    (tmp_path / "a.conll").write_text(
        "-DOCSTART- O\nAda I-PER\n\nsat O\n-x- O\n\n-DOCSTART- -X- O\n\nfine O\n"
    )
    (tmp_path / "b.conll.txt").write_text("one O\n\n\ntwo O")

    corpus = read_corpus(tmp_path, conventions="wikigold")

    assert [
        ("a.conll-1", "Ada\nsat -x-"),
        ("a.conll-2", "fine"),
        ("b.conll.txt-1", "one"),
        ("b.conll.txt-2", "two"),
    ] == [(each.id, each.text) for each in corpus.documents]


@pytest.mark.parametrize("row", ["Secret", "Secret B", "Secret B-", "Secret X-PER"])
def test_a_row_without_a_tag_is_named_and_not_quoted(tmp_path, row):
    (tmp_path / "a.conll").write_text(f"fine O\n{row}\n")

    with pytest.raises(ConfigError, match=r"a\.conll:2: its last column") as error:
        read_corpus(tmp_path / "a.conll", conventions="BTC")
    assert "Secret" not in str(error.value)


@pytest.mark.parametrize("name", NEW)
def test_every_tag_of_a_new_corpus_is_scored_as_a_label_that_folds_to_itself(name):
    spoken = conventions_for(Path("x"), name)

    assert spoken.neutral <= spoken.tags.keys()
    for tag in spoken.tags:
        label = spoken.label_of(tag)
        assert label is None or label == spoken.map_label(label)


@pytest.mark.parametrize("key", ["note_type", "specialty", "section"])
def test_the_kind_of_note_is_kept_where_a_line_says_it(tmp_path, key):
    file = tmp_path / "notes.jsonl"
    file.write_text(
        json.dumps({"id": "a", "text": "x", "spans": [], key: "Urology"})
        + "\n"
        + json.dumps({"id": "b", "text": "x", "spans": []})
    )

    kinds = [each.note_type for each in read_corpus(file).documents]

    assert ["Urology", ""] == kinds


def test_recall_is_told_by_kind_where_a_corpus_has_kinds():
    document = gold("«Ann|PATIENT» met «Bo|PATIENT»", PLAIN)
    first, second = document.spans
    kinds = (replaced(first, "easy", "short"), replaced(second, "short"))
    document = type(document)("d", document.text, kinds)
    corpus = corpus_of(document, conventions=PLAIN)

    result = evaluate(corpus, [say(document.text, ("Ann", PATIENT))], system="s")
    table = next(t for t in tables_of(result) if t.title.startswith("by kind"))

    assert (("easy", "1", "1.0000"), ("short", "2", "0.5000")) == table.rows


def test_without_kinds_there_is_no_such_table():
    document = gold("«Ann|PATIENT»", PLAIN)
    corpus = corpus_of(document, conventions=PLAIN)

    result = evaluate(corpus, [perfect(document, PLAIN)], system="s")

    assert not any(t.title.startswith("by kind") for t in tables_of(result))


def replaced(span, *kinds):
    return type(span)(span.span, span.tag, span.label, span.value, kinds)
