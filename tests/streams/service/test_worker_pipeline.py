"""What a worker builds from its settings."""

import pytest

from deid_core import Document, Label, TermFiles
from streams.engine.errors import ConfigError, InvalidRecord
from streams.engine.keys.office import make_pair
from streams.engine.observer import Observer
from streams.engine.records import Partition, Record
from streams.kafka.topics import Stage
from streams.operations.settings import Settings
from streams.service.assemble import processor_of
from streams.service.scrub import deidentifier_of


@pytest.fixture
def settings(tmp_path):
    key = tmp_path / "key"
    key.write_text("k" * 32)
    key.chmod(0o600)
    make_pair(tmp_path / "office.key")
    return Settings(
        preset="lexical",
        pseudonym_key_file=key,
        dead_letter_key_file=tmp_path / "office.key.pub",
    )


def test_lists_of_the_settings_are_used(settings, tmp_path):
    (tmp_path / "staff.txt").write_text("Tollemach\n")
    terms = TermFiles(remove={Label.DOCTOR: (str(tmp_path / "staff.txt"),)})
    system = deidentifier_of(
        settings.model_copy(update={"terms": terms}), settings.key_ring()
    )

    assert (
        system.deidentify(Document("n", "call Tollemach")).text == "call [NAME:DOCTOR]"
    )


def test_a_list_that_is_missing_refuses_to_start(settings, tmp_path):
    terms = TermFiles(keep=(str(tmp_path / "none.txt"),))
    with pytest.raises(ConfigError, match=r"none\.txt: cannot be read"):
        deidentifier_of(
            settings.model_copy(update={"terms": terms}), settings.key_ring()
        )


def test_intake_reads_events_of_another_form_by_the_map_of_the_settings(
    settings, tmp_path
):
    file = tmp_path / "map.toml"
    file.write_text('note_id = "no"\ntext = "body"\n[patient]\nid = "mrn"\n')
    intake = processor_of(
        Stage.INTAKE,
        0,
        settings.model_copy(update={"json_map": file}),
        1,
        Observer(),
    )
    events = [
        b'{"no": 1, "body": "Stable.", "mrn": "7"}',
        b'{"no": 1, "body": "Stable.", "mrn": "7", "ZZMARKER": 1}',
        b'{"no": 1, "body": ["ZZMARKER"], "mrn": "7"}',
    ]
    place = Partition("hl7.raw", 0)

    [routed, unknown, wrong] = intake.process(
        [Record(place, n, None, each) for n, each in enumerate(events)]
    )

    assert [each.topic for each in routed] == ["notes", "phi.audit"]
    assert [isinstance(e, InvalidRecord) for e in (unknown, wrong)] == [True, True]
    assert "1 more fields: not in the map" in unknown.reason
    assert "body: not in the map with this type" in wrong.reason
    assert "ZZMARKER" not in f"{unknown!r} {wrong!r} {unknown} {wrong}"
