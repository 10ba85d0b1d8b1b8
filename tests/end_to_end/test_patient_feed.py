"""A site's own demographics on a real broker: `phistream feed --updates`, examples."""

from __future__ import annotations

import csv
import itertools
import subprocess
import sys

import orjson
import pytest
from confluent_kafka.admin import NewTopic

from streams.demo.flow import read_topic
from streams.kafka.client import admin_client
from streams.kafka.offsets import GroupOffsets
from streams.kafka.partitioner import partition_of
from streams.kafka.topics import NOTES_SCRUBBED, PATIENT_UPDATES, PATIENTS, PHI_AUDIT
from streams.model.patients.demographics import PatientId
from streams.model.patients.updates import decode_update, fold
from streams.pipeline.files.feed import RawMessage
from tests.brokers import wait_until
from tests.commands import phistream
from tests.conftest import has_leaders
from tests.deploy.example import EXAMPLES, load
from tests.harness import feed_and_drain, produce, running, values

PATIENCE = 150


def patient(n):
    return {"assigning_authority": "NORTH", "id": f"{n}"}


def feed(settings, *arguments, stdin=b""):
    address = ("--bootstrap", settings.bootstrap)
    return phistream("feed", *arguments, *address, stdin=stdin, text=True)


def test_updates_and_erasures_are_published_where_scrub_looks_for_them(
    settings, tmp_path
):
    lines = [
        {"patient": patient(n), "demographics": {"phones": [f"555-{n:04}"]}}
        for n in range(300)
    ]
    lines[7] = {"patient": patient(7), "erase": True}
    lines[8] = {"patient": patient(8), "demographics": {"phone": ["ZZMARKER"]}}
    file = tmp_path / "updates.jsonl"
    file.write_bytes(b"\n".join(map(orjson.dumps, lines)))

    done = feed(settings, "--updates", file)

    assert done.returncode == 1
    counts = "299 patient updates published on patient.updates, 1 lines refused"
    assert counts in done.stdout
    assert "updates.jsonl line 9: patient.updates: demographics: holds 1" in done.stderr
    assert "ZZMARKER" not in done.stderr + done.stdout
    found = {m.key(): m for m in read_topic(settings, PATIENT_UPDATES.name)}
    expected = {b"NORTH|%d" % n for n in range(300) if n != 8}
    assert expected == found.keys()
    assert [key for key, m in found.items() if m.value() is None] == [b"NORTH|7"]
    for key, message in found.items():
        assert partition_of(key, settings.partitions) == message.partition()
        if message.value() is not None:
            assert key == decode_update(message.value()).record.patient.key


def test_updates_are_read_from_a_pipe(settings):
    line = orjson.dumps({"patient": patient(1), "updated_at": "2024-03-01"})

    done = feed(settings, "--updates", "/dev/stdin", stdin=line)

    assert (done.returncode, done.stderr.strip()) == (0, "")
    assert "1 patient updates published on patient.updates" in done.stdout
    [message] = read_topic(settings, PATIENT_UPDATES.name)
    assert orjson.loads(message.value()) == {
        "schema_version": 1,
        **orjson.loads(line),
        "demographics": {},
    }


def test_without_the_topic_nothing_is_published_and_the_next_step_is_named(cluster):
    line = orjson.dumps({"patient": patient(1)})

    done = phistream(
        *("feed", "--updates", "/dev/stdin", "--bootstrap", cluster.bootstrap),
        stdin=line,
        text=True,
    )

    assert done.returncode == 78
    assert "patient.updates; run: phistream topics create" in done.stderr


