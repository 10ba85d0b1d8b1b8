"""Notes of patients of whom no name is known, on real Kafka."""

from __future__ import annotations

import signal
import time
from collections import defaultdict
from pathlib import Path
from types import SimpleNamespace

import orjson
import pytest

from streams.demo.flow import read_topic
from streams.kafka.topics import (
    NOTES,
    NOTES_HELD,
    NOTES_SCRUBBED,
    PATIENT_UPDATES,
    PHI_AUDIT,
)
from streams.model.notes import ClinicalNote
from streams.model.patients.demographics import (
    Demographics,
    Name,
    PatientId,
    PatientRecord,
)
from streams.model.patients.updates import PatientUpdate
from streams.operations.reconcile import Auditor
from tests.brokers import wait_until
from tests.commands import phistream
from tests.conftest import settings_for, with_topics
from tests.harness import (
    drain,
    produce,
    produce_notes,
    running,
    values,
    worker_processes,
)

pytestmark = pytest.mark.timeout(600)

FAMILY = "Zzquellwright"
BOUND = 45.0
START_SECONDS = 240


def patient(name):
    return PatientId("ZZWARD", f"zz-{name}")


def send_notes(settings, *names, note_type=""):
    """Publish notes, each named PATIENT.NUMBER, as intake does."""
    produce_notes(
        settings,
        *(
            ClinicalNote(
                name,
                patient(name.partition(".")[0]),
                note_type,
                "",
                f"{FAMILY} was seen, {name}",
            )
            for name in names
        ),
    )


def send_names(settings, *names):
    """Publish the demographics of patients."""
    records = []
    for name in names:
        demographics = Demographics(names=(Name(FAMILY),))
        update = PatientUpdate(PatientRecord(patient(name), "", demographics))
        value = orjson.dumps(PATIENT_UPDATES.schema.versioned(update.to_json()))
        records.append((patient(name).key, value))
    produce(settings, PATIENT_UPDATES.name, records)


def outcomes(settings):
    """Count the audit events by outcome and reason of release."""
    counts = defaultdict(int)
    for each in values(settings, PHI_AUDIT.name):
        counts[each["outcome"], each.get("held", "")] += 1
    return dict(counts)


def scrubbed(settings):
    """Return the names of the scrubbed notes, by partition in order."""
    return [
        orjson.loads(each.value())["text"].rpartition(" ")[2]
        for each in read_topic(settings, NOTES_SCRUBBED.name)
    ]


def rows(settings):
    """Return the rows that `notes.held` has left."""
    latest = {
        each.key(): each.value() for each in read_topic(settings, NOTES_HELD.name)
    }
    return {key: value for key, value in latest.items() if value is not None}


def verdict(settings):
    [found] = [v for v in Auditor(settings).verdicts() if v.topic == NOTES.name]
    return found


def wait_for(service, condition, seconds=START_SECONDS):
    def check():
        service.check()
        return condition()

    try:
        wait_until(check, seconds)
    except BaseException:  # the end of a test's time is one too
        print(f"last lines of the log:\n{service.tail(60)}")
        raise


def command(settings, folder, *arguments):
    return ask(settings, folder, "held", *arguments)


def ask(settings, folder, *arguments):
    config = folder / "held.toml"
    config.write_text(
        f'bootstrap = "{settings.bootstrap}"\ngroup = "{settings.group}"\n'
        '[unknown_patient_types]\n"OP" = "hold"\n'
    )
    return phistream(*arguments, "--config", config, text=True)


