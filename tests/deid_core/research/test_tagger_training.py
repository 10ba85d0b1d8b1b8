"""Recipes, copies with other values, and `train`."""

import re
from random import Random

import pytest

from deid_core import ConfigError, Label
from deid_core.document import Span
from deid_core.research.corpora.conventions import Conventions
from deid_core.research.corpora.corpus import Corpus, GoldDocument, GoldSpan
from deid_core.research.training.augment import Augmentation, Follower, Renaming
from deid_core.research.training.encoding import Line
from deid_core.research.training.recipe import known_recipes, load_recipe
from deid_core.research.training.training import marked_lines, pools, train
from deid_core.research.training.value_generators import MAKERS, LocaleData
from deid_core.tagger.codec import TagSpan
from deid_core.tagger.compiled import CompiledModel
from tests.deid_core.tagger.tagger_cases import TAGS, invented_lines

RECIPE = """
name = "tiny"
language = "es"
corpus = "plain"
learner = "crf"
[options]
epochs = 4
[features]
word = [-1, 1]
shape = [-1, 1]
conjunctions = ["kind:-1 kind:0"]
[cues]
street = "calle"
[world]
locales = ["es_ES"]
country = "ES"
months = ["enero", "febrero", "marzo", "abril", "mayo", "junio", "julio", "agosto",
  "septiembre", "octubre", "noviembre", "diciembre"]
dates = ["{d:02d}/{m:02d}/{y}", "{d} de {month} de {y}"]
[world.patterns]
given = ["{given}"]
family = ["{family} {family}"]
full = ["{given} {family}", "{initial}. {family}"]
[augment]
copies = 1
[augment.makers]
NAME = "person"
DATE = "date"
"""


@pytest.fixture
def recipe_file(tmp_path):
    file = tmp_path / "tiny.toml"
    file.write_text(RECIPE)
    return file


