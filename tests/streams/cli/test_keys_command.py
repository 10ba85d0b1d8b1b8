"""`phistream keys`: lists, makes and links keys, and shows none."""

from __future__ import annotations

import stat
from datetime import UTC, datetime, timedelta

import orjson
import pytest
from typer.testing import CliRunner

from streams.cli.app import app
from streams.engine.keys.files import write_private
from streams.model.patients.demographics import PatientId
from streams.operations.settings import load_settings
from streams.pipeline.publish import Pseudonyms

KEY = b"ZZSECRET" * 4
LATER = datetime.now(UTC).replace(microsecond=0) + timedelta(days=2)
FROM = LATER.strftime("%Y-%m-%dT%H:%M:%SZ")


@pytest.fixture
def config(tmp_path):
    write_private(tmp_path / "k", KEY)
    file = tmp_path / "c.toml"
    file.write_text(f'pseudonym_key_file = "{tmp_path / "k"}"\n')
    return file


def run(*arguments):
    return CliRunner().invoke(app, ["keys", *map(str, arguments)])


def test_a_rotation_prints_the_settings_that_use_it(config, tmp_path):
    new = tmp_path / "new.key"

    done = run("rotate", new, "--from", FROM, "--config", config)

    assert done.exit_code == 0, done.output
    assert stat.S_IMODE(new.stat().st_mode) == 0o600
    _, _, table = done.output.partition("[[pseudonym_keys]]")
    config.write_text("[[pseudonym_keys]]" + table.partition("\ngive it")[0])
    ring = load_settings(config, environment={}).key_ring()
    first, second = ring
    assert (first.value, first.from_ms) == (KEY, 0)
    assert new.read_bytes().strip() == second.value
    assert int(LATER.timestamp() * 1000) == second.from_ms
    assert second.id in done.output
    for each in ring:
        assert each.value.decode() not in done.output
    listed = run("list", "--config", config)
    rows = orjson.loads(run("list", "--config", config, "--json").output)
    assert [(each["state"], each["key_id"]) for each in rows] == [
        ("in force", first.id),
        ("next", second.id),
    ]
    assert "SECRET" not in listed.output + str(rows)


def test_a_third_key_keeps_the_others(config, tmp_path):
    for name, days in (("b", 1), ("c", 2)):
        start = (LATER + timedelta(days=days)).strftime("%Y-%m-%d")
        done = run("rotate", tmp_path / name, "--from", start, "--config", config)
        _, _, table = done.output.partition("[[pseudonym_keys]]")
        config.write_text("[[pseudonym_keys]]" + table.partition("\ngive it")[0])

    assert len([*load_settings(config, environment={}).key_ring()]) == 3


def test_a_folder_gets_its_next_file(tmp_path):
    (tmp_path / "keys").mkdir()
    write_private(tmp_path / "keys/first.key", KEY)
    config = tmp_path / "c.toml"
    config.write_text(
        f'pseudonym_keys = [{{source = "directory:{tmp_path / "keys"}"}}]\n'
    )

    done = run("rotate", "--from", FROM, "--config", config)

    assert done.exit_code == 0, done.output
    assert {each.name for each in (tmp_path / "keys").iterdir()} == {
        "first.key",
        LATER.strftime("%Y%m%dT%H%M%SZ.key"),
    }
    assert len([*load_settings(config, environment={}).key_ring()]) == 2


@pytest.mark.parametrize("minutes", [-60, 0, 9])
def test_a_key_is_made_well_before_it_is_used(config, tmp_path, minutes):
    start = datetime.now(UTC) + timedelta(minutes=minutes)

    done = run(
        *("rotate", tmp_path / "n", "--config", config),
        *("--from", start.strftime("%Y-%m-%dT%H:%M:%SZ")),
    )

    assert "10 minutes from now or later" in str(done.exception)
    assert not (tmp_path / "n").exists()


def test_a_map_links_pseudonyms_and_shows_no_patient(config, tmp_path):
    new = tmp_path / "new.key"
    done = run("rotate", new, "--from", FROM, "--config", config)
    _, _, table = done.output.partition("[[pseudonym_keys]]")
    config.write_text("[[pseudonym_keys]]" + table.partition("\ngive it")[0])
    first, second = load_settings(config, environment={}).key_ring()
    patients = tmp_path / "p.jsonl"
    patients.write_text(
        '{"assigning_authority": "ZZ", "id": "1", "note_ids": ["ZZnote"]}\n'
        '{"assigning_authority": "ZZ", "id": "2"}\n'
    )
    out = tmp_path / "map.jsonl"
    arguments = ("--patients", patients, "--out", out, "--config", config)

    done = run("map", first.id, second.id, *arguments)

    assert done.exit_code == 0, done.output
    assert stat.S_IMODE(out.stat().st_mode) == 0o600
    one, other = Pseudonyms(first.value), Pseudonyms(second.value)
    key = PatientId("ZZ", "1").key
    found = [orjson.loads(line) for line in out.read_bytes().splitlines()]
    assert len(found) == 2
    assert found[0] == {
        "old": one.patient(key),
        "new": other.patient(key),
        "notes": [{"old": one.note(key, "ZZnote"), "new": other.note(key, "ZZnote")}],
    }
    for shown in (done.output, out.read_text()):
        assert "ZZ" not in shown
    assert "2 patients" in done.output
    assert one.patient(key) not in done.output
    again = run("map", first.id, second.id, *arguments)
    assert "exists" in str(again.exception)
    unknown = run("map", first.id, "00000000", *arguments)
    assert f"the settings name: {first.id}, {second.id}" in str(unknown.exception)


@pytest.mark.parametrize(
    "line", ["ZZ", "[]", '{"id": "ZZ"}', '{"assigning_authority": 1, "id": "ZZ"}',
             '{"assigning_authority": "", "id": "ZZ", "name": "ZZ"}',
             '{"assigning_authority": "", "id": "ZZ", "id": "1"}',
             '{"assigning_authority": "", "id": "ZZ", "note_ids": "ZZ"}',
             '{"assigning_authority": "", "id": "ZZ", "note_ids": {"ZZ": 1}}'],
)  # fmt: skip
def test_a_list_of_patients_is_refused_by_its_line_alone(config, tmp_path, line):
    patients = tmp_path / "p.jsonl"
    patients.write_text('{"assigning_authority": "", "id": "1"}\n\n' + line)
    [key] = load_settings(config, environment={}).key_ring()

    done = run("map", key.id, key.id, "--patients", patients, "--out",
               tmp_path / "o", "--config", config)  # fmt: skip

    assert "p.jsonl line 2: needs" in str(done.exception)
    assert "ZZ" not in str(done.exception).replace(str(tmp_path), "")
    assert not (tmp_path / "o").exists()


def test_a_rotation_prints_no_command_of_a_key(tmp_path):
    """It may hold a token; the person who writes the settings has it there already."""
    command = f"command:/bin/echo {KEY.decode()}"
    config = tmp_path / "c.toml"
    config.write_text(
        f"[[pseudonym_keys]]\nsource = {orjson.dumps(command).decode()}\n"
    )

    done = run("rotate", tmp_path / "n", "--from", FROM, "--config", config)

    assert done.exit_code == 0, done.output
    assert "SECRET" not in done.output
    assert 'source = "command:..."  # put the command of now here' in done.output
