"""Deleger and others 2013, Table 3 and Figure 4: who agrees with whom, and how far."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations

from ..corpora.corpus import Corpus
from ..scoring.confusion import confusion_of_tokens
from ..scoring.kappa import cohens_kappa
from ..scoring.tables import Table
from .frame.cross_validated import few
from .frame.joint import BLIND, CHANCE, Scored, gold_of, joint, p_of
from .frame.report import Finding, Plot, Report
from .frame.runner import Bench
from .frame.scores import Figures, classes_of, sides_of
from .frame.second_marks import as_gold, as_said, charged, second_marks
from .frame.systems import Said, Variant

SOURCE = "Deleger and others 2013"
_SYSTEMS = ("mist2", "mcrf2")
_CLASSES = classes_of("mcrf2")
_STEADY = ("AGE", "DATE", "NAME", "PHONE")
_UNSTEADY = ("ID", "INSTITUTION", "LOCATION")
_GOLD, _OURS, _SECOND = "gold", "ours", "second annotator"


def annotators(bench: Bench) -> Report:
    """Compare systems, gold and, where there are, a second person's marks, as equals.

    Agreement is F by span and token, and Cohen's kappa by token, unmarked ones too.
    """
    split = few(bench)
    marks = {name: bench.said(Variant(name), split) for name in _SYSTEMS}
    marks[_OURS] = bench.ours("meddocan", split.corpus)
    systems = _pairs(split.corpus, marks)
    people = _people(bench)
    tables = [_table("Systems as annotators", systems), _by_tag(systems)]
    if people:
        tables += [_table("With a second annotator", people), _by_tag(people)]
    return Report(
        "annotators",
        "How far do systems agree with each other, with the gold marks, and with a "
        "second person's?",
        (*bench.account(split), _account(bench)),
        tuple(tables),
        (_plot(systems),),
        (*_of_people(people, bench.seed), _steady(systems), _near_gold(systems)),
    )


Pairs = Mapping[tuple[str, str], Scored]


def _account(bench: Bench) -> str:
    if bench.second_annotator is None:
        return "no second annotator; name a brat folder with --second-annotator"
    return "a second annotator's marks were given"


def _pairs(corpus: Corpus, marks: Mapping[str, Said]) -> Pairs:
    """Return each pair of annotators, the first taken for gold."""
    scored = {name: charged(corpus, said) for name, said in marks.items()}
    with_gold = {(_GOLD, name): Scored(corpus, said) for name, said in scored.items()}
    among = {
        (one, other): Scored(as_gold(corpus, scored[one]), scored[other])
        for one, other in combinations(marks, 2)
    }
    return {**with_gold, **among}


def _people(bench: Bench) -> Pairs:
    found = second_marks(bench)
    if found is None:
        return {}
    corpus, second = found
    spanish = corpus.conventions.name == "meddocan"
    said = {_SECOND: as_said(second)}
    said[_OURS] = bench.ours("meddocan" if spanish else "hybrid", corpus)
    return _pairs(corpus, said)


def _table(title: str, pairs: Pairs) -> Table:
    rows = tuple((f"{one} and {other}", *_row(e)) for (one, other), e in pairs.items())
    columns = ("annotators", "span F1", "token F1", "blind F1", "kappa", "blind kappa")
    return Table(title, columns, rows)


def _row(each: Scored) -> tuple[str, ...]:
    sides = sides_of(each.corpus, each.said)
    spoken = each.corpus.conventions
    kappas = (
        cohens_kappa(confusion_of_tokens(sides, spoken, category))
        for category in (_CLASSES, BLIND)
    )
    return (
        joint([each], category=_CLASSES).cells[2],
        joint([each], category=_CLASSES, by_token=True).cells[2],
        joint([each], category=BLIND, by_token=True).cells[2],
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
    """Return the tags that the gold marks have."""
    gold = next(each for (one, _), each in pairs.items() if one == _GOLD)
    return [tag for tag in (*_STEADY, *_UNSTEADY) if gold_of([gold], _CLASSES, tag)]


def _of(each: Scored, tag: str) -> Figures:
    return joint([each], category=_CLASSES, of=tag)


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
        return [
            Finding(claim, place, None, why),
            Finding(among, between, None, why),
        ]
    person, ours = (
        joint([pairs[_GOLD, name]], category=_CLASSES) for name in (_SECOND, _OURS)
    )
    p = p_of(person, ours, seed)
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
        pair: joint([each], category=_CLASSES).values[2] for pair, each in pairs.items()
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
