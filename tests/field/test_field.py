"""Cases from the field: what must go is gone, and what must stay is there."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from .outputs import shown_forms, shows
from .scrubbing import scrubbed

HERE = Path(__file__).parent


def cases():
    """Yield every case of every kind, with its mark."""
    for kind in sorted((HERE / "cases").glob("*.jsonl")):
        for line in kind.read_text("utf-8").splitlines():
            case = json.loads(line)
            name = case.get("name") or case["file"]
            reason = case.get("xfail")
            marks = [pytest.mark.xfail(strict=True, reason=reason)] if reason else []
            yield pytest.param(case, id=f"{kind.stem}-{name}", marks=marks)


def file_of(case, folder):
    """Return the input of a case, which is written unless it is a file."""
    if "file" in case:
        return HERE / "files" / case["file"]
    path = folder / f"note{case.get('suffix', '.txt')}"
    path.write_text(case["text"], case.get("encoding", "utf-8"), newline="")
    return path


@pytest.mark.parametrize("case", [*cases()])
def test_what_must_go_is_gone_and_what_must_stay_is_there(case, tmp_path):
    output, refusals = scrubbed(
        file_of(case, tmp_path),
        case.get("policy", "safe-harbor"),
        json_map=case.get("map"),
        charset=case.get("charset", "utf-8"),
    )

    if refusals:
        assert case.get("expect") == "refuse-or-scrub", refusals
        return
    forms = shown_forms(output)
    leaked = [string for string in case["must_go"] if shows(string, forms)]
    lost = [string for string in case["must_stay"] if not shows(string, forms)]
    assert (leaked, lost) == ([], [])
