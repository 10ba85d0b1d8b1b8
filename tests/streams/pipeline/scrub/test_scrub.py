"""Scrub's processor with the real library and a table in memory."""

from __future__ import annotations

from dataclasses import replace
from datetime import date

import orjson
import pytest

from deid_core import Deidentifier, Document
from deid_core.config import OtherLanguages, load_preset
from deid_core.policy import load_policy
from streams.engine.errors import ConfigError, InvalidRecord
from streams.engine.keys.ring import PseudonymKeys
from streams.engine.records import Partition, Record
from streams.kafka.partitioner import partition_of
from streams.kafka.topics import (
    DEAD_LETTERS,
    NOTES,
    NOTES_SCRUBBED,
    PATIENT_UPDATES,
    PATIENTS,
    PHI_AUDIT,
)
from streams.kafka.wire_format import InputFormat, header
from streams.model.notes import ClinicalNote
from streams.model.patients.demographics import (
    Demographics,
    Name,
    PatientId,
    PatientRecord,
)
from streams.model.patients.updates import PatientUpdate, decode_update
from streams.pipeline.publish import Pseudonyms
from streams.pipeline.scrub.held import UnknownPatients
from streams.pipeline.scrub.outputs import ScrubOutputs
from streams.pipeline.scrub.processor import Scrub
from tests.office import OFFICE
from tests.tables import MemoryTable

PATIENT = PatientId("N", "4711-77")
PLACE = partition_of(PATIENT.key, 4)
KNOWN = PatientRecord(PATIENT, "", Demographics(names=(Name("Quellwright", "Mabel"),)))


ROW = orjson.dumps(PATIENTS.schema.versioned(KNOWN.to_json()))


@pytest.fixture
def table():
    return MemoryTable()


@pytest.fixture
def scrub(table, hybrid):
    return scrub_made_by(lambda: hybrid, table)


def scrub_made_by(make, table, wire_format=None):
    scrub = Scrub(
        make,
        table,
        MemoryTable(),
        UnknownPatients(),
        ScrubOutputs(
            PseudonymKeys.of(b"k" * 32), preset="hybrid", policy="safe-harbor"
        ),
        4,
        office=OFFICE,
        max_bytes=10_000,
        wire_format=wire_format,
        clock=lambda: 2000.0,
    )
    scrub.settled(range(4))
    return scrub


def scrub_with(system, table, pseudonyms):
    return Scrub(
        lambda: system,
        table,
        MemoryTable(),
        UnknownPatients(),
        ScrubOutputs(
            PseudonymKeys.of(pseudonyms.key), preset="hybrid", policy="surrogate"
        ),
        4,
        office=OFFICE,
        max_bytes=10_000,
    )


def record(
    text,
    *,
    patient=PATIENT,
    note_type="",
    written_at="",
    key=None,
    partition=None,
    offset=0,
):
    note = ClinicalNote("n1", patient, note_type, written_at, text)
    key = patient.key if key is None else key
    at = partition_of(key, 4) if partition is None else partition
    value = orjson.dumps(NOTES.schema.versioned(note.to_json()))
    return Record(Partition("notes", at), offset, key, value)


def test_audit_and_offsets_are_of_the_note_where_characters_are_invisible(scrub, table):
    table.rows[PLACE][PATIENT.key] = ROW
    text = "na\u0308ive M\u200br. Quell\u00adwright is well."

    [(note, audit)] = scrub.process([record(text)])

    [found] = orjson.loads(audit.value)["annotations"]
    assert text[found["start"] : found["end"]] == "Quell\u00adwright"
    published = orjson.loads(note.value)
    assert published["text"] == "na\u0308ive M\u200br. [NAME:PATIENT] is well."
    assert published["offsets"] == [[12, 24, 12, 26]]


def test_gives_the_scrubbed_note_and_its_audit_event(scrub, table):
    table.rows[PLACE][PATIENT.key] = ROW

    [(note, audit)] = scrub.process([record("Mabel Quellwrigth is well.")])

    assert (NOTES_SCRUBBED.name, PHI_AUDIT.name) == (note.topic, audit.topic)
    assert orjson.loads(note.value)["text"] == "[NAME:PATIENT] is well."
    assert note.key == audit.key == Pseudonyms(b"k" * 32).patient(PATIENT.key).encode()
    assert audit.headers["outputs"] == b"1"


