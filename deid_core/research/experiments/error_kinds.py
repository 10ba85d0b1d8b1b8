"""Errors by class and confused types: He and others 2015, Tables 6 to 8."""

from __future__ import annotations

from collections.abc import Mapping

from deid_core.labels import Label
from deid_core.research.published.recipe import known_recipes
from deid_core.research.scoring.agreement import CATEGORIES, Category
from deid_core.research.scoring.confusion import Confusion, confusion_of_spans
from deid_core.research.scoring.errors import ErrorClass, ErrorClasses, error_classes
from deid_core.research.scoring.tables import Table, confusion_table, errors_table

from .harness.cross_validated import english_account, english_output
from .harness.figures import Scored, classes_of
from .harness.report import Finding, Plot, Report
from .harness.runner import Runner
from .harness.systems import Variant
from .wi_deid import FOLDS, SOURCE

_WI_DEID, _OURS = "wi-deid", "ours"
_I2B2 = CATEGORIES["i2b2"]
_EXTENT = (ErrorClass.SHORT, ErrorClass.LONG, ErrorClass.SHORT_AND_LONG)
_GROUPS: Mapping[str, tuple[ErrorClass, ...]] = {
    "type": (ErrorClass.TYPE,),
    "extent": _EXTENT,
    "type and extent": (ErrorClass.TYPE_AND_EXTENT,),
    "missing": (ErrorClass.MISSING,),
    "spurious": (ErrorClass.SPURIOUS,),
}
_SHOWN = 10


def errors(runner: Runner) -> Report:
    """Count every system's errors by class: type, extent, missing, spurious.

    Each system is scored in the classes that it distinguishes, ours in i2b2's.
    """
    found = {name: _of_preset(runner, name) for name in known_recipes()}
    corpus = runner.meddocan_sample.corpus
    ours = Scored(corpus, runner.preset_output("meddocan", corpus))
    found[_OURS] = _errors(ours, _I2B2)
    theirs = found[_WI_DEID]
    return Report(
        "errors",
        "Of what kind are the errors of each system?",
        runner.account(runner.meddocan_sample),
        (
            _classes_table(found),
            errors_table("WI-deId: errors by type", theirs),
            errors_table("ours: errors by type", found[_OURS]),
        ),
        (_shares_plot(found),),
        (
            *(_missing_most(name, each) for name, each in found.items()),
            _short_most(_WI_DEID, theirs),
            _short_most(_OURS, found[_OURS]),
            _fewer(found),
        ),
    )


def _of_preset(runner: Runner, name: str) -> ErrorClasses:
    split = runner.meddocan_sample
    output = runner.output(Variant(name), split)
    return _errors(Scored(split.corpus, output), classes_of(name))


def _errors(each: Scored, category: Category) -> ErrorClasses:
    return error_classes(each.compared, each.corpus.conventions, category)


def _classes_table(found: Mapping[str, ErrorClasses]) -> Table:
    rows = tuple(
        (
            name,
            str(each.total),
            *(str(each.of(kind)) for kind in ErrorClass),
            f"{100 * (each.share(ErrorClass.MISSING) or 0):.2f}",
        )
        for name, each in found.items()
    )
    columns = ("system", "errors", *map(str, ErrorClass), "missing, %")
    return Table("Errors by class", columns, rows)


def _shares_plot(found: Mapping[str, ErrorClasses]) -> Plot:
    bars = {
        group: [100 * (each.share(*kinds) or 0) for each in found.values()]
        for group, kinds in _GROUPS.items()
    }
    title = "Share of each class in the errors"
    return Plot(title, "", "share, %", bars=bars, names=[*found])


def _missing_most(name: str, each: ErrorClasses) -> Finding:
    share = each.share(ErrorClass.MISSING)
    words = ", ".join(
        f"{group} {100 * (each.share(*kinds) or 0):.2f}"
        for group, kinds in _GROUPS.items()
    )
    return Finding(
        f"{name}: more than half of the errors are missing marks",
        f"{SOURCE}, Table 6 (64.42%)",
        None if share is None else share > 0.5,
        f"percent of {each.total}: {words}",
    )


