"""One run of the whole way on real Kafka, looked at from every side.

Intake and scrub run as services at debug level; what is fed holds marker values.
"""

from __future__ import annotations

import base64
import json
import re
from pathlib import Path
from types import SimpleNamespace

import fastjsonschema
import pytest
from confluent_kafka import Consumer, TopicPartition

from deid_core.language.lexicons import forms_of
from deid_core.language.lexicons.places import states
from streams.demo.broken import BROKEN_KINDS
from streams.demo.flow import read_topic
from streams.demo.ward import Ward
from streams.kafka.topics import (
    DEAD_LETTERS,
    NOTES,
    NOTES_SCRUBBED,
    PATIENTS,
    PHI_AUDIT,
)
from streams.model.patients.demographics import PatientId
from streams.operations.reconcile import Auditor
from streams.pipeline.files.feed import RawMessage
from tests.conftest import settings_for, with_topics
from tests.harness import drain, feed_and_drain, produce, raw, running, values
from tests.office import original_of, private_key

pytestmark = pytest.mark.timeout(600)

MSH = "MSH|^~\\&|LAB|NORTH|PHI|X|20250107{minute:02}00||{event}|C{minute}|P|2.5.1\r"
FAMILY, GIVEN, MAIDEN = "Zzfamquist", "Zzgivena", "Zzmaidenby"
STREET, MRN, PHONE = "4711 Zzstreet Lane", "77001122", "312-555-0147"
NAMES = (FAMILY, GIVEN, MAIDEN, STREET, MRN, "Zzkinsman", "Zzprovider")
MARKERS = ("zzfam", "zzgiv", "zzmaid", "zzstreet", "77001122", "zzkin", "zzprov")


def adt(event="ADT^A04", *, minute=1, mrn=MRN, family=FAMILY, extra=""):
    return (
        MSH.format(event=event, minute=minute)
        + f"PID|1||{mrn}^^^NORTH^MR||{family}^{GIVEN}^Q||19520304|F|||"
        + f"{STREET}^^Zztown^IL^60601||{PHONE}\r"
        + "NK1|1|Zzkinsman^Otto|SPO\r"
        + "PV1|1|I|W^1^1^NORTH||||99^Zzprovider^Ida\r"
        + extra
    ).encode()


def oru(text, *, minute=2, mrn=MRN):
    return (
        MSH.format(event="ORU^R01", minute=minute)
        + f"PID|1||{mrn}^^^NORTH^MR\r"
        + "OBR|1||R1|11506-3^Progress note\r"
        + f"OBX|1|TX|11506-3^Progress note||{text}\r"
    ).encode()


def event(note_id, text, *, mrn=MRN):
    patient = {"assigning_authority": "NORTH", "id": mrn}
    return json.dumps({"note_id": note_id, "patient": patient, "text": text}).encode()


@pytest.fixture(scope="module")
def job(module_cluster, tmp_path_factory):
    """The run: what was fed, and what came of it."""
    folder = tmp_path_factory.mktemp("job")
    settings = with_topics(settings_for(module_cluster, folder, log_level="debug"))
    ward = Ward(seed=11, split="test", patients=60, note_words=80)
    with running(settings, "intake", "scrub") as services:
        fed = _feed(settings, services, ward)
    return SimpleNamespace(
        settings=settings,
        fed=fed,
        verdicts={each.topic: each for each in Auditor(settings).verdicts()},
        scrubbed=values(settings, NOTES_SCRUBBED.name),
        audit=values(settings, PHI_AUDIT.name),
        dead=values(settings, DEAD_LETTERS.name),
        logs="".join(path.read_text() for path in folder.glob("*.log")),
    )