def test_an_update_may_have_the_wire_format_with_an_id_that_is_known(table, hybrid):
    known = InputFormat(lambda schema_id: schema_id == 7)
    patient = {"assigning_authority": PATIENT.assigning_authority, "id": PATIENT.id}
    update = orjson.dumps({"patient": patient, "demographics": {}})
    place = Partition("patient.updates", partition_of(PATIENT.key, 4))

    def outcome(value, wire_format=known):
        scrub = scrub_made_by(lambda: hybrid, table, wire_format)
        return scrub.process([Record(place, 1, PATIENT.key, value)])[0]

    assert outcome(update) == outcome(header(7) + update)
    assert not isinstance(outcome(update), InvalidRecord)
    for refused in (
        outcome(header(8) + update),
        outcome(header(7)),
        outcome(header(7) + update, None),
    ):
        assert refused.code == "unsupported"


def test_a_note_of_a_later_version_of_phistream_waits_for_one_that_reads_it(scrub):
    """Neither a dead letter nor anything less: a downgrade loses nothing."""
    given = record("Well.")
    value = orjson.dumps(orjson.loads(given.value) | {"schema_version": 2})

    with pytest.raises(ConfigError, match="notes: a later version of phistream"):
        scrub.process([replace(given, value=value)])


def test_a_note_that_gives_a_name_twice_is_a_dead_letter(scrub):
    """Which of the texts was meant?"""
    begin = b'{"schema_version":1,"text":"Well.",'
    value = record("Well.").value.replace(b'{"schema_version":1,', begin)
    assert value.startswith(begin)

    [refused] = scrub.process([replace(record("Well."), value=value)])

    assert refused.code == "schema"
    assert "gives a name twice" in str(refused)


def test_notes_are_not_scrubbed_with_less_than_a_later_version_knows(scrub, table):
    row = orjson.loads(ROW) | {"schema_version": 2, "pets": ["Bello"]}
    table.rows[PLACE][PATIENT.key] = orjson.dumps(row)

    with pytest.raises(ConfigError, match="patients: a later version of phistream"):
        scrub.process([record("Bello is well.")])


def test_a_table_with_rows_of_another_number_of_partitions_is_refused(hybrid):
    right, wrong = MemoryTable(), MemoryTable()
    right.rows[PLACE][PATIENT.key] = ROW
    wrong.rows[(PLACE + 1) % 4][PATIENT.key] = ROW
    scrub_made_by(lambda: hybrid, right)

    with pytest.raises(ConfigError, match="partitions were added"):
        scrub_made_by(lambda: hybrid, wrong)


def update(family, *, patient=PATIENT, merged=(), offset=0, day=1, value=b""):
    time = f"2024-01-{day:02}T00:00:00"
    known = Demographics(names=(Name(family),))
    said = PatientUpdate(PatientRecord(patient, time, known, merged=tuple(merged)))
    value = value or orjson.dumps(PATIENT_UPDATES.schema.versioned(said.to_json()))
    at = Partition(PATIENT_UPDATES.name, partition_of(patient.key, 4))
    return Record(at, offset, patient.key, value)


def commit(scrub, outcomes):
    scrub.committed({Partition(PATIENTS.name, p): 9 for p in range(4)})
    return outcomes


def test_a_note_sees_the_updates_before_it_in_the_same_batch(scrub, table):
    first, (note, _) = scrub.process([update("Quellwright"), record("Quellwright.")])

    [row] = first
    assert orjson.loads(note.value)["text"] == "[NAME:PATIENT]."
    assert (PATIENT.key, partition_of(PATIENT.key, 4)) == (row.key, row.partition)
    assert table.rows[PLACE] == {}


def test_a_row_is_in_the_table_when_its_transaction_is_committed(scrub, table):
    [[row]] = commit(scrub, scrub.process([update("Quellwright")]))

    assert table.rows[PLACE] == {PATIENT.key: row.value}
    assert table.next_offset == 9


def test_what_is_aborted_was_never_said(scrub, table):
    scrub.process([update("Quellwright")])
    scrub.aborted()
    commit(scrub, scrub.process([update("Other", day=2)]))

    known = PatientRecord.from_json(orjson.loads(table.rows[PLACE][PATIENT.key]))
    assert known.former.names == ()


def test_former_names_are_kept_and_found(scrub):
    commit(scrub, scrub.process([update("Zwergenheim"), update("Quellwright", day=2)]))

    [(note, _)] = scrub.process([record("Zwergenheim, now Quellwright.")])

    assert orjson.loads(note.value)["text"] == "[NAME:PATIENT], now [NAME:PATIENT]."


