"""Faults of disks, files and clocks."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import time
from contextlib import contextmanager
from errno import ENOSPC
from pathlib import Path

import orjson

from streams.demo.flow import read_topic
from streams.engine.exit_status import EX_IOERR
from streams.kafka.topics import PHI_AUDIT
from tests.faults.run import Skipped
from tests.faults.scenarios import faults_of, scenario

MIB = 1024 * 1024
HOUR = 3600
AHEAD_SECONDS = 20


@scenario(effects={"files deleted": "", "tables made anew": ""})
def store_deleted(run):
    """The tables of a worker are deleted, stopped and running."""
    run.start(intake=1, scrub=1)
    run.seen.must_abort = False
    for number in run.moments(faults_of(run, 4)):
        folder = run.tables_of("scrub", 0)
        if number % 2:
            run.stop_service("scrub", 0)
        run.effect("files deleted", sum(e.is_file() for e in folder.rglob("*")))
        shutil.rmtree(folder, ignore_errors=True)
        run.fault(f"tables deleted, {'stopped' if number % 2 else 'running'}")
        if number % 2:
            run.start_service("scrub", 0)
        run.wait_for_progress()
        if number % 2:
            anew = sum(each.is_dir() for each in folder.iterdir())
            run.effect("tables made anew", anew)


@scenario(effects={"tables restored": r"patients\[\d+\]: .*; restored"})
def store_damaged(run):
    """Files of a stopped worker's tables are overwritten, cut short or swapped."""
    run.start(intake=1, scrub=1)
    run.seen.must_abort = False
    for _ in run.moments(faults_of(run, 4)):
        run.stop_service("scrub", 0)
        folders = sorted(run.tables_of("scrub", 0).iterdir())
        for folder in folders:
            files = sorted(each for each in folder.iterdir() if each.is_file())
            hit = run.rng.choice([each for each in files if each.stat().st_size])
            size = hit.stat().st_size
            with hit.open("r+b") as file:
                if run.rng.random() < 0.5:
                    file.truncate(run.rng.randrange(size))
                else:
                    file.seek(run.rng.randrange(size))
                    file.write(run.rng.randbytes(64))
            run.seen.injected[f"damaged {hit.suffix or hit.name.split('-')[0]}"] += 1
        run.fault("tables damaged")
        run.start_service("scrub", 0)
        run.wait_for_progress()


@scenario(exits=(EX_IOERR,), effects={"exit 74": ""})
def state_full(run):
    """The state folder of scrub has no space left; it stops, and goes on with space."""
    with small_disk(24) as disk:
        run.start(intake=1, scrub=0)
        run.seen.must_abort = False
        state = {"state_dir": disk / "state"}
        # The log needs space of its own.
        log = run.settings.state_dir.parent / "scrub-0" / "scrub.log"
        log.parent.mkdir()
        (disk / log.name).symlink_to(log)
        run.start_service("scrub", 0, **state)
        for _ in run.moments(faults_of(run, 2)):
            before = run.seen.exits[EX_IOERR]
            fill(disk)
            run.fault("state folder full")
            # Rows go to files when a store is closed: hence the restart.
            run.stop_service("scrub", 0, status=None)
            run.start_service("scrub", 0, **state)
            # The service may also have found room in what it had open.
            deadline = time.monotonic() + 60
            while run.seen.exits[EX_IOERR] == before and time.monotonic() < deadline:
                time.sleep(0.5)
            run.effect("exit 74", run.seen.exits[EX_IOERR] - before)
            (disk / "filling").unlink()
            run.wait_for_progress()
        run.finish_services()


@scenario(effects={"workers without temp folder": ""})
def temp_full(run):
    """The folder for temporary files has no space left."""
    with small_disk(2) as disk, environment(TMPDIR=str(disk)):
        fill(disk)
        run.use_interpreters()
        run.start()
        run.seen.must_abort = False
        for number in run.moments(2):
            run.fault("temp folder full")
            if number == 1:
                run.kill_worker("scrub", 0)
            run.effect("workers without temp folder", has_no_temp(run.worker("scrub")))
        run.finish_services()


