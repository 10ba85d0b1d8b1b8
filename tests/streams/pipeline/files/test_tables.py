"""Tables of notes: read by the names of their columns, written back as they were."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from deid_core import Deidentifier
from streams.engine.errors import InvalidRecord
from streams.formats import Format
from streams.formats.json_map import load_json_map
from streams.pipeline.files.rewriting import Rewriter, Tally
from streams.pipeline.files.sources import json_events_in, records_in
from streams.pipeline.publish import Pseudonyms

MAP = """
note_id = "id"
text = "body"
ignored = ["ward"]
kept = ["concept"]
pseudonyms = ["visit"]
[patient]
id = "mrn"
[demographics]
names = [{ full = "name" }]
"""
TABLE = (
    "id,mrn,name,body,ward,concept,visit\r\n"
    '1,A77,"Quellwright, Mabelle","Mabelle is well.\r\nHR 72",7E,32831,V1\r\n'
    "2,A77,,Seen: Quellwright,7E,not a number,V1\r\n"
)


@pytest.fixture(scope="module")
def system():
    return Deidentifier.from_names(preset="lexical")


@pytest.fixture
def written(system, tmp_path):
    """A function that returns a table as it is written back, or why it is refused."""
    (tmp_path / "map.toml").write_text(MAP)
    json_map = load_json_map(tmp_path / "map.toml")

    def write(text, name="notes.csv", json_map=json_map, encoding="utf-8"):
        tally = Tally()
        pieces = Rewriter(system, Pseudonyms(b"0" * 32), json_map).rewritten(
            Path(name),
            io.BytesIO(text.encode(encoding)),
            Format.TABLE,
            tally,
            is_explicit=False,
        )
        made = [*pieces]
        refused = [each for each in made if isinstance(each, InvalidRecord)]
        return refused or b"".join(made).decode(encoding), tally

    return write


def test_a_table_keeps_its_columns_line_ends_and_quotes(written):
    text, tally = written(TABLE)

    assert text.startswith("id,mrn,name,body,ward,concept,visit\r\n")
    assert '"[NAME:PATIENT] is well.\r\nHR 72"' in text
    assert "Quellwright" not in text
    assert "A77" not in text
    assert "32831" in text
    assert "not a number" not in text
    # Two names, the wards, and what is no number of a concept.
    assert tally.removed["column"] == 4


def test_ids_of_a_table_are_those_of_others(written):
    text, _ = written(TABLE)
    rows = [line for line in text.replace("\r\nHR", " HR").split("\r\n") if line]

    visits = {row.rsplit(",", 1)[1] for row in rows[1:]}
    patients = {row.split(",")[1] for row in rows[1:]}
    assert (len(visits), len(patients)) == (1, 1)
    assert visits.isdisjoint(patients)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("id,mrn,body,phone\n1,A,x,555\n", "column 4 is not in the map"),
        ("id,mrn,body,body\n1,A,x,y\n", "each column a name of its own"),
        ("id,mrn,,body\n1,A,x,y\n", "each column a name of its own"),
        ("id,mrn,body\n1,A\n", "line 2: 2 cells, and the header has 3"),
        ('id,mrn,body\n1,A,"x\n', "line 3: not in utf-8, or no table"),
        ("id,mrn,body\n,A,x\n", "note_id: empty or absent"),
        ("ZZMARKER,mrn,body\n1,A,x\n", "column 1 is not in the map"),
    ],
)
def test_a_table_that_is_none_or_has_more_than_the_map_is_refused(written, text, says):
    [refused], _ = written(text)

    assert says in refused.reason
    assert "ZZMARKER" not in refused.reason


def test_a_table_without_a_map_is_refused(written):
    [refused], _ = written(TABLE, json_map=None)

    assert "needs --map" in refused.reason


def test_tabs_capitals_and_a_mark_are_kept(written):
    text, _ = written("\ufeffID\tMRN\tBODY\n1\tA77\tSeen.\n", "NOTES.TSV")

    assert text.startswith("\ufeffID\tMRN\tBODY\n")
    assert text.endswith("\tSeen.\n")


def test_rows_are_events_for_the_map_and_the_feed(tmp_path):
    file = tmp_path / "notes.csv"
    file.write_text("id,body,ward\n1,Seen.,\n2,Well.,7E\n")
    expected = [
        {"id": "1", "body": "Seen."},
        {"id": "2", "body": "Well.", "ward": "7E"},
    ]

    for read in (json_events_in, records_in):
        assert expected == [json.loads(record.value) for record in read([file])]
