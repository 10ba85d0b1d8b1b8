"""Read and write the folder of a model; refuse one that is not whole."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Iterable
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

import numpy as np
import orjson
from numpy.typing import NDArray

from ..errors import ConfigError
from ..labels import Label
from .features import FeatureSet, WordLists
from .model import Model, Weights
from .rescoring import Rescorer, Values

FORMAT = 1
"""Of the folder; a reader refuses any other."""
_ABOUT, _WEIGHTS = "model.json", "weights.npz"
_PATH_ARRAYS = ("path_names", "path_values", "known", "known_times")
_ARRAYS = ("names", "pointers", "labels", "values", "transitions")


def save_model(model: Model, folder: Path) -> None:
    """Write a model's folder; the model card is the reader's own and left alone."""
    folder.mkdir(parents=True, exist_ok=True)
    weights = _weights_bytes(model)
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
    if model.rescorer is not None:
        each = model.rescorer
        about["rescoring"] = {"scale": each.scale, "most": each.most, "gap": each.gap}
    (folder / _WEIGHTS).write_bytes(weights)
    (folder / _ABOUT).write_bytes(orjson.dumps(about, option=orjson.OPT_INDENT_2))


def load_model(name: str) -> Model:
    """Return the model of that name, or of the folder at that path.

    Args:
        name: One that comes with the library, or a path with a slash.

    Raises:
        ConfigError: There is none, or its files are not what they were when written.
    """
    where = f"model {name!r}"
    about = _about(name)
    try:
        content = (_folder(name) / _WEIGHTS).read_bytes()
    except OSError as error:
        raise ConfigError(f"{where}: cannot be read: {type(error).__name__}") from None
    if about.get("format") != FORMAT:
        raise ConfigError(f"{where}: not of format {FORMAT}; train it again")
    if hashlib.sha256(content).hexdigest() != about.get("sha256"):
        raise ConfigError(
            f"{where}: the hash of {_WEIGHTS} differs from {_ABOUT}; install it again"
        )
    try:
        return _model(about, content)
    except (KeyError, TypeError, ValueError) as error:
        raise ConfigError(f"{where}: {type(error).__name__}; train it again") from None


def model_version(name: str) -> str:
    """Return the name and version of a model without loading its weights.

    Args:
        name: As for `load_model`.

    Raises:
        ConfigError: There is none, or its description can't be read.
    """
    about = _about(name)
    return f"{about.get('name', name)} {about.get('version', 'of unknown version')}"


def known_models() -> list[str]:
    """Return the names of the models that come with the library."""
    return sorted(
        each.name for each in _models().iterdir() if (each / _ABOUT).is_file()
    )


def _about(name: str) -> dict[str, Any]:
    where = f"model {name!r}"
    try:
        about = orjson.loads((_folder(name) / _ABOUT).read_bytes())
    except OSError as error:
        raise ConfigError(f"{where}: cannot be read: {type(error).__name__}") from None
    except orjson.JSONDecodeError:
        raise ConfigError(f"{where}: {_ABOUT} is not JSON; install it again") from None
    if not isinstance(about, dict):
        raise ConfigError(f"{where}: {_ABOUT} is not an object; install it again")
    return about


def _models() -> Traversable:
    return files(__package__) / "models"


def _folder(name: str) -> Traversable:
    if "/" in name:
        return Path(name)
    if name not in (known := known_models()):
        raise ConfigError(f"model {name!r} is unknown; known: {', '.join(known)}")
    return _models() / name


def _model(about: dict[str, Any], content: bytes) -> Model:
    words = about["words"]
    weights = _weights(content)
    model = Model(
        about["name"],
        about["version"],
        about["language"],
        {tag: Label(label) for tag, label in about["tags"].items()},
        FeatureSet.read(about["features"]),
        WordLists(words["cues"], words["cue_patterns"], words["lists"]),
        weights,
        about["trained"],
        _rescorer(about["rescoring"], content) if "rescoring" in about else None,
    )
    labels = len(model.codec.labels)
    if weights.transitions.shape != (labels + 1, labels):
        raise ValueError("transitions are not of the model's tags")
    return model


def _weights_bytes(model: Model) -> bytes:
    target = io.BytesIO()
    weights = model.weights
    arrays: dict[str, Any] = {
        "names": _lines(weights.names),
        "pointers": weights.pointers,
        "labels": weights.labels,
        "values": weights.values.astype(np.float16),
        "transitions": weights.transitions,
    }
    if model.rescorer is not None:
        arrays |= _path_arrays(model.rescorer)
    np.savez_compressed(target, **arrays)
    return target.getvalue()


def _path_arrays(rescorer: Rescorer) -> dict[str, NDArray[Any]]:
    known = sorted(rescorer.known.times.items())
    return {
        "path_names": _lines(rescorer.weights),
        "path_values": np.array([*rescorer.weights.values()], dtype=np.float16),
        "known": _lines(f"{words}\t{tag}" for (words, tag), _ in known),
        "known_times": np.array([times for _, times in known], dtype=np.int32),
    }


def _lines(texts: Iterable[str]) -> NDArray[np.uint8]:
    return np.frombuffer("\n".join(texts).encode(), dtype=np.uint8)


def _texts(lines: NDArray[np.uint8]) -> list[str]:
    text = lines.tobytes().decode()
    return text.split("\n") if text else []


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


def _rescorer(about: dict[str, Any], content: bytes) -> Rescorer:
    with np.load(io.BytesIO(content), allow_pickle=False) as arrays:
        names, values, known, times = (arrays[n] for n in _PATH_ARRAYS)
    weights = dict(zip(_texts(names), values.tolist(), strict=True))
    pairs = (each.rpartition("\t") for each in _texts(known))
    found = {
        (words, tag): count
        for (words, _, tag), count in zip(pairs, times.tolist(), strict=True)
    }
    return Rescorer(
        weights, about["scale"], Values.of(found), about["most"], about["gap"]
    )
