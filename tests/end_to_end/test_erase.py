"""`phistream erase` on real Kafka, while scrub works: what is gone, what remains."""

from __future__ import annotations

import multiprocessing
import os
import time
from collections import Counter
from pathlib import Path
from types import SimpleNamespace

import orjson
import pytest
from confluent_kafka import Consumer, TopicPartition
from confluent_kafka.admin import (
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    ResourceType,
)

from streams.demo.flow import read_topic
from streams.kafka.client import CONSUMER, admin_client
from streams.kafka.partitioner import partition_of
from streams.kafka.producer import KafkaProducer
from streams.kafka.topics import (
    DEAD_LETTERS,
    HL7_RAW,
    NOTES,
    NOTES_HELD,
    NOTES_SCRUBBED,
    PATIENT_UPDATES,
    PATIENTS,
    PHI_AUDIT,
    TOPICS,
)
from streams.model.notes import ClinicalNote
from streams.model.patients.demographics import (
    Demographics,
    Name,
    PatientId,
    PatientRecord,
)
from streams.model.patients.updates import PatientUpdate
from streams.operations.counts.counters import counts_of
from streams.operations.doctor.finding import Level
from streams.operations.doctor.values import judge_values
from streams.operations.reconcile import Auditor
from streams.pipeline.publish import Pseudonyms
from streams.products.office.erasure import Erasure
from streams.products.office.null_values import PUBLISHED
from tests.brokers import wait_until
from tests.commands import phistream
from tests.conftest import settings_for, with_topics
from tests.harness import drain, produce, produce_notes, running, values

pytestmark = pytest.mark.timeout(900)

MARKER, OTHER = "Zzquellwright", "Yyotherman"
A, B = PatientId("ZZWARD", "zz770011"), PatientId("ZZEAST", "zz880022")
UNNAMED = PatientId("ZZWARD", "zz990033")
"""A note of it is held."""
KEPT = PatientId("YYWARD", "yy110044")
KEEP_RAW = (HL7_RAW, NOTES, PATIENT_UPDATES)
"""What the command says remains until its retention ends."""


def update(patient, family, merged=()):
    demographics = Demographics(names=(Name(family),))
    record = PatientRecord(patient, "", demographics, merged=merged)
    value = PATIENT_UPDATES.schema.versioned(PatientUpdate(record).to_json())
    return patient.key, orjson.dumps(value)


def note(patient, name, text, note_type=""):
    return ClinicalNote(name, patient, note_type, "", text)


def broken(patient, family):
    return patient.key, orjson.dumps({"patient": family})


def latest(settings, topic):
    rows = {each.key(): each.value() for each in read_topic(settings, topic.name)}
    return {key: value for key, value in rows.items() if value is not None}


def compact_at_once(settings):
    """Have the broker store plain bytes, and merge them as soon as it can."""
    quick = {
        "compression.type": "uncompressed",
        "segment.ms": "200",
        "max.compaction.lag.ms": "1",
        "min.cleanable.dirty.ratio": "0.01",
        "delete.retention.ms": "100",
    }
    resources = [
        ConfigResource(
            ResourceType.TOPIC,
            topic.name,
            incremental_configs=[
                ConfigEntry(name, value, incremental_operation=AlterConfigOpType.SET)
                for name, value in quick.items()
                if topic not in KEEP_RAW or name == "compression.type"
            ],
        )
        for topic in TOPICS
    ]
    admin = admin_client(settings)
    for done in admin.incremental_alter_configs(resources).values():
        done.result(30)


def places_with(folder, marker, *, but=()):
    """Return the files below a folder that hold some bytes."""
    found = []
    # Folders of topics that earlier tests have deleted go meanwhile.
    for place, _folders, files in os.walk(folder):
        if Path(place).name.rpartition("-")[0] in but:
            continue
        for path in (Path(place, name) for name in files):
            try:
                if marker in path.read_bytes():
                    found.append(str(path.relative_to(folder)))
            except FileNotFoundError:
                continue  # merged meanwhile
    return found


def erase(settings, folder, *arguments, stdin=b""):
    config = folder / "erase.toml"
    config.write_text(
        f'bootstrap = "{settings.bootstrap}"\ngroup = "{settings.group}"\n'
        f'pseudonym_key_file = "{settings.pseudonym_key_file}"\n'
    )
    return phistream("erase", *arguments, "--config", config, stdin=stdin, text=True)


