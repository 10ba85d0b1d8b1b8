"""Kernels that run as Python give what machine code gives.

Texts, offsets, labels and rules are the same; of the tagger's probabilities the sixth
digit may differ, as machine code adds numbers in another order.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
WRITTEN = ROOT / "tests" / "written_notes"
PROGRAM = """
import json, sys
from dataclasses import asdict
from deid_core.runtime import jit

if sys.argv[1] == "plain":
    jit.run_uncompiled()
from deid_core.pipeline import Deidentifier
from deid_core.document import Document, KnownIdentifiers, PersonName
documents = []
for number, text in enumerate(json.load(sys.stdin)):
    known = KnownIdentifiers()
    if number % 3 == 0:
        capitals = [word.strip(".,:;") for word in text.split() if word.istitle()]
        names = [word for word in capitals if word.isalpha() and len(word) > 3][:2]
        known = KnownIdentifiers(patient_names=(PersonName(*names),) if names else ())
    documents.append(Document(f"note-{number}", text, known=known))
deidentifier = Deidentifier.from_names("hybrid")
for result in deidentifier.deidentify_batch(documents):
    if isinstance(result, Exception):
        print(json.dumps(repr(result)))
        continue
    print(json.dumps([result.text, [asdict(each) for each in result.annotations]]))
assert bool(sys.modules.get("numba")) is (sys.argv[1] == "compiled")
"""
ODD = [
    "",
    "\ud800 Dr. N\u00fa\u00f1ez \0",
    "\u6f22\u5b57 Jane Roe, MRN 8401127",
    "7" * 3000,
    "Dr. Poe\n" * 200,
]


def texts(count):
    from deid_core.research.corpora.readers import read_corpus

    files = [*WRITTEN.glob("dev/*.txt"), *sorted(WRITTEN.glob("train/*.txt"))]
    found = [
        document.text for file in files for document in read_corpus(file).documents
    ]
    step = max(1, len(found) // count)
    chosen = found[::step][:count]
    return [*chosen, *(text.upper() for text in chosen[::9]), *ODD]


def scrubbed(kind, notes):
    done = subprocess.run(
        [sys.executable, "-W", "error::RuntimeWarning", "-c", PROGRAM, kind],
        input=json.dumps(notes),
        cwd=ROOT,
        env=os.environ,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.mark.parametrize(
    "count", [30, pytest.param(500, marks=pytest.mark.long)], ids=["some", "many"]
)
def test_uncompiled_kernels_give_the_same_bytes(count):
    notes = texts(count)

    plain, compiled = (scrubbed(kind, notes) for kind in ("plain", "compiled"))

    assert len(plain) == len(compiled) == len(notes) >= count
    differing = [
        number
        for number, pair in enumerate(zip(plain, compiled, strict=True))
        if without_scores(pair[0]) != without_scores(pair[1])
    ]
    assert differing == []
    pairs = zip(scores_of(plain), scores_of(compiled), strict=True)
    assert max(abs(one - other) for one, other in pairs) < 1e-6


def without_scores(line):
    result = json.loads(line)
    if isinstance(result, str):
        return result
    text, annotations = result
    return text, [{**each, "score": None} for each in annotations]


def scores_of(lines):
    results = [result for line in lines if isinstance(result := json.loads(line), list)]
    return [each["score"] for _, annotations in results for each in annotations]
