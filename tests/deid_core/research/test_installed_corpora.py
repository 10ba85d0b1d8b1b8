"""The notes that come with the library are the written notes, and no held-out ones."""

from pathlib import Path

import pytest

from deid_core import ConfigError
from deid_core.research.corpora.installed import (
    INSTALLED,
    paths_of,
    require_learnable,
    text_of,
)
from deid_core.research.corpora.readers import read_corpus
from tests.written_notes.build import notes_of

WRITTEN = Path(__file__).parents[2] / "written_notes"


@pytest.mark.parametrize("name", INSTALLED)
def test_what_is_packed_is_what_is_written(name):
    # If not: python -m tests.written_notes.build
    assert text_of(name).encode() == notes_of(INSTALLED[name])


@pytest.mark.parametrize("name", INSTALLED)
def test_a_name_is_read_as_the_folder_is(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / name).mkdir()  # a folder of that name is not meant
    assert read_corpus(Path(name)) == read_corpus(WRITTEN / INSTALLED[name])


def test_no_held_out_note_comes_along():
    held_out = read_corpus(WRITTEN / "held_out").documents
    texts = [text_of(name) for name in INSTALLED]
    assert not any(f"=== {each.id} |" in text for each in held_out for text in texts)


def test_names_are_no_paths():
    assert paths_of([Path("written"), Path("own/written")]) == [Path("own/written")]


@pytest.mark.parametrize(
    ("language", "conventions", "needs"),
    [
        ("es", "meddocan", "in language 'es' with the tags of meddocan"),
        ("es", None, "in language 'es'; "),
        ("en", "i2b2-2014", "with the tags of i2b2-2014"),
    ],
)
def test_a_recipe_of_other_notes_says_what_it_needs(language, conventions, needs):
    with pytest.raises(ConfigError, match=f"recipe 'own' learns notes .*{needs}"):
        require_learnable("own", language, conventions)
    require_learnable("own", "en", None)
    require_learnable("own", "en", "written_notes")