def killed(settings, patients, method):
    """Run an erasure in a process that is killed when it would commit, or has."""
    child = multiprocessing.get_context("spawn").Process(
        target=_erase_until, args=(settings, patients, method)
    )
    child.start()
    child.join(120)
    assert child.exitcode == 9


def _erase_until(settings, patients, method):
    if method == "commit":
        KafkaProducer.commit = lambda *_args: os._exit(9)
    else:
        settled, calls = Erasure._settled, []

        def first(*arguments):
            calls.append(1)
            return settled(*arguments) if len(calls) == 1 else os._exit(9)

        Erasure._settled = first
    erasure = Erasure(settings, patients)
    found = erasure.find()
    erasure.erase(found, actor="x", reason="x", seconds=60, at_ms=1)


@pytest.fixture(scope="module")
def ward(module_cluster, tmp_path_factory):
    folder = tmp_path_factory.mktemp("erase")
    settings = with_topics(
        settings_for(
            module_cluster,
            folder,
            preset="lexical",
            unknown_patient_types={"OP": "hold"},
        )
    )
    compact_at_once(settings)
    state, data = settings.state_dir, module_cluster._home
    with running(settings, "scrub") as [service]:
        produce(
            settings,
            PATIENT_UPDATES.name,
            [
                update(A, MARKER),
                update(B, f"{MARKER}son", merged=(A,)),
                update(KEPT, OTHER),
                broken(A, MARKER),
                broken(KEPT, OTHER),
            ],
        )
        records = [
            note(A, "a.0", f"{MARKER} was seen."),
            note(UNNAMED, "u.0", f"{MARKER} was seen.", "OP"),
        ]
        produce_notes(settings, *records)
        drain(settings, [service])
        wait_until(lambda: len(values(settings, DEAD_LETTERS.name)) == 2, 60)
    # Its tables are in files now.
    marker = MARKER.encode()
    before = SimpleNamespace(
        rows={*latest(settings, PATIENTS)},
        held=len(latest(settings, NOTES_HELD)),
        on_disk=places_with(state, marker) and places_with(data, marker, but=()),
        audit=len(values(settings, PHI_AUDIT.name)),
    )
    asked = [f"{A.id}^^^{A.assigning_authority}", f"{UNNAMED.id}^^^ZZWARD"]
    log = settings.state_dir.parent / "scrub.log"
    with running(settings, "scrub") as [service]:
        wait_until(lambda: log.read_text().count('"assigned ') == 2, 120)
        dry = erase(settings, folder, *asked, "--dry-run", "--json")
        killed(settings, [A, UNNAMED], "commit")
        undone = {*latest(settings, PATIENTS)}
        killed(settings, [A], "after its commit")
        wait_until(lambda: A.key not in latest(settings, PATIENTS), 60)
        produce_notes(settings, note(KEPT, "k.1", "Yyotherman came."))
        done = erase(
            settings, folder, "-", "--yes", "--json", "--reason", "DSR-7", "--wait",
            "300", stdin="\n".join(asked).encode(),
        )  # fmt: skip
        again = erase(settings, folder, *asked, "--yes", "--reason", "DSR-7")
        stranger = erase(settings, folder, "none1234^^^X", "--yes", "--reason", "1")
        fill_until_gone(settings, service, state, data, marker)
        after = SimpleNamespace(
            rows=latest(settings, PATIENTS),
            held=latest(settings, NOTES_HELD),
            letters=latest(settings, DEAD_LETTERS),
            on_disk=places_with(data, marker, but={t.name for t in KEEP_RAW}),
            in_state=places_with(state, marker),
        )
        later = note(A, "a.1", "Seen again.", "OP")
        produce_notes(settings, later)
        wait_until(lambda: latest(settings, NOTES_HELD), 120)
        drain(settings, [service])
        logs = log.read_text()
    return SimpleNamespace(
        settings=settings,
        before=before,
        dry=dry,
        undone=undone,
        done=done,
        again=again,
        stranger=stranger,
        after=after,
        later=latest(settings, NOTES_HELD),
        logs=logs,
        events=values(settings, PHI_AUDIT.name),
    )


def fill_until_gone(settings, service, state, data, marker):
    """Write records of other patients: only then segments are closed and merged."""
    deadline = time.monotonic() + 240
    count = 0
    raw = {topic.name for topic in KEEP_RAW}
    while places_with(state, marker) or places_with(data, marker, but=raw):
        assert time.monotonic() < deadline, (
            places_with(state, marker),
            places_with(data, marker, but=raw),
        )
        service.check()
        count += 1
        fillers = [PatientId("YYWARD", f"filler{count}x{n}") for n in range(12)]
        broken_ones = [broken(each, OTHER) for each in fillers]
        produce(
            settings,
            PATIENT_UPDATES.name,
            [update(each, OTHER) for each in fillers] + broken_ones,
        )
        held = [PatientId("YYNONE", f"filler{count}x{n}") for n in range(12)]
        produce_notes(settings, *(note(e, f"h{count}", "Seen.", "OP") for e in held))
        for each in held:
            produce(settings, PATIENT_UPDATES.name, [update(each, OTHER)])
        time.sleep(3)


