"""`phistream rescrub` on real Kafka: against the live feed, killed, and refused."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import orjson
import pytest
from confluent_kafka.admin import NewTopic

from streams.demo.flow import read_topic
from streams.demo.services import _environment
from streams.demo.ward import Ward
from streams.engine.errors import ConfigError, RetriableError
from streams.kafka.client import admin_client
from streams.kafka.offsets import GroupOffsets
from streams.kafka.topic_admin import partition_counts, topic_settings
from streams.kafka.topics import (
    DEAD_LETTERS,
    HL7_RAW,
    HL7_SCRUBBED,
    NOTES,
    NOTES_SCRUBBED,
    PATIENT_UPDATES,
    PATIENTS,
    PHI_AUDIT,
)
from streams.model.patients.demographics import (
    Demographics,
    Name,
    PatientId,
    PatientRecord,
)
from streams.model.patients.updates import PatientUpdate
from streams.operations.reconcile import Auditor
from streams.products.office.dead_letters import (
    DeadLetters,
    Replayed,
    Selection,
    to_replay,
)
from streams.products.rescrub.job import open_plan
from streams.products.rescrub.job import run as run_job
from streams.products.rescrub.proof import version_proof
from tests.brokers import wait_until
from tests.conftest import has_leaders, settings_for, with_topics
from tests.harness import drain, feed_and_drain, produce, raw, running, values

pytestmark = pytest.mark.timeout(900)

NOTES_FED = 120
ERASED, BACK = PatientId("N", "zz770011"), PatientId("N", "zz770022")
UNKNOWN = PatientId("N", "zz770033")


def rescrubbed(settings, into, begins="earliest", **changes):
    """Run a version to its end in this process; return the report."""
    settings = settings.model_copy(update=changes)
    return run_job(settings, open_plan(settings, into, begins))


def of_version(topic, version="v2"):
    return f"{topic.name}.{version}"


def by_source(settings, topic):
    """Return the values of a topic by partition and offset of their notes."""
    found = values(settings, topic)
    sources = [(e["source"]["partition"], e["source"]["offset"]) for e in found]
    assert len(sources) == len(set(sources)), "a note is there twice"
    return dict(zip(sources, found, strict=True))


def update(patient, family):
    record = PatientRecord(patient, "", Demographics(names=(Name(family),)))
    value = PATIENT_UPDATES.schema.versioned(PatientUpdate(record).to_json())
    return patient.key, orjson.dumps(value)


def note_event(name, patient, family):
    event = {
        "note_id": name,
        "patient": {
            "assigning_authority": patient.assigning_authority,
            "id": patient.id,
        },
        "text": f"Seen by the team: {family} is well.",
    }
    return orjson.dumps(event)


@pytest.fixture(scope="module")
def ward(module_cluster, tmp_path_factory):
    """A live feed that has published the notes of a ward, with surrogates."""
    folder = tmp_path_factory.mktemp("rescrub")
    settings = with_topics(settings_for(module_cluster, folder)).model_copy(
        update={
            "preset": "lexical",
            "policy": "surrogate",
            "rebuild_messages": True,
            "batch_records": 20,
        }
    )
    ward = Ward(seed=11, patients=20)
    messages = [*ward.admissions(), *ward.notes(NOTES_FED)]
    with running(settings, "intake", "scrub") as services:
        feed_and_drain(settings, services, map(raw, messages))
        produce(
            settings,
            PATIENT_UPDATES.name,
            [update(ERASED, "Zzquellwright"), update(BACK, "Zzotherman")],
        )
        drain(settings, services)
        events = [
            note_event("n-1", ERASED, "Zzquellwright"),
            note_event("n-2", BACK, "Zzotherman"),
            note_event("n-3", UNKNOWN, "Nobody"),
        ]
        produce(settings, HL7_RAW.name, [(b"k", each) for each in events])
        drain(settings, services)
        produce(settings, PATIENT_UPDATES.name, [(ERASED.key, None), (BACK.key, None)])
        drain(settings, services)
        # A record that begins anew lacks the name of before.
        produce(settings, PATIENT_UPDATES.name, [update(BACK, "Yynewname")])
        drain(settings, services)
    return settings


@pytest.fixture(scope="module")
def again(ward):
    """The same notes once more, with the same policy."""
    return rescrubbed(ward, "v2")


def left_out(settings):
    """Return the places of notes whose patient is not known (any more).

    Of some patients of the ward no demographics ever came.
    """
    gone = {each.key for each in (ERASED, BACK, UNKNOWN)}
    unknown = {
        (e["source"]["partition"], e["source"]["offset"])
        for e in values(settings, PHI_AUDIT.name)
        if e.get("join") == "missing"
    }
    return unknown | {
        (m.partition(), m.offset())
        for m in read_topic(settings, NOTES.name)
        if m.key() in gone
    }


def test_with_the_same_policy_a_version_is_equal_to_the_live_feed(ward, again):
    live = by_source(ward, NOTES_SCRUBBED.name)
    gone = left_out(ward)

    found = by_source(ward, of_version(NOTES_SCRUBBED))

    assert again.is_complete
    assert {p: e for p, e in live.items() if p not in gone} == found
    assert len(found) >= 100
    gone_ids = {live[place]["patient"].encode() for place in gone & live.keys()}
    messages = [
        (m.key(), m.value())
        for m in read_topic(ward, HL7_SCRUBBED.name)
        if m.key() not in gone_ids
    ]
    rebuilt = [(m.key(), m.value()) for m in read_topic(ward, of_version(HL7_SCRUBBED))]
    assert sorted(messages) == sorted(rebuilt)
    assert rebuilt


def test_notes_of_erased_and_unknown_patients_are_left_out(ward, again):
    events = [
        e for e in values(ward, of_version(PHI_AUDIT)) if e["outcome"] == "left_out"
    ]

    places = {(e["source"]["partition"], e["source"]["offset"]) for e in events}
    published = by_source(ward, of_version(NOTES_SCRUBBED))

    assert left_out(ward) == places
    assert not places & published.keys()
    assert len(places) == again.counts["left_out"] >= 3
    everything = str(published) + str(values(ward, of_version(PHI_AUDIT)))
    for name in ("Zzquellwright", "Zzotherman", "Nobody"):
        assert name not in everything


def test_audit_events_name_policy_and_preset_with_their_versions(ward, again):
    events = values(ward, of_version(PHI_AUDIT))

    counts = Counter(each["outcome"] for each in events)
    assert ward.partitions == counts["begun"]
    for each in events:
        assert (each["stage"], each["into"]) == ("rescrub", "v2")
        if each["outcome"] in ("begun", "scrubbed"):
            means = again.plan.means
            assert (each["preset"], each["policy"]) == ("lexical", "surrogate")
            assert means.policy_version == each["policy_version"]
            assert means.preset_version == each["preset_version"]


def test_the_live_feed_and_its_proof_are_as_before(ward, again):
    verdicts = Auditor(ward).verdicts()

    assert all(each.is_sound for each in verdicts), [e.examples for e in verdicts]


def test_topics_of_a_version_are_set_up_as_the_live_ones(ward, again):
    admin = admin_client(ward)
    counts = partition_counts(admin)
    for topic in (NOTES_SCRUBBED, HL7_SCRUBBED, PHI_AUDIT):
        name = of_version(topic)
        found = topic_settings(admin, [topic.name, name])
        assert counts[topic.name] == counts[name]
        assert found[topic.name] == found[name]


def test_another_policy_writes_other_texts_for_the_same_notes(ward, again):
    report = rescrubbed(ward, "v3", policy="safe-harbor")

    other = by_source(ward, of_version(NOTES_SCRUBBED, "v3"))
    same = by_source(ward, of_version(NOTES_SCRUBBED))

    assert report.is_complete
    assert same.keys() == other.keys()
    assert any("[NAME:PATIENT]" in each["text"] for each in other.values())
    assert not any("[NAME:PATIENT]" in each["text"] for each in same.values())
    # What links the versions: the same pseudonyms under the same key.
    for place, each in other.items():
        assert same[place]["note_id"] == each["note_id"]
        assert same[place]["patient"] == each["patient"]
        assert each["policy"] == "safe-harbor"


def test_a_run_from_offsets_reads_no_note_before_them(ward, again):
    first = {p: 5 + p for p in range(ward.partitions)}
    begins = ",".join(f"{p}:{at}" for p, at in first.items())

    rescrubbed(ward, "v4", begins)

    found = by_source(ward, of_version(NOTES_SCRUBBED, "v4"))
    all_of_them = by_source(ward, of_version(NOTES_SCRUBBED))
    assert {p for p in all_of_them if p[1] >= first[p[0]]} == found.keys()


def test_a_run_from_a_time_reads_the_notes_written_since(ward, again):
    times = {
        (m.partition(), m.offset()): m.timestamp()[1]
        for m in read_topic(ward, NOTES.name)
    }
    # A second is what the option can say.
    middle = sorted(times.values())[len(times) // 2] // 1000 + 1
    begins = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(middle))

    rescrubbed(ward, "v5", begins)

    found = by_source(ward, of_version(NOTES_SCRUBBED, "v5"))
    all_of_them = by_source(ward, of_version(NOTES_SCRUBBED))
    since = {p for p in all_of_them if times[p] >= middle * 1000}
    # Within a partition a note may lie behind one with a later time.
    assert since <= found.keys() < all_of_them.keys()


def test_a_complete_version_gets_nothing_from_another_run(ward, again):
    before = len(values(ward, of_version(PHI_AUDIT)))

    report = run_job(ward, open_plan(ward, "v2", None))

    assert report.is_complete
    assert not report.counts
    assert before == len(values(ward, of_version(PHI_AUDIT)))


def test_nothing_of_a_complete_version_is_left_in_the_state_folder(ward, again):
    left = [
        each
        for each in ward.state_dir.rglob("rescrub-v2-*/patients-*/*")
        if each.name != "LOCK" and each.is_file()
    ]

    assert left == []


@pytest.mark.parametrize(
    ("into", "begins", "changes", "says"),
    [
        ("v1", "earliest", {}, "live feed"),
        ("notes.scrubbed", "earliest", {}, "no version"),
        ("V2", "earliest", {}, "no version"),
        ("v0", "earliest", {}, "no version"),
        ("v90", None, {}, "not begun yet"),
        ("v90", "yesterday", {}, "no time and no offset"),
        ("v90", "0:1", {}, "each partition"),
        ("v90", "2999-01-01", {}, "begin earlier"),
        ("v90", "earliest", {"policy": "nope"}, "known:"),
        ("v2", "0", {}, "was begun with --from earliest"),
        ("v2", "earliest", {"policy": "safe-harbor"}, "policy surrogate"),
        ("v2", "earliest", {"preset": "hybrid"}, "preset lexical"),
    ],
)
def test_what_can_not_be_done_is_refused_with_the_next_step(
    ward, again, into, begins, changes, says
):
    settings = ward.model_copy(update=changes)

    with pytest.raises(ConfigError, match=says):
        open_plan(settings, into, begins)

    assert "notes.scrubbed.v90" not in partition_counts(admin_client(ward))


def test_a_version_with_records_but_no_plan_is_refused(ward):
    admin = admin_client(ward)
    for made in admin.create_topics([NewTopic("notes.scrubbed.v91", 1)]).values():
        made.result(30)
    wait_until(lambda: has_leaders(admin, "notes.scrubbed.v91"))
    produce(ward, "notes.scrubbed.v91", [(b"k", b"{}")])

    with pytest.raises(ConfigError, match="not empty"):
        open_plan(ward, "v91", "earliest")


def start(settings, *arguments):
    with (settings.state_dir.parent / "rescrub.log").open("ab") as log:
        return subprocess.Popen(
            [sys.executable, "-m", "streams.cli", "rescrub", *arguments],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            env=_environment(settings),
        )


def committed(settings, version):
    """Return the sum of the committed offsets of a version; 0 before there are any."""
    group = f"{settings.group}-rescrub-{version}"
    reader = GroupOffsets(settings, group, NOTES.name)
    try:
        return sum(reader.read(range(settings.partitions)).values())
    except RetriableError:  # a dead worker's transaction is open
        return 0
    finally:
        reader.close()


def killed_and_resumed(settings, version, kills, seed):
    """Run the command to its end, killed at random moments of its progress."""
    rng = random.Random(seed)
    end = sum(
        len([m for m in read_topic(settings, NOTES.name) if m.partition() == p])
        for p in range(settings.partitions)
    )
    moments = sorted(rng.randrange(1, int(end * 0.7)) for _ in range(kills))
    done = 0
    arguments = ["--into", version, "--from", "earliest"]
    deadline = time.monotonic() + 600
    while True:
        process = start(settings, *arguments)
        while process.poll() is None:
            assert time.monotonic() < deadline
            if done < kills and committed(settings, version) >= moments[done]:
                time.sleep(rng.uniform(0, 0.1))
                process.send_signal(signal.SIGKILL)
                process.wait()
                done += 1
            time.sleep(0.02)
        if process.returncode != -signal.SIGKILL:
            break
    log = Path(settings.state_dir.parent / "rescrub.log").read_text()
    assert process.returncode == 0, log
    assert f"{version}: complete" in log
    return done


def test_a_killed_run_goes_on_without_missing_or_doubling_a_note(ward, again):
    settings = ward.model_copy(update={"batch_records": 5, "session_seconds": 6})

    kills = killed_and_resumed(settings, "v6", 2, seed=1)

    assert kills
    expected = by_source(ward, of_version(NOTES_SCRUBBED))
    assert expected == by_source(ward, of_version(NOTES_SCRUBBED, "v6"))
    outcomes = Counter(e["outcome"] for e in values(ward, of_version(PHI_AUDIT, "v6")))
    before = Counter(e["outcome"] for e in values(ward, of_version(PHI_AUDIT)))
    assert before == outcomes


def test_no_row_and_no_offset_of_the_live_feed_is_written(ward, again):
    rows = [*read_topic(ward, PATIENTS.name)]
    live = GroupOffsets(ward, f"{ward.group}-scrub", NOTES.name)
    before = live.read(range(ward.partitions))

    rescrubbed(ward, "v7", policy="safe-harbor")

    assert before == live.read(range(ward.partitions))
    assert len(rows) == len([*read_topic(ward, PATIENTS.name)])
    live.close()


def test_the_proof_of_a_version_finds_nothing_wrong(ward, again):
    [verdict] = version_proof(ward, "v2").verdicts

    assert verdict.is_sound, verdict.examples
    # Notes and parts of messages.
    assert (again.counts["scrubbed"], again.counts["left_out"]) == (
        verdict.scrubbed,
        verdict.no_note,
    )
    assert verdict.inputs == verdict.scrubbed + verdict.no_note


def test_the_proof_finds_a_note_that_another_program_wrote(ward):
    rescrubbed(ward, "v8", "0")
    produce(ward, of_version(NOTES_SCRUBBED, "v8"), [(b"k", b'{"text": "x"}')])

    [verdict] = version_proof(ward, "v8").verdicts

    assert not verdict.is_sound
    assert {"malformed"} == {*verdict.faults}


def test_a_note_that_is_refused_is_a_dead_letter_of_the_version(ward, again):
    """Here for its size; the live feed and its proof have nothing to do with it."""
    report = rescrubbed(ward, "v9", max_note_bytes=1024)

    letters = values(ward, DEAD_LETTERS.name)
    assert report.counts["dead_letters"] == len(letters) > 0
    assert {(each["stage"], each["into"], each["code"]) for each in letters} == {
        ("rescrub", "v9", "too_large")
    }
    [verdict] = version_proof(ward, "v9").verdicts
    assert verdict.is_sound, verdict.examples
    assert len(letters) == verdict.dead_letters
    for each in Auditor(ward).verdicts():
        assert each.is_sound, each.examples
    done = Replayed()
    found = DeadLetters(ward)
    assert not [*to_replay(found, found.marks(), {}, Selection(), done)]
    assert len(letters) == len(done.unreadable)
    assert all("rescrub" in why for _place, why in done.unreadable)
