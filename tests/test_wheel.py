"""The files of the wheel: all that the product needs, and nothing of the repository."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hatchling.builders.wheel import WheelBuilder

ROOT = Path(__file__).parents[1]
# A module that looks for a folder above its package, or for one of the repository.
OUTSIDE = re.compile(r"parents\[|\.parent\.parent\b|\btests/|[\"']tests[\"']")


@pytest.fixture(scope="module")
def files():
    """The files of the wheel by their paths in it."""
    builder = WheelBuilder(str(ROOT))
    return {
        each.distribution_path: Path(each.path)
        for each in builder.recurse_included_files()
    }


def test_a_wheel_holds_no_experiments(files):
    assert "deid_core/research/published/recipes/wi-deid.toml" in files
    assert [path for path in files if "experiments/" in path] == []
    assert [path for path in files if path.endswith("other_systems.py")] == []


def test_a_wheel_holds_the_tables_of_models_but_not_their_weights(files):
    models = [path for path in files if path.startswith("deid_core/tagger/models/")]
    assert "deid_core/tagger/models/english/tables.npz" in models
    assert [path for path in models if path.endswith("weights.npz")] == []


def test_no_module_of_a_wheel_looks_for_files_of_the_repository(files):
    wrong = [
        path
        for path, file in files.items()
        if path.endswith(".py") and OUTSIDE.search(file.read_text("utf-8"))
    ]
    assert "streams/products/research/train.py" in files
    assert wrong == []


def test_a_wheel_holds_the_notes_to_learn_but_not_those_held_out(files):
    notes = {path for path in files if path.endswith(".txt.xz")}
    assert notes == {
        "deid_core/research/corpora/written.txt.xz",
        "deid_core/research/corpora/written-dev.txt.xz",
    }
