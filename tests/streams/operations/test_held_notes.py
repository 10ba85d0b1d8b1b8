"""Held notes as operators see them, and their commands; Kafka: tests/end_to_end."""

from __future__ import annotations

import pytest
from typer.testing import CliRunner

from streams.cli.app import app
from streams.model.patients.demographics import PatientId
from streams.model.patients.updates import HeldCommand, decode_update
from streams.operations.held_notes import WaitingNote, commands, not_first

ONE, OTHER = PatientId("N", "one"), PatientId("N", "other")


def waiting(offset, patient=ONE, policy="hold", note_type="OP"):
    return WaitingNote(3, offset, patient, note_type, policy, 1, 0)


def test_a_note_behind_one_that_is_not_chosen_is_not_first():
    notes = [
        waiting(1),
        waiting(2, OTHER),
        waiting(3),
        waiting(4, policy="wait"),
        waiting(5),
    ]

    assert not_first(notes, {"notes/3/1", "notes/3/2", "notes/3/3"}) == []
    assert not_first(notes, {"notes/3/3", "notes/3/4", "notes/3/5"}) == [
        "notes/3/3",
        "notes/3/5",
    ]


def test_a_command_is_one_update_for_each_patient_under_its_key():
    notes = [waiting(7), waiting(2, OTHER), waiting(5)]

    messages = [*commands(notes, "release")]

    assert [each.key for each in messages] == [ONE.key, OTHER.key]
    updates = [decode_update(each.value) for each in messages]
    assert [each.command for each in updates] == [
        HeldCommand(release=(5, 7)),
        HeldCommand(release=(2,)),
    ]
    assert all(each.is_only_a_command for each in updates)


def test_many_notes_of_a_patient_are_several_commands_in_their_order():
    messages = [*commands(map(waiting, range(250)), "discard")]

    offsets = [decode_update(each.value).command.discard for each in messages]
    assert [len(each) for each in offsets] == [100, 100, 50]
    assert [offset for each in offsets for offset in each] == [*range(250)]


@pytest.mark.parametrize(
    ("code", "shown"),
    [("11506-3", "11506-3"), ("ZZNAME", "other"), ("OP-X", "OP-X"), ("", "none")],
)
def test_a_type_that_is_not_known_is_not_shown(code, shown):
    assert shown == waiting(1, note_type=code).shown_type({"OP-X"})


def test_a_waiting_note_shows_no_patient():
    assert "one" not in repr(waiting(1))


@pytest.mark.parametrize(
    "arguments",
    [
        ["release"],
        ["release", "--all", "notes/0/1"],
        ["release", "--all", "--type", "OP"],
        ["release", "notes/0"],
        ["release", "hl7.raw/0/1"],
        ["discard"],
        ["discard", "7"],
    ],
)
def test_a_command_without_a_clear_choice_is_refused(arguments):
    done = CliRunner().invoke(app, ["held", *arguments])

    assert done.exit_code == 2
