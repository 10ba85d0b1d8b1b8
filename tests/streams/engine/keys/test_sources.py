"""Sources of keys: what is read, what is refused, and that nothing is shown."""

from __future__ import annotations

import os
import sys
from datetime import UTC, datetime

import pytest

from streams.engine.errors import ConfigError
from streams.engine.keys.ring import PseudonymKey, PseudonymKeys, key_id_of
from streams.engine.keys.sources import read_directory, read_source
from streams.operations.settings import Settings, load_settings

KEY = "ZZSECRET" * 4
OTHER = "YYSECRET" * 4
START = datetime(2026, 12, 1, tzinfo=UTC)


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "k"
    path.write_text(KEY + "\n")
    path.chmod(0o600)
    return path


def sources(file):
    return {
        "file": (f"file:{file}", {}),
        "env": ("env:SITE_KEY", {"SITE_KEY": KEY}),
        "command": (f"command:cat {file}", {}),
    }


@pytest.mark.parametrize("kind", ["file", "env", "command"])
def test_all_sources_give_the_key_that_they_name(file, kind):
    source, environment = sources(file)[kind]

    assert KEY.encode() == read_source(source, "w", environment)


@pytest.mark.parametrize(
    ("source", "says"),
    [
        ("file:/absent/ZZ", "can't be read"),
        ("env:UNSET", "the variable UNSET is not set"),
        ("env:PHISTREAM_GROUP", "not of a setting"),
        ("env:A B", "not of a setting"),
        ("command:false", "ended with status 1"),
        ("command:/absent/program", "can't be run"),
        ("command:echo 'open", "can't be run"),
        ("command:echo short", "holds less than 32 bytes"),
        (f"command:sh -c 'echo {KEY} >&2; exit 3'", "ended with status 3"),
        ("vault:secret/key", "names no source; known: file:, env:, command:, direct"),
        ("file:", "names no source"),
        (KEY, "names no source"),
    ],
)
def test_a_source_that_gives_no_key_is_refused_and_nothing_shown(source, says, capfd):
    with pytest.raises(ConfigError) as caught:
        read_source(source, "pseudonym_keys, entry 2", {})

    assert str(caught.value).startswith("pseudonym_keys, entry 2: ")
    assert says in str(caught.value)
    assert "ZZSECRET" not in str(caught.value) + "".join(capfd.readouterr())
    assert caught.value.__cause__ is None


@pytest.mark.parametrize("mode", [0o644, 0o640 | 0o020, 0o602, 0o666])
def test_a_file_that_others_can_read_or_change_is_refused(file, mode):
    file.chmod(mode)

    with pytest.raises(ConfigError, match="others can read or change") as caught:
        read_source(f"file:{file}", "w", {})

    assert "ZZSECRET" not in str(caught.value)


def test_a_command_has_no_shell_and_a_time_limit(monkeypatch, tmp_path):
    from streams.engine.keys import sources as module

    monkeypatch.setattr(module, "COMMAND_SECONDS", 0.2)
    with pytest.raises(ConfigError, match="did not end within"):
        read_source(f"command:{sys.executable} -c 'import time;time.sleep(9)'", "w", {})
    made = tmp_path / "made"
    with pytest.raises(ConfigError):
        read_source(f"command:true; touch {made}", "w", {})
    assert not made.exists()


def mounted(folder, **keys):
    """Write a secret as Kubernetes mounts it: links into a folder that is replaced."""
    data = folder / "..2026_11_23"
    data.mkdir(parents=True)
    (folder / "..data").symlink_to(data.name)
    for name, key in keys.items():
        (data / f"{name}.key").write_text(key)
        (data / f"{name}.key").chmod(0o440)
        (folder / f"{name}.key").symlink_to(f"..data/{name}.key")


def test_a_mounted_secret_gives_its_keys_with_their_times(tmp_path):
    mounted(tmp_path / "s", first=KEY, **{"20261201T000000Z": OTHER})

    ring = settings_of(f"directory:{tmp_path / 's'}").key_ring()

    assert [(each.value, each.from_ms) for each in ring] == [
        (KEY.encode(), 0),
        (OTHER.encode(), int(START.timestamp() * 1000)),
    ]


