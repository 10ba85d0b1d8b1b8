"""Dead letters on real Kafka: sealed, shown, and replayed exactly once."""

from __future__ import annotations

import base64
import random
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from types import SimpleNamespace

import orjson
import psutil
import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import NewPartitions

from streams.demo.flow import read_topic
from streams.engine.errors import FatalError, InvalidRecord
from streams.engine.keys.office import NotOpened, make_pair
from streams.engine.reasons import ReasonCode
from streams.engine.records import Output, Partition, Record
from streams.kafka.client import PRODUCER, admin_client, record_of
from streams.kafka.offsets import high_watermarks
from streams.kafka.producer import KafkaProducer
from streams.kafka.topics import (
    DEAD_LETTERS,
    HL7_RAW,
    LETTERS_ID,
    LETTERS_REPLAYED,
    NOTES,
    NOTES_HELD,
    NOTES_SCRUBBED,
    PHI_AUDIT,
    Stage,
)
from streams.model.audit import AuditEvent, dead_letter
from streams.model.notes import ClinicalNote
from streams.model.outputs import REPLAYED
from streams.model.patients.demographics import PatientId
from streams.operations.held_notes import waiting_notes
from streams.operations.reconcile import Auditor
from streams.products.office.dead_letters import DeadLetters, Replay, Selection
from streams.products.office.erasure import Erasure, Found, _Letter
from tests.brokers import wait_until
from tests.commands import phistream
from tests.conftest import settings_for, with_topics
from tests.end_to_end.test_held import send_names
from tests.harness import count_records, drain, is_settled, produce, running, values
from tests.office import in_base64, private_file, private_key

pytestmark = pytest.mark.timeout(600)

MARKER = "zzquellwright"
NUMBER = "zz48291077"
SEEN = "She was seen in the clinic and will return in a week. "
NOTE = {
    "note_id": f"{MARKER}-note",
    "patient": {"assigning_authority": "ZZWARD", "id": NUMBER},
    "text": f"Ms. {MARKER} was seen.",
}


def config_of(settings):
    config = settings.state_dir.parent / "office.toml"
    config.write_text(
        f'bootstrap = "{settings.bootstrap}"\ngroup = "{settings.group}"\n'
    )
    return config


def ask(settings, *arguments):
    config = config_of(settings)
    return phistream("dead-letters", *arguments, "--config", config, text=True)


def replay(settings, *arguments):
    key = private_file(settings)
    return ask(settings, "replay", "--private-key", key, *arguments)


def letters(settings, count, *, partitions=3, topic=NOTES):
    """Write dead letters as scrub does; return their originals."""
    producer = KafkaProducer(settings, "test-letters")
    office, error = settings.office_key(), InvalidRecord(ReasonCode.SCHEMA, "why")
    originals = []
    for start in range(0, count, 500):
        producer.begin()
        for n in range(start, min(count, start + 500)):
            place = Partition(topic.name, n % partitions)
            headers = {"source": b"hl7.raw/0/%d" % n, "received": b"%013d" % n}
            original = Record(
                place, n // partitions, b"k%d" % (n % 7), b"%d" % n, headers, n + 1
            )
            originals.append(original)
            for output in dead_letter(Stage.SCRUB, original, error, 1, office):
                producer.produce(output)
        producer.commit()
    wait_until(lambda: is_settled(settings, DEAD_LETTERS.name))
    return originals


def returned(settings, topic=NOTES):
    return [record_of(each) for each in read_topic(settings, topic.name)]


@pytest.fixture(scope="module")
def ward(module_cluster, tmp_path_factory):
    """A broken message, a broken note, and what the office can do with them."""
    folder = tmp_path_factory.mktemp("letters")
    settings = with_topics(
        settings_for(module_cluster, folder, preset="lexical", log_level="debug")
    )
    producer = Producer(settings.client(**PRODUCER))
    broken = f"MSX|^~\\&|{MARKER}|{NUMBER}\r".encode()
    key = f"ZZWARD|{NUMBER}".encode()
    producer.produce(HL7_RAW.name, key=NUMBER.encode(), value=broken, partition=1,
                     headers=[("ward", MARKER.encode())])  # fmt: skip
    producer.flush()
    with running(settings, "intake", "scrub") as services:
        produce(settings, NOTES.name, [(key, orjson.dumps(NOTE | {MARKER: 1}))])
        wait_until(lambda: len(values(settings, DEAD_LETTERS.name)) == 2, 240)
        drain(settings, services)
    messages = [*read_topic(settings, DEAD_LETTERS.name)]
    places = {
        orjson.loads(m.value())["stage"]: f"dead.letters/{m.partition()}/{m.offset()}"
        for m in messages
    }
    return SimpleNamespace(
        settings=settings,
        messages=messages,
        places=places,
        broken=broken,
        folder=folder,
        broker=module_cluster._home,
    )


