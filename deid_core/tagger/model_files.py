"""Read and write the folder of a model; refuse one that is not whole."""

from __future__ import annotations

import hashlib
import io
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

import numpy as np
import orjson

from ..errors import ConfigError
from ..labels import Label
from .features import FeatureSet
from .model import Model, Weights
from .word_lists import WordLists

FORMAT = 1
"""Of the folder; a reader refuses any other."""
_ABOUT, _WEIGHTS = "model.json", "weights.npz"
_ARRAYS = ("names", "pointers", "labels", "values", "transitions")


def save_model(model: Model, folder: Path) -> None:
    """Write a model's folder; the model card is the reader's own and left alone."""
    folder.mkdir(parents=True, exist_ok=True)
    weights = _weights_bytes(model.weights)
    about = {
        "format": FORMAT,
        "name": model.name,
        "version": model.version,
        "language": model.language,
        "sha256": hashlib.sha256(weights).hexdigest(),
        "tags": {tag: label.value for tag, label in model.tags.items()},
        "features": model.features.as_json(),
        "trained": dict(model.trained),
        "words": model.lists.as_json(),
    }
    (folder / _WEIGHTS).write_bytes(weights)
    (folder / _ABOUT).write_bytes(orjson.dumps(about, option=orjson.OPT_INDENT_2))


def load_model(name: str) -> Model:
    """Return the model of that name, or of the folder at that path.

    Args:
        name: One that comes with the library, or a path with a slash.

    Raises:
        ConfigError: There is none, or its files are not what they were when written.
    """
    folder = _folder(name)
    where = f"model {name!r}"
    try:
        about = orjson.loads((folder / _ABOUT).read_bytes())
        content = (folder / _WEIGHTS).read_bytes()
    except OSError as error:
        raise ConfigError(f"{where}: cannot be read: {type(error).__name__}") from None
    except orjson.JSONDecodeError:
        raise ConfigError(f"{where}: {_ABOUT} is not JSON; install it again") from None
    if about.get("format") != FORMAT:
        raise ConfigError(f"{where}: not of format {FORMAT}; train it again")
    if hashlib.sha256(content).hexdigest() != about.get("sha256"):
        raise ConfigError(
            f"{where}: the hash of {_WEIGHTS} differs from {_ABOUT}; install it again"
        )
    try:
        return _model(about, _weights(content))
    except (KeyError, TypeError, ValueError) as error:
        raise ConfigError(f"{where}: {type(error).__name__}; train it again") from None


def known_models() -> list[str]:
    """Return the names of the models that come with the library."""
    return sorted(
        each.name for each in _models().iterdir() if (each / _ABOUT).is_file()
    )


def _models() -> Traversable:
    return files(__package__) / "models"


def _folder(name: str) -> Traversable:
    if "/" in name:
        return Path(name)
    if name not in (known := known_models()):
        raise ConfigError(f"model {name!r} is unknown; known: {', '.join(known)}")
    return _models() / name


def _model(about: dict[str, Any], weights: Weights) -> Model:
    words = about["words"]
    model = Model(
        about["name"],
        about["version"],
        about["language"],
        {tag: Label(label) for tag, label in about["tags"].items()},
        FeatureSet.read(about["features"]),
        WordLists(words["cues"], words["cue_patterns"], words["lists"]),
        weights,
        about["trained"],
    )
    labels = len(model.codec.labels)
    if weights.transitions.shape != (labels + 1, labels):
        raise ValueError("transitions are not of the model's tags")
    return model


def _weights_bytes(weights: Weights) -> bytes:
    target = io.BytesIO()
    names = np.frombuffer("\n".join(weights.names).encode(), dtype=np.uint8)
    np.savez_compressed(
        target,
        names=names,
        pointers=weights.pointers,
        labels=weights.labels,
        values=weights.values.astype(np.float16),
        transitions=weights.transitions,
    )
    return target.getvalue()


def _weights(content: bytes) -> Weights:
    with np.load(io.BytesIO(content), allow_pickle=False) as arrays:
        names, pointers, labels, values, transitions = (arrays[n] for n in _ARRAYS)
    return Weights(
        names.tobytes().decode().split("\n"),
        pointers,
        labels,
        values.astype(np.float32),
        transitions,
    )
