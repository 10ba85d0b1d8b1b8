"""Read and write the folder of a model; refuse one that is not whole."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

import numpy as np
import orjson
from numpy.typing import NDArray

from ..errors import ConfigError
from ..labels import Label
from ..prepared import fingerprint, prepared
from .digests import MODELS, contents, digest_of, renew, require_whole
from .features import FeatureSet, WordLists
from .model import Model, Weights
from .model_tables import ModelTables, arrays_of, lines_of, texts_of
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
    renew(folder)


def load_model(name: str, expected: str = "") -> Model:
    """Return the model of that name, or of the folder at that path.

    Args:
        name: One that comes with the library, or a path with a slash.
        expected: The digest of its files, if the caller knows it: see `digests`.

    Raises:
        ConfigError: There is none, or its files are not what they were when written.
    """
    about, content, _ = _whole(name, expected)
    with _refusing(name):
        return _model(about, content)


def load_tables(name: str, expected: str = "") -> ModelTables:
    """Return what tagging needs of a model, mapped from files of this machine.

    Args:
        name: As for `load_model`.
        expected: Likewise.

    Raises:
        ConfigError: There is none, or its files are not what they were when written.
    """
    about, content, digest = _whole(name, expected)
    code = (__package__, f"{__package__}.kernels")
    made = fingerprint(code, digest)
    with _refusing(name):
        arrays = prepared("tagger", made, lambda: arrays_of(_model(about, content)))
        return ModelTables(
            about["name"],
            about["version"],
            about["language"],
            _tags(about),
            FeatureSet.read(about["features"]),
            about["words"]["cue_patterns"],
            arrays,
            _rescorer(about, content),
        )


def _whole(name: str, expected: str) -> tuple[dict[str, Any], bytes, str]:
    """Return a model's description, its weights, and the digest of all its files."""
    folder = _folder(name)
    try:
        read = contents(folder)
    except OSError as error:
        raise _unreadable(name, error) from None
    digest = digest_of(read)
    require_whole(name, digest, expected)
    where = f"model {name!r}"
    if not {_ABOUT, _WEIGHTS} <= read.keys():
        raise ConfigError(f"{where}: lacks {_ABOUT} or {_WEIGHTS}; train it again")
    about = _parsed(name, read[_ABOUT])
    if about.get("format") != FORMAT:
        raise ConfigError(f"{where}: not of format {FORMAT}; train it again")
    if hashlib.sha256(read[_WEIGHTS]).hexdigest() != about.get("sha256"):
        raise ConfigError(f"{where}: {_WEIGHTS} is of another model than {_ABOUT}")
    return about, read[_WEIGHTS], digest


@contextmanager
def _refusing(name: str) -> Iterator[None]:
    """Raise ConfigError for what is not as a model's files are."""
    try:
        yield
    except (KeyError, TypeError, ValueError) as error:
        kind = type(error).__name__
        raise ConfigError(f"model {name!r}: {kind}; train it again") from None


def model_version(name: str) -> str:
    """Return the name and version of a model without loading its weights.

    Args:
        name: As for `load_model`.

    Raises:
        ConfigError: There is none, or its description can't be read.
    """
    try:
        about = _parsed(name, (_folder(name) / _ABOUT).read_bytes())
    except OSError as error:
        raise _unreadable(name, error) from None
    return f"{about.get('name', name)} {about.get('version', 'of unknown version')}"


def known_models() -> list[str]:
    """Return the names of the models that come with the library."""
    return sorted(each.name for each in MODELS.iterdir() if (each / _ABOUT).is_file())


def _unreadable(name: str, error: OSError) -> ConfigError:
    return ConfigError(f"model {name!r}: cannot be read: {type(error).__name__}")


def _parsed(name: str, said: bytes) -> dict[str, Any]:
    where = f"model {name!r}"
    try:
        about = orjson.loads(said)
    except orjson.JSONDecodeError:
        raise ConfigError(f"{where}: {_ABOUT} is not JSON; install it again") from None
    if not isinstance(about, dict):
        raise ConfigError(f"{where}: {_ABOUT} is not an object; install it again")
    return about


def _folder(name: str) -> Traversable:
    if "/" in name:
        return Path(name)
    if name not in (known := known_models()):
        raise ConfigError(f"model {name!r} is unknown; known: {', '.join(known)}")
    return MODELS / name


def _model(about: dict[str, Any], content: bytes) -> Model:
    words = about["words"]
    weights = _weights(content)
    model = Model(
        about["name"],
        about["version"],
        about["language"],
        _tags(about),
        FeatureSet.read(about["features"]),
        WordLists(words["cues"], words["cue_patterns"], words["lists"]),
        weights,
        about["trained"],
        _rescorer(about, content),
    )
    labels = len(model.codec.labels)
    if weights.transitions.shape != (labels + 1, labels):
        raise ValueError("transitions are not of the model's tags")
    return model


def _tags(about: dict[str, Any]) -> dict[str, Label]:
    return {tag: Label(label) for tag, label in about["tags"].items()}


def _weights_bytes(model: Model) -> bytes:
    target = io.BytesIO()
    weights = model.weights
    arrays: dict[str, Any] = {
        "names": lines_of(weights.names),
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
        "path_names": lines_of(rescorer.weights),
        "path_values": np.array([*rescorer.weights.values()], dtype=np.float16),
        "known": lines_of(f"{words}\t{tag}" for (words, tag), _ in known),
        "known_times": np.array([times for _, times in known], dtype=np.int32),
    }


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


def _rescorer(about: dict[str, Any], content: bytes) -> Rescorer | None:
    if "rescoring" not in about:
        return None
    options = about["rescoring"]
    with np.load(io.BytesIO(content), allow_pickle=False) as arrays:
        names, values, known, times = (arrays[n] for n in _PATH_ARRAYS)
    weights = dict(zip(texts_of(names), values.tolist(), strict=True))
    pairs = (each.rpartition("\t") for each in texts_of(known))
    found = {
        (words, tag): count
        for (words, _, tag), count in zip(pairs, times.tolist(), strict=True)
    }
    return Rescorer(
        weights, options["scale"], Values.of(found), options["most"], options["gap"]
    )
