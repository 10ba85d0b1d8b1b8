"""Read and write the folder of a model; refuse one that is not whole.

``model.json`` says what it is, ``tables.npz`` holds what tagging looks up, and
``weights.npz`` the same by the names of features, which training and comparisons read.
The installed package has no weights: tagging needs none.
"""

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

from deid_core.errors import ConfigError
from deid_core.labels import Label
from deid_core.runtime.prepared import Arrays, fingerprint, prepared

from .digests import MODELS, TRAINED, contents, digest_of, renew, require_whole
from .features import FeatureSet, WordLists
from .model import Model, Weights
from .model_tables import ModelTables, compact_arrays, expanded, lines_of, texts_of
from .rescoring import Rescorer, Values

FORMAT = 2
"""Of the folder; a reader refuses any other."""
_ABOUT, _TABLES = "model.json", "tables.npz"
_ARRAYS = ("names", "pointers", "labels", "values", "transitions")
_HALVES = ("values.blocks.weights", "joins.weights")
"""Weights are written in half precision."""


def save_model(model: Model, folder: Path) -> None:
    """Write a model's folder; the model card is the reader's own and left alone."""
    folder.mkdir(parents=True, exist_ok=True)
    weights, tables = _weights_bytes(model), _tables_bytes(model)
    about = {
        "format": FORMAT,
        "name": model.name,
        "version": model.version,
        "language": model.language,
        "sha256": {
            TRAINED: hashlib.sha256(weights).hexdigest(),
            _TABLES: hashlib.sha256(tables).hexdigest(),
        },
        "tags": {tag: label.value for tag, label in model.tags.items()},
        "features": model.features.as_json(),
        "cue_patterns": dict(model.lists.cue_patterns),
        "trained": dict(model.trained),
    }
    if model.rescorer is not None:
        each = model.rescorer
        about["rescoring"] = {"scale": each.scale, "most": each.most, "gap": each.gap}
    (folder / TRAINED).write_bytes(weights)
    (folder / _TABLES).write_bytes(tables)
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
    about, tables, _ = _whole(name, expected)
    try:
        content = (_folder(name) / TRAINED).read_bytes()
    except OSError as error:
        raise ConfigError(
            f"model {name!r}: {TRAINED} can't be read: {type(error).__name__}; the "
            "installed package leaves it out: take it from the project's repository"
        ) from None
    if hashlib.sha256(content).hexdigest() != about["sha256"].get(TRAINED):
        raise ConfigError(
            f"model {name!r}: {TRAINED}: its digest is another; train the model again"
        )
    with _refusing(name), _opened(content) as arrays, _opened(tables) as paths:
        return _model(about, arrays, _rescorer(about, paths))


def load_tables(name: str, expected: str = "") -> ModelTables:
    """Return what tagging needs of a model, mapped from files of this machine.

    Args:
        name: As for `load_model`.
        expected: The digest of its files, as for `load_model`.

    Raises:
        ConfigError: There is none, or its files are not what they were when written.
    """
    about, content, digest = _whole(name, expected)
    code = (__package__, f"{__package__}.kernels")
    made = fingerprint(code, digest)
    with _refusing(name), _opened(content) as compact:
        arrays = prepared("tagger", made, lambda: expanded(_tables(compact)))
        return ModelTables(
            about["name"],
            about["version"],
            about["language"],
            _tags(about),
            FeatureSet.read(about["features"]),
            about["cue_patterns"],
            arrays,
            _rescorer(about, compact),
        )


def require_model(name: str, expected: str = "") -> None:
    """Check the files of a model without making its tables.

    Args:
        name: As for `load_model`.
        expected: The digest of its files, as for `load_model`.

    Raises:
        ConfigError: There is none, or its files are not what they were when written.
    """
    _whole(name, expected)


