"""Agreement of people and systems: Deleger and others 2013, Table 3 and Figure 4."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from pathlib import Path

from deid_core.document import Annotation
from deid_core.errors import ConfigError
from deid_core.research.corpora.corpus import Corpus, GoldDocument, GoldSpan, Prediction
from deid_core.research.corpora.readers import read_corpus
from deid_core.research.scoring.confusion import cohens_kappa, confusion_of_tokens
from deid_core.research.scoring.tables import Table

from .harness.figures import (
    BLIND,
    CHANCE,
    Figures,
    Scored,
    classes_of,
    figures,
    gold_of,
    p_of,
)
from .harness.report import Finding, Plot, Report
from .harness.runner import Runner
from .harness.systems import SystemOutput, Variant

SOURCE = "Deleger and others 2013"
_SYSTEMS = ("mist2", "mcrf2")
_CLASSES = classes_of("mcrf2")
_STEADY = ("AGE", "DATE", "NAME", "PHONE")
_UNSTEADY = ("ID", "INSTITUTION", "LOCATION")
_GOLD, _OURS, _SECOND = "gold", "ours", "second annotator"
Pairs = Mapping[tuple[str, str], Scored]


def annotators(runner: Runner) -> Report:
    """Compare systems, gold and a second annotator as equals.

    Agreement is F1 by span and by token, and Cohen's kappa by token, with unmarked
    ones.
    """
    split = runner.meddocan_sample
    marks = {name: runner.output(Variant(name), split) for name in _SYSTEMS}
    marks[_OURS] = runner.preset_output("meddocan", split.corpus)
    systems = _pairs(split.corpus, marks)
    people = _people(runner)
    tables = [_table("Systems as annotators", systems), _by_tag(systems)]
    if people:
        tables += [_table("With a second annotator", people), _by_tag(people)]
    return Report(
        "annotators",
        "How far do systems agree with each other, with the gold marks, and with a "
        "second person's?",
        (*runner.account(split), _account(runner)),
        tuple(tables),
        (_plot(systems),),
        (*_of_people(people, runner.seed), _steady(systems), _near_gold(systems)),
    )


def _account(runner: Runner) -> str:
    if runner.second_annotator is None:
        return "no second annotator; name a brat folder with --second-annotator"
    return "a second annotator's marks were given"


def _pairs(corpus: Corpus, marks: Mapping[str, SystemOutput]) -> Pairs:
    """Return each pair of annotators, with the first as gold."""
    scored = {name: penalized(corpus, output) for name, output in marks.items()}
    with_gold = {
        (_GOLD, name): Scored(corpus, output) for name, output in scored.items()
    }
    among = {
        (one, other): Scored(as_gold(corpus, scored[one]), scored[other])
        for one, other in combinations(marks, 2)
    }
    return {**with_gold, **among}


def _people(runner: Runner) -> Pairs:
    found = second_annotation(runner)
    if found is None:
        return {}
    corpus, second = found
    spanish = corpus.conventions.name == "meddocan"
    output = {_SECOND: SystemOutput.of_gold(second.documents)}
    output[_OURS] = runner.preset_output("meddocan" if spanish else "hybrid", corpus)
    return _pairs(corpus, output)


def _table(title: str, pairs: Pairs) -> Table:
    rows = tuple((f"{one} and {other}", *_row(e)) for (one, other), e in pairs.items())
    columns = ("annotators", "span F1", "token F1", "blind F1", "kappa", "blind kappa")
    return Table(title, columns, rows)


def _row(each: Scored) -> tuple[str, ...]:
    conventions = each.corpus.conventions
    kappas = (
        cohens_kappa(confusion_of_tokens(each.compared, conventions, category))
        for category in (_CLASSES, BLIND)
    )
    return (
        figures([each], category=_CLASSES).cells[2],
        figures([each], category=_CLASSES, by_token=True).cells[2],
        figures([each], category=BLIND, by_token=True).cells[2],
        *("-" if kappa is None else f"{kappa:.4f}" for kappa in kappas),
    )


def _by_tag(pairs: Pairs) -> Table:
    tags = _tags(pairs)
    rows = tuple(
        (f"{one} and {other}", *(_of(each, tag).cells[2] for tag in tags))
        for (one, other), each in pairs.items()
    )
    return Table("Span F1 by tag", ("annotators", *tags), rows)


def _tags(pairs: Pairs) -> Sequence[str]:
    """Return the tags of the gold spans."""
    gold = next(each for (one, _), each in pairs.items() if one == _GOLD)
    return [tag for tag in (*_STEADY, *_UNSTEADY) if gold_of([gold], _CLASSES, tag)]


def _of(each: Scored, tag: str) -> Figures:
    return figures([each], category=_CLASSES, of=tag)


def _plot(pairs: Pairs) -> Plot:
    tags = _tags(pairs)
    bars = {
        f"{one} and {other}": [_of(each, tag).values[2] for tag in tags]
        for (one, other), each in pairs.items()
    }
    title = "Agreement of annotators by tag"
    return Plot(title, "", "span F1, %", bars=bars, names=tags)


def _of_people(pairs: Pairs, seed: int) -> list[Finding]:
    claim = "A system agrees with the gold marks as well as a person does"
    place = f"{SOURCE}, Table 3 (persons 93.04 and 91.40, MCRF2 94.30)"
    among = "Two people agree by span with an F over 90"
    between = f"{SOURCE}, Figure 4 (91.76)"
    if not pairs:
        why = "the corpora at hand have one set of marks: give --second-annotator"
        return [Finding(claim, place, None, why), Finding(among, between, None, why)]
    person, ours = (
        figures([pairs[_GOLD, name]], category=_CLASSES) for name in (_SECOND, _OURS)
    )
    p = p_of(person.f1, ours.f1, seed)
    is_worse = p is not None and p < CHANCE and ours.values[2] < person.values[2]
    words = f"F1 person {person.cells[2]}, ours {ours.cells[2]}, p {p or 1:.4f}"
    agreed = f"F1 {person.cells[2]} with the marks at hand"
    return [
        Finding(claim, place, not is_worse, words),
        Finding(among, between, person.values[2] > 90, agreed),
    ]


def _steady(pairs: Pairs) -> Finding:
    lowest = {
        tag: min(_of(each, tag).values[2] for each in pairs.values())
        for tag in _tags(pairs)
    }
    steady = [lowest[tag] for tag in _STEADY if tag in lowest]
    unsteady = [lowest[tag] for tag in _UNSTEADY if tag in lowest]
    words = ", ".join(f"{tag} {value:.2f}" for tag, value in lowest.items())
    return Finding(
        "Agreement of pairs, here of systems, is high for AGE, DATE, NAME and PHONE, "
        "lower for ID, INSTITUTION and LOCATION",
        f"{SOURCE}, Figure 4",
        min(steady) > max(unsteady) if steady and unsteady else None,
        f"lowest F1 of any pair: {words}",
    )


def _near_gold(pairs: Pairs) -> Finding:
    f1 = {
        pair: figures([each], category=_CLASSES).values[2]
        for pair, each in pairs.items()
    }
    gold = min(value for name, value in f1.items() if _GOLD in name)
    among = {name: value for name, value in f1.items() if _GOLD not in name}
    one, other = max(among, key=lambda name: among[name])
    return Finding(
        "Two systems agree with each other more than the worst of them with gold",
        "not of the paper",
        among[one, other] > gold,
        f"F1 {one} and {other} {among[one, other]:.2f}, worst with gold {gold:.2f}",
    )


def penalized(corpus: Corpus, output: SystemOutput) -> SystemOutput:
    """Return the output without what is neither right nor wrong by the gold.

    Otherwise it would be an error against an annotator who leaves it out.
    """
    compared = Scored(corpus, output).compared
    found = (Prediction(tuple(each.scored())) for each in compared)
    return replace(output, predictions=tuple(found))


def as_gold(corpus: Corpus, output: SystemOutput) -> Corpus:
    """Return the corpus with an annotator's output as its gold spans."""
    documents = [
        replace(document, spans=_spans(corpus, each.annotations))
        for document, each in zip(corpus.documents, output.predictions, strict=True)
    ]
    return replace(corpus, documents=tuple(documents))


