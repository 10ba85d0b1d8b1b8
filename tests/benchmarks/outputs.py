"""Compare the outputs of two versions of the library, document by document.

    python -m tests.benchmarks.outputs write FILE     (in the version to compare with)
    python -m tests.benchmarks.outputs compare FILE   (in the version to check)

The file holds the documents, so that both versions see the same, and for each system a
digest of its proposals, annotations, offset map and text.  Documents: the written
notes, a generated ward with and without its patient records, and the development rows
of the open corpora where ``../shared/data`` is there.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict
from datetime import date
from hashlib import sha256
from pathlib import Path
from typing import Any

import typer
from rich.console import Console

from deid_core import Deidentifier, Document, KnownIdentifiers
from deid_core.document import Address, KnownId, PersonName
from deid_core.labels import Label
from deid_core.research.corpora.readers import read_corpus

BATCH = 64
SYSTEMS = (
    ("hybrid", "safe-harbor"),
    ("hybrid", "surrogate"),
    ("hybrid", "limited-data-set"),
    ("lexical", "i2b2"),
    ("meddocan", "safe-harbor"),
    ("nus", "safe-harbor"),
    ("nus-maxent", "safe-harbor"),
)
KEY = bytes(range(32))
OPEN_CORPORA = (
    "mts-dialog/sections.jsonl",
    "synthea/notes.jsonl",
    "presidio-research/*.jsonl",
    "asq-phi/*.jsonl",
)
ROWS_OF_EACH = 1200
console = Console()
app = typer.Typer(add_completion=False)


@app.command()
def write(file: Path, notes: int = 400) -> None:
    """Write the documents and what this version makes of them."""
    rows = [*_ward(notes), *_written_notes(), *_open_corpora()]
    documents = [_document(number, row) for number, row in enumerate(rows)]
    outputs = {_name(each): list(_digests(*each, documents)) for each in SYSTEMS}
    file.write_text(json.dumps({"documents": rows, "outputs": outputs}))
    console.print(f"{len(rows)} documents, {len(outputs)} systems: {file}")


@app.command()
def compare(file: Path) -> None:
    """Print how many outputs differ from those in the file; ends with 1 if any."""
    read = json.loads(file.read_text())
    documents = [_document(*each) for each in enumerate(read["documents"])]
    is_same = True
    for each in SYSTEMS:
        before = read["outputs"][_name(each)]
        now = list(_digests(*each, documents))
        other = [
            n
            for n, pair in enumerate(zip(before, now, strict=True))
            if len({*pair}) > 1
        ]
        console.print(f"{_name(each)}: {len(other)} of {len(now)} differ {other[:10]}")
        is_same = is_same and not other
    raise typer.Exit(0 if is_same else 1)


def _name(system: tuple[str, str]) -> str:
    return " / ".join(system)


def _digests(preset: str, policy: str, documents: list[Document]) -> Iterator[str]:
    system = Deidentifier.from_names(preset, policy, KEY)
    for at in range(0, len(documents), BATCH):
        for each in system.explain(documents[at : at + BATCH]):
            yield sha256(repr(_account(each)).encode()).hexdigest()[:16]


def _account(explanation: Any) -> tuple[Any, ...]:
    decisions = [
        ([_annotation(p) for p in each.proposals], _annotation(each.annotation))
        for each in explanation.decisions
    ]
    scrubbed = explanation.scrubbed
    if scrubbed is None:
        return decisions, explanation.refused
    rows = [tuple(getattr(row, n) for n in _ROW) for row in scrubbed.offset_map.rows]
    return decisions, scrubbed.text, rows, scrubbed.key_id


_ROW = ("start", "end", "scrubbed_start", "scrubbed_end")


def _annotation(each: Any) -> tuple[Any, ...]:
    by = each.detector
    # Two fields since detector and rule were parted.
    if rule := getattr(each, "rule", ""):
        by = f"{by}/{rule}"
    span = each.span
    return span.start, span.end, each.label.value, each.score, by, each.tag


def _ward(notes: int) -> Iterator[dict[str, Any]]:
    from streams.demo.gold import noted
    from streams.demo.ward import Ward

    for message, known in noted(Ward(seed=11, patients=60, split="dev"), notes):
        row = json.loads(json.dumps(asdict(known), default=_plain))
        yield {"text": message.text, "known": row, "patient": str(message.patient)}
        yield {"text": message.text}
        yield {"text": message.text.upper(), "known": row}


def _written_notes() -> Iterator[dict[str, Any]]:
    folder = Path(__file__).parents[1] / "written_notes"
    for part in ("train", "dev"):
        for each in read_corpus(folder / part).documents:
            yield {"text": each.text}


def _open_corpora() -> Iterator[dict[str, Any]]:
    folder = Path(__file__).parents[3] / "shared" / "data"
    for pattern in OPEN_CORPORA:
        for file in sorted(folder.glob(pattern)):
            yield from _texts(file)


def _texts(file: Path) -> Iterator[dict[str, Any]]:
    for line in file.read_text("utf-8").splitlines()[:ROWS_OF_EACH]:
        yield {"text": json.loads(line)["text"]}


def _plain(value: object) -> str:
    return value.isoformat() if isinstance(value, date) else str(value)


def _document(number: int, row: dict[str, Any]) -> Document:
    known = _known(row["known"]) if "known" in row else KnownIdentifiers()
    return Document(str(number), row["text"], known, row.get("patient", ""))


def _known(row: dict[str, Any]) -> KnownIdentifiers:
    values = {name: tuple(map(_PARSE.get(name, str), row[name])) for name in row}
    return KnownIdentifiers(**{**values, "sex": row.get("sex", "")})


def _name_of(row: dict[str, str]) -> PersonName:
    return PersonName(**row)


_PARSE: dict[str, Any] = {
    "patient_names": _name_of,
    "kin_names": _name_of,
    "provider_names": _name_of,
    "addresses": lambda row: Address(**row),
    "birth_dates": date.fromisoformat,
    "ids": lambda row: KnownId(row["value"], Label(row["label"])),
}


if __name__ == "__main__":
    app()