@scenario(fresh=True, effects={"broker halted or offline": ""})
def broker_full(run):
    """The log folder of a broker has no space left: it halts, and is freed."""
    node_id = run.cluster.nodes[0].id
    folder = run.cluster.folder / f"node-{node_id}" / "data"
    run.seen.must_abort = False
    run.cluster.stop(node_id)
    with small_disk(400) as disk:
        shutil.copytree(folder, disk, dirs_exist_ok=True)
        shutil.rmtree(folder)
        folder.symlink_to(disk)
        try:
            run.cluster.start(node_id)
            run.cluster.wait()
            run.start()
            for _ in run.moments(faults_of(run, 2)):
                fill(disk)
                run.fault("broker's log folder full")
                time.sleep(15)
                (disk / "filling").unlink()
                is_running = run.cluster.runs(node_id)
                is_hit = not is_running or not run.cluster.is_whole()
                run.effect("broker halted or offline", is_hit)
                if not is_running:
                    run.cluster.start(node_id)
                elif is_hit:
                    run.cluster.kill(node_id)
                    run.cluster.wait_without(node_id)
                    run.cluster.start(node_id)
                run.cluster.wait()
            run.finish_services()
        finally:
            # The audit reads the topics once the disk is gone.
            run.cluster.stop(node_id)
            folder.unlink()
            shutil.copytree(disk, folder)
    run.cluster.start(node_id)
    run.cluster.wait()


@scenario(
    effects={
        "audit events of another time": "",
        "batches undone": r"batch undone \(RetriableError.*INVALID_TIMESTAMP",
    }
)
def clock_jumps(run):
    """The clock of workers jumps by an hour, and by a year, in both directions.

    More than an hour ahead, brokers refuse what is written: then it is set right.
    """
    shim = run.settings.state_dir.parent / "clock.so"
    offset = run.settings.state_dir.parent / "clock-offset"
    offset.write_bytes(bytes(8))
    build_clock(shim)
    with environment(LD_PRELOAD=str(shim), TESTS_CLOCK_FILE=str(offset)):
        run.use_interpreters()
        run.start()
        run.seen.must_abort = False
        jumps = [HOUR, -HOUR, 365 * 24 * HOUR, -365 * 24 * HOUR, 0]
        for number in run.moments(max(5, faults_of(run, 10))):
            seconds = jumps[number % len(jumps)]
            set_clock(offset, seconds)
            run.fault(f"clock at {seconds / HOUR:+,.0f} h", set())
            if number % 2:
                run.worker(*run.rng.choice([("intake", 0), ("scrub", 0)])).kill()
                run.fault("kill -9", set())
            if seconds > HOUR:
                time.sleep(AHEAD_SECONDS)
                set_clock(offset, 0)
            run.wait_for_progress()
        set_clock(offset, 0)
        run.finish_services()
        run.effect("audit events of another time", count_strays(run))


def set_clock(file, seconds):
    """Move the clock of the processes that have mapped the file.

    In place: one that looks while it is empty would end with SIGBUS.
    """
    with file.open("r+b") as mapped:
        mapped.write(seconds.to_bytes(8, "little", signed=True))


def count_strays(run):
    """Count the audit events whose time is an hour off, or more."""
    now = time.time() * 1000
    events = (orjson.loads(e.value()) for e in read_topic(run.direct, PHI_AUDIT.name))
    return sum(abs(each.get("at_ms", now) - now) > HOUR * 900 for each in events)


def has_no_temp(worker):
    """Return whether the folder for temporary files of a worker is full."""
    folder = Path(worker.environ().get("TMPDIR", tempfile.gettempdir()))
    try:
        with (folder / "one-more").open("wb", buffering=0) as file:
            file.write(b"\0")
    except OSError as error:
        return error.errno == ENOSPC
    return False


@contextmanager
def small_disk(mebibytes):
    """Mount a file system in memory; only root may."""
    if os.geteuid():
        raise Skipped("needs root to mount a small file system in memory")
    folder = Path(tempfile.mkdtemp(prefix="phistream-disk-"))
    command = ["mount", "-t", "tmpfs", "-o", f"size={mebibytes}m", "tmpfs", folder]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        folder.rmdir()
        raise Skipped(f"a small file system can't be mounted: {done.stderr.strip()}")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", folder], check=False)
        folder.rmdir()


def fill(disk):
    """Write until nothing more fits."""
    with (disk / "filling").open("wb", buffering=0) as file:
        for size in (MIB, 4096, 64):
            try:
                while True:
                    file.write(b"\0" * size)
            except OSError:
                continue


@contextmanager
def environment(**changes):
    """Set variables for the processes that are started inside the block."""
    before = {name: os.environ.get(name) for name in changes}
    os.environ.update(changes)
    try:
        yield
    finally:
        for name, value in before.items():
            os.environ.pop(name)
            if value is not None:
                os.environ[name] = value


def build_clock(target):
    """Compile the library that shows processes another time of day."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        raise Skipped("needs a C compiler, to show services another time of day")
    source = Path(__file__).with_name("clock.c")
    command = [compiler, "-shared", "-fPIC", "-O2", "-o", target, source, "-ldl"]
    subprocess.run(command, check=True, capture_output=True)
