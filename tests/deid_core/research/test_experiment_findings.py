"""The experiments of Deleger and others and of He and others, on invented notes."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

pytest.importorskip("matplotlib", reason="needs the extra train")
pytest.importorskip("sklearn", reason="needs the extra train")
pytest.importorskip("pycrfsuite", reason="needs the extra train")

from deid_core import Annotation, Label, Span
from deid_core.errors import ConfigError
from deid_core.replace import Replacement, apply_replacements
from deid_core.research.corpora.conventions import PLAIN, conventions_for
from deid_core.research.corpora.corpus import Corpus, GoldDocument, GoldSpan, Prediction
from deid_core.research.corpora.writers import write_brat
from deid_core.research.experiments import (
    annotators,
    error_kinds,
    feature_sets,
    medication,
    missed,
    recall_bias,
)
from deid_core.research.experiments.harness import cross_validated, systems
from deid_core.research.experiments.harness.drug_names import Extractor, read_names
from deid_core.research.experiments.harness.figures import (
    Scored,
    figures,
    gold_of,
    improves,
    p_cell,
    p_of,
)
from deid_core.research.experiments.harness.runner import Runner
from deid_core.research.experiments.harness.splits import Split
from deid_core.research.experiments.harness.systems import SystemOutput
from deid_core.research.scoring.agreement import CATEGORIES
from deid_core.research.scoring.errors import ErrorClass, ErrorClasses

SPOKEN = conventions_for(Path("invented"), PLAIN)
MAIN = CATEGORIES["main"]
PATIENT = Label.PATIENT


def note(number, name="Quillfeather", label=PATIENT, corpus="n"):
    text = f"Seen today: {name}. Visit {number}, score 2/10."
    start = text.index(name)
    span = GoldSpan(Span(start, start + len(name)), label.value, label, 0)
    return GoldDocument(f"{corpus}{number}", text, (span,))


def corpus(count, name="c"):
    notes = (note(number, corpus=name) for number in range(count))
    return Corpus(name, "all", False, SPOKEN, tuple(notes))


def saying(of, right):
    """Return a system that finds the marks of the first so many documents."""
    return SystemOutput(
        tuple(
            Prediction(
                tuple(Annotation(s.span, s.label, 1.0, "t", "x") for s in each.spans)
                if number < right
                else ()
            )
            for number, each in enumerate(of.documents)
        ),
        1.0,
        2.0,
    )


def scored(count, right, name="c"):
    of = corpus(count, name)
    return Scored(of, saying(of, right))


@pytest.fixture
def runner(tmp_path):
    found = Runner(Path("nowhere"), tmp_path)
    found.english = {"one": corpus(8, "one"), "two": corpus(12, "two")}
    found.meddocan = Split("m", "es", (), corpus(4, "m"))
    return found


def test_figures_over_several_corpora_are_of_all_their_marks():
    found = figures([scored(4, 4), scored(6, 1)], category=MAIN)

    assert pytest.approx((100, 50, 100 * 10 / 15)) == found.values
    assert gold_of([scored(4, 4), scored(6, 1)], MAIN) == 10
    assert gold_of([scored(4, 4)], MAIN, "DATE") == 0


def test_a_difference_is_starred_where_it_is_more_than_chance():
    little, much = (figures([scored(40, n)], category=MAIN) for n in (10, 40))

    assert p_cell(little.f1, much.f1, 1, star=True).endswith("*")
    assert p_cell(much.f1, much.f1, 1, star=True) == "1.0000"
    assert p_of(little.f1, much.f1, 1) < 0.05


@pytest.mark.parametrize(
    ("before", "after", "holds"), [(10, 40, True), (40, 10, False), (10, 11, False)]
)
def test_better_holds_only_for_a_rise_beyond_chance(before, after, holds):
    pair = tuple(figures([scored(40, n)], category=MAIN) for n in (before, after))

    found = improves("claim", "source", 1, {"all": pair})

    assert found.holds is holds
    assert f"{pair[0].values[2]:.2f} to {pair[1].values[2]:.2f}" in found.figures


def test_better_holds_only_if_every_pair_is():
    rise, fall = (
        tuple(figures([scored(40, n)], category=MAIN) for n in pair)
        for pair in ((10, 40), (40, 10))
    )

    assert not improves("claim", "source", 1, {"a": rise, "b": fall}).holds


def test_no_fold_is_tagged_by_a_system_that_learned_it(runner):
    parts = cross_validated.english_folds(runner)

    asked = [d.id for each in parts.values() for p in each for d in p.corpus.documents]
    assert 20 == len(asked) == len({*asked})
    for number in range(4):
        of_fold = [each[number] for each in parts.values()]
        learned = {d.id for d in of_fold[0].learn}
        scored_here = {d.id for p in of_fold for d in p.corpus.documents}
        assert not learned & scored_here
        assert len(learned) + len(scored_here) == 20
        # One model for that fold of every corpus.
        assert of_fold[0].learn == of_fold[1].learn


def test_pieces_of_a_corpus_are_put_together_in_order_with_their_times():
    one, two = scored(2, 2, "a"), scored(3, 0, "b")

    found = cross_validated.concatenated(
        (each.corpus, each.output) for each in (one, two)
    )

    ids = [document.id for document in found.corpus.documents]
    assert ids == ["a0", "a1", "b0", "b1", "b2"]
    assert [len(p.annotations) for p in found.output.predictions] == [1, 1, 0, 0, 0]
    assert (found.output.tag_s, found.output.train_s) == (2.0, 4.0)


def test_a_preset_takes_other_options_of_its_tagger_and_keeps_its_own():
    config = systems.with_tagger("hybrid", outside_bias=1.5)

    tagger = config.options["tagger"]
    assert (tagger.outside_bias, tagger.threshold) == (1.5, 0.3)


def test_two_annotators_agree_alike_whoever_is_called_gold():
    one, other = scored(10, 7), scored(10, 4)
    f1 = [
        figures(
            [Scored(annotators.as_gold(a.corpus, a.output), b.output)], category=MAIN
        )
        for a, b in ((one, other), (other, one))
    ]

    assert pytest.approx(100 * 8 / 11) == f1[0].values[2]
    assert f1[0].values[2] == f1[1].values[2]


def test_what_the_gold_marks_leave_open_is_no_disagreement_of_annotators():
    of = corpus(1)
    [document] = of.documents
    open_to_all = GoldSpan(Span(0, 4), "SEX", None, 1)
    of = replace(
        of,
        documents=(replace(document, spans=(open_to_all, *document.spans)),),
    )
    marks = saying(corpus(1), 1)
    more = Annotation(Span(0, 4), Label.IDNUM, 1.0, "t", "x")
    [said] = marks.predictions
    with_more = SystemOutput((Prediction((more, *said.annotations)),), 0.0)

    assert marks.predictions == annotators.penalized(of, with_more).predictions
    pairs = annotators._pairs(of, {"a": marks, "b": with_more})
    assert {figures([e], category=MAIN).values[2] for e in pairs.values()} == {100.0}


def test_given_names_are_set_beside_full_names_with_and_without_title():
    kinds = ["given name alone", "full name", "full name with title"]
    notes = [note(n) for n in range(3)]
    notes = [
        replace(each, spans=tuple(replace(s, kinds=(kind,)) for s in each.spans))
        for each, kind in zip(notes, kinds, strict=True)
    ]
    of = Corpus("c", "all", False, SPOKEN, tuple(notes))
    right = saying(of, 3).predictions

    def held(*found):
        said = SystemOutput(tuple(found), 0.0)
        return missed._given_beside_full("x", Scored(of, said)).holds

    assert held(Prediction(()), right[1], Prediction(()))
    assert not held(right[0], right[1], Prediction(()))


def test_a_second_persons_folder_is_read_beside_the_corpus_at_hand(runner, tmp_path):
    runner.second_annotator = tmp_path / "second"
    of = runner.english["two"]
    some = replace(of, documents=of.documents[2:5])
    write_brat(some, saying(some, 2).predictions, runner.second_annotator)

    here, there = annotators.second_annotation(runner)

    assert [each.id for each in here.documents] == ["two2", "two3", "two4"]
    assert [len(each.spans) for each in there.documents] == [1, 1, 0]
    said = SystemOutput.of_gold(there.documents)
    assert [len(each.annotations) for each in said.predictions] == [1, 1, 0]


def test_a_second_persons_folder_of_other_notes_is_refused(runner, tmp_path):
    runner.second_annotator = tmp_path / "second"
    of = corpus(2, "strange")
    write_brat(of, saying(of, 2).predictions, runner.second_annotator)

    with pytest.raises(ConfigError, match="named like a document"):
        annotators.second_annotation(runner)


def test_a_second_persons_folder_with_another_text_is_refused(runner, tmp_path):
    runner.second_annotator = tmp_path / "second"
    of = replace(
        runner.english["one"], documents=(note(0, "Vandermeer", corpus="one"),)
    )
    write_brat(of, saying(of, 1).predictions, runner.second_annotator)

    with pytest.raises(ConfigError, match="document 1 has another text"):
        annotators.second_annotation(runner)


def test_without_a_second_person_the_finding_on_people_cannot_be_told(runner):
    assert annotators.second_annotation(runner) is None

    found = annotators._of_people({}, 1)

    assert [each.holds for each in found] == [None, None]
    assert all("--second-annotator" in each.figures for each in found)


def test_a_system_is_no_worse_than_a_person_unless_chance_cannot_explain_it():
    of = corpus(40)

    def pairs(person, ours):
        return {
            ("gold", "second annotator"): Scored(of, saying(of, person)),
            ("gold", "ours"): Scored(of, saying(of, ours)),
        }

    assert [f.holds for f in annotators._of_people(pairs(39, 40), 1)] == [True, True]
    assert not annotators._of_people(pairs(40, 5), 1)[0].holds


NAMES = ("aspirin", "insulin", "insulin glargine", "prednisone")


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Aspirin 81 mg daily.", [("Aspirin", ("81 mg", "", "daily"))]),
        ("INSULIN GLARGINE at night", [("INSULIN GLARGINE", ("", "", ""))]),
        (
            "prednisone 5mg po b.i.d., insulin 10 units",
            [
                ("prednisone", ("5mg", "po", "b.i.d.")),
                ("insulin", ("10 units", "", "")),
            ],
        ),
        ("aspirins, preaspirin", []),
        ("aspirin\n81 mg", [("aspirin", ("", "", ""))]),
        ("nothing", []),
    ],
)
def test_the_longest_drug_names_are_found_with_what_follows_them(text, found):
    said = Extractor(NAMES)(text)

    shown = [(text[m.span.start : m.span.end], m.context) for m in said]
    assert found == shown


def test_short_names_and_trade_names_that_are_frequent_words_are_left_out(tmp_path):
    folder = tmp_path / "lexicons"
    folder.mkdir()
    (folder / "fda_drug_names.csv").write_text(
        "name,kind,source\nASPIRIN,ingredient,x\nBALANCE,trade,x\nZYX,trade,x\n"
        "WATER,ingredient,x\nASPIRIN,trade,x\n"
    )

    assert read_names(tmp_path) == ["aspirin", "water"]


def test_without_the_list_of_drugs_the_file_is_named(tmp_path):
    with pytest.raises(ConfigError, match="fda_drug_names"):
        read_names(tmp_path)


def test_names_kept_are_mapped_back_and_names_written_anew_are_introduced():
    extract = Extractor(NAMES)
    text = "Mr. Quill took aspirin 81 mg and insulin."

    def hidden(inner, written):
        start = text.index(inner)
        span = Span(start, start + len(inner))
        return Replacement(Annotation(span, PATIENT, 1.0, "t", "x"), written)

    after, way = apply_replacements(
        text, [hidden("Quill", "Prednisone"), hidden("insulin", "Bo")]
    )
    found = medication._compared(extract(text), extract(after), way)

    assert (
        medication._Note(gold=2, found=2, right=1, whole=1, redacted=1, introduced=1)
        == found
    )


def test_the_drugs_of_a_refused_note_are_lost():
    of = Corpus("c", "all", False, SPOKEN, (GoldDocument("d", "Took aspirin.", ()),))
    said = SystemOutput((Prediction((), refusal="residue"),), 0.0)

    found = medication._notes(Scored(of, said), medication._asterisks, Extractor(NAMES))

    assert [medication._Note(1, 0, 0, 0, 1, 0)] == [*found]


def test_scrubbing_that_loses_nothing_costs_nothing_and_half_a_point_is_too_much():
    def notes(lost):
        kept = [medication._Note(1, 1, 1, 1, 0, 0)] * (100 - lost)
        return [*kept, *[medication._Note(1, 0, 0, 0, 1, 0)] * lost]

    by = {("ours", "tags"): notes(0), ("theirs", "tags"): notes(5)}

    assert medication._finding("ours", by, 1).holds
    assert not medication._finding("theirs", by, 1).holds


def sweep(*recalls):
    found = (figures([scored(100, recall)], category=MAIN) for recall in recalls)
    points = (recall_bias._Point(each, each) for each in found)
    return dict(zip((0.0, 1.0, 2.0, 3.0), points, strict=False))


@pytest.mark.parametrize(
    ("recalls", "holds"), [((40, 80, 20), True), ((40, 41), False)]
)
def test_a_threshold_helps_only_by_more_than_chance(recalls, holds):
    assert recall_bias._helps_where_few(sweep(*recalls), 1).holds is holds


@pytest.mark.parametrize(
    ("recalls", "holds"),
    [((80, 85, 70, 60), True), ((80, 70, 60, 50), False), ((80, 85, 86, 87), False)],
)
def test_recall_rises_and_falls_only_with_a_maximum_inside(recalls, holds):
    assert recall_bias._rises_and_falls("x", sweep(*recalls)).holds is holds


def test_types_gain_most_only_if_each_of_them_gains_more_than_all_others():
    def by(dates, names):
        notes = [note(n, label=Label.DATE) for n in range(30)]
        notes += [note(n) for n in range(30, 60)]
        of = Corpus("c", "all", False, replace(SPOKEN, all_sought=True), tuple(notes))
        said = saying(of, 0).predictions
        right = saying(of, 60).predictions
        taken = (*right[:dates], *said[dates:30], *right[30 : 30 + names])
        return [Scored(of, SystemOutput((*taken, *said[30 + names :]), 0.0))]

    full = {"Lex+Ort+Dic": by(30, 25)}

    def most(of):
        return feature_sets._gain_most("x", "y", by(10, 20), full, of, "z").holds

    assert most(("DATE",))
    assert not most(("NAME",))
    assert most(("AGE",)) is None


def errors(**counts):
    counted = {(ErrorClass[kind], "DATE"): n for kind, n in counts.items()}
    return ErrorClasses(Counter(counted))


def test_missing_is_most_only_above_half_of_the_errors():
    assert error_kinds._missing_most("x", errors(MISSING=6, SPURIOUS=5)).holds
    assert not error_kinds._missing_most("x", errors(MISSING=5, SPURIOUS=5)).holds
    assert error_kinds._missing_most("x", errors()).holds is None


def test_single_names_are_most_missed_by_share_and_by_number():
    names = ("Ann Moss", "Bo", "Cora Vane", "Dee")
    notes = [note(n, name) for n, name in enumerate(names * 2)]
    of = Corpus("c", "all", False, SPOKEN, tuple(notes))
    right = saying(of, 8).predictions
    found = tuple(
        Prediction(()) if " " not in name else said
        for name, said in zip(names * 2, right, strict=True)
    )

    held = missed._single("x", [Scored(of, SystemOutput(found, 0.0))])

    assert held.holds
    assert held.figures.startswith("4 of 4 missed are of one word")
    assert missed._single("x", [Scored(of, saying(of, 8))]).holds is None


def test_scores_and_decoys_falsely_taken_are_counted_by_kind():
    plain = note(0)
    text = plain.text
    decoy = Span(text.index("Visit"), text.index("Visit") + 5)
    of = Corpus("c", "all", False, SPOKEN, (replace(plain, decoys=(decoy,)),))
    score = Span(text.index("2/10"), text.index("2/10") + 4)
    taken = (
        Annotation(Span(0, 4), PATIENT, 1.0, "t", "x"),
        Annotation(decoy, PATIENT, 1.0, "t", "x"),
        Annotation(score, Label.DATE, 1.0, "t", "x"),
    )
    each = [Scored(of, SystemOutput((Prediction(taken),), 0.0))]

    assert dict(missed._false(each)) == {
        ("NAME", "capitalised word"): 1,
        ("NAME", "device or eponym"): 1,
        ("DATE", "score (2/10)"): 1,
    }
    assert missed._fractions(each) == (1, 1)
    assert [f.holds for f in missed._false_findings("x", each)] == [True, True]
