"""The audit of the join finds what a join has missed, and nothing else."""

from __future__ import annotations

import pytest

from deid_core import Document, KnownIdentifiers, PersonName
from tests.harness import feed_and_drain, produce, running
from tests.join_audit import LINES, UPDATES, RenamedWard, audit_join


def ward():
    return RenamedWard(seed=8, patients=20, note_words=30)


@pytest.mark.parametrize("line", LINES)
def test_only_the_patient_record_reveals_a_surname(line, hybrid):
    text = f"Progress note.\n{line.format('bodegatiq')}"
    patient = PersonName(family="bodegatiq", given="Anna")
    known = KnownIdentifiers(patient_names=(patient,))

    assert "bodegatiq" in hybrid.deidentify(Document("d", text)).text
    assert "bodegatiq" not in hybrid.deidentify(Document("d", text, known)).text


@pytest.fixture(scope="module")
def verdicts(module_cluster, tmp_path_factory):
    """The verdict on a ward, and that after an update was lost behind its back."""
    from tests.conftest import settings_for, with_topics

    folder = tmp_path_factory.mktemp("join")
    settings = with_topics(settings_for(module_cluster, folder, preset="lexical"))
    renamed = ward()
    with running(settings, "intake", "scrub") as services:
        feed_and_drain(settings, services, renamed.admissions())
        feed_and_drain(settings, services, renamed.messages(200))
        keys = [key for key, sent in renamed.surnames.items() if len(sent) > 1]
        update = renamed.renamed(keys[0])
        [*_, latest] = renamed.surnames[keys[0]]
        early = [renamed.probe(keys[0], {latest}), update]
        feed_and_drain(settings, services, early)
        before = audit_join(settings)
        produce(settings, UPDATES.name, [(keys[1], None)])
        lost = renamed.surnames[keys[1]][:2]
        feed_and_drain(settings, services, [renamed.probe(keys[1], lost)])
    return before, audit_join(settings)


def test_a_join_that_sees_all_updates_is_sound(verdicts):
    before, _ = verdicts

    assert before.notes > 100
    assert before.by_order > before.by_own_message > 10
    assert (0, 0) == (before.misses, before.refused), before.examples


def test_a_name_that_came_after_the_note_is_not_due(verdicts):
    before, _ = verdicts

    assert 1 == before.not_due


def test_a_join_that_misses_updates_is_found(verdicts):
    before, after = verdicts

    assert before.due + 2 == after.due
    assert 2 == after.misses
    assert 1 == len(after.examples)
