"""What the auditor believes is complete: it knows every topic that a stage writes."""

from __future__ import annotations

from types import SimpleNamespace

import orjson

from streams.kafka.topics import HL7_RAW, NOTES, PATIENT_UPDATES, TOPICS
from streams.operations.reconcile.auditor import OUTPUTS, Auditor, _RecordId
from streams.operations.reconcile.marks import HAS_SOURCE, INPUTS, SOURCES
from streams.operations.reconcile.verdict import TopicVerdict


def test_every_topic_that_is_no_table_has_records_that_are_judged():
    judged = {t.name for t in TOPICS if "delete" in t.cleanup and t is not HL7_RAW}

    assert judged == set(SOURCES) == set(OUTPUTS)
    assert set(INPUTS) - {HL7_RAW.name} <= judged


def test_a_source_is_read_from_the_value_wherever_its_schema_has_it():
    has_source = {
        topic.name
        for topic in TOPICS
        if topic.name in SOURCES
        and topic.schema_version
        and "source" in topic.schema.definition()["properties"]
    }

    assert has_source == HAS_SOURCE


class Replays(Auditor):
    """Judges a note at notes/1/7 that says it was the letter dead.letters/0/5."""

    LETTER = b"dead.letters/0/5"

    def __init__(self, *sources):
        self._verdicts = {NOTES.name: TopicVerdict(NOTES.name)}
        place = _RecordId(NOTES.name, 1, 7)
        self._said_replayed = {self.LETTER: [place]}
        self._replays = {}
        self._acts = 0
        self._marks_read = [
            mark_of({"source": {"topic": topic, "partition": p, "offset": 3}})
            for topic, p in sources
        ]

    def _messages(self, topic):
        return self._marks_read

    @property
    def is_sound(self):
        self._judge_replays()
        return not self._verdicts[NOTES.name].faults


def mark_of(value):
    return SimpleNamespace(
        key=lambda: Replays.LETTER,
        value=lambda: orjson.dumps(value),
        topic=lambda: "dead.letters.replayed",
    )


def act(stage, code="schema"):
    source = {"topic": "dead.letters", "partition": 0, "offset": 5}
    event = {"stage": stage, "code": code, "outcome": "replayed", "outputs": 1,
             "at_ms": 1, "source": source}  # fmt: skip
    return SimpleNamespace(value=lambda: orjson.dumps(event), topic=lambda: "phi.audit")


def test_a_mark_confirms_a_replay_to_its_own_topic_and_partition_alone():
    assert Replays((NOTES.name, 1)).is_sound
    for other in ((HL7_RAW.name, 1), (PATIENT_UPDATES.name, 1), (NOTES.name, 0)):
        assert not Replays(other).is_sound
    assert not Replays().is_sound


def test_an_audit_event_confirms_a_replay_of_a_letter_of_scrub_alone():
    for stage, is_sound in (("scrub", True), ("intake", False)):
        audit = Replays()
        assert audit._add_act(act(stage))
        assert is_sound == audit.is_sound


def test_a_letter_of_a_wrong_partition_is_replayed_to_that_of_its_key():
    for topic, is_sound in ((NOTES.name, True), (HL7_RAW.name, False)):
        audit = Replays((topic, 0))
        audit._add_act(act("scrub", "wrong_partition"))
        assert is_sound == audit.is_sound