def test_a_folder_without_keys_or_with_other_names_is_refused(tmp_path):
    with pytest.raises(ConfigError, match=r"has no file first\.key"):
        read_directory(tmp_path, "w")
    mounted(tmp_path / "s", first=KEY, december=OTHER)
    with pytest.raises(ConfigError, match="is named neither first"):
        read_directory(tmp_path / "s", "w")


def settings_of(*entries):
    """Return settings with sources, or pairs of source and time."""
    pairs = [each if isinstance(each, tuple) else (each, None) for each in entries]
    return Settings(
        pseudonym_keys=tuple({"source": s, "from": start} for s, start in pairs)
    )


def test_the_settings_name_keys_in_order(file, monkeypatch):
    monkeypatch.setenv("SITE_KEY", OTHER)

    ring = settings_of(f"file:{file}", ("env:SITE_KEY", START)).key_ring()

    before, after = int(START.timestamp() * 1000) - 1, int(START.timestamp() * 1000)
    assert (KEY.encode(), OTHER.encode()) == (
        ring.at(before).value,
        ring.at(after).value,
    )
    assert [k.id for k in ring] == [key_id_of(KEY.encode()), key_id_of(OTHER.encode())]


def test_the_environment_and_a_file_name_them_likewise(file, tmp_path):
    toml = tmp_path / "c.toml"
    toml.write_text(
        f'pseudonym_keys = [{{source = "file:{file}"}}, '
        '{source = "env:B", from = 2026-12-01T00:00:00Z}]\n'
    )
    text = (
        f'[{{"source": "file:{file}"}}, '
        '{"source": "env:B", "from": "2026-12-01T00:00:00Z"}]'
    )

    from_file = load_settings(toml, environment={}).pseudonym_keys
    from_environment = load_settings(
        environment={"PHISTREAM_PSEUDONYM_KEYS": text}
    ).pseudonym_keys

    assert from_file == from_environment
    assert from_file[1].start == START


def test_what_is_ambiguous_is_refused(file, tmp_path, monkeypatch):
    monkeypatch.setenv("SITE_KEY", OTHER)
    monkeypatch.setenv("SAME_KEY", KEY)
    own, other = f"file:{file}", "env:SITE_KEY"
    for entries, says in (
        ([(own, START)], "the first key must have no from"),
        ([own, other], "from must increase"),
        ([own, (other, START), ("env:SAME_KEY", START)], "from must increase"),
        ([own, ("env:SAME_KEY", START)], "two entries have the same key"),
        ([own, (f"directory:{tmp_path}", None)], "names no source"),
    ):
        with pytest.raises(ConfigError, match=says) as caught:
            settings_of(*entries).key_ring()
        assert "SECRET" not in str(caught.value)
    both = settings_of(own).model_copy(update={"pseudonym_key_file": file})
    with pytest.raises(ConfigError, match="both are set"):
        both.key_ring()
    with pytest.raises(ConfigError, match="the names of a folder's files say it"):
        load_settings(
            overrides={"pseudonym_keys": [{"source": "directory:x", "from": START}]},
            environment={},
        )
    naive = [{"source": "x", "from": START.replace(tzinfo=None)}]
    with pytest.raises(ConfigError, match="timezone"):
        load_settings(overrides={"pseudonym_keys": naive}, environment={})


def test_the_time_of_a_message_alone_decides_its_key():
    ring = PseudonymKeys(
        [
            PseudonymKey(b"a" * 32),
            PseudonymKey(b"b" * 32, 10),
            PseudonymKey(b"c" * 32, 20),
        ]
    )

    assert (
        "".join(chr(ring.at(at).value[0]) for at in (-1, 0, 9, 10, 11, 19, 20, 10**15))
        == "aaabbbcc"
    )


def test_an_unknown_id_is_told_with_the_known_ones():
    ring = PseudonymKeys.of(KEY.encode())

    assert KEY.encode() == ring.by_id(key_id_of(KEY.encode())).value
    with pytest.raises(ConfigError, match=key_id_of(KEY.encode())):
        ring.by_id("00000000")


def test_no_repr_shows_a_key(file, monkeypatch):
    monkeypatch.setenv("SITE_KEY", OTHER)
    settings = settings_of(f"file:{file}", ("env:SITE_KEY", START))
    ring = settings.key_ring()
    shown = repr(settings) + repr(ring) + repr([*ring]) + str(ring) + str([*ring])

    assert "SECRET" not in shown
    assert os.environ["SITE_KEY"] == OTHER
