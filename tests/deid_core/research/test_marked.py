"""Notes with marks in the text: offsets, records, errors that quote nothing."""

from __future__ import annotations

from datetime import date

import pytest

from deid_core import ConfigError, KnownId, Label, PersonName
from deid_core.document import Address
from deid_core.research.corpora.marked import marked_text
from deid_core.research.corpora.readers import read_corpus

NOTES = """\
=== a1 | ward round, surgery
# record: {"names": [{"family": "Roe", "given": "Jane", "former": "Doe"}], \
"birth_date": "1950-02-03", "mrn": "44-10", "other_ids": ["K7"], \
"phones": ["555 0100"], \
"address": {"line": "1 Elm St", "city": "Ava", "state": null, "zip": "12345"}, \
"kin": [{"name": "Tom Roe", "relation": "son", "phone": "555 0101"}], \
"providers": ["Ann B. Poe"]}
Pt [[PATIENT|Roe]] of [[STATE|Ohio]], seen [[DATE|3/4]].

Son [[KIN|Tom]], [[PROFESSION|smith]], since [[YEAR|1999]].

=== a2 | letter
Nothing here.
"""


@pytest.fixture
def written(tmp_path):
    def write(text):
        folder = tmp_path / "dense-notes"
        folder.mkdir(exist_ok=True)
        file = folder / "notes.txt"
        file.write_text(text, "utf-8")
        return file

    return write


def test_marks_become_spans_of_the_text_without_them(written):
    first, second = read_corpus(written(NOTES)).documents

    assert first.text.startswith("Pt Roe of Ohio, seen 3/4.\n\nSon Tom, smith, since")
    values = [(g.tag, first.text[g.span.start : g.span.end]) for g in first.spans]
    assert values == [
        ("PATIENT", "Roe"),
        ("STATE", "Ohio"),
        ("DATE", "3/4"),
        ("KIN", "Tom"),
        ("PROFESSION", "smith"),
        ("YEAR", "1999"),
    ]
    assert first.spans[3].label is Label.PATIENT
    assert (second.text, second.spans) == ("Nothing here.", ())
    assert (first.note_type, second.note_type) == ("ward round, surgery", "letter")


def test_the_record_is_what_detectors_know(written):
    known = read_corpus(written(NOTES)).documents[0].known

    assert known.patient_names == (PersonName("Roe", "Jane"), PersonName("Doe", "Jane"))
    assert known.kin_names == (PersonName("Roe", "Tom"),)
    assert known.provider_names == (PersonName("Poe", "Ann B."),)
    assert known.birth_dates == (date(1950, 2, 3),)
    assert known.addresses == (Address("1 Elm St", "", "Ava", "", "12345"),)
    assert known.phones == ("555 0100", "555 0101")
    assert known.ids == (
        KnownId("44-10", Label.MEDICALRECORD),
        KnownId("K7", Label.IDNUM),
    )


def test_a_folder_is_read_file_by_file(written):
    file = written(NOTES)
    file.with_name("others.txt").write_text("=== b1 | letter\nMore.\n", "utf-8")

    assert [each.id for each in read_corpus(file.parent).documents] == [
        "a1",
        "a2",
        "b1",
    ]


def test_what_is_written_reads_the_same(written):
    documents = read_corpus(written(NOTES)).documents

    again = read_corpus(written("\n".join(map(marked_text, documents)))).documents

    assert [(d.text, d.spans) for d in again] == [(d.text, d.spans) for d in documents]


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ("=== a1\nMary\n", ":1: "),
        ("=== a1 | n\nMary [[PATIENT|Roe] went\n", ":1: "),
        ('=== a1 | n\n# record: {"names": "Mary"}\nx\n', "record names"),
        ('=== a1 | n\n# record: {"ward": 1}\nx\n', "record ward: extra"),
    ],
)
def test_an_error_names_the_place_and_quotes_no_text(written, text, where):
    with pytest.raises(ConfigError) as error:
        read_corpus(written(text))

    assert where in str(error.value)
    assert "Roe" not in str(error.value)


def test_scoring_leaves_states_years_and_professions_aside(written):
    corpus = read_corpus(written(NOTES))

    assert corpus.conventions.neutral == {"STATE", "COUNTRY", "PROFESSION"}
    assert corpus.documents[0].spans[5].label is None