def markers():
    """Return the markers as they would stand in bytes: plain and in base64."""
    values = [each.encode() for each in (MARKER, NUMBER)]
    return [each for value in values for each in (value, *in_base64(value))]


def test_the_topics_bytes_hold_no_marker(ward):
    segments = [*ward.broker.rglob(f"{DEAD_LETTERS.name}-*/*.log")]
    parts = [each.read_bytes() for each in segments]
    for message in ward.messages:
        parts += [message.key(), message.value(), str(message.headers()).encode()]
    everything = b"\n".join(parts)

    assert any(part for part in parts[: len(segments)])
    assert not [each for each in markers() if each in everything.lower() + everything]
    # The same search finds them where they are in the clear.
    raw = [*ward.broker.rglob(f"{HL7_RAW.name}-*/*.log")]
    assert any(MARKER.encode() in each.read_bytes() for each in raw)


def test_nothing_that_workers_have_opens_a_letter(ward):
    private = private_file(ward.settings)
    raw = private_key(ward.settings).key.private_bytes_raw()
    forms = [raw, raw.hex().encode(), base64.b64encode(raw)]
    forms += [line for line in private.read_bytes().splitlines() if b"-" not in line]
    files = [
        each
        for each in ward.folder.rglob("*")
        if each.is_file() and private.parent not in each.parents
    ]
    files.append(ward.settings.dead_letter_key_file)

    assert len(files) > 5
    for each in files:
        content = each.read_bytes()
        assert not [form for form in forms if form in content], each
        assert b"PRIVATE KEY" not in content, each


def test_the_list_shows_code_field_and_source_without_a_key(ward):
    listed = ask(ward.settings, "list")
    found = orjson.loads(ask(ward.settings, "list", "--json").stdout)

    assert {
        (each["stage"], each["code"], each["count"]) for each in found["counts"]
    } == {("intake", "bad_msh", 1), ("scrub", "schema", 1)}
    assert {
        each["source"] for each in found["letters"] if each["stage"] == "intake"
    } == {"hl7.raw/1/0"}
    assert all(each["place"] in listed.stdout for each in found["letters"])
    for done in (listed.stdout, str(found)):
        assert not [each for each in markers() if each.decode() in done.lower()]


@pytest.mark.parametrize(
    ("filters", "count"),
    [
        (["--code", "bad_msh"], 1),
        (["--code", "bad_msh", "--code", "schema"], 2),
        (["--topic", "notes"], 1),
        (["--partition", "1", "--topic", "hl7.raw"], 1),
        (["--partition", "3", "--topic", "hl7.raw"], 0),
        (["--since", "2020-01-01"], 2),
        (["--until", "2020-01-01"], 0),
    ],
)
def test_the_list_is_filtered(ward, filters, count):
    found = orjson.loads(ask(ward.settings, "list", "--json", *filters).stdout)

    assert count == len(found["letters"])


def test_values_are_masked_unless_they_are_revealed(ward):
    key = private_file(ward.settings)
    place = ward.places["intake"]
    before = len(revelations(ward.settings))

    without = ask(ward.settings, "show", place)
    masked = ask(ward.settings, "show", place, "--private-key", key)

    assert (without.returncode, masked.returncode) == (0, 0)
    assert MARKER not in without.stdout + masked.stdout
    assert "xxxxxxxxxxxxx" in masked.stdout
    assert before == len(revelations(ward.settings))

    revealed = ask(ward.settings, "show", place, "--private-key", key, "--reveal")

    assert f"|{MARKER}|{NUMBER}" in revealed.stdout
    assert f"ward: {MARKER}" in revealed.stdout
    event = revelations(ward.settings)[-1]
    shown = f"dead.letters/{event['source']['partition']}/{event['source']['offset']}"
    user = psutil.Process().username()
    assert (place, user) == (shown, event["actor"])
    assert abs(event["at_ms"] / 1000 - time.time()) < 300
    assert MARKER not in str(event)