def _feed(settings, services, ward):
    """Feed in waves, each drained, so that what is known when is certain."""
    key = MRN.encode()
    waves = [
        [RawMessage(adt(), key), *map(raw, ward.admissions())],
        [
            RawMessage(
                oru(f"Ms. {FAMILY} misspelt Zzfamqiust and ZZFAMQUIST came."), key
            ),
            RawMessage(
                event("known-1", f"{GIVEN} lives at {STREET}; call {PHONE}."), key
            ),
            RawMessage(
                event("unknown-1", f"{FAMILY} on 3/14/2024, Dr. Adler.", mrn="5")
            ),
            RawMessage(event("kin-1", "Wife of Zzkinsman; seen by Zzprovider."), key),
            *map(raw, ward.messages(300)),
        ],
        # A marriage, then a note with the maiden name of before.
        [RawMessage(adt("ADT^A08", minute=5, family=MAIDEN), key)],
        [RawMessage(event("former-1", f"Formerly {FAMILY}, now {MAIDEN}."), key)],
        # A merge: the prior number's notes join as well.
        [
            RawMessage(
                adt(
                    "ADT^A40",
                    minute=7,
                    family=MAIDEN,
                    extra="MRG|88002233^^^NORTH^MR\r",
                ),
                key,
            )
        ],
        [RawMessage(event("merged-1", f"{MAIDEN} again.", mrn="88002233"), key)],
        [RawMessage(kind.make(), b"broken") for kind in BROKEN_KINDS.values()],
    ]
    count = sum(feed_and_drain(settings, services, wave) for wave in waves)
    patient = PatientId("NORTH", MRN).key
    bad_notes = [(patient, None), (patient, b"{"), (patient, b'{"text": "zzfam"}')]
    produce(settings, NOTES.name, bad_notes)
    drain(settings, services)
    return count


def note(job, note_id):
    """Return the scrubbed note of a note event, by where its source lies."""
    source = next(
        m for m in read_topic(job.settings, NOTES.name)
        if m.value() and json.loads(m.value() + (b"" if m.value() != b"{" else b"}"))
        .get("note_id") == note_id
    )  # fmt: skip
    position = [source.topic(), source.partition(), source.offset()]
    [found] = [s for s in job.scrubbed if list(s["source"].values()) == position]
    [audit] = [a for a in job.audit if list(a["source"].values()) == position]
    return found, audit


def test_reconcile_finds_every_input_exactly_once_and_in_order(job):
    assert set(job.verdicts) == {"hl7.raw", "notes", "patient.updates"}
    # Another program has written to notes, and names no message.
    faults = job.verdicts["notes"].faults
    assert faults == {"null_value": 1, "malformed": 2}
    for verdict in job.verdicts.values():
        wrong = (verdict.missing, verdict.doubled, verdict.out_of_order)
        assert (wrong, verdict.waiting) == ((0, 0, 0), 0), verdict.examples
        assert verdict.is_sound or verdict.faults is faults
    assert job.fed == job.verdicts["hl7.raw"].inputs


def test_a_name_misspelt_by_a_letter_is_scrubbed_when_the_patient_is_known(job):
    [text] = [s["text"] for s in job.scrubbed if "misspelt" in s["text"]]

    assert (
        text == "Progress note:\nMs. [NAME:PATIENT] misspelt [NAME:PATIENT] and "
        "[NAME:PATIENT] came."
    )


def test_the_whole_record_is_matched(job):
    found, audit = note(job, "known-1")

    assert (
        found["text"]
        == "[NAME:PATIENT] lives at [LOCATION:STREET]; call [CONTACT:PHONE]."
    )
    assert (found["join"], audit["join"]) == ("found", "found")
    assert {each["label"] for each in audit["annotations"]} == {
        "NAME:PATIENT",
        "LOCATION:STREET",
        "CONTACT:PHONE",
    }


def test_kin_and_providers_are_known(job):
    found, _ = note(job, "kin-1")

    assert found["text"] == "Wife of [NAME:PATIENT]; seen by [NAME:DOCTOR]."


def test_an_unknown_patient_is_scrubbed_by_rules_and_the_audit_says_so(job):
    found, audit = note(job, "unknown-1")

    assert found["text"] == (f"{FAMILY} on [DATE], Dr. [NAME:DOCTOR].")
    assert (found["join"], audit["join"]) == ("missing", "missing")


def test_a_former_name_is_remembered(job):
    found, _ = note(job, "former-1")

    assert found["text"] == "Formerly [NAME:PATIENT], now [NAME:PATIENT]."


def test_a_merge_joins_under_both_keys(job):
    found, _ = note(job, "merged-1")

    assert (found["text"], found["join"]) == ("[NAME:PATIENT] again.", "found")


