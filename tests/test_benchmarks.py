"""Benchmarks are run by hand; that they can be, is tested."""

from importlib import import_module
from pathlib import Path

import pytest

from tests import benchmarks

MODULES = sorted(
    path.stem
    for path in Path(benchmarks.__file__).parent.glob("*.py")
    if not path.stem.startswith("__")
)


@pytest.mark.parametrize("name", MODULES)
def test_every_benchmark_can_be_loaded(name):
    assert import_module(f"tests.benchmarks.{name}").__doc__
