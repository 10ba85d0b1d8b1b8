"""Speed of the compiled tagger and of python-crfsuite with features made in Python.

    python -m tests.benchmarks.tagger_speed [--model NAME] [--corpus FOLDER]

Both decode the same weights on the same documents in the same run, with one thread
each, and must give every word the same label, ties excepted.  Times are processor time.
What loading a model and a word's first sight cost is measured in a process of its own.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Annotated

import numpy as np
import pycrfsuite
import typer
from rich.console import Console
from rich.table import Table

from deid_core.research.corpora.readers import read_corpus
from deid_core.research.training.encoding import Line, encode
from deid_core.research.training.weights import ChainWeights, named_weights
from deid_core.tagger.codec import TagSpan
from deid_core.tagger.compiled import NO_BIAS, CompiledModel
from deid_core.tagger.features import OF_PIECES, PROPERTIES, WORD_COLUMNS, header
from deid_core.tagger.kernels.tables import add_properties
from deid_core.tagger.model import Model
from deid_core.tagger.model_files import load_model, load_tables
from deid_core.tagger.words import PlacedWords, WordNumbers, lines, pieces

CORPUS = Path(__file__).parents[3] / "shared/data/meddocan/dev"
WIDTH = 110


def main(
    model: Annotated[str, typer.Option(help="Name or folder of a model.")] = "meddocan",
    corpus: Annotated[Path, typer.Option(help="Documents to tag.")] = CORPUS,
    most: Annotated[int, typer.Option(help="Documents for python-crfsuite.")] = 60,
    rounds: Annotated[int, typer.Option(help="Rounds; the best one counts.")] = 5,
) -> None:
    """Print the speed of both, the share of each step, and their agreement."""
    if not corpus.exists():
        Console().print(f"{corpus}: not there; name a --corpus")
        raise typer.Exit(1)
    texts = [each.text for each in read_corpus(corpus).documents]
    loaded = load_model(model)
    console = Console(width=WIDTH)
    witness = Witness.of(loaded, texts[:most])
    theirs = timed(lambda: [witness.labels(text) for text in texts[:most]], 1)
    fresh = CompiledModel.of(loaded)
    fresh.labels("warm up: the first call loads machine code.")
    cold = timed(lambda: fresh.tag(texts), 1)
    warm = timed(lambda: fresh.tag(texts), rounds)
    table = Table(title=f"{model} on {corpus.name}, one thread")
    for name in ("", "documents", "documents/s", "words/s", "times python-crfsuite"):
        table.add_column(name, justify="right" if name else "left")
    base = theirs / len(texts[:most])
    rows = (
        ("python-crfsuite, features in Python", texts[:most], theirs),
        ("compiled, first sight of every word", texts, cold),
        ("compiled", texts, warm),
    )
    for name, some, seconds in rows:
        words = sum(len(pieces(text)) for text in some)
        table.add_row(
            name,
            f"{len(some)}",
            f"{len(some) / seconds:,.0f}",
            f"{words / seconds:,.0f}",
            f"{base / (seconds / len(some)):.1f}",
        )
    console.print(table)
    console.print(_steps(fresh, texts, rounds))
    console.print(_loading(model, texts))
    words, differ = _disagreement(witness, texts[:most])
    console.print(
        f"labels unlike python-crfsuite's for the same weights: {differ} of {words:,}"
    )


def timed(work: Callable[[], object], rounds: int) -> float:
    """Return the least processor seconds of several rounds."""
    seconds = []
    for _ in range(rounds):
        started = time.process_time()
        work()
        seconds.append(time.process_time() - started)
    return min(seconds)


@dataclass(frozen=True, slots=True)
class Witness:
    """python-crfsuite, trained briefly on a model's own features.

    Args:
        model: The model with these features.
        tagger: python-crfsuite's tagger.
        compiled: The same weights, compiled.
    """

    model: Model
    tagger: pycrfsuite.Tagger
    compiled: CompiledModel

    @classmethod
    def of(cls, model: Model, texts: Sequence[str]) -> Witness:
        """Return the witness of a model, trained on the model's output for texts."""
        own = CompiledModel.of(model)
        marked = [line for text in texts for line in _output_lines(own, text)]
        found = encode(marked, model.features, model.lists, model.codec)
        folder = Path(tempfile.mkdtemp(prefix="phistream-bench-"))
        trainer = pycrfsuite.Trainer(verbose=False, params={"max_iterations": 25})
        labels = model.codec.labels
        for line in range(len(found.starts) - 1):
            gold = [labels[label] for label in found.labels_of(line)]
            trainer.append(found.names_of(line), gold)
        trainer.train(str(folder / "model"))
        tagger = pycrfsuite.Tagger()
        tagger.open(str(folder / "model"))
        chain = _chain(tagger, found.names, labels)
        same = Model(
            model.name,
            model.version,
            model.language,
            model.tags,
            model.features,
            model.lists,
            named_weights(found.names, chain),
        )
        return cls(model, tagger, CompiledModel.of(same))

    def labels(self, text: str) -> list[list[str]]:
        """Return the labels of each line's words, by features made in Python."""
        return [self.tagger.tag(each) for each in self._features(text)]

    def _features(self, text: str) -> Iterator[list[list[str]]]:
        for start, end in lines(text):
            line = text[start:end]
            if words := pieces(line, blanks=self.model.features.blanks):
                yield list(_named(self.model, words, header(line)))


