"""Detectors and presets of other packages, installed in a folder on the path."""

import os
import re
import subprocess
import sys
import traceback
from pathlib import Path
from textwrap import dedent

import pytest

from deid_core import (
    ConfigError,
    Deidentifier,
    DetectorFailed,
    Document,
    known_presets,
    load_preset,
)
from deid_core.runtime.plugins import plugins

MARKER = "Zyxwvut"
DETECTOR = """
    import re
    from deid_core import Annotation, Label, Span
    from deid_core.detectors import DetectorSpec
    from deid_core.runtime.options import Options

    class WardOptions(Options):
        score: float = 0.9

    class WardDetector:
        name = "wards"
        reads_as_written = False

        def __init__(self, options):
            self._score = options.score

        def __call__(self, documents):
            return [list(self._wards(each.text)) for each in documents]

        def _wards(self, text):
            for found in re.finditer(r"[A-Z]\\w+ Ward", text):
                yield Annotation(
                    Span(*found.span()),
                    Label.LOCATION_OTHER,
                    self._score,
                    "wards",
                    "ward",
                )

    WARDS = DetectorSpec(WardOptions, WardDetector)
    SURPRISE = lambda options: 1 / 0
    BROKEN = DetectorSpec(WardOptions, SURPRISE)
"""
PRESET = """
    name = "ward"
    detectors = ["rules", "wards"]
    [wards]
    score = 0.8
    [terms]
    keep = ["programmes.txt"]
"""
ENTRY_POINTS = """
    [phistream.detectors]
    wards = hospital_wards:WARDS
    [phistream.presets]
    wards = hospital_wards_presets
"""


@pytest.fixture
def install(tmp_path, monkeypatch):
    """Install the package, or a variant of it; return the folder."""

    def install(*, detector=DETECTOR, entry_points=ENTRY_POINTS, preset="ward"):
        presets = tmp_path / "hospital_wards_presets"
        info = tmp_path / "hospital_wards-1.0.dist-info"
        for folder in (presets, info):
            folder.mkdir()
        (tmp_path / "hospital_wards.py").write_text(dedent(detector))
        (presets / "__init__.py").touch()
        (presets / "programmes.txt").write_text("Lantern Ward\n")
        (presets / f"{preset}.toml").write_text(dedent(PRESET))
        (info / "METADATA").write_text("Name: hospital-wards\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text(dedent(entry_points))
        monkeypatch.syspath_prepend(tmp_path)
        plugins.cache_clear()
        return tmp_path

    yield install
    plugins.cache_clear()
    for name in ("hospital_wards", "hospital_wards_presets"):
        sys.modules.pop(name, None)


def refused(name="ward"):
    """Return what is said when a preset is loaded and built."""
    with pytest.raises(ConfigError) as caught:
        load_preset(name).build()
    return str(caught.value)


def test_a_preset_of_another_package_runs_its_detector(install):
    install()
    assert "ward" in known_presets()
    assert load_preset("ward").options["wards"].score == 0.8

    system = Deidentifier.from_names("ward")
    scrubbed = system.deidentify(Document("n", "Orm Ward, Lantern Ward, 3/14/2024"))
    assert scrubbed.text == "[LOCATION:OTHER], Lantern Ward, [DATE]"
    assert scrubbed.annotations[0].source == "wards/ward"


def test_the_detector_of_the_contributors_guide_runs(install):
    guide = (Path(__file__).parents[3] / "CONTRIBUTING.md").read_text("utf-8")
    [code] = re.findall(r"```python\n(from .*?)```", guide, re.DOTALL)
    install(detector=code)

    scrubbed = Deidentifier.from_names("ward").deidentify(Document("n", "On Orm Ward."))
    assert scrubbed.text == "On [LOCATION:OTHER]."


def test_the_command_line_takes_the_preset_of_another_package(install):
    done = subprocess.run(
        [sys.executable, "-m", "streams.cli", "scrub", "--preset", "ward", "-"],
        input="Orm Ward",
        env=os.environ | {"PYTHONPATH": str(install())},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "[LOCATION:OTHER]"


@pytest.mark.parametrize("name", ["rules", "known", "terms", "summary", "echo"])
def test_no_package_takes_the_name_of_a_detector_of_the_product(install, name):
    install(entry_points=f"[phistream.detectors]\n{name} = hospital_wards:WARDS\n")
    assert refused("hybrid") == (
        f"entry point {name!r} of phistream.detectors, from package 'hospital-wards': "
        "phistream has one of that name; rename it or uninstall the package"
    )


def test_no_package_takes_the_name_of_anothers_detector(install):
    install(entry_points="[phistream.detectors]\nnus = hospital_wards:WARDS\n")
    assert "has one of that name, too; rename it or uninstall" in refused("hybrid")


def test_no_package_takes_the_name_of_a_preset(install):
    install(preset="hybrid")
    said = refused("hybrid")
    assert said.startswith("preset 'hybrid': ")
    assert said.endswith("have that name; rename one")


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"detector": "import nonesuch"}, "ModuleNotFoundError: No module named 'none"),
        ({"detector": "1 / 0"}, "fails: ZeroDivisionError: division by zero"),
        ({"detector": "WARDS = 3"}, "its entry point is not a DetectorSpec"),
        ({"detector": DETECTOR + "    WARDS = BROKEN"}, "fails: ZeroDivisionError"),
        (
            {"detector": DETECTOR.replace('name = "wards"', 'name = "ward"')},
            "the detector bears another name",
        ),
        (
            {"entry_points": ENTRY_POINTS.replace("wards_presets", "none")},
            "fails: ModuleNotFoundError",
        ),
        (
            {"entry_points": ENTRY_POINTS.replace("wards =", "Wards, A =")},
            "its name must be of small letters",
        ),
    ],
)
def test_a_broken_package_is_named_with_the_next_step(install, changes, says):
    install(**changes)
    said = refused()
    assert says in said
    assert "package 'hospital-wards'" in said
    assert "uninstall" in said


@pytest.mark.parametrize(
    "change",
    [
        ('"wards",\n', '"rules",\n'),
        ('"ward",\n', "found[0],\n"),
        ("Label.LOCATION_OTHER", "'LOCATION:OTHER'"),
        ("yield Annotation", "yield (found[0], Annotation)[0]; Annotation"),
        ("for found", "if text: raise KeyError(text)\n            for found"),
        ("Span(*found.span())", "Span(0, len(text) + 1)"),
        ("Span(*found.span())", "found.span()"),
    ],
)
def test_a_detector_that_breaks_on_a_note_refuses_it_without_its_text(install, change):
    install(detector=DETECTOR.replace(*change))
    system = Deidentifier.from_names("ward")
    [refused, scrubbed] = system.deidentify_batch(
        [Document("1", f"{MARKER} Ward"), Document("2", "")]
    )
    assert isinstance(refused, DetectorFailed)
    assert "detector 'wards'" in str(refused)
    assert MARKER not in "".join(traceback.format_exception(refused))
    assert scrubbed.text == ""


def test_proposals_that_can_be_read_only_once_are_published(install):
    once = DETECTOR.replace(
        "[list(self._wards(each.text)) for", "[self._wards(each.text) for"
    )
    install(detector=once)

    scrubbed = Deidentifier.from_names("ward").deidentify(Document("1", "Orm Ward"))

    assert scrubbed.text == "[LOCATION:OTHER]"