def _whole(name: str, expected: str) -> tuple[dict[str, Any], bytes, str]:
    """Return a model's description, its tables, and the digest of all its files."""
    folder = _folder(name)
    try:
        read = contents(folder)
    except OSError as error:
        raise _unreadable(name, error) from None
    digest = digest_of(read)
    require_whole(name, digest, expected)
    where = f"model {name!r}"
    if not {_ABOUT, _TABLES} <= read.keys():
        raise ConfigError(f"{where}: lacks {_ABOUT} or {_TABLES}; train it again")
    about = _parsed(name, read[_ABOUT])
    if about.get("format") != FORMAT:
        raise ConfigError(f"{where}: not of format {FORMAT}; train it again")
    with _refusing(name):
        if hashlib.sha256(read[_TABLES]).hexdigest() != about["sha256"][_TABLES]:
            raise ConfigError(f"{where}: {_TABLES} is of another model than {_ABOUT}")
    return about, read[_TABLES], digest


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


def _model(about: dict[str, Any], arrays: Arrays, rescorer: Rescorer | None) -> Model:
    words = orjson.loads(arrays["words"].tobytes())
    names, pointers, labels, values, transitions = (arrays[name] for name in _ARRAYS)
    model = Model(
        about["name"],
        about["version"],
        about["language"],
        _tags(about),
        FeatureSet.read(about["features"]),
        WordLists(words["cues"], words["cue_patterns"], words["lists"]),
        Weights(
            names.tobytes().decode().split("\n"),
            pointers,
            labels,
            values.astype(np.float32),
            transitions,
        ),
        about["trained"],
        rescorer,
    )
    tags = len(model.codec.labels)
    if transitions.shape != (tags + 1, tags):
        raise ValueError("transitions are not of the model's tags")
    return model


def _tags(about: dict[str, Any]) -> dict[str, Label]:
    return {tag: Label(label) for tag, label in about["tags"].items()}


@contextmanager
def _opened(content: bytes) -> Iterator[Arrays]:
    with np.load(io.BytesIO(content), allow_pickle=False) as arrays:
        yield arrays


def _weights_bytes(model: Model) -> bytes:
    weights = model.weights
    return _written(
        {
            "names": lines_of(weights.names),
            "pointers": weights.pointers,
            "labels": weights.labels,
            "values": weights.values.astype(np.float16),
            "transitions": weights.transitions,
            "words": np.frombuffer(orjson.dumps(model.lists.as_json()), np.uint8),
        }
    )


def _tables_bytes(model: Model) -> bytes:
    arrays = compact_arrays(model)
    arrays |= {name: arrays[name].astype(np.float16) for name in _HALVES}
    if model.rescorer is not None:
        arrays |= _path_arrays(model.rescorer)
    return _written(arrays)


def _written(arrays: Arrays) -> bytes:
    target = io.BytesIO()
    # The stubs take the arrays for the option that follows them.
    np.savez_compressed(target, **arrays)  # type: ignore[arg-type]
    return target.getvalue()


def _tables(arrays: Arrays) -> Arrays:
    """Return the arrays of `compact_arrays`."""
    return {name: arrays[name] for name in arrays if name not in _PATH_ARRAYS}


_PATH_ARRAYS = ("path_names", "path_values", "known", "known_times")


def _path_arrays(rescorer: Rescorer) -> dict[str, NDArray[Any]]:
    known = sorted(rescorer.known.times.items())
    return {
        "path_names": lines_of(rescorer.weights),
        "path_values": np.array([*rescorer.weights.values()], dtype=np.float16),
        "known": lines_of(f"{words}\t{tag}" for (words, tag), _ in known),
        "known_times": np.array([times for _, times in known], dtype=np.int32),
    }


def _rescorer(about: dict[str, Any], arrays: Arrays) -> Rescorer | None:
    if "rescoring" not in about:
        return None
    options = about["rescoring"]
    names, values, known, times = (arrays[name] for name in _PATH_ARRAYS)
    weights = dict(zip(texts_of(names), values.tolist(), strict=True))
    pairs = (each.rpartition("\t") for each in texts_of(known))
    found = {
        (words, tag): count
        for (words, _, tag), count in zip(pairs, times.tolist(), strict=True)
    }
    return Rescorer(
        weights, options["scale"], Values.of(found), options["most"], options["gap"]
    )