_GROUPS = {*PROPERTIES, *WORD_COLUMNS}


def _named(model: Model, words: list[str], head: str) -> Iterator[list[str]]:
    """Yield the features of each word, as they are written for python-crfsuite."""
    features, lists = model.features, model.lists
    plain = [word.lstrip() for word in words]
    seen = {name: words if name in OF_PIECES else plain for name in _GROUPS}
    values = [
        {
            name: list(PROPERTIES[name](seen[name][at], lists))
            for name in features.properties
        }
        for at in range(len(words))
    ]
    columns = {
        name: [value(word, lists) for word in seen[name]]
        for name, value in WORD_COLUMNS.items()
    }
    columns |= _sides(columns["cue"]) | {"header": [head] * len(words)}
    for at in range(len(words)):
        found = []
        for name, (first, last) in features.properties.items():
            for offset in range(first, last + 1):
                inside = 0 <= at + offset < len(words)
                some = values[at + offset][name] if inside else ["<pad>"]
                found += [f"{name}[{offset}]={value}" for value in some]
        for each in features.conjunctions:
            parts = [
                columns[c][at + o] if 0 <= at + o < len(words) else "<pad>"
                for c, o in each.parts
            ]
            if all(parts):
                found.append(f"{each.name}=" + "\t".join(parts))
        yield found


def _sides(cues: list[str]) -> dict[str, list[str]]:
    buckets = (0, 0, 1, 2, 3, 3, 4, 4, 4, 5)
    found: dict[str, list[str]] = {}
    for side, step in (("left", 1), ("right", -1)):
        with_distance, alone = ["-"] * len(cues), ["-"] * len(cues)
        seen = None
        for at in range(len(cues))[::step]:
            if seen is not None:
                distance = buckets[min(abs(at - seen), 9)]
                with_distance[at] = f"{cues[seen]}/{distance}"
                alone[at] = cues[seen]
            if cues[at]:
                seen = at
        found |= {side: with_distance, f"{side}_cue": alone}
    return found


def _output_lines(compiled: CompiledModel, text: str) -> Iterator[Line]:
    [found] = compiled.tag([text])
    for start, end in lines(text):
        inside = [each for each in found if start <= each.start < end]
        spans = (TagSpan(e.start - start, e.end - start, e.tag) for e in inside)
        yield Line(text[start:end], tuple(spans))


def _chain(
    tagger: pycrfsuite.Tagger, names: Sequence[str], labels: Sequence[str]
) -> ChainWeights:
    number = {label: at for at, label in enumerate(labels)}
    row_of = {name: at for at, name in enumerate(names)}
    state = np.zeros((len(names), len(labels)), np.float32)
    # It cannot predict labels it has not seen, and has no start of a line.
    transitions = np.zeros((len(labels) + 1, len(labels)), np.float32)
    known = {*tagger.labels()}
    transitions[:, [at for at, each in enumerate(labels) if each not in known]] = -1e9
    info = tagger.info()
    for (name, label), weight in info.state_features.items():
        state[row_of[name], number[label]] = weight
    for (before, after), weight in info.transitions.items():
        transitions[number[before], number[after]] = weight
    return ChainWeights(state, transitions)


