"""The codes of dead letters are a closed set."""

from __future__ import annotations

import ast
import inspect
from pathlib import Path

import streams
from streams.engine.reasons import OTHER, REASONS, bounded
from streams.scrub.processor import _code

ROOT = Path(streams.__file__).parent


def _codes():
    """Return the codes that the service's code gives to InvalidRecord."""
    for path in ROOT.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            is_call = isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
            if is_call and node.func.id == "InvalidRecord":
                yield from _constants(node.args[0])


def _constants(code):
    if isinstance(code, ast.Constant):
        yield code.value
    else:
        # What deid_core refuses gets its code from the error's class.
        yield from ast.literal_eval(_table_in(_code)).values()
        yield "deid_error"


def _table_in(function):
    tree = ast.parse(inspect.getsource(function))
    [table] = [node for node in ast.walk(tree) if isinstance(node, ast.Dict)]
    return table


def test_every_code_in_use_is_listed_and_none_besides():
    assert set(REASONS) == set(_codes())


def test_a_code_that_is_not_listed_is_counted_as_other():
    assert "residue" == bounded("residue")
    assert OTHER == bounded("zzmarker")
