"""The harness of the experiments, on corpora of a few invented sentences."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import orjson
import pytest

pytest.importorskip("matplotlib", reason="needs the extra train")
pytest.importorskip("sklearn", reason="needs the extra train")

from deid_core import Annotation, Label, Span
from deid_core.errors import ConfigError
from deid_core.research.corpora.conventions import PLAIN, conventions_for
from deid_core.research.corpora.corpus import Corpus, GoldDocument, GoldSpan, Prediction
from deid_core.research.experiments.harness import splits, systems
from deid_core.research.experiments.harness.columns import (
    DATES,
    IDS,
    OTHERS,
    PATIENT,
    columns_of,
)
from deid_core.research.experiments.harness.figures import (
    Scored,
    classes_of,
    coverage_of,
    figures,
    is_greater,
    is_greatest,
    is_least,
    p_of,
)
from deid_core.research.experiments.harness.phi import phi_of
from deid_core.research.experiments.harness.report import (
    Finding,
    Plot,
    Report,
    as_markdown,
    write_index,
    write_report,
)
from deid_core.research.experiments.harness.runner import Runner
from deid_core.research.experiments.harness.systems import SystemOutput, Variant
from deid_core.research.scoring.measures import Measure
from deid_core.research.scoring.tables import Table
from tests.deid_core.research.experiment_cases import marked, scored

NAMES = ("Brackenridge", "Oyelaran", "Thistlewood", "Vandermeer", "Quillfeather")


def note(number: int) -> GoldDocument:
    name = NAMES[number % len(NAMES)]
    text = f"Mr. {name} was seen in the clinic. The wound is dry. Visit {number}."
    start = text.index(name)
    span = Span(start, start + len(name))
    gold = GoldSpan(span, "NAME:PATIENT", Label.PATIENT, 0)
    return GoldDocument(f"n{number}", text, (gold,))


def corpus(count: int) -> Corpus:
    conventions = conventions_for(Path("invented"), PLAIN)
    return Corpus("invented", "all", False, conventions, tuple(map(note, range(count))))


@pytest.fixture
def split():
    learned = tuple(map(note, range(100, 130)))
    return splits.Split("invented", "en", learned, corpus(10))


def perfect(of: Corpus) -> SystemOutput:
    def found(document):
        spans = (each.span for each in document.spans)
        return tuple(Annotation(s, Label.PATIENT, 1.0, "test", "x") for s in spans)

    return SystemOutput(tuple(Prediction(found(each)) for each in of.documents), 1.0)


def silent(of: Corpus) -> SystemOutput:
    return SystemOutput(tuple(Prediction(()) for _ in of.documents), 1.0)


def test_every_document_is_scored_once_and_never_learned_in_its_own_fold(split):
    found = splits.folds(split, 3, seed=1)

    scored = [each.id for fold in found for each in fold.corpus.documents]
    assert sorted(scored) == sorted(each.id for each in split.corpus.documents)
    for fold in found:
        learned = {each.id for each in fold.learn}
        assert learned.isdisjoint(each.id for each in fold.corpus.documents)
        assert len(learned) + len(fold.corpus.documents) == 10


def test_a_published_system_learns_once_and_is_found_again(split, tmp_path):
    told = []
    runner = Runner(tmp_path, tmp_path, progress=told.append)
    first = runner.output(Variant("uza-rf10"), split)
    again = Runner(tmp_path, tmp_path).output(Variant("uza-rf10"), split)

    assert first.predictions == again.predictions
    assert first.train_s > 0 == again.train_s
    assert any("training" in each for each in told)


@pytest.mark.long
def test_another_corpus_or_variant_is_another_model(split, tmp_path):
    variants = (Variant("uza-rf10"), Variant("uza-rf10", without=("is_number",)))
    other = split.learning(split.learn[:20])
    places = {
        systems.train_variant(variant, chosen, tmp_path, None)[0]
        for variant in variants
        for chosen in (split, other)
    }

    assert len(places) == 4


def test_only_leaves_out_every_other_feature_group():
    variant = Variant("stat-deid-linear", only=("heading",))

    left = variant.left_out(("mesh",))

    assert "heading" not in left
    assert {"word", "mesh", "dictionary"} <= {*left}


def test_what_is_changed_is_the_recipe_that_is_trained():
    changed = Variant("mcrf1", tokenizer="words", learning=(("c2", 1.0),)).changed()

    assert (changed.tokenizer, changed.options.c2) == ("words", 1.0)


def test_figures_are_percent_in_the_classes_of_the_system():
    of = corpus(4)

    right = figures([Scored(of, perfect(of))], category=classes_of("uza-rf10"))
    none = figures([Scored(of, silent(of))], category=classes_of("uza-rf10"))

    assert right.values == (100.0, 100.0, 100.0)
    assert none.cells == ("0.00", "0.00", "0.00")
    assert coverage_of(Scored(of, perfect(of)))["recall"].value == 1.0


def test_a_difference_on_all_documents_is_no_chance():
    of = corpus(12)
    one, other = (
        figures([Scored(of, output)], category=classes_of("uza-rf10"))
        for output in (perfect(of), silent(of))
    )

    assert p_of(one.f1, other.f1, 1) < 0.01
    assert p_of(one.f1, one.f1, 1) == 1.0


def test_a_corpus_that_is_not_there_is_named_with_the_option(tmp_path):
    with pytest.raises(ConfigError, match="--data"):
        Runner(tmp_path, tmp_path).meddocan  # noqa: B018  # the look is the test


REPORT = Report(
    "trial",
    "Is it so?",
    ("five documents", "seed 1"),
    (Table("Of all", ("system", "F1"), (("one", "90.00"),)),),
    (
        Plot("Some lines", "documents", "F1", lines={"one": [(1, 50.0), (2, 70.0)]}),
        Plot("Some bars", "", "F1", bars={"one": [1.0, 2.0]}, names=["a", "b"]),
    ),
    (
        Finding("It grows", "Nobody 2000, Table 1", True, "50 then 70"),
        Finding("It falls", "Nobody 2000, Table 2", False, "50 then 70"),
        Finding("It sings", "Nobody 2000, Table 3", None, "no ears"),
    ),
)


def test_a_report_says_question_set_up_findings_tables_and_plots():
    page = as_markdown(REPORT)

    for part in ("Is it so?", "seed 1", "does not hold", "can't be told", "| one |"):
        assert part in page
    assert "](some-lines.png)" in page


def test_a_report_is_written_as_page_values_and_pictures(tmp_path):
    page = write_report(REPORT, tmp_path)
    index = write_index(tmp_path, ["absent", "trial"])

    pictures = sorted(each.name for each in page.parent.glob("*.png"))
    assert pictures == ["some-bars.png", "some-lines.png"]
    png = (page.parent / "some-bars.png").read_bytes()
    assert png.startswith(b"\x89PNG")
    assert len(png) > 5_000
    values = orjson.loads((page.parent / "report.json").read_bytes())
    assert values["findings"][0]["claim"] == "It grows"
    text = index.read_text("utf-8")
    assert "(trial/README.md)" in text
    assert "| It sings | Nobody 2000, Table 3 | can't be told | no ears |" in text
    assert "absent" not in text


DOCUMENTS = 20


def recall(*found_of_ten):
    """Return a recall of 20 documents of ten each, the found ones in turn."""
    part = np.resize(np.array(found_of_ten), DOCUMENTS)[:, np.newaxis]
    return Measure("recall", part, np.full((DOCUMENTS, 1), 10), scale=100.0)


@pytest.mark.parametrize(
    ("one", "other", "holds"),
    [
        (recall(9), recall(5), True),
        (recall(5), recall(9), False),
        (recall(7), recall(7), None),
        # Now more, now less: chance explains it.
        (recall(9, 5), recall(5, 8), None),
    ],
)
def test_a_figure_is_greater_only_by_more_than_chance(one, other, holds):
    verdict = is_greater(one, other, seed=1)

    assert verdict.holds is holds
    assert f"{one.value:.2f} and {other.value:.2f}, p " in verdict.figures


def test_without_a_figure_nothing_can_be_told():
    empty = Measure("recall", np.zeros((3, 1)), np.zeros((3, 1)), scale=100.0)

    assert is_greater(empty, empty, seed=1).holds is None


def test_the_greatest_and_the_least_are_told_against_the_next():
    found = {"low": recall(2), "middle": recall(5), "high": recall(9)}

    assert is_greatest("high", found, seed=1).holds is True
    assert is_greatest("middle", found, seed=1).holds is False
    assert is_least("low", found, seed=1).holds is True
    assert is_least("middle", found, seed=1).holds is False
    assert "low and middle: 20.00 and 50.00" in is_least("low", found, seed=1).figures


def test_a_tie_with_the_next_is_neither():
    found = {"one": recall(9), "other": recall(9), "low": recall(1)}

    assert is_greatest("one", found, seed=1).holds is None


SEEN = marked("Seen: «Ann Marlow», on «3/4/2011» (again).", (Label.PATIENT, Label.DATE))
NAME, DATE = (each.span for each in SEEN.spans)


def place(span):
    return span.start, span.end


def test_words_are_what_white_space_parts_with_marks_at_their_ends_apart():
    phi = phi_of(scored([SEEN], []))

    # Seen : Ann Marlow , on 3/4/2011 ( again ) .
    assert phi.words.sum() == 11
    assert phi.table == (0, 3, 0, 8)


def test_phi_and_what_is_none_are_scored_alike():
    false = (0, 4)
    phi = phi_of(
        scored([SEEN], [(false, Label.CITY), (place(NAME), Label.DOCTOR)]),
    )

    assert phi.table == (2, 1, 1, 7)
    p, r, _ = phi.phi.values
    assert (round(100 * 2 / 3, 6), round(100 * 2 / 3, 6)) == (round(p, 6), round(r, 6))
    p, r, _ = phi.rest.values
    assert (p, r) == (100 * 7 / 8, 100 * 7 / 8)


def test_recall_is_by_any_label_and_precision_by_the_column():
    found = columns_of(
        scored([SEEN], [(place(NAME), Label.DOCTOR), (place(DATE), Label.DATE)]),
    )

    assert found.values(PATIENT)[:2] == (0.0, 100.0)
    assert found.values(OTHERS)[:2] == (0.0, 0.0)
    assert found.values(DATES) == (100.0, 100.0, 100.0)
    p, r, f = found.values()
    assert (p, r, f) == (60.0, 100.0, 75.0)


def test_titles_kin_and_initials_beside_a_name_count_nowhere():
    text = "Her son Carl and Mr. Ann T Marlow"
    at = text.index
    spans = (
        kin := (at("Carl"), at("Carl") + 4),
        whole := (at("Mr."), at("Ann") + 3),
        last := (at("Marlow"), len(text)),
    )
    labels = (Label.PATIENT,) * 3
    kinds = (("kin",), (), ())
    gold = tuple(
        GoldSpan(type(NAME)(*span), label.value, label, number, kind)
        for number, (span, label, kind) in enumerate(
            zip(spans, labels, kinds, strict=True)
        )
    )
    document = GoldDocument("n", text, gold)

    found = columns_of(
        scored(
            [document], [(kin, Label.PATIENT), ((whole[0], last[1]), Label.PATIENT)]
        ),
    )

    assert 2 == found.gold.sum() == found.predicted.sum() == found.right.sum()


def test_what_is_none_and_taken_counts_against_its_column():
    found = columns_of(scored([SEEN], [((0, 4), Label.PHONE)]))

    assert found.values(IDS) == (0.0, 0.0, 0.0)
    assert found.predicted.sum() == 1
