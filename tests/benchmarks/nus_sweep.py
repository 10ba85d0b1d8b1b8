"""The published system of ``presets/nus.toml`` on a ward: its threshold, its Table 1.

    python -m tests.benchmarks.nus_sweep --notes 300

Source: Yuwono, Ng and Ngiam 2016.  They set the ratio to 0.33 and print no other; here
it goes from 0 to 0.5, for `nus` and for the product's `known`, on the same notes with
the same records.  Figures are by token, as theirs: a token is a run of letters and
digits, and is of the column of the identifier in which it stands.  Recall counts a
token as found by whatever label; precision, by the column of the label that it got.
Tokens of what their columns do not name (kin, ages, e-mail) count nowhere, nor do
titles, and initials and states beside what was planted.

`distance` is `nus` without its honorifics.  A ward's prose has few words that look like
names.  With ``--text FILE`` (JSON lines with "text"), the sweep also seeks the ward's
patients, a few in each note, in notes of people who are none of them: what is found
there is false, but for real names after an honorific in the column of `nus`.

A ward is not their hospital: its notes are of the United States.  `nus` gets a site's
lists as the paper's did: with `--country`, the towns of that country.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import cycle, islice
from pathlib import Path
from typing import Annotated

import orjson
import typer
from rich.console import Console
from rich.table import Table

from deid_core import Annotation, Document, KnownIdentifiers, Label, load_preset
from deid_core.casing import recased
from deid_core.consistency import echoes
from deid_core.detectors import Detector
from deid_core.detectors.known import KnownDetector, KnownOptions
from deid_core.detectors.nus.detector import NusDetector
from deid_core.detectors.nus.options import NusOptions
from deid_core.merge import merge
from streams.demo.ward import Ward, WardMessage

from .ward import documents_of
from .ward_scores import KINDS, is_part

PRESETS = ("nus", "nus-maxent", "hybrid")
RECORDS_EACH = 5
THRESHOLDS = (0.0, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.33, 0.34, 0.4, 0.45, 0.5)
NAMES, IDS, DATES, OTHERS = "patient name", "ID num", "date", "other names"
COLUMNS = (NAMES, IDS, DATES, OTHERS)
COLUMNS_OF_PLANTED = {
    **dict.fromkeys(("patient",), NAMES),
    **dict.fromkeys(("MRN", "SSN", "account", "phone"), IDS),
    **dict.fromkeys(("date", "birth date"), DATES),
    **dict.fromkeys(("provider", "titled stranger", "address", "facility"), OTHERS),
}
"""By a row of the ward's table, the column of the paper's Table 1."""
COLUMNS_OF_LABELS = {
    Label.PATIENT: NAMES,
    **{label: IDS for label in Label if label.main == "ID"},
    Label.PHONE: IDS,
    Label.FAX: IDS,
    Label.DATE: DATES,
    Label.DOCTOR: OTHERS,
    **{label: OTHERS for label in Label if label.main == "LOCATION"},
}
TITLES = frozenset({"dr", "md", "mr", "mrs", "ms"})
_TOKEN = re.compile(r"[^\W_]+")

Note = tuple[WardMessage, Document]
Propose = Sequence[Detector]


class Scores:
    """Counts of tokens by column."""

    def __init__(self) -> None:
        self.planted = Counter[str]()
        self.covered = Counter[str]()
        self.given = Counter[str]()
        self.right = Counter[str]()

    def figures(self, columns: Sequence[str]) -> tuple[float, float, float]:
        """Return precision, recall and F over columns, in percent."""
        planted, covered, given, right = (
            sum(each[column] for column in columns)
            for each in (self.planted, self.covered, self.given, self.right)
        )
        precision, recall = right / max(1, given), covered / max(1, planted)
        f = 2 * precision * recall / max(1e-9, precision + recall)
        return 100 * precision, 100 * recall, 100 * f


def system(preset: str, country: str = "SG") -> Propose:
    """Return a preset's detectors, with a site's towns in `nus`."""
    config = load_preset(preset)
    options = config.options.get("nus")
    if isinstance(options, NusOptions):
        return [NusDetector(options.model_copy(update={"country": country}))]
    return config.build()


def score(detectors: Propose, notes: Iterable[Note], *, echo: bool) -> Scores:
    """Return the counts over notes; what follows detection refuses none."""
    scores = Scores()
    for message, document in notes:
        read = Document("", recased(document.text), document.known)
        proposals = [each for detect in detectors for each in detect([read])[0]]
        if echo:
            proposals += echoes([read], [proposals])[0]
        _count(scores, message, merge(proposals))
    return scores


def _count(
    scores: Scores, message: WardMessage, annotations: Iterable[Annotation]
) -> None:
    planted: dict[int, str] = {}
    for each in message.planted:
        column = COLUMNS_OF_PLANTED.get(KINDS[each.how], "")
        places = range(each.start, each.start + len(each.value))
        planted.update(dict.fromkeys(places, column))
    places = set(planted)
    labels = {
        at: COLUMNS_OF_LABELS.get(each.label)
        for each in annotations
        for at in range(each.span.start, each.span.end)
    }
    for token in _TOKEN.finditer(message.text):
        start = token.start()
        column = planted.get(start)
        if column == "" or token[0].lower() in TITLES:
            continue
        if column is None and is_part(token, places):
            continue
        is_covered = all(at in labels for at in range(*token.span()))
        got = next((labels[at] for at in range(*token.span()) if at in labels), None)
        if column:
            scores.planted[column] += 1
            scores.covered[column] += is_covered
        if got:
            scores.given[got] += 1
            scores.right[got] += got == column


def table_1(systems: Mapping[str, Propose], notes: Sequence[Note], title: str) -> Table:
    """Return the paper's Table 1 for each system."""
    grid = Table(title=f"Table 1, by token: {title}")
    grid.add_column("system")
    grid.add_column("")
    for column in (*COLUMNS, "overall"):
        grid.add_column(column, justify="right")
    for name, detectors in systems.items():
        scores = score(detectors, notes, echo=not name.startswith("nus"))
        columns = [*((each,) for each in COLUMNS), COLUMNS]
        figures = [scores.figures(each) for each in columns]
        for at, figure in enumerate(("precision", "recall", "F")):
            label = "" if at else name
            grid.add_row(label, figure, *(f"{each[at]:.2f}" for each in figures))
        counts = [scores.planted[each] for each in COLUMNS]
        grid.add_row("", "planted", *map(str, (*counts, sum(counts))))
        grid.add_section()
    return grid


