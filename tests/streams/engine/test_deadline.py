"""A limit of CPU time interrupts what Python can interrupt, and nothing else."""

from __future__ import annotations

import re
import time

import pytest

from streams.engine.deadline import Deadline, Overrun


@pytest.fixture(scope="module")
def limited():
    return Deadline()


def spin():
    while True:
        pass


def swallowing():
    """As a detector that goes on whatever happens."""
    while True:
        try:
            spin()
        except Exception as error:
            print(type(error))


def in_a_finalizer():
    """What is raised in a finalizer is lost; it is raised again later."""

    class Slow:
        def __del__(self):
            until = time.process_time() + 0.3
            while time.process_time() < until:
                pass

    Slow()
    spin()


def backtracking():
    re.compile(r"(a+)+$").search("a" * 60 + "b")


@pytest.mark.parametrize("work", [spin, swallowing, backtracking, in_a_finalizer])
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_what_takes_too_much_cpu_time_is_interrupted(limited, work):
    began = time.process_time()

    with pytest.raises(Overrun):
        limited(work, 0.2)

    assert time.process_time() - began < 10


def test_what_ends_in_time_is_not_interrupted_afterwards(limited):
    assert limited(lambda: 7, 0.05) == 7
    until = time.process_time() + 0.3
    while time.process_time() < until:
        pass


def test_waiting_takes_no_cpu_time(limited):
    limited(lambda: time.sleep(0.4), 0.2)


def test_after_an_overrun_the_next_call_has_its_own_time(limited):
    for _ in range(3):
        with pytest.raises(Overrun):
            limited(spin, 0.05)
        assert limited(lambda: "fine", 0.05) == "fine"


def test_what_the_call_raises_comes_through(limited):
    with pytest.raises(ZeroDivisionError):
        limited(lambda: 1 // 0, 1)