def _corpus(count=80):
    documents = []
    for at in range(4):
        text, spans = "", []
        for line in invented_lines(count // 4, seed=at):
            spans += [
                GoldSpan(
                    Span(len(text) + s.start, len(text) + s.end), s.tag, TAGS[s.tag], n
                )
                for n, s in enumerate(line.spans)
            ]
            text += line.text + "\n"
        documents.append(GoldDocument(str(at), text, tuple(spans)))
    tags = {tag: (label,) for tag, label in TAGS.items()}
    return Corpus(
        "invented", "all 1-4", False, Conventions("x", tags), tuple(documents)
    )


def _world(recipe_file, lines):
    return load_recipe(str(recipe_file)).world_of(pools(lines))


def test_copies_mark_the_new_values_and_keep_the_text_around_them(recipe_file):
    lines = [line for line in invented_lines(60) if line.spans]
    copies = list(
        Augmentation({"NAME": "person"}, copies=2, share=1.0, restyle=0.0).lines(
            lines, _world(recipe_file, lines), Random(1)
        )
    )
    assert len(copies) == 2 * len(lines)
    for line, copy in zip(lines * 2, copies, strict=True):
        assert [s.tag for s in copy.spans] == [s.tag for s in line.spans]
        assert _around(copy) == _around(line)
        for old, new in zip(line.spans, copy.spans, strict=True):
            same = line.text[old.start : old.end] == copy.text[new.start : new.end]
            assert same or old.tag == "NAME"


def _around(line):
    text, at = "", 0
    for span in line.spans:
        text += line.text[at : span.start] + "«»"
        at = span.end
    return text + line.text[at:]


def test_the_same_chance_makes_the_same_copies(recipe_file):
    lines = invented_lines(40)
    augmentation = load_recipe(str(recipe_file)).augment
    world = _world(recipe_file, lines)
    one, two, other = (
        list(augmentation.lines(lines, world, Random(seed))) for seed in (3, 3, 4)
    )
    assert one == two
    assert one != other


@pytest.mark.parametrize("name", MAKERS)
def test_every_maker_gives_a_value_for_any_value(recipe_file, name):
    lines = invented_lines(60)
    world: LocaleData = _world(recipe_file, lines)
    for seed, value in enumerate(("Ana", "PRAT", "3/4/1988", "28016", "a@b.es") * 8):
        assert MAKERS[name](value, "NAME", world, Random(seed))


def test_a_postcode_becomes_a_postcode(recipe_file):
    world = _world(recipe_file, invented_lines(60))
    made = MAKERS["place"]("28016", "NAME", world, Random(1))
    assert len(made) == 5
    assert made.isdigit()


def test_a_trained_model_finds_what_was_marked(recipe_file):
    told = []
    model = train(
        load_recipe(str(recipe_file)),
        [_corpus()],
        seed=1,
        version="7",
        progress=lambda share, _: told.append(share),
    )
    text = "Visto por Dr. Eva Prat el 3/4/1988, sin fiebre."
    [found] = CompiledModel.of(model).tag([text])
    assert [text[e.start : e.end] for e in found] == ["Eva Prat", "3/4/1988"]
    assert told[-1] == pytest.approx(1)
    assert (model.version, model.tags["NAME"]) == ("7", Label.PATIENT)
    assert model.trained["corpora"] == ["invented all 1-4, 4 documents"]


def test_copies_bring_no_tag_that_the_corpora_do_not_have(recipe_file):
    follows = '[[augment.followers]]\ntag = "NAME"\nthen = "FAX"\nshare = 1.0\n'
    renamed = '[[augment.renamings]]\ntag = "NAME"\ncues = ["dr"]\nshare = 1.0\n'
    said = 'between = [" "]\n' + renamed + 'to = "FAX"\ninstead = ["Fax: "]\n'
    recipe_file.write_text(RECIPE + follows + said)
    recipe = load_recipe(str(recipe_file))

    model = train(recipe, [_corpus()], seed=1, version="1")

    assert {*TAGS} >= {*model.tags}
    assert recipe.augment == recipe.augment.within({*TAGS, "FAX"})


def test_training_twice_gives_the_same_weights(recipe_file):
    recipe = load_recipe(str(recipe_file))
    one, two = (train(recipe, [_corpus(20)], seed=1, version="1") for _ in range(2))
    assert list(one.weights.names) == list(two.weights.names)
    assert one.weights.values.tolist() == two.weights.values.tolist()


def test_a_span_over_a_lines_end_is_marked_in_both_lines():
    document = GoldDocument("1", "Ana\nPrat", (GoldSpan(Span(0, 8), "NAME", None, 0),))
    found = [(line.text, len(line.spans)) for line in marked_lines(document)]
    assert found == [("Ana", 1), ("Prat", 1)]


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (("[cues]", "[clues]"), "clues"),
        (('learner = "crf"', 'learner = "llm"'), "llm"),
        (("epochs = 4", "eras = 4"), "eras"),
        (('NAME = "person"', 'NAME = "poet"'), "poet"),
        (("word = ", "wort = "), "wort"),
    ],
)
def test_a_recipe_with_what_is_not_known_is_refused(recipe_file, change, named):
    recipe_file.write_text(RECIPE.replace(*change))
    with pytest.raises(ConfigError, match=named):
        load_recipe(str(recipe_file))


FOLLOWER = '[[augment.followers]]\ntag = "NAME"\nshare = 0.1\nbetween = [" "]\n'
RENAMING = '[[augment.renamings]]\ntag = "A"\nto = "B"\nshare = 0.1\ncues = ["a"]\n'


@pytest.mark.parametrize(
    ("table", "named"),
    [
        (FOLLOWER.replace("share", "part"), "part"),
        (FOLLOWER.replace('" "', ""), "'NAME': between is empty"),
        (RENAMING, "instead"),
        (RENAMING + "instead = []\n", "'A' to 'B': instead is empty"),
    ],
)
def test_copies_that_cannot_be_made_are_refused(recipe_file, table, named):
    recipe_file.write_text(RECIPE + table)
    with pytest.raises(ConfigError, match=named):
        load_recipe(str(recipe_file))