def _short_most(name: str, each: ErrorClasses) -> Finding:
    short, long, both = (each.of(kind) for kind in _EXTENT)
    return Finding(
        f"{name}: extents are more often short than long, and least often both",
        f"{SOURCE}, Table 8 (114, 78, 10)",
        short > long > both,
        f"short {short}, long {long}, both {both}",
    )


def _fewer(found: Mapping[str, ErrorClasses]) -> Finding:
    missing = {name: each.of(ErrorClass.MISSING) for name, each in found.items()}
    least = min(missing, key=lambda name: missing[name])
    return Finding(
        "Ours misses less than any published system (it learned more documents)",
        "not of the paper",
        least == _OURS,
        f"ours {missing[_OURS]}; least of the others "
        f"{min(count for name, count in missing.items() if name != _OURS)}",
    )


def type_confusion(runner: Runner) -> Report:
    """Count which types are confused, in spans with equal offsets."""
    split = runner.meddocan_sample
    corpus = split.corpus
    found = {
        "Spanish, WI-deId": _confusion(
            Scored(corpus, runner.output(Variant(_WI_DEID), split))
        ),
        "Spanish, ours": _confusion(
            Scored(corpus, runner.preset_output("meddocan", corpus))
        ),
    }
    english = english_output(runner, Variant(_WI_DEID), FOLDS)
    found |= {
        f"{name}, WI-deId": _confusion(each)
        for name, each in english.items()
        if _distinguishes_people(each)
    }
    return Report(
        "type-confusion",
        "Which types are taken for each other?",
        (*runner.account(split), english_account(runner, FOLDS)),
        (
            *(confusion_table(name, each) for name, each in found.items()),
            *(_pairs_table(name, each) for name, each in found.items()),
        ),
        _pairs_plots(found),
        tuple(_people_most(name, each) for name, each in found.items()),
    )


def _confusion(each: Scored) -> Confusion:
    return confusion_of_spans(each.compared, each.corpus.conventions, _I2B2)


def _distinguishes_people(each: Scored) -> bool:
    """Return whether the corpus has different tags for patients and doctors."""
    conventions = each.corpus.conventions
    return conventions.tag_of(Label.PATIENT) != conventions.tag_of(Label.DOCTOR)


def _pairs_table(name: str, each: Confusion) -> Table:
    rows = tuple((" and ".join(cell), str(n)) for cell, n in each.pairs()[:_SHOWN])
    title = f"{name}: types taken for each other most"
    return Table(title, ("types", "times, either way"), rows)


def _pairs_plots(found: Mapping[str, Confusion]) -> tuple[Plot, ...]:
    counted = {name: dict(each.pairs()) for name, each in found.items()}
    cells = sorted(
        {cell for each in counted.values() for cell in each},
        key=lambda cell: -sum(each.get(cell, 0) for each in counted.values()),
    )[:6]
    bars = {
        name: [float(each.get(cell, 0)) for cell in cells]
        for name, each in counted.items()
    }
    names = [" and ".join(map(_short, cell)) for cell in cells]
    title = "Types taken for each other"
    plot = Plot(title, "", "spans, either way", bars=bars, names=names)
    return (plot,) if cells else ()


def _short(category: str) -> str:
    return category.rpartition(":")[2].lower()


def _people_most(name: str, each: Confusion) -> Finding:
    pairs = each.pairs()
    people = (Label.PATIENT.value, Label.DOCTOR.value)
    words = ", ".join(f"{' and '.join(map(_short, c))} {n}" for c, n in pairs[:3])
    return Finding(
        f"{name}: PATIENT and DOCTOR are taken for each other most",
        f"{SOURCE}, Table 7 (58 times)",
        pairs[0][0] == people if pairs else None,
        f"{words or 'none was taken for another'}",
    )