@pytest.fixture
def example(settings):
    """Run an example against the broker until it ends, or the test ends it."""
    started = []

    def run(name, *arguments):
        process = subprocess.Popen(
            [sys.executable, EXAMPLES / f"{name}.py", settings.bootstrap, *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        started.append(process)
        return process

    yield run
    for process in started:
        process.kill()
        process.communicate()


def updates(settings):
    return [*read_topic(settings, PATIENT_UPDATES.name)]


def with_topic(settings, name, partitions):
    admin = admin_client(settings)
    admin.create_topics([NewTopic(name, partitions, 1)])[name].result(30)
    wait_until(lambda: has_leaders(admin, name))


def records_of(messages, partitions):
    """Return what scrub knows after the messages, by key; check each message."""
    known = {}
    for message in messages:
        assert partition_of(message.key(), partitions) == message.partition()
        if message.value() is None:
            known.pop(message.key(), None)
            continue
        update = decode_update(message.value())
        assert message.key() == update.record.patient.key
        known[message.key()] = fold(known.get(message.key()), update).record
    return known


def test_the_export_of_a_patient_index_becomes_the_patients_records(
    settings, example, tmp_path
):
    index = load("patient_index")
    empty = dict.fromkeys(index.COLUMNS, "")
    rows = [
        empty
        | {
            "authority": "NORTH|X",
            "id": f"{n}",
            "family": f"Quell{n}",
            "former_families": "Marsh",
            "linked_ids": "900" if n == 3 else "",
        }
        for n in range(200)
    ]
    rows.append(empty | {"authority": "NORTH|X", "id": "5", "erased": "yes"})
    file = tmp_path / "export.csv"
    with file.open("w", encoding="utf-8-sig", newline="") as stream:
        writer = csv.DictWriter(stream, index.COLUMNS)
        writer.writeheader()
        writer.writerows(rows)

    out, error = example("patient_index", file).communicate(timeout=PATIENCE)

    assert error == ""
    assert out == "201 of 201 patients published on patient.updates\n"
    known = records_of(updates(settings), settings.partitions)
    assert {PatientId("NORTH|X", f"{n}").key for n in range(200) if n != 5} == {*known}
    third = known[b"NORTH\\|X|3"]
    assert (
        third.current.names[0].family,
        third.former.names[0].family,
    ) == ("Quell3", "Marsh")
    assert third.merged == (PatientId("NORTH|X", "900"),)


def test_captured_changes_become_records_and_deletes_erase_also_after_kill_9(
    settings, example
):
    """Each patient is added, marries, and one in ten is deleted."""
    with_topic(settings, "ehr.public.patient", 3)
    people = range(2000)
    events = [(n, change("c", None, row(n, "Marsh"), day=1)) for n in people]
    events += [
        (n, change("u", row(n, "Marsh"), row(n, "Quellwright"), day=2)) for n in people
    ]
    for n in people[::10]:
        events += [(n, change("d", row(n, "Quellwright"), None, day=3)), (n, None)]
    pairs = [
        (b"%d" % n, None if each is None else orjson.dumps(each)) for n, each in events
    ]
    produce(settings, "ehr.public.patient", pairs[:1500])

    first = example("patient_changes", "ehr.public.patient")
    wait_until(lambda: updates(settings))
    first.kill()
    before = len(updates(settings))
    produce(settings, "ehr.public.patient", pairs[1500:])
    second = example("patient_changes", "ehr.public.patient")
    group = GroupOffsets(settings, "patient-changes", "ehr.public.patient")
    wait_until(lambda: len(pairs) == sum(group.read(range(3)).values()), PATIENCE)
    group.close()
    second.kill()

    messages = updates(settings)
    known = records_of(messages, settings.partitions)
    assert 0 < before < len(messages)
    assert len([each for each in pairs if each[1]]) <= len(messages)
    assert {b"NORTH|%d" % n for n in people if n % 10} == {*known}
    for record in known.values():
        assert [name.family for name in record.current.names] == ["Quellwright"]
        assert [name.family for name in record.former.names] == ["Marsh"]


def change(op, before, after, *, day):
    at = 1_700_000_000_000 + day * 86_400_000
    return {
        "schema": {},
        "payload": {
            "op": op,
            "before": before,
            "after": after,
            "ts_ms": at + 5,
            "source": {"ts_ms": at},
        },
    }


def row(n, family):
    empty = ("middle_name", "sex", "street", "city", "state", "zip")
    return {
        **dict.fromkeys((*empty, "mobile", "email", "ssn")),
        "mrn": f"{n}",
        "facility": "NORTH",
        "last_name": family,
        "first_name": "Mabelle",
        "date_of_birth": -6502,
        "phone": f"555-{n:04}",
    }


def test_a_change_that_is_not_understood_stops_the_feed_before_it(settings, example):
    with_topic(settings, "ehr.public.patient", 1)
    truncated = orjson.dumps({"op": "t", "before": None, "after": None, "ts_ms": 1})
    produce(settings, "ehr.public.patient", [(None, truncated)])

    process = example("patient_changes", "ehr.public.patient")
    _, error = process.communicate(timeout=PATIENCE)

    assert process.returncode == 1
    assert "ehr.public.patient[0]@0: op: must be one of c, r, u, d" in error
    assert updates(settings) == []


TEXT = "Vexmoor came, once Ozzrick, and Tillquen."
NAMES = ("Vexmoor", "Ozzrick", "Tillquen")


def note(n, person):
    return orjson.dumps({"note_id": f"N-{n}", "patient": patient(person), "text": TEXT})


def scrubbed(settings):
    """Return which names of each note are left, and whether its patient was known."""
    joins = {
        (event["source"]["partition"], event["source"]["offset"]): event["join"]
        for event in values(settings, PHI_AUDIT.name)
        if "join" in event
    }
    return sorted(
        (
            [name for name in NAMES if name in each["text"]],
            joins[each["source"]["partition"], each["source"]["offset"]],
        )
        for each in values(settings, NOTES_SCRUBBED.name)
    )


def test_notes_are_scrubbed_with_what_was_fed_until_it_is_erased(
    settings, example, tmp_path
):
    """The messages themselves name nobody; each feed has named all three."""
    settings = settings.model_copy(update={"preset": "lexical"})
    erasures = [{"patient": patient(n), "erase": True} for n in (1, 2)]
    file = tmp_path / "updates.jsonl"
    with running(settings, "intake", "scrub") as services:
        file.write_bytes(orjson.dumps(named(1) | {"merged": [patient(2)]}))
        assert feed(settings, "--updates", file).returncode == 0
        # Scrub has forwarded what it was told of 1 to 2, which is linked with it.
        wait_until(lambda: {b"NORTH|1", b"NORTH|2"} <= known_of(settings))
        export_of(tmp_path / "export.csv", 4)
        example("patient_index", tmp_path / "export.csv").communicate(timeout=PATIENCE)
        captured(settings, example, 5)
        messages = [RawMessage(note(n, n)) for n in (1, 2, 3, 4, 5)]
        feed_and_drain(settings, services, messages)
        before = scrubbed(settings)
        file.write_bytes(b"\n".join(map(orjson.dumps, erasures)))
        assert feed(settings, "--updates", file).returncode == 0
        feed_and_drain(settings, services, [RawMessage(note(n, n)) for n in (1, 2)])

    # "Vexmoor came" is found without a record, too.
    known, unknown = ([], "found"), ([*NAMES[1:]], "missing")
    assert before == ([known] * 4 + [unknown])
    assert scrubbed(settings) == ([known] * 4 + [unknown] * 3)
    last = {each.key(): each.value() for each in read_topic(settings, PATIENTS.name)}
    assert {key for key in last if last[key] is None} == {b"NORTH|1", b"NORTH|2"}


def named(n):
    """Return an update that holds the three names in different places."""
    current, former, kin = ({"family": each} for each in NAMES)
    return {
        "patient": patient(n),
        "updated_at": "2024-03-01",
        "demographics": {"names": [current], "kin": [{"name": kin}]},
        "former": {"names": [former]},
    }


def export_of(file, n):
    index = load("patient_index")
    values = {"authority": "NORTH", "id": f"{n}", "family": NAMES[0]}
    values["former_families"] = ";".join(NAMES[1:])
    with file.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.DictWriter(stream, index.COLUMNS, restval="")
        writer.writeheader()
        writer.writerow(values)


def captured(settings, example, n):
    """Have the example publish that a patient changed the name twice."""
    topic = "ehr.public.patient"
    with_topic(settings, topic, 1)
    rows = [None, *(row(n, family) for family in NAMES)]
    events = [
        change("u" if before else "c", before, after, day=day)
        for day, (before, after) in enumerate(itertools.pairwise(rows))
    ]
    produce(settings, topic, [(b"1", orjson.dumps(each)) for each in events])
    example("patient_changes", topic)
    group = GroupOffsets(settings, "patient-changes", topic)
    wait_until(lambda: len(events) == group.read([0])[0], PATIENCE)
    group.close()


def known_of(settings):
    return {message.key() for message in read_topic(settings, PATIENTS.name)}
