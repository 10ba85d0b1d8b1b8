"""Faults at each step of a transaction: the producer stops where it is asked to."""

from __future__ import annotations

import time
from contextlib import contextmanager

import psutil

from tests.brokers import wait_until
from tests.faults.scenarios import faults_of, scenario
from tests.poison import faulty

STEPS = (
    "after send_offsets", "after produce", "before commit", "before send_offsets",
    "after begin", "after commit", "before produce", "before begin",
)  # fmt: skip
"""Those first that leave a transaction open: a short run has two faults."""
STAGES = ("intake", "scrub")
STEP_SECONDS = 60


@scenario(effects={"stopped at a step": ""})
def worker_kill_at_steps(run):
    """kill -9 of workers before and after each step of a transaction."""
    with asked(run) as folder:
        run.start()
    for stage, step in _steps(run):
        partitions = run.partitions(stage, 0)
        if worker := stopped(run, folder, stage, step):
            worker.kill()
            run.fault(f"kill -9 {stage} {step}", partitions)


@scenario(brokers=3, effects={"stopped at a step": ""})
def broker_kill_at_steps(run):
    """kill -9 or restart of the transaction's coordinator at each step, in turn."""
    with asked(run) as folder:
        run.start()
    run.seen.must_abort = False  # its successor goes on with the transaction
    for number, (stage, step) in enumerate(_steps(run)):
        worker = stopped(run, folder, stage, step)
        if worker is None:
            continue
        name = f"{run.settings.group}-{stage}-0"
        node = run.cluster.leader_for("__transaction_state", name)
        is_kill = number % 4 in (0, 3)
        run.cluster.kill(node) if is_kill else run.cluster.stop(node)
        what = "kill -9 coordinator" if is_kill else "coordinator restarted"
        run.fault(f"{what}, {stage} {step}")
        worker.resume()
        if is_kill:
            run.cluster.wait_without(node)
        run.cluster.start(node)
        run.cluster.wait()


@contextmanager
def asked(run):
    """Start services that look in the folder for where they have to stop."""
    folder = run.settings.state_dir.parent / "steps"
    folder.mkdir()
    run.use_interpreters()
    with faulty(str(folder), "steps"):
        yield folder


def _steps(run):
    wanted = [(stage, step) for step in STEPS for stage in STAGES]
    for number in run.moments(faults_of(run, len(wanted))):
        yield wanted[number - 1]


def stopped(run, folder, stage, step):
    """Return the worker of the first slot once it has stopped (SIGSTOP) at a step."""
    request = folder / f"{run.settings.group}-{stage}-0 {step}"
    request.touch()
    deadline = time.monotonic() + STEP_SECONDS
    more = 0.0
    while request.exists():
        now = time.monotonic()
        if now > deadline and _is_withdrawn(request):
            run.wrong.append(f"{stage} did not come to: {step}")
            return None
        if now > more:
            run.feed.limit += run.feed.window // 8
            more = now + 1
        time.sleep(0.1)
    worker = run.worker(stage)
    wait_until(lambda: worker.status() == psutil.STATUS_STOPPED)
    run.effect("stopped at a step")
    return worker


def _is_withdrawn(request):
    """Return whether the worker has not taken the request at the last moment."""
    try:
        request.unlink()
    except FileNotFoundError:
        return False
    return True
