"""What keeps watch's process running, and takes a record away that ends it."""

from __future__ import annotations

import os
import signal
import time

import pytest

from streams.engine.heartbeat import Phase
from streams.operations.watch import guard
from streams.operations.watch.guard import MAX_DEATHS, ProcessGuard, RecordPosition

TOPICS = ("phi.audit", "dead.letters")
POISON = RecordPosition("dead.letters", 3, 4711)


def dies_at_a_record(_heartbeat, current, _parent):
    if POISON in current.skipped:
        os._exit(0)
    with current.set(POISON):
        os.kill(os.getpid(), signal.SIGKILL)


def hangs_at_a_record(heartbeat, current, _parent):
    if POISON in current.skipped:
        os._exit(0)
    heartbeat.enter(Phase.RUNNING)
    with current.set(POISON):
        time.sleep(600)


def dies_between_records(_heartbeat, current, _parent):
    with current.set(POISON):
        pass
    os._exit(1 if not current.skipped else 78)


def refuses_its_settings(_heartbeat, _current, _parent):
    os._exit(78)


@pytest.fixture(autouse=True)
def impatient(monkeypatch):
    monkeypatch.setattr(guard, "MAX_BACK_OFF", 0.1)


def guarding(target, **limits):
    limits = {Phase.STARTING: 60.0, Phase.RUNNING: 1.0} | limits
    return ProcessGuard(target, TOPICS, limits.__getitem__)


@pytest.mark.parametrize("target", [dies_at_a_record, hangs_at_a_record])
def test_a_record_that_ends_watch_repeatedly_is_skipped(target):
    watched = guarding(target)

    assert watched.run() == 0
    assert dict(watched._deaths) == {POISON: MAX_DEATHS}


def test_a_refused_setting_ends_the_service():
    assert guarding(refuses_its_settings).run() == 78


def test_a_death_between_records_blames_no_record(monkeypatch):
    watched = guarding(dies_between_records)
    lives = []

    def pause(_seconds):
        lives.append(1)
        watched._is_stopping = len(lives) == 4

    monkeypatch.setattr(watched, "_pause", pause)

    assert watched.run() == 0
    assert not watched._deaths
