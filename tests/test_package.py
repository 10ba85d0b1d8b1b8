"""The distribution: what to import, and what its metadata says."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from importlib.metadata import version
from pathlib import Path
from textwrap import indent

import deid_core
import phistream

ROOT = Path(__file__).parents[1]


def test_the_lines_of_python_in_the_readme_print_what_they_say():
    readme = (ROOT / "README.md").read_text("utf-8")
    [code] = re.findall(r"```python\n(.*?)```", readme, re.DOTALL)
    promised = re.findall(r"# (.*)", code)

    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )

    assert promised == done.stdout.splitlines()


def test_the_library_shows_the_same_lines_of_python():
    readme = (ROOT / "README.md").read_text("utf-8")
    [code] = re.findall(r"```python\n(.*?)```", readme, re.DOTALL)

    assert indent(code, "    ") in (deid_core.__doc__ or "")


def test_the_package_has_the_public_names_of_the_library_and_its_version():
    assert {*deid_core.__all__, "__version__"} == {*phistream.__all__}
    assert all(
        getattr(phistream, n) is getattr(deid_core, n) for n in deid_core.__all__
    )
    assert version("phistream") == phistream.__version__


def test_both_licences_are_named_and_their_texts_come_along():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    texts = [(ROOT / each).read_text("utf-8") for each in project["license-files"]]

    assert "Apache-2.0 AND CC-BY-SA-4.0" == project["license"]
    assert ["Apache License", "Attribution-ShareAlike 4.0"] == [
        next(
            line
            for line in ("Apache License", "Attribution-ShareAlike 4.0")
            if line in text
        )
        for text in texts
    ]
