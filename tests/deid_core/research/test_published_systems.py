"""The published systems: presets, learners, features, files and rules."""

import dataclasses
import math
import random

import numpy as np
import orjson
import pytest

from deid_core import ConfigError, Deidentifier, Document
from deid_core.config import load_preset
from deid_core.document import Span
from deid_core.labels import Label
from deid_core.research.corpora.corpus import GoldDocument, GoldSpan
from deid_core.research.published import recipe as recipes
from deid_core.research.published.classes import Classes
from deid_core.research.published.features.extractor import Features
from deid_core.research.published.features.link_grammar import links_of
from deid_core.research.published.learners import WORD_LEARNERS
from deid_core.research.published.model import load_model, save_model
from deid_core.research.published.recipe import write_preset
from deid_core.research.published.training import TrainingOptions, train
from deid_core.research.training.weights import no_progress
from deid_core.tagger.compiled import Bias
from tests.deid_core.marked import unmark

pytest.importorskip("sklearn", reason="scikit-learn trains the papers' models")
pytest.importorskip("pycrfsuite", reason="python-crfsuite trains the papers' chains")

LABELS = (Label.PATIENT, Label.DATE, Label.HOSPITAL)
NAMES = ("Ann Marlow", "Bert Quill", "Cora Vane", "Dora Lint", "Emil Trask")
PLACES = ("Oak Hospital", "Elm Hospital", "Ash Hospital")
FORMS = (
    "Patient: «{name}» was seen on «{date}» at «{place}» for cough.",
    "Mrs. «{name}» came to «{place}» on «{date}».\nShe denies fever.",
    "«{name}» was admitted to «{place}» and went home on «{date}».",
)
ORDER = {
    FORMS[0]: (0, 1, 2),
    FORMS[1]: (0, 2, 1),
    FORMS[2]: (0, 2, 1),
}
NEEDING = ("syntactic_bigrams", "mesh")


def invented(count, seed=0):
    """Return marked notes about nobody."""
    chance = random.Random(seed)
    found = []
    for number in range(count):
        form = FORMS[number % len(FORMS)]
        date = f"{chance.randint(1, 12)}/{chance.randint(1, 28)}/20{number:02}"
        values = {"date": date, "name": chance.choice(NAMES)}
        text, spans = unmark(form.format(place=chance.choice(PLACES), **values))
        labels = [LABELS[at] for at in ORDER[form]]
        marks = [
            GoldSpan(Span(*span), label.value, label, at)
            for at, (span, label) in enumerate(zip(spans, labels, strict=True))
        ]
        found.append(GoldDocument(str(number), text, tuple(marks)))
    return found


def small(name, **changes):
    """Return a recipe without what comes from packages."""
    how = recipes.load_recipe(name)
    windows = {
        group: window
        for group, window in how.features.windows.items()
        if group not in (*NEEDING, "part_of_speech")
    }
    lists = {
        each: {"any": ("training:LOCATION:HOSPITAL",)} for each in how.dictionaries
    }
    return dataclasses.replace(
        how, features=Features(windows), dictionaries=lists, **changes
    )


def found_by(model, document):
    return {(each.start, each.end, each.tag) for each in model.tag(document.text)}


def gold_of(how, document):
    return {
        (each.span.start, each.span.end, how.classes.class_of(each.label))
        for each in document.spans
    }


PRESETS = recipes.known_recipes()


def test_all_thirteen_presets_of_four_papers_are_there():
    assert (
        sorted(
            [
                "stat-deid-linear",
                "stat-deid-quadratic",
                "stat-deid-gaussian",
                "mist1",
                "mist2",
                "mcrf1",
                "mcrf2",
                "uza-oosvm",
                "uza-omsvm",
                "uza-rf10",
                "wi-deid-official",
                "wi-deid-1",
                "wi-deid",
            ]
        )
        == PRESETS
    )


@pytest.mark.parametrize("name", PRESETS)
def test_a_preset_runs_the_classifier_of_its_recipe(name):
    config = load_preset(name)
    assert config.detectors == ("classifier",)
    assert config.options["classifier"].recipe == name


