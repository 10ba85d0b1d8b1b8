"""The pipeline that a worker of scrub builds from its settings."""

import pytest

from deid_core import Document, Label, TermFiles
from streams.engine.errors import ConfigError
from streams.engine.settings import Settings
from streams.workers.worker import _deidentifier


@pytest.fixture
def settings(tmp_path):
    key = tmp_path / "key"
    key.write_text("k" * 32)
    return Settings(preset="lexical", pseudonym_key_file=key)


def test_lists_of_the_settings_are_used(settings, tmp_path):
    (tmp_path / "staff.txt").write_text("Tollemach\n")
    terms = TermFiles(remove={Label.DOCTOR: (str(tmp_path / "staff.txt"),)})
    system = _deidentifier(settings.model_copy(update={"terms": terms}))

    assert (
        "call [NAME:DOCTOR]" == system.deidentify(Document("n", "call Tollemach")).text
    )


def test_a_list_that_is_missing_refuses_to_start(settings, tmp_path):
    terms = TermFiles(keep=(str(tmp_path / "none.txt"),))
    with pytest.raises(ConfigError, match=r"none\.txt: cannot be read"):
        _deidentifier(settings.model_copy(update={"terms": terms}))