def revelations(settings):
    found = values(settings, PHI_AUDIT.name)
    return [each for each in found if each["outcome"] == "revealed"]


def test_nothing_is_revealed_when_the_audit_event_can_not_be_stored(ward, monkeypatch):
    from streams.products.office import dead_letters

    def refuse(*_arguments, **_named):
        raise FatalError("phi.audit: not confirmed")

    monkeypatch.setattr(dead_letters, "feed", refuse)
    reader = dead_letters.DeadLetters(ward.settings)
    keys = {(key := private_key(ward.settings)).public.id: key}

    letter = reader.at(ward.places["intake"])
    with pytest.raises(FatalError, match="not confirmed"):
        dead_letters.reveal(ward.settings, letter, keys, "x", 1)


def test_another_key_opens_nothing_and_says_which_is_needed(ward, tmp_path):
    other = make_pair(tmp_path / "other.key")
    arguments = ("--private-key", tmp_path / "other.key")

    shown = ask(ward.settings, "show", ward.places["intake"], *arguments)
    tried = ask(ward.settings, "replay", "--all", "--dry-run", *arguments)

    for done in (shown, tried):
        assert done.returncode != 0
        assert ward.settings.office_key().id in done.stderr
        assert other.id in done.stderr
        assert "Traceback" not in done.stderr
    assert "0 dead letters would be replayed" in tried.stdout


def test_corrected_records_go_through_after_a_replay_and_the_audit_is_sound(settings):
    """A note over the limit, which is then raised."""
    settings = settings.model_copy(update={"preset": "lexical", "max_note_bytes": 1024})
    patient = PatientId("ZZWARD", NUMBER)
    note = ClinicalNote("n-1", patient, "", "", SEEN * 40).to_json()
    value = orjson.dumps(NOTES.schema.versioned(note))
    with running(settings, "scrub") as services:
        produce(settings, NOTES.name, [(patient.key, value)])
        wait_until(lambda: len(values(settings, DEAD_LETTERS.name)) == 1, 240)
        drain(settings, services)
    dry = replay(settings, "--code", "too_large", "--dry-run")
    assert "1 dead letters would be replayed" in dry.stdout
    assert len(returned(settings)) == 1

    done = replay(settings, "--code", "too_large")
    again = replay(settings, "--code", "too_large")

    assert (done.returncode, again.returncode) == (0, 0), done.stderr
    assert "0 dead letters replayed; 1 were replayed before" in again.stdout
    larger = settings.model_copy(update={"max_note_bytes": 1 << 20})
    with running(larger, "scrub") as services:
        send_names(settings, "x")
        drain(settings, services)
        wait_until(lambda: len(values(settings, NOTES_SCRUBBED.name)) == 1, 120)
    for each in Auditor(settings).verdicts():
        # The first note names no message: the test wrote it, no intake.
        assert each.faults == ({"malformed": 1} if each.topic == NOTES.name else {})
        assert (each.missing, each.doubled, each.pending) == (0, 0, 0), each.examples


def test_a_replayed_record_is_the_original_in_its_partition_with_its_headers(settings):
    originals = letters(settings, 60)

    done = replay(settings, "--all")

    assert done.returncode == 0, done.stderr
    found = returned(settings)
    assert len(found) == 60
    by_value = {each.value: each for each in found}
    for each in originals:
        other = by_value[each.value]
        assert (each.key, each.partition) == (other.key, other.partition)
        headers = dict(other.headers)
        assert headers.pop(REPLAYED).startswith(b"dead.letters/")
        assert each.headers == headers
    # In the order that they had.
    for index in range(3):
        numbers = [int(e.value) for e in found if e.partition.index == index]
        assert sorted(numbers) == numbers
    events = [e for e in values(settings, PHI_AUDIT.name) if e["outcome"] == "replayed"]
    assert len({orjson.dumps(each["source"]) for each in events}) == 60


def test_a_limit_and_filters_leave_the_rest_for_later(settings):
    letters(settings, 30)

    first = replay(settings, "--partition", "1", "--limit", "4")
    second = replay(settings, "--partition", "1")
    rest = replay(settings, "--all")

    assert "4 dead letters replayed; 0 were" in first.stdout
    assert "6 dead letters replayed; 4 were" in second.stdout
    assert "20 dead letters replayed; 10 were" in rest.stdout
    assert {1} == {*Counter(each.value for each in returned(settings)).values()}


