"""Missing extras: which one a package belongs to, and how a command ends."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from functools import cache
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement

import streams
from streams.engine.errors import ConfigError
from streams.engine.extras import EXTRAS_OF, missing_extra, require

ROOT = Path(streams.__file__).parents[1]
PACKAGES = ("deid_core", "streams", "schemas", "phistream")
# Other systems that an experiment compares with; the group "benchmark" has them.
COMPARED = {
    *("deduce", "nltk", "philter_lite", "presidio_analyzer", "presidio_anonymizer"),
    "spacy",
}

BLOCKED = """
import sys
blocked = sys.argv.pop(1).split(",")

class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in blocked:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Missing())
from streams.cli import main
main()
"""


def phistream(blocked, *arguments):
    """Run a command where packages are missing."""
    return subprocess.run(
        [sys.executable, "-c", BLOCKED, blocked, *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
    )


@pytest.mark.parametrize(
    ("blocked", "arguments", "extras"),
    [
        ("confluent_kafka", ["topics", "list"], "stream"),
        ("cryptography", ["keys", "pair", "none"], "stream"),
        ("faust", ["watch"], "ops"),
        ("fastapi", ["serve"], "documents,fast,gateway"),
        ("pyiceberg", ["lake", "run"], "lake"),
        ("pyarrow", ["lake", "compact"], "lake"),
        ("numba", ["run", "intake"], "documents,fast,stream"),
        ("numba", ["run", "scrub"], "documents,fast,stream"),
        ("numba", ["serve"], "documents,fast,gateway"),
        ("numba", ["rescrub", "--into", "v2"], "documents,fast,stream"),
        ("numba", ["demo"], "broker,documents,fast"),
        ("faust", ["demo", "--page"], "broker,documents,fast,ops"),
    ],
)
def test_a_command_whose_extra_is_missing_names_the_line_that_installs_it(
    blocked, arguments, extras
):
    done = phistream(blocked, *arguments)

    assert (done.returncode, done.stdout) == (78, "")
    assert done.stderr == (
        f"phistream: {blocked} is missing; install: pip install 'phistream[{extras}]'\n"
    )


DOCUMENTS = {
    "n.html": b"<!DOCTYPE html><html><body>Mrs. Quellwright</body></html>",
    "n.pdf": b"%PDF-1.7\n%%EOF",
    "n.xml": b'<ClinicalDocument xmlns="urn:hl7-org:v3"></ClinicalDocument>',
    "n.json": b'{"resourceType": "Patient", "id": "a"}',
}


@pytest.mark.parametrize("name", DOCUMENTS)
def test_documents_without_their_extra_end_scrub_before_anything_is_written(
    name, tmp_path
):
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / "a.txt").write_text("No change.\n")
    (folder / name).write_bytes(DOCUMENTS[name])

    done = phistream("lxml,pypdf", "scrub", folder, "--out", tmp_path / "out")

    assert (done.returncode, done.stdout) == (78, "")
    assert "install: pip install 'phistream[documents]'\n" in done.stderr
    assert not (tmp_path / "out").exists()


def test_a_text_with_html_in_it_names_the_extra_as_well(tmp_path):
    note = tmp_path / "n.txt"
    note.write_text("Report:\n<html><body>Mrs. Quellwright</body></html>\n")

    done = phistream("lxml", "scrub", "--preset", "lexical", note)

    assert (done.returncode, done.stdout) == (78, "")
    assert "phistream: lxml is missing; install: pip" in done.stderr


def test_a_text_and_hl7_need_no_extra(tmp_path):
    (tmp_path / "n.txt").write_text("Seen on 3/14/2024.\n")
    (tmp_path / "m.hl7").write_text(
        "MSH|^~\\&|A|NORTH|B|C|20250101||ORU^R01|2|P|2.5\r"
        "PID|1||123456^^^NORTH^MR||Quellwright^Mabelle\r"
        "OBR|1|||X\rOBX|1|TX|||Mabele is better.\r"
    )
    extras = ",".join(EXTRAS_OF.keys() - {"numba"} - _core_modules())

    done = phistream(extras, "scrub", "--preset", "lexical", tmp_path)

    assert (done.returncode, done.stderr) == (0, "")
    assert "Seen on [DATE]." in done.stdout
    assert "[NAME:PATIENT] is better." in done.stdout


def _core_modules():
    return {name for name in EXTRAS_OF if _distributions(name) & _closure(_core())}


def test_a_missing_module_of_no_extra_is_a_bug_and_stays_one():
    done = phistream("orjson", "topics", "list")

    assert done.returncode == 1
    assert "ModuleNotFoundError: No module named 'orjson'" in done.stderr
    assert missing_extra(ModuleNotFoundError("x", name="streams.none")) is None


@pytest.mark.parametrize(
    ("module", "needed", "extras"),
    [
        ("lxml.etree", (), "documents"),
        ("prometheus_client", (), "stream"),
        ("prometheus_client", ("fast", "gateway"), "fast,gateway"),
        ("opentelemetry", ("fast", "stream"), "fast,stream,traces"),
    ],
)
def test_all_extras_of_a_command_are_named_at_once(module, needed, extras):
    error = missing_extra(ModuleNotFoundError("x", name=module), needed)

    assert isinstance(error, ConfigError)
    assert str(error).endswith(f"pip install 'phistream[{extras}]'")


def test_what_is_installed_is_not_asked_for():
    require("numba", "lxml")
    with pytest.raises(ModuleNotFoundError) as missing:
        require("nonesuch")
    assert missing.value.name == "nonesuch"


def test_the_table_has_every_package_that_is_imported_and_not_of_the_core():
    core = _closure(_core())
    wanted = {name for name in _imported() if not _distributions(name) & core}

    assert wanted - COMPARED <= EXTRAS_OF.keys()


@pytest.mark.parametrize("module", EXTRAS_OF)
def test_each_extra_of_the_table_brings_its_package(module):
    for extra in EXTRAS_OF[module]:
        assert _distributions(module) & _closure(_expanded(extra)), extra


@cache
def _project():
    return tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]


def _core():
    return frozenset(_project()["dependencies"])


def _expanded(extra):
    """Return the requirements of an extra, with those of extras that it names."""
    found = set()
    for line in _project()["optional-dependencies"][extra]:
        requirement = Requirement(line)
        if requirement.name == "phistream":
            for each in requirement.extras:
                found |= _expanded(each)
        else:
            found.add(line)
    return frozenset(found)


@cache
def _closure(lines):
    """Return the distributions of requirements, and those that they require."""
    found, pending = set(), [Requirement(line) for line in lines]
    seen = set()
    while pending:
        requirement = pending.pop()
        name = _normal(requirement.name)
        if (name, *sorted(requirement.extras)) in seen:
            continue
        seen.add((name, *sorted(requirement.extras)))
        found.add(name)
        try:
            requires = metadata.requires(name) or ()
        except metadata.PackageNotFoundError:
            continue  # of an extra that is not installed here
        for each in map(Requirement, requires):
            extras = requirement.extras or {""}
            if each.marker is None or any(
                each.marker.evaluate({"extra": extra}) for extra in extras
            ):
                pending.append(each)
    return frozenset(found)


def _distributions(module):
    """Return the distributions of a top-level module."""
    known = _packages_distributions().get(module, [module])
    return {_normal(each) for each in known}


# It reads the files of every distribution, which takes a second.
_packages_distributions = cache(metadata.packages_distributions)


def _normal(name):
    return re.sub(r"[-_.]+", "-", name).lower()


@cache
def _imported():
    """Return the third-party modules that the packages import, wherever."""
    found = set()
    for package in PACKAGES:
        for path in (ROOT / package).rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_text("utf-8"))):
                if isinstance(node, ast.Import):
                    found |= {each.name.partition(".")[0] for each in node.names}
                elif isinstance(node, ast.ImportFrom) and not node.level:
                    found.add(node.module.partition(".")[0])
    return found - sys.stdlib_module_names - {*PACKAGES, "_typeshed"}
