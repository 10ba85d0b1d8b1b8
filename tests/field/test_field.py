"""Cases from the field: what must go is gone, and what must stay is there."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

import pytest

from deid_core import Deidentifier
from streams.cli.scrub_output import inputs_of
from streams.engine.errors import InvalidRecord
from streams.files.rewriting import Rewriter, Tally
from streams.scrub.outputs import Pseudonyms

from .outputs import shown_forms, shows

HERE = Path(__file__).parent
KEY = bytes(range(32))


def cases():
    """Yield every case of every kind, with its mark."""
    for kind in sorted((HERE / "cases").glob("*.jsonl")):
        for line in kind.read_text("utf-8").splitlines():
            case = json.loads(line)
            name = case.get("name") or case["file"]
            reason = case.get("xfail")
            marks = [pytest.mark.xfail(strict=True, reason=reason)] if reason else []
            yield pytest.param(case, id=f"{kind.stem}-{name}", marks=marks)


@cache
def deidentifier(policy):
    return Deidentifier.from_names(policy=policy, key=KEY)


@pytest.fixture
def scrubbed(hybrid, tmp_path):
    """A function that returns what `phistream scrub --out` writes, or refusals."""

    def scrub(case):
        if "file" in case:
            path = HERE / "files" / case["file"]
        else:
            path = tmp_path / f"note{case.get('suffix', '.txt')}"
            path.write_text(case["text"], "utf-8", newline="")
        policy = case.get("policy", "safe-harbor")
        system = hybrid if policy == "safe-harbor" else deidentifier(policy)
        [source] = inputs_of([path], None, tmp_path / "out")
        with path.open("rb") as stream:
            pieces = [
                *Rewriter(system, Pseudonyms(KEY)).rewritten(
                    path, stream, source.kind, Tally(), is_explicit=False
                )
            ]
        refusals = [piece for piece in pieces if isinstance(piece, InvalidRecord)]
        return refusals or b"".join(pieces)

    return scrub


@pytest.mark.parametrize("case", [*cases()])
def test_what_must_go_is_gone_and_what_must_stay_is_there(case, scrubbed):
    output = scrubbed(case)

    if isinstance(output, list):
        assert case.get("expect") == "refuse-or-scrub", output
        return
    forms = shown_forms(output)
    leaked = [string for string in case["must_go"] if shows(string, forms)]
    lost = [string for string in case["must_stay"] if not shows(string, forms)]
    assert ([], []) == (leaked, lost)