def test_a_dry_run_says_what_would_go_and_changes_nothing(ward):
    assert ward.before.rows == {A.key, B.key, KEPT.key}
    assert ward.before.held == 1
    assert ward.before.on_disk
    assert ward.dry.returncode == 0
    found = orjson.loads(ward.dry.stdout)["found"]
    assert found == {
        "identifiers": 3, "rows": 2, "held": 1, "letters": 1, "updates": 0,
        "unjudged": 0,
    }  # fmt: skip


def test_a_run_that_is_killed_has_erased_all_or_nothing(ward):
    """Killed before its commit, and after it."""
    assert ward.before.rows == ward.undone
    assert ward.done.returncode == 0, ward.done.stderr
    said = orjson.loads(ward.done.stdout)
    assert {name: said[name] for name in ("carried_out", "left")} == {
        "carried_out": True,
        "left": False,
    }


def test_rows_of_all_linked_identifiers_and_held_notes_are_gone(ward):
    assert {A.key, B.key}.isdisjoint(ward.after.rows)
    assert not any(UNNAMED.key in key for key in ward.after.held)


def test_the_patients_name_is_in_no_bytes_of_topics_and_tables(ward):
    """Of the broker's files, but those of the raw topics; and of the state folder."""
    assert ward.after.on_disk == []
    assert ward.after.in_state == []


def test_the_command_names_what_remains_and_until_when(ward):
    remains = {e["where"]: e for e in orjson.loads(ward.done.stdout)["remains"]}
    assert {topic.name for topic in KEEP_RAW} <= remains.keys()
    # Two updates and one command of A, one of B, which was forwarded back and forth.
    assert int(remains[PATIENT_UPDATES.name]["what"].split()[0]) >= 3
    assert "2 records" in remains[NOTES.name]["what"]
    assert all(remains[topic.name]["until"] > "2026" for topic in KEEP_RAW)


def test_other_patients_are_untouched(ward):
    assert KEPT.key in ward.after.rows
    assert OTHER.encode() in ward.after.rows[KEPT.key]
    codes = Counter(orjson.loads(v)["code"] for v in ward.after.letters.values())
    assert codes["schema"] >= 1
    sources = [orjson.loads(v)["source"] for v in ward.after.letters.values()]
    kept = partition_of(KEPT.key, ward.settings.partitions)
    assert any(each["partition"] == kept for each in sources)


def test_audit_events_tell_of_it_without_identifiers(ward):
    erased = [each for each in ward.events if each["outcome"] == "erased"]
    assert {each["reason"] for each in erased} == {"DSR-7", "x"}
    topics = Counter(e["source"]["topic"] for e in erased)
    assert topics == {PATIENTS.name: 2, PATIENT_UPDATES.name: 1, NOTES.name: 1}
    assert sum(each["outcome"] == "discarded" for each in ward.events) == 1
    shown = orjson.dumps(ward.events).decode().lower()
    for text in (shown, ward.logs, ward.dry.stdout, ward.done.stdout, ward.done.stderr):
        assert "zz770011" not in text
        assert MARKER.lower() not in text.lower()


def test_a_later_note_is_handled_as_that_of_an_unknown_patient(ward):
    assert any(A.key in key for key in ward.later)


def test_erasing_again_says_that_nothing_is_left_and_a_stranger_is_unknown(ward):
    assert ward.again.returncode == 0, ward.again.stderr
    assert "0 rows of patients, 0 held notes, 0 dead letters" in ward.again.stdout
    assert ward.stranger.returncode == 1
    assert "nothing is known of this patient" in ward.stranger.stderr


def test_the_proof_holds_after_an_erasure(ward):
    for verdict in Auditor(ward.settings).verdicts():
        # The tests wrote the notes, so that intake's group has no offsets.
        expected = {"offsets_gone": 1} if verdict.topic == HL7_RAW.name else {}
        assert expected == verdict.faults, verdict.examples
        assert verdict.missing + verdict.doubled + verdict.out_of_order == 0


