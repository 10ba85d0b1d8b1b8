"""Faults of processes: workers and supervisors that die, stand still, come and go."""

from __future__ import annotations

import math
import os
import signal
import time

from tests.faults.scenarios import faults_of, scenario
from tests.harness import worker_processes
from tests.poison import MARK, faulty

SLOTS = [("intake", 0), ("scrub", 0), ("scrub", 1)]
FROZEN_SECONDS = 9
"""Longer than the session timeout of the runs."""


@scenario(effects={"inside of a transaction": ""}, settings={"rebuild_messages": True})
def worker_kill(run):
    """kill -9 of workers of both stages at random moments, one inside a transaction."""
    run.start(observed=True)
    for number in run.moments(faults_of(run, 12)):
        if number == 1:
            run.kill_worker_inside("intake")
        else:
            run.kill_worker(*run.rng.choice(SLOTS))


@scenario(effects={"inside of a transaction": ""})
def worker_freeze(run):
    """SIGSTOP past the session timeout, then SIGCONT; others take over meanwhile."""
    run.start(intake=2, scrub=2)
    for _ in run.moments(faults_of(run, 6)):
        stage, slot = run.rng.choice([*SLOTS, ("intake", 1)])
        freeze(run, stage, slot)
        run.wait_for_progress()


def freeze(run, stage, slot):
    worker = run.freeze_worker(stage, slot)
    time.sleep(FROZEN_SECONDS)
    run.thaw(stage, slot, worker)


@scenario(effects={"inside of a transaction": ""})
def worker_freeze_replaced(run):
    """The same with a replacement on the same transactional id; then both are there."""
    run.start(intake=1, scrub=2)
    for number in run.moments(faults_of(run, 4)):
        stage, slot = SLOTS[number % len(SLOTS)]
        worker = run.freeze_worker(stage, slot)
        replacement = f"other-host-{number}"
        run.start_service(stage, slot, place=replacement)
        run.worker(stage, replacement)
        time.sleep(FROZEN_SECONDS)
        run.thaw(stage, slot, worker)
        time.sleep(run.rng.uniform(0, 4))
        # A person ends one of the two.
        run.stop_service(stage, replacement, status=None)


@scenario(effects={"workers without supervisor": ""})
def supervisor_kill(run):
    """kill -9 of supervisors: their workers end, and are replaced at once."""
    run.start()
    orphans = []
    for _ in run.moments(faults_of(run, 8)):
        orphans += kill_supervisor(run, *run.rng.choice(SLOTS))
    deadline = time.monotonic() + 90
    while any(each.is_running() for each in orphans) and time.monotonic() < deadline:
        time.sleep(0.2)
    if alive := sum(each.is_running() for each in orphans):
        run.wrong.append(f"{alive} workers outlive their supervisors")
    run.effect("workers without supervisor", len(orphans))
    run.seen.must_abort = False  # a worker that loses its supervisor ends in order


def kill_supervisor(run, stage, slot):
    """Return its workers, which end by themselves."""
    partitions = run.partitions(stage, slot)
    workers = run.kill_service(stage, slot)
    run.fault(f"kill -9 supervisor of {stage}", partitions)
    time.sleep(run.rng.choice([0, 0.2, 2]))
    run.start_service(stage, slot)
    return workers


@scenario(effects={"workers replaced": ""})
def supervisor_freeze(run):
    """SIGSTOP of supervisors alone, while their workers die or go on."""
    run.start()
    run.seen.must_abort = False
    for number in run.moments(faults_of(run, 4)):
        stage, slot = run.rng.choice(SLOTS)
        partitions, worker = run.partitions(stage, slot), run.worker(stage, slot)
        pid = run.service(stage, slot).process.pid
        os.kill(pid, signal.SIGSTOP)
        if number % 2:
            worker.kill()
        time.sleep(FROZEN_SECONDS)
        run.fault(f"SIGSTOP supervisor of {stage}", partitions)
        os.kill(pid, signal.SIGCONT)
        if number % 2:
            run.wait_for(lambda s=stage, n=slot, w=worker: run.worker(s, n) != w)
            run.effect("workers replaced")


@scenario(effects={"partitions given to added workers": ""})
def workers_come_and_go(run):
    """Every two seconds a worker of scrub is added or removed."""
    run.start(intake=1, scrub=1)
    extra = [1, 2, 3]
    running = set()
    run.seen.must_abort = False
    run.wait_for_progress()
    given = turn = 0
    # As long as there is work, and until a worker came in time to get a part of it.
    while run.watch.done < 0.75 * run.notes or not given:
        turn += 1
        run.feed.limit = turn * run.notes // 20 + run.feed.window
        slot = run.rng.choice(extra)
        if slot in running:
            running.remove(slot)
            run.stop_service("scrub", slot, status=None)
            run.fault("worker removed", count=1)
        else:
            running.add(slot)
            run.start_service("scrub", slot)
            run.fault("worker added", count=1)
        if run.seen.injected.total() > 60:
            break
        time.sleep(2)
        given = run.count_lines(r"assigned \[\d", "scrub-[123]")
    run.feed.limit = math.inf
    run.effect("partitions given to added workers", given)
    run.remarks.append(
        "the next change comes two seconds after the last; removing one waits for it"
    )


@scenario(settings={"transaction_seconds": 2}, effects={"inside of a transaction": ""})
def slow_processing(run):
    """Processing that outlasts the transaction timeout of 2 s."""
    run.use_interpreters()
    with faulty("slow"):
        run.start()
    for _ in run.moments(faults_of(run, 6)):
        stage, slot = run.rng.choice(SLOTS)
        worker = run.freeze_worker(stage, slot)
        # Below the session timeout: the group does not notice, the transaction ends.
        time.sleep(4)
        run.thaw(stage, slot, worker)
        run.send_note(MARK.encode())
        run.seen.injected["note that takes 3 s"] += 1


@scenario(effects={"slot taken": "has joined the group under this one's name"})
def same_id_twice(run):
    """Two workers with one slot: one transactional id and one static member."""
    run.start()
    run.seen.must_abort = False
    for number in run.moments(faults_of(run, 3)):
        stage, slot = SLOTS[number % len(SLOTS)]
        twin = f"twin-{number}"
        run.start_service(stage, slot, place=twin)
        run.worker(stage, twin)
        run.fault(f"second {stage} of one slot")
        time.sleep(10)
        run.stop_service(stage, twin, status=None)


@scenario(effects={"workers drained": "has drained"})
def sigterm(run):
    """SIGTERM at random moments, and a new service at once."""
    run.start()
    run.seen.must_abort = False
    for _ in run.moments(faults_of(run, 10)):
        terminate(run, *run.rng.choice(SLOTS))


def terminate(run, stage, slot):
    partitions = run.partitions(stage, slot)
    if not worker_processes(run.service(stage, slot)):
        return
    run.stop_service(stage, slot, status=None)
    run.fault(f"SIGTERM {stage}", partitions)
    run.start_service(stage, slot)
