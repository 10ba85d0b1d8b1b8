"""Offsets and topics that are gone: nothing is published twice, nothing without names.

Services run in the test's process as far as their start: what is under test is what a
worker does before it joins its group.
"""

from __future__ import annotations

import shutil
import time

import orjson
import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient

from streams.demo.flow import read_topic
from streams.engine.claim import Claim
from streams.engine.custody import ProcessedOffset
from streams.engine.errors import ConfigError, RetriableError
from streams.engine.records import CommittedOffset, Partition, Record
from streams.kafka.client import CONSUMER, PRODUCER, admin_client
from streams.kafka.identities import topic_ids
from streams.kafka.topics import (
    HL7_RAW,
    NOTES,
    NOTES_SCRUBBED,
    PATIENT_UPDATES,
    PATIENTS,
    PHI_AUDIT,
    Stage,
)
from streams.model.audit import AuditEvent
from streams.model.notes import ClinicalNote
from streams.model.patients.demographics import (
    Demographics,
    Name,
    PatientId,
    PatientRecord,
)
from streams.model.patients.updates import PatientUpdate
from streams.model.seals import Seals, audit_key
from streams.service.lost_offsets import identities_of, restore_offsets, watched_topics
from streams.service.processed import Processed
from tests import harness
from tests.brokers import START_SECONDS, topics_of, wait_until
from tests.conftest import has_leaders, settings_for, with_topics
from tests.harness import drain, produce_notes, running, values

RECEIVED = int(time.time() * 1000) - 60_000
"""Recently: the broker deletes what is older than the retention of its topic."""


def produce(
    settings, topic, value=b"{}", *, key=b"k", partition=0, headers=None, at=RECEIVED
):
    producer, failures = Producer(settings.client(**PRODUCER)), []
    producer.produce(
        topic.name,
        value,
        key,
        partition=partition,
        headers=headers or {},
        timestamp=at,
        on_delivery=lambda error, _message: error and failures.append(error),
    )
    assert producer.flush(30) == 0
    assert not failures


def audited(settings, topic, offset, *, received=RECEIVED, outcome="", is_sealed=True):
    """Write the audit event of a record, as a worker does, or as an erasure does."""
    record = Record(
        Partition(topic.name, 0), offset, b"k", b"{}", timestamp_ms=received
    )
    outcome = outcome or "dead_letter"
    event = AuditEvent(stage=Stage.INTAKE, outputs=1, outcome=outcome, at_ms=1)
    event = event.output(record)
    if is_sealed:
        [event] = Seals(audit_key(settings.pseudonym_key())).sealed([event])
    produce(
        settings,
        PHI_AUDIT,
        event.value,
        key=event.key,
        headers=dict(event.headers),
        partition=1,
        at=int(time.time() * 1000),
    )


def committed(settings, stage, topic):
    group = Consumer(
        settings.client(**CONSUMER, **{"group.id": f"{settings.group}-{stage}"})
    )
    wanted = [TopicPartition(topic.name, p) for p in range(settings.partitions)]
    found = {each.partition: each.offset for each in group.committed(wanted, 30)}
    group.close()
    return {p: offset for p, offset in found.items() if offset >= 0}


def restore(settings, stage):
    ids = topic_ids(AdminClient(settings.client()), watched_topics(stage))
    restore_offsets(settings, stage, ids, beat=lambda: None)
    return committed(settings, stage, {Stage.INTAKE: HL7_RAW}.get(stage, NOTES))


def test_offsets_are_those_after_the_last_records_with_audit_events(settings):
    for number in range(5):
        produce(settings, HL7_RAW, at=RECEIVED + number)
    for number in (0, 1, 2):
        audited(settings, HL7_RAW, number, received=RECEIVED + number)
    audited(settings, NOTES, 4)

    assert restore(settings, Stage.INTAKE) == {0: 3}


def test_a_service_that_starts_for_the_first_time_begins_at_the_first_record(settings):
    produce(settings, HL7_RAW)

    assert restore(settings, Stage.INTAKE) == {}