def test_each_letter_has_its_own_key_in_the_partition_of_its_source(ward):
    """A shared key would delete letters; they are in the order of their originals."""
    for each in read_topic(ward.settings, DEAD_LETTERS.name):
        assert each.key() is not None
        if each.value() is not None:
            source = orjson.loads(each.value())["source"]
            group = "{topic}/{partition}".format(**source)
            place = f"{group}/{source['offset']}/".encode()
            assert each.key().removeprefix(place).isdigit()
            count = ward.settings.partitions
            assert partition_of(group.encode(), count) == each.partition()


def row(settings, *patients):
    """Write rows as scrub does."""
    rows = []
    for each in patients:
        record = PatientRecord(each, "", Demographics(names=(Name(MARKER),)))
        value = PATIENTS.schema.versioned(record.to_json())
        rows.append((each.key, orjson.dumps(value)))
    produce(settings, PATIENTS.name, rows)


def test_a_row_that_comes_back_meanwhile_is_erased_again(settings, monkeypatch):
    """As when scrub had forwarded an update between linked identifiers."""
    row(settings, A)
    erasure, rounds = Erasure(settings, [A]), []

    def settled(erasure, _deadline):
        rounds.append(1)
        if len(rounds) > 1:
            produce(settings, PATIENTS.name, [(A.key, None)])
        if 1 < len(rounds) < 4:
            row(settings, A)
        return erasure.find()

    monkeypatch.setattr(Erasure, "_settled", settled)
    monkeypatch.setattr(Erasure, "_scrub_runs", lambda _self: True)
    done = erasure.erase(erasure.find(), actor="x", reason="x", seconds=1, at_ms=1)

    assert (len(rounds), done.counts["rows"]) == (4, 3)
    assert done.is_done
    assert len(nulls(settings)) == 3


def nulls(settings):
    records = read_topic(settings, PATIENT_UPDATES.name)
    return [each for each in records if each.value() is None]


def has_read(settings, topic, count):
    """Commit as scrub does what it has read of a topic, in each partition."""
    group = {"group.id": f"{settings.group}-scrub"}
    consumer = Consumer(settings.client(**CONSUMER, **group))
    partitions = range(settings.partitions)
    places = [TopicPartition(topic.name, p, count) for p in partitions]
    consumer.commit(offsets=places, asynchronous=False)
    consumer.close()


@pytest.mark.parametrize("patient", [A, KEPT], ids=["of the patient", "of another"])
def test_nothing_is_written_before_scrub_has_read_what_waits_for_it(
    settings, monkeypatch, patient
):
    """A note would be joined with nothing; an update may link another identifier."""
    monkeypatch.setattr(Erasure, "_scrub_runs", lambda _self: True)
    row(settings, A)
    produce_notes(settings, note(A, "a.0", f"{MARKER} was seen."))
    produce(settings, PATIENT_UPDATES.name, [update(patient, OTHER)])

    def erased(seconds=0.0):
        erasure = Erasure(settings, [A])
        facts = {"actor": "x", "reason": "x", "at_ms": 1}
        return erasure.erase(erasure.find(), seconds=seconds, **facts)

    for topic in (NOTES, PATIENT_UPDATES):
        done = erased()
        assert "has not read all" in done.refusal
        assert not done.is_done
        assert nulls(settings) == []
        has_read(settings, topic, 1)

    done = erased()
    assert not done.refusal
    assert nulls(settings)


def test_a_note_that_comes_meanwhile_is_waited_for_or_named(settings, monkeypatch):
    monkeypatch.setattr(Erasure, "_scrub_runs", lambda _self: True)
    row(settings, A)
    find, commit = Erasure.find, Erasure._commit

    def arrives(erasure):
        """After the look at the ends; scrub reads it a moment later."""
        produce_notes(settings, note(A, "a.0", f"{MARKER} was seen."))
        found = find(erasure)
        assert found.unread
        has_read(settings, NOTES, 1)
        monkeypatch.setattr(Erasure, "find", find)
        return found

    def arrives_late(erasure, *arguments):
        """Between the last look and the commit."""
        produce_notes(settings, note(A, "a.1", f"{MARKER} was seen."))
        commit(erasure, *arguments)
        has_read(settings, NOTES, 2)
        has_read(settings, PATIENT_UPDATES, 9)
        produce(settings, PATIENTS.name, [(A.key, None)])

    erasure = Erasure(settings, [A])
    found = erasure.find()
    monkeypatch.setattr(Erasure, "find", arrives)
    monkeypatch.setattr(Erasure, "_commit", arrives_late)
    done = erasure.erase(found, actor="x", reason="x", seconds=60, at_ms=1)

    assert (done.counts["rows"], done.late) == (1, 2)
    assert done.left.is_empty
    assert not done.is_done


