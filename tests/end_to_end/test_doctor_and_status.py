"""`phistream doctor` and `phistream status` on a real broker with real workers."""

from __future__ import annotations

import json
import os
import pty
import select
import subprocess
import sys
import time
from types import SimpleNamespace

import pytest
from confluent_kafka import Consumer, TopicPartition
from confluent_kafka.admin import NewPartitions

from streams.demo.ward import Ward
from streams.engine.claim import Claim
from streams.kafka.client import admin_client
from streams.kafka.local_broker import Cluster
from streams.kafka.local_broker.ports import free_ports
from streams.kafka.topic_admin import partition_counts
from streams.kafka.topics import NOTES, NOTES_SCRUBBED, PATIENTS
from streams.operations.doctor.checks import CHECKS, run_checks
from streams.operations.doctor.context import CheckContext
from streams.operations.doctor.finding import Level
from tests import commands
from tests.brokers import START_SECONDS
from tests.conftest import CACHE, settings_for, with_topics
from tests.end_to_end.test_main_job import FAMILY, MARKERS, MRN, adt, event
from tests.harness import RawMessage, feed_and_drain, produce, raw, running

KEY = MRN.encode()
COMMAND = [sys.executable, "-m", "streams.cli"]


@pytest.fixture(scope="module")
def ward(module_cluster, tmp_path_factory):
    """A cluster whose intake and scrub work, and have refused a record of each kind."""
    folder = tmp_path_factory.mktemp("doctor")
    settings = with_topics(settings_for(module_cluster, folder))
    settings.pseudonym_key_file.chmod(0o600)
    people = Ward(seed=5, split="test", patients=20, note_words=60)
    with running(settings, "intake", "scrub") as services:
        feed_and_drain(
            settings,
            services,
            [
                RawMessage(adt(), KEY),
                RawMessage(event("n1", f"{FAMILY} came."), KEY),
                RawMessage(b"zzfam is no message", KEY),
                *map(raw, people.admissions()),
                *map(raw, people.notes(30)),
            ],
        )
        yield SimpleNamespace(settings=settings, services=services)


def environment_of(settings):
    """Return the environment that gives a process these settings."""
    names = (
        "bootstrap",
        "group",
        "state_dir",
        "pseudonym_key_file",
        "dead_letter_key_file",
        "partitions",
        "broker_wait_seconds",
    )
    given = {
        f"PHISTREAM_{each.upper()}": str(getattr(settings, each)) for each in names
    }
    return os.environ | {"PYTHONPATH": os.getcwd()} | given


def phistream(settings, *arguments, **changes):
    environment = environment_of(settings) | {"COLUMNS": "80"} | changes
    return commands.phistream(*arguments, env=environment, text=True)


def context_of(settings, **options):
    names = ("bootstrap", "group", "state_dir")
    names += ("pseudonym_key_file", "dead_letter_key_file")
    overrides = {name: getattr(settings, name) for name in names}
    return CheckContext(None, overrides, {}, **options)


def checked(context, *names):
    """Run some checks, and what they need."""
    needed = {need for check in CHECKS if check.name in names for need in check.needs}
    checks = [check for check in CHECKS if check.name in {*names, *needed}]
    found = {each.check: each.findings for each in run_checks(context, checks)}
    return [finding for name in names for finding in found[name]]


def levels(findings):
    return [each.level for each in findings]


def text_of(findings):
    return " ".join(each.seen for each in findings)


# --- doctor


def test_broken_topics_and_values_fail_and_are_told_by_place_alone(settings):
    admin = admin_client(settings)
    admin.create_partitions([NewPartitions(PATIENTS.name, 6)])[PATIENTS.name].result()
    admin.delete_topics(["hl7.raw"])["hl7.raw"].result()
    # The controller has answered; the broker that is asked learns it a moment later.
    deadline = time.monotonic() + 120
    while (counts := partition_counts(admin))[PATIENTS.name] != 6 or (
        "hl7.raw" in counts
    ):
        assert time.monotonic() < deadline
        time.sleep(0.1)
    produce(settings, NOTES_SCRUBBED.name, [(b"k", b'{"text": "zzfam"}')])

    findings = checked(context_of(settings), "topics", "newest values", "features")

    assert Level.FAIL in levels(findings)
    for expected in (
        "missing, or hidden: hl7.raw",
        "patients has 6 partitions and notes 4",
        "notes.scrubbed[",
        "lacks",
    ):
        assert expected in text_of(findings)
    assert "zzfam" not in text_of(findings)