@pytest.fixture(scope="module")
def ward(module_cluster, tmp_path_factory):
    """What became of notes whose demographics came late, or never."""
    folder = tmp_path_factory.mktemp("held")
    settings = with_topics(
        settings_for(
            module_cluster,
            folder,
            preset="lexical",
            log_level="debug",
            unknown_patient="wait",
            unknown_patient_seconds=BOUND,
            unknown_patient_types={"OP": "hold", "DS": "scrub"},
        )
    )
    with running(settings, "scrub") as (service,):
        send_notes(settings, "warm.0", note_type="DS")
        wait_for(service, lambda: scrubbed(settings))

        begun = time.monotonic()
        send_notes(settings, "at0.0", "at1.0", "at5.0", "never.0", "at5.1")
        send_notes(settings, "never.1", note_type="DS")
        for name in ("released", "discarded", "named"):
            send_notes(settings, f"{name}.0", f"{name}.1", note_type="OP")
        send_names(settings, "at0")
        time.sleep(1)
        send_names(settings, "at1")
        time.sleep(4)
        send_names(settings, "at5", "named")
        send_notes(settings, "at5.2")
        wait_for(service, lambda: len(scrubbed(settings)) >= 9)
        early = SimpleNamespace(
            seconds=time.monotonic() - begun,
            scrubbed=scrubbed(settings),
            verdict=verdict(settings),
        )
        wait_for(service, lambda: "never.0" in scrubbed(settings))
        bound = time.monotonic() - begun

        listed = command(settings, folder, "list")
        status = ask(settings, folder, "status", "--json")
        found = orjson.loads(command(settings, folder, "list", "--json").stdout)
        at = places_by_name(settings, found)
        blocked = command(settings, folder, "release", at["released.1"])
        release = command(
            settings, folder, "release", at["released.0"], at["released.1"]
        )
        unsure = command(settings, folder, "discard", at["discarded.0"])
        discard = command(
            settings, folder, "discard", "--yes", at["discarded.0"], at["discarded.1"]
        )
        wait_for(service, lambda: not rows(settings))
        drain(settings, [service])
        gone = command(settings, folder, "release", at["released.0"])
        nothing = command(settings, folder, "release", "--all")
        log = Path(service.log.name)
    return SimpleNamespace(
        settings=settings,
        early=early,
        bound=bound,
        listed=listed,
        found=found,
        status=orjson.loads(status.stdout)["held"],
        names={*at},
        blocked=blocked,
        release=release,
        unsure=unsure,
        discard=discard,
        gone=gone,
        nothing=nothing,
        log=log.read_text(),
        verdict=verdict(settings),
        scrubbed=scrubbed(settings),
        outcomes=outcomes(settings),
    )


def places_by_name(settings, found):
    """Return the places of held notes by the notes' names."""
    places = {each["place"] for each in found}
    named = {}
    for each in read_topic(settings, NOTES.name):
        place = f"notes/{each.partition()}/{each.offset()}"
        if place in places:
            named[orjson.loads(each.value())["note_id"]] = place
    return named


def test_demographics_release_what_waits_and_what_is_held(ward):
    assert {
        "warm.0", "never.1", "at0.0", "at1.0", "at5.0", "at5.1", "at5.2",
        "named.0", "named.1",
    } == {*ward.early.scrubbed}  # fmt: skip
    assert ward.early.seconds < BOUND
    # never.0, and two each of released and discarded.
    assert ward.early.verdict.held == 5
    assert ward.early.verdict.is_sound


def test_the_bound_releases_what_still_waits(ward):
    assert BOUND <= ward.bound < BOUND + 60
    assert ward.outcomes["scrubbed", "time"] == 1


def test_the_list_shows_places_and_no_patient(ward):
    assert ward.names == {"released.0", "released.1", "discarded.0", "discarded.1"}
    assert {
        (each["note_type"], each["policy"], each["until"]) for each in ward.found
    } == {("OP", "hold", "")}
    assert all(each["place"] in ward.listed.stdout for each in ward.found)
    assert ward.status["notes"] == 4
    for shown in (ward.listed.stdout, orjson.dumps(ward.found).decode()):
        assert "zz" not in shown.lower()


