"""Train our tagger: from annotated corpora and a recipe to a model."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from random import Random

from deid_core.errors import ConfigError
from deid_core.labels import Label
from deid_core.language.fragments import same_length_lower
from deid_core.language.truecasing import truecased
from deid_core.research.corpora.corpus import Corpus, GoldDocument, GoldSpan
from deid_core.research.scoring.gold_and_predicted import is_neutral
from deid_core.research.training.encoding import Encoded, Line, encode
from deid_core.research.training.weights import (
    Progress,
    mean_of,
    named_weights,
    no_progress,
)
from deid_core.tagger.codec import Bio, TagSpan
from deid_core.tagger.compiled import CompiledModel
from deid_core.tagger.model import Model, Weights
from deid_core.tagger.rescoring import Rescorer, Value, Values
from deid_core.tagger.words import lines, pieces

from .learners import LEARNERS
from .recipe import Recipe
from .rescorer_learning import (
    Example,
    RescoringOptions,
    examples_of,
    known_values,
    learn_rescorer,
)

KeptFeatures = Callable[[Encoded, int, Sequence[int]], Encoded]
"""Given encoded lines, how many are of the corpora, and the owners of the others,
return them with the features that a model may have."""


@dataclass(frozen=True, slots=True)
class OtherLines:
    """Lines to learn from that may not be recognised in the model.

    Args:
        lines: In mixed case; their tags are our labels.
        owners: By line, whose it is.
        kept: Drops features of the lines.
        account: What the model says of them.
    """

    lines: Sequence[Line] = field(repr=False)
    owners: Sequence[int] = field(repr=False)
    kept: KeptFeatures
    account: Mapping[str, object]


def train(
    recipe: Recipe,
    corpora: Sequence[Corpus],
    *,
    seed: int,
    version: str,
    progress: Progress = no_progress,
    others: OtherLines | None = None,
) -> Model:
    """Return the model of a recipe; the same corpora and seed, the same weights.

    Args:
        recipe: Of the training.
        corpora: Annotated documents.
        seed: Of the values in copies and of the learner.
        version: The version of the model.
        progress: Called while the learner works.
        others: Lines besides; no copies are made of them.

    Raises:
        ConfigError: The corpora have no annotation, or a tag without a label.
    """
    corpora = [_as_learned(recipe, corpus) for corpus in corpora]
    documents = [each for corpus in corpora for each in corpus.documents]
    found = [line for document in documents for line in marked_lines(document)]
    tags = _tags(recipe, corpora)
    codec = Bio(tuple(tags))
    if others is not None:
        others = _others_as_learned(recipe, others, codec)
    drawn = []
    steps = recipe.draws + (recipe.rescoring.folds if recipe.rescoring else 0)
    for draw in range(recipe.draws):
        step_progress = _share_of(progress, draw, steps)
        drawn.append(_weights(recipe, found, codec, seed + draw, step_progress, others))
    model = Model(
        recipe.name,
        version,
        recipe.language,
        tags,
        recipe.features,
        recipe.lists,
        mean_of(drawn, least=recipe.least_weight),
        {**_account(recipe, corpora, seed), **(others.account if others else {})},
    )
    if recipe.rescoring is None:
        return model
    rescorer = _rescorer(recipe, documents, model, seed, progress)
    return replace(model, rescorer=rescorer)


def _rescorer(
    recipe: Recipe,
    documents: Sequence[GoldDocument],
    model: Model,
    seed: int,
    progress: Progress,
) -> Rescorer:
    """Return a rescorer, trained on paths of chains that have not seen the lines."""
    options = recipe.rescoring or RescoringOptions()
    marked = [list(marked_lines(each)) for each in documents]
    own = known_values(marked)
    every = sum(own, Counter[Value]())
    parts = recipe.of_parts()
    examples: list[Example] = []
    for fold in range(options.folds):
        step_progress = _share_of(
            progress, recipe.draws + fold, recipe.draws + options.folds
        )
        others = [
            line
            for at, lines in enumerate(marked)
            if at % options.folds != fold
            for line in lines
        ]
        weights = _weights(parts, others, model.codec, seed + fold, step_progress)
        chain = CompiledModel.of(replace(model, weights=weights))
        for at in range(fold, len(marked), options.folds):
            known = Values.of(every - own[at])
            examples += examples_of(chain, options, marked[at], known)
    return learn_rescorer(examples, Values.of(every), options)


def _weights(
    recipe: Recipe,
    found: Sequence[Line],
    codec: Bio,
    seed: int,
    progress: Progress,
    others: OtherLines | None = None,
) -> Weights:
    """Return the weights of one draw of copies."""
    copies: list[Line] = []
    if recipe.augment is not None:
        chance = Random(seed)  # noqa: S311 - no secret
        world = recipe.world_of(pools(found))
        augment = recipe.augment.within(codec.tags)
        copies = list(augment.lines(found, world, chance))
    own = [*found, *copies]
    every = own if others is None else [*own, *others.lines]
    encoded = encode(
        every, recipe.features, recipe.lists, codec, least=recipe.least_seen
    )
    if others is not None:
        base = sum(1 for line in own if pieces(line.text))
        encoded = others.kept(encoded, base, others.owners)
    learn = LEARNERS[recipe.learner].load()
    weights = learn(encoded, codec, recipe.options, seed=seed, progress=progress)
    return named_weights(encoded.names, weights)


def _share_of(progress: Progress, step: int, steps: int) -> Progress:
    def report(share: float, word: str) -> None:
        progress((step + share) / steps, f"part {step + 1} of {steps}: {word}")

    return report


def _as_learned(recipe: Recipe, corpus: Corpus) -> Corpus:
    """Return a corpus in the letter case and with the tags of the recipe."""

    def relabelled(span: GoldSpan, text: str) -> GoldSpan | None:
        if not recipe.learned_as:
            return span
        if span.label is None or is_neutral(span.label, text):
            return None
        label = recipe.learned_as.get(span.label, span.label)
        return replace(span, tag=label.value, label=label)

    def learned(document: GoldDocument) -> GoldDocument:
        marked = (
            relabelled(each, document.text[each.span.start : each.span.end])
            for each in document.spans
        )
        spans = tuple(s for s in marked if s and s.tag not in recipe.unlearned)
        return replace(document, text=_in_case(recipe, document.text), spans=spans)

    return replace(corpus, documents=tuple(map(learned, corpus.documents)))


def _others_as_learned(recipe: Recipe, others: OtherLines, codec: Bio) -> OtherLines:
    """Return the lines with the tags of the recipe, without those that lack one."""
    tags, kept = {*codec.tags}, list[tuple[Line, int]]()
    for line, owner in zip(others.lines, others.owners, strict=True):
        spans = []
        for span in line.spans:
            label = Label(span.tag)
            tag = recipe.learned_as.get(label, label).value
            if tag not in recipe.unlearned:
                spans.append(replace(span, tag=tag))
        if pieces(line.text) and all(span.tag in tags for span in spans):
            text = same_length_lower(line.text) if recipe.small_letters else line.text
            kept.append((Line(text, tuple(spans)), owner))
    lines_kept, owners = [line for line, _ in kept], [owner for _, owner in kept]
    return replace(others, lines=lines_kept, owners=owners)


def _in_case(recipe: Recipe, text: str) -> str:
    if recipe.small_letters:
        return same_length_lower(text)
    return truecased(text) if recipe.recase else text


def marked_lines(document: GoldDocument) -> Iterable[Line]:
    """Yield the lines of a document; a span that crosses a line end is cut there.

    Where spans overlap, the first is kept.
    """
    for start, end in lines(document.text):
        spans: list[TagSpan] = []
        for each in document.spans:
            first, last = max(each.span.start, start), min(each.span.end, end)
            if first < last and (not spans or first - start >= spans[-1].end):
                spans.append(TagSpan(first - start, last - start, each.tag))
        yield Line(document.text[start:end], tuple(spans))


def pools(found: Iterable[Line]) -> dict[str, list[str]]:
    """Return the values of each tag, as often as they occur in the lines."""
    values: defaultdict[str, list[str]] = defaultdict(list)
    for line in found:
        for span in line.spans:
            values[span.tag].append(line.text[span.start : span.end])
    return dict(values)


def _tags(recipe: Recipe, corpora: Sequence[Corpus]) -> dict[str, Label]:
    """Return the tags of the corpora, sorted, each with its label."""
    labels: dict[str, Label | None] = {
        span.tag: span.label
        for corpus in corpora
        for document in corpus.documents
        for span in document.spans
    }
    found = {tag: recipe.tags.get(tag, label) for tag, label in labels.items()}
    for tag, label in found.items():
        if label is None:
            raise ConfigError(
                f"recipe {recipe.name!r}: tag {tag!r} has no label; add it to [tags]"
            )
    if not found:
        raise ConfigError("the corpora mark nothing; check their paths")
    return {tag: label for tag, label in sorted(found.items()) if label is not None}


def _account(recipe: Recipe, corpora: Sequence[Corpus], seed: int) -> dict[str, object]:
    return {
        "recipe": recipe.name,
        "learner": recipe.learner,
        "options": asdict(recipe.options),
        "seed": seed,
        "corpora": [
            f"{c.name} {c.part}, {len(c.documents)} documents" for c in corpora
        ],
    }