def sweep(notes: Sequence[Note], others: Sequence[Document], title: str) -> Table:
    """Return the names' figures for each threshold, and the false words in others."""
    grid = Table(title=f"Patient names by threshold: {title}")
    grid.add_column("R below")
    names = ("distance", "nus", "known")
    for name in names:
        for figure in ("P", "R", "F"):
            grid.add_column(f"{name}\n{figure}", justify="right")
    for name in names if others else ():
        grid.add_column(f"{name}\nfalse in 1,000", justify="right")
    for threshold in THRESHOLDS:
        nus = NusDetector(NusOptions(threshold=threshold))
        known = KnownDetector(KnownOptions(threshold=threshold))
        runs = ([_Only(nus, "nus/edit_distance")], [nus], [known])
        figures = [score(each, notes, echo=False).figures((NAMES,)) for each in runs]
        cells = [f"{value:.2f}" for each in figures for value in each]
        cells += [f"{_false_in_1000(each, others):.2f}" for each in runs if others]
        grid.add_row(f"{threshold:.2f}", *cells)
    return grid


def strangers_notes(
    file: Path, lines: int, known: Sequence[KnownIdentifiers]
) -> list[Document]:
    """Return a file's first notes, each with the record of a few who are not in it."""
    with file.open("rb") as stream:
        texts = [orjson.loads(line)["text"] for line in islice(stream, lines)]
    records = cycle(known)
    return [
        Document("", text, next(records)) for text in texts for _ in range(RECORDS_EACH)
    ]


def _false_in_1000(detectors: Propose, documents: Iterable[Document]) -> float:
    words = false = 0
    for document in documents:
        found = merge(a for detect in detectors for a in detect([document])[0])
        words += len(_TOKEN.findall(document.text))
        false += sum(each.label is Label.PATIENT for each in found)
    return 1000 * false / max(1, words)


class _Only:
    """The proposals of one rule of a detector."""

    def __init__(self, detector: Detector, rule: str) -> None:
        self._detector, self.name = detector, rule

    def __call__(self, documents: Sequence[Document]) -> list[list[Annotation]]:
        return [
            [each for each in proposals if each.detector == self.name]
            for proposals in self._detector(documents)
        ]


def main(
    notes: Annotated[int, typer.Option(help="Notes to write.")] = 300,
    split: Annotated[str, typer.Option(help="dev or test.")] = "test",
    seed: Annotated[int, typer.Option(help="Decides the whole ward.")] = 7,
    patients: Annotated[int, typer.Option(help="How many there are.")] = 200,
    country: Annotated[str, typer.Option(help="Whose towns nus has.")] = "US",
    text: Annotated[
        Path | None, typer.Option(help="Notes of others: JSON lines with text.")
    ] = None,
    lines: Annotated[int, typer.Option(help="How many of them, from the first.")] = 40,
) -> None:
    """Print both tables."""
    if split not in ("dev", "test"):
        raise typer.BadParameter("dev or test", param_hint="--split")
    ward = Ward(seed=seed, patients=patients, split=split)  # type: ignore[arg-type]
    noted = list(documents_of(ward, notes))
    title = f"{len(noted)} notes with a record, split {split}, seed {seed}"
    names = dict.fromkeys(document.known.patient_names for _, document in noted)
    records = [KnownIdentifiers(patient_names=each) for each in names]
    others = strangers_notes(text, lines, records) if text else []
    console = Console(width=120)
    console.print(sweep(noted, others, title))
    systems = {each: system(each, country) for each in PRESETS}
    console.print(table_1(systems, noted, title))


if __name__ == "__main__":
    typer.run(main)
