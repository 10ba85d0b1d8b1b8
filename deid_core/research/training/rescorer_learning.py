"""Learn to choose among the best paths of lines.

The paths are those of chains that have not seen the line (`training` leaves each
document out once), so that their errors are those of new notes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deid_core.errors import ConfigError
from deid_core.research.packages import needed
from deid_core.research.training.encoding import Line
from deid_core.tagger.codec import Bio, TagSpan
from deid_core.tagger.compiled import CompiledModel
from deid_core.tagger.compiled_rescoring import LinePaths
from deid_core.tagger.rescoring import (
    LineView,
    Path,
    Rescorer,
    Stretch,
    Value,
    Values,
    covered_by,
    order_features,
    outside_features,
    stretch_features,
    values_in,
)
from deid_core.tagger.words import NEWLINE, pieces, word_spans

Doubles = NDArray[np.float64]
DocumentLines = Sequence[Line]


@dataclass(frozen=True, slots=True)
class RescoringOptions:
    """Options of the training of a rescorer.

    Args:
        folds: Number of chains; each leaves out another part of the documents.
        most: Most paths of a line.
        gap: Largest difference of a path's score to the best, as a logarithm.
        decay: L2 penalty, of the weights to 0 and of the chain's scale to 1.
        least_weight: Smaller weights are dropped.
        rounds: Most iterations of the optimiser.
        epochs: Of these chains; None for the recipe's.
        copies: Of each line that these chains learn from; None for the recipe's.
    """

    folds: int = 3
    most: int = 8
    gap: float = 5.0
    decay: float = 4.0
    least_weight: float = 0.01
    rounds: int = 120
    epochs: int | None = None
    copies: int | None = None

    def __post_init__(self) -> None:
        if self.folds < 2 or self.most < 2 or self.gap <= 0:
            raise ConfigError("rescoring: needs 2 folds, 2 paths and a gap at least")


@dataclass(frozen=True, slots=True, eq=False)
class Example:
    """The paths of one line.

    Args:
        features: Of each path, without those that all paths share.
        logs: The chain's score of each path.
        wrong: Number of extra and missing values of each path.
    """

    features: list[Counter[str]] = field(repr=False)
    logs: list[float]
    wrong: list[int]


def known_values(documents: Iterable[DocumentLines]) -> list[Counter[Value]]:
    """Return the distinct values of each document."""
    return [
        Counter({value: 1 for line in lines for value in _line_values(line)})
        for lines in documents
    ]


def examples_of(
    chain: CompiledModel, options: RescoringOptions, lines: DocumentLines, known: Values
) -> Iterator[Example]:
    """Yield the lines of a document that have several paths.

    Args:
        chain: Not trained on the document.
        options: Number of paths.
        lines: All lines of the document, in order.
        known: Values of other documents.
    """
    batch = chain.chain([NEWLINE.join(line.text for line in lines)])
    finder = chain.paths(options.most, options.gap)
    for each in finder.unsure(batch, known):
        yield _example(each, _gold(lines[each.line], chain.codec))


def _example(found: LinePaths, gold: Path) -> Example:
    covered = frozenset[int]().union(*map(covered_by, found.paths))
    features = [path_features(found.view, path, covered) for path in found.paths]
    shared = features[0]
    for each in features[1:]:
        shared = shared & each
    return Example(
        [each - shared for each in features],
        found.logs,
        [len({*path} ^ {*gold}) for path in found.paths],
    )


def path_features(line: LineView, path: Path, covered: frozenset[int]) -> Counter[str]:
    """Return all features of a path.

    Args:
        line: The words of the path.
        path: The path.
        covered: Words that any path of the line tags.
    """
    found = Counter[str](order_features(line, path))
    for stretch in path:
        found.update(stretch_features(line, stretch))
    for at in covered - covered_by(path):
        found.update(outside_features(line, at))
    return found


def _line_values(line: Line) -> Counter[Value]:
    low = [word.lower() for word in pieces(line.text)]
    places = word_spans(line.text)
    return values_in(low, tuple(_stretches(places, line.spans)))


def _stretches(places: Sequence[range], spans: Iterable[TagSpan]) -> Iterator[Stretch]:
    for span in spans:
        inside = [
            at
            for at, place in enumerate(places)
            if place.start < span.end and span.start < place.stop
        ]
        if inside:
            yield Stretch(inside[0], inside[-1] + 1, span.tag)


def _gold(line: Line, codec: Bio) -> Path:
    places = word_spans(line.text)
    labels = codec.encode(places, line.spans).tolist()
    return tuple(
        Stretch(first, past, span.tag)
        for span, first, past in codec.decode(places, labels)
    )


def learn_rescorer(
    examples: Sequence[Example], known: Values, options: RescoringOptions
) -> Rescorer:
    """Return the weights that make the least wrong paths most probable.

    Raises:
        ConfigError: scipy is missing.
    """
    numbers: dict[str, int] = {}
    for example in examples:
        for features in example.features:
            for name in features:
                numbers.setdefault(name, len(numbers))
    weights, scale = _fit(_Paths.of(examples, numbers), options)
    small = weights.astype(np.float16).astype(np.float64)
    kept = {
        name: float(small[at])
        for name, at in numbers.items()
        if abs(small[at]) >= options.least_weight
    }
    return Rescorer(dict(sorted(kept.items())), scale, known, options.most, options.gap)


@dataclass(frozen=True, slots=True, eq=False)
class _Paths:
    """The paths of all examples, one after the other.

    Args:
        matrix: Their features, a sparse matrix ``[paths, features]``.
        logs: The chain's scores.
        starts: The first path of each example.
        example: The example of each path.
        best: Whether no path of its line is less wrong.
    """

    matrix: Any
    logs: Doubles
    starts: NDArray[np.int64]
    example: NDArray[np.int64]
    best: NDArray[np.bool_]

    @classmethod
    def of(cls, examples: Sequence[Example], numbers: Mapping[str, int]) -> _Paths:
        sparse = needed("scipy.sparse", "scipy", "rescoring")
        counts = [len(example.logs) for example in examples]
        starts = np.cumsum([0, *counts])[:-1]
        example = np.repeat(np.arange(len(examples)), counts)
        paths = [features for each in examples for features in each.features]
        columns = [numbers[name] for features in paths for name in features]
        values = [float(times) for path in paths for times in path.values()]
        pointers = np.cumsum([0, *map(len, paths)])
        shape = (len(paths), len(numbers))
        matrix = sparse.csr_matrix((values, columns, pointers), shape=shape)
        logs = np.array([log for each in examples for log in each.logs])
        wrong = np.array([count for each in examples for count in each.wrong])
        best = wrong == np.minimum.reduceat(wrong, starts)[example]
        return cls(matrix, logs, starts, example, best)

    def chances(
        self, scores: Doubles, among: NDArray[np.bool_]
    ) -> tuple[Doubles, Doubles]:
        """Return each path's probability among a subset, and the log of each sum."""
        masked = np.where(among, scores, -np.inf)
        most = np.maximum.reduceat(masked, self.starts)
        shares = np.exp(masked - most[self.example])
        sums = np.add.reduceat(shares, self.starts)
        return shares / sums[self.example], np.log(sums) + most


def _fit(paths: _Paths, options: RescoringOptions) -> tuple[Doubles, float]:
    """Return the weights of the features and of the chain's scores."""
    optimise = needed("scipy.optimize", "scipy", "rescoring")
    transposed = paths.matrix.T.tocsr()
    every = np.ones(len(paths.logs), dtype=np.bool_)

    def loss(point: Doubles) -> tuple[float, Doubles]:
        weights, scale = point[:-1], point[-1]
        scores = paths.matrix @ weights + scale * paths.logs
        chances, whole = paths.chances(scores, every)
        wanted, sums = paths.chances(scores, paths.best)
        unlike = chances - wanted
        value = (whole - sums).sum() + options.decay / 2 * (
            weights @ weights + (scale - 1) ** 2
        )
        slope = transposed @ unlike + options.decay * weights
        return value, np.append(
            slope, unlike @ paths.logs + options.decay * (scale - 1)
        )

    start = np.append(np.zeros(paths.matrix.shape[1]), 1.0)
    found = optimise.minimize(
        loss, start, jac=True, method="L-BFGS-B", options={"maxiter": options.rounds}
    ).x
    return found[:-1], float(found[-1])
