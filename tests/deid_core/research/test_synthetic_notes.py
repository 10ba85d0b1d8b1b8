"""Synthetic notes: identifiers in unmarked notes, and halves that share nothing."""

import hashlib
import os
import re
import subprocess
import sys
from importlib import metadata
from itertools import pairwise
from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rapidfuzz import fuzz

from deid_core import Annotation, ConfigError, Label, Span
from deid_core.fiction.prebuilt import prebuilt
from deid_core.research.corpora.readers import read_corpus
from deid_core.research.corpora.writers import line_of
from deid_core.research.synthetic_notes import (
    Carrier,
    Half,
    generate,
    half_of,
    read_carriers,
    without_shared,
)
from deid_core.research.synthetic_notes.carriers import injected, slots
from deid_core.research.synthetic_notes.names import (
    Inventor,
    Origin,
    is_listed,
    misspelt,
    names_of,
)
from deid_core.research.synthetic_notes.negatives import product
from deid_core.research.synthetic_notes.people import draw_person
from deid_core.research.synthetic_notes.scenario import FIELDS, Scenario
from deid_core.research.synthetic_notes.segments import Segment, document_of
from deid_core.research.synthetic_notes.tables import entries_of, table
from deid_core.research.synthetic_notes.templates import (
    filled,
    groups_of,
    groups_of_training_only,
)
from tests.sampling import examples

HALVES = list(Half)
CARRIERS = [
    Carrier(f"c{at}", text)
    for at, text in enumerate(
        [
            "The patient has a cough.  He denies fever.  Dr. X. saw him.",
            "She was seen at the clinic.  Lives with her husband.",
            "No known drug allergies.",
            "Ms. ABC returns.  Follow up with Dr. XYZ in the patient's home.",
        ]
        * 8
    )
]


def scenario(half=Half.TRAINING, seed=0):
    return Scenario.draw(half, Random(seed))


def of(document, label):
    return [
        document.text[each.span.start : each.span.end]
        for each in document.spans
        if each.label is label
    ]


@pytest.fixture(scope="module", params=HALVES)
def notes(request):
    return list(generate(request.param, CARRIERS, 60, seed=3))


# Notes