def test_a_letter_that_was_changed_is_left_and_the_others_go(settings):
    letters(settings, 3)
    forged = orjson.loads(next(iter(read_topic(settings, DEAD_LETTERS.name))).value())
    produce(
        settings,
        DEAD_LETTERS.name,
        [
            (b"k", orjson.dumps(forged | {"code": "residue"})),
            (b"k", b"{"),
            (b"k", b'{"schema_version": 9}'),
        ],
    )

    done = replay(settings, "--all")

    assert done.returncode == 1
    assert "3 dead letters replayed" in done.stdout
    assert "not replayed: it was changed" in done.stderr
    assert done.stderr.count("not replayed: ") == 3
    assert len(returned(settings)) == 3


KILLED = """
import os, random, signal, sys
from streams.kafka.offsets import high_watermarks
from streams.kafka.producer import KafkaProducer

rng, commit = random.Random(int(sys.argv.pop(1))), KafkaProducer.commit
left = rng.randrange(2, 6)

def killed(self):
    global left
    left -= 1
    if left:
        return commit(self)
    if rng.random() < 0.7:
        self._producer.flush(10)  # all records of the transaction are at the broker
    else:
        commit(self)
    os.kill(os.getpid(), signal.SIGKILL)

KafkaProducer.commit = killed
from streams.cli import main
main()
"""
"""The command in a process that kills itself before or after a commit."""