def test_a_recipe_says_what_follows_a_value(recipe_file):
    recipe_file.write_text(RECIPE + FOLLOWER + RENAMING + 'instead = ["b "]\n')
    augment = load_recipe(str(recipe_file)).augment
    assert augment.followers == [Follower("NAME", 0.1, [" "])]
    assert augment.renamings == [Renaming("A", ["a"], 0.1, "B", ["b "])]


def test_every_recipe_that_is_shipped_can_be_read():
    assert "meddocan" in known_recipes()
    assert load_recipe("meddocan").features.conjunctions


def test_a_corpus_that_marks_nothing_is_refused(recipe_file):
    empty = GoldDocument("1", "tos", ())
    corpus = Corpus("x", "all", False, Conventions("x", {}), (empty,))
    with pytest.raises(ConfigError, match="mark nothing"):
        train(load_recipe(str(recipe_file)), [corpus], seed=1, version="1")


def test_a_value_alike_ends_as_the_one_it_replaces(recipe_file):
    lines = [_street("calle Prat 3, 2 izq."), _street("calle Olmo 4")]
    world = _world(recipe_file, lines)
    for value, stop in (("calle Luna 1 dcha.", True), ("calle Luna 1", False)):
        for seed in range(20):
            made = MAKERS["alike"](value, "STREET", world, Random(seed))
            assert made.endswith(".") is stop
            assert made.startswith("calle")


def _street(text):
    return Line(text, (TagSpan(0, len(text), "STREET"),))


MAIL = Line("Correo: ana@x.es.", (TagSpan(8, 16, "MAIL"),))
PHONE = Line("Ana. Tel.: 915 55 01, Teruel", (TagSpan(11, 20, "PHONE"),))


def _copies(recipe_file, line, count=30, **how):
    augmentation = Augmentation({"MAIL": "address"}, copies=count, share=0.0, **how)
    lines = [line, MAIL]
    copies = augmentation.lines(lines, _world(recipe_file, lines), Random(1))
    return list(copies)[::2]


def _marked(line):
    return [(line.text[s.start : s.end], s.tag) for s in line.spans]


def test_another_value_of_the_tag_may_follow_one(recipe_file):
    follower = Follower("MAIL", 1.0, [" ", " / "])
    copies = _copies(recipe_file, MAIL, followers=[follower])
    for copy in copies:
        [(one, _), (two, tag)] = _marked(copy)
        assert (one, tag) == ("ana@x.es", "MAIL")
        assert two.endswith("@x.es")
        assert copy.text in (f"Correo: {one} {two}.", f"Correo: {one} / {two}.")
    assert len({copy.text for copy in copies}) > 5


def test_a_value_of_another_tag_may_follow_and_nothing_follows_that(recipe_file):
    follower = Follower("PHONE", 1.0, [" Fax: "], then="FAX")
    copy, *_ = _copies(recipe_file, PHONE, followers=[follower])
    assert copy.text == "Ana. Tel.: 915 55 01 Fax: 915 55 01, Teruel"
    assert _marked(copy) == [("915 55 01", "PHONE"), ("915 55 01", "FAX")]


def test_only_the_share_is_followed(recipe_file):
    follower = Follower("PHONE", 0.25, [", "])
    copies = _copies(recipe_file, PHONE, count=200, followers=[follower])
    assert 30 < sum(len(copy.spans) == 2 for copy in copies) < 70


def test_another_word_before_a_value_gives_it_another_tag(recipe_file):
    renaming = Renaming("PHONE", ["tel"], 1.0, "FAX", ["Fax "])
    copy, *_ = _copies(recipe_file, PHONE, renamings=[renaming])
    assert copy.text == "Ana. Fax 915 55 01, Teruel"
    assert _marked(copy) == [("915 55 01", "FAX")]


@pytest.mark.parametrize("change", [{"tag": "MAIL"}, {"cues": ["móvil"]}, {"share": 0}])
def test_a_value_without_the_word_keeps_its_tag(recipe_file, change):
    how = {"tag": "PHONE", "cues": ["tel"], "share": 1.0, "to": "FAX", **change}
    renaming = Renaming(**how, instead=["Fax: "])
    copies = _copies(recipe_file, PHONE, renamings=[renaming])
    assert {copy.text for copy in copies} == {PHONE.text}