def test_records_of_a_topic_that_was_made_anew_are_not_taken_for_the_former(settings):
    produce(settings, HL7_RAW, at=RECEIVED + 1)
    audited(settings, HL7_RAW, 0, received=RECEIVED)

    assert restore(settings, Stage.INTAKE) == {}


def test_acts_of_persons_and_events_without_a_seal_are_not_of_processing(settings):
    """`erase` writes an event of each dead letter, also of the last record."""
    for number in range(4):
        produce(settings, HL7_RAW, at=RECEIVED + number)
    for number in (0, 1):
        audited(settings, HL7_RAW, number, received=RECEIVED + number)
    audited(settings, HL7_RAW, 1, received=0, outcome="erased", is_sealed=False)
    audited(settings, HL7_RAW, 2, received=RECEIVED + 2, outcome="erased")
    audited(settings, HL7_RAW, 3, received=RECEIVED + 3, is_sealed=False)

    assert restore(settings, Stage.INTAKE) == {0: 2}


def test_later_records_of_a_former_topic_do_not_hide_those_of_the_new_one(settings):
    for number in range(5):
        produce(settings, HL7_RAW, at=RECEIVED + number)
    for number in range(40):
        audited(settings, HL7_RAW, number, received=RECEIVED - 1000 + number)
    for number in (0, 1):
        audited(settings, HL7_RAW, number, received=RECEIVED + number)

    assert restore(settings, Stage.INTAKE) == {0: 2}


def test_offsets_of_a_former_topic_are_not_those_of_the_new_one(settings):
    """As committed by a worker that had not noticed it."""
    for number in range(4):
        produce(settings, HL7_RAW, at=RECEIVED + number)
    audited(settings, HL7_RAW, 0)
    commit(settings, Stage.INTAKE, HL7_RAW, 3, Claim(of="a-former-topic"))

    assert restore(settings, Stage.INTAKE) == {0: 1}


def commit(settings, stage, topic, offset, claim):
    group = {"group.id": f"{settings.group}-{stage}"}
    consumer = Consumer(settings.client(**CONSUMER, **group))
    place = TopicPartition(topic.name, 0, offset, str(claim))
    consumer.commit(offsets=[place], asynchronous=False)
    consumer.close()


def test_offsets_that_a_person_has_set_are_left_alone(settings):
    produce(settings, HL7_RAW)
    audited(settings, HL7_RAW, 0)
    group = {"group.id": f"{settings.group}-intake"}
    consumer = Consumer(settings.client(**CONSUMER, **group))
    consumer.commit(offsets=[TopicPartition(HL7_RAW.name, 0, 0)], asynchronous=False)
    consumer.close()

    assert restore(settings, Stage.INTAKE) == {0: 0}


CLAIMED = str(Claim(of="a-topic", is_held=True))


def processed(settings, *offsets, metadata=CLAIMED, is_absent=False):
    """Ask how far records behind each committed offset in `hl7.raw` were processed."""
    place = Partition(HL7_RAW.name, 0)
    admin = admin_client(settings)
    ask = Processed(settings, admin, "intake", HL7_RAW.name, lambda: None)
    asked = [CommittedOffset(at, metadata, is_absent=is_absent) for at in offsets]
    return [ask({place: each})[place] for each in asked]


def test_an_old_offset_is_followed_by_what_was_processed_since(settings, monkeypatch):
    """However many events there are of other records since."""
    monkeypatch.setattr("streams.service.processed.TAIL", 2)
    for number in range(6):
        produce(settings, HL7_RAW, at=RECEIVED + number)
    assert processed(settings, 0) == [ProcessedOffset(0)]
    for number in range(5):
        audited(settings, HL7_RAW, number, received=RECEIVED + number)
    audited(settings, NOTES, 5)

    assert processed(settings, 0, 2, 5) == ([ProcessedOffset(5)] * 3)
    assert processed(settings, 0, is_absent=True) == [ProcessedOffset(5)]


