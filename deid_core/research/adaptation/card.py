"""The card of an adapted model: counts and figures, and no text of the site."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from .adapting import HELD_OUT, Adaptation, Adapted
from .comparison import Compared

_HEADERS = (
    "set", "recall before", "after", "false words in 1,000 before", "after",
    "words redacted in 1,000 before", "after",
)  # fmt: skip


def figures_of(compared: Sequence[Compared]) -> tuple[Sequence[str], list[list[str]]]:
    """Return the headers and the rows of the table of figures."""
    return _HEADERS, [
        [
            each.before.name,
            f"{each.before.recall:.4f}",
            f"{each.after.recall:.4f}",
            f"{each.before.false_rate:.2f}",
            f"{each.after.false_rate:.2f}",
            f"{each.before.redacted_rate:.1f}",
            f"{each.after.redacted_rate:.1f}",
        ]
        for each in compared
    ]


def card_of(adaptation: Adaptation, adapted: Adapted) -> str:
    """Return the card as Markdown."""
    return "\n".join(_lines(adaptation, adapted)) + "\n"


def _lines(adaptation: Adaptation, adapted: Adapted) -> Iterator[str]:
    model, criterion = adapted.model, adaptation.criterion
    yield f"# Model card: {model.name} {model.version}, adapted to a site"
    yield ""
    yield (
        f"Written by `phistream adapt` with the recipe `{adaptation.recipe.name}`, "
        f"beside the preset `{adaptation.preset.name}`. "
        f"{len(model.weights.names):,} features, {len(model.weights.values):,} weights."
    )
    yield from ("", "## Learned from", "")
    for corpus in adaptation.corpora:
        yield f"- {corpus.name}, {len(corpus.documents):,} annotated documents"
    (notes, held_notes), (patients, held) = adapted.notes, adapted.patients
    yield (
        f"- {notes:,} notes of {patients:,} patients of the site, labelled by the "
        f"patients' records; {held_notes:,} notes of {held:,} others were held out "
        f"(one patient in {HELD_OUT})"
    )
    for number, each in enumerate(adapted.counted, start=1):
        yield (
            f"- round {number}: {each.lines:,} lines with {each.by_record:,} values by "
            f"records and {each.by_system:,} by the system alone; {each.doubtful:,} "
            f"lines left out; {each.refused:,} notes refused"
        )
    yield from ("", "## Figures", "")
    headers, rows = figures_of(adapted.compared)
    yield f"| {' | '.join(headers)} |"
    yield "|" + " --- |" * len(headers)
    for row in rows:
        yield f"| {' | '.join(row)} |"
    yield ""
    yield (
        "The site's values are those of its held-out patients' records, which the "
        "system was not given. Its false words are ordinary words in small letters "
        "that no record holds: a sign, not a count."
    )
    yield ""
    yield (
        f"Accepted are: recall of the site's records at most {criterion.site_recall} "
        f"lower, its false words in 1,000 at most {criterion.site_false} more; of each "
        f"other set recall at most {criterion.dev_recall} lower, false words at most a "
        f"share of {criterion.dev_false} more (or {criterion.least_false} in 1,000)."
    )
    yield from ("", "## What the model holds of the site", "")
    yield (
        "Weights, no text. Values were exchanged for invented ones before anything was "
        "learned. A feature that the annotated corpora alone do not have was kept only "
        f"if the notes of at least {adaptation.patients} patients have it, and if it "
        "spells nothing, or only words that are in public lists or in the annotated "
        "corpora, are no names by the lists, and are in no value found in the notes. "
        "Affixes and trigrams are those of the annotated corpora."
    )