def test_a_value_at_the_beginning_of_a_line_has_no_word_before_it(recipe_file):
    line = Line("915 55 01", (TagSpan(0, 9, "PHONE"),))
    renaming = Renaming("PHONE", ["tel"], 1.0, "FAX", ["Fax: "])
    copy, *_ = _copies(recipe_file, line, renamings=[renaming])
    assert copy == line


def test_ages_are_written_in_the_recipes_ways_or_as_other_notes_have_them(recipe_file):
    lines = [Line("8 días", (TagSpan(0, 6, "AGE"),))]
    ages = 'ages = ["{few} años y medio", "{years} y {months}, {days}, {numeral}"]\n'
    numerals = 'numerals = ["dos"]\n[world.patterns]'
    recipe_file.write_text(RECIPE.replace("[world.patterns]", ages + numerals))
    world = _world(recipe_file, lines)
    made = [MAKERS["age"]("7 años", "AGE", world, Random(s)) for s in range(200)]
    assert "dos años y medio" in made
    assert any(each.endswith(", dos") for each in made)
    assert 100 < sum(each.endswith(" días") for each in made) < 180


def test_ages_are_as_other_notes_have_them_where_a_recipe_says_nothing(recipe_file):
    world = _world(recipe_file, [Line("8 días", (TagSpan(0, 6, "AGE"),))])
    made = {MAKERS["age"]("7 años", "AGE", world, Random(s)) for s in range(40)}
    assert all(each.endswith(" días") for each in made)


def test_some_addresses_have_initials_before_a_full_stop(recipe_file):
    world = _world(recipe_file, [MAIL])
    made = [MAKERS["address"]("", "MAIL", world, Random(s)) for s in range(200)]
    assert any(re.match(r"[a-z]\.[a-z]\.[a-z]{2,}@x\.es$", each) for each in made)


RESCORED = """
[rescoring]
folds = 2
most = 4
gap = 20.0
"""


def test_a_recipe_that_rescores_gives_a_rescorer_and_the_same_one_again(recipe_file):
    recipe_file.write_text(RECIPE + RESCORED)
    recipe = load_recipe(str(recipe_file))
    one, two = (train(recipe, [_corpus()], seed=3, version="1") for _ in range(2))
    assert one.rescorer is not None
    assert one.rescorer == two.rescorer
    assert one.rescorer.weights
    assert one.rescorer.most == 4
    [found] = CompiledModel.of(one).tag(["Nombre: Omar Olmo."])
    assert [each.tag for each in found] == ["NAME"]


def test_rescoring_changes_no_weight_of_the_chain(recipe_file):
    plain = train(load_recipe(str(recipe_file)), [_corpus()], seed=3, version="1")
    recipe_file.write_text(RECIPE + RESCORED)
    rescored = train(load_recipe(str(recipe_file)), [_corpus()], seed=3, version="1")
    assert plain.rescorer is None
    assert list(plain.weights.names) == list(rescored.weights.names)
    assert (plain.weights.values == rescored.weights.values).all()


def test_chains_that_give_paths_may_be_learned_in_less_time(recipe_file):
    recipe_file.write_text(RECIPE + RESCORED + "epochs = 1\ncopies = 2\n")
    recipe = load_recipe(str(recipe_file))
    parts = recipe.of_parts()
    assert (recipe.options.epochs, recipe.augment.copies) == (4, 1)
    assert (parts.options.epochs, parts.augment.copies) == (1, 2)
    recipe_file.write_text(RECIPE + RESCORED)
    recipe = load_recipe(str(recipe_file))
    assert recipe.of_parts() == recipe


def test_epochs_of_a_learner_that_has_none_are_refused(recipe_file):
    other = RECIPE.replace('learner = "crf"', 'learner = "crfsuite"')
    other = other.replace("epochs = 4", "max_iterations = 4")
    recipe_file.write_text(other + RESCORED + "epochs = 1\n")
    with pytest.raises(ConfigError, match="has no epochs"):
        load_recipe(str(recipe_file))