def test_an_update_that_would_make_a_row_too_large_is_refused_alone(scrub, table):
    """The broker would refuse the row again and again, until the worker gives up."""
    large = [f"{letter}{'x' * 9_000_000}" for letter in "ab"]
    commit(scrub, scrub.process([update(large[0])]))

    refused, fine, _ = scrub.process(
        [update(large[1], day=2), update("Quellwright", day=3), record("Quellwright.")]
    )

    assert refused.code == "too_large"
    [row] = fine
    commit(scrub, [])
    assert table.rows[PLACE] == {PATIENT.key: row.value}


def test_an_update_that_is_too_large_to_be_forwarded_is_refused(scrub, table):
    other = PatientId("N", "2")
    commit(scrub, scrub.process([update("Quellwright", merged=[other])]))
    before = dict(table.rows[PLACE])
    size = PATIENT_UPDATES.max_message_bytes - 4200

    [refused] = scrub.process([update("y" * size, merged=[other], day=2)])

    assert refused.code == "too_large"
    scrub.committed({})
    assert before == table.rows[PLACE]


def test_an_update_that_says_nothing_new_writes_nothing(scrub):
    commit(scrub, scrub.process([update("Quellwright")]))

    assert scrub.process([update("Quellwright", offset=1)]) == [[]]


def test_a_confirmed_record_stays_the_same_object_for_the_detectors(scrub):
    commit(scrub, scrub.process([update("Quellwright")]))
    before = scrub._join._parsed[PATIENT.key].known
    commit(scrub, scrub.process([update("Quellwright", day=2, offset=1)]))

    assert before is scrub._join._parsed[PATIENT.key].known


def test_an_update_is_forwarded_to_the_identifiers_of_the_same_patient(scrub):
    other = PatientId("N", "other")

    [outputs] = commit(scrub, scrub.process([update("Quellwright", merged=[other])]))

    [forward] = [each for each in outputs if each.topic == PATIENT_UPDATES.name]
    said = decode_update(forward.value)
    assert (other.key, None, True) == (
        forward.key,
        forward.partition,
        said.is_forwarded,
    )
    assert ((Name("Quellwright"),), (PATIENT,)) == (
        said.record.current.names,
        said.record.merged,
    )


def test_a_tombstone_erases_a_patient_from_table_changelog_and_caches(scrub, table):
    commit(scrub, scrub.process([update("Quellwright")]))
    erase = replace(update("Quellwright", offset=1), value=None)

    [[row], (note, _)] = commit(scrub, scrub.process([erase, record("Quellwright.")]))

    assert (PATIENT.key, None) == (row.key, row.value)
    assert table.rows[PLACE] == {}
    assert scrub._join._parsed == {}
    assert orjson.loads(note.value)["join"] == "missing"
    assert scrub.process([erase]) == [[]]


NEIGHBOUR = next(
    b"N|%d" % n
    for n in range(99)
    if partition_of(b"N|%d" % n, 4) == partition_of(PATIENT.key, 4)
)
"""The key of another patient of the same partition."""


@pytest.mark.parametrize(
    ("bad", "code"),
    [
        (update("Ada", value=b"{"), "bad_json"),
        (update("Ada", value=b'{"patient": {"id": "x"}}'), "schema"),
        (replace(update("Ada"), key=NEIGHBOUR), "wrong_key"),
        (replace(update("Ada"), key=None), "wrong_key"),
        (
            replace(update("Ada"), partition=Partition(PATIENT_UPDATES.name, 9)),
            "wrong_partition",
        ),
    ],
)
def test_refuses_an_update_and_goes_on_with_the_others(scrub, bad, code):
    refused, fine = scrub.process([bad, update("Quellwright")])

    assert code == refused.code
    assert len(fine) == 1
    letter, audit = scrub.dead_letter(bad, refused)
    assert (DEAD_LETTERS.name, PHI_AUDIT.name) == (letter.topic, audit.topic)


@pytest.mark.parametrize(
    "row",
    [
        b'{"patient": 7}',
        b"{",
        orjson.dumps(KNOWN.to_json() | {"schema_version": 1, "current": {"nmes": []}}),
    ],
)
def test_a_row_that_breaks_its_schema_refuses_update_and_note(scrub, table, row):
    """It might be read as far as it goes, and a name be missed."""
    table.rows[PLACE][PATIENT.key] = row

    outcomes = scrub.process([update("Quellwright"), record("Quellwright.")])

    assert [each.code for each in outcomes] == ["patient_record"] * 2


def test_a_patient_of_whom_no_name_is_known_counts_as_missing(scrub):
    nameless = PatientUpdate(PatientRecord(PATIENT, "", Demographics(sex="F")))
    value = orjson.dumps(nameless.to_json())

    _, (note, _) = scrub.process([update("", value=value), record("Stable.")])

    assert orjson.loads(note.value)["join"] == "missing"


