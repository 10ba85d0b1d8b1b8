"""A trained published system: tag texts with it, write it to a folder, read it back.

In the folder, ``model.json`` describes the model and has the hash of ``arrays.npz``,
which holds plain arrays, with feature names and dictionaries among them.  Nothing in
them is executed when they are loaded, and damaged files are refused.
"""

from __future__ import annotations

import hashlib
import io
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import orjson
from numpy.typing import NDArray

from deid_core.errors import ConfigError
from deid_core.labels import Label
from deid_core.tagger.compiled import NO_BIAS, Bias, Tagged

from .classes import Classes
from .features.extractor import Extractor, Features
from .features.resources import Resources
from .predictors import Chain, Forest, KernelMachine, Linear, Predictor
from .rows import Rows
from .sentences import TOKENIZERS, sentences

FORMAT = 1
"""Version of the folder's format; any other is refused."""
KIND = "words"
_ABOUT, _ARRAYS = "model.json", "arrays.npz"
_NAMES, _RESOURCES = "_names", "_resources"
_PREDICTORS: Mapping[str, type[Linear | Chain | Forest | KernelMachine]] = {
    each.kind: each for each in (Linear, Chain, Forest, KernelMachine)
}


@dataclass(frozen=True)
class TokenModel:
    """A trained system.  Thread-safe; its caches change no result.

    Args:
        name: The name of its recipe.
        tokenizer: Name in `TOKENIZERS`.
        classes: The classes that it distinguishes.
        features: The features of words.
        resources: Dictionaries and vocabularies.
        names: The features by the predictor's columns.
        predictor: What was learned.
        trained: How it was trained, for the reader.
    """

    name: str
    tokenizer: str
    classes: Classes
    features: Features
    resources: Resources = field(repr=False)
    names: tuple[str, ...] = field(repr=False)
    predictor: Predictor = field(repr=False)
    trained: Mapping[str, Any] = field(default_factory=dict)

    def tag(self, text: str, bias: Bias = NO_BIAS) -> list[Tagged]:
        """Return the tagged spans of a text, ordered and disjoint."""
        found = sentences(text, TOKENIZERS[self.tokenizer])
        if not found:
            return []
        rows = Rows.of(map(self._extractor.names, found), self._columns)
        labels, confidence = self.predictor.decide(rows, bias)
        tagged = []
        starts = rows.starts.tolist()
        for sentence, first, last in zip(found, starts, starts[1:], strict=False):
            of_words = labels[first:last]
            if not of_words.any():
                continue
            decoded = self.classes.codec.decode(sentence.places, of_words.tolist())
            for span, begin, past in decoded:
                score = float(confidence[first + begin : first + past].min())
                tagged.append(Tagged(span.start, span.end, span.tag, score))
        return tagged

    @cached_property
    def _extractor(self) -> Extractor:
        return Extractor(self.features, self.resources)

    @cached_property
    def _columns(self) -> Mapping[str, int]:
        return {name: at for at, name in enumerate(self.names)}


def save_model(model: TokenModel, folder: Path) -> None:
    """Write a model's folder; it is created if necessary."""
    folder.mkdir(parents=True, exist_ok=True)
    content = _bytes(model)
    about = {
        "format": FORMAT,
        "kind": KIND,
        "name": model.name,
        "sha256": hashlib.sha256(content).hexdigest(),
        "predictor": model.predictor.kind,
        "tokenizer": model.tokenizer,
        "scheme": model.classes.scheme,
        "classes": {
            name: [label.value for label in labels]
            for name, labels in model.classes.labels.items()
        },
        "features": {name: list(w) for name, w in model.features.windows.items()},
        "trained": dict(model.trained),
    }
    (folder / _ARRAYS).write_bytes(content)
    (folder / _ABOUT).write_bytes(orjson.dumps(about, option=orjson.OPT_INDENT_2))


def load_model(folder: Path) -> TokenModel:
    """Return the model in a folder.

    Raises:
        ConfigError: There is none, or its files are damaged.
    """
    where = f"model {str(folder)!r}"
    try:
        about = orjson.loads((folder / _ABOUT).read_bytes())
        content = (folder / _ARRAYS).read_bytes()
    except OSError as error:
        raise ConfigError(f"{where}: cannot be read: {type(error).__name__}") from None
    except orjson.JSONDecodeError:
        raise ConfigError(f"{where}: {_ABOUT} is not JSON; train it again") from None
    if (about.get("format"), about.get("kind")) != (FORMAT, KIND):
        raise ConfigError(
            f"{where}: not of format {FORMAT} and kind {KIND!r}; train it again"
        )
    if hashlib.sha256(content).hexdigest() != about.get("sha256"):
        raise ConfigError(
            f"{where}: the hash of {_ARRAYS} differs from {_ABOUT}; train it again"
        )
    try:
        return _model(about, content)
    except (KeyError, TypeError, ValueError) as error:
        raise ConfigError(f"{where}: {type(error).__name__}; train it again") from None


def _model(about: Mapping[str, Any], content: bytes) -> TokenModel:
    with np.load(io.BytesIO(content), allow_pickle=False) as stored:
        arrays = {name: stored[name] for name in stored.files}
    names = arrays.pop(_NAMES).tobytes().decode().split("\n")
    resources = Resources.read(orjson.loads(arrays.pop(_RESOURCES).tobytes()))
    windows = {name: (w[0], w[1]) for name, w in about["features"].items()}
    labels = {n: tuple(map(Label, each)) for n, each in about["classes"].items()}
    predictor: Predictor = _PREDICTORS[about["predictor"]].read(arrays)
    return TokenModel(
        about["name"],
        about["tokenizer"],
        Classes(about["scheme"], labels),
        Features(windows),
        resources,
        tuple(names),
        predictor,
        about["trained"],
    )


def _bytes(model: TokenModel) -> bytes:
    target = io.BytesIO()
    arrays = {
        **model.predictor.arrays(),
        _NAMES: _text("\n".join(model.names).encode()),
        _RESOURCES: _text(orjson.dumps(model.resources.as_json())),
    }
    # numpy's stub takes any further name for its flag allow_pickle.
    np.savez_compressed(target, **arrays)  # type: ignore[arg-type]
    return target.getvalue()


def _text(content: bytes) -> NDArray[np.uint8]:
    return np.frombuffer(content, dtype=np.uint8)
