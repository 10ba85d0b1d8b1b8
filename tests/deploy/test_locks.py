"""The lock files: one a use, all of the same versions."""

from __future__ import annotations

import re
import tomllib

import pytest

from tests.deploy.promql import DEPLOY
from tests.pythons import SUPPORTED

ROOT = DEPLOY.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
EXTRAS = PROJECT["optional-dependencies"]
LOCKS = {path.stem: path.read_text("utf-8") for path in DEPLOY.glob("locks/*.lock")}
TOOLS = {"editables", "hatchling"}
_PINNED = re.compile(r"^([\w.-]+)==([^ ;\\]+)", re.MULTILINE)
_NAMED = re.compile(r"([\w.-]+)(?:\[([\w.,-]+)\])?")


def pins(use):
    """Return names and versions of the packages of a lock."""
    return set(_PINNED.findall(LOCKS[use]))


def names(use):
    return {name for name, _ in pins(use)}


def needed(*extras):
    """Return the packages that the project and its extras name."""
    packages, left = set(), [*PROJECT["dependencies"]]
    for extra in extras:
        left += EXTRAS[extra]
    while left:
        name, inner = _NAMED.match(left.pop()).groups()
        if name == PROJECT["name"]:
            left += (each for extra in inner.split(",") for each in EXTRAS[extra])
        else:
            packages.add(name.lower().replace(".", "-"))
    return packages


USES = {
    "demo": needed("broker", "documents", "fast") | TOOLS,
    "test": needed("test") | TOOLS,
    "all": needed("all") | TOOLS,
    "spark": needed("all", "spark") | TOOLS,
    "image": needed("documents", "fast", "ops", "stream"),
    "build": TOOLS,
}


def test_there_is_a_lock_for_each_use():
    assert {*USES} == {*LOCKS}


@pytest.mark.parametrize("use", USES)
def test_a_lock_has_what_its_use_needs_in_the_versions_of_all_others(use):
    assert (USES[use] - names(use)) == set()
    assert (pins(use) - pins("spark")) == set()


@pytest.mark.parametrize("use", USES)
def test_each_package_of_a_lock_has_a_hash_that_pip_compares(use):
    packages = re.split(r"^(?=[\w.-]+==)", LOCKS[use], flags=re.MULTILINE)

    assert [each for each in packages if each and "--hash=sha256:" not in each] == []


def test_everything_is_everything_but_spark():
    assert (extras_of("all") - {"all"}) == ({*EXTRAS} - {"all", "spark"})
    assert {"py4j", "pyspark"} <= names("spark") - names("all")


def extras_of(extra):
    """Return an extra and those that it names, and they in turn."""
    found = {extra}
    for requirement in EXTRAS[extra]:
        name, inner = _NAMED.match(requirement).groups()
        if name == PROJECT["name"]:
            found = found.union(*map(extras_of, inner.split(",")))
    return found


def test_the_image_has_nothing_of_builds_tests_and_brokers():
    extras = ["broker", "build", "dev", "docs", "examples", "spark", "test", "train"]
    unwanted = {
        _NAMED.match(each)[1].lower() for extra in extras for each in EXTRAS[extra]
    }

    assert (names("image") & (TOOLS | unwanted)) == set()


def test_two_packages_with_the_same_modules_are_never_installed_together():
    assert [use for use in LOCKS if "phonenumbers" in names(use)] == []


def test_the_supported_interpreters_are_those_that_are_classified():
    listed = [
        each.rpartition(" ")[2]
        for each in PROJECT["classifiers"]
        if re.search(r"Python :: 3\.\d", each)
    ]

    assert listed == [*SUPPORTED]