def test_gaps_in_what_was_processed_are_found(settings, caplog):
    """As Kafka leaves them when it commits only a part of a transaction."""
    for number in range(5):
        produce(settings, HL7_RAW, at=RECEIVED + number)
    for number in (0, 1, 3):
        audited(settings, HL7_RAW, number, received=RECEIVED + number)

    gaps, same, none = processed(settings, 1, 1, 3)
    assert ProcessedOffset(4, has_gaps=True) == gaps == same
    assert ProcessedOffset(4) == none
    assert caplog.text.count(f"{HL7_RAW.name}[0]: of the records from 1 on") == 2
    # Where there is no offset, nothing tells from where on events are to be there.
    assert processed(settings, 0, is_absent=True) == [ProcessedOffset(4)]


def test_of_offsets_that_a_person_has_set_events_say_nothing(settings):
    for number in range(5):
        produce(settings, HL7_RAW, at=RECEIVED + number)
    audited(settings, HL7_RAW, 1, received=RECEIVED + 1)

    assert processed(settings, 0, metadata="by hand") == [ProcessedOffset(5)]


def test_many_records_without_an_event_are_a_gap(settings, monkeypatch):
    monkeypatch.setattr("streams.service.processed.BLOCK", 0)
    for number in range(9):
        produce(settings, HL7_RAW, at=RECEIVED + number)
    audited(settings, HL7_RAW, 8, received=RECEIVED + 8)

    assert processed(settings, 0) == [ProcessedOffset(9, has_gaps=True)]


def test_events_behind_an_open_transaction_are_asked_for_again(settings, monkeypatch):
    monkeypatch.setattr("streams.service.processed.STABLE_SECONDS", 0.2)
    produce(settings, HL7_RAW)
    open_one = Producer(settings.client(**PRODUCER, **{"transactional.id": "foreign"}))
    open_one.init_transactions(30)
    open_one.begin_transaction()
    open_one.produce(PHI_AUDIT.name, b"{}", partition=1)
    open_one.flush(30)
    audited(settings, HL7_RAW, 0)

    with pytest.raises(RetriableError, match="a transaction is open"):
        processed(settings, 0)
    monkeypatch.undo()
    open_one.abort_transaction(30)

    assert processed(settings, 0) == [ProcessedOffset(1)]


def test_events_of_other_records_do_not_make_offsets_old(settings):
    """Their topic was made anew, and has other records at the same offsets."""
    produce(settings, HL7_RAW, at=RECEIVED + 1)
    audited(settings, HL7_RAW, 0, received=RECEIVED)

    assert processed(settings, 0) == [ProcessedOffset(0)]


def test_a_service_whose_offsets_went_back_publishes_nothing_twice(cluster, tmp_path):
    changes = {"preset": "lexical", "partitions": 1, "session_seconds": 6}
    settings = with_topics(settings_for(cluster, tmp_path, **changes))
    given = (PatientId("ZZ", "zz1"), "Zzquell")
    with running(settings, "scrub") as [service]:
        harness.produce(settings, PATIENT_UPDATES.name, [named(given)] * 3)
        produce_notes(settings, *(unnamed(n) for n in range(20)))
        drain(settings, [service])
    assert [*committed(settings, Stage.SCRUB, NOTES).values()] == [20]

    admin = admin_client(settings)
    wait_until(lambda: has_no_members(admin, f"{settings.group}-scrub"))
    for topic, identity in identities(settings).items():
        commit(settings, Stage.SCRUB, topic, 1, Claim(of=identity))
    with running(settings, "scrub") as [service]:
        produce_notes(settings, *(unnamed(n) for n in range(20, 30)))
        drain(settings, [service])
        log = service.tail(500)

    assert f"{NOTES.name}[0]: the group's committed offset 1 lies before 20" in log
    assert "undone" not in log
    assert len(values(settings, NOTES_SCRUBBED.name)) == 30
    events = values(settings, PHI_AUDIT.name)
    assert 30 == len({orjson.dumps(each["source"]) for each in events}) == len(events)


def has_no_members(admin, group):
    return not admin.describe_consumer_groups([group])[group].result(30).members


def identities(settings):
    ids = topic_ids(AdminClient(settings.client()), watched_topics(Stage.SCRUB))
    found = identities_of(Stage.SCRUB, ids)
    return {topic: found[topic.name] for topic in (NOTES, PATIENT_UPDATES)}


