"""Other systems run apart from this environment; those missing are named."""

from importlib.util import find_spec

import pytest

from deid_core.research.experiments import other_systems
from deid_core.research.experiments.other_systems import (
    SECONDS,
    SPANS,
    ask,
    how_to_install,
)

FAKE = """
import re
class Annotation:
    def __init__(self, start_char, end_char):
        self.start_char, self.end_char = start_char, end_char
class Text:
    pass
class Deduce:
    def deidentify(self, text):
        if "crash" in text:
            raise KeyError(text)
        found = Text()
        names = re.finditer("[A-Z][a-z]+", text)
        found.annotations = [Annotation(*each.span()) for each in names]
        return found
"""


@pytest.fixture
def libraries(tmp_path):
    """A folder with a package that looks like deduce: every capitalised word."""
    (tmp_path / "deduce.py").write_text(FAKE)
    card = tmp_path / "deduce-9.9.dist-info"
    card.mkdir()
    (card / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: deduce\nVersion: 9.9\n"
    )
    return tmp_path


def test_spans_are_those_of_the_system_by_name_of_the_texts(libraries):
    texts = {"a": ["seen by Zorblat", "nothing"], "b": ["Ann and Bob"]}

    answer = ask("deduce", texts, wanted=SPANS, libraries=libraries)

    assert answer["title"] == "deduce 9.9, Dutch rules"
    assert answer["spans"] == {"a": [[[8, 15]], []], "b": [[[0, 3], [8, 11]]]}


def test_seconds_are_of_processor_time(libraries):
    answer = ask(
        "deduce", {"a": ["Ann"]}, wanted=SECONDS, before=["Bob"], libraries=libraries
    )

    assert 0 <= answer["seconds"]["a"] < 10


def test_a_text_on_which_a_system_fails_has_no_spans(libraries):
    answer = ask("deduce", {"a": ["crash", "Ann"]}, wanted=SPANS, libraries=libraries)

    assert answer["spans"] == {"a": [None, [[0, 3]]]}


def test_a_system_that_fails_is_named_without_the_text(libraries):
    with pytest.raises(RuntimeError, match=r"^deduce failed: KeyError$"):
        ask("deduce", {"a": ["crash Zorblat"]}, wanted=SECONDS, libraries=libraries)


PACKAGES = {
    "philter": "philter_lite",
    "presidio": "presidio_analyzer",
    "presidio-patterns": "presidio_analyzer",
    "deduce": "deduce",
}


@pytest.mark.parametrize("system", other_systems.SYSTEMS)
def test_a_system_that_is_not_installed_is_missing(system, tmp_path):
    if find_spec(PACKAGES[system]):
        pytest.skip(f"{system} is installed")

    answer = ask(system, {"a": ["note"]}, wanted=SPANS, libraries=tmp_path)

    assert answer.keys() == {"missing"}
    assert "No module named" in answer["missing"] or "spaCy" in answer["missing"]


def test_what_installs_them_is_the_group_of_the_project(tmp_path):
    command = how_to_install(tmp_path)

    assert f"--target {tmp_path} " in command
    assert "'deduce>=" in command
