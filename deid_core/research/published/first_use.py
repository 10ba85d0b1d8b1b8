"""Train a published system at its first use, on the notes that come with the library.

The model is kept in the user's cache folder, by a digest of everything that it is made
from, and read from there afterwards.  A folder to which other users can write is not
used.  The log tells how far the training is: its level is INFO.
"""

from __future__ import annotations

import fcntl
import hashlib
import logging
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from importlib.resources import files
from pathlib import Path

from deid_core.errors import ConfigError
from deid_core.research.corpora import installed
from deid_core.research.corpora.readers import read_corpus
from deid_core.runtime.prepared import fingerprint, is_private, user_folder
from deid_core.runtime.toml_files import names_in, refuse_unknown
from deid_core.tagger.digests import contents, digest_of, renew, require_whole

from .model import TokenModel, load_model, save_model
from .options import ClassifierOptions

log = logging.getLogger(__name__)

SEED = 1
_EVERY = 5.0
"""Seconds between two messages on the progress."""
_CODE = tuple(
    f"{__package__}{part}" for part in ("", ".features", ".learners", ".recipes")
)


def model_of(options: ClassifierOptions) -> TokenModel:
    """Return the model of a recipe; train and keep it if that was not done before.

    Processes that need it at the same time wait for the one that trains.  Where nothing
    can be kept, each process trains its own.

    Raises:
        ConfigError: The recipe is unknown, or a package of the extra "train" is
            missing.
    """
    known = names_in(files(__package__) / "recipes")
    refuse_unknown([options.recipe], known, "classifier: recipe")
    folder = _folder()
    if folder is None:
        log.warning(
            "%s: there is no cache folder that this user alone can write to, so the "
            "model is not kept",
            options.recipe,
        )
        return _trained(options)
    place = folder / f"{options.recipe}-{_digest(options)}"
    with suppress(ConfigError, OSError):
        return _read(place)
    with _locked(place):
        try:
            return _read(place)
        except (ConfigError, OSError):
            if place.exists():
                log.warning("%s: damaged; it is trained again", place)
        model = _trained(options)
        try:
            _keep(model, place)
            log.info("%s: the model is kept in %s", options.recipe, place)
        except OSError as error:
            log.warning("%s: the model can't be kept: %s", place, error.strerror)
    return model


def _folder() -> Path | None:
    """Return where models are kept; None if it is not writable or not private."""
    cache = user_folder()
    if cache is None:
        return None
    folder = cache / "published"
    try:
        cache.parent.mkdir(parents=True, exist_ok=True)
        for each in (cache, folder):
            each.mkdir(mode=0o755, exist_ok=True)
            if not is_private(each):
                return None
        tempfile.TemporaryFile(dir=folder).close()
    except OSError:
        return None
    return folder


def _digest(options: ClassifierOptions) -> str:
    """Return a digest of what a model is made from: notes, options, code, recipes."""
    return fingerprint(
        _CODE,
        hashlib.sha256(installed.packed(str(installed.TRAINING))).hexdigest(),
        options.recipe,
        str(options.training_notes),
        *options.training_without,
    )[:16]


def _read(place: Path) -> TokenModel:
    """Return a model that was kept.

    Raises:
        ConfigError: There is none, it is damaged, or others can change it.
    """
    if not is_private(place):
        raise ConfigError(f"{place}: other users can write to it")
    require_whole(str(place), digest_of(contents(place)))
    return load_model(place)


@contextmanager
def _locked(place: Path) -> Iterator[None]:
    """Hold the lock of a model, which a process that ends gives back."""
    with place.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _keep(model: TokenModel, place: Path) -> None:
    draft = Path(tempfile.mkdtemp(prefix=".draft-", dir=place.parent))
    try:
        save_model(model, draft)
        renew(draft)
        shutil.rmtree(place, ignore_errors=True)
        draft.rename(place)
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def _trained(options: ClassifierOptions) -> TokenModel:
    try:
        from .recipe import load_recipe
        from .training import TrainingOptions, train
    except ModuleNotFoundError as error:
        raise ConfigError(
            f"preset {options.recipe!r}: its model is trained at the first use, and "
            f"{error.name} is not installed; pip install 'phistream[train]'"
        ) from None
    corpus = read_corpus(installed.TRAINING)
    started = time.monotonic()
    log.info(
        "%s: training it once on this machine, on %d invented notes; this takes about "
        "%d seconds",
        options.recipe,
        options.training_notes,
        options.training_seconds,
    )
    model = train(
        load_recipe(options.recipe),
        corpus.documents,
        TrainingOptions(
            SEED, without=options.training_without, documents=options.training_notes
        ),
        _progress(options.recipe, started),
    )
    log.info("%s: trained in %.0f s", options.recipe, time.monotonic() - started)
    return replace(model, trained={**model.trained, "corpus": corpus.name})


def _progress(recipe: str, started: float) -> Callable[[float, str], None]:
    """Return what logs the progress, now and then."""
    last = started

    def progress(share: float, _step: str) -> None:
        nonlocal last
        now = time.monotonic()
        if now - last >= _EVERY:
            last = now
            log.info("%s: %.0f %% after %.0f s", recipe, 100 * share, now - started)

    return progress