def test_a_working_installation_has_no_fail_and_every_check_says_something(ward):
    done = phistream(ward.settings, "doctor", "--json")

    told = json.loads(done.stdout)
    assert (done.returncode, told["level"]) == (0, "WARN"), done.stdout + done.stderr
    assert {check.name for check in CHECKS} == {
        row["check"] for row in told["findings"]
    }
    # One broker is no place for patients' notes; all else is as it should be.
    warned = {row["check"] for row in told["findings"] if row["level"] == "WARN"}
    assert warned == {"topics", "internal topics"}, told
    assert [word for word in MARKERS if word in done.stdout.lower()] == []


def test_people_read_the_same_in_80_columns(ward):
    done = phistream(ward.settings, "doctor", PHISTREAM_PRESET="lexical")

    assert done.returncode == 0
    assert max(map(len, done.stdout.splitlines())) <= 80
    assert "Kafka 4.0 or newer" in done.stdout
    assert "→ sufficient for a trial" in done.stdout
    assert "0 FAIL" in done.stdout


def test_the_brokers_clock_is_read_and_nothing_is_left_behind(ward):
    assert levels(checked(context_of(ward.settings), "clocks")) == [Level.OK]

    listed = admin_client(ward.settings).list_consumer_groups().result(60).valid
    assert f"{ward.settings.group}-doctor" not in {each.group_id for each in listed}


@pytest.mark.parametrize(
    ("hours", "level", "word"), [(1, Level.FAIL, "behind"), (-1, Level.FAIL, "ahead")]
)
def test_a_clock_that_is_an_hour_off_is_told(ward, hours, level, word):
    context = context_of(ward.settings, clock=lambda: time.time() + 3600 * hours)

    [finding] = checked(context, "clocks")

    assert level is finding.level
    assert word in finding.seen


def test_workers_that_work_are_counted(ward):
    findings = checked(context_of(ward.settings), "groups")

    assert levels(findings) == [Level.OK, Level.OK]
    assert "scrub: stable, 1 worker, nothing left to do" in text_of(findings)


def test_groups_that_nobody_works_in_are_told(ward):
    settings = ward.settings.model_copy(update={"group": "nobody"})

    findings = checked(context_of(settings), "groups")

    assert levels(findings) == [Level.WARN, Level.WARN]
    assert "0 workers" in text_of(findings)


def test_another_key_than_that_of_the_newest_notes_is_told(ward, tmp_path):
    other = tmp_path / "other.key"
    other.write_text(os.urandom(32).hex())
    other.chmod(0o600)
    settings = ward.settings.model_copy(update={"pseudonym_key_file": other})

    [finding] = checked(context_of(settings), "key in use")

    assert Level.WARN is finding.level
    assert "would not be linked" in finding.seen


def test_without_a_broker_the_rest_is_checked_all_the_same(ward):
    settings = ward.settings.model_copy(
        update={"bootstrap": f"127.0.0.1:{free_ports(1)[0]}"}
    )

    done = phistream(settings, "doctor", "--json", PHISTREAM_PRESET="lexical")

    rows = {row["check"]: row for row in json.loads(done.stdout)["findings"]}
    assert done.returncode == 1
    assert (rows["broker"]["level"], rows["self-test"]["level"]) == ("FAIL", "OK")
    assert rows["topics"]["seen"] == "not checked: broker failed"
    assert "Traceback" not in done.stdout + done.stderr


def test_an_unknown_setting_is_a_fail_and_no_traceback(ward):
    done = phistream(ward.settings, "doctor", PHISTREAM_BATCH_RECORD="7")

    assert done.returncode == 1
    assert "did you mean batch_records?" in " ".join(done.stdout.split())
    assert "Traceback" not in done.stdout + done.stderr


# --- status


def become(settings, wanted):
    """Wait until the check of topics ends on these levels; return what it found."""
    deadline = time.monotonic() + 120
    while True:
        found = checked(context_of(settings), "topics")
        if levels(found) == wanted:
            return found
        assert time.monotonic() < deadline, text_of(found)
        time.sleep(1)