def test_the_notes_own_demographics_join_without_the_table(scrub):
    value = orjson.loads(record("Quellwright is well.").value)
    value["demographics"] = KNOWN.current.to_json()
    at = partition_of(PATIENT.key, 4)
    own = Record(Partition("notes", at), 0, PATIENT.key, orjson.dumps(value))

    [(note, _)] = scrub.process([own])

    body = orjson.loads(note.value)
    assert (body["text"], body["join"]) == ("[NAME:PATIENT] is well.", "missing")


def test_a_patients_notes_share_their_surrogates_and_name_the_key(table):
    table.rows[PLACE][PATIENT.key] = ROW
    pseudonyms = Pseudonyms(b"k" * 32)
    system = Deidentifier.from_names(policy="surrogate", key=pseudonyms.key)
    scrub = scrub_with(system, table, pseudonyms)
    other = PatientId("N", "other")
    records = [
        record("Mabel Quellwright, 3/14/2024."),
        record("Mabel Quellwright, 3/14/2024.", offset=1),
        record("Mrs. Quellwright, 3/14/2024.", patient=other, offset=2),
    ]

    bodies = [orjson.loads(note.value) for note, _ in scrub.process(records)]

    first, second, third = (body["text"] for body in bodies)
    assert first == second
    assert "Quellwright" not in first + third
    assert first.split()[-1] != third.split()[-1]
    assert {body["key_id"] for body in bodies} == {
        system.deidentify(Document("n", "on 3/14/2024")).key_id
    }


@pytest.mark.parametrize(
    ("bad", "code"),
    [
        ({"key": b"N|other"}, "wrong_key"),
        ({"partition": (partition_of(PATIENT.key, 4) + 1) % 4}, "wrong_partition"),
        ({"note_type": "Quellwright"}, "residue"),
    ],
)
def test_refuses_a_note_and_goes_on_with_the_others(scrub, table, bad, code):
    table.rows[PLACE][PATIENT.key] = ROW

    first, second = scrub.process([record("One.", **bad), record("Two.", offset=1)])

    assert isinstance(first, InvalidRecord)
    assert code == first.code
    assert orjson.loads(second[0].value)["text"] == "Two."


GERMAN = (
    "Der Patient klagt seit gestern über Schmerzen im linken Knie. Keine Schwellung, "
    "kein Fieber. Entlassung nach Hause mit Frau Quellwright."
)


def test_a_note_that_the_preset_does_not_read_is_a_dead_letter_of_its_own(scrub):
    refused, fine = scrub.process([record(GERMAN), record("Seen by Dr. Quellwright.")])

    assert refused.code == "other_language"
    assert "in German, the preset reads English" in refused.reason
    assert "Quellwright" not in refused.reason
    assert len(fine) == 2


def test_the_audit_event_of_a_marked_note_names_its_language(table):
    config = replace(load_preset("lexical"), other_languages=OtherLanguages.MARK)
    system = Deidentifier.from_config(config, load_policy("safe-harbor"))
    scrub = scrub_with(system, table, Pseudonyms(b"k" * 32))

    marked, fine = scrub.process([record(GERMAN), record("Seen by Dr. Quellwright.")])

    assert orjson.loads(marked[1].value)["other_language"] == "de"
    assert "other_language" not in orjson.loads(fine[1].value)
    assert "Quellwright" not in orjson.loads(marked[0].value)["text"]


def test_too_large_a_note_is_refused(scrub):
    [outcome] = scrub.process([record("x" * 20_000)])

    assert outcome.code == "too_large"


def test_a_detector_that_breaks_makes_a_dead_letter_never_a_note(
    scrub, hybrid, monkeypatch
):
    def fail(documents):
        raise ZeroDivisionError("ZZMARKER")

    monkeypatch.setattr(hybrid, "_detectors", (_Named(fail),))
    source = record("Mabel Quellwright.")

    [outcome] = scrub.process([source])
    letter, audit = scrub.dead_letter(source, outcome)

    assert outcome.code == "detector_failed"
    assert (DEAD_LETTERS.name, PHI_AUDIT.name) == (letter.topic, audit.topic)
    assert "ZZMARKER" not in orjson.loads(letter.value)["reason"]
    assert orjson.loads(audit.value)["outcome"] == "dead_letter"


class _Named:
    name = "broken"
    reads_as_written = False

    def __init__(self, call):
        self._call = call

    def __call__(self, documents):
        return self._call(documents)


