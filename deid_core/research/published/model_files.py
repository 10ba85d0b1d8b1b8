"""Read and write the folder of a model of words; refuse one that is not whole.

``model.json`` says what it is, with the hash of ``arrays.npz``: plain arrays, the
features' names and the dictionaries among them.  Nothing in it runs when loaded.
"""

from __future__ import annotations

import hashlib
import io
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import orjson
from numpy.typing import NDArray

from deid_core.errors import ConfigError
from deid_core.labels import Label

from .classes import Classes
from .extractor import Features
from .kernel_machine import KernelMachine
from .model import TokenModel
from .predictors import Chain, Forest, Linear, Predictor
from .resources import Resources

FORMAT = 1
"""Of the folder; a reader refuses any other."""
KIND = "words"
_ABOUT, _ARRAYS = "model.json", "arrays.npz"
_NAMES, _RESOURCES = "_names", "_resources"


_PREDICTORS: Mapping[str, type[Linear | Chain | Forest | KernelMachine]] = {
    each.kind: each for each in (Linear, Chain, Forest, KernelMachine)
}


def save_model(model: TokenModel, folder: Path) -> None:
    """Write a model's folder; made if need be."""
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
    """Return the model of a folder.

    Raises:
        ConfigError: There is none, or its files are not what they were when written.
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