@pytest.mark.kafka
@pytest.mark.long
def test_three_brokers_are_fine_until_one_of_them_dies(tmp_path):
    cluster = Cluster(tmp_path / "kafka", cache=CACHE)
    cluster.up(brokers=3, seconds=START_SECONDS)
    try:
        settings = with_topics(settings_for(cluster, tmp_path, replication=3))
        become(settings, [Level.OK])
        cluster.kill(3)
        # A moment nobody leads its partitions; then the others do, and it is missed.
        told = become(settings, [Level.OK, Level.WARN])
        done = phistream(settings, "status")
    finally:
        cluster.down()

    assert "copies are not in sync" in text_of(told)
    assert (done.returncode, done.stderr) == (0, "")


def test_status_counts_what_flowed_and_names_the_workers(ward):
    done = phistream(ward.settings, "status", "--json")

    told = json.loads(done.stdout)
    assert done.returncode == 0, done.stderr
    group = ward.settings.group
    assert {(row["group"], row["topic"]) for row in told["lags"]} == {
        (f"{group}-intake", "hl7.raw"),
        (f"{group}-scrub", "notes"),
        (f"{group}-scrub", "patient.updates"),
    }
    assert sum(row["records"] for row in told["lags"]) == 0
    assert [
        [member["name"] for member in row["members"]] for row in told["groups"]
    ] == [[f"{group}-intake-0"], [f"{group}-scrub-0"]]
    assert told["refused"] == [{"stage": "intake", "code": "bad_msh", "count": 1}]


def test_status_tells_what_an_owner_says_of_its_partition(settings):
    consumer = Consumer(settings.client(**{"group.id": f"{settings.group}-scrub"}))
    claim = str(Claim(is_held=True, suspects=5).taking(3))
    place = TopicPartition(NOTES.name, 1, 2, metadata=claim)
    consumer.commit(offsets=[place], asynchronous=False)
    consumer.close()

    done = phistream(settings, "status", "--json")

    [held] = json.loads(done.stdout)["quarantine"]
    assert (
        held["topic"], held["partition"], held["suspects"], held["record"]
    ) == ("notes", 1, 5, 3)  # fmt: skip


def test_in_a_pipe_there_is_one_picture_without_control_codes(ward):
    done = phistream(ward.settings, "status")

    assert done.returncode == 0
    assert done.stdout.count("hl7.raw ─") == 1
    assert "\x1b" not in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 80
    assert [word for word in MARKERS if word in done.stdout.lower()] == []


def test_in_a_terminal_it_lives_and_leaves_cleanly_on_ctrl_c(ward):
    process, render = on_a_terminal(ward.settings, "status", pictures=3)

    assert process.wait(120) == 0
    assert render.count("hl7.raw ─") >= 3
    assert "Traceback" not in render
    # The cursor that was hidden is shown again.
    assert render.rfind("\x1b[?25h") > render.rfind("\x1b[?25l") >= 0


def on_a_terminal(settings, *arguments, pictures):
    """Run a command on a terminal of its own; press Ctrl-C after some pictures."""
    ours, theirs = pty.openpty()
    environment = environment_of(settings) | {"TERM": "xterm", "COLUMNS": "80"}
    process = subprocess.Popen(
        [*COMMAND, *arguments],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
        preexec_fn=lambda: take_terminal(theirs),
        env=environment | {"LINES": "40"},
    )
    os.close(theirs)
    text, pressed = b"", False
    deadline = time.monotonic() + 90
    while time.monotonic() < deadline:
        if not select.select([ours], [], [], 0.2)[0]:
            continue
        try:
            read = os.read(ours, 65536)
        except OSError:
            break  # the other end was closed
        text += read
        if not pressed and text.count("hl7.raw ─".encode()) >= pictures:
            os.write(ours, b"\x03")
            pressed = True
    os.close(ours)
    return process, text.decode()


def take_terminal(terminal):
    """Make it the terminal that Ctrl-C comes from."""
    import fcntl
    import signal
    import termios

    # A shell that runs the tests in the background has them ignore it.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    fcntl.ioctl(terminal, termios.TIOCSCTTY, 0)


def test_status_without_topics_or_broker_says_what_to_do(ward):
    silent = ward.settings.model_copy(
        update={"bootstrap": f"127.0.0.1:{free_ports(1)[0]}", "broker_wait_seconds": 2}
    )

    done = phistream(silent, "status")

    assert (done.returncode, "no broker answers" in done.stderr) == (69, True)