@pytest.mark.parametrize("kind", BROKEN_KINDS)
def test_a_broken_record_is_a_dead_letter_with_its_reason_byte_for_byte(job, kind):
    broken = BROKEN_KINDS[kind]
    value = broken.make()
    key = private_key(job.settings)
    originals = [(d["code"], original_of(d, key)) for d in job.dead]

    codes = {code for code, original in originals if original.value == value}

    assert codes == {broken.code}


def test_broken_notes_are_dead_letters_of_scrub(job):
    codes = sorted(d["code"] for d in job.dead if d["stage"] == "scrub")

    assert codes == ["bad_json", "null_value", "schema"]


def test_nothing_published_or_logged_holds_a_marker(job):
    """No PHI in logs at debug level, in keys, headers, audit events or the output."""
    texts = [job.logs]
    for topic in (NOTES_SCRUBBED, PHI_AUDIT):
        for message in read_topic(job.settings, topic.name):
            texts += [str(message.key()), str(message.headers())]
            texts.append(message.value().decode())
    for message in read_topic(job.settings, DEAD_LETTERS.name):
        texts += [str(message.key()), str(message.headers())]
        letter = json.loads(message.value())
        # Megabytes of base64 hold any five letters: its bytes are searched for names.
        ciphertext = base64.b64decode(letter["sealed"].pop("ciphertext"))
        assert [name for name in NAMES if name.encode() in ciphertext] == []
        texts.append(json.dumps(letter))
    # The unknown patient's own name is the one value that only a tagger could find.
    known_miss = f"{FAMILY} on [DATE]"
    everything = "\n".join(texts).replace(known_miss, "").lower()

    assert "debug" in job.logs
    assert [marker for marker in MARKERS if marker in everything] == []


@pytest.mark.parametrize(
    "topic", [NOTES, PATIENTS, NOTES_SCRUBBED, PHI_AUDIT, DEAD_LETTERS], ids=str
)
def test_a_consumer_of_the_version_reads_what_is_produced(job, topic):
    """The frozen copy of a version is what its readers were promised."""
    golden = Path(__file__).parents[1] / f"golden/schemas_v{topic.schema_version}"
    frozen = golden / f"{topic.name}.json"
    schema = json.loads(frozen.read_text())
    schema["additionalProperties"] = True  # a reader ignores what it does not know
    check = fastjsonschema.compile(schema)
    count = 0
    for message in read_topic(job.settings, topic.name):
        headers = dict(message.headers() or [])
        if "schema" in headers:
            version = f"{topic.name}/{topic.schema_version}"
            assert version.encode() == headers["schema"]
            check(json.loads(message.value()))
            count += 1

    assert count > 0


def test_offsets_lead_back_to_the_note(job):
    """Who may see both can put every replacement over what it replaced."""
    notes = {
        (m.partition(), m.offset()): json.loads(m.value())["text"]
        for m in read_topic(job.settings, NOTES.name)
        if m.value() and m.headers()
    }
    looked_at = 0
    for scrubbed in job.scrubbed:
        original = notes[scrubbed["source"]["partition"], scrubbed["source"]["offset"]]
        rebuilt, cursor, place = "", 0, 0
        for start, end, scrubbed_start, scrubbed_end in scrubbed["offsets"]:
            rebuilt += original[cursor:start]
            assert scrubbed["text"][place:scrubbed_start] == original[cursor:start]
            written = scrubbed["text"][scrubbed_start:scrubbed_end]
            # Safe Harbor lets states stand, "90+" and three digits of a ZIP code.
            is_zip = (
                re.fullmatch(r"\d{3}", written) and original[start:end][:5].isdigit()
            )
            stands = written == "90+" or is_zip or forms_of(written) in states()
            assert stands or re.fullmatch(r"\[[A-Z:]+\]", written)
            cursor, place = end, scrubbed_end
            looked_at += 1
        assert scrubbed["text"][place:] == original[cursor:]
    assert looked_at > 500


def test_a_plain_read_committed_consumer_gets_the_notes(job):
    """What a subscriber writes in five lines."""
    consumer = Consumer(
        {
            "bootstrap.servers": job.settings.bootstrap,
            "group.id": "a-subscriber",
            "isolation.level": "read_committed",
            "auto.offset.reset": "earliest",
        }
    )
    consumer.assign([TopicPartition(NOTES_SCRUBBED.name, 0, 0)])
    message = consumer.poll(20)
    consumer.close()

    assert message.error() is None
    assert json.loads(message.value())["text"]