def test_events_behind_an_open_transaction_are_waited_for(settings):
    """They are committed, but not yet to be seen."""
    produce(settings, HL7_RAW)
    hanging = Producer(
        settings.client(**PRODUCER, **{"transactional.id": "hanging", "log_level": 0})
    )
    hanging.init_transactions(30)
    hanging.begin_transaction()
    hanging.produce(PHI_AUDIT.name, b"{}", partition=1)
    hanging.flush(30)
    audited(settings, HL7_RAW, 0)
    soon = settings.model_copy(update={"transaction_seconds": -13})

    with pytest.raises(RetriableError, match="stays open"):
        restore(soon, Stage.INTAKE)
    hanging.abort_transaction(30)

    assert restore(settings, Stage.INTAKE) == {0: 1}


def processed_update(settings, of=""):
    """An update that was processed: its row is not in `patients`, which is new."""
    produce(settings, PATIENT_UPDATES)
    commit(settings, Stage.SCRUB, NOTES, 1, Claim())
    commit(settings, Stage.SCRUB, PATIENT_UPDATES, 1, Claim(of=of))


def test_updates_are_read_again_when_the_tables_changelog_is_new(settings):
    processed_update(settings)

    restore(settings, Stage.SCRUB)

    assert committed(settings, Stage.SCRUB, PATIENT_UPDATES)[0] == 0
    assert claim(settings).again == 1


def test_no_note_is_joined_with_a_table_whose_updates_are_gone_as_well(settings):
    processed_update(settings)
    produce(settings, PATIENT_UPDATES)
    admin = AdminClient(settings.client())
    before = [TopicPartition(PATIENT_UPDATES.name, 0, 1)]
    for future in admin.delete_records(before).values():
        future.result(30)
    consumer_is_behind(settings)

    with pytest.raises(ConfigError, match="patients was made anew"):
        restore(settings, Stage.SCRUB)


def consumer_is_behind(settings):
    group = {"group.id": f"{settings.group}-scrub"}
    consumer = Consumer(settings.client(**CONSUMER, **group))
    place = TopicPartition(PATIENT_UPDATES.name, 0, 2)
    consumer.commit(offsets=[place], asynchronous=False)
    consumer.close()


def claim(settings):
    group = {"group.id": f"{settings.group}-scrub"}
    consumer = Consumer(settings.client(**CONSUMER, **group))
    [found] = consumer.committed([TopicPartition(PATIENT_UPDATES.name, 0)], 30)
    consumer.close()
    return Claim.read(found.metadata)


def own_identity(settings):
    names = watched_topics(Stage.SCRUB)
    ids = topic_ids(AdminClient(settings.client()), names)
    return identities_of(Stage.SCRUB, ids)[PATIENT_UPDATES.name]


@pytest.mark.parametrize("is_known", [True, False])
def test_the_table_whose_updates_were_processed_is_trusted(settings, is_known):
    """Its id is not known where a person has set the offset."""
    processed_update(settings, own_identity(settings) if is_known else "")
    produce(settings, PATIENTS)

    restore(settings, Stage.SCRUB)

    assert committed(settings, Stage.SCRUB, PATIENT_UPDATES)[0] == 1


def test_a_table_that_was_made_anew_is_not_trusted_for_its_new_rows(settings):
    own = own_identity(settings)
    former = f"{own.partition('.')[0]}.a-former-table"
    processed_update(settings, former)
    produce(settings, PATIENTS)

    restore(settings, Stage.SCRUB)

    assert committed(settings, Stage.SCRUB, PATIENT_UPDATES)[0] == 0
    assert Claim(again=1, of=own) == claim(settings)


def test_updates_before_a_null_value_are_not_forwarded_again_without_offsets(settings):
    """Behind it, what is forwarded would bring an erased patient back."""
    for value in (b"{}", None, b"{}"):
        produce(settings, PATIENT_UPDATES, value)
    produce(settings, PATIENTS)

    restore(settings, Stage.SCRUB)

    assert committed(settings, Stage.SCRUB, PATIENT_UPDATES)[0] == 0
    assert claim(settings).again == 2


