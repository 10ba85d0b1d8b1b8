"""`phistream experiment`: run the experiments of deid_core.research."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from streams.cli.options import Seed
from streams.cli.terminal import console, say, score_table, show_table
from streams.engine.errors import ConfigError

if TYPE_CHECKING:
    from deid_core.research.experiments import Experiment
    from deid_core.research.experiments.harness.report import Report


def experiment(
    names: Annotated[
        list[str] | None, typer.Argument(help="Experiments to run; none lists them.")
    ] = None,
    data: Annotated[
        Path | None, typer.Option(help="Folder of the corpora; required to run one.")
    ] = None,
    out: Annotated[
        Path, typer.Option(help="Folder for JSON, Markdown and plots.")
    ] = Path("experiments"),
    all_of_them: Annotated[
        bool, typer.Option("--all", help="Run all experiments.")
    ] = False,
    quick: Annotated[
        bool, typer.Option("--quick", help="Use a part of each corpus, as a trial.")
    ] = False,
    models: Annotated[
        Path | None,
        typer.Option(help="Folder that keeps trained systems for the next run."),
    ] = None,
    mesh: Annotated[
        Path | None, typer.Option(help="MeSH vocabulary: TERM<tab>TREE NUMBER lines.")
    ] = None,
    second_annotator: Annotated[
        Path | None,
        typer.Option(help="Brat folder of a second annotator's annotations."),
    ] = None,
    libraries: Annotated[
        Path | None,
        typer.Option(
            help="Folder where other systems were installed (operating-points)."
        ),
    ] = None,
    seed: Seed = 1,
) -> None:
    """Train and compare systems; write a page of tables, plots and findings.

    Runs from a checkout of the repository, with the extra "train".
    """
    known = _known()
    if not names and not all_of_them:
        _list(known)
        return
    chosen = list(known) if all_of_them else list(names or [])
    for name in chosen:
        if name not in known:
            raise ConfigError(
                f"experiment {name!r} is unknown; known: {', '.join(known)}"
            )
    if data is None:
        raise typer.BadParameter("name the folder of the corpora: --data FOLDER")
    from deid_core.research.experiments.harness.report import write_index, write_report
    from deid_core.research.experiments.harness.runner import Runner
    from streams.demo.gold import ward_corpus

    with _folder(models) as kept, _progress() as progress:
        runner = Runner(
            data,
            kept,
            quick=quick,
            seed=seed,
            progress=progress,
            mesh=mesh,
            second_annotator=second_annotator,
            ward=partial(ward_corpus, split="test", seed=seed),
            libraries=libraries,
        )
        for name in chosen:
            progress(name)
            report = known[name](runner)
            write_report(report, out)
            _print(report)
    index = write_index(out, list(known))
    say(f"the pages are listed in {index}")


def _known() -> dict[str, Experiment]:
    if find_spec("deid_core.research.experiments") is None:
        raise ConfigError(
            "experiments are not installed with phistream: they read files of its "
            "repository; run this from a checkout"
        )
    from deid_core.research.experiments import EXPERIMENTS

    return dict(EXPERIMENTS)


def _list(known: dict[str, Experiment]) -> None:
    rows = [(n, (run.__doc__ or "").splitlines()[0]) for n, run in known.items()]
    show_table(("experiment", "summary"), rows)


@contextmanager
def _folder(models: Path | None) -> Iterator[Path]:
    if models is not None:
        models.mkdir(parents=True, exist_ok=True)
        yield models
        return
    with TemporaryDirectory(prefix="phistream-models-") as made:
        yield Path(made)


@contextmanager
def _progress() -> Iterator[Callable[[str], None]]:
    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as shown:
        bar = shown.add_task("", total=None)
        yield lambda word: shown.update(bar, description=escape(word))


def _print(report: Report) -> None:
    from deid_core.research.experiments.harness.report import findings_table

    shown = console()
    shown.rule(report.experiment)
    for line in (report.question, *report.set_up):
        shown.print(line, highlight=False, markup=False)
    tables = [*report.tables]
    if report.findings:
        tables.append(findings_table(report.findings))
    for table in tables:
        is_text = table.title == "Findings"
        shown.print(table.title, style="italic", markup=False)
        shown.print(score_table(table, text_columns=99 if is_text else 1))