def test_the_operator_decides_about_what_is_held(ward):
    assert (ward.blocked.returncode, ward.unsure.returncode) == (1, 1)
    assert "an earlier note of its patient waits" in ward.blocked.stderr
    assert (ward.release.returncode, ward.discard.returncode) == (0, 0)
    assert ward.gone.returncode == 1
    assert "does not wait" in ward.gone.stderr
    assert (
        ward.nothing.returncode,
        ward.nothing.stdout.partition(";")[0],
    ) == (0, "release published for 0 notes")
    assert ward.outcomes["scrubbed", "operator"] == 2
    assert ward.outcomes["discarded", ""] == 2


def test_nothing_is_lost_or_doubled_and_the_order_of_patients_is_kept(ward):
    assert ward.verdict.is_sound, ward.verdict.examples
    assert (ward.verdict.held, ward.verdict.pending) == (0, 0)
    assert 12 == len(ward.scrubbed) == len({*ward.scrubbed})
    assert in_order(ward.scrubbed)


def test_no_marker_is_in_logs_audit_events_or_headers(ward):
    texts = [ward.log]
    for topic in (PHI_AUDIT, NOTES_SCRUBBED, NOTES_HELD, NOTES, PATIENT_UPDATES):
        texts += [str(m.headers()) for m in read_topic(ward.settings, topic.name)]
    texts += [str(m.value()) for m in read_topic(ward.settings, PHI_AUDIT.name)]

    assert "debug" in ward.log
    shown = "".join(texts).lower()
    # Not "zz" alone: the client logs random ids of topics.
    for marker in (FAMILY, "ZZWARD", *(f"zz-{n}" for n in ("warm", "at", "never"))):
        assert marker.lower() not in shown


def in_order(names):
    """Return whether the notes of each patient and policy are in order."""
    last = {}
    for name in names:
        of, _, number = name.partition(".")
        # never.1 is of another type, and does not wait.
        if int(number) < last.get(of, -1) and of != "never":
            return False
        last[of] = int(number)
    return True


@pytest.mark.parametrize("seed", [1])
def test_kills_restarts_and_rebalances_lose_and_double_nothing(settings, seed):
    """Notes of 40 patients wait; half of them get a name while workers come and go."""
    changes = {
        "preset": "lexical",
        "session_seconds": 6,
        "unknown_patient": "wait",
        "unknown_patient_seconds": 60.0,
        "batch_records": 50,
    }
    settings = settings.model_copy(update=changes)
    people = [f"p{n}" for n in range(40)]

    def notes(numbers):
        send_notes(settings, *(f"{of}.{n}" for n in numbers for of in people))

    with running(settings, "scrub") as (first,):
        notes(range(4))
        wait_for(first, lambda: outcomes(settings).get(("held", ""), 0) == 160)
        [worker] = worker_processes(first)
        worker.send_signal(signal.SIGKILL)
        send_names(settings, *people[:10])
        notes([4])
        wait_for(first, lambda: len(scrubbed(settings)) >= 50)
        # A log of its own tells when it has joined.
        (folder := settings.state_dir.parent / "other").mkdir()
        changes = {"first_slot": 3, "state_dir": folder / "state"}
        other = settings.model_copy(update=changes)
        with running(other, "scrub") as (second,):
            wait_for(second, lambda: "assigned [" in Path(second.log.name).read_text())
            send_names(settings, *people[10:20])
            notes([5])
            for worker in worker_processes(second):
                worker.send_signal(signal.SIGKILL)
            wait_for(first, lambda: len(scrubbed(settings)) >= 120)
        wait_for(first, lambda: len(scrubbed(settings)) >= 240)
        drain(settings, [first])
        wait_for(first, lambda: not rows(settings))

    found = verdict(settings)
    assert found.is_sound, found.examples
    assert (found.held, found.pending) == (0, 0)
    names = scrubbed(settings)
    assert 240 == len({*names}) == len(names)
    assert in_order(names)
    reasons = outcomes(settings)
    assert reasons["scrubbed", "time"] > 0
    assert reasons["scrubbed", "demographics"] > 0
