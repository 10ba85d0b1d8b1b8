"""`phistream feed --updates` on a real broker: keys, partitions, erasures, counts."""

from __future__ import annotations

import orjson
import pytest

from streams.cluster.partitioner import partition_of
from streams.cluster.topics import PATIENT_UPDATES
from streams.demo.flow import read_topic
from streams.patients.updates import decode_update
from tests.commands import phistream

pytestmark = pytest.mark.kafka


def patient(n):
    return {"assigning_authority": "NORTH", "id": f"{n}"}


def feed(settings, *arguments, stdin=b""):
    address = ("--bootstrap", settings.bootstrap)
    return phistream("feed", *arguments, *address, stdin=stdin, text=True)


def test_updates_and_erasures_are_published_where_scrub_looks_for_them(
    settings, tmp_path
):
    lines = [
        {"patient": patient(n), "demographics": {"phones": [f"555-{n:04}"]}}
        for n in range(300)
    ]
    lines[7] = {"patient": patient(7), "erase": True}
    lines[8] = {"patient": patient(8), "demographics": {"phone": ["ZZMARKER"]}}
    file = tmp_path / "updates.jsonl"
    file.write_bytes(b"\n".join(map(orjson.dumps, lines)))

    done = feed(settings, "--updates", file)

    assert 1 == done.returncode
    counts = "299 patient updates published on patient.updates, 1 lines refused"
    assert counts in done.stdout
    assert "updates.jsonl line 9: patient.updates: demographics: holds 1" in done.stderr
    assert "ZZMARKER" not in done.stderr + done.stdout
    found = {m.key(): m for m in read_topic(settings, PATIENT_UPDATES.name)}
    expected = {b"NORTH|%d" % n for n in range(300) if n != 8}
    assert expected == found.keys()
    assert [b"NORTH|7"] == [key for key, m in found.items() if m.value() is None]
    for key, message in found.items():
        assert partition_of(key, settings.partitions) == message.partition()
        if message.value() is not None:
            assert key == decode_update(message.value()).record.patient.key


def test_updates_are_read_from_a_pipe(settings):
    line = orjson.dumps({"patient": patient(1), "updated_at": "2024-03-01"})

    done = feed(settings, "--updates", "/dev/stdin", stdin=line)

    assert (0, "") == (done.returncode, done.stderr.strip())
    assert "1 patient updates published on patient.updates" in done.stdout
    [message] = read_topic(settings, PATIENT_UPDATES.name)
    assert {"schema_version": 1, **orjson.loads(line), "demographics": {}} == (
        orjson.loads(message.value())
    )


def test_without_the_topic_nothing_is_published_and_the_next_step_is_named(cluster):
    line = orjson.dumps({"patient": patient(1)})

    done = phistream(
        *("feed", "--updates", "/dev/stdin", "--bootstrap", cluster.bootstrap),
        stdin=line,
        text=True,
    )

    assert 78 == done.returncode
    assert "patient.updates; run: phistream topics create" in done.stderr