def test_a_topic_that_was_deleted_has_no_offsets_to_restore(settings):
    produce(settings, HL7_RAW)
    audited(settings, HL7_RAW, 0)
    admin = AdminClient(settings.client())
    admin.delete_topics([HL7_RAW.name])[HL7_RAW.name].result(30)
    wait_until(lambda: HL7_RAW.name not in topics_of(admin))
    with_topics(settings)

    assert restore(settings, Stage.INTAKE) == {}


REFUSED = "was delivered although the group has committed offset"


@pytest.mark.timeout(900)
@pytest.mark.parametrize("new", [8, 60])
def test_records_in_the_places_of_lost_ones_are_not_passed_over(
    new, fresh_cluster, tmp_path
):
    """Whether or not the topic has grown beyond the committed offsets."""
    settings = with_topics(settings_for(fresh_cluster, tmp_path, preset="lexical"))
    with running(settings, "scrub") as [service]:
        produce_notes(settings, *(unnamed(n) for n in range(20)))
        drain(settings, [service])
    assert len(values(settings, NOTES_SCRUBBED.name)) == 20
    node = fresh_cluster.nodes[0].id

    fresh_cluster.kill(node)
    for partition in range(settings.partitions):
        [folder] = tmp_path.rglob(f"{NOTES.name}-{partition}")
        shutil.rmtree(folder)
    fresh_cluster.restart(node, seconds=START_SECONDS)
    wait_until(lambda: has_leaders(admin_client(settings), NOTES.name))
    produce_notes(settings, *(unnamed(n) for n in range(new)))
    with running(settings, "scrub") as [service]:
        wait_until(lambda: REFUSED in service.tail(500), 120)

    assert len(values(settings, NOTES_SCRUBBED.name)) == 20


def unnamed(number):
    patient = PatientId("ZZ", f"zz{number}")
    return ClinicalNote(f"zz-{number}", patient, "", "", "She was seen.")


ANEW = "was deleted and made anew"


@pytest.mark.timeout(900)
def test_a_table_that_is_made_anew_under_a_running_worker_gets_all_rows_again(
    module_cluster, tmp_path
):
    """The worker's next update would otherwise be the only row of the new topic."""
    settings = with_topics(settings_for(module_cluster, tmp_path, preset="lexical"))
    before = [(PatientId("ZZ", f"zz{n}"), f"Zzquell{n}") for n in range(6)]
    later = (PatientId("ZZ", "zz-later"), "Zzquelllater")
    admin = AdminClient(settings.client())
    with running(settings, "scrub") as [service]:
        harness.produce(settings, PATIENT_UPDATES.name, map(named, before))
        drain(settings, [service])
        admin.delete_topics([PATIENTS.name])[PATIENTS.name].result(30)
        wait_until(lambda: PATIENTS.name not in topics_of(admin))
        with_topics(settings)
        harness.produce(settings, PATIENT_UPDATES.name, [named(later)])
        wait_until(lambda: f"{PATIENTS.name}: {ANEW}" in service.tail(500), 120)
        keys = {each.key for each, _family in (*before, later)}
        wait_until(lambda: keys == rows_of(settings), 240)
        produce_notes(
            settings,
            *(
                ClinicalNote(each.id, each, "", "", f"{family} was seen.")
                for each, family in (*before, later)
            ),
        )
        drain(settings, [service])

    events = values(settings, PHI_AUDIT.name)
    assert [each["join"] for each in events] == ["found"] * 7
    assert b"Zzquell" not in orjson.dumps(values(settings, NOTES_SCRUBBED.name))


def named(given):
    patient, family = given
    said = PatientRecord(patient, "", Demographics(names=(Name(family),)))
    value = PATIENT_UPDATES.schema.versioned(PatientUpdate(said).to_json())
    return patient.key, orjson.dumps(value)


def rows_of(settings):
    rows = {e.key(): e.value() for e in read_topic(settings, PATIENTS.name)}
    return {key for key, value in rows.items() if value is not None}
