"""A tiny invented corpus, and python-crfsuite as the tagger's witness."""

from __future__ import annotations

from random import Random

import numpy as np
import pycrfsuite

from deid_core.labels import Label
from deid_core.research.training.encoding import Encoded, Line, encode
from deid_core.research.training.weights import ChainWeights, named_weights
from deid_core.tagger.codec import Bio, TagSpan
from deid_core.tagger.features import FeatureSet, WordLists
from deid_core.tagger.model import Model

TAGS = {"DATE": Label.DATE, "NAME": Label.PATIENT, "STREET": Label.STREET}
CODEC = Bio(tuple(TAGS))
LISTS = WordLists(
    cues={"title": "dr dra", "street": "calle avenida"},
    cue_patterns={"slash": "/"},
    lists={"given": "ana luis eva"},
)
FEATURES = FeatureSet.read(
    {
        "word": [-2, 2],
        "affix3": [-1, 1],
        "collapsed": [-1, 1],
        "trigrams": [0, 0],
        "number": [-1, 1],
        "cue": [-3, 3],
        "lists": [-1, 1],
        "blank": [-1, 1],
        "conjunctions": [
            "header:0",
            "word:-1 word:0",
            "shape:-1 shape:0 shape:1",
            "kind:0 kind:1",
            "blank_shape:-1 blank_shape:0",
            "left:0",
            "left_cue:0 right_cue:0",
            "right:0 shape:0",
        ],
    }
)
GIVEN = ("Ana", "Luis", "Eva", "Bruno", "Nadia", "Omar")
FAMILY = ("Rosales", "Prat", "Vidal", "Olmo", "Ferrer", "Ruiz")
FORMS = (
    "Nombre: {given} {family}.",
    "Domicilio: Calle {family} {n}, Madrid.",
    "Fecha: {n}/{n}/{year}.",
    "Visto por Dr. {given} {family} el {n}/{n}/{year}, sin fiebre.",
    "Paciente con dolor de {n} horas en la rodilla.",
    "{given} acude a consulta con tos.",
    "",
)
TAG_OF = {
    "{given} {family}": "NAME",
    "{given}": "NAME",
    "Calle {family} {n}": "STREET",
    "{n}/{n}/{year}": "DATE",
}


def invented_lines(count: int, seed: int = 1) -> list[Line]:
    """Return marked lines."""
    chance = Random(seed)
    return [_line(chance.choice(FORMS), chance) for _ in range(count)]


def invented_text(count: int, seed: int) -> str:
    return "\n".join(line.text for line in invented_lines(count, seed))


def _line(form: str, chance: Random) -> Line:
    text, spans = "", []
    while form:
        part = next((p for p in TAG_OF if form.startswith(p)), form[0])
        form = form.removeprefix(part)
        value = part.format_map(_Values(chance)) if part in TAG_OF else part
        if part in TAG_OF:
            spans.append(TagSpan(len(text), len(text) + len(value), TAG_OF[part]))
        elif part == "{":
            value, form = str(chance.randint(1, 40)), form.removeprefix("n}")
        text += value
    return Line(text, tuple(spans))


class _Values:
    def __init__(self, chance: Random) -> None:
        self._chance = chance

    def __getitem__(self, key: str) -> str:
        pools = {"given": GIVEN, "family": FAMILY}
        if key in pools:
            return self._chance.choice(pools[key])
        last = {"n": (1, 28), "year": (1950, 2019)}[key]
        return str(self._chance.randint(*last))


def encoded(lines: list[Line]) -> Encoded:
    return encode(lines, FEATURES, LISTS, CODEC)


def model_of(found: Encoded, weights: ChainWeights, least: float = 0.0) -> Model:
    named = named_weights(found.names, weights, least=least)
    return Model("tiny", "1", "es", TAGS, FEATURES, LISTS, named)


def crfsuite_tagger(found: Encoded, file, **params):
    """Train python-crfsuite on the same features by name; return its tagger."""
    trainer = pycrfsuite.Trainer(verbose=False, params=params)
    for line in range(len(found.starts) - 1):
        labels = [CODEC.labels[label] for label in found.labels_of(line)]
        trainer.append(found.names_of(line), labels)
    trainer.train(str(file))
    tagger = pycrfsuite.Tagger()
    tagger.open(str(file))
    return tagger


def weights_of(tagger, found: Encoded) -> ChainWeights:
    """Return python-crfsuite's weights as ours; it forbids no transition."""
    number = {label: at for at, label in enumerate(CODEC.labels)}
    row_of = {name: at for at, name in enumerate(found.names)}
    state = np.zeros((len(found.names), len(number)), np.float32)
    transitions = np.zeros((len(number) + 1, len(number)), np.float32)
    info = tagger.info()
    for (name, label), weight in info.state_features.items():
        state[row_of[name], number[label]] = weight
    for (before, after), weight in info.transitions.items():
        transitions[number[before], number[after]] = weight
    return ChainWeights(state, transitions)
