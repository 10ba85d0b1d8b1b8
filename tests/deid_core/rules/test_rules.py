import inspect
import re
import textwrap

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deid_core.detectors.rules import rule as rule_module
from deid_core.detectors.rules.engine import RULES, RuleDetector
from deid_core.detectors.rules.pattern import LazyPattern
from deid_core.detectors.rules.rule import Rule
from deid_core.document import Annotation, Document, Span
from deid_core.labels import Label
from deid_core.language.fragments import to_ascii
from tests.deid_core.rules.rule_examples import DETECT_ALL, read_marks, spans_of

FOUND = [(rule, example) for rule in RULES for example in rule.found]
NOT_FOUND = [(rule, example) for rule in RULES for example in rule.not_found]
FILLER = "She walks daily and sleeps well without complaint.\n" * 5


def a_rule(**changes):
    parts = {
        "name": "ward",
        "label": Label.IDNUM,
        "pattern": re.compile(r"ward[ ](?P<phi>[0-9]+)"),
        "score": 0.5,
    }
    return Rule(**(parts | changes))


def test_finds_what_stands_between_the_marks(subtests):
    """
    The text between « and » is annotated, and nothing else.
    """
    for rule, marked in FOUND:
        text, expected = read_marks(marked)
        with subtests.test(rule=rule.name, example=marked):
            assert expected == spans_of((rule,), text)


def test_leaves_alone_what_it_must_not_find(subtests):
    for rule, text in NOT_FOUND:
        with subtests.test(rule=rule.name, example=text):
            assert spans_of((rule,), text) == []


def test_every_match_holds_what_its_rule_says(subtests):
    for rule in RULES:
        if not rule.must_contain:
            continue
        texts = [to_ascii(read_marks(example)[0]) for example in rule.found]
        matches = [match for text in texts for match in rule.pattern.finditer(text)]
        with subtests.test(rule=rule.name):
            assert matches
            for match in matches:
                assert rule.must_contain.search(match.string, match.start())


def test_a_pattern_is_not_tried_where_nothing_of_what_it_holds_stands():
    held = a_rule(lookbehind=1, window=8, must_contain=re.compile("[0-9]"))
    text = "ward five " + FILLER + "ward 7"

    assert [text[s:e] for s, e in spans_of((held,), text)] == [text[-1:]]
    never = a_rule(lookbehind=1, window=8, must_contain=re.compile("x"))
    assert spans_of((never,), text) == []


def test_has_examples_of_both_kinds(subtests):
    for rule in RULES:
        with subtests.test(rule=rule.name):
            assert rule.found
            assert all("«" in example for example in rule.found)
            assert rule.not_found


def test_finds_its_examples_in_the_middle_of_a_note(subtests):
    """
    Looking only near a rule's triggers loses nothing that the whole note would show.
    """
    for rule in RULES:
        note, expected = "", []
        for marked in rule.found:
            text, spans = read_marks(marked)
            note += FILLER
            expected += [(len(note) + start, len(note) + end) for start, end in spans]
            note += text + "\n"
        with subtests.test(rule=rule.name):
            assert expected == spans_of((rule,), note + FILLER)


@pytest.mark.parametrize(
    "text",
    [
        "BP 120/80, HR 72, RR 16, Temp 98.6 F, SpO2 97% on 2 L",
        "Pain 2/10 at rest, 8/10 with movement; strength 5/5 throughout.",
        "Vomiting 2/7, loss of weight 1/12, cough 3/52.",
        "Parkinson disease, Alzheimer's dementia, Crohn's, Foley catheter 16 Fr",
        "L4-5 disc, C5-C6, T12-L1, grade 3/6 murmur, q 4-6 hours, x3",
        "heparin 1:200, epinephrine 1:1000, pH 7.35, INR 2.1, version 2.3.1",
        "Take 10-12 mg 2-3 times daily for 7-10 days, then 1/2 tablet.",
        "Platelets 250000, WBC 12.3, Na 140, glucose 95-110.",
        "She may march on; general surgery was consulted; the lady with pain.",
        "General: alert and oriented x 3. Father deceased. Sister with asthma.",
        "A 67-year-old man, diagnosed in 2015, smoked since the 1980s.",
        "Head CT, MRI brain, EKG, PA and lateral chest, MS relapse.",
        "Visual acuity 20/20 and 20/40. Dr. will see. MS Contin 15 mg.",
        "Follow up in 2 weeks; call 911 in an emergency.",
        "ICD-10 E11.9, CPT 99213, COVID-19, HbA1c 7.2%",
    ],
)
def test_no_rule_touches_clinical_text(text):
    assert spans_of(RULES, text) == []


def test_says_which_rule_proposed():
    [annotations] = RuleDetector((a_rule(),))([Document("d1", "in ward 12")])

    assert annotations == [Annotation(Span(8, 10), Label.IDNUM, 0.5, "rules", "ward")]


def test_proposals_keep_the_order_of_the_documents():
    documents = [Document("a", "ward 1"), Document("b", ""), Document("c", "ward 2")]

    assert [len(found) for found in RuleDetector((a_rule(),))(documents)] == [1, 0, 1]


def test_the_second_look_can_refuse():
    rule = a_rule(is_valid=lambda match: match["phi"] != "12")

    assert spans_of((rule,), "ward 13") == [(5, 7)]
    assert spans_of((rule,), "ward 12") == []


def test_refuses_two_rules_of_one_name():
    with pytest.raises(ValueError, match="same name"):
        RuleDetector((a_rule(), a_rule()))


@pytest.mark.parametrize("triggers", [("",), ("Ward",), ("12",)])
def test_refuses_triggers_that_no_text_holds(triggers):
    with pytest.raises(ValueError, match="rule ward: triggers"):
        a_rule(triggers=triggers)


def test_proposals_are_in_the_order_of_the_names_of_rules():
    rules = [a_rule(name=name) for name in ("b", "c", "a")]

    [annotations] = RuleDetector(rules)([Document("d1", "ward 12")])

    assert [each.rule for each in annotations] == ["a", "b", "c"]


def test_the_guide_shows_a_rule_that_works():
    guide = inspect.getdoc(rule_module) or ""
    example = textwrap.dedent(guide.split("::\n\n")[1].split("\n\n- ")[0])
    names = {"Rule": Rule, "Label": Label, "re": re, "LazyPattern": LazyPattern}
    exec(example, names)  # noqa: S102 (the guide's own example)
    ward = names["WARD"]

    for marked in ward.found:
        text, expected = read_marks(marked)
        assert expected == spans_of((ward,), text)
    for text in ward.not_found:
        assert spans_of((ward,), text) == []


@given(st.text())
def test_folding_moves_nothing(text):
    """
    Offsets found in folded or lower-case text hold in the note itself.
    """
    assert len(text) == len(to_ascii(text)) == len(to_ascii(text).lower())


@given(st.text())
def test_any_text_can_be_searched(text):
    [annotations] = DETECT_ALL([Document("d1", text)])

    assert all(0 <= a.span.start < a.span.end <= len(text) for a in annotations)


@pytest.mark.timeout(60)
@pytest.mark.parametrize(
    "part",
    [
        "1",
        "-",
        " ",
        "12-",
        "Dr. ",
        "a.a.a.a@",
        "M.D.",
        "www.",
        "Aa ",
        "O'",
        "1/1/",
        "(",
    ],
)
def test_hostile_text_takes_linear_time(part):
    """
    A pattern that backtracks without bound would not come back within the timeout.
    """
    text = part * (200_000 // len(part))

    assert len(DETECT_ALL([Document("d1", text)])) == 1