@pytest.mark.parametrize("name", PRESETS)
def test_every_learner_learns_an_invented_corpus_and_survives_its_files(name, tmp_path):
    how = small(name)
    learnt, unseen = invented(24), invented(9, seed=1)
    model = train(how, learnt, TrainingOptions())
    right = sum(found_by(model, each) == gold_of(how, each) for each in unseen)
    assert right >= 7
    save_model(model, tmp_path)
    again = load_model(tmp_path)
    for each in unseen:
        assert again.tag(each.text) == model.tag(each.text)


def test_the_same_seed_gives_the_same_model():
    how, learnt = small("uza-rf10"), invented(12)
    one, other = (train(how, learnt, TrainingOptions(seed=3)) for _ in range(2))
    for name, array in one.predictor.arrays().items():
        assert np.array_equal(array, other.predictor.arrays()[name])


@pytest.mark.parametrize("learner", ["svm-one-vs-one", "svm-one-vs-all", "maxent"])
def test_arrays_decide_as_scikit_learn_does(learner):
    # The rebuilt machines, against the library's own answer on the training words.
    from sklearn.linear_model import LogisticRegression
    from sklearn.multiclass import OneVsRestClassifier
    from sklearn.svm import SVC

    words = random_words()
    kind = WORD_LEARNERS[learner]
    predictor = kind.load()(words, kind.options(), 1, no_progress)
    svc = SVC(kernel="rbf", gamma=1 / words.rows.width)
    theirs = {
        "svm-one-vs-one": svc,
        "svm-one-vs-all": OneVsRestClassifier(svc),
        "maxent": LogisticRegression(max_iter=300),
    }[learner].fit(words.matrix(), words.labels)
    labels, _ = predictor.decide(words.rows, Bias())
    assert (labels == theirs.predict(words.matrix())).mean() > 0.99


def random_words():
    from deid_core.research.published.rows import Rows, TrainingWords

    chance = np.random.default_rng(0)
    dense = chance.random((300, 40)) < 0.2
    labels = (dense[:, :4].argmax(axis=1) * dense[:, :4].any(axis=1)).astype(np.int8)
    names = {str(at): at for at in range(40)}
    words = [[[str(at) for at in np.flatnonzero(row)] for row in dense]]
    return TrainingWords(Rows.of(words, names), labels, 4)


def test_equal_words_learned_once_by_weight_give_the_same_machine():
    words = random_words()
    distinct, counts = words.distinct()
    assert counts.sum() == len(words.rows)
    assert len(distinct.rows) <= len(words.rows)


def test_a_bias_and_a_threshold_find_more():
    how = small("mcrf1")
    model = train(how, invented(6), TrainingOptions())
    text = "Seen by Xanthe Yarrow of Zinc Hospital in 3/2021 or so."
    none = len(model.tag(text))
    assert len(model.tag(text, Bias(outside=4.0))) >= none
    most = model.tag(text, Bias(below=1.0))
    assert sum(each.end - each.start for each in most) > len(text) // 2


def test_scores_are_between_zero_and_one():
    for name in ("stat-deid-linear", "uza-oosvm", "uza-rf10", "mcrf1"):
        model = train(small(name), invented(9), TrainingOptions())
        scores = [each.score for d in invented(6) for each in model.tag(d.text)]
        assert scores
        assert all(0.0 <= score <= 1.0 + 1e-6 for score in scores)


def test_a_trained_preset_runs_by_its_file(tmp_path, monkeypatch):
    how = small("mcrf1")
    save_model(train(how, invented(24), TrainingOptions()), tmp_path)
    preset = write_preset("mcrf1", tmp_path)
    assert "\ntraining_" not in preset.read_text("utf-8")
    system = Deidentifier.from_names(str(preset))
    [document] = invented(1)
    result = system.deidentify(Document("1", document.text))
    assert [each.label for each in result.annotations] == list(LABELS)
    assert "classifier/name" in {each.source for each in result.annotations}


def test_a_model_of_another_recipe_is_refused(tmp_path):
    save_model(train(small("mist1"), invented(9), TrainingOptions()), tmp_path)
    preset = write_preset("mcrf1", tmp_path)
    with pytest.raises(ConfigError, match="of recipe 'mist1', not 'mcrf1'"):
        load_preset(str(preset)).build()


def test_a_changed_model_is_refused(tmp_path):
    save_model(train(small("mist1"), invented(9), TrainingOptions()), tmp_path)
    about = orjson.loads((tmp_path / "model.json").read_bytes())
    about["sha256"] = "0" * 64
    (tmp_path / "model.json").write_bytes(orjson.dumps(about))
    with pytest.raises(ConfigError, match=r"hash of arrays\.npz differs"):
        load_model(tmp_path)