@pytest.mark.long
def test_the_same_seed_gives_the_same_bytes_in_every_process():
    script = (
        "from deid_core.research.synthetic_notes import *\n"
        "from deid_core.research.corpora.writers import line_of\n"
        "import hashlib, sys\n"
        "found = b''.join(map(line_of, generate(Half.STRESS, [], 5, 1)))\n"
        "sys.stdout.write(hashlib.sha256(found).hexdigest())"
    )
    digests = {
        subprocess.run(
            [sys.executable, "-c", script],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }

    assert len(digests) == 1


@pytest.mark.parametrize(
    ("half", "digest"),
    [(Half.TRAINING, "11a168f58f8551b4"), (Half.STRESS, "dc84dde6a61d205c")],
)
def test_a_seed_gives_the_same_notes_in_every_version(half, digest):
    """Models can be trained again, and figures of the stress set stay comparable."""
    if metadata.version("Faker") != prebuilt("names")["versions"]["Faker"]:
        pytest.skip("another version of Faker has other names")

    lines = map(line_of, generate(half, [], 20, 1))

    assert digest == hashlib.sha256(b"".join(lines)).hexdigest()[:16]


def test_a_note_depends_on_its_number_and_the_seed_only():
    few, many = (list(generate(Half.TRAINING, CARRIERS, n, 1)) for n in (3, 6))

    assert few == many[:3]
    assert few != list(generate(Half.TRAINING, CARRIERS, 3, 2))
    assert few == list(generate(Half.TRAINING, CARRIERS[::-1], 3, 1))


def test_spans_are_disjoint_and_cover_no_blank_ends(notes):
    for note in notes:
        spans = [each.span for each in note.spans]
        assert all(a.end <= b.start for a, b in pairwise(spans))
        for each in spans:
            inner = note.text[each.start : each.end]
            assert inner == inner.strip()


def test_no_braces_and_no_placeholders_are_left(notes):
    for note in notes:
        assert not re.search(r"[{}]|\bXYZ\b|\bABC\b", note.text)


@pytest.mark.parametrize("half", HALVES)
def test_a_template_of_each_half_holds_each_label(half):
    drawn = {
        segment.label
        for group in groups_of(half).values()
        for line in group.lines
        for segment in filled(line, scenario(half))
    }

    assert set(Label) == drawn - {None}


def test_a_record_number_is_the_same_throughout_a_note(notes):
    for note in notes:
        assert len(set(of(note, Label.MEDICALRECORD))) <= 1


def test_some_notes_are_in_capitals_and_some_in_lower_case(notes):
    texts = [note.text for note in notes]

    assert 2 <= sum(text.isupper() for text in texts) <= 20
    assert 2 <= sum(text.islower() for text in texts) <= 20


def test_names_say_their_form_origin_and_case(notes):
    origins = {each.value for each in Origin}
    for note in notes:
        for each in note.spans:
            if each.label.main == "NAME" and each.label is not Label.USERNAME:
                assert each.kinds[0] == "any name"
                assert origins & set(each.kinds)
                assert each.kinds[-1].startswith("name in ")


def test_notes_are_read_back_as_they_were_written(tmp_path, notes):
    file = tmp_path / "stress.jsonl"
    file.write_bytes(b"".join(map(line_of, notes)))

    assert tuple(notes) == read_corpus(file).documents


# Halves


def test_a_half_is_decided_by_the_text_whatever_its_case():
    assert half_of("Camila") is half_of("CAMILA")
    halves = [half_of(str(number)) for number in range(1000)]
    assert 250 < halves.count(Half.STRESS) < 350


def test_the_halves_share_no_name_and_no_template():
    def drawn(half):
        names = names_of(half)
        pools = [
            pool
            for culture in (names.common, names.rare, names.word, *names.foreign)
            for pool in (culture.family, *culture.given.values())
        ]
        return {name.casefold() for pool in pools for name in pool.values}, {
            line for group in groups_of(half).values() for line in group.lines
        }

    for one, other in zip(*map(drawn, HALVES), strict=True):
        assert one
        assert one.isdisjoint(other)


def bare(line):
    return re.sub(r"\{[a-z_.]+\}", "x", line).casefold()


def kept_for_stress():
    return [bare(line) for g in groups_of(Half.STRESS).values() for line in g.lines]


def test_no_line_of_the_training_half_alone_is_much_like_one_kept_for_stress():
    phrase = re.compile(rf"\{{(?:{'|'.join(table('phrases'))})\}}")
    lines = [line for group in groups_of_training_only() for line in group["lines"]]
    own = [bare(line) for line in lines if not phrase.search(line)]

    assert all(
        fuzz.ratio(line, other) < 78 for line in own for other in kept_for_stress()
    )


SENTENCES = {
    "does": "x {}.",
    "staff_does": "x {}.",
    "kin_does": "x {}.",
    "lead": "{} x is here.",
    "things": "x's {} is better.",
    "thing_is": "x's care {}.",
    "asks": "{} x to rest.",
    "to_do": "i asked x {}.",
    "to_house": "{} x.",
    "house_does": "x {}.",
    "to_town": "he {} x.",
    "town_after": "he left x {}.",
}


@pytest.mark.parametrize("name", table("phrases"))
def test_no_phrase_makes_a_line_much_like_one_kept_for_stress(name):
    own = [
        SENTENCES[name].format(phrase).casefold()
        for phrase in entries_of(table("phrases")[name])
    ]

    assert all(
        fuzz.ratio(line, other) < 78 for line in own for other in kept_for_stress()
    )


def test_lines_of_the_training_half_alone_are_drawn_by_it_and_never_by_stress():
    own = {line for group in groups_of_training_only() for line in group["lines"]}
    training, stress = (
        {line for group in groups_of(half).values() for line in group.lines}
        for half in (Half.TRAINING, Half.STRESS)
    )

    assert own <= training
    assert own.isdisjoint(stress)


@pytest.mark.parametrize("file", ["training", "sentences"])
def test_each_file_of_the_training_half_alone_is_drawn_from(file):
    own = {line for group in table(file)["group"] for line in group["lines"]}
    groups = groups_of(Half.TRAINING).values()

    assert own <= {line for group in groups for line in group.lines}


def test_any_word_is_a_name_in_training_alone():
    def origins(half):
        chance = Random(2)
        people = [draw_person(half, chance, Label.PATIENT) for _ in range(300)]
        return {name.origin for each in people for name in (each.given, each.family)}

    assert Origin.ANY_WORD in origins(Half.TRAINING)
    assert Origin.ANY_WORD not in origins(Half.STRESS)
    assert all(
        half_of(name) is Half.TRAINING
        for name in names_of(Half.TRAINING).any_word.family.values
    )


@pytest.mark.parametrize("half", HALVES)
def test_a_product_is_in_no_list_of_names_and_of_its_half(half):
    chance = Random(3)
    made = [product(half, chance) for _ in range(100)]

    assert len({*made}) > 50
    assert all(not is_listed(name) and half_of(name) is half for name in made)


@pytest.mark.parametrize("half", HALVES)
def test_every_group_has_templates_and_every_field_is_known(half):
    for group in groups_of(half).values():
        assert group.lines
        for line in group.lines:
            assert filled(line, scenario(half))


@pytest.mark.parametrize("half", HALVES)
def test_invented_and_misspelt_names_are_in_no_list_and_of_their_half(half):
    chance = Random(5)
    people = [draw_person(half, chance, Label.PATIENT) for _ in range(300)]
    made = [
        name.text
        for person in people
        for name in (person.given, person.family)
        if name.origin in (Origin.INVENTED, Origin.MISSPELT) and "-" not in name.text
    ]

    assert len(made) > 10
    assert all(not is_listed(name) and half_of(name) is half for name in made)


def test_carriers_of_the_other_half_are_not_used():
    text = "An unmistakable sentence."
    mine = next(f"x{n}" for n in range(99) if half_of(f"x{n}") is Half.STRESS)

    used = list(generate(Half.STRESS, [Carrier(mine, text)], 4, 1))
    unused = list(generate(Half.TRAINING, [Carrier(mine, text)], 4, 1))

    assert all(text.casefold() in note.text.casefold() for note in used)
    assert not any(text.casefold() in note.text.casefold() for note in unused)


def test_stress_uses_no_carrier_whose_names_a_system_has_marked():
    mine = next(f"x{n}" for n in range(99) if half_of(f"x{n}") is Half.STRESS)
    mark = Annotation(Span(0, 3), Label.PATIENT, 1.0, "t")

    [note] = generate(Half.STRESS, [Carrier(mine, "Ann slept.", (mark,))], 1, 1)

    assert "slept" not in note.text.casefold()


# Slots


def texts(segments):
    return "".join(each.text for each in segments)


@pytest.mark.parametrize("seed", range(20))
def test_placeholders_always_give_way_and_sentences_stay_whole(seed):
    segments = injected(
        Carrier("c", "Seen by Dr. X.  Mr. XYZ slept. Dr. ABCD, too."),
        scenario(seed=seed),
    )

    text = texts(segments)
    assert not re.search(r"Dr\. X\b|XYZ|ABCD", text)
    assert " slept. " in text
    assert text.endswith(", too.")
    assert {p.label for p in segments if p.label} == {Label.PATIENT, Label.DOCTOR}


def test_a_carriers_own_identifiers_are_marked_or_give_way_to_their_like():
    marks = (
        Annotation(Span(3, 13), Label.DATE, 1.0, "t"),
        Annotation(Span(17, 22), Label.CITY, 1.0, "t"),
    )
    carrier = Carrier("c", "On 07/29/2008 in Salem.", marks)

    for seed in range(10):
        segments = injected(carrier, scenario(seed=seed))
        assert [p.label for p in segments if p.label] == [Label.DATE, Label.CITY]
        assert next(p.text for p in segments if p.label is Label.CITY) == "Salem"


def test_a_placeholder_goes_before_a_systems_mark_on_it():
    mark = Annotation(Span(8, 23), Label.DOCTOR, 1.0, "t")
    carrier = Carrier("c", "See Dr. F.  Unfortunately not.", (mark,))

    segments = injected(carrier, scenario())

    assert "  Unfortunately not." in texts(p for p in segments if p.label is None)


def test_every_slot_names_fields_that_there_are():
    for slot in slots():
        for name in slot.fields:
            assert scenario().segments(name)


# Pieces and values


@pytest.mark.parametrize("name", sorted(FIELDS))
@pytest.mark.parametrize("half", HALVES)
def test_every_field_has_text(name, half):
    assert all(each.text for each in scenario(half).segments(name))


@given(st.lists(st.tuples(st.text(min_size=1), st.booleans()), min_size=1))
def test_a_document_of_segments_has_a_span_for_each_identifier(parts):
    segments = [
        Segment(text, Label.DATE if is_date else None) for text, is_date in parts
    ]

    document = document_of("d", segments)

    assert texts(segments) == document.text
    assert [text for text, is_date in parts if is_date] == of(document, Label.DATE)


@settings(max_examples=examples(50))
@given(st.text("abcdefgh", min_size=2, max_size=12), st.integers())
def test_a_misspelt_name_is_one_edit_away_and_keeps_its_first_letter(name, seed):
    wrong = misspelt(name, Random(seed))

    assert name != wrong
    assert name[0] == wrong[0]
    assert abs(len(name) - len(wrong)) <= 1


def test_an_inventor_that_can_only_repeat_says_so():
    with pytest.raises(RuntimeError, match="no wanted name"):
        Inventor.of(["Anna"]).draw(Random(1), lambda name: name != "anna")


# Sources


def written(folder, name, rows):
    file = folder / name
    file.write_text("".join(f'{{"id": "{i}", "text": "{t}"}}\n' for i, t in rows))
    return file


def test_carriers_that_share_eight_words_in_a_row_are_left_out(tmp_path):
    shared = "one two three four five six seven eight"
    file = written(
        tmp_path, "a.jsonl", [("x", f"zero {shared}"), ("y", shared[:-6]), ("z", "")]
    )
    other = written(tmp_path, "b.jsonl", [("n", shared.upper().replace(" ", ", "))])

    kept = without_shared(read_carriers(file), [other])

    assert [each.id for each in kept] == ["y", "z"]


def test_carriers_known_to_hold_unmarked_identifiers_are_not_read(tmp_path):
    unwanted = table("left_out")["ids"][0]
    file = written(tmp_path, "a.jsonl", [(unwanted, "x"), ("fine", "y")])

    assert [each.id for each in read_carriers(file)] == ["fine"]


@pytest.mark.parametrize("line", ["{", "[]", '{"id": "a"}', '{"text": "secret"}'])
def test_a_line_that_is_no_carrier_is_named_and_not_quoted(tmp_path, line):
    file = tmp_path / "a.jsonl"
    file.write_text(line)

    with pytest.raises(ConfigError, match=r"a\.jsonl:1") as error:
        read_carriers(file)
    assert "secret" not in str(error.value)


def test_a_file_that_is_not_there_is_named():
    with pytest.raises(ConfigError, match=r"none\.jsonl"):
        read_carriers(Path("none.jsonl"))


def test_no_repr_shows_text():
    assert "slept" not in repr(Carrier("c", "Ann slept."))
    drawn = scenario()
    assert drawn.patient.family.text not in repr(drawn)