def test_a_header_that_says_more_than_the_row_is_matched_as_well(scrub, table):
    table.rows[PLACE][PATIENT.key] = ROW
    value = orjson.loads(record("Quellwright, called Zwergenheim.").value)
    value["demographics"] = {"names": [{"family": "Zwergenheim"}]}
    at = partition_of(PATIENT.key, 4)
    own = Record(Partition("notes", at), 0, PATIENT.key, orjson.dumps(value))

    [(note, _)] = scrub.process([own])

    body = orjson.loads(note.value)
    assert body["text"] == "[NAME:PATIENT], called [NAME:PATIENT]."
    assert body["join"] == "found"


@pytest.mark.parametrize(
    ("code", "published"),
    [("11506-3", "11506-3"), ("ORU_R01", "ORU_R01"), ("Quellwright", ""), ("X1", "")],
)
def test_an_unknown_patients_note_type_is_a_standard_code_or_nothing(
    scrub, code, published
):
    [(note, _)] = scrub.process([record("Stable.", note_type=code)])

    assert published == orjson.loads(note.value)["note_type"]


@pytest.mark.parametrize(
    "code", ["RAD20240314", "2024-03", "14.3.24", "3/14/2024", "1710374400"]
)
def test_a_note_type_that_may_hold_a_date_is_not_published(scrub, table, code):
    table.rows[PLACE][PATIENT.key] = ROW

    [outputs] = scrub.process([record("Stable.", note_type=code)])

    assert [orjson.loads(each.value)["note_type"] for each in outputs] == ["", ""]


# --- when the note was written


def bodies(outputs):
    return [orjson.loads(note.value) for note, _audit in outputs]


def test_the_day_of_a_note_is_shifted_as_the_dates_of_its_text(table):
    pseudonyms = Pseudonyms(b"k" * 32)
    system = Deidentifier.from_names(policy="surrogate", key=pseudonyms.key)
    notes = [
        record("Seen on 2024-03-14.", written_at="2024-03-14T09:26:53"),
        record("Seen on 2024-03-14.", written_at="2024-03-16", offset=1),
    ]

    first, second = bodies(scrub_with(system, table, pseudonyms).process(notes))

    shown = date.fromisoformat(first["written_at"])
    assert first["text"] == (f"Seen on {shown}.")
    assert abs((shown - date(2024, 3, 14)).days) >= 31
    assert (date.fromisoformat(second["written_at"]) - shown).days == 2


@pytest.mark.parametrize("day", ["", "ZZMARKER", "2024-02-30", "2024-03", "20240314"])
def test_what_is_no_day_is_not_published(table, day):
    pseudonyms = Pseudonyms(b"k" * 32)
    system = Deidentifier.from_names(policy="surrogate", key=pseudonyms.key)
    scrub = scrub_with(system, table, pseudonyms)

    [body] = bodies(scrub.process([record("Stable.", written_at=day)]))

    assert "written_at" not in body


def test_a_policy_that_writes_dates_as_tags_publishes_no_day(scrub):
    [body] = bodies(scrub.process([record("Stable.", written_at="2024-03-14")]))

    assert "written_at" not in body


def test_a_day_that_can_not_be_replaced_refuses_the_note_alone(
    scrub, hybrid, monkeypatch
):
    def fail(*_arguments):
        raise ZeroDivisionError("ZZMARKER")

    monkeypatch.setattr(hybrid, "replaced_value", fail)
    notes = [
        record("One.", written_at="2024-03-14"),
        record("Two.", offset=1),
    ]

    refused, outputs = scrub.process(notes)

    assert refused.code == "deid_error"
    assert "ZZMARKER" not in str(refused)
    assert orjson.loads(outputs[0].value)["text"] == "Two."


class Exhausted:
    name = "exhausted"
    reads_as_written = False

    def __call__(self, documents):
        if any("Quellwright" in document.text for document in documents):
            raise MemoryError
        return [[] for _ in documents]


def test_memory_that_runs_out_refuses_no_note_but_ends_the_process(table):
    policy = load_policy("safe-harbor")
    scrub = scrub_made_by(lambda: Deidentifier([Exhausted()], policy), table)

    assert scrub.process([record("well")])
    with pytest.raises(MemoryError):
        scrub.process([record("well"), record("Quellwright", offset=1)])


def test_after_an_interruption_the_pipeline_is_made_anew(table, hybrid):
    made = []

    def make():
        made.append(1)
        return hybrid

    scrub = scrub_made_by(make, table)
    scrub.rebuild()

    assert len(made) == 2
    assert scrub.process([record("well")])
