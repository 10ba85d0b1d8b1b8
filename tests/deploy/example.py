"""Load an example by its path, as a person would run it: it is in no package."""

from __future__ import annotations

from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

EXAMPLES = Path(__file__).parents[2] / "deploy/examples"


def load(name):
    spec = spec_from_file_location(name, EXAMPLES / f"{name}.py")
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
