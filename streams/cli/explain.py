"""`phistream scrub --explain`: notes with annotations, proposals and published text.

It is for people who may read the notes; no service uses it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path

from rich.console import Console, Group, RenderableType
from rich.panel import Panel
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from deid_core import Decision, Deidentifier, Document, Explanation
from streams.engine.errors import InvalidRecord

from .explain_page import write_page
from .explain_text import counted, pieces, place_of, proposals, visible

BATCH = 256
SIDE_BY_SIDE = 100
"""Minimum columns of a terminal to show note and scrubbed text side by side."""

_STYLES = {
    "NAME": "black on yellow",
    "LOCATION": "black on green",
    "DATE": "black on cyan",
    "AGE": "white on blue",
    "CONTACT": "black on magenta",
    "ID": "white on red",
    "PROFESSION": "black on white",
}
_SIGNS = {"trusted": ">", "agrees": "=", "outvoted": "x"}
_PHI = (
    "PHI: this shows the notes' own text.  Proposals: > trusted, its label is used; "
    "= agrees; x outvoted, its text is replaced as well."
)


class Explainer:
    """Explains notes as they are read.

    Args:
        deidentifier: The system.
        terminal: Whether to print explanations.
        page: The HTML file to write; None for none.
        names: Preset and policy, for the head of the page.
    """

    def __init__(
        self,
        deidentifier: Deidentifier,
        *,
        terminal: bool,
        page: Path | None,
        names: tuple[str, str],
    ) -> None:
        self._deidentifier = deidentifier
        self._console = Console(highlight=False) if terminal else None
        self._page = page
        self._names = names
        self._explanations: list[Explanation] = []
        if self._console:
            self._console.print(_PHI, style="bold red", markup=False)

    def add(
        self, documents: Iterable[Document | InvalidRecord]
    ) -> Iterator[str | InvalidRecord]:
        """Explain notes in batches; yield the reason of each refusal."""
        pending = iter(documents)
        while batch := list(islice(pending, BATCH)):
            good = [each for each in batch if isinstance(each, Document)]
            for explanation in self._deidentifier.explain(good):
                self._add(explanation)
                if explanation.scrubbed is None:
                    yield explanation.refused
            yield from (each for each in batch if isinstance(each, InvalidRecord))

    def finish(self) -> None:
        """Write the page.

        Raises:
            OutputError: The file is not writable.
        """
        if self._page:
            preset, policy = self._names
            write_page(self._page, self._explanations, preset=preset, policy=policy)

    def _add(self, explanation: Explanation) -> None:
        if self._page:
            self._explanations.append(explanation)
        if self._console:
            wide = self._console.width >= SIDE_BY_SIDE
            self._console.print(shown(explanation, wide=wide))


def shown(explanation: Explanation, *, wide: bool) -> RenderableType:
    """Return an explanation for the terminal; labels are shown as text and colour.

    Args:
        explanation: Of one note.
        wide: Whether to show the scrubbed text to the right of the note.
    """
    found = counted(len(explanation.decisions), "place")
    title = Text(f"{visible(explanation.document.id)}: {found} found")
    note = Panel(_marked(explanation), title="note")
    after = Panel(_published(explanation), title="published")
    parts: list[RenderableType] = [Rule(title)]
    if wide:
        sides = Table.grid(expand=True, padding=(0, 1))
        sides.add_column(ratio=1)
        sides.add_column(ratio=1)
        sides.add_row(note, after)
        parts.append(sides)
    else:
        parts += [note, after]
    numbered = enumerate(explanation.decisions, start=1)
    parts += [line for number, each in numbered for line in _lines(number, each)]
    return Group(*parts)


def _marked(explanation: Explanation) -> Text:
    decisions = explanation.decisions
    spans = [each.annotation.span for each in decisions]
    shown = Text()
    for text, place in pieces(explanation.document.text, spans):
        if place is None:
            shown.append(visible(text))
        else:
            label = decisions[place].annotation.label
            head = f"[{place + 1} {label.value}| "
            shown.append(f"{head}{visible(text)}]", _STYLES[label.main])
    return shown


def _published(explanation: Explanation) -> Text:
    if explanation.scrubbed is None:
        return Text(f"Refused: nothing.  {explanation.refused}", "bold red")
    written = [each for each in explanation.decisions if each.scrubbed]
    spans = [each.scrubbed for each in written if each.scrubbed]
    shown = Text()
    for text, index in pieces(explanation.scrubbed.text, spans):
        style = (
            _STYLES[written[index].annotation.label.main] if index is not None else ""
        )
        shown.append(visible(text), style)
    return shown


def _lines(number: int, decision: Decision) -> Iterator[Text]:
    annotation = decision.annotation
    head = Text(f"{number:>3} ")
    head.append(annotation.label.value, _STYLES[annotation.label.main])
    place = place_of(decision)
    head.append(f" {place} {_quoted(decision.original)} {_becomes(decision)}")
    yield head
    for each, text, part in proposals(decision):
        line = (
            f"      {_SIGNS[part]} {each.source} {each.label.value} {each.score:.2f} "
            f"{_quoted(text)} {part}"
        )
        yield Text(line, "bold" if each is decision.trusted else "")


def _becomes(decision: Decision) -> str:
    if decision.surrogate is None:
        return "(refused)"
    return f"-> {_quoted(decision.surrogate)}" if decision.surrogate else "-> nothing"


def _quoted(text: str) -> str:
    return f'"{visible(text)}"'
