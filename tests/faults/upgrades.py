"""Versions that change under load: of Kafka's brokers, and of phistream's workers."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
import tomllib
from contextlib import contextmanager
from pathlib import Path

import orjson

from streams.cluster.local_broker.runtime import Jar
from streams.cluster.topics import NOTES
from streams.demo.flow import read_topic
from streams.demo.services import Service, _environment
from streams.engine.settings import PREFIX
from tests.faults.run import Skipped
from tests.faults.scenarios import scenario

ROOT = Path(__file__).parents[2]
EARLIER_KAFKA = Path(__file__).with_name("earlier_kafka.toml")
BEFORE_NOTES_V2 = "f0a531d00f96504ef6e1c7d0746852275a7dbf44"
"""The last version of phistream whose intake writes, and whose scrub reads, notes of
version 1 alone."""


def jars_of(table):
    found = tomllib.loads(EARLIER_KAFKA.read_text("utf-8"))[table]
    keys = ("groupId", "artifactId", "version", "sha256")
    return [Jar(*(each[key] for key in keys)) for each in found]


def earlier_kafka(cluster):
    cluster.jars = jars_of("dependencies")


@scenario(fresh=True, prepare=earlier_kafka, effects={"metadata.version changed": ""})
def brokers_upgraded(run):
    """Brokers of Kafka 4.2 go on with 4.3, one by one; then the metadata's version."""
    run.start()
    run.seen.must_abort = False
    for _ in run.moments(1, until=0.4):
        run.cluster.jars = ()
        for node in run.cluster.nodes:
            run.cluster.stop(node.id)
            run.fault("broker upgraded")
            run.cluster.start(node.id)
            run.cluster.wait()
            run.wait_for_progress()
    for _ in run.moments(1):
        done = run.cluster.run_tool(
            jars_of("tools"),
            "org.apache.kafka.tools.FeatureCommand",
            *("--bootstrap-server", run.cluster.bootstrap),
            *("upgrade", "--release-version", "4.3"),
        )
        run.fault("metadata.version raised")
        lines = [line for line in done.stdout.splitlines() if "metadata" in line]
        run.effect("metadata.version changed", len(lines))
        run.remarks += lines


@scenario()
def workers_upgraded(run):
    """Workers of before notes v2 are replaced under load: scrub first, then intake."""
    with earlier_version() as checkout:
        slots = [("scrub", 0), ("scrub", 1), ("intake", 0)]
        for stage, slot in slots:
            start_earlier(run, checkout, stage, slot)
        run.start(intake=0, scrub=0)
        run.seen.must_abort = False
        for number in run.moments(len(slots)):
            stage, slot = slots[number - 1]
            run.stop_service(stage, slot)
            run.fault(f"{stage} upgraded", run.partitions(stage))
            run.start_service(stage, slot)
            # However late the moment, some work is left for the new version.
            last = [run.send_note() for _ in range(20)][-1]
            run.wait_for_note(last)
        run.finish_services()
        count_versions(run, {1, 2})


@scenario()
def workers_downgraded(run):
    """The way back: intake first, then scrub once it has read all notes v2."""
    with earlier_version() as checkout:
        run.start()
        run.seen.must_abort = False
        for _ in run.moments(1, until=0.3):
            run.stop_service("intake", 0)
            start_earlier(run, checkout, "intake", 0)
            run.fault("intake downgraded", run.partitions("intake"))
            with run.feed.paused():
                run.wait_until_idle()
            for slot in (0, 1):
                run.stop_service("scrub", slot)
                start_earlier(run, checkout, "scrub", slot)
                run.fault("scrub downgraded", run.partitions("scrub"))
                run.wait_for_progress(20)
        run.finish_services()
        count_versions(run, {1, 2})


def count_versions(run, expected):
    """Require that notes of these versions were on the topic."""
    values = (orjson.loads(each.value()) for each in read_topic(run.direct, NOTES.name))
    found = {each["schema_version"] for each in values}
    run.remarks.append(f"versions of notes: {sorted(found)}")
    if found != expected:
        run.wrong.append(f"versions of notes: {found}, not {expected}")


@contextmanager
def earlier_version():
    """Check out the code of before notes v2; the environment is that of today."""
    folder = Path(tempfile.mkdtemp(prefix="phistream-earlier-"))
    git = ["git", "-C", str(ROOT)]
    add = [*git, "worktree", "add", "--detach", str(folder / "code"), BEFORE_NOTES_V2]
    done = subprocess.run(add, capture_output=True, text=True, check=False)
    if done.returncode:
        shutil.rmtree(folder)
        raise Skipped(f"the earlier version is not here: {done.stderr.strip()}")
    try:
        yield folder / "code"
    finally:
        remove = [*git, "worktree", "remove", "--force", str(folder / "code")]
        subprocess.run(remove, capture_output=True, check=False)
        shutil.rmtree(folder, ignore_errors=True)


def start_earlier(run, checkout, stage, slot):
    """Start a service of the earlier version, with those settings that it knows."""
    say = "from streams.engine.settings import Settings as S; print(*S.model_fields)"
    known = subprocess.run(
        [sys.executable, "-c", say],
        cwd=checkout,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()

    def start(stage, settings):
        log = (settings.state_dir.parent / f"{stage}.log").open("ab")
        given = {
            name: value
            for name, value in _environment(settings).items()
            if not name.startswith(PREFIX) or name.removeprefix(PREFIX).lower() in known
        }
        process = subprocess.Popen(
            [sys.executable, "-m", "streams.cli", "run", stage, "--workers", "1"],
            cwd=checkout,
            env=given,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
        return Service(stage, process, log)

    return run.start_service(stage, slot, starter=start)
