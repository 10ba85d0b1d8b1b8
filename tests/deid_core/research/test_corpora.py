"""Corpora in: formats, tags, parts, letter case; predictions out as brat."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deid_core import ConfigError, Document, KnownIdentifiers, Label, ResidueFound, Span
from deid_core.research.corpora.conventions import Rows, conventions_for
from deid_core.research.corpora.corpus import CASES, GoldDocument, in_case
from deid_core.research.corpora.readers import occurrences, read_corpus
from deid_core.research.corpora.writers import write_brat
from deid_core.research.scoring.errors import errors_in_context
from deid_core.research.scoring.evaluation import evaluate
from deid_core.research.scoring.predict import predict
from deid_core.research.scoring.tables import tables_of
from tests.deid_core.research.scoring_cases import (
    PATIENT,
    PLAIN,
    corpus_of,
    gold,
    perfect,
    say,
)

KNOWN = [
    "aci-bench",
    "mtsamples",
    "asq-phi",
    "meddocan",
    "synthea",
    "presidio-research",
]
ROWS = [
    {
        "id": f"n{at}",
        "text": "Ann 3 May",
        "spans": [{"start": 0, "end": 3, "label": tag}],
    }
    for at, tag in enumerate(["PATIENT", "NAME:PATIENT", "PATIENT"])
]


def lines(folder, rows, name="notes.jsonl"):
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / name
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return file


def test_spans_are_read_with_our_labels_and_sorted_by_position(tmp_path):
    row = {
        "id": 7,
        "text": "Ann 3 May Foley",
        "spans": [
            {"start": 4, "end": 9, "label": "DATE"},
            {"start": 0, "end": 3, "label": "PATIENT"},
        ],
        "decoys": [{"start": 10, "end": 15, "text": "Foley"}],
    }

    [document] = read_corpus(lines(tmp_path, [row])).documents

    assert document.id == "7"
    assert [(each.span, each.tag, each.label) for each in document.spans] == [
        (Span(0, 3), "PATIENT", PATIENT),
        (Span(4, 9), "DATE", Label.DATE),
    ]
    assert document.decoys == (Span(10, 15),)


def test_an_asq_value_stands_wherever_it_occurs_as_a_word(tmp_path):
    row = {
        "id": "q",
        "text": "Ann and Anna, Ann.",
        "tags": [
            {"identifier_type": "NAME", "value": "Ann"},
            {"identifier_type": "NAME", "value": "Ann"},
            {"identifier_type": "NAME", "value": "Anna"},
        ],
    }

    file = lines(tmp_path / "asq-phi", [row], "queries.jsonl")
    [document] = read_corpus(file).documents

    assert [(each.span.start, each.value) for each in document.spans] == [
        (0, 0),
        (8, 1),
        (14, 0),
    ]


def test_a_value_that_never_stands_alone_is_sought_inside_words():
    assert occurrences("x12y", "12") == [Span(1, 3)]
    assert occurrences("x12y", "13") == []
    assert occurrences("x12y", "") == []


def test_brat_offsets_are_characters_and_line_ends_count(tmp_path):
    (tmp_path / "b.txt").write_bytes("Señora\r\nÁlvarez".encode())
    (tmp_path / "b.ann").write_text("T1\tPATIENT 8 15\tÁlvarez\n#1\tnote T1\tx\n")
    (tmp_path / "a.txt").write_text("none")
    (tmp_path / "a.ann").write_text("")

    documents = read_corpus(tmp_path).documents

    assert [each.id for each in documents] == ["a", "b"]
    assert [each.span for each in documents[1].spans] == [Span(8, 15)]


def test_the_pieces_of_a_brat_mark_are_one_value(tmp_path):
    (tmp_path / "a.txt").write_text("Ann X Lee")
    (tmp_path / "a.ann").write_text("T1\tPATIENT 0 3;6 9\tAnn Lee\n")

    [document] = read_corpus(tmp_path).documents

    assert [(each.span, each.value) for each in document.spans] == [
        (Span(0, 3), 0),
        (Span(6, 9), 0),
    ]


def test_brat_offsets_that_do_not_fit_the_text_are_refused(tmp_path):
    (tmp_path / "a.txt").write_text("Ann Secret")
    (tmp_path / "a.ann").write_text("T1\tPATIENT 1 4\tAnn\n")

    with pytest.raises(ConfigError, match=r"a\.ann:1: its text is not") as error:
        read_corpus(tmp_path)
    assert "Ann" not in str(error.value)


@pytest.mark.parametrize(
    "broken",
    [
        "{",
        '{"id": "secret"}',
        '{"id": "a", "text": "secret"}',
        '{"id": null, "text": "secret", "spans": []}',
        '{"id": true, "text": "secret", "spans": []}',
        '{"id": "a", "text": "secret", "spans": [{"start": 2}]}',
        *(
            json.dumps({"id": "a", "text": "secret", "spans": [span]})
            for span in (
                {"start": 2, "end": 99, "label": "DATE"},
                {"start": 2, "end": 2, "label": "DATE"},
            )
        ),
    ],
)
def test_a_broken_line_is_named_by_file_and_number_and_not_quoted(tmp_path, broken):
    file = lines(tmp_path, ROWS[:1])
    file.write_text(file.read_text() + broken + "\n")

    with pytest.raises(ConfigError, match=r"notes\.jsonl:2") as error:
        read_corpus(file)
    assert "secret" not in str(error.value)


def test_what_is_not_there_or_empty_is_refused(tmp_path):
    for path in (tmp_path / "none.jsonl", lines(tmp_path, []), tmp_path / "folder"):
        with pytest.raises(ConfigError):
            read_corpus(path)


def test_an_unknown_tag_is_refused_and_the_known_ones_named(tmp_path):
    rows = [{"id": 1, "text": "Ann", "spans": [{"start": 0, "end": 3, "label": "WHO"}]}]

    with pytest.raises(ConfigError, match=r"tag 'WHO' is unknown; known: .*PATIENT"):
        read_corpus(lines(tmp_path, rows))


def test_no_repr_shows_text(tmp_path):
    corpus = read_corpus(lines(tmp_path, ROWS))

    assert "Ann" not in repr(corpus)


# Conventions


@pytest.mark.parametrize("name", KNOWN)
def test_every_tag_of_a_corpus_is_scored_as_a_label_that_folds_to_itself(name):
    spoken = conventions_for(Path("x"), name)

    for tag in spoken.tags:
        label = spoken.label_of(tag)
        assert label is None or label == spoken.map_label(label)
        for allowed in spoken.tags[tag][1:]:
            assert allowed == spoken.map_label(allowed) or spoken.map_label(
                allowed
            ) in {labels[0] for labels in spoken.tags.values() if labels}


@pytest.mark.parametrize("name", KNOWN)
def test_neutral_tags_are_tags_of_the_corpus(name):
    spoken = conventions_for(Path("x"), name)

    assert spoken.neutral <= spoken.tags.keys()


def test_the_path_says_whose_conventions_hold():
    assert conventions_for(Path("/data/aci-bench/notes.jsonl")).name == "aci-bench"
    assert conventions_for(Path("/data/meddocan/dev")).name == "meddocan"
    assert conventions_for(Path("/data/own.jsonl")).name == "plain"
    assert conventions_for(Path("/data/own.jsonl"), "asq-phi").name == "asq-phi"


def test_an_unknown_corpus_is_refused_and_the_known_ones_named():
    with pytest.raises(ConfigError, match="known: plain, aci-bench"):
        conventions_for(Path("x"), "i2b2-1999")


def test_a_label_without_a_tag_keeps_its_own_name():
    spoken = conventions_for(Path("x"), "mtsamples")

    assert spoken.map_label(Label.SSN) == Label.SSN
    assert spoken.tag_of(Label.SSN) == "ID:SSN"
    assert spoken.tag_of(Label.DOCTOR) == "PERSON"


# Parts


@pytest.mark.parametrize(
    ("name", "count", "dev", "test"),
    [
        ("aci-bench", 87, (1, 43), (44, 87)),
        ("mtsamples", 239, (1, 120), (121, 239)),
        ("asq-phi", 526, (1, 263), (264, 526)),
        ("plain", 10, (1, 5), (6, 10)),
        ("plain", 11, (1, 6), (7, 11)),
    ],
)
def test_parts_are_rows_of_the_file_and_never_overlap(name, count, dev, test):
    spoken = conventions_for(Path("x"), name)
    rows = {part: spoken.rows(part, count).of(count) for part in ("dev", "test", "all")}

    assert range(dev[0] - 1, dev[1]) == rows["dev"]
    assert range(test[0] - 1, test[1]) == rows["test"]
    assert [*rows["all"]] == [*rows["dev"], *rows["test"]]


def test_a_part_that_a_corpus_does_not_have_is_refused():
    with pytest.raises(ConfigError, match="part 'test' is unknown; known: dev, all"):
        conventions_for(Path("x"), "meddocan").rows("test", 10)


@pytest.mark.parametrize("rows", ["0-3", "3-2", "a", "", "-3", "3--", "1-2-3", "1 - 2"])
def test_rows_that_are_none_are_refused(rows):
    with pytest.raises(ConfigError, match="rows"):
        Rows.parse(rows)


def test_rows_are_counted_from_one_and_both_ends_belong_to_them(tmp_path):
    file = lines(tmp_path, ROWS)

    assert [
        each.id for each in read_corpus(file, rows=Rows.parse("2-3")).documents
    ] == ["n1", "n2"]
    assert [d.id for d in read_corpus(file, rows=Rows.parse("2")).documents] == ["n1"]
    assert read_corpus(file, rows=Rows.parse("2-")).part == "rows 2-3"
    with pytest.raises(ConfigError, match="3 documents, none"):
        read_corpus(file, rows=Rows.parse("4-"))


def test_rows_of_a_named_test_part_are_held_out_however_they_are_asked_for(tmp_path):
    rows = [{**row, "spans": []} for row in ROWS] * 20
    file = lines(tmp_path / "aci-bench", rows)

    held = {
        asked: read_corpus(file, rows=Rows.parse(asked)).is_held_out
        for asked in ("1-43", "40-44", "44-")
    }

    assert held == {"1-43": False, "40-44": True, "44-": True}
    assert read_corpus(file, part="all").is_held_out
    assert not read_corpus(file, part="dev").is_held_out
    assert not read_corpus(lines(tmp_path, ROWS), part="all").is_held_out


# Letter case


@given(st.text(), st.sampled_from(sorted(CASES)))
def test_another_case_keeps_every_offset(text, case):
    changed = CASES[case](text)

    assert len(text) == len(changed)
    assert all(
        new in (old, old.upper(), old.lower())
        for old, new in zip(text, changed, strict=True)
    )


def test_a_letter_that_would_become_two_stays():
    assert CASES["upper"]("Straße") == "STRAßE"
    document = gold("«Ann|PATIENT» ok", PLAIN)
    corpus = in_case(corpus_of(document, conventions=PLAIN), "upper")

    assert corpus.documents[0].text == "ANN OK"
    assert document.spans == corpus.documents[0].spans


# Predictions


class Refusing:
    """A system that refuses what holds an exclamation mark."""

    def deidentify_batch(self, documents):
        assert all(isinstance(each, Document) for each in documents)
        return [self._one(each) for each in documents]

    def _one(self, document):
        if "!" in document.text:
            return ResidueFound("a value is left")
        return say(document.text)


def test_a_refused_document_finds_nothing_and_is_counted():
    documents = [gold(text, PLAIN) for text in ("fine", "bad!")] * 80

    said = list(predict(Refusing(), documents))

    assert [bool(each.refusal) for each in said] == [False, True] * 80
    assert all(not each.annotations for each in said)


def test_a_system_is_given_the_record_that_a_corpus_has():
    known = KnownIdentifiers(phones=("3125550147",))
    seen = []

    class Noting:
        def deidentify_batch(self, documents):
            seen.extend(each.known for each in documents)
            return [say(each.text) for each in documents]

    document = GoldDocument("d", "text", (), known=known)

    list(predict(Noting(), [document]))

    assert seen == [known]


def test_predictions_are_written_as_brat_that_reads_back(tmp_path):
    document = gold("Señor «Lee\nMoss|PATIENT» ok", PLAIN, id="n1")
    corpus = corpus_of(document, conventions=PLAIN)

    write_brat(corpus, [say(document.text, ("Lee\nMoss", PATIENT))], tmp_path / "out")
    [again] = read_corpus(tmp_path / "out").documents

    assert document.text == again.text
    assert [each.span for each in document.spans] == [each.span for each in again.spans]
    assert (tmp_path / "out/n1.ann").read_text() == "T1\tPATIENT 6 14\tLee Moss\n"


def test_an_id_that_leaves_the_folder_is_refused(tmp_path):
    document = gold("x", PLAIN, id="../n1")

    with pytest.raises(ConfigError, match="document 1: its id is not a file name"):
        write_brat(corpus_of(document, conventions=PLAIN), [say("x")], tmp_path)


def test_errors_are_told_with_their_context_misses_first():
    document = gold("Met «Ann|PATIENT» near a Foley", PLAIN, id="n1")
    corpus = corpus_of(document, conventions=PLAIN)

    found = list(errors_in_context(corpus, [say(document.text, ("Foley", PATIENT))]))

    assert [(each.kind, each.tag, each.inner) for each in found] == [
        ("missed", "PATIENT", "Ann"),
        ("false", "", "Foley"),
    ]
    assert found[0].before == "Met "
    assert "Ann" not in repr(found)


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
    assert corpus.documents[0].text == "\n0042 Seen by Wren & Vole,\non 3/4.\n"


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

    assert [each.id for each in corpus.documents] == ["7-1", "7-2"]


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

    assert [(each.id, each.text) for each in corpus.documents] == [
        ("a.conll-1", "Ada\nsat -x-"),
        ("a.conll-2", "fine"),
        ("b.conll.txt-1", "one"),
        ("b.conll.txt-2", "two"),
    ]


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

    assert kinds == ["Urology", ""]


def test_recall_is_told_by_kind_where_a_corpus_has_kinds():
    document = gold("«Ann|PATIENT» met «Bo|PATIENT»", PLAIN)
    first, second = document.spans
    kinds = (replaced(first, "easy", "short"), replaced(second, "short"))
    document = type(document)("d", document.text, kinds)
    corpus = corpus_of(document, conventions=PLAIN)

    result = evaluate(corpus, [say(document.text, ("Ann", PATIENT))], system="s")
    table = next(t for t in tables_of(result) if t.title.startswith("by kind"))

    assert table.rows == (("easy", "1", "1.0000"), ("short", "2", "0.5000"))


def test_without_kinds_there_is_no_such_table():
    document = gold("«Ann|PATIENT»", PLAIN)
    corpus = corpus_of(document, conventions=PLAIN)

    result = evaluate(corpus, [perfect(document, PLAIN)], system="s")

    assert not any(t.title.startswith("by kind") for t in tables_of(result))


def replaced(span, *kinds):
    return type(span)(span.span, span.tag, span.label, span.value, kinds)
