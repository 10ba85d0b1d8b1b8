"""Section 4: the maximum-entropy classifier that the paper rejects.

"The classifier uses the edit distance ratio as the main feature, and other additional
features such as part-of-speech tags, named entity tags, binary features about the
presence of a preceding honorific and whether the current word is an English word."
With two classes, name or not, it is a logistic regression over words.

The paper does not say which taggers it uses, and this library has none.  A capital
within a sentence replaces the tag of a proper noun; names and towns of the lexicons
replace person and place.  That is weaker than a tagger.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

import numpy as np
import orjson
from numpy.typing import NDArray

from deid_core.document import Annotation
from deid_core.errors import ConfigError
from deid_core.labels import Label
from deid_core.language.lexicons import is_vocabulary, normal
from deid_core.language.lexicons.word_classes import WordClass, word_classes

from .names import Word, annotation, label_of, ratios

FILE = "maximum_entropy.json"
FEATURES = (
    "edit_ratio",
    "honorific_before",
    "english_word",
    "proper_noun",
    "capitals",
    "person",
    "place",
)
_FARTHEST = 1.0
_ENDS_SENTENCE = ".!?:\n\r\t"
_PERSON = WordClass.GIVEN | WordClass.FAMILY
_PLACE = WordClass.CITY | WordClass.TOWN


@dataclass(frozen=True, slots=True)
class Model:
    """Weights of the features, in their order, and the intercept."""

    weights: tuple[float, ...]
    intercept: float

    def are_names(self, features: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Return, for each row, whether a name is more probable than none."""
        likelier: NDArray[np.bool_] = (
            features @ np.array(self.weights) > -self.intercept
        )
        return likelier


@cache
def load_model() -> Model:
    """Return the library's model.

    Raises:
        ConfigError: It was trained on other features.
    """
    path = files(__package__) / FILE
    content = orjson.loads(path.read_bytes())
    if tuple(content["features"]) != FEATURES:
        raise ConfigError(
            f"{FILE}: of other features; run python -m tests.benchmarks.nus_maxent"
        )
    return Model(tuple(content["weights"]), content["intercept"])


def by_maximum_entropy(
    text: str, words: Sequence[Word], tokens: Sequence[str], model: Model
) -> Iterator[Annotation]:
    """Yield the words that the classifier labels as names."""
    are_names = model.are_names(features_of(text, words, tokens))
    for word, is_name in zip(words, are_names.tolist(), strict=True):
        if is_name:
            label = label_of(word) if word.honorific else Label.PATIENT
            yield annotation(word, label, "maximum_entropy")


def features_of(
    text: str, words: Sequence[Word], tokens: Sequence[str]
) -> NDArray[np.float64]:
    """Return the features of each word.

    Args:
        text: The note.
        words: Its words; see `titled`.
        tokens: Of the patient's names; see `name_tokens`.

    Returns:
        Shape ``[words, features]``; the ratio up to 1, all others 0 or 1.
    """
    rows = np.zeros((len(words), len(FEATURES)))
    rows[:, 0] = np.minimum(ratios(words, tokens), _FARTHEST)
    for row, word in zip(rows, words, strict=True):
        row[1:] = _binary(text, word)
    return rows


def _binary(text: str, word: Word) -> tuple[bool, ...]:
    form = normal(word.text)
    kinds = word_classes(form)
    return (
        bool(word.honorific),
        is_vocabulary(form),
        word.text[0].isupper() and not _starts_sentence(text, word.start),
        len(word.text) > 1 and word.text.isupper(),
        bool(kinds & _PERSON),
        bool(kinds & _PLACE),
    )


def _starts_sentence(text: str, start: int) -> bool:
    before = text[max(0, start - 3) : start].rstrip(" ")
    return not before or before[-1] in _ENDS_SENTENCE