def test_without_scrub_nothing_is_erased_and_the_command_says_so(settings, tmp_path):
    row(settings, A)
    asked = f"{A.id}^^^{A.assigning_authority}"

    done = erase(settings, tmp_path, asked, "--yes", "--reason", "1", "--wait", "1")
    assert done.returncode == 1
    assert "nothing was erased: scrub does not run" in done.stderr
    assert nulls(settings) == []

    unsure = erase(settings, tmp_path, asked, "--reason", "1")
    assert unsure.returncode == 1
    assert "erase it for good?" in unsure.stdout
    wrong = erase(settings, tmp_path, asked, "--reason", "Mrs. Quellwright asked")
    assert wrong.returncode == 2


# --- with --published


def published_nulls(settings):
    """Return the null values of published topics: topic, key, whether with a time."""
    return sorted(
        (topic.name, each.key().decode(), each.timestamp()[1] > 0)
        for topic in PUBLISHED
        for each in read_topic(settings, topic.name)
        if each.value() is None
    )


def counted(settings):
    """Return what subscribers count: scrubbed notes, and audit events as watch does."""
    records = read_topic(settings, PHI_AUDIT.name)
    of_watch = sum(
        (
            counts_of(PHI_AUDIT.name, e.value(), dict(e.headers() or []), 0)
            for e in records
        ),
        Counter(),
    )
    notes = [e for e in read_topic(settings, NOTES_SCRUBBED.name) if e.value()]
    return len(notes), of_watch


def faults(settings):
    """Return what reconcile finds; the tests wrote the notes, without intake."""
    auditor = Auditor(settings)
    verdicts = auditor.verdicts()
    assert sum(e.missing + e.doubled + e.out_of_order for e in verdicts) == 0
    found = {each.topic: each.faults for each in verdicts if each.faults}
    assert found.pop(HL7_RAW.name) == {"offsets_gone": 1}
    return found, [each for each in auditor.not_checked if "null values" in each]


def test_null_values_under_all_pseudonyms_are_published_on_request(settings, tmp_path):
    settings = settings.model_copy(update={"preset": "lexical"})
    pseudonyms = Pseudonyms(settings.pseudonym_key())
    asked = ("zz770011^^^ZZWARD", "--yes", "--json", "--reason", "DSR-8")
    with running(settings, "scrub") as [service]:
        rows = [update(A, MARKER), update(B, MARKER, merged=(A,)), update(KEPT, OTHER)]
        produce(settings, PATIENT_UPDATES.name, rows)
        drain(settings, [service])
        texts = (A, B, KEPT)
        produce_notes(settings, *(note(e, "n", f"{MARKER} came.") for e in texts))
        drain(settings, [service])
        before = counted(settings)
        plain = erase(settings, tmp_path, *asked, "--dry-run", "--published")
        assert published_nulls(settings) == []

        done = erase(settings, tmp_path, *asked, "--published", "--wait", "300")
        first = published_nulls(settings)
        after, proof = counted(settings), faults(settings)
        again = erase(settings, tmp_path, *asked, "--published", "--wait", "300")
        drain(settings, [service])

    assert (plain.returncode, done.returncode, again.returncode) == (0, 0, 0), (
        done.stderr + again.stderr
    )
    names = [pseudonyms.patient(each.key) for each in (A, B)]
    assert first == sorted(
        (t.name, n, not t.timeless) for t in PUBLISHED for n in names
    )
    said = orjson.loads(done.stdout)
    assert (said["erased"]["rows"], said["erased"]["null values"]) == (2, 6)
    [lake] = [e for e in said["remains"] if e["where"] == "tables of phistream lake"]
    assert "go by the null values" in lake["what"]
    assert (3, before[1]) == (before[0], after[1])
    assert before == after
    assert proof == ({}, ["6 null values erase published records of patients"])
    # The rows are gone, and with them the link to the other identifier.
    assert [e for e in first if e[1] == names[0]] == [
        e for e in published_nulls(settings) if e[1] == names[0]
    ][::2]
    assert before == counted(settings)
    assert faults(settings) == (
        {},
        ["9 null values erase published records of patients"],
    )
    for topic in (NOTES_SCRUBBED, PHI_AUDIT):
        found = judge_values(topic, [*read_topic(settings, topic.name)])
        assert found.level == Level.OK, found