@pytest.mark.parametrize("seed", [11])
def test_kills_in_the_midst_of_a_replay_lose_and_double_nothing(settings, seed):
    """`kill -9` before and after commits and at any time, then the command again."""
    count, rng = 4000, random.Random(seed)
    originals = letters(settings, count)
    arguments = [
        *("dead-letters", "replay", "--all", "--config", config_of(settings)),
        *("--private-key", private_file(settings)),
    ]
    for kill in range(6):
        command = [sys.executable, "-c", KILLED, str(seed + kill), *arguments]
        killed = subprocess.run(command, capture_output=True, check=False, timeout=300)
        assert killed.returncode == -signal.SIGKILL, killed.stderr
    for _ in range(3):
        before = count_records(settings, NOTES.name, "read_uncommitted")
        process = subprocess.Popen(
            [sys.executable, "-m", "streams.cli", *arguments],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        _wait_for_more(settings, process, before)
        time.sleep(rng.uniform(0, 0.1))
        process.kill()
        process.wait()

    done = replay(settings, "--all")

    assert done.returncode == 0, done.stderr
    counts = Counter(each.value for each in returned(settings))
    assert {each.value: 1 for each in originals} == dict(counts)
    for topic in (LETTERS_REPLAYED, PHI_AUDIT):
        assert count == _written(settings, topic)
    # The proof that kills did hit transactions.
    assert count_records(settings, NOTES.name, "read_uncommitted") > count


def _written(settings, topic):
    found = values(settings, topic.name)
    return sum(each.get("outcome", "replayed") == "replayed" for each in found)


def _wait_for_more(settings, process, before):
    """Wait until the replay has written anything, or has ended."""
    while process.poll() is None:
        if count_records(settings, NOTES.name, "read_uncommitted") > before:
            return


def test_a_second_replay_fences_the_first_and_nothing_is_doubled(settings):
    letters(settings, 400)
    keys = {(key := private_key(settings)).public.id: key}
    others = []

    def overtake(_count):
        if not others:
            others.append(Replay(settings, keys, "second").run(Selection()))

    with pytest.raises(FatalError, match="run it again, it goes on"):
        Replay(settings, keys, "first").run(Selection(), progress=overtake)

    assert others[0].before == 100
    assert others[0].counts.total() == 300
    assert {1} == {*Counter(each.value for each in returned(settings)).values()}
    assert len(returned(settings)) == 400


def erase_letter(settings, message):
    """Erase one letter, as `phistream erase` does once scrub has read everything."""
    source = (NOTES.name, 0, 0)
    letter = _Letter(message.key(), message.partition(), source, b"")
    found = Found(0, (), (), (letter,), 0, (), 0, {})
    event = AuditEvent(
        stage=Stage.SCRUB, outcome="erased", at_ms=1, actor="x", reason="x"
    )
    erasure = Erasure(settings, [PatientId("ZZWARD", NUMBER)])
    erasure._commit(KafkaProducer(settings, LETTERS_ID), found, event)


def test_an_erasure_fences_a_replay_which_returns_nothing_that_was_erased(settings):
    originals = letters(settings, 300, partitions=1)
    keys = {(key := private_key(settings)).public.id: key}
    *_others, last = read_topic(settings, DEAD_LETTERS.name)
    erased = []

    def erase(_count):
        if not erased:
            erased.append(erase_letter(settings, last))

    with pytest.raises(FatalError, match="run it again, it goes on"):
        Replay(settings, keys, "first").run(Selection(), progress=erase)
    Replay(settings, keys, "second").run(Selection())

    assert [each.value for each in originals[:-1]] == [
        each.value for each in returned(settings)
    ]


def test_an_erasure_behind_the_open_transaction_of_a_worker_is_seen(settings):
    """Of a letter, and of a held note: a reader of committed records stops before."""
    letters(settings, 1)
    [message] = read_topic(settings, DEAD_LETTERS.name)
    place = message.partition()
    worker = KafkaProducer(settings, "test-worker")
    worker.begin()
    worker.produce(Output(DEAD_LETTERS.name, b"open", b"{}", partition=place))
    worker.produce(Output(NOTES_HELD.name, b"open", None, partition=0))
    ends = lambda topic: high_watermarks(admin_client(settings), topic, [0, place])  # noqa: E731
    wait_until(lambda: ends(NOTES_HELD.name)[0] and ends(DEAD_LETTERS.name)[place] > 2)
    erase_letter(settings, message)
    commit = threading.Timer(3, worker.commit)
    commit.start()
    keys = {(key := private_key(settings)).public.id: key}

    done = Replay(settings, keys, "test").run(Selection())

    assert not commit.is_alive()
    assert done.counts.total() == 0
    assert returned(settings) == []
    worker.begin()
    worker.produce(Output(NOTES_HELD.name, b"open", None, partition=0))
    wait_until(lambda: ends(NOTES_HELD.name)[0] >= 3)
    commit = threading.Timer(3, worker.commit)
    commit.start()
    assert waiting_notes(settings) == []
    assert not commit.is_alive()


def test_a_letter_is_erased_when_partitions_were_added(settings):
    letters(settings, 8, partitions=4)
    admin = admin_client(settings)
    more = NewPartitions(DEAD_LETTERS.name, 9)
    admin.create_partitions([more])[DEAD_LETTERS.name].result(30)
    wait_until(lambda: DeadLetters(settings).partitions(DEAD_LETTERS.name) == 9)
    messages = [*read_topic(settings, DEAD_LETTERS.name)]

    for each in messages[:-1]:
        erase_letter(settings, each)

    wait_until(lambda: is_settled(settings, DEAD_LETTERS.name))
    *_before, null = read_topic(settings, DEAD_LETTERS.name)
    assert null.value() is None
    left = [*DeadLetters(settings).read(Selection(), pytest.fail)]
    last = messages[-1]
    assert [(each.partition, each.offset) for each in left] == [
        (last.partition(), last.offset())
    ]


def test_the_letter_of_any_original_is_small_enough_for_the_broker(settings):
    """A message that packs well passes the limits of its topic, and is over ours."""
    producer = KafkaProducer(settings, "test-letters")
    error = InvalidRecord(ReasonCode.TOO_LARGE, "why")
    values = (b"OBX|1|NM|" * (40 << 17), random.Random(1).randbytes(40 << 20))
    for offset, value in enumerate(values):
        record = Record(Partition(HL7_RAW.name, 0), offset, b"k", value, {}, 1)
        producer.begin()
        for output in dead_letter(
            Stage.INTAKE, record, error, 1, settings.office_key()
        ):
            producer.produce(output)
        producer.commit()

    keys = {(key := private_key(settings)).public.id: key}
    one, other = DeadLetters(settings).read(Selection(), pytest.fail)

    assert len(values[0]) > DEAD_LETTERS.max_message_bytes
    assert values[0] == one.original(keys).value
    with pytest.raises(NotOpened, match=r"it is at hl7\.raw/0/1 alone"):
        other.original(keys)