def _disagreement(witness: Witness, texts: Sequence[str]) -> tuple[int, int]:
    labels = witness.model.codec.labels
    words = differ = 0
    for text in texts:
        ours = [[labels[n] for n in line] for line in witness.compiled.labels(text)]
        for one, other in zip(ours, witness.labels(text), strict=True):
            words += len(one)
            differ += sum(a != b for a, b in zip(one, other, strict=True))
    return words, differ


def _steps(compiled: CompiledModel, texts: list[str], rounds: int) -> Table:
    """Return the share of each step of tagging."""
    runs = [_durations(compiled, texts) for _ in range(rounds)]
    best = {name: min(run[name] for run in runs) for name in runs[0]}
    table = Table(title="where the time goes")
    table.add_column("step")
    table.add_column("share", justify="right")
    table.add_column("microseconds a document", justify="right")
    for name, seconds in best.items():
        share = f"{seconds / sum(best.values()):.0%}"
        table.add_row(name, share, f"{1e6 * seconds / len(texts):,.0f}")
    return table


def _loading(model: str, texts: list[str]) -> Table:
    """Return what the first minutes of a process cost, measured in a fresh one."""
    with ProcessPoolExecutor(1, get_context("spawn")) as process:
        found = process.submit(loading, model, texts).result()
    table = Table(title="before anything is known")
    table.add_column("")
    table.add_column(model, justify="right")
    for name, value in found.items():
        table.add_row(name, f"{value:,.1f}")
    return table


def loading(model: str, texts: list[str]) -> dict[str, float]:
    """Return what loading a model and seeing new words cost this process."""
    # The first kernels of a process load their compiler.
    WordNumbers(1).of(PlacedWords.of(["warm up"]))
    CompiledModel(load_tables(model)).tag(["warm up"])
    before, mark = _own_memory(), time.process_time()
    compiled = CompiledModel(load_tables(model))
    found = {"milliseconds to load": 1e3 * (time.process_time() - mark)}
    found["MB of memory of its own"] = _own_memory() - before
    words = PlacedWords.of(texts, blanks=compiled._blanks)
    seconds = []
    for _ in range(2):
        mark = time.process_time()
        types, _, _ = compiled._types.look_up(words)
        seconds.append(time.process_time() - mark)
    new = int(types.max())
    found["different words"] = new
    found["microseconds for each of them"] = 1e6 * (seconds[0] - seconds[1]) / new
    return found


def _own_memory() -> float:
    """Return the megabytes of this process that no other shares; files are shared."""
    rolled = Path("/proc/self/smaps_rollup").read_text("ascii")
    fields = (line.split() for line in rolled.splitlines())
    return next(int(each[1]) / 1024 for each in fields if each[0] == "Anonymous:")


def _durations(compiled: CompiledModel, texts: list[str]) -> dict[str, float]:
    """Return the processor seconds of each step of `CompiledModel.tag`."""
    found: dict[str, float] = {}
    mark = time.process_time()

    def done(step: str) -> None:
        nonlocal mark
        now = time.process_time()
        found[step], mark = now - mark, now

    words = PlacedWords.of(texts, blanks=compiled._blanks)
    done("split into lines and words")
    types, tables, columns = compiled._types.look_up(words)
    done("number the words")
    scores = np.empty((len(types), tables.shape[2]), dtype=np.float32)
    add_properties(types, words.starts, tables, scores)
    done("gather and add")
    compiled._conjunctions.add(types, columns, words, scores)
    scores = np.ascontiguousarray(scores[:, : compiled._labels])
    done("conjunctions")
    path, sureness = compiled._decode(scores, words, NO_BIAS)
    done("best path and probabilities")
    compiled._rescore(words, scores, path, sureness)
    done("choose among the best paths")
    compiled._tagged(words, path, sureness)
    done("spans")
    return found


if __name__ == "__main__":
    typer.run(main)