def test_no_file_of_a_model_can_run(tmp_path):
    save_model(train(small("uza-rf10"), invented(9), TrainingOptions()), tmp_path)
    with np.load(tmp_path / "arrays.npz", allow_pickle=False) as arrays:
        assert all(arrays[name].dtype != object for name in arrays.files)


def recipe_file(tmp_path, old, new):
    from importlib.resources import files

    text = (files("deid_core") / "research/published/recipes/mcrf2.toml").read_text(
        "utf-8"
    )
    assert old in text
    path = tmp_path / "changed.toml"
    path.write_text(text.replace(old, new, 1), "utf-8")
    return str(path)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('learner = "crfsuite"', 'learner = "crf++"', "learner 'crf\\+\\+' is unknown"),
        ('tokenizer = "runs"', 'tokenizer = "bpe"', "tokenizer 'bpe' is unknown"),
        ('scheme = "bio"', 'scheme = "bioes"', "scheme 'bioes' is unknown"),
        ("c2 = 0.05", "c3 = 0.05", "key 'c3' is unknown"),
        ("affix3 = [0, 0]", "affix9 = [0, 0]", "feature 'affix9' is unknown"),
        ("affix3 = [0, 0]", "affix3 = [0, 8]", "not \\[first, last\\] within 7"),
        ('DATE = ["DATE"]', 'DATE = ["DAY"]', "label 'DAY' is unknown"),
        ('kind = "words"', 'kind = "words"\nextra = 1', "option 'extra' is unknown"),
    ],
)
def test_a_recipe_with_an_unknown_name_is_refused(tmp_path, old, new, message):
    with pytest.raises(ConfigError, match=message):
        recipes.load_recipe(recipe_file(tmp_path, old, new))


def test_an_unknown_dictionary_source_or_language_is_refused(tmp_path):
    path = recipe_file(tmp_path, "census:last", "phone_book:last")
    with pytest.raises(ConfigError, match="list source 'phone_book' is unknown"):
        train(recipes.load_recipe(path), invented(3), TrainingOptions())
    with pytest.raises(ConfigError, match="no sources for language 'xx'"):
        train(recipes.load_recipe("mcrf2"), invented(3), TrainingOptions(language="xx"))


def test_a_group_that_lacks_what_it_needs_refuses_and_can_be_left_out():
    how = recipes.load_recipe("stat-deid-linear")
    how = dataclasses.replace(how, dictionaries={})
    with pytest.raises(ConfigError, match="feature mesh: no vocabulary"):
        train(how, invented(3), TrainingOptions(language="es", without=NEEDING[:1]))
    pytest.importorskip("textblob", reason="TextBlob tells English parts of speech")
    model = train(how, invented(9), TrainingOptions(without=NEEDING))
    assert model.trained["left_out"] == list(NEEDING)
    with pytest.raises(ConfigError, match=r"no dictionary|not installed"):
        links_of(("a", "word"), "xx")


def test_a_vocabulary_gives_categories(tmp_path):
    pytest.importorskip("textblob", reason="TextBlob tells English parts of speech")
    path = tmp_path / "mesh.txt"
    path.write_text("Heart Failure\tC14.280.434\ncough\tC23.888\n", "utf-8")
    how = dataclasses.replace(recipes.load_recipe("stat-deid-linear"), dictionaries={})
    left_out = NEEDING[:1]
    model = train(how, invented(9), TrainingOptions(without=left_out, mesh=path))
    assert {"mesh[0]=C", "mesh[0]=C23"} <= {*model.names}
    path.write_text("no tab here\n", "utf-8")
    with pytest.raises(ConfigError, match=":1: not TERM"):
        train(how, invented(3), TrainingOptions(without=left_out, mesh=path))


def test_two_labels_of_one_class_are_one_class():
    with pytest.raises(ConfigError, match="share one"):
        Classes("bio", {"A": (Label.DATE,), "B": (Label.DATE,)})


def test_libsvms_gamma_is_one_over_the_features():
    words = random_words()
    kind = WORD_LEARNERS["svm-gaussian"]
    machine = kind.load()(words, kind.options(), 1, no_progress)
    assert math.isclose(machine.form[1], 1 / 40)
