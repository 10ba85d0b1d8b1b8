"""A worker that shows no life is ended from outside, and none outlives its parent."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import time

import psutil
import pytest

from streams.engine.heartbeat import Heartbeat, Phase, Pulse

COMMON = """
import ctypes, multiprocessing, os, re, sys, time
from streams.engine.heartbeat import Heartbeat, Parent, Phase, Pulse
context = multiprocessing.get_context("spawn")
pulse = Pulse(Heartbeat(context), lambda phase: 0.8)
"""
HANGS = {
    "in Python": "\nwhile True: pass",
    "in a pattern": "re.search('(a+)+$', 'a' * 60 + 'b')",
    "holding the interpreter's lock": "ctypes.PyDLL(None).sleep(60)",
}


def status(program):
    done = subprocess.run(
        [sys.executable, "-c", COMMON + program], timeout=120, capture_output=True
    )
    return done.returncode


@pytest.mark.parametrize("hang", HANGS)
def test_the_backstop_ends_a_process_that_hangs(hang):
    assert status(HANGS[hang]) == 1


def test_a_process_that_beats_lives():
    """Longer than its limit, of which a busy host may take more than half."""
    patient = "pulse.backstop.stop()\npulse = Pulse(Heartbeat(context), lambda _: 5)\n"
    beats = "for _ in range(60): time.sleep(0.1); pulse.beat()"

    assert status(patient + beats + "\npulse.backstop.stop()") == 0


def test_an_end_that_is_settled_is_not_put_off():
    beats = "pulse.backstop.end_within(0.5)\nwhile True: time.sleep(0.05); pulse.beat()"

    assert status(beats) == 1


def test_a_call_that_does_not_return_ends_the_process_and_excuses_every_record():
    """What runs in the slot next learns that no record was the cause."""
    context = multiprocessing.get_context("spawn")
    heartbeat = Heartbeat(context)
    heartbeat.begin()
    heartbeat.enter(Phase.RUNNING)
    heartbeat.begin()
    before = heartbeat.life
    assert before.excused == {before.name}

    process = context.Process(target=hang_within, args=(heartbeat,))
    process.start()
    process.join(60)
    assert process.exitcode == 1
    heartbeat.begin()
    assert heartbeat.life.excused == {before.name, heartbeat.life.name}
    assert before.name != heartbeat.life.name

    # One that ends while it starts had no partition: it changes nothing.
    heartbeat.begin()
    assert {before.name} < heartbeat.life.excused
    assert len(heartbeat.life.excused) == 3

    heartbeat.enter(Phase.RUNNING)
    heartbeat.begin()
    assert heartbeat.life.excused == {heartbeat.life.name}


def test_a_process_that_is_accused_is_not_excused():
    heartbeat = Heartbeat(multiprocessing.get_context("spawn"))
    pulse = Pulse(heartbeat, lambda _phase: 60)
    pulse.accuse(True)
    with pulse.within(60):
        assert not heartbeat.is_excused
    pulse.excuse()
    assert not heartbeat.is_excused
    pulse.accuse(False)
    pulse.excuse()
    pulse.backstop.stop()
    assert heartbeat.is_excused


def hang_within(heartbeat):
    pulse = Pulse(heartbeat, lambda _phase: 60)
    pulse.enter(Phase.RUNNING)
    with pulse.within(0.5):
        time.sleep(60)


def test_a_call_that_returns_excuses_no_record():
    heartbeat = Heartbeat(multiprocessing.get_context("spawn"))
    pulse = Pulse(heartbeat, lambda _phase: 60)
    with pulse.within(2):
        assert heartbeat.is_excused
    time.sleep(2.5)
    pulse.backstop.stop()

    assert not heartbeat.is_excused
    pulse.excuse()
    with pulse.within(60):
        pass
    pulse.backstop.stop()
    assert heartbeat.is_excused


def test_starting_and_running_have_limits_of_their_own():
    program = """
limits = {Phase.STARTING: 30.0, Phase.RUNNING: 0.5}
pulse = Pulse(Heartbeat(context), limits.get)
time.sleep(1.5)
pulse.enter(Phase.RUNNING)
print("running", flush=True)
time.sleep(60)
"""
    done = subprocess.run(
        [sys.executable, "-c", COMMON + program],
        timeout=120,
        capture_output=True,
        text=True,
    )

    assert (done.returncode, done.stdout) == (1, "running\n")


PARENT = """
import multiprocessing, os, sys, time
sys.path.insert(0, {folder!r})
import orphan
if __name__ == "__main__":
    context = multiprocessing.get_context("spawn")
    from streams.engine.heartbeat import Heartbeat
    child = context.Process(
        target=orphan.child, args=(Heartbeat(context), os.getpid(), {late!r})
    )
    child.start()
    print(child.pid, flush=True)
    time.sleep(60)
"""
CHILD = """
import time
from streams.engine.heartbeat import Parent, Pulse
from streams.service.worker import Stop
def child(heartbeat, parent, late):
    time.sleep(late)
    pulse = Pulse(heartbeat, lambda phase: 60)
    stop = Stop(Parent(parent), pulse)
    while not stop():
        time.sleep(0.05)
"""


@pytest.mark.parametrize("late", [0.0, 2.0])
def test_a_worker_ends_with_its_supervisor_however_early_that_is_killed(tmp_path, late):
    (tmp_path / "orphan.py").write_text(CHILD)
    (tmp_path / "parent.py").write_text(PARENT.format(folder=str(tmp_path), late=late))
    with subprocess.Popen(
        [sys.executable, tmp_path / "parent.py"],
        stdout=subprocess.PIPE,
        env=os.environ | {"PYTHONPATH": os.getcwd()},
    ) as parent:
        child = psutil.Process(int(parent.stdout.readline()))
        parent.send_signal(signal.SIGKILL)
        parent.wait()
        deadline = time.monotonic() + 60
        while child.is_running() and time.monotonic() < deadline:
            if child.status() == psutil.STATUS_ZOMBIE:
                break
            time.sleep(0.1)

    assert not child.is_running() or child.status() == psutil.STATUS_ZOMBIE
