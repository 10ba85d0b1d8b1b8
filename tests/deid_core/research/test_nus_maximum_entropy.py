import numpy as np
import pytest

from deid_core import Document, KnownIdentifiers, Label, PersonName
from deid_core.errors import ConfigError
from deid_core.research.published.nus import maximum_entropy
from deid_core.research.published.nus.detector import NusDetector
from deid_core.research.published.nus.maximum_entropy import (
    FEATURES,
    Model,
    features_of,
    load_model,
)
from deid_core.research.published.nus.names import titled, words_in
from deid_core.research.published.options import NusOptions

KNOWN = KnownIdentifiers(patient_names=(PersonName("Kowalski", "Jonathan"),))
DETECT = NusDetector(NusOptions(names="maximum_entropy"))


def names_in(text, known=KNOWN):
    [annotations] = DETECT([Document("n1", text, known)])
    return [
        (text[a.span.start : a.span.end], a.label)
        for a in annotations
        if a.rule == "maximum_entropy"
    ]


def features(text, tokens=("kowalski",)):
    words = titled(text, words_in(text))
    rows = features_of(text, words, tokens)
    return [dict(zip(FEATURES, row, strict=True)) for row in rows.tolist()]


def test_the_names_of_the_record_and_those_after_an_honorific_are_names():
    text = "Jonathan KOWALSKY, seen by Dr. Xuyz, eats well and sleeps poorly."

    expected = [
        ("Jonathan", Label.PATIENT),
        ("KOWALSKY", Label.PATIENT),
        ("Xuyz", Label.DOCTOR),
    ]
    assert expected == names_in(text)


def test_clinical_words_are_none():
    assert names_in("Pt alert, nil fever, Imperssion: Acute appendicitis") == []


def test_the_ratio_is_the_main_feature():
    weights = dict(zip(FEATURES, load_model().weights, strict=True))
    ratio = weights.pop("edit_ratio")
    honorific = weights.pop("honorific_before")

    assert ratio < 0 < honorific
    assert min(-ratio, honorific) > max(map(abs, weights.values()))


def test_each_feature_says_what_it_is_called():
    seen, kowalsky, _by, _dr, smith, pain = features("Seen: Kowalsky by Dr Smith PAIN")

    assert (seen["edit_ratio"], kowalsky["edit_ratio"]) == (1.0, 0.125)
    assert (smith["honorific_before"], kowalsky["honorific_before"]) == (1.0, 0.0)
    assert (pain["english_word"], kowalsky["english_word"]) == (1.0, 0.0)
    assert tuple(word["proper_noun"] for word in (seen, kowalsky, smith)) == (
        0.0,
        0.0,
        1.0,
    )
    assert (pain["capitals"], smith["capitals"]) == (1.0, 0.0)
    assert (smith["person"], pain["person"]) == (1.0, 0.0)
    assert [each["place"] for each in features("Boston")] == [1.0]


def test_without_a_record_no_word_is_near():
    assert [each["edit_ratio"] for each in features("Kowalski", tokens=())] == [1.0]
    assert features("") == []


def test_a_name_is_what_is_likelier_a_name_than_none():
    model = Model((-2.0, 1.0), 0.5)

    assert model.are_names(np.array([[0, 0], [1.0, 1.0]])).tolist() == [True, False]


def test_a_model_of_other_features_refuses_to_start(monkeypatch):
    monkeypatch.setattr(maximum_entropy, "FEATURES", ("edit_ratio",))

    with pytest.raises(ConfigError, match="of other features; run python -m"):
        load_model.__wrapped__()
