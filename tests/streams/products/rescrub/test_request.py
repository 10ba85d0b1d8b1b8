"""What a run is asked to do: versions, beginnings, and what makes two runs the same."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from streams.engine.errors import ConfigError, RetriableError
from streams.kafka.topics import NOTES, PHI_AUDIT
from streams.kafka.versions import live_name
from streams.operations.settings import Settings
from streams.products.rescrub import erasures
from streams.products.rescrub.archive import means_of
from streams.products.rescrub.erasures import SKEW_MS, Erasures
from streams.products.rescrub.published import PublishedNotes
from streams.products.rescrub.request import From, Means, checked_version

SAID = """
from streams.operations.settings import Settings
from streams.products.rescrub.request import Means
for preset in ("hybrid", "lexical", "meddocan"):
    print(Means.of(Settings(preset=preset, policy="surrogate")))
"""


@pytest.mark.parametrize("into", ["v1", "v0", "v02", "2", "V2", "v2.v3", "", "live"])
def test_a_name_that_is_no_version_of_its_own_is_refused(into):
    with pytest.raises(ConfigError, match=r"v2, v3, \.\.\."):
        checked_version(into)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("earliest", From("earliest")),
        ("120", From("120", offset=120)),
        ("0:5,1:0", From("0:5,1:0", offsets=((0, 5), (1, 0)))),
        ("2026-03-14", From("2026-03-14", time_ms=1_773_446_400_000)),
        ("2026-03-14T10:00", From("2026-03-14T10:00", time_ms=1_773_482_400_000)),
    ],
)
def test_a_beginning_is_a_time_or_offsets(given, expected):
    assert expected == From.read(given)


@pytest.mark.parametrize("given", ["", "-1", "latest", "0:1,0:2", "2026-13-01", "1:"])
def test_any_other_beginning_is_refused(given):
    with pytest.raises(ConfigError, match="--from"):
        From.read(given)


def test_the_same_preset_and_policy_are_the_same_in_each_process():
    def said(seed):
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        return subprocess.run(
            [sys.executable, "-c", SAID],
            env=environment,
            capture_output=True,
            check=True,
            timeout=100,
        ).stdout

    assert said("1") == said("2")


def test_another_policy_file_of_the_same_name_is_another(tmp_path):
    found = []
    for days in (100, 200):
        file = tmp_path / "ours.toml"
        file.write_text(
            'name = "ours"\ndefault = "surrogate"\n'
            '[labels]\nDATE = "shift"\nAGE = "tag"\n'
            f"[options]\nmost_days = {days}\n"
        )
        found.append(Means.of(Settings(policy=str(file))))

    one, other = found
    assert one.policy == other.policy
    assert one.policy_version != other.policy_version


def test_a_note_is_covered_by_a_later_erasure_of_its_patient_alone():
    erasures = Erasures()
    erasures.add(b"N|1", 1_000_000_000)
    erasures.add(b"N|1", 900_000_000)

    assert erasures.cover(b"N|1", 999_999_999)
    assert erasures.cover(b"N|1", 1_000_000_000 + SKEW_MS)
    assert not erasures.cover(b"N|1", 1_000_000_001 + SKEW_MS)
    assert not erasures.cover(b"N|2", 1)


def test_published_notes_are_those_of_the_ranges():
    published = PublishedNotes({0: (10, 20), 1: (5, 5)})
    for partition, offset in ((0, 10), (0, 19), (0, 20), (0, 9), (1, 5), (2, 1)):
        published.add(partition, offset)

    assert len(published) == 2
    assert 10 in published[0]
    assert 20 not in published[0]
    assert 5 not in published[1]


def test_a_topic_of_a_version_is_known_by_its_live_name():
    topic = PHI_AUDIT.of_version("v12")

    assert (topic.name, live_name(topic.name)) == ("phi.audit.v12", "phi.audit")
    assert PHI_AUDIT.schema.kind == topic.schema.kind
    assert live_name("notes.v2x") == "notes.v2x"


@pytest.mark.parametrize("said", [Means.of, means_of])
def test_an_edited_list_of_terms_is_another(said, tmp_path):
    terms = tmp_path / "keep.txt"
    terms.write_text("Parkinson\n")
    settings = Settings(preset="lexical", terms={"keep": [str(terms)]})
    before = said(settings)
    assert before == said(settings)

    terms.write_text("Parkinson\nQuelwright\n")

    assert before != said(settings)


def test_an_edited_policy_is_another_for_processes_that_have_made_one(tmp_path):
    policy = tmp_path / "own.toml"
    policy.write_text('name = "own"\ndefault = "tag"\n')
    settings = Settings(preset="lexical", policy=str(policy))
    before = means_of(settings)

    policy.write_text('name = "own"\ndefault = "tag"\ndates = "year"\n')

    assert before != means_of(settings)


class OneUnread:
    """Reads the first record of all partitions but the last in time."""

    def __init__(self, *_settings):
        pass

    def first_records(self, offsets):
        return dict.fromkeys(sorted(offsets)[:-1], 0)

    def close(self):
        pass


def test_a_partition_that_is_not_read_in_time_says_nothing_of_erasures(monkeypatch):
    monkeypatch.setattr(erasures, "GroupOffsets", OneUnread)

    with pytest.raises(RetriableError, match=r"partitions \[2\] were not read"):
        erasures._times(Settings(), NOTES, {0: 5, 1: 5, 2: 5})
