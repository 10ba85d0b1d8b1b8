"""`phistream evaluate`: score a preset on gold corpora."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Annotated, Literal

import orjson
import typer
from rich.console import Console
from rich.progress import track

from deid_core import Deidentifier
from deid_core.research.corpora.conventions import Rows
from deid_core.research.corpora.corpus import (
    CASES,
    Corpus,
    Prediction,
    in_case,
    without_records,
)
from deid_core.research.corpora.installed import paths_of
from deid_core.research.corpora.readers import read_corpus
from deid_core.research.corpora.writers import write_brat
from deid_core.research.scoring.errors import ErrorInContext, errors_in_context
from deid_core.research.scoring.evaluation import Evaluation, compare
from deid_core.research.scoring.evaluation import evaluate as score
from deid_core.research.scoring.predict import predict
from deid_core.research.scoring.tables import Table as ScoreTable
from deid_core.research.scoring.tables import (
    as_json,
    brief_tables,
    markdown,
    tables_of,
)
from streams.cli.terminal import console, score_table, write_file
from streams.pipeline.files.sources import require_present

Format = Literal[
    "auto", "spans", "asq", "brat", "i2b2-2006", "i2b2-2014", "physionet", "conll"
]
Part = Literal["dev", "test", "all"]
Case = Literal["as-is", "upper", "lower", "all"]


def evaluate(
    corpus: Annotated[
        list[Path],
        typer.Option(
            "--corpus",
            help="Gold corpus: a file or folder, or written-dev: invented notes that "
            "come with phistream.",
        ),
    ],
    preset: Annotated[
        str, typer.Option(help="Detection preset: a name or file.")
    ] = "hybrid",
    against: Annotated[
        str | None, typer.Option(help="Another preset, for a test of significance.")
    ] = None,
    format: Annotated[
        Format, typer.Option("--format", help="Format of the corpora; auto detects it.")
    ] = "auto",
    tags_of: Annotated[
        str | None, typer.Option(help="Tag set of the corpora; default: by the path.")
    ] = None,
    part: Annotated[Part, typer.Option(help="Part of each corpus.")] = "all",
    rows: Annotated[
        str | None, typer.Option(help="Rows FIRST-LAST, from 1, instead of a part.")
    ] = None,
    case: Annotated[
        Case,
        typer.Option(
            help="Convert the notes to a letter case first; all: each in turn."
        ),
    ] = "as-is",
    records: Annotated[
        bool,
        typer.Option("--records", help="Give the system the patients' records, too."),
    ] = False,
    brief: Annotated[
        bool,
        typer.Option(
            "--brief",
            help="One table of all corpora: recall, false words, quiet notes, classes.",
        ),
    ] = False,
    errors: Annotated[
        int,
        typer.Option(min=0, help="Print this many errors, with text of the corpus!"),
    ] = 0,
    json: Annotated[
        Path | None, typer.Option(help="Write all figures to this file.")
    ] = None,
    markdown_file: Annotated[
        Path | None, typer.Option("--markdown", help="Write the tables to this file.")
    ] = None,
    brat_folder: Annotated[
        Path | None,
        typer.Option(
            "--write-brat", help="Write predictions and texts to this folder."
        ),
    ] = None,
    seed: Annotated[int, typer.Option(help="Random seed of intervals and tests.")] = 0,
) -> None:
    """Score a preset on gold corpora: coverage, spans and tokens, for each label.

    A value counts as found when all its letters and digits are covered, whatever the
    label.  The system sees only the text; some corpora have the patient's record beside
    it, which --records adds.

    A corpus of your own is JSON lines: {"id": "n1", "text": "Ms. Roe is well.",
    "spans": [{"start": 4, "end": 7, "label": "NAME:PATIENT"}]}.
    """
    cases = [*CASES] if case == "all" else [case]
    if brat_folder is not None and len(corpus) * len(cases) > 1:
        raise typer.BadParameter("--write-brat takes one --corpus and one --case")
    if brief and against is not None:
        raise typer.BadParameter("--brief is about one preset, without --against")
    require_present(paths_of(corpus))
    chosen = None if rows is None else Rows.parse(rows)
    systems = [
        (name, Deidentifier.from_names(preset=name))
        for name in (preset, against)
        if name is not None
    ]
    done = []
    for path in corpus:
        gold = read_corpus(
            path, format=format, conventions=tags_of, part=part, rows=chosen
        )
        if errors and gold.is_held_out:
            raise typer.BadParameter(f"--errors: rows of {path} are held out")
        for each in cases:
            changed = in_case(gold if records else without_records(gold), each)
            predictions = [_predict(system, changed) for system in systems]
            done.append(_score(systems, changed, predictions, each, seed))
            if not brief:
                _show(done[-1])
            _show_errors(changed, predictions[0], errors)
            if brat_folder is not None:
                write_brat(changed, predictions[0], brat_folder)
    _finish(done, brief, json, markdown_file)


def _finish(
    done: Sequence[Evaluation], brief: bool, json: Path | None, page: Path | None
) -> None:
    """Print the brief tables, and write the files."""
    tables = [table for each in done for table in tables_of(each)]
    if brief:
        tables = brief_tables(done)
        _print(tables)
    if json is not None:
        figures = [*map(as_json, done)]
        write_file(json, orjson.dumps(figures, option=orjson.OPT_INDENT_2))
    if page is not None:
        write_file(page, markdown(tables).encode())


System = tuple[str, Deidentifier]
"""A preset's name, and the system."""


def _predict(system: System, gold: Corpus) -> list[Prediction]:
    name, deidentifier = system
    progress = Console(stderr=True)
    return list(
        track(
            predict(deidentifier, gold.documents),
            description=f"{name} on {gold.name}",
            total=len(gold.documents),
            console=progress,
            transient=True,
            disable=not progress.is_terminal,
        )
    )


def _score(
    systems: Sequence[System],
    gold: Corpus,
    predictions: Sequence[Sequence[Prediction]],
    case: str,
    seed: int,
) -> Evaluation:
    results = [
        score(gold, each, system=name, case=case, seed=seed)
        for (name, _), each in zip(systems, predictions, strict=True)
    ]
    first = results[0]
    for other in results[1:]:
        differences = compare(first, other, seed=seed)
        first = replace(first, against=(other.system, differences))
    return first


def _print(tables: Iterable[ScoreTable]) -> None:
    shown = console()
    for table in tables:
        shown.print(f"\n{table.title}", style="bold", highlight=False, soft_wrap=True)
        shown.print(score_table(table))


def _show(result: Evaluation) -> None:
    _print(tables_of(result))
    shown = console()
    counted = {
        "no counterpart, not scored": result.unscored,
        "refused": result.refused,
    }
    for what, counts in counted.items():
        if counts:
            text = ", ".join(f"{each} {n}" for each, n in counts.items())
            shown.print(f"{what}: {text}", highlight=False, markup=False)


def _show_errors(gold: Corpus, predictions: Sequence[Prediction], limit: int) -> None:
    for error in islice(errors_in_context(gold, predictions), limit):
        sys.stdout.write(f"{_line(error)}\n")


def _line(error: ErrorInContext) -> str:
    marked = f"{error.before}«{error.inner}»{error.after}"
    return f"{error.kind:6} {error.tag:12} {error.place}: {' '.join(marked.split())}"
