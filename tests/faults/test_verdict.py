"""A run is sound if its faults hit something, and explain all that came of them."""

from __future__ import annotations

from collections import Counter

import pytest

from deid_core import Deidentifier, Document, KnownIdentifiers
from streams.demo.ward import Ward
from tests.faults.audit import Audit
from tests.faults.playing import recovery_of
from tests.faults.run import Report
from tests.faults.scenarios import Scenario
from tests.faults.verdict import Seen, judge
from tests.faults.ward import NARRATIVE

FULL = Scenario("state-full", lambda _run: None, exits=(74,), effects={"exit 74": ""})


def seen(**changes):
    usual = {"injected": Counter(full=1), "effects": Counter({"exit 74": 1})}
    return Seen(**usual | {"exits": Counter({74: 1})} | changes)


def wrong(found=None, **changes):
    found = found or Audit(notes=100, published=100, aborted=3)
    return judge(found, seen(**changes), FULL)


def test_a_run_whose_faults_explain_all_is_sound():
    assert wrong() == []


@pytest.mark.parametrize("status", [0, -9, 1, 70, 78])
def test_a_service_that_ends_with_a_status_of_no_fault_is_wrong(status):
    [line] = wrong(exits=Counter({74: 1, status: 1}))

    assert f"{{{status}: 1}}" in line


@pytest.mark.parametrize("code", ["residue", "detector_failed"])
def test_dead_letters_that_no_fault_explains_are_wrong(code):
    found = Audit(notes=9, letters=Counter({("scrub", code): 9}), aborted=1)

    assert "no fault explains" in wrong(found)[0]
    assert wrong(found, letters=Counter({("scrub", code): 9})) == []


def test_fewer_dead_letters_than_poison_are_wrong():
    found = Audit(notes=9, letters=Counter({("scrub", "poison"): 1}), aborted=1)

    assert wrong(found, letters=Counter({("scrub", "poison"): 2}))
    assert wrong(Audit(aborted=1), letters=Counter({("scrub", "poison"): 2}))


def test_a_fault_that_hits_nothing_is_wrong():
    assert wrong(effects=Counter()) == ["the fault hit nothing: exit 74: 0"]
    assert wrong(effects=Counter({"exit 74": 0}))


def test_counts_of_zero_inject_nothing():
    assert wrong(injected=Counter({"answers lost": 0})) == ["nothing was injected"]


def test_a_run_without_aborted_records_hit_no_transaction():
    assert wrong(Audit(notes=1, published=1))
    assert wrong(Audit(notes=1, published=1), must_abort=False) == []


def test_a_fault_after_which_a_partition_writes_nothing_is_told():
    report = Report("x", Audit(), recovery=(1.0, 3.0), unrecovered=(60.0,))

    assert ">60.0" in recovery_of(report)
    assert recovery_of(Report("x", Audit(), recovery=(1.0, 3.0))) == "2.0/3.0"


def test_the_last_look_refuses_no_note_of_the_ward():
    lexical = Deidentifier.from_names(preset="lexical")
    ward = Ward(seed=1, patients=150, note_words=20, split="test")
    text = "\n".join(NARRATIVE)

    for person in ward.people:
        known = KnownIdentifiers(patient_names=(person.name, *person.former_names))
        assert lexical.deidentify(Document("d", text, known)).text