def _spans(corpus: Corpus, annotations: Sequence[Annotation]) -> tuple[GoldSpan, ...]:
    conventions = corpus.conventions
    return tuple(
        GoldSpan(
            each.span,
            conventions.tag_of(each.label),
            conventions.map_label(each.label),
            at,
        )
        for at, each in enumerate(annotations)
    )


def second_annotation(runner: Runner) -> tuple[Corpus, Corpus] | None:
    """Return the documents with a second annotation: our gold, and that annotation.

    Raises:
        ConfigError: No document in the folder is one of the corpora, or one has
            another text.
    """
    folder = runner.second_annotator
    if folder is None:
        return None
    names = {file.stem for file in folder.glob("*.txt")}
    for corpus in (runner.meddocan.corpus, *runner.english.values()):
        shared = tuple(each for each in corpus.documents if each.id in names)
        if shared:
            return replace(corpus, documents=shared), _read(folder, corpus, shared)
    raise ConfigError(
        f"{folder}: no .txt file is named like a document of the corpora; name each "
        "after the document's id"
    )


def _read(folder: Path, corpus: Corpus, shared: tuple[GoldDocument, ...]) -> Corpus:
    marked = read_corpus(folder, format="brat", conventions=corpus.conventions.name)
    by_id = {each.id: each for each in marked.documents}
    found = tuple(by_id[each.id] for each in shared)
    for number, (here, there) in enumerate(zip(shared, found, strict=True), start=1):
        if here.text != there.text:
            raise ConfigError(
                f"{folder}: document {number} has another text than the corpus's; "
                "mark the corpus's own"
            )
    return replace(marked, documents=found)
