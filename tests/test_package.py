"""The distribution: what to import, and what its metadata says."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from importlib.metadata import version
from pathlib import Path
from textwrap import dedent, indent

import pytest

import deid_core
import phistream

ROOT = Path(__file__).parents[1]


def run_python(code):
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    return done.stdout.splitlines()


def test_the_lines_of_python_in_the_readme_print_what_they_say():
    readme = (ROOT / "README.md").read_text("utf-8")
    blocks = re.findall(r"```python\n(.*?)```", readme, re.DOTALL)

    assert len(blocks) == 2
    for code in blocks:
        assert re.findall(r"# (.*)", code) == run_python(code)


def test_the_library_shows_the_same_lines_of_python():
    readme = (ROOT / "README.md").read_text("utf-8")
    blocks = re.findall(r"```python\n(.*?)```", readme, re.DOTALL)

    for code in blocks:
        own = code.replace("from phistream", "from deid_core")
        assert indent(own, "    ") in (deid_core.__doc__ or "")


def test_the_lines_of_python_in_the_library_print_what_they_say():
    blocks = re.findall(r"(?:^    .*\n|^\n)+", deid_core.__doc__ or "", re.MULTILINE)
    code = dedent("".join(blocks))
    promised = re.findall(r"^# (.*)", code, re.MULTILINE)

    done = run_python(code)

    assert len(promised) == 2
    assert promised == done


@pytest.mark.parametrize("package", ["deid_core", "phistream"])
def test_importing_the_package_loads_none_of_its_modules_and_no_other_package(package):
    [loaded] = run_python(
        f"import sys; old = {{*sys.modules}}; import {package}; "
        "print(*{*sys.modules} - old)"
    )

    roots = {each.partition(".")[0] for each in loaded.split()}
    ours = {each for each in loaded.split() if each.startswith((package, "streams"))}
    assert (roots - sys.stdlib_module_names) == {"deid_core", package}
    assert ours == {package}
    assert len(loaded.split()) < 60


@pytest.mark.parametrize("package", [deid_core, phistream])
def test_a_star_import_gives_every_public_name(package):
    [names] = run_python(f"from {package.__name__} import *; print(*dir())")

    assert {*package.__all__} <= {*names.split()}
    assert {*package.__all__} <= {*dir(package)}


def test_type_checkers_and_python_find_each_name_in_the_same_module():
    tree = ast.parse(Path(deid_core.__file__).read_text("utf-8"))
    [block] = [
        each
        for each in tree.body
        if isinstance(each, ast.If) and ast.unparse(each.test) == "TYPE_CHECKING"
    ]
    for_types = {
        name.name: f".{each.module}" for each in block.body for name in each.names
    }

    assert for_types == deid_core._MODULES
    assert {*deid_core.__all__} == {*for_types}


@pytest.mark.parametrize("package", [deid_core, phistream])
def test_a_name_that_there_is_not_is_no_attribute(package):
    with pytest.raises(
        AttributeError, match=f"'{package.__name__}' has no .*'nothing'"
    ):
        _ = package.nothing


def test_the_package_has_the_public_names_of_the_library_and_its_version():
    assert {*deid_core.__all__, "__version__"} == {*phistream.__all__}
    assert all(
        getattr(phistream, n) is getattr(deid_core, n) for n in deid_core.__all__
    )
    assert version("phistream") == phistream.__version__


def test_all_licences_are_named_and_their_texts_come_along():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    texts = [(ROOT / each).read_text("utf-8") for each in project["license-files"]]

    licences = {
        "Apache-2.0": "Apache License",
        "CC-BY-SA-4.0": "Attribution-ShareAlike 4.0",
        "CC-BY-4.0": "https://creativecommons.org/licenses/by/4.0/",
        "LGPL-2.1-only": "GNU LESSER GENERAL PUBLIC LICENSE",
        "MIT": "Permission is hereby granted, free of charge",
        "BSD-3-Clause": "Redistribution and use in source and binary forms",
    }
    assert project["license"].split(" AND ") == [*licences]
    assert all(any(line in text for text in texts) for line in licences.values())
