"""Train the weights of the preset ``nus-maxent``.

    python -m tests.benchmarks.nus_maxent --notes 1000

A logistic regression (a maximum-entropy classifier with two classes) learns on notes of
the split dev which words are those of section 3.1: the patient's names, and any name
after an honorific.  The weights are written into ``deid_core/research/published/nus``;
the same versions of the packages give the same file.  ``phistream experiment nus``
compares it with ``nus`` on notes of the split test.  Needs scikit-learn.
"""

from __future__ import annotations

from collections.abc import Iterable
from importlib.resources import files
from pathlib import Path
from typing import Annotated

import numpy as np
import orjson
import typer
from sklearn.linear_model import LogisticRegression

from deid_core import Document
from deid_core.research.published.nus.maximum_entropy import FEATURES, FILE, features_of
from deid_core.research.published.nus.names import (
    HONORIFICS,
    name_tokens,
    titled,
    words_in,
)
from streams.demo.ward import Planted, Ward, WardMessage
from tests.benchmarks.ward import documents_of
from tests.benchmarks.ward_scores import KINDS

# A planted name can include a title: "Dr. Reitman", "Reitman, MD".
TITLES = frozenset({*HONORIFICS, "md"})
DIGITS = 4

Note = tuple[WardMessage, Document]


def rows_of(notes: Iterable[Note]) -> tuple[np.ndarray, np.ndarray]:
    """Return the features of all words, and which of them are names."""
    rows, targets = [], []
    for message, document in notes:
        words = titled(document.text, words_in(document.text))
        rows.append(features_of(document.text, words, name_tokens(document.known)))
        names = [each for each in message.planted if each.label.main == "NAME"]
        patients = _places(each for each in names if KINDS[each.how] == "patient")
        anybodys = _places(names)
        targets += [
            w.form not in TITLES and w.start in (anybodys if w.honorific else patients)
            for w in words
        ]
    return np.concatenate(rows), np.array(targets)


def _places(planted: Iterable[Planted]) -> set[int]:
    return {
        at for each in planted for at in range(each.start, each.start + len(each.value))
    }


def learnt(notes: Iterable[Note]) -> dict[str, object]:
    """Return the model as its file has it."""
    rows, targets = rows_of(notes)
    regression = LogisticRegression(max_iter=1000).fit(rows, targets)
    return {
        "features": FEATURES,
        "weights": [round(float(w), DIGITS) for w in regression.coef_[0]],
        "intercept": round(float(regression.intercept_[0]), DIGITS),
        "words": len(targets),
        "names": int(targets.sum()),
    }


def main(
    notes: Annotated[int, typer.Option(help="Notes to learn from.")] = 1000,
    seed: Annotated[int, typer.Option(help="Seed of the ward.")] = 7,
    patients: Annotated[int, typer.Option(help="Number of patients.")] = 200,
) -> None:
    """Train the weights and write the model file."""
    dev = Ward(seed=seed, patients=patients, split="dev")
    model = {"ward": {"split": "dev", "seed": seed, "notes": notes}}
    model |= learnt(documents_of(dev, notes))
    path = Path(str(files("deid_core.research.published.nus"))) / FILE
    path.write_bytes(orjson.dumps(model, option=orjson.OPT_INDENT_2) + b"\n")


if __name__ == "__main__":
    typer.run(main)
