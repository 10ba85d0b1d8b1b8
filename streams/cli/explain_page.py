"""Explanations as one HTML page without scripts or external resources.

All text from a note, a patient record or a detector passes through `html.escape`.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from html import escape
from importlib.resources import files
from pathlib import Path
from string import Template

from deid_core import Decision, Explanation, Label
from streams.engine.errors import OutputError

from .explain_text import counted, pieces, place_of, proposals, visible

_OWNER_ONLY = 0o600
_COLUMNS = ("#", "label", "place", "original", "replacement", "proposals")


def write_page(
    path: Path, explanations: Sequence[Explanation], *, preset: str, policy: str
) -> None:
    """Write the page; a new file is readable only by its owner.

    Raises:
        OutputError: The file is not writable.
    """
    page = page_of(explanations, preset=preset, policy=policy)
    try:
        with open(path, "w", encoding="utf-8", opener=_owner_only) as out:
            out.write(page)
    except OSError as error:
        raise OutputError(f"{path}: {error.strerror}; choose another file") from None


def page_of(explanations: Sequence[Explanation], *, preset: str, policy: str) -> str:
    """Return the page."""
    template = (files(__package__) / "explain.html").read_text("utf-8")
    mains = dict.fromkeys(label.main for label in Label)
    legend = "".join(f'<li><span class="{main}">{main}</span></li>' for main in mains)
    notes = "\n".join(
        _note(number, each) for number, each in enumerate(explanations, start=1)
    )
    return Template(template).substitute(
        preset=escape(preset),
        policy=escape(policy),
        count=counted(len(explanations), "note"),
        legend=legend,
        notes=notes or "<p>There are no notes.</p>",
    )


def _owner_only(path: str, flags: int) -> int:
    return os.open(path, flags, _OWNER_ONLY)


def _note(number: int, explanation: Explanation) -> str:
    document, decisions = explanation.document, explanation.decisions
    record = "with" if document.known else "without"
    summary = f"{counted(len(decisions), 'place')} found, {record} a patient record"
    parts = [
        f'<article aria-labelledby="n{number}">',
        f'<h2 id="n{number}">{_shown(document.id)}</h2>',
        f'<p class="soft">{summary}</p>',
        _refusal(explanation),
        '<div class="sides">',
        _side("Note", _marked(number, explanation)),
        _side("Published", _published(number, explanation)),
        "</div>",
        _table(number, decisions) if decisions else "",
        "</article>",
    ]
    return "\n".join(filter(None, parts))


def _refusal(explanation: Explanation) -> str:
    if explanation.scrubbed is not None:
        return ""
    why = escape(explanation.refused)
    return f'<p class="refused">Refused: nothing is published. {why}</p>'


def _side(title: str, text: str) -> str:
    return f'<section><h3>{title}</h3><p class="text">{text}</p></section>'


def _marked(number: int, explanation: Explanation) -> str:
    decisions = explanation.decisions
    spans = [each.annotation.span for each in decisions]
    return "".join(
        _shown(text) if place is None else _mark(number, place, decisions[place], text)
        for text, place in pieces(explanation.document.text, spans)
    )


def _mark(number: int, place: int, decision: Decision, text: str) -> str:
    label = decision.annotation.label
    return (
        f'<a class="mark {label.main}" id="n{number}m{place + 1}" '
        f'href="#n{number}r{place + 1}">{_shown(text)}'
        f"<b>{place + 1} {label.value}</b>{_detail(place, decision)}</a>"
    )


def _published(number: int, explanation: Explanation) -> str:
    if explanation.scrubbed is None:
        return '<span class="soft">Nothing.</span>'
    kept = [
        (place, each.scrubbed)
        for place, each in enumerate(explanation.decisions)
        if each.scrubbed is not None
    ]
    shown = []
    for text, index in pieces(explanation.scrubbed.text, [span for _, span in kept]):
        if index is None:
            shown.append(_shown(text))
            continue
        place = kept[index][0]
        decision = explanation.decisions[place]
        main = decision.annotation.label.main
        shown.append(
            f'<a class="mark {main}" href="#n{number}r{place + 1}">{_shown(text)}'
            f"<b>{place + 1}</b>{_detail(place, decision)}</a>"
        )
    return "".join(shown)


def _detail(place: int, decision: Decision) -> str:
    annotation = decision.annotation
    lines = [
        f"<strong>{place + 1} {annotation.label.value}</strong>, {place_of(decision)}: "
        f"{_quoted(decision.original)} becomes {_written(decision)}",
        *(line for _, line in _proposals(decision)),
    ]
    return f'<span class="detail">{"".join(f"<span>{e}</span>" for e in lines)}</span>'


def _proposals(decision: Decision) -> Iterator[tuple[str, str]]:
    """Yield the part of each proposal in the decision, and its line."""
    for each, text, part in proposals(decision):
        yield (
            part,
            (
                f"{part}: <code>{escape(each.source)}</code> "
                f"{each.label.value} {each.score:.2f} {_quoted(text)}"
            ),
        )


def _table(number: int, decisions: Sequence[Decision]) -> str:
    head = "".join(f'<th scope="col">{name}</th>' for name in _COLUMNS)
    rows = "\n".join(
        _row(number, place, each) for place, each in enumerate(decisions, start=1)
    )
    return (
        "<table><caption>Places and their proposals</caption>"
        f"<thead><tr>{head}</tr></thead><tbody>\n{rows}\n</tbody></table>"
    )


def _row(number: int, place: int, decision: Decision) -> str:
    annotation = decision.annotation
    back = f'<a href="#n{number}m{place}" aria-label="{place}, in the note">{place}</a>'
    label = (
        f'<span class="mark {annotation.label.main}">{annotation.label.value}</span>'
    )
    cells = (
        label,
        place_of(decision),
        _quoted(decision.original),
        _written(decision),
        _list(decision),
    )
    named = zip(_COLUMNS[1:], cells, strict=True)
    return (
        f'<tr id="n{number}r{place}"><th scope="row" data-label="#">{back}</th>'
        + "".join(_cell(name, cell) for name, cell in named)
        + "</tr>"
    )


def _cell(name: str, content: str) -> str:
    return f'<td class="{name}" data-label="{name}">{content}</td>'


def _list(decision: Decision) -> str:
    items = (f'<li class="{part}">{line}</li>' for part, line in _proposals(decision))
    return f'<ul class="proposals">{"".join(items)}</ul>'


def _written(decision: Decision) -> str:
    if decision.surrogate is None:
        return "nothing: refused"
    return _quoted(decision.surrogate) if decision.surrogate else "nothing: removed"


def _quoted(text: str) -> str:
    return f"\u201c{_shown(text)}\u201d"


def _shown(text: str) -> str:
    return escape(visible(text))
