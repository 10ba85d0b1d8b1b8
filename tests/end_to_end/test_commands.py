"""The commands as a person runs them: statuses, messages, nothing left running."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import psutil
import pytest

from schemas import Schema
from streams.engine.keys.office import make_pair
from streams.kafka.local_broker import Cluster
from streams.kafka.local_broker.ports import free_ports
from streams.operations.settings import Settings
from tests.brokers import CACHE
from tests.harness import values


def phistream(*arguments, cwd, **environment):
    return subprocess.run(
        [sys.executable, "-m", "streams.cli", *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
        cwd=cwd,
        env=os.environ | {"PYTHONPATH": os.getcwd(), "COLUMNS": "200"} | environment,
    )


@pytest.mark.long
@pytest.mark.kafka
def test_a_broker_of_three_nodes_keeps_its_data_until_it_is_deleted(tmp_path):
    assert phistream("broker", "status", cwd=tmp_path).returncode == 1
    up = phistream("broker", "up", "--brokers", 3, cwd=tmp_path)
    try:
        assert up.returncode == 0, up.stderr
        assert "bootstrap: 127.0.0.1:" in up.stdout
        status = phistream("broker", "status", cwd=tmp_path)
        assert (status.returncode, status.stdout.count(": running")) == (0, 3)
        # Without --bootstrap the commands find the cluster that was started here.
        three = {"PHISTREAM_REPLICATION": "3"}
        check = phistream("topics", "check", cwd=tmp_path)
        assert (check.returncode, "topics create" in check.stdout) == (1, True)
        create = phistream("topics", "create", cwd=tmp_path, **three)
        assert (create.returncode, "notes.scrubbed" in create.stdout) == (0, True)
        assert phistream("topics", "check", cwd=tmp_path).returncode == 0
        bootstrap = up.stdout.split()[-1]
        what_scrub_takes_can_be_fed(tmp_path, bootstrap)
        what_is_down_is_started_and_nothing_else(tmp_path)
        # Its data has replication 3.
        other = phistream("broker", "up", "--brokers", 1, cwd=tmp_path)
        assert (other.returncode, "has 3 nodes" in other.stderr) == (70, True)
        running = phistream("broker", "delete", "--yes", cwd=tmp_path)
        assert (running.returncode, "broker down" in running.stderr) == (70, True)
    finally:
        down = phistream("broker", "down", cwd=tmp_path)
    assert down.returncode == 0
    assert phistream("broker", "status", cwd=tmp_path).returncode == 1
    silent = phistream(
        "topics", "check", cwd=tmp_path, PHISTREAM_BROKER_WAIT_SECONDS="1"
    )
    assert (silent.returncode, "phistream broker up" in silent.stderr) == (69, True)
    assert phistream("broker", "delete", cwd=tmp_path).returncode == 1
    try:
        up = phistream("broker", "up", cwd=tmp_path)
        assert bootstrap == up.stdout.split()[-1], up.stderr
        assert len(values(Settings(bootstrap=bootstrap), "hl7.raw")) == 2
    finally:
        phistream("broker", "down", cwd=tmp_path)
    assert phistream("broker", "delete", "--yes", cwd=tmp_path).returncode == 0
    assert not (tmp_path / ".phistream" / "broker").exists()


def what_is_down_is_started_and_nothing_else(folder):
    cluster = Cluster(folder / ".phistream" / "broker", cache=CACHE)
    before = {node.id: node.pid for node in cluster.nodes}
    cluster.kill(2)

    up = phistream("broker", "up", cwd=folder)

    assert up.returncode == 0, up.stderr
    assert "starting node 2" in up.stderr
    after = {
        node.id: node.pid
        for node in Cluster(folder / ".phistream" / "broker", cache=CACHE).nodes
    }
    assert [number for number in before if before[number] != after[number]] == [2]


def what_scrub_takes_can_be_fed(folder, bootstrap):
    """A short JSON note becomes a note event; one of nobody is refused, not lost."""
    notes = [
        {"id": 1, "text": "Seen.", "patient_id": "7", "patient": {"names": []}},
        {"id": 2, "text": "ZZMARKER"},
        {"note_id": "3", "text": "Seen.", "patient": {"assigning_authority": "A"}},
    ]
    (folder / "n.jsonl").write_text("".join(json.dumps(each) + "\n" for each in notes))

    done = phistream("feed", "n.jsonl", cwd=folder)

    assert done.returncode == 1
    assert "2 messages published on hl7.raw, 1 JSON notes refused" in done.stdout
    assert 'n.jsonl record 2: names no patient; add "patient_id"' in done.stderr
    assert "ZZMARKER" not in done.stderr + done.stdout
    fed = values(Settings(bootstrap=bootstrap), "hl7.raw")
    first, second = sorted(fed, key=lambda each: each["note_id"])
    Schema("note_event", 1).check(first)
    assert first["patient"] == {"assigning_authority": "", "id": "7"}
    assert notes[2] == second


def test_an_unreachable_broker_is_told_and_given_up_in_time(tmp_path):
    (tmp_path / "key").write_text("k" * 40)
    (tmp_path / "key").chmod(0o600)
    make_pair(tmp_path / "office")

    done = phistream(
        *("run", "scrub", "--bootstrap", f"127.0.0.1:{free_ports(1)[0]}"),
        cwd=tmp_path,
        PHISTREAM_BROKER_WAIT_SECONDS="3",
        PHISTREAM_PSEUDONYM_KEY_FILE="key",
        PHISTREAM_DEAD_LETTER_KEY_FILE="office.pub",
    )

    assert done.returncode == 69
    assert "next try in" in done.stderr
    assert "after 3 s: check bootstrap, network and security settings" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "environment", "says"),
    [
        (("run", "intake"), {}, "phistream broker up"),
        (("run", "scrub", "--bootstrap", "x:1"), {}, "phistream key FILE"),
        (("run", "intake", "--bootstrap", "x:1"), {}, "phistream keys pair FILE"),
        (("run", "intake"), {"PHISTREAM_BATCHRECORDS": "1"}, "batch_records"),
        (("reconcile", "--config", "none.toml"), {}, "none.toml"),
        (("feed", "nothing"), {}, "phistream broker up"),
    ],
)
def test_wrong_settings_refuse_to_start_and_say_what_to_do(
    tmp_path, arguments, environment, says
):
    done = phistream(*arguments, cwd=tmp_path, **environment)

    assert done.returncode == 78
    assert says in done.stderr
    assert "Traceback" not in done.stderr


def test_a_key_is_made_once_and_for_its_owner_alone(tmp_path):
    first = phistream("key", "k", cwd=tmp_path)
    second = phistream("key", "k", cwd=tmp_path)

    assert (first.returncode, second.returncode) == (0, 78)
    assert (tmp_path / "k").stat().st_mode & 0o777 == 0o600
    assert len((tmp_path / "k").read_text().strip()) == 64


def test_an_audit_key_is_made_of_a_pseudonym_key_and_is_none(tmp_path):
    phistream("key", "k", cwd=tmp_path)

    made = phistream("key", "a", "--for-audit", "k", cwd=tmp_path)
    broken = phistream("key", "b", "--for-audit", "none", cwd=tmp_path)

    assert (made.returncode, broken.returncode) == (0, 78)
    assert "--key-file a" in made.stdout
    assert (tmp_path / "a").stat().st_mode & 0o777 == 0o600
    again = phistream("key", "c", "--for-audit", "a", cwd=tmp_path)
    assert (again.returncode, "holds an audit key" in again.stderr) == (78, True)
    phistream("keys", "pair", "o", cwd=tmp_path)
    refused = phistream(
        "run", "intake", "--bootstrap", "127.0.0.1:1", cwd=tmp_path,
        PHISTREAM_PSEUDONYM_KEY_FILE="a", PHISTREAM_DEAD_LETTER_KEY_FILE="o.pub",
    )  # fmt: skip
    assert (refused.returncode, "holds an audit key" in refused.stderr) == (78, True)


def running_in(folder):
    """Return what runs with this working folder, as all that a command starts does."""
    return [
        each.info["cmdline"]
        for each in psutil.process_iter(["cmdline", "cwd"])
        if each.info["cwd"] == str(folder)
    ]


@pytest.mark.kafka
def test_the_demo_passes_and_leaves_nothing_running(tmp_path):
    done = phistream("demo", "--messages", 150, cwd=tmp_path)

    assert done.returncode == 0, done.stdout + done.stderr
    assert "reconcile passes" in done.stdout
    assert "Dead letters, and why" in done.stdout
    assert "before (notes)" in done.stdout
    assert running_in(tmp_path) == []
    assert list(tmp_path.iterdir()) == []
